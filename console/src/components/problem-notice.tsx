import { Problem } from 'sotto-client'
import { adviceOn } from '../api/advice.ts'
import { Button } from './button.tsx'
import { Notice } from './notice.tsx'

export interface ProblemNoticeProps {
  readonly error: unknown
  /** Repeats what failed. */
  readonly onRetry?: () => void
}

/** Says what went wrong, which field breaks which rule, and what to do about it. */
export function ProblemNotice({ error, onRetry }: ProblemNoticeProps) {
  const { title, advice } = adviceOn(error)
  return (
    <Notice tone="danger" title={title}>
      {error instanceof Problem && <p>{error.detail}</p>}
      {error instanceof Problem && error.errors.length > 0 && (
        <ul>
          {error.errors.map(({ field, rule }) => (
            <li key={`${field} ${rule}`}>
              <code>{field}</code> {rule}
            </li>
          ))}
        </ul>
      )}
      {advice !== undefined && <p>{advice}</p>}
      {onRetry !== undefined && <Button onClick={onRetry}>Try again</Button>}
    </Notice>
  )
}

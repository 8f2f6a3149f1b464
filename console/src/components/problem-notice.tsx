import { Problem } from 'sotto-client'
import { adviceOn } from '../api/advice.ts'
import { Button } from './button.tsx'
import { Notice } from './notice.tsx'

export interface ProblemNoticeProps {
  readonly error: unknown
  /** Advice if the connection was lost, for a request whose repeat may change something twice. */
  readonly lost?: string | undefined
  /** Repeats what failed. */
  readonly onRetry?: () => void
}

/** Says what went wrong, which field breaks which rule, and what to do about it. */
export function ProblemNotice({ error, lost, onRetry }: ProblemNoticeProps) {
  const { title, advice } = adviceOn(error, lost)
  const problem = error instanceof Problem ? error : undefined
  const errors = problem?.errors ?? []
  // The detail of a single error often is the error itself.
  const isRepeated = errors.some(({ field, rule }) => problem?.detail === `${field}: ${rule}`)
  return (
    <Notice tone="danger" title={title}>
      {problem !== undefined && !isRepeated && <p>{problem.detail}</p>}
      {errors.length > 0 && (
        <ul>
          {errors.map(({ field, rule }) => (
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

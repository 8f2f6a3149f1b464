import type { ReactNode } from 'react'
import { Problem } from 'sotto-client'
import { adviceOn } from '../../api/advice.ts'
import { Button } from '../forms/button.tsx'
import loadingStyles from './loading.module.css'
import styles from './notice.module.css'

export interface NoticeProps {
  readonly tone?: 'plain' | 'cost' | 'danger' | 'success'
  readonly title?: string
  readonly children?: ReactNode
}

/** Message in a page. Screen readers announce those about danger at once. */
export function Notice({ tone = 'plain', title, children }: NoticeProps) {
  return (
    <div className={`${styles.notice} ${styles[tone]}`} role={tone === 'danger' ? 'alert' : 'status'}>
      {title !== undefined && <strong>{title}</strong>}
      {children !== undefined && <div>{children}</div>}
    </div>
  )
}

/** Placeholder while something loads. It appears after a moment, so that fast loads do not flicker. */
export function Loading({ what }: { readonly what: string }) {
  return (
    <div className={loadingStyles.loading} role="status" aria-label={`Loading ${what}`}>
      <span />
      <span />
      <span />
    </div>
  )
}

export interface ProblemNoticeProps {
  readonly error: unknown
  /** Advice if the connection was lost, for a request whose repeat may change something twice. */
  readonly lost?: string | undefined
  /** Repeats what failed. */
  readonly onRetry?: (() => void) | undefined
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
      {problem !== undefined && (
        <p>
          <a href={`/problems/${problem.code}`} target="_blank" rel="noreferrer">
            About this problem
          </a>
        </p>
      )}
      {onRetry !== undefined && <Button onClick={onRetry}>Try again</Button>}
    </Notice>
  )
}

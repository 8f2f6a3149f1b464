import styles from './audit.module.css'
import type { Check } from './checks.ts'

const SIGNS = { good: '✓', bad: '✗', unknown: '?' } as const
const NAMES = { good: 'Fits', bad: 'Does not fit', unknown: 'Not known' } as const

/** Findings of a verification, each with its sign. */
export function CheckList({ checks }: { readonly checks: readonly Check[] }) {
  return (
    <ul className={styles.checks}>
      {checks.map(({ state, title, text }) => (
        <li key={title} data-state={state}>
          <span role="img" aria-label={NAMES[state]}>
            {SIGNS[state]}
          </span>
          <div>
            <strong>{title}</strong>
            <p>{text}</p>
          </div>
        </li>
      ))}
    </ul>
  )
}

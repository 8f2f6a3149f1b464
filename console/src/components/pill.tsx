import type { ReactNode } from 'react'
import styles from './pill.module.css'

/** Short label of a state. */
export function Pill({
  tone = 'plain',
  children,
}: {
  readonly tone?: 'plain' | 'accent' | 'cost' | 'danger' | 'success'
  readonly children: ReactNode
}) {
  return <span className={`${styles.pill} ${styles[tone]}`}>{children}</span>
}

import type { ReactNode } from 'react'
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

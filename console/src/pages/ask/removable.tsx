import type { ReactNode } from 'react'
import { Button } from '../../components/button.tsx'
import styles from './ask.module.css'

export interface RemovableProps {
  /** Name of the button that removes the fields. */
  readonly label: string
  /** Absent if the fields cannot be removed. */
  readonly onRemove?: (() => void) | undefined
  readonly children: ReactNode
}

/** Fields beside each other, and a button that removes them. */
export function Removable({ label, onRemove, children }: RemovableProps) {
  return (
    <div className={styles.removable}>
      <div className={styles.test}>{children}</div>
      {onRemove !== undefined && (
        <Button look="quiet" aria-label={label} title={label} onClick={onRemove}>
          <span aria-hidden="true">✕</span>
        </Button>
      )}
    </div>
  )
}

import { type ReactNode, useId } from 'react'
import styles from './field.module.css'

/** Attributes that tie a control to its label, hint and error. */
export interface ControlAttributes {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': boolean
}

export interface FieldProps {
  readonly label: ReactNode
  readonly hint?: ReactNode
  /** Rule that the value violates. */
  readonly error?: string | undefined
  /** Draws the control, to which it passes the attributes on. */
  readonly children: (attributes: ControlAttributes) => ReactNode
}

/** Label, control, hint and error of one value. */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId()
  const described = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean)
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        'aria-describedby': described.length === 0 ? undefined : described.join(' '),
        'aria-invalid': error !== undefined,
      })}
      {hint !== undefined && (
        <div id={`${id}-hint`} className={styles.hint}>
          {hint}
        </div>
      )}
      {error !== undefined && (
        <div id={`${id}-error`} className={styles.error} role="alert">
          {error}
        </div>
      )}
    </div>
  )
}

/** Fields beside each other where the screen is wide enough. */
export function FieldRow({ children }: { readonly children: ReactNode }) {
  return <div className={styles.row}>{children}</div>
}

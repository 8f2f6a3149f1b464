import { type ReactNode, useId } from 'react'
import styles from './choice.module.css'

export interface CheckboxProps {
  readonly label: ReactNode
  readonly hint?: ReactNode
  readonly checked: boolean
  readonly disabled?: boolean
  readonly onChange: (checked: boolean) => void
}

/** Checkbox with its label and a hint. */
export function Checkbox({ label, hint, checked, disabled, onChange }: CheckboxProps) {
  const id = useId()
  return (
    <div className={styles.choice}>
      <input
        id={id}
        type="checkbox"
        checked={checked}
        disabled={disabled}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChange(event.target.checked)}
      />
      <label htmlFor={id}>{label}</label>
      {hint !== undefined && (
        <div id={`${id}-hint`} className={styles.hint}>
          {hint}
        </div>
      )}
    </div>
  )
}

export interface RadiosProps<Value extends string> {
  readonly legend: ReactNode
  readonly value: Value
  readonly choices: readonly {
    readonly value: Value
    readonly label: ReactNode
    readonly hint?: ReactNode
    readonly disabled?: boolean
  }[]
  readonly onChange: (value: Value) => void
}

/** Choice of one of a few values, each with a hint. */
export function Radios<Value extends string>({ legend, value, choices, onChange }: RadiosProps<Value>) {
  const id = useId()
  return (
    <fieldset className={styles.radios}>
      <legend>{legend}</legend>
      {choices.map(({ value: each, label, hint, disabled }) => (
        <div key={each} className={styles.choice}>
          <input
            id={`${id}-${each}`}
            type="radio"
            name={id}
            checked={each === value}
            disabled={disabled}
            aria-describedby={hint === undefined ? undefined : `${id}-${each}-hint`}
            onChange={() => onChange(each)}
          />
          <label htmlFor={`${id}-${each}`}>{label}</label>
          {hint !== undefined && (
            <div id={`${id}-${each}-hint`} className={styles.hint}>
              {hint}
            </div>
          )}
        </div>
      ))}
    </fieldset>
  )
}

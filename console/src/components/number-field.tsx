import { numberOf } from '../format/number.ts'
import { Field } from './field.tsx'

export interface NumberFieldProps {
  readonly label: string
  readonly hint?: string
  readonly value: string
  /** Rule that the number breaks. An empty field shows none. */
  readonly rule?: string | undefined
  readonly onChange: (value: string) => void
}

/** Text field for a number, which is sent as it is typed. */
export function NumberField({ label, hint, value, rule, onChange }: NumberFieldProps) {
  const broken = numberOf(value) === undefined ? 'must be a number' : rule
  return (
    <Field label={label} hint={hint} error={value.trim() === '' ? undefined : broken}>
      {(attributes) => (
        <input
          {...attributes}
          inputMode="decimal"
          autoComplete="off"
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  )
}

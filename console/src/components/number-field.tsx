import { numberOf } from '../format/number.ts'
import { Field } from './field.tsx'

export interface NumberFieldProps {
  readonly label: string
  readonly hint?: string
  readonly value: string
  readonly onChange: (value: string) => void
}

/** Text field for a number, which is sent as it is typed. */
export function NumberField({ label, hint, value, onChange }: NumberFieldProps) {
  const isNumber = value.trim() === '' || numberOf(value) !== undefined
  return (
    <Field label={label} hint={hint} error={isNumber ? undefined : 'must be a number'}>
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

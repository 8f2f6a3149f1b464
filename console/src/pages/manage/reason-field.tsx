import { Field } from '../../components/field.tsx'

export interface ReasonFieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
}

/** Text field for the reason of an act, which the ledger keeps. */
export function ReasonField({ value, onChange }: ReasonFieldProps) {
  return (
    <Field label="Reason" hint="The ledger keeps it permanently.">
      {(attributes) => (
        <input
          {...attributes}
          value={value}
          maxLength={500}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  )
}

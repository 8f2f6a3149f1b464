import { TextField } from '../../components/forms/fields.tsx'

export interface ReasonFieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
}

/** Text field for the reason of an act, which the ledger keeps. */
export function ReasonField({ value, onChange }: ReasonFieldProps) {
  return (
    <TextField
      label="Reason"
      hint="The ledger keeps it permanently."
      value={value}
      maxLength={500}
      onChange={onChange}
    />
  )
}

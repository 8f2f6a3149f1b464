import { Problem } from 'sotto-client'
import { TextField } from '../../../components/forms/fields.tsx'

export interface SecondBudgetFieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
}

/** Field for the reason why one source gets a second budget. */
export function SecondBudgetField({ value, onChange }: SecondBudgetFieldProps) {
  return (
    <TextField
      label="Reason for a second budget over the same source"
      hint="Both budgets protect the same people. The ledger records the reason."
      value={value}
      maxLength={1000}
      onChange={onChange}
    />
  )
}

/** True for the refusal of a source that is or was registered under another id. */
export function needsSecondBudget(error: unknown): boolean {
  return error instanceof Problem && error.code === 'source-registered'
}

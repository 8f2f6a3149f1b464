import { Field } from '../../components/field.tsx'
import type { Column } from './kinds.ts'

export interface SelectColumnProps {
  readonly label: string
  readonly columns: readonly Column[]
  readonly value: unknown
  readonly onChange: (column: string) => void
}

/** Choice of one of some columns. */
export function SelectColumn({ label, columns, value, onChange }: SelectColumnProps) {
  return (
    <Field label={label}>
      {(attributes) => (
        <select
          {...attributes}
          value={typeof value === 'string' ? value : ''}
          onChange={(event) => onChange(event.target.value)}
        >
          {columns.every(({ name }) => name !== value) && <option value="" />}
          {columns.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
    </Field>
  )
}

import { Field } from './field.tsx'

const USUAL_DELTAS = [0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3]

interface DeltaFieldProps {
  readonly hint: string
  readonly value: number
  readonly onChange: (delta: number) => void
}

/** Choice of a delta. A value that is not one of the usual ones stays a choice. */
export function DeltaField({ hint, value, onChange }: DeltaFieldProps) {
  return (
    <Field label="Delta" hint={hint}>
      {(attributes) => (
        <select {...attributes} value={value} onChange={(event) => onChange(Number(event.target.value))}>
          {[...new Set([...USUAL_DELTAS, value])].map((delta) => (
            <option key={delta} value={delta}>
              {delta}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

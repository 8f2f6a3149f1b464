import { Checkbox } from '../../../components/forms/fields.tsx'
import type { Clamp } from '../../answers/question-text.ts'
import styles from '../ask.module.css'
import { Bounds, OneValue } from '../conditions/value-field.tsx'
import { type ClampableColumn, clampableColumns, declaredBounds, withClampOf } from './clamps.ts'
import type { FieldPart } from './field-part.ts'

/** Clamp of the one column of a question. */
export function ClampField({ label, field, value, asked, dataset, onChange }: FieldPart<'clamp'>) {
  const [column] = clampableColumns(asked, dataset)
  if (column === undefined) return undefined
  return <ClampOfColumn label={label} hint={field.hint} column={column} value={value} onChange={onChange} />
}

/** Clamps of the columns of a question. */
export function ClampsField({ label, field, value = {}, asked, dataset, onChange }: FieldPart<'clamps'>) {
  return clampableColumns(asked, dataset).map((column, place) => (
    <ClampOfColumn
      key={column.name}
      label={`${label} of ${column.name}`}
      hint={place === 0 ? field.hint : undefined}
      column={column}
      value={Object.hasOwn(value, column.name) ? value[column.name] : undefined}
      onChange={(clamp) => onChange(withClampOf(value, column.name, clamp))}
    />
  ))
}

interface ClampOfColumnProps {
  readonly label: string
  readonly hint: string | undefined
  readonly column: ClampableColumn
  readonly value: Clamp | undefined
  readonly onChange: (clamp: Clamp | undefined) => void
}

function ClampOfColumn({ label, hint, column, value, onChange }: ClampOfColumnProps) {
  const end = (name: keyof Clamp, text: string) =>
    value !== undefined && (
      <OneValue
        column={column}
        label={`${text} of the clamp of ${column.name}`}
        value={value[name]}
        onChange={(bound) => typeof bound !== 'boolean' && onChange({ ...value, [name]: bound })}
      />
    )
  return (
    <>
      <Checkbox
        label={label}
        hint={hint}
        value={value !== undefined}
        onChange={(checked) => onChange(checked ? declaredBounds(column) : undefined)}
      />
      {value !== undefined && (
        <div className={styles.test}>
          {end('lower', 'Lower bound')}
          {end('upper', 'Upper bound')}
          <Bounds column={column} />
        </div>
      )}
    </>
  )
}

import styles from '../ask.module.css'
import { NameChoices, SelectColumn } from '../fields.tsx'
import { fieldValue } from '../question/question.ts'
import type { FieldPart } from './field-part.ts'

/** Several different columns: a pair, or a choice of any number. */
export function ColumnsField(part: FieldPart<'columns'>) {
  const { least, most } = part.field
  return least === 2 && most === 2 ? <PairFields {...part} /> : <ListedColumns {...part} />
}

function PairFields({ columns, value: [first = '', second = ''] = [], onChange }: FieldPart<'columns'>) {
  // A column that is chosen twice changes its place with the other.
  return (
    <>
      <SelectColumn
        label="First column"
        columns={columns}
        value={first}
        onChange={(column) => onChange([column, column === second ? first : second])}
      />
      <SelectColumn
        label="Second column"
        columns={columns}
        value={second}
        onChange={(column) => onChange([column === first ? second : first, column])}
      />
    </>
  )
}

function ListedColumns({
  label,
  field,
  fields,
  columns,
  value: chosen = [],
  asked,
  onChange,
}: FieldPart<'columns'>) {
  const others = Object.keys(fields).filter((name) => fields[name]?.type === 'column')
  const names = columns
    .map(({ name }) => name)
    .filter((name) => others.every((other) => fieldValue(asked, other) !== name))
  return (
    <fieldset className={styles.categories}>
      <legend>{label}</legend>
      <NameChoices names={names} chosen={chosen} least={field.least} onChange={onChange} />
    </fieldset>
  )
}

import { Field } from '../../components/field.tsx'
import styles from './ask.module.css'
import { type DatasetFacts, groupingColumns, groupingOf } from './kinds.ts'
import { isQuestion } from './question.ts'
import { SelectColumn } from './select-column.tsx'
import { TextList } from './text-list.tsx'

const PERIODS = ['year', 'quarter', 'month', 'week', 'day', 'hour', 'dayOfWeek', 'monthOfYear'] as const

export interface GroupingFieldProps {
  readonly label: string
  readonly dataset: DatasetFacts
  /** Grouping as a question contains it: the name of a column, or an object with edges or a period. */
  readonly value: unknown
  readonly onChange: (grouping: unknown) => void
}

/** Choice of a column by which rows are grouped, and how it is divided. */
export function GroupingField({ label, dataset, value, onChange }: GroupingFieldProps) {
  const columns = groupingColumns(dataset)
  const grouping = isQuestion(value) ? value : { column: value }
  const column = columns.find(({ name }) => name === grouping.column)
  return (
    <div className={styles.grouping}>
      <SelectColumn
        label={label}
        columns={columns}
        value={grouping.column}
        onChange={(name) => {
          const next = columns.find((each) => each.name === name)
          if (next !== undefined) onChange(groupingOf(next))
        }}
      />
      {Array.isArray(grouping.edges) && (
        <TextList
          label={`Edges of ${column?.name}`}
          hint="A bin contains its lower edge."
          items={grouping.edges}
          onChange={(edges) => onChange({ ...grouping, edges })}
        />
      )}
      {typeof grouping.by === 'string' && (
        <Field label="Period">
          {(attributes) => (
            <select
              {...attributes}
              value={String(grouping.by)}
              onChange={(event) => onChange({ ...grouping, by: event.target.value })}
            >
              {PERIODS.map((period) => (
                <option key={period}>{period}</option>
              ))}
            </select>
          )}
        </Field>
      )}
    </div>
  )
}

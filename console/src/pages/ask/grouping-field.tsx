import { Field } from '../../components/field.tsx'
import styles from './ask.module.css'
import { type Column, groupingOf } from './kinds.ts'
import { isQuestion, type Question, withField } from './question.ts'
import { SelectColumn } from './select-column.tsx'
import { TextList } from './text-list.tsx'

const PERIODS = [
  ['year', 'year'],
  ['quarter', 'quarter'],
  ['month', 'month'],
  ['week', 'week'],
  ['day', 'day'],
  ['hour', 'hour'],
  ['dayOfWeek', 'day of the week'],
  ['monthOfYear', 'month of the year'],
] as const

export interface GroupingFieldProps {
  readonly label: string
  readonly columns: readonly Column[]
  /** Grouping as a question contains it: the name of a column, or an object with edges or a period. */
  readonly value: unknown
  readonly onChange: (grouping: unknown) => void
}

/** Choice of a column by which rows are grouped, and how it is divided. */
export function GroupingField({ label, columns, value, onChange }: GroupingFieldProps) {
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
      {column !== undefined && isTemporal(column) && (
        <PeriodFields column={column} grouping={grouping} onChange={onChange} />
      )}
      {Array.isArray(grouping.edges) && (
        <TextList
          label={`Edges of ${column?.name}`}
          hint="A bin contains its lower edge."
          items={grouping.edges}
          onChange={(edges) => onChange({ ...grouping, edges })}
        />
      )}
    </div>
  )
}

type TemporalColumn = Extract<Column, { type: 'date' | 'timestamp' }>

function isTemporal(column: Column): column is TemporalColumn {
  return column.type === 'date' || column.type === 'timestamp'
}

interface PeriodFieldsProps {
  readonly column: TemporalColumn
  readonly grouping: Question
  readonly onChange: (grouping: unknown) => void
}

/** Division of dates or timestamps: periods of the calendar, from one to another, or own edges. */
function PeriodFields({ column, grouping, onChange }: PeriodFieldsProps) {
  const periods = PERIODS.filter(([period]) => period !== 'hour' || column.type === 'timestamp')
  const change = (period: string) => {
    const { from, to, by } = grouping
    const ends = by === undefined ? {} : { from, to }
    onChange(
      period === 'edges'
        ? { column: column.name, edges: [column.lower, column.upper] }
        : withoutUndefined({ column: column.name, by: period, ...ends }),
    )
  }
  return (
    <>
      <Field label="Period">
        {(attributes) => (
          <select
            {...attributes}
            value={typeof grouping.by === 'string' ? grouping.by : 'edges'}
            onChange={(event) => change(event.target.value)}
          >
            {periods.map(([period, title]) => (
              <option key={period} value={period}>
                {title}
              </option>
            ))}
            <option value="edges">between own edges</option>
          </select>
        )}
      </Field>
      {typeof grouping.by === 'string' &&
        (['from', 'to'] as const).map((end) => (
          <Field key={end} label={end === 'from' ? 'From' : 'To'}>
            {(attributes) => (
              <input
                {...attributes}
                placeholder={end === 'from' ? column.lower : column.upper}
                value={String(grouping[end] ?? '')}
                onChange={({ target }) =>
                  onChange(withField(grouping, end, target.value === '' ? undefined : target.value))
                }
              />
            )}
          </Field>
        ))}
    </>
  )
}

function withoutUndefined(fields: Question): Question {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

import { Button } from '../../../components/forms/button.tsx'
import { SelectField, TextField } from '../../../components/forms/fields.tsx'
import type { Column } from '../../datasets/dataset.ts'
import styles from '../ask.module.css'
import { Removable, SelectColumn, TextList } from '../fields.tsx'
import { type Grouping, withField } from '../question/question.ts'
import type { FieldPart } from './field-part.ts'
import { groupingOf } from './kinds.ts'

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

type Period = (typeof PERIODS)[number][0]

export interface GroupingFieldProps {
  readonly label: string
  readonly columns: readonly Column[]
  /** Grouping as a question contains it: the name of a column, or an object with edges or a period. */
  readonly value: Grouping
  readonly onChange: (grouping: Grouping) => void
}

/** Choice of a column by which rows are grouped, and how it is divided. */
export function GroupingField({ label, columns, value, onChange }: GroupingFieldProps) {
  const grouping = typeof value === 'string' ? { column: value } : value
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
      {'edges' in grouping && (
        <TextList
          label={`Edges of ${column?.name}`}
          hint="A bin contains its lower edge."
          items={grouping.edges}
          onChange={(edges) => onChange({ ...grouping, edges: [...edges] })}
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
  readonly grouping: Exclude<Grouping, string> | { readonly column: string }
  readonly onChange: (grouping: Grouping) => void
}

/** Division of dates or timestamps: periods of the calendar, from one to another, or own edges. */
function PeriodFields({ column, grouping, onChange }: PeriodFieldsProps) {
  const periods = PERIODS.filter(([period]) => period !== 'hour' || column.type === 'timestamp')
  const calendar = 'by' in grouping ? grouping : undefined
  const change = (period: Period | 'edges') => {
    if (period === 'edges') onChange({ column: column.name, edges: [column.lower, column.upper] })
    else onChange({ ...calendar, column: column.name, by: period })
  }
  return (
    <>
      <SelectField
        label="Period"
        options={[...periods, ['edges', 'between own edges'] as const]}
        value={calendar?.by ?? 'edges'}
        onChange={change}
      />
      {calendar !== undefined &&
        (['from', 'to'] as const).map((end) => (
          <TextField
            key={end}
            label={end === 'from' ? 'From' : 'To'}
            placeholder={end === 'from' ? column.lower : column.upper}
            value={calendar[end] ?? ''}
            onChange={(text) => onChange(withField(calendar, end, text || undefined))}
          />
        ))}
      {calendar !== undefined && column.type === 'timestamp' && (
        <TextField
          label="Time zone"
          placeholder="UTC"
          value={calendar.timeZone ?? ''}
          onChange={(text) => onChange(withField(calendar, 'timeZone', text || undefined))}
        />
      )}
    </>
  )
}

/** Columns by which rows are grouped together. */
export function GroupingsFields({ field, columns, value: groupings = [], onChange }: FieldPart<'groupings'>) {
  const { least = 0, most = Number.POSITIVE_INFINITY } = field
  const unused = columns.filter(({ name }) => !groupings.some((other) => columnOf(other) === name))
  const [next] = unused
  return (
    <>
      {groupings.map((grouping, place) => (
        <Removable
          // biome-ignore lint/suspicious/noArrayIndexKey: a grouping has no name of its own
          key={place}
          label={`Remove ${columnOf(grouping)}`}
          onRemove={groupings.length > least ? () => onChange(groupings.toSpliced(place, 1)) : undefined}
        >
          <GroupingField
            label={place === 0 ? 'By' : 'and by'}
            columns={columns.filter((each) => each.name === columnOf(grouping) || unused.includes(each))}
            value={grouping}
            onChange={(changed) => onChange(groupings.with(place, changed))}
          />
        </Removable>
      ))}
      {next !== undefined && groupings.length < most && (
        <div>
          <Button onClick={() => onChange([...groupings, groupingOf(next)])}>Add a column to group by</Button>
        </div>
      )}
    </>
  )
}

function columnOf(grouping: Grouping): string {
  return typeof grouping === 'string' ? grouping : grouping.column
}

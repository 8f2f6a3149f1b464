import { type ReactNode, useState } from 'react'
import { including, Select } from '../../../components/forms/fields.tsx'
import type { Column } from '../../datasets/dataset.ts'
import styles from '../ask.module.css'
import { NameChoices, NumberInput, TextList, titleOfName } from '../fields.tsx'
import type { ColumnTest } from '../question/question.ts'

/** Number of categories from which on a list has a field to search it. */
const SEARCHED_CATEGORIES = 13
/** Most categories that a list shows at once; the search finds the others. */
const MOST_CATEGORIES = 100

export interface ValueFieldProps {
  readonly column: Column
  readonly test: ColumnTest
  readonly onChange: (test: ColumnTest) => void
}

/** Value, values or bounds that a test compares a column with, chosen from what is declared. */
export function ValueField({ column, test, onChange }: ValueFieldProps): ReactNode {
  const part = { column, label: `Value of ${column.name}` }
  if (test.op === 'in')
    return column.type === 'category' ? (
      <CategoriesField
        label={part.label}
        categories={column.categories}
        chosen={test.values}
        onChange={(values) => onChange({ ...test, values })}
      />
    ) : (
      <ListField {...part} values={test.values} onChange={(values) => onChange({ ...test, values })} />
    )
  if (test.op === 'between')
    return (
      <>
        <OneValue
          {...part}
          label={`Lowest value of ${column.name}`}
          value={test.lower}
          onChange={(lower) => onChange({ ...test, lower: boundOf(lower) })}
        />
        <OneValue
          {...part}
          label={`Highest value of ${column.name}`}
          value={test.upper}
          onChange={(upper) => onChange({ ...test, upper: boundOf(upper) })}
        />
        <Bounds column={column} />
      </>
    )
  if (test.op === 'isNull') return undefined
  return (
    <>
      <OneValue {...part} value={test.value} onChange={(value) => onChange({ ...test, value })} />
      <Bounds column={column} />
    </>
  )
}

function boundOf(value: Value): number | string {
  return typeof value === 'boolean' ? String(value) : value
}

/** The declared bounds of a column, if it has any. */
export function Bounds({ column }: { readonly column: Column }) {
  if (!('lower' in column)) return undefined
  const unit = 'unit' in column && column.unit !== undefined ? ` ${column.unit}` : ''
  return (
    <span className={styles.bounds}>
      {String(column.lower)} to {String(column.upper)}
      {unit}
    </span>
  )
}

type Value = number | string | boolean

interface OneValueProps {
  readonly column: Column
  readonly label: string
  readonly value: Value
  readonly onChange: (value: Value) => void
}

/** One value of a column. */
export function OneValue({ column, label, value, onChange }: OneValueProps): ReactNode {
  switch (column.type) {
    case 'category':
      return <Choice label={label} choices={column.categories} value={value} onChange={onChange} />
    case 'boolean':
      return (
        <Choice
          label={label}
          choices={['true', 'false']}
          value={value}
          onChange={(chosen) => onChange(chosen === 'true')}
        />
      )
    case 'integer':
    case 'number':
      return (
        <NumberInput
          aria-label={label}
          min={column.lower}
          max={column.upper}
          step={column.type === 'integer' ? 1 : 'any'}
          value={value}
          onChange={(number) => number !== undefined && onChange(number)}
        />
      )
    case 'date':
    case 'timestamp':
      return (
        <TimeInput
          type={column.type}
          label={label}
          value={String(value)}
          bounds={{ min: column.lower, max: column.upper }}
          onChange={onChange}
        />
      )
    default:
      return (
        <input
          aria-label={label}
          value={typeof value === 'string' ? value : ''}
          onChange={(event) => onChange(event.target.value)}
        />
      )
  }
}

interface ChoiceProps {
  readonly label: string
  readonly choices: readonly string[]
  readonly value: unknown
  readonly onChange: (value: string) => void
}

function Choice({ label, choices, value, onChange }: ChoiceProps) {
  return (
    <Select
      aria-label={label}
      value={String(value)}
      options={including(choices, String(value)).map((choice) => [choice, titleOfName(choice)])}
      onChange={onChange}
    />
  )
}

interface TimeInputProps {
  readonly type: 'date' | 'timestamp'
  readonly label: string
  readonly value: string
  readonly bounds: { readonly min: string; readonly max: string }
  readonly onChange: (value: string) => void
}

/** Calendar for a date or an instant in UTC. A text that it cannot show is edited as it is. */
export function TimeInput({ type, label, value, bounds, onChange }: TimeInputProps) {
  const shown = inputOfTime(type, value)
  if (shown === undefined)
    return (
      <input
        aria-label={label}
        value={value}
        onChange={({ target }) => target.value !== '' && onChange(target.value)}
      />
    )
  return (
    <input
      type={type === 'date' ? 'date' : 'datetime-local'}
      aria-label={type === 'date' ? label : `${label} (UTC)`}
      step={1}
      min={inputOfTime(type, bounds.min)}
      max={inputOfTime(type, bounds.max)}
      value={shown}
      onChange={({ target }) => target.value !== '' && onChange(timeOfInput(type, target.value))}
    />
  )
}

interface ListFieldProps {
  readonly column: Column
  readonly label: string
  readonly values: Value[]
  readonly onChange: (values: Value[]) => void
}

/** Values of a column without declared categories: texts one per line, others separated by commas. */
function ListField({ column, label, values, onChange }: ListFieldProps) {
  // A list must contain a value.
  const change = (next: readonly Value[]) => next.length > 0 && onChange([...next])
  if (column.type !== 'string') return <TextList label={label} items={values} onChange={change} />
  return (
    <textarea
      aria-label={`${label}, one in each line`}
      value={values.join('\n')}
      onChange={(event) => change(event.target.value.split('\n'))}
    />
  )
}

interface CategoriesFieldProps {
  readonly label: string
  readonly categories: readonly string[]
  readonly chosen: Value[]
  readonly onChange: (chosen: Value[]) => void
}

/** Choice of some categories. A long list can be searched. */
function CategoriesField({ label, categories, chosen, onChange }: CategoriesFieldProps) {
  const [search, setSearch] = useState('')
  const isLong = categories.length >= SEARCHED_CATEGORIES
  const wanted = search.trim().toLocaleLowerCase()
  const found = categories.filter(
    (category) => wanted === '' || category.toLocaleLowerCase().includes(wanted),
  )
  const shown = found.slice(0, MOST_CATEGORIES)
  return (
    <fieldset className={styles.categories} data-long={isLong} aria-label={label}>
      {isLong && (
        <div className={styles.search}>
          <input
            type="search"
            aria-label={`Search ${label.toLocaleLowerCase()}`}
            placeholder="Search"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
          <span>
            {chosen.length} of {categories.length} chosen
          </span>
        </div>
      )}
      <NameChoices names={shown} chosen={chosen} onChange={onChange} />
      {found.length === 0 && <span className={styles.quiet}>No category contains this text.</span>}
      {found.length > shown.length && (
        <span className={styles.quiet}>{found.length - shown.length} more. Search to see them.</span>
      )}
    </fieldset>
  )
}

/** A date, or an instant in UTC to the second, as ISO 8601 writes it. */
const INSTANT = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(?:\.0+)?)?Z?)?$/

/** Returns a date or an instant as a calendar of the browser takes it, or undefined if it cannot show the text. */
function inputOfTime(type: 'date' | 'timestamp', text: string): string | undefined {
  const [, date, minutes, seconds = '00'] = INSTANT.exec(text) ?? []
  if (date === undefined) return undefined
  if (type === 'timestamp') return `${date}T${minutes ?? '00:00'}:${seconds}`
  return minutes === undefined ? date : undefined
}

/** Returns what was chosen in a calendar as ISO 8601. */
function timeOfInput(type: 'date' | 'timestamp', text: string): string {
  if (type === 'date') return text
  return `${text.length === 'YYYY-MM-DDTHH:mm'.length ? `${text}:00` : text}Z`
}

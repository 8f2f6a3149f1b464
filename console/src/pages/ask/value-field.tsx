import { type ReactNode, useState } from 'react'
import styles from './ask.module.css'
import type { Column } from './kinds.ts'
import { NumberInput } from './number-input.tsx'
import type { Question } from './question.ts'
import { TextList } from './text-list.tsx'
import { inputOfTime, timeOfInput } from './times.ts'

/** Number of categories from which on a list has a field to search it. */
const SEARCHED_CATEGORIES = 13
/** Most categories that a list shows at once; the search finds the others. */
const MOST_CATEGORIES = 100

export interface ValueFieldProps {
  readonly column: Column
  readonly test: Question
  readonly onChange: (test: Question) => void
}

/** Value, values or bounds that a test compares a column with, chosen from what is declared. */
export function ValueField({ column, test, onChange }: ValueFieldProps): ReactNode {
  const part = { column, label: `Value of ${column.name}` }
  const values = Array.isArray(test.values) ? test.values : []
  if (test.op === 'in')
    return column.type === 'category' ? (
      <CategoriesField
        label={part.label}
        categories={column.categories}
        chosen={values}
        onChange={(chosen) => onChange({ ...test, values: chosen })}
      />
    ) : (
      <ListField {...part} values={values} onChange={(next) => onChange({ ...test, values: next })} />
    )
  if (test.op === 'between')
    return (
      <>
        <OneValue
          {...part}
          label={`Lowest value of ${column.name}`}
          value={test.lower}
          onChange={(lower) => onChange({ ...test, lower })}
        />
        <OneValue
          {...part}
          label={`Highest value of ${column.name}`}
          value={test.upper}
          onChange={(upper) => onChange({ ...test, upper })}
        />
        <Bounds column={column} />
      </>
    )
  return (
    <>
      <OneValue {...part} value={test.value} onChange={(value) => onChange({ ...test, value })} />
      <Bounds column={column} />
    </>
  )
}

/** Declared bounds of a column. */
function Bounds({ column }: { readonly column: Column }) {
  if (!('lower' in column)) return undefined
  const unit = 'unit' in column && column.unit !== undefined ? ` ${column.unit}` : ''
  return (
    <span className={styles.bounds}>
      {String(column.lower)} to {String(column.upper)}
      {unit}
    </span>
  )
}

interface OneValueProps {
  readonly column: Column
  readonly label: string
  readonly value: unknown
  readonly onChange: (value: unknown) => void
}

function OneValue({ column, label, value, onChange }: OneValueProps): ReactNode {
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
    <select aria-label={label} value={String(value)} onChange={(event) => onChange(event.target.value)}>
      {!choices.includes(String(value)) && <option>{String(value)}</option>}
      {choices.map((choice) => (
        <option key={choice} value={choice}>
          {choice === '' ? '(empty text)' : choice}
        </option>
      ))}
    </select>
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
  readonly values: readonly unknown[]
  readonly onChange: (values: readonly unknown[]) => void
}

/** Values of a column without declared categories: texts one per line, others separated by commas. */
function ListField({ column, label, values, onChange }: ListFieldProps) {
  // A list must contain a value.
  const change = (next: readonly unknown[]) => next.length > 0 && onChange(next)
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
  readonly chosen: readonly unknown[]
  readonly onChange: (chosen: readonly unknown[]) => void
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
  const toggle = (category: string, isChosen: boolean) => {
    const values = isChosen ? [...chosen, category] : chosen.filter((each) => each !== category)
    // A list must contain a value.
    if (values.length > 0) onChange(values)
  }
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
      {shown.map((category) => (
        <label key={category}>
          <input
            type="checkbox"
            checked={chosen.includes(category)}
            onChange={(event) => toggle(category, event.target.checked)}
          />
          <bdi>{category === '' ? '(empty text)' : category}</bdi>
        </label>
      ))}
      {found.length === 0 && <span className={styles.quiet}>No category contains this text.</span>}
      {found.length > shown.length && (
        <span className={styles.quiet}>{found.length - shown.length} more. Search to see them.</span>
      )}
    </fieldset>
  )
}

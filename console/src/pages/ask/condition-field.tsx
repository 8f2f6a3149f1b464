import { Button } from '../../components/button.tsx'
import styles from './ask.module.css'
import { type ConditionList, conditionsOf, predicateOf } from './conditions.ts'
import { type Column, conditionColumns, conditionOn, type DatasetFacts, initialCondition } from './kinds.ts'
import type { Question } from './question.ts'

const OPERATORS = {
  ordered: ['>=', '>', '<=', '<', '=', '!=', 'isNull'],
  chosen: ['in', '!=', 'isNull'],
  boolean: ['=', 'isNull'],
} as const

const OPERATOR_NAMES: Readonly<Record<string, string>> = {
  '>=': 'at least',
  '>': 'more than',
  '<=': 'at most',
  '<': 'less than',
  '=': 'is',
  '!=': 'is not',
  in: 'is one of',
  isNull: 'is missing',
}

export interface ConditionFieldProps {
  readonly label: string
  readonly dataset: DatasetFacts
  readonly value: unknown
  /** True if there must be a condition. */
  readonly required?: boolean
  readonly onChange: (predicate: Question | undefined) => void
}

/** Condition on rows as a list of tests of columns. Nested conditions are written as JSON. */
export function ConditionField({ label, dataset, value, required = false, onChange }: ConditionFieldProps) {
  const list = conditionsOf(value)
  if (list === undefined)
    return (
      <p className={styles.quiet}>
        {label}: the condition is nested. Change it as JSON, or{' '}
        <Button look="quiet" onClick={() => onChange(required ? initialCondition(dataset) : undefined)}>
          start again
        </Button>
      </p>
    )
  const change = (changes: Partial<ConditionList>) => onChange(predicateOf({ ...list, ...changes }))
  return (
    <fieldset className={styles.conditions}>
      <legend>{label}</legend>
      {list.tests.map((test, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a test has no name of its own
        <div key={place} className={styles.test}>
          <TestFields
            test={test}
            dataset={dataset}
            onChange={(changed) => change({ tests: list.tests.with(place, changed) })}
          />
          {(list.tests.length > 1 || !required) && (
            <Button
              look="quiet"
              aria-label={`Remove the condition on ${String(test.column)}`}
              onClick={() => change({ tests: list.tests.toSpliced(place, 1) })}
            >
              Remove
            </Button>
          )}
        </div>
      ))}
      <div className={styles.test}>
        <Button onClick={() => change({ tests: [...list.tests, initialCondition(dataset)] })}>
          {list.tests.length === 0 ? 'Add a condition' : 'Add another'}
        </Button>
        {list.tests.length > 1 && (
          <select
            aria-label="How conditions are combined"
            value={list.combine}
            onChange={(event) => change({ combine: event.target.value === 'or' ? 'or' : 'and' })}
          >
            <option value="and">all must hold</option>
            <option value="or">any must hold</option>
          </select>
        )}
      </div>
    </fieldset>
  )
}

interface TestFieldsProps {
  readonly test: Question
  readonly dataset: DatasetFacts
  readonly onChange: (test: Question) => void
}

function TestFields({ test, dataset, onChange }: TestFieldsProps) {
  const columns = conditionColumns(dataset)
  const column = columns.find(({ name }) => name === test.column)
  return (
    <>
      <select
        aria-label="Column"
        value={String(test.column)}
        onChange={(event) => {
          const next = columns.find(({ name }) => name === event.target.value)
          if (next !== undefined) onChange(conditionOn(next))
        }}
      >
        {columns.map(({ name }) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      {column !== undefined && (
        <>
          <select
            aria-label="Operator"
            value={String(test.op)}
            onChange={(event) => onChange(withOperator(column, test, event.target.value))}
          >
            {operatorsOf(column, test.op).map((op) => (
              <option key={op} value={op}>
                {OPERATOR_NAMES[op] ?? op}
              </option>
            ))}
          </select>
          {test.op !== 'isNull' && <ValueField column={column} test={test} onChange={onChange} />}
        </>
      )}
    </>
  )
}

function operatorsOf(column: Column, op: unknown): readonly string[] {
  const offered: readonly string[] =
    column.type === 'boolean'
      ? OPERATORS.boolean
      : column.type === 'category'
        ? OPERATORS.chosen
        : OPERATORS.ordered
  return typeof op === 'string' && !offered.includes(op) ? [op, ...offered] : offered
}

function withOperator(column: Column, test: Question, op: string): Question {
  if (op === 'isNull') return { column: column.name, op }
  const initial = conditionOn(column)
  if (op === 'in') return initial
  const [first] = Array.isArray(test.values) ? test.values : []
  const [usual] = Array.isArray(initial.values) ? initial.values : []
  return { column: column.name, op, value: test.value ?? first ?? initial.value ?? usual }
}

interface ValueFieldProps {
  readonly column: Column
  readonly test: Question
  readonly onChange: (test: Question) => void
}

function ValueField({ column, test, onChange }: ValueFieldProps) {
  const label = `Value of ${column.name}`
  const change = (value: unknown) => onChange({ ...test, value })
  if (column.type === 'category' && test.op === 'in') {
    const chosen = Array.isArray(test.values) ? test.values : []
    return (
      <fieldset className={styles.categories} aria-label={label}>
        {column.categories.map((category) => (
          <label key={category}>
            <input
              type="checkbox"
              checked={chosen.includes(category)}
              onChange={(event) => {
                const values = event.target.checked
                  ? [...chosen, category]
                  : chosen.filter((each) => each !== category)
                // A list must contain a value.
                if (values.length > 0) onChange({ ...test, values })
              }}
            />
            {category}
          </label>
        ))}
      </fieldset>
    )
  }
  if (column.type === 'category' || column.type === 'boolean') {
    const choices = column.type === 'boolean' ? ['true', 'false'] : column.categories
    return (
      <select
        aria-label={label}
        value={String(test.value)}
        onChange={(event) =>
          change(column.type === 'boolean' ? event.target.value === 'true' : event.target.value)
        }
      >
        {choices.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    )
  }
  if (column.type === 'integer' || column.type === 'number')
    return (
      <input
        type="number"
        aria-label={label}
        step={column.type === 'integer' ? 1 : 'any'}
        value={typeof test.value === 'number' ? test.value : ''}
        onChange={(event) => event.target.value !== '' && change(Number(event.target.value))}
      />
    )
  return (
    <input
      type={column.type === 'date' ? 'date' : 'text'}
      aria-label={label}
      value={String(test.value)}
      onChange={(event) => event.target.value !== '' && change(event.target.value)}
    />
  )
}

import { type Column, conditionColumns, conditionOn, type DatasetFacts } from './kinds.ts'
import type { Question } from './question.ts'
import { ValueField } from './value-field.tsx'

const OPERATORS = {
  ordered: ['>=', '>', '<=', '<', 'between', '=', '!=', 'isNull'],
  category: ['in', '!=', 'isNull'],
  boolean: ['=', 'isNull'],
  text: ['=', '!=', 'in', 'isNull'],
} as const

const OPERATOR_NAMES: Readonly<Record<string, string>> = {
  '>=': 'at least',
  '>': 'more than',
  '<=': 'at most',
  '<': 'less than',
  '=': 'is',
  '!=': 'is not',
  between: 'is between',
  in: 'is one of',
  isNull: 'is missing',
}

export interface TestFieldsProps {
  readonly test: Question
  readonly dataset: DatasetFacts
  readonly onChange: (test: Question) => void
}

/** Test of one column: the column, an operator, and a value. */
export function TestFields({ test, dataset, onChange }: TestFieldsProps) {
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
        {column === undefined && <option>{String(test.column)}</option>}
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
  const offered = offeredOperators(column)
  return typeof op === 'string' && !offered.includes(op) ? [op, ...offered] : offered
}

function offeredOperators({ type }: Column): readonly string[] {
  switch (type) {
    case 'boolean':
    case 'category':
      return OPERATORS[type]
    case 'string':
      return OPERATORS.text
    default:
      return OPERATORS.ordered
  }
}

/** Returns a test with another operator. It keeps the value, or takes the first declared one. */
function withOperator(column: Column, test: Question, op: string): Question {
  const { name } = column
  if (op === 'isNull') return { column: name, op }
  const initial = conditionOn(column)
  const listed = [test.values, initial.values].find(Array.isArray) ?? []
  const value = test.value ?? test.lower ?? listed[0] ?? initial.value
  if (op === 'in') return { column: name, op, values: [value] }
  if (op === 'between') return { column: name, op, lower: value, upper: upperOf(column) ?? value }
  return { column: name, op, value }
}

function upperOf(column: Column): unknown {
  return 'upper' in column ? column.upper : undefined
}

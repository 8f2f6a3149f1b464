import { including, Select } from '../../../components/forms/fields.tsx'
import type { Column, DatasetFacts } from '../../datasets/dataset.ts'
import { conditionColumns, conditionOn } from '../kinds/kinds.ts'
import type { ColumnTest } from '../question/question.ts'
import { ValueField } from './value-field.tsx'

type Operator = ColumnTest['op']

const OPERATORS = {
  ordered: ['>=', '>', '<=', '<', 'between', '=', '!=', 'isNull'],
  category: ['in', '!=', 'isNull'],
  boolean: ['=', 'isNull'],
  text: ['=', '!=', 'in', 'isNull'],
} as const

const OPERATOR_NAMES: Readonly<Record<Operator, string>> = {
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
  readonly test: ColumnTest
  readonly dataset: DatasetFacts
  readonly onChange: (test: ColumnTest) => void
}

/** Test of one column: the column, an operator, and a value. */
export function TestFields({ test, dataset, onChange }: TestFieldsProps) {
  const columns = conditionColumns(dataset)
  const column = columns.find(({ name }) => name === test.column)
  return (
    <>
      <Select
        aria-label="Column"
        value={test.column}
        options={including(
          columns.map(({ name }) => name),
          test.column,
        )}
        onChange={(name) => {
          const next = columns.find((each) => each.name === name)
          if (next !== undefined) onChange(conditionOn(next))
        }}
      />
      {column !== undefined && (
        <>
          <Select
            aria-label="Operator"
            value={test.op}
            options={including(operatorsOf(column), test.op).map((op) => [op, OPERATOR_NAMES[op]])}
            onChange={(op) => onChange(withOperator(column, test, op))}
          />
          {test.op !== 'isNull' && <ValueField column={column} test={test} onChange={onChange} />}
        </>
      )}
    </>
  )
}

function operatorsOf({ type }: Column): readonly Operator[] {
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
function withOperator(column: Column, test: ColumnTest, op: Operator): ColumnTest {
  const { name } = column
  const value = valueOfTest(test) ?? valueOfTest(conditionOn(column)) ?? ''
  switch (op) {
    case 'isNull':
      return { column: name, op }
    case 'in':
      return { column: name, op, values: 'values' in test ? test.values : [value] }
    case 'between': {
      const bound = typeof value === 'boolean' ? String(value) : value
      return { column: name, op, lower: bound, upper: 'upper' in column ? column.upper : bound }
    }
    default:
      return { column: name, op, value }
  }
}

function valueOfTest(test: ColumnTest): string | number | boolean | undefined {
  switch (test.op) {
    case 'isNull':
      return undefined
    case 'in':
      return test.values[0]
    case 'between':
      return test.lower
    default:
      return test.value
  }
}

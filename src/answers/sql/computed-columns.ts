import { isGrid, isTemporal, type QueryableColumn } from '../../core/dataset/dataset.ts'
import { columnNamed, findColumn } from '../../core/planner/language/columns.ts'
import { columnText } from '../../core/planner/language/expressions/linear.ts'
import { ExpressionError } from '../../core/planner/language/expressions/parse.ts'
import { writtenLiteral, writtenPredicate } from '../../core/planner/language/expressions/written.ts'
import { planPredicate } from '../../core/planner/language/predicate.ts'
import { must } from '../../privacy/must.ts'
import type { Call, Expression, ExpressionOf } from './parsing/statement.ts'
import { columnOf, numberOf, type Scope } from './scope.ts'

/*
 * Columns that a statement computes, as expressions of queries. What SQL computes otherwise is refused: the integer quotient
 * of two integers, and conditions of which the truth is unknown are not conditions that are false.
 */

/** True for an expression that may compute a column. */
export function isComputed(expression: Expression): boolean {
  switch (expression.kind) {
    case 'arithmetic':
    case 'case':
      return true
    case 'call':
      return expression.name === 'coalesce' || (isDateField(expression) && expression.arguments.length === 2)
    default:
      return false
  }
}

/** True for an expression that only a computed column can stand for: of several columns, or with conditions. */
export function needsComputing(expression: Expression): boolean {
  if (expression.kind === 'case') return true
  return isComputed(expression) && namesIn(expression).size > 1
}

/** The names of the columns in an expression. */
export function namesIn(expression: Expression): ReadonlySet<string> {
  switch (expression.kind) {
    case 'column':
      return new Set([`${expression.table}.${expression.name}`])
    case 'arithmetic':
      return namesIn(expression.left).union(namesIn(expression.right))
    case 'call':
      return expression.arguments.map(namesIn).reduce((all, names) => all.union(names), new Set<string>())
    default:
      return new Set()
  }
}

/**
 * Finds the column that an expression computes.
 * @throws Refusal `sql-not-supported` for one that queries cannot compute, `query-does-not-fit` for columns that do not fit
 */
export function computedColumn(scope: Scope, expression: Expression): QueryableColumn {
  if (expression.kind === 'column') return columnOf(scope, expression)
  const found = foundColumn(scope, expression)
  if ('column' in found) return found.column
  throw scope.misfit(expression.at, `this expression ${found.rule ?? 'names no column'}.`)
}

function foundColumn(scope: Scope, expression: Expression): ReturnType<typeof findColumn> {
  try {
    return findColumn(scope.dataset, written(scope, expression))
  } catch (error) {
    if (error instanceof ExpressionError) return { rule: error.rule }
    throw error
  }
}

function written(scope: Scope, expression: Expression): string {
  const { at } = expression
  switch (expression.kind) {
    case 'column':
      return columnText(columnOf(scope, expression))
    case 'number':
      return writtenLiteral(numberOf(scope, expression, 'a constant'))
    case 'text':
      return writtenLiteral(expression.value)
    case 'boolean':
      return writtenLiteral(expression.value)
    case 'arithmetic': {
      const { op, left, right } = expression
      const dividend = written(scope, left)
      if (op === '/') requireExactQuotient(scope, left.kind === 'number' ? undefined : dividend, right)
      return `(${dividend} ${op} ${written(scope, right)})`
    }
    case 'case':
      return writtenCase(scope, expression)
    case 'call':
      return writtenCall(scope, expression)
    default:
      throw scope.unsupported(
        at,
        'this expression cannot be computed for each row. docs/sql.md lists those that can.',
      )
  }
}

/**
 * The quotient of two integers is an integer in SQL.
 * @param dividend what is divided, as it is written; `undefined` for a number
 */
function requireExactQuotient(scope: Scope, dividend: string | undefined, right: Expression): void {
  if (right.kind !== 'number') throw scope.unsupported(right.at, 'columns are divided by constants only.')
  if (!Number.isInteger(Number(right.text)) || right.text.includes('.')) return
  const column = dividend === undefined ? undefined : findColumn(scope.dataset, dividend)
  const isWhole = column === undefined || !('column' in column) || column.column.type === 'integer'
  if (isWhole)
    throw scope.unsupported(
      right.at,
      `the quotient of integers would be cut to an integer. Write ${right.text}.0.`,
    )
}

function writtenCase(scope: Scope, { whens, otherwise }: ExpressionOf<'case'>): string {
  const parts = whens.map(({ condition, result }) => {
    const predicate = planPredicate(scope.condition(condition), scope.dataset, 'where')
    const when = writtenPredicate(predicate, (name) =>
      must(columnNamed(scope.dataset, name), 'a column of a planned predicate'),
    )
    return `when ${when} then ${written(scope, result)}`
  })
  const last =
    otherwise === undefined || otherwise.kind === 'null' ? '' : ` else ${written(scope, otherwise)}`
  return `case ${parts.join(' ')}${last} end`
}

/** Fields of dates, and the functions of expressions for them. */
const FIELDS: ReadonlyMap<string, string> = new Map([
  ['year', 'year'],
  ['quarter', 'quarter'],
  ['month', 'month'],
  ['day', 'day'],
  ['isodow', 'weekday'],
  ['hour', 'hour'],
])

function isDateField({ name }: Call): boolean {
  return name === 'extract' || name === 'date_part'
}

function writtenCall(scope: Scope, call: Call): string {
  const { name, arguments: parts, at } = call
  if (name === 'coalesce') return `coalesce(${parts.map((part) => written(scope, part)).join(', ')})`
  const [field, operand] = parts
  if (!isDateField(call) || field?.kind !== 'text' || operand === undefined)
    throw scope.unsupported(
      at,
      `the function ${name} is not supported here. docs/sql.md lists the functions that are.`,
    )
  const part = FIELDS.get(field.value.toLowerCase())
  if (part === undefined)
    throw scope.unsupported(field.at, `the field must be one of ${[...FIELDS.keys()].join(', ')}.`)
  const column = computedColumn(scope, operand)
  if (!isGrid(column) || !isTemporal(column))
    throw scope.misfit(
      operand.at,
      `${name} needs a date or timestamp; ${column.name} is of type ${column.type}.`,
    )
  return `${part}(${columnText(column)})`
}

import type { QueryPredicate } from '../../../../../schemas/answers/query.ts'
import { decimalFromNumber, numberFromDecimal } from '../../../../privacy/decimal.ts'
import { entry } from '../../../../privacy/must.ts'
import { Refusal } from '../../../../privacy/refusal.ts'
import {
  type BooleanColumn,
  type CategoryColumn,
  type GridColumn,
  isGrid,
  type QueryableColumn,
} from '../../../dataset/dataset.ts'
import { ONE_NANO, parseGridValue, valueOfIndex } from '../../../dataset/grid-value.ts'
import type { Predicate } from '../aggregate.ts'
import { binText } from '../bin-text.ts'
import { planPredicateOver } from '../comparisons.ts'
import type { Formula } from '../formula.ts'
import { branching, type Find, factsOf, type Value } from './branches.ts'
import { datePart, isDatePart, localTime } from './calendar-parts.ts'
import {
  columnOfLinear,
  columnText,
  constantOf,
  fraction,
  type Linear,
  linearOf,
  scaled,
  sumOf,
} from './linear.ts'
import { type Condition, type Expression, ExpressionError, parseExpression } from './parse.ts'
import { writtenLiteral, writtenPredicate } from './written.ts'

/** The changes of a zone take long to find. */
const MOST_ZONES = 3

/**
 * Returns the column that an expression stands for: one that exists, or a new one whose name is the normal form of the
 * expression. Expressions with one normal form have the same values.
 * @throws ExpressionError for a text that is no expression, or one of the wrong types
 */
export function derivedColumn(text: string, find: Find): QueryableColumn {
  if ((text.match(/\blocal\s*\(/gi)?.length ?? 0) > MOST_ZONES)
    throw new ExpressionError(`must use local at most ${MOST_ZONES} times`)
  return columnOf(parseExpression(text), find)
}

function columnOf(expression: Expression, find: Find): QueryableColumn {
  const value = evaluate(expression, find)
  switch (value.kind) {
    case 'linear':
      return columnOfLinear(value)
    case 'column':
      return value.column
    case 'text':
    case 'truth':
      throw new ExpressionError('must use a column')
  }
}

function evaluate(expression: Expression, find: Find): Value {
  switch (expression.kind) {
    case 'column':
      return asValue(find(expression.name), find)
    case 'number':
      return constantOf(fraction(expression.nano, ONE_NANO))
    case 'text':
    case 'truth':
      return expression
    case 'arithmetic':
      return arithmetic(expression, find)
    case 'call':
      return computedValue(called(expression, find), find)
    case 'case':
      return computedValue(caseOf(expression, find), find)
    default:
      return computedValue(holding(planned(expression, find), find), find)
  }
}

/** A column that is declared with this normal form takes its place, so that a name and its expression are one. */
function computedValue(column: QueryableColumn, find: Find): Value {
  return asValue(column.formula === undefined ? column : find(column.name, column), find)
}

function asValue(column: QueryableColumn, find: Find): Value {
  return isGrid(column) ? linearOf(column, (name) => gridNamed(name, find)) : { kind: 'column', column }
}

function gridNamed(name: string, find: Find): GridColumn {
  const column = find(name)
  if (isGrid(column)) return column
  throw new ExpressionError(
    `needs a column of numbers, dates or timestamps; ${name} is of type ${column.type}`,
  )
}

function linear(expression: Expression, find: Find): Linear {
  const value = evaluate(expression, find)
  if (value.kind === 'linear') return value
  const what =
    value.kind === 'column' ? `${value.column.name}, of type ${value.column.type}` : `a ${value.kind}`
  throw new ExpressionError(`must compute with numbers, dates and timestamps only, not with ${what}`)
}

function arithmetic({ op, left, right }: Extract<Expression, { kind: 'arithmetic' }>, find: Find): Linear {
  const [one, other] = [linear(left, find), linear(right, find)]
  switch (op) {
    case '+':
      return sumOf(one, other)
    case '-':
      return sumOf(one, scaled(other, fraction(-1n, 1n)))
    case '*': {
      const [form, factor] = other.terms.length === 0 ? [one, other] : [other, one]
      if (factor.terms.length > 0) throw new ExpressionError('must multiply columns with constants only')
      return scaled(form, factor.constant)
    }
    case '/': {
      const { numerator, denominator } = other.constant
      if (other.terms.length > 0 || numerator === 0n)
        throw new ExpressionError('must divide by constants other than 0 only')
      return scaled(one, fraction(denominator, numerator))
    }
  }
}

function called({ name, values }: Extract<Expression, { kind: 'call' }>, find: Find): QueryableColumn {
  const [first, ...others] = values
  if (first === undefined) throw new ExpressionError(`has nothing in ${name}()`)
  if (isDatePart(name)) {
    if (others.length > 0) throw new ExpressionError(`must give ${name} one date or timestamp`)
    return datePart(name, columnOf(first, find))
  }
  const [second] = others
  switch (name) {
    case 'local':
      if (second?.kind !== 'text' || others.length > 1)
        throw new ExpressionError("must give local a timestamp and a zone, such as 'Europe/Berlin'")
      return localTime(columnOf(first, find), second.text)
    case 'round':
      return rounded(first, others, find)
    case 'bins':
      return bins(first, others, find)
    case 'coalesce':
      if (second === undefined || others.length > 1)
        throw new ExpressionError('must give coalesce a column and a constant')
      return coalesced(first, second, find)
    default:
      throw new ExpressionError(
        `has no function "${name}"; there are round, coalesce, bins, local, date, year, quarter, month, day, weekday and hour`,
      )
  }
}

function rounded(operand: Expression, others: readonly Expression[], find: Find): QueryableColumn {
  const [step] = others
  const stepNano = step === undefined ? ONE_NANO : constantNano(step, find)
  if (others.length > 1 || stepNano <= 0n)
    throw new ExpressionError('must give round an expression and a step greater than 0')
  const form = linear(operand, find)
  return columnOfLinear(form, stepNano)
}

/** A constant as a whole number of 1e-9. */
function constantNano(expression: Expression, find: Find): bigint {
  const { terms, constant } = linear(expression, find)
  const nano = constant.numerator * ONE_NANO
  if (terms.length > 0) throw new ExpressionError('must give a constant here')
  if (nano % constant.denominator !== 0n)
    throw new ExpressionError('must give constants with at most 9 fractional digits')
  return nano / constant.denominator
}

/** Plans a condition over columns and expressions. */
function planned(expression: Expression, find: Find): Predicate {
  const written = conditionOf(expression, find)
  try {
    return planPredicateOver(written, (name) => find(name), 'expression')
  } catch (error) {
    if (error instanceof Refusal) throw new ExpressionError(error.errors[0]?.rule ?? error.message)
    throw error
  }
}

function conditionOf(expression: Expression, find: Find): QueryPredicate {
  switch (expression.kind) {
    case 'and':
    case 'or':
      return { op: expression.kind, predicates: expression.conditions.map((each) => conditionOf(each, find)) }
    case 'not':
      return { op: 'not', predicate: conditionOf(expression.condition, find) }
    case 'truth':
      return { op: expression.value ? 'and' : 'or', predicates: [] }
    case 'is-null':
      return { column: columnOf(expression.operand, find).name, op: 'isNull' }
    case 'in': {
      const column = columnOf(expression.operand, find)
      return {
        column: column.name,
        op: 'in',
        values: expression.values.map((each) => literalOf(each, column, find)),
      }
    }
    case 'between': {
      const column = columnOf(expression.operand, find)
      const [lower, upper] = [expression.lower, expression.upper].map((each) => literalOf(each, column, find))
      if (
        typeof lower === 'boolean' ||
        typeof upper === 'boolean' ||
        lower === undefined ||
        upper === undefined
      )
        throw new ExpressionError('must give "between" numbers, dates or times')
      return { column: column.name, op: 'between', lower, upper }
    }
    case 'compare':
      return comparisonOf(expression, find)
    default: {
      const column = columnOf(expression, find)
      if (column.type !== 'boolean')
        throw new ExpressionError(`must have a condition where ${column.name} is, of type ${column.type}`)
      return { column: column.name, op: '=', value: true }
    }
  }
}

/** The comparisons that hold for both sides exchanged. */
export const TURNED = { '=': '=', '!=': '!=', '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const

/** Compares a column with a constant. Two columns are compared by their difference with 0. */
function comparisonOf(
  { op, left, right }: Extract<Condition, { kind: 'compare' }>,
  find: Find,
): QueryPredicate {
  if (isConstant(left))
    return comparisonOf({ kind: 'compare', op: TURNED[op], left: right, right: left }, find)
  if (isConstant(right)) {
    const column = columnOf(left, find)
    return { column: column.name, op, value: literalOf(right, column, find) }
  }
  const difference = columnOf({ kind: 'arithmetic', op: '-', left, right }, find)
  return { column: difference.name, op, value: 0 }
}

function isConstant(expression: Expression): boolean {
  switch (expression.kind) {
    case 'number':
    case 'text':
    case 'truth':
      return true
    case 'arithmetic':
      return isConstant(expression.left) && isConstant(expression.right)
    default:
      return false
  }
}

function literalOf(expression: Expression, column: QueryableColumn, find: Find): number | string | boolean {
  const value = evaluate(expression, find)
  switch (value.kind) {
    case 'text':
      return value.text
    case 'truth':
      return value.value
    case 'linear':
      return exactNumber(constantNano(expression, find))
    case 'column':
      throw new ExpressionError(`must compare ${column.name} with a constant`)
  }
}

/** A constant of a comparison, which questions state as a number of JSON. */
function exactNumber(nano: bigint): number {
  const number = numberFromDecimal(nano, 9)
  if (decimalFromNumber(number, 9) !== nano)
    throw new ExpressionError('must compare with numbers of at most 15 digits')
  return number
}

/** TRUE where a predicate holds. */
function holding(predicate: Predicate, find: Find): BooleanColumn {
  const name = writtenPredicate(predicate, find)
  const formula: Formula = { kind: 'holds', predicate }
  return { ...factsOf(name, formula, false, find), type: 'boolean', formula }
}

function caseOf(
  { cases, otherwise }: Extract<Expression, { kind: 'case' }>,
  find: Find,
): CategoryColumn | GridColumn {
  const branches = cases.map(({ when, result }) => ({
    when: planned(when, find),
    result: evaluate(result, find),
  }))
  return branching(branches, otherwise === undefined ? undefined : evaluate(otherwise, find), find)
}

/** The first argument, or the constant where it is NULL. */
function coalesced(operand: Expression, instead: Expression, find: Find): QueryableColumn {
  const column = columnOf(operand, find)
  const literal = literalOf(instead, column, find)
  if (column.type === 'boolean') {
    const holds = { kind: 'boolean-is', column: column.name, value: literal !== true } as const
    return holding(
      literal === true ? { kind: 'not', predicate: { ...holds, value: false } } : { ...holds, value: true },
      find,
    )
  }
  const isMissing = { kind: 'is-null', column: column.name } as const
  const branches = [{ when: isMissing, result: evaluate(instead, find) }]
  const name = `coalesce(${columnText(column)}, ${writtenLiteral(literal)})`
  return {
    ...branching(branches, asValue(column, find), find),
    name,
    nullable: false,
    invalidValue: { kind: 'refuse' },
  }
}

/** Categories for the bins of a column, named as intervals. Values outside have none. */
function bins(operand: Expression, edges: readonly Expression[], find: Find): CategoryColumn {
  const column = columnOf(operand, find)
  if (!isGrid(column) || edges.length < 2)
    throw new ExpressionError(
      'must give bins a column of numbers, dates or timestamps, and at least two edges',
    )
  const indexes = edges.map((edge) => {
    const parsed = parseGridValue(column.type, literalOf(edge, column, find))
    if ('rule' in parsed) throw new ExpressionError(`has an edge of bins that ${parsed.rule}`)
    if (parsed.nano % column.stepNano === 0n) return parsed.nano / column.stepNano
    throw new ExpressionError(`has an edge of bins that is no multiple of the step of ${column.name}`)
  })
  const branches = indexes.slice(1).map((upper, place) => {
    const lower = entry(indexes, place)
    if (upper <= lower) throw new ExpressionError('must give bins increasing edges')
    const last = place === indexes.length - 2 ? ({ upperIncluded: true } as const) : {}
    const bin = { lower: valueOfIndex(column, lower), upper: valueOfIndex(column, upper), ...last }
    const when: Predicate = {
      kind: 'index-between',
      column: column.name,
      lower,
      upper: 'upperIncluded' in last ? upper : upper - 1n,
    }
    return { when, result: { kind: 'text', text: binText(bin, String) } as const }
  })
  const made = branching(branches, undefined, find)
  if (made.type !== 'category') throw new RangeError('the bins of a column are categories')
  const written = indexes.map((index) => writtenLiteral(valueOfIndex(column, index)))
  return { ...made, name: `bins(${[columnText(column), ...written].join(', ')})` }
}

import { type GridColumn, isGrid, isNumeric, isTemporal } from '../../core/dataset/dataset.ts'
import { ONE_NANO } from '../../core/dataset/grid-value.ts'
import { dateText, instantText, parseInstant } from '../../core/dataset/iso-time.ts'
import { type Fraction, fraction, plus, times } from '../../core/planner/language/expressions/linear.ts'
import { type Grouping, planGrouping } from '../../core/planner/language/grouping.ts'
import { decimalFromNumber } from '../../privacy/decimal.ts'
import { must } from '../../privacy/must.ts'
import { divideRoundingDown } from '../../privacy/rational.ts'
import { computedColumn, needsComputing } from './computed-columns.ts'
import {
  binned,
  type GroupingExpression,
  groupingOf,
  groupingOfColumn,
  isGroupingFunction,
  MOST_BINS,
  SHORT_UNITS,
} from './grouping.ts'
import { withoutPlaces } from './parsing/expressions.ts'
import type { ArithmeticOperator, Call, Expression, ExpressionOf } from './parsing/statement.ts'
import { compileValue } from './rows/computed.ts'
import { type Cell, type CellType, NO_GROUPS, type Slots } from './rows/row-values.ts'
import { columnOf, instantOf, numberOf, type Scope } from './scope.ts'

/*
 * Expressions by which rows are grouped or compared: a function of the cells into which a column is divided, such as
 * CAST(date_trunc('month', day) AS date), or steps of a column of numbers or times, such as FLOOR(age / 10.0) * 10.
 */

/**
 * Translates an expression of GROUP BY.
 * @throws Refusal `sql-not-supported` for other expressions, `query-does-not-fit` for columns that do not fit
 */
export function keyOf(scope: Scope, expression: Expression): GroupingExpression {
  if (expression.kind === 'column' || (expression.kind === 'call' && isGroupingFunction(expression.name)))
    return groupOf(scope, expression)
  if (needsComputing(expression))
    return groupingOfColumn(scope, computedColumn(scope, expression), expression.at)
  const steps = stepsOf(scope, expression)
  return steps === undefined ? functionOfCells(scope, expression) : cellsOfSteps(scope, expression, steps)
}

function groupOf(scope: Scope, expression: Expression): GroupingExpression {
  return periodsOf(scope, expression) ?? groupingOf(scope, expression)
}

const DAY = 86_400n
const WEEK = 7n * DAY
/** The first Monday since 1970. */
const MONDAY = 4n * DAY
/** Periods of equal length: weeks that begin some days from Monday, minutes and seconds. They are named by their begin. */
function periodsOf(scope: Scope, expression: Expression): GroupingExpression | undefined {
  if (expression.kind !== 'call' || expression.name !== 'date_trunc') return undefined
  const [unit, named, from] = expression.arguments
  if (named?.kind !== 'column' || unit?.kind !== 'text') return undefined
  const column = columnOf(scope, named)
  if (!isGrid(column) || !isTemporal(column)) return undefined
  const isDate = column.type === 'date'
  const moved = from?.kind === 'interval' ? MONDAY + BigInt(from.seconds) : undefined
  const [length, first] = [
    moved === undefined ? SHORT_UNITS.get(unit.value.toLowerCase()) : WEEK,
    moved ?? 0n,
  ]
  if (length === undefined || (isDate && moved === undefined)) return undefined
  const at = (index: bigint): Exact => {
    const seconds = floor(unitsOf(column, index, false, isDate ? DAY : 1n).value)
    return wholeOf(divideRoundingDown(seconds - first, length) * length + first, true)
  }
  const periods = cellsOfSteps(scope, expression, { column, at })
  const cellOf: GroupingExpression['cellOf'] = (label) => {
    const begin = periods.cellOf(label)
    if (typeof begin !== 'number') return null
    return isDate ? dateText(BigInt(begin) / DAY) : instantText(BigInt(begin))
  }
  return { ...periods, type: column.type, cellOf }
}

/** A function of the cells of one column. It must not join cells, because the query answers each. */
function functionOfCells(scope: Scope, expression: Expression): GroupingExpression {
  const found: GroupingExpression[] = []
  const slots: Slots = (part) => {
    const base = groupOf(scope, part)
    const [known] = found
    if (known !== undefined && JSON.stringify(known.column) !== JSON.stringify(base.column))
      throw scope.unsupported(part.at, 'a group is a function of one column.')
    found.push(base)
    return { key: 0, type: base.type }
  }
  const computed = compileValue(scope, slots, expression)
  const [base] = found
  if (base === undefined)
    throw scope.unsupported(expression.at, 'this needs a column: constants are not computed.')
  const cellOf: GroupingExpression['cellOf'] = (label) =>
    computed.valueFor({ keys: [base.cellOf(label)], measured: [], all: NO_GROUPS })
  const { labels } = cellsOf(scope, base, expression.at)
  const known = new Set<string>()
  for (const label of labels) {
    const cell = JSON.stringify(cellOf(label))
    if (known.has(cell)) {
      const rule = `this gives ${cell} for several groups of ${base.name}. Group by ${base.name} itself.`
      throw scope.unsupported(expression.at, rule)
    }
    known.add(cell)
  }
  return { ...base, type: computed.type, cellOf }
}

/** Largest number of cells of a column that a function is computed for. */
const MOST_CELLS = 10_000

/** The cells of a column, and the value of an expression in each. */
export interface CellValues {
  readonly grouping: Grouping
  readonly type: CellType
  readonly values: readonly Cell[]
}

/**
 * Computes an expression for every cell of its column, once for each statement.
 * @throws Refusal as {@link keyOf} does, and `query-does-not-fit` for a column with too many cells
 */
export function valuesOfCells(scope: Scope, expression: Expression): CellValues {
  return scope.once(withoutPlaces(expression), () => {
    const key = keyOf(scope, expression)
    const grouping = cellsOf(scope, key, expression.at)
    return { grouping, type: key.type, values: grouping.labels.map(key.cellOf) }
  })
}

function cellsOf(scope: Scope, { column, name }: GroupingExpression, at: number): Grouping {
  const grouping = planGrouping(column, scope.dataset, 'keys')
  if (grouping.labels.length <= MOST_CELLS) return grouping
  const rule = `this has ${grouping.labels.length} values; at most ${MOST_CELLS} are supported. Compare ${name} with constants.`
  throw scope.misfit(at, rule)
}

/** An exact number; `whole` if PostgreSQL has an integer, whose quotients it cuts. */
interface Exact {
  readonly value: Fraction
  readonly whole: boolean
}

/** A function of a column of numbers or times that never turns back: equal values lie side by side. */
interface Steps {
  readonly column: GridColumn
  readonly at: (index: bigint) => Exact
}

type Part = { readonly constant: Exact } | Steps

const STEP_FUNCTIONS: readonly string[] = ['floor', 'ceil', 'ceiling', 'trunc', 'round']

/** Reads steps of a column; `undefined` for another expression. */
function stepsOf(scope: Scope, expression: Expression): Steps | undefined {
  const part = partOf(scope, expression)
  return part !== undefined && 'column' in part ? part : undefined
}

function partOf(scope: Scope, expression: Expression): Part | undefined {
  switch (expression.kind) {
    case 'number': {
      const nano = decimalFromNumber(numberOf(scope, expression, 'the number'), FRACTION_DIGITS)
      if (nano === undefined) return undefined
      return { constant: { value: fraction(nano, ONE_NANO), whole: /^-?\d+$/.test(expression.text) } }
    }
    case 'column': {
      const column = columnOf(scope, expression)
      if (!isGrid(column) || !isNumeric(column)) return undefined
      return { column, at: (index) => unitsOf(column, index, column.type === 'integer') }
    }
    case 'cast': {
      const of = partOf(scope, expression.value)
      if (of === undefined || expression.digits !== undefined) return undefined
      if (expression.type === 'number') return mapped(of, ({ value }) => ({ value, whole: false }))
      return expression.type === 'integer'
        ? mapped(of, ({ value }) => wholeOf(rounded(value), true))
        : undefined
    }
    case 'call':
      return partOfCall(scope, expression)
    case 'arithmetic':
      return calculated(scope, expression)
    default:
      return undefined
  }
}

const FRACTION_DIGITS = 9

function unitsOf({ stepNano }: GridColumn, index: bigint, whole: boolean, factor = 1n): Exact {
  return { value: fraction(index * stepNano * factor, ONE_NANO), whole }
}

function mapped(part: Part, change: (exact: Exact) => Exact): Part {
  if ('constant' in part) return { constant: change(part.constant) }
  return { column: part.column, at: (index) => change(part.at(index)) }
}

function partOfCall(scope: Scope, call: Call): Part | undefined {
  const { name, arguments: parts } = call
  const [first, second, third] = parts
  if ((name === 'extract' || name === 'date_part') && third === undefined) {
    if (first?.kind !== 'text' || first.value.toLowerCase() !== 'epoch' || second?.kind !== 'column')
      return undefined
    const column = columnOf(scope, second)
    if (!isGrid(column) || !isTemporal(column)) return undefined
    const factor = column.type === 'date' ? DAY : 1n
    return { column, at: (index) => unitsOf(column, index, false, factor) }
  }
  if (!STEP_FUNCTIONS.includes(name) || first === undefined || second !== undefined) return undefined
  const of = partOf(scope, first)
  return (
    of && mapped(of, ({ value, whole }) => wholeOf(must(STEPS[name], 'a function of steps')(value), whole))
  )
}

const floor = ({ numerator, denominator }: Fraction): bigint => divideRoundingDown(numerator, denominator)
const negative = ({ numerator, denominator }: Fraction): Fraction => fraction(-numerator, denominator)
const trunc = (value: Fraction): bigint => (value.numerator < 0n ? -floor(negative(value)) : floor(value))

/** Rounds half away from zero, as PostgreSQL rounds decimals. */
function rounded(value: Fraction): bigint {
  if (value.numerator < 0n) return -rounded(negative(value))
  return divideRoundingDown(2n * value.numerator + value.denominator, 2n * value.denominator)
}

const STEPS: Readonly<Record<string, (value: Fraction) => bigint>> = {
  floor,
  ceil: (value) => -floor(negative(value)),
  ceiling: (value) => -floor(negative(value)),
  trunc,
  round: rounded,
}

function wholeOf(value: bigint, whole: boolean): Exact {
  return { value: fraction(value, 1n), whole }
}

/** Arithmetic of a column and constants. The column is no divisor, because its quotient would turn back at 0. */
function calculated(scope: Scope, { op, left, right }: ExpressionOf<'arithmetic'>): Part | undefined {
  const [one, other] = [partOf(scope, left), partOf(scope, right)]
  if (one === undefined || other === undefined) return undefined
  if ('constant' in other) {
    if (op === '/' && other.constant.value.numerator === 0n)
      throw scope.unsupported(right.at, 'a division by 0 has no result.')
    return mapped(one, (exact) => calculate(op, exact, other.constant))
  }
  if ('constant' in one && op !== '/') return mapped(other, (exact) => calculate(op, one.constant, exact))
  return undefined
}

function calculate(op: ArithmeticOperator, one: Exact, other: Exact): Exact {
  const whole = one.whole && other.whole
  const { numerator, denominator } = other.value
  switch (op) {
    case '+':
      return { value: plus(one.value, other.value), whole }
    case '-':
      return { value: plus(one.value, negative(other.value)), whole }
    case '*':
      return { value: times(one.value, other.value), whole }
    case '/': {
      const value = times(one.value, fraction(denominator, numerator))
      return whole ? wholeOf(trunc(value), true) : { value, whole }
    }
  }
}

interface Bins {
  readonly starts: readonly bigint[]
  readonly values: readonly number[]
  readonly end: bigint
}

/**
 * The cells of steps: a bin for each value. Those of a column with too many are only the ones that the condition of the statement
 * leaves, because rows outside of all bins are left out.
 */
function cellsOfSteps(scope: Scope, { at }: Expression, steps: Steps): GroupingExpression {
  const { column } = steps
  const whole = { lower: column.lowerIndex, upper: column.upperIndex }
  const bins = binsOf(steps, whole) ?? binsOf(steps, rangeOf(scope, column, scope.where))
  if (bins === undefined) {
    const rule = `this has more than ${MOST_BINS} values. Group by wider steps, such as FLOOR(${column.name} / 1000.0) * 1000, or state a range of ${column.name} in WHERE.`
    throw scope.misfit(at, rule)
  }
  const { starts, values, end } = bins
  return binned(column, starts, values, values.every(Number.isInteger) ? 'integer' : 'number', end)
}

/** The bins of steps within a range, whose ends are found by halving; undefined for too many. */
function binsOf({ at: valueAt }: Steps, { lower, upper }: Range): Bins | undefined {
  const isSame = (one: Exact, other: Exact) =>
    one.value.numerator === other.value.numerator && one.value.denominator === other.value.denominator
  const [starts, values]: [bigint[], number[]] = [[], []]
  let [start, width] = [lower, 1n]
  while (start <= upper) {
    const here = valueAt(start)
    starts.push(start)
    values.push(Number(here.value.numerator) / Number(here.value.denominator))
    if (starts.length > MOST_BINS) return undefined
    // Steps are mostly as wide as the one before, so the search begins at its end.
    const probes = [start + width - 1n, start + width]
    let [last, beyond] = [start, upper + 1n]
    while (beyond - last > 1n) {
      const probe = probes.pop() ?? (last + beyond) / 2n
      if (probe <= last || probe >= beyond) continue
      if (isSame(valueAt(probe), here)) last = probe
      else beyond = probe
    }
    width = beyond - start
    start = beyond
  }
  return { starts, values, end: upper }
}

/** Indices on the grid of a column, inclusive. */
interface Range {
  readonly lower: bigint
  readonly upper: bigint
}

/** A range that contains all rows for which a condition holds. */
function rangeOf(scope: Scope, column: GridColumn, condition: Expression | undefined): Range {
  const whole = { lower: column.lowerIndex, upper: column.upperIndex }
  const isColumn = (part: Expression) => part.kind === 'column' && columnOf(scope, part) === column
  // The grid rounds, so that rows of a constant can be at the next index.
  const between = (from: bigint | undefined, to: bigint | undefined) =>
    overlap(whole, {
      lower: from === undefined ? whole.lower : from - 1n,
      upper: to === undefined ? whole.upper : to + 2n,
    })
  switch (condition?.kind) {
    case 'and':
      return condition.parts.map((part) => rangeOf(scope, column, part)).reduce(overlap, whole)
    case 'between': {
      const { value, lower, upper } = condition
      return !isColumn(value) ? whole : between(indexOf(column, lower), indexOf(column, upper))
    }
    case 'comparison': {
      const { op, left, right } = condition
      if (!isColumn(left)) return whole
      const index = indexOf(column, right)
      if (op === '>' || op === '>=') return between(index, undefined)
      return op === '<' || op === '<=' ? between(undefined, index) : whole
    }
    default:
      return whole
  }
}

/** The range of both; one index of them for none. */
function overlap(one: Range, other: Range): Range {
  const lower = one.lower > other.lower ? one.lower : other.lower
  const upper = one.upper < other.upper ? one.upper : other.upper
  return lower <= upper ? { lower, upper } : { lower: one.lower, upper: one.lower }
}

/** The greatest index up to a constant that a column is compared with; undefined for one that is not understood. */
function indexOf(column: GridColumn, constant: Expression): bigint | undefined {
  const nano = nanoOf(column, constant)
  return nano === undefined ? undefined : divideRoundingDown(nano, column.stepNano)
}

function nanoOf({ type }: GridColumn, constant: Expression): bigint | undefined {
  if (constant.kind === 'number') return decimalFromNumber(Number(constant.text), FRACTION_DIGITS)
  if (constant.kind !== 'text') return undefined
  const instant = instantOf(constant.value, constant.type === 'date' ? undefined : constant.type)
  const nano = instant === undefined ? undefined : parseInstant(instant)
  return type === 'date' && nano !== undefined ? divideRoundingDown(nano, DAY) : nano
}

import type { GroupingColumn } from '../../../schemas/answers/query.ts'
import {
  type GridColumn,
  isGrid,
  isNumeric,
  isTemporal,
  type QueryableColumn,
} from '../../core/dataset/dataset.ts'
import { valueOfIndex } from '../../core/dataset/grid-value.ts'
import { dateText, instantText } from '../../core/dataset/iso-time.ts'
import { cycleOf, parsePeriod, startOf } from '../../core/planner/language/calendar.ts'
import type { CellLabel } from '../../core/planner/language/grouping.ts'
import { decimalFromNumber } from '../../privacy/decimal.ts'
import { divideRoundingUp } from '../../privacy/rational.ts'
import { computedColumn } from './computed-columns.ts'
import type { Call, Expression } from './parsing/statement.ts'
import type { Cell, CellType } from './rows/row-values.ts'
import { columnOf, numberOf, type Scope } from './scope.ts'

/** An expression by which rows are grouped. */
export interface GroupingExpression {
  readonly column: GroupingColumn
  /** Name of the column of the dataset, by which answers name the key. */
  readonly name: string
  readonly type: CellType
  /** Returns the value that SQL has for a cell of the declared domain. */
  readonly cellOf: (label: CellLabel) => Cell
}

/** Largest number of bins of a column. */
export const MOST_BINS = 1_000
/** Numbers are exact in 1e-9 of a unit. */
const FRACTION_DIGITS = 9

const GROUPING_FUNCTIONS: readonly string[] = ['date_trunc', 'date_part', 'extract', 'width_bucket']

/** True for the name of a function by which rows are grouped. */
export function isGroupingFunction(name: string): boolean {
  return GROUPING_FUNCTIONS.includes(name)
}

/**
 * Translates a column, or a function that divides it.
 * @throws Refusal `sql-not-supported` for other expressions, `query-does-not-fit` for columns that do not fit
 */
export function groupingOf(scope: Scope, expression: Expression): GroupingExpression {
  switch (expression.kind) {
    case 'column':
      return groupingOfColumn(scope, columnOf(scope, expression), expression.at)
    case 'call':
      return groupingOfCall(scope, expression)
    default:
      throw scope.unsupported(expression.at, SUPPORTED)
  }
}

const SUPPORTED =
  'rows are grouped by a column, date_trunc(unit, column), EXTRACT(field FROM column) or width_bucket(column, ...).'

/** The label of a category, a boolean or a day is the value that SQL has; NULL stays NULL. */
const labelItself = (label: CellLabel): Cell =>
  typeof label === 'object' && label !== null ? String(label.lower) : label

/** Groups by the values of a column. */
export function groupingOfColumn(scope: Scope, column: QueryableColumn, at: number): GroupingExpression {
  const { name, type } = column
  switch (column.type) {
    case 'category':
      return { column: name, name, type: 'text', cellOf: labelItself }
    case 'boolean':
      return { column: name, name, type: 'boolean', cellOf: labelItself }
    case 'date':
      return { column: { column: name, by: 'day' }, name, type: 'date', cellOf: labelItself }
    case 'integer':
    case 'number': {
      const { lowerIndex, upperIndex } = column
      if (upperIndex - lowerIndex < BigInt(MOST_BINS)) {
        const count = Number(upperIndex - lowerIndex) + 1
        const starts = Array.from({ length: count }, (_, place) => lowerIndex + BigInt(place))
        const values = starts.map((index) => Number(valueOfIndex(column, index)))
        return binned(column, starts, values, column.type)
      }
      const [lower, upper] = [lowerIndex, upperIndex].map((index) => valueOfIndex(column, index))
      const instead = `width_bucket(${name}, ${lower}, ${upper}, 10)`
      throw scope.misfit(at, `${name} has more than ${MOST_BINS} values. Group by bins: ${instead}.`)
    }
    case 'timestamp':
      throw scope.misfit(
        at,
        `${name} is of type ${type}. Group by date_trunc('month', ${name}) or another unit.`,
      )
    case 'string':
      throw scope.misfit(
        at,
        `${name} is free text: its values are not declared, so rows cannot be grouped by it.`,
      )
  }
}

function groupingOfCall(scope: Scope, call: Call): GroupingExpression {
  if (call.star || call.distinct || call.withinGroup !== undefined)
    throw scope.unsupported(call.at, SUPPORTED)
  switch (call.name) {
    case 'date_trunc':
      return truncated(scope, call)
    case 'extract':
    case 'date_part':
      return extracted(scope, call)
    case 'width_bucket':
      return buckets(scope, call)
    default:
      throw scope.unsupported(call.at, SUPPORTED)
  }
}

/** The unit and the column of a function of the calendar. */
function calendarArguments(scope: Scope, call: Call) {
  const [unit, column, third] = call.arguments
  if (unit?.kind !== 'text' || column?.kind !== 'column' || third !== undefined)
    throw scope.unsupported(
      call.at,
      `${call.name} takes a unit and a column, such as 'month' and a column of dates.`,
    )
  const found = columnOf(scope, column)
  if (!isTemporal(found)) {
    const rule = `${call.name} needs a column of dates or timestamps; ${found.name} is of type ${found.type}.`
    throw scope.misfit(column.at, rule)
  }
  return { unit: unit.value.toLowerCase(), column: found, at: unit.at }
}

const UNITS = ['year', 'quarter', 'month', 'week', 'day', 'hour'] as const
type Unit = (typeof UNITS)[number]

/** True for a unit of date_trunc. */
export function isUnit(unit: string): unit is Unit {
  return (UNITS as readonly string[]).includes(unit)
}

/** The other units of date_trunc, in seconds. Queries have bins of these lengths. */
export const SHORT_UNITS: ReadonlyMap<string, bigint> = new Map([
  ['minute', 60n],
  ['second', 1n],
])

const SECONDS_PER_DAY = 86_400n

function truncated(scope: Scope, call: Call): GroupingExpression {
  const { unit, column, at } = calendarArguments(scope, call)
  if (!isUnit(unit))
    throw scope.unsupported(
      at,
      `the unit of date_trunc must be one of ${UNITS.join(', ')}, or minute or second of a timestamp.`,
    )
  const { name, type } = column
  const cellOf = (label: CellLabel): Cell => {
    const period = typeof label === 'string' ? parsePeriod(unit, label) : undefined
    if (period === undefined) return null
    const seconds = startOf(unit, period)
    return type === 'date' ? dateText(seconds / SECONDS_PER_DAY) : instantText(seconds)
  }
  return { column: { column: name, by: unit }, name, type, cellOf }
}

/** Returns the place of a cell in its cycle, from 0. */
const positionIn = (unit: 'dayOfWeek' | 'monthOfYear', cell: string): number =>
  cycleOf(unit)?.names.indexOf(cell) ?? -1

interface DateField {
  readonly by: 'year' | 'monthOfYear' | 'dayOfWeek'
  readonly numberOf: (cell: string) => number
}

/** Fields of dates with a division of the calendar, and the number that SQL has for a cell. Others are computed columns. */
const FIELDS: ReadonlyMap<string, DateField> = new Map<string, DateField>([
  ['year', { by: 'year', numberOf: Number }],
  ['month', { by: 'monthOfYear', numberOf: (cell) => positionIn('monthOfYear', cell) + 1 }],
  ['isodow', { by: 'dayOfWeek', numberOf: (cell) => positionIn('dayOfWeek', cell) + 1 }],
  ['dow', { by: 'dayOfWeek', numberOf: (cell) => (positionIn('dayOfWeek', cell) + 1) % 7 }],
])

function extracted(scope: Scope, call: Call): GroupingExpression {
  const { unit, column, at } = calendarArguments(scope, call)
  const field = FIELDS.get(unit)
  if (field === undefined) return groupingOfColumn(scope, computedColumn(scope, call), at)
  const { name } = column
  const cellOf = (label: CellLabel): Cell => (typeof label === 'string' ? field.numberOf(label) : null)
  return { column: { column: name, by: field.by }, name, type: 'integer', cellOf }
}

/**
 * Translates width_bucket. A value is in bucket b if b of the thresholds are at most this value. Buckets that no value
 * within the bounds of the column can be in are left out.
 */
function buckets(scope: Scope, call: Call): GroupingExpression {
  const [named, ...bounds] = call.arguments
  if (named?.kind !== 'column')
    throw scope.unsupported(call.at, 'width_bucket takes a column, and bounds or an array of thresholds.')
  const column = columnOf(scope, named)
  if (!isGrid(column) || !isNumeric(column))
    throw scope.misfit(
      named.at,
      `width_bucket needs a column of numbers; ${column.name} is of type ${column.type}.`,
    )
  const starts = thresholdsOf(scope, call, bounds, column.stepNano)
  const { lowerIndex, upperIndex } = column
  const bins: { readonly start: bigint; readonly bucket: number }[] = []
  for (let bucket = 0; bucket <= starts.length; bucket += 1) {
    const [from, before] = [starts[bucket - 1] ?? lowerIndex, starts[bucket] ?? upperIndex + 1n]
    const start = from > lowerIndex ? from : lowerIndex
    const end = before <= upperIndex ? before : upperIndex + 1n
    if (start < end) bins.push({ start, bucket })
  }
  return binned(
    column,
    bins.map(({ start }) => start),
    bins.map(({ bucket }) => bucket),
    'integer',
  )
}

/** The thresholds of width_bucket, as the first grid index that is at least each. */
function thresholdsOf(
  scope: Scope,
  call: Call,
  bounds: readonly Expression[],
  stepNano: bigint,
): readonly bigint[] {
  const nanoOf = (expression: Expression, role: string): bigint => {
    const nano = decimalFromNumber(numberOf(scope, expression, role), FRACTION_DIGITS)
    if (nano !== undefined) return nano
    throw scope.unsupported(expression.at, `${role} must have at most ${FRACTION_DIGITS} fractional digits.`)
  }
  const [first, second, count, fifth] = bounds
  if (first?.kind === 'array' && second === undefined) {
    const nanos = first.elements.map((element) => nanoOf(element, 'a threshold'))
    if (nanos.length === 0 || nanos.length >= MOST_BINS)
      throw scope.unsupported(first.at, `there must be 1 to ${MOST_BINS - 1} thresholds.`)
    if (nanos.some((nano, place) => place > 0 && nano <= (nanos[place - 1] ?? nano)))
      throw scope.unsupported(first.at, 'thresholds must increase.')
    return nanos.map((nano) => divideRoundingUp(nano, stepNano))
  }
  if (first === undefined || second === undefined || count === undefined || fifth !== undefined)
    throw scope.unsupported(
      call.at,
      'write width_bucket(column, lower, upper, count) or width_bucket(column, ARRAY[...]).',
    )
  const [lower, upper] = [nanoOf(first, 'the lower bound'), nanoOf(second, 'the upper bound')]
  const number = numberOf(scope, count, 'the number of buckets')
  if (!Number.isInteger(number) || number < 1 || number > MOST_BINS - 2)
    throw scope.unsupported(
      count.at,
      `the number of buckets must be a whole number from 1 to ${MOST_BINS - 2}.`,
    )
  if (lower >= upper)
    throw scope.unsupported(second.at, 'the upper bound must be greater than the lower bound.')
  const parts = BigInt(number)
  return Array.from({ length: number + 1 }, (_, place) =>
    divideRoundingUp(lower * parts + BigInt(place) * (upper - lower), stepNano * parts),
  )
}

/**
 * Groups by bins of a column.
 * @param starts the first grid index of each bin, increasing
 * @param end the last grid index of the last bin
 */
export function binned(
  column: GridColumn,
  starts: readonly bigint[],
  values: readonly number[],
  type: CellType,
  end: bigint = column.upperIndex,
): GroupingExpression {
  const { name } = column
  const edges = [...starts, end].map((index) => valueOfIndex(column, index))
  const valueOfEdge = new Map(values.map((value, bin) => [edges[bin], value]))
  const cellOf = (label: CellLabel): Cell =>
    typeof label === 'object' && label !== null ? (valueOfEdge.get(label.lower) ?? null) : null
  return { column: { column: name, edges }, name, type, cellOf }
}

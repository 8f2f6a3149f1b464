import { isDeepStrictEqual } from 'node:util'
import type {
  ClampRequest,
  ColumnClamps,
  GroupingColumn,
  GroupStatistic,
  QueryPredicate,
} from '../../../schemas/answers/query.ts'
import { isGrid, type QueryableColumn } from '../../core/dataset/dataset.ts'
import { valueOfIndex } from '../../core/dataset/grid-value.ts'
import type { KindName } from '../../core/planner/kinds/question-kind.ts'
import { questionKinds } from '../../core/planner/kinds/question-kinds.ts'
import { columnNamed } from '../../core/planner/language/columns.ts'
import { parseDecimal } from '../../privacy/decimal.ts'
import { defined } from '../../privacy/defined.ts'
import { computedColumn, isComputed } from './computed-columns.ts'
import { groupingOf } from './grouping.ts'
import type { Call, Expression } from './parsing/statement.ts'
import { columnOf, isPersonColumn, literalOf, type Scope } from './scope.ts'

/** An aggregate of a statement, in the terms of queries. Two with the same meaning are deeply equal. */
export type Measure =
  | { readonly kind: 'count'; readonly of?: 'people' }
  /** Rows where a nullable column has a value. */
  | { readonly kind: 'countOfValues'; readonly column: string }
  | (Clampable & { readonly kind: 'sum' | 'mean' | 'variance' | 'standardDeviation' })
  | { readonly kind: 'countDistinct'; readonly column: GroupingColumn }
  /** The share of rows that satisfy a condition. */
  | { readonly kind: 'proportion'; readonly of: QueryPredicate }
  | (Clampable & { readonly kind: 'percentile'; readonly p: number })
  | (Clampable & { readonly kind: 'minimum' | 'maximum' })
  | {
      readonly kind: 'covariance' | 'correlation'
      readonly columns: readonly [string, string]
      readonly clamp?: ColumnClamps
    }
  | {
      readonly kind: 'linearRegression'
      readonly outcome: string
      readonly predictor: string
      readonly part: 'slope' | 'intercept'
      readonly clamp?: ColumnClamps
    }

/** A column, and the bounds to which LEAST and GREATEST clamp its values. */
type Clampable = {
  readonly column: string
  readonly clamp?: ClampRequest
}

const OF_COLUMN = ['sum', 'mean', 'variance', 'standardDeviation', 'minimum', 'maximum'] as const
const OF_PAIR = ['covariance', 'correlation'] as const

/** The kind that answers an aggregate, among these. */
function kindOf<Kind extends KindName>(kinds: readonly Kind[], aggregate: string): Kind | undefined {
  return kinds.find((kind) => questionKinds[kind].aggregates?.includes(aggregate))
}

/** Aggregates of samples, and those of populations by which they are answered. */
export const OF_SAMPLES: ReadonlyMap<string, string> = new Map([
  ['variance', 'var_pop'],
  ['var_samp', 'var_pop'],
  ['stddev', 'stddev_pop'],
  ['stddev_samp', 'stddev_pop'],
  ['covar_samp', 'covar_pop'],
])

const INSTEAD: ReadonlyMap<string, string> = new Map([
  ['mode', 'GROUP BY with ORDER BY COUNT(*) DESC LIMIT 1'],
  ['regr_count', 'COUNT(*) with IS NOT NULL in WHERE'],
  ['regr_avgx', 'AVG with IS NOT NULL in WHERE'],
  ['regr_avgy', 'AVG with IS NOT NULL in WHERE'],
  ['regr_r2', 'CORR'],
  ['least', 'LEAST within an aggregate: SUM(LEAST(column, 80))'],
  ['greatest', 'GREATEST within an aggregate: SUM(GREATEST(column, 0))'],
  ['bool_and', 'COUNT(*) with the condition in WHERE'],
  ['bool_or', 'COUNT(*) with the condition in WHERE'],
  ['every', 'COUNT(*) with the condition in WHERE'],
])

const AGGREGATES =
  'COUNT, SUM, AVG, VARIANCE, STDDEV, MIN, MAX, MEDIAN, percentile_cont, percentile_disc, CORR, COVAR_POP, REGR_SLOPE and ' +
  'REGR_INTERCEPT'

/** Returns true for the name of an aggregate that can be answered. */
export function isAggregate(name: string): boolean {
  if (name === 'median' || OF_SAMPLES.has(name)) return true
  return Object.values(questionKinds).some(({ aggregates }) => aggregates?.includes(name))
}

/**
 * Translates a call of an aggregate.
 * @throws Refusal `sql-not-supported` for another function and for arguments that are no columns
 */
export function measureOf(scope: Scope, call: Call): Measure {
  const { name, at } = call
  const { unsupported } = scope
  if (!isAggregate(name)) {
    const instead = INSTEAD.get(name)
    const rule =
      instead === undefined ? `The aggregates are ${AGGREGATES}.` : `Write ${instead}. docs/sql.md says why.`
    throw unsupported(at, `the function ${name} is not supported. ${rule}`)
  }
  if (kindOf(['percentile'], name) !== undefined) return quantileOf(scope, call)
  if (call.withinGroup !== undefined)
    throw unsupported(at, 'WITHIN GROUP is for percentile_cont and percentile_disc.')
  if (name === 'count') return countOf(scope, call)
  if (call.star) throw unsupported(at, `${name} needs a column.`)
  const kind = kindOf(OF_COLUMN, name)
  // The largest of different values is the largest of all.
  if (call.distinct && kind !== 'minimum' && kind !== 'maximum')
    throw unsupported(at, `DISTINCT is supported in COUNT only. Write ${name}(column).`)
  const [share, besides] = call.arguments
  if (kind === 'mean' && share !== undefined && isTest(share) && besides === undefined)
    return { kind: 'proportion', of: scope.condition(share) }
  const columns = call.arguments.map((argument) => clampedColumn(scope, call, argument))
  const [first, second, third] = columns
  if (kind !== undefined) {
    if (first === undefined || second !== undefined) throw unsupported(at, `${name} takes one column.`)
    return { kind, ...first }
  }
  if (first === undefined || second === undefined || third !== undefined)
    throw unsupported(at, `${name} takes two columns.`)
  const pair = kindOf(OF_PAIR, name)
  const clamp = clampsOf(scope, call, [first, second])
  if (pair !== undefined) return { kind: pair, columns: [first.column, second.column], ...defined({ clamp }) }
  const part = name === 'regr_intercept' ? 'intercept' : 'slope'
  return {
    kind: 'linearRegression',
    outcome: first.column,
    predictor: second.column,
    part,
    ...defined({ clamp }),
  }
}

/** True for a condition that is never unknown. */
function isTest(expression: Expression): boolean {
  return expression.kind === 'truth' || (expression.kind === 'not' && isTest(expression.part))
}

/** The clamps of two columns, by name. */
function clampsOf(
  { unsupported }: Scope,
  { at }: Call,
  [one, other]: readonly [Clampable, Clampable],
): ColumnClamps | undefined {
  if (one.column === other.column && !isDeepStrictEqual(one.clamp, other.clamp))
    throw unsupported(at, 'one column cannot be clamped in two ways.')
  const clamps = [one, other].flatMap(({ column, clamp }) =>
    clamp === undefined ? [] : [[column, clamp] as const],
  )
  return clamps.length === 0 ? undefined : Object.fromEntries(clamps)
}

/** The functions that clamp, and the end of the clamp that each has. */
const ENDS: ReadonlyMap<string, keyof ClampRequest> = new Map([
  ['least', 'upper'],
  ['greatest', 'lower'],
])

/**
 * Translates a column, or LEAST(GREATEST(column, lower), upper) in either order. A bound that is not given is the
 * declared one.
 */
function clampedColumn(scope: Scope, call: Call, argument: Expression): Clampable {
  const { column, ends } = clampEnds(scope, call, argument)
  if (Object.keys(ends).length === 0) return { column: column.name }
  if (!isGrid(column)) {
    const rule = `LEAST and GREATEST need a column of numbers, dates or timestamps; ${column.name} is of type ${column.type}.`
    throw scope.misfit(argument.at, rule)
  }
  const [lower, upper] = [valueOfIndex(column, column.lowerIndex), valueOfIndex(column, column.upperIndex)]
  return { column: column.name, clamp: { lower, upper, ...ends } }
}

interface ClampEnds {
  readonly column: QueryableColumn
  readonly ends: Partial<ClampRequest>
}

function clampEnds(scope: Scope, call: Call, argument: Expression): ClampEnds {
  const end = argument.kind === 'call' ? ENDS.get(argument.name) : undefined
  if (argument.kind !== 'call' || end === undefined)
    return { column: argumentColumn(scope, call, argument), ends: {} }
  const { name, arguments: parts, at } = argument
  const isValue = (part: Expression) => part.kind === 'column' || part.kind === 'call' || isComputed(part)
  const [inner, second] = parts.filter(isValue)
  const [bound, third] = parts.filter((part) => !isValue(part))
  if (inner === undefined || bound === undefined || second !== undefined || third !== undefined)
    throw scope.unsupported(at, `${name.toUpperCase()} takes a column and a constant.`)
  const { column, ends } = clampEnds(scope, call, inner)
  if (ends[end] !== undefined)
    throw scope.unsupported(at, `write ${name.toUpperCase()} once: LEAST(GREATEST(column, lower), upper).`)
  const value = literalOf(scope, column, bound)
  // The caller refuses a clamp of a boolean column.
  return { column, ends: { ...ends, [end]: typeof value === 'boolean' ? Number(value) : value } }
}

function argumentColumn(scope: Scope, call: Call, argument: Expression): QueryableColumn {
  if (argument.kind === 'column') return columnOf(scope, argument)
  if (isComputed(argument)) return computedColumn(scope, argument)
  if (argument.kind === 'cast' && (argument.type === 'number' || argument.type === 'integer')) {
    const column = argumentColumn(scope, call, argument.value)
    const isWider = argument.type === 'number' && argument.digits === undefined
    if (column.type === 'integer' || (column.type === 'number' && isWider)) return column
  }
  const rule = `${call.name} takes a column, or an expression over columns that can be computed: docs/sql.md.`
  throw scope.unsupported(argument.at, rule)
}

function countOf(scope: Scope, call: Call): Measure {
  if (call.star) return { kind: 'count' }
  const [argument, second] = call.arguments
  if (argument === undefined || second !== undefined)
    throw scope.unsupported(call.at, 'write COUNT(*), COUNT(column) or COUNT(DISTINCT column).')
  if (call.distinct) {
    if (argument.kind === 'column' && isPersonColumn(scope, argument)) return { kind: 'count', of: 'people' }
    if (argument.kind === 'column') {
      const column = columnOf(scope, argument)
      // The planner knows which columns of free text may be counted.
      if (column.type === 'string') return { kind: 'countDistinct', column: column.name }
    }
    return { kind: 'countDistinct', column: groupingOf(scope, argument).column }
  }
  const column = argumentColumn(scope, call, argument)
  return column.nullable ? { kind: 'countOfValues', column: column.name } : { kind: 'count' }
}

/** A percentage has two fractional digits more than a fraction. */
const PERCENT_DIGITS = 2

function quantileOf(scope: Scope, call: Call): Measure {
  const { unsupported } = scope
  const { name, withinGroup, at } = call
  const [fraction, second] = call.arguments
  if (withinGroup === undefined || fraction === undefined || second !== undefined || call.distinct)
    throw unsupported(at, `write ${name}(0.5) WITHIN GROUP (ORDER BY column).`)
  if (fraction.kind === 'array') throw unsupported(fraction.at, `write ${name} once for each fraction.`)
  const { column, clamp } = clampedColumn(scope, call, withinGroup.value)
  const declared = columnNamed(scope.dataset, column)
  if (declared === undefined || !isGrid(declared)) {
    const rule = `${name} needs a column of numbers, dates or timestamps; ${column} is of type ${declared?.type}.`
    throw scope.misfit(withinGroup.value.at, rule)
  }
  const hundredths = fraction.kind === 'number' ? parseDecimal(fraction.text, 2 * PERCENT_DIGITS) : undefined
  const whole = 10n ** BigInt(2 * PERCENT_DIGITS)
  if (hundredths === undefined || hundredths < 0n || hundredths > whole)
    throw unsupported(fraction.at, 'the fraction must be between 0 and 1, with at most 4 fractional digits.')
  const ascending = withinGroup.descending ? whole - hundredths : hundredths
  const of = { column, ...defined({ clamp }) }
  if (ascending === 0n) return { kind: 'minimum', ...of }
  if (ascending === whole) return { kind: 'maximum', ...of }
  return { kind: 'percentile', ...of, p: Number(ascending) / 10 ** PERCENT_DIGITS }
}

/** Returns the statistic of groups for a measure; undefined if groups have no such statistic. */
export function statisticOf(measure: Measure): GroupStatistic | undefined {
  switch (measure.kind) {
    case 'count':
    case 'sum':
    case 'mean':
    case 'variance':
    case 'standardDeviation':
    case 'countDistinct':
    case 'proportion':
      return measure
    case 'countOfValues':
      return { kind: 'count' }
    case 'percentile': {
      const { kind: _, p, ...of } = measure
      return p === MEDIAN ? { kind: 'median', ...of } : measure
    }
    default:
      return undefined
  }
}

/** The percentage of the median. */
export const MEDIAN = 50

/** Returns the columns such that a row does not count if one of them is NULL. */
export function columnsOf(measure: Measure): readonly string[] {
  switch (measure.kind) {
    case 'count':
    case 'proportion':
      return []
    case 'countDistinct':
      return [typeof measure.column === 'string' ? measure.column : measure.column.column]
    case 'covariance':
    case 'correlation':
      return measure.columns
    case 'linearRegression':
      return [measure.outcome, measure.predictor]
    default:
      return [measure.column]
  }
}

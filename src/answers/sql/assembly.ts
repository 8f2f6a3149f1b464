import { isDeepStrictEqual } from 'node:util'
import type { QueryPredicate } from '../../../schemas/answers/query.ts'
import { statisticName } from '../../core/planner/kinds/group-by/statistics.ts'
import { entry } from '../../privacy/must.ts'
import { combine } from './conditions.ts'
import type { GroupingExpression } from './grouping.ts'
import { columnsOf, MEDIAN, type Measure, statisticOf } from './measures.ts'
import type { Scope } from './scope.ts'

/** A part of a statement with its byte offset. */
export interface Placed<Part> {
  readonly part: Part
  readonly at: number
}

/** A query without the fields that a request gives by themselves, and the places of its fields. */
export interface AssembledQuery {
  readonly query: Readonly<Record<string, unknown>>
  /** Byte offsets by the path of the field. */
  readonly places: ReadonlyMap<string, number>
}

/**
 * Chooses the kind of query that computes the measures of each group.
 * @param measures different measures
 * @throws Refusal `sql-not-supported` for measures that no query computes together
 */
export function assembleQuery(
  scope: Scope,
  groupings: readonly Placed<GroupingExpression>[],
  measures: readonly Placed<Measure>[],
  where: QueryPredicate | undefined,
): AssembledQuery {
  const condition = withoutNulls(scope, measures, where)
  const rows = condition === undefined ? {} : { where: condition }
  const { fields, places } =
    groupings.length === 0 ? ofAllRows(scope, measures) : ofGroups(scope, groupings, measures)
  return { query: { ...fields, ...rows }, places }
}

type Fields = { readonly kind: string } & Readonly<Record<string, unknown>>
interface Assembly {
  readonly fields: Fields
  readonly places: ReadonlyMap<string, number>
}

/**
 * COUNT(column) counts the rows where the column has a value. No statistic of groups does, so the condition becomes one
 * of the query. It must not change the other aggregates.
 */
function withoutNulls(
  scope: Scope,
  measures: readonly Placed<Measure>[],
  where: QueryPredicate | undefined,
): QueryPredicate | undefined {
  const counted = measures.find(({ part }) => part.kind === 'countOfValues')
  if (counted?.part.kind !== 'countOfValues') return where
  const { column } = counted.part
  const other = measures.find(({ part }) => !columnsOf(part).includes(column))
  if (other !== undefined) {
    const rule =
      `COUNT(${column}) leaves out the rows where ${column} is NULL, and other aggregates count them. Send a statement ` +
      `of its own: COUNT(*) with ${column} IS NOT NULL in WHERE.`
    throw scope.unsupported(counted.at, rule)
  }
  const hasValue = { op: 'not', predicate: { column, op: 'isNull' } } as const
  return where === undefined ? hasValue : combine('and', [where, hasValue])
}

function ofAllRows(scope: Scope, measures: readonly Placed<Measure>[]): Assembly {
  const [only, second] = measures
  if (only === undefined) throw new RangeError('a statement has an aggregate')
  const regression = regressionOf(measures)
  if (regression !== undefined) return regression
  if (second === undefined) return ofOne(only)
  return percentilesOf(measures) ?? statisticsOf(scope, [], measures)
}

function ofOne({ part, at }: Placed<Measure>): Assembly {
  const places = new Map(['column', 'columns', 'clamp', 'p', 'of'].map((field) => [field, at]))
  switch (part.kind) {
    case 'countOfValues':
      return { fields: { kind: 'count' }, places }
    case 'percentile': {
      const { kind: _, p, ...of } = part
      return { fields: p === MEDIAN ? { kind: 'median', ...of } : part, places }
    }
    default:
      return { fields: part, places }
  }
}

/** The slope, the intercept, or both of one regression. */
function regressionOf(measures: readonly Placed<Measure>[]): Assembly | undefined {
  const { part: first, at } = entry(measures, 0)
  if (first.kind !== 'linearRegression') return undefined
  const { part: _, predictor, ...asked } = first
  if (!measures.every(({ part }) => isDeepStrictEqual({ ...part, part: first.part }, first))) return undefined
  const fields = { ...asked, predictors: [predictor] }
  return { fields, places: new Map(['outcome', 'predictors', 'clamp'].map((field) => [field, at])) }
}

/** Several percentiles of one column. */
function percentilesOf(measures: readonly Placed<Measure>[]): Assembly | undefined {
  const percentiles = measures.flatMap(({ part }) => (part.kind === 'percentile' ? [part] : []))
  const [first] = percentiles
  if (first === undefined || percentiles.length < measures.length) return undefined
  const { p: _, ...asked } = first
  if (percentiles.some((each) => !isDeepStrictEqual({ ...each, p: first.p }, first))) return undefined
  const places = new Map<string, number>(measures.map(({ at }, place) => [`p.${place}`, at]))
  for (const field of ['column', 'clamp', 'p']) places.set(field, entry(measures, 0).at)
  return { fields: { ...asked, p: percentiles.map(({ p }) => p) }, places }
}

function ofGroups(
  scope: Scope,
  groupings: readonly Placed<GroupingExpression>[],
  measures: readonly Placed<Measure>[],
): Assembly {
  const [only, second] = measures
  const columns = groupings.map(({ part }) => part.column)
  const counted = second === undefined ? only?.part : undefined
  if (counted?.kind !== 'count' && counted?.kind !== 'countOfValues')
    return statisticsOf(scope, groupings, measures)
  // The kinds of query that count in groups and do nothing else.
  const of = counted.kind === 'count' && counted.of !== undefined ? { of: counted.of } : {}
  const [column] = columns
  const places = new Map<string, number>(groupings.map(({ at }, place) => [`columns.${place}`, at]))
  for (const field of ['column', 'columns']) places.set(field, entry(groupings, 0).at)
  places.set('of', entry(measures, 0).at)
  const fields =
    columns.length === 1 ? { kind: 'histogram', column, ...of } : { kind: 'contingency', columns, ...of }
  return { fields, places }
}

/** Statistics of groups, or of all rows together. */
function statisticsOf(
  scope: Scope,
  groupings: readonly Placed<GroupingExpression>[],
  measures: readonly Placed<Measure>[],
): Assembly {
  const places = new Map<string, number>([
    ...groupings.map(({ at }, place) => [`keys.${place}`, at] as const),
    ...measures.map(({ at }, place) => [`statistics.${place}`, at] as const),
  ])
  const [grouping] = groupings
  if (grouping !== undefined) places.set('keys', grouping.at)
  places.set('statistics', entry(measures, 0).at)
  const names = new Set<string>()
  const statistics = measures.map(({ part, at }) => {
    const statistic = statisticOf(part)
    if (statistic === undefined) throw scope.unsupported(at, adviceFor(part, groupings.length > 0))
    const name = statisticName(statistic)
    if (names.has(name)) {
      const rule =
        'an aggregate is supported once for each column, whatever its bins or its clamp. Send the other in a statement of ' +
        'its own.'
      throw scope.unsupported(at, rule)
    }
    names.add(name)
    return statistic
  })
  return { fields: { kind: 'groupBy', keys: groupings.map(({ part }) => part.column), statistics }, places }
}

function adviceFor(measure: Measure, grouped: boolean): string {
  const alone = 'Send it in a statement of its own.'
  switch (measure.kind) {
    case 'minimum':
    case 'maximum': {
      const name = measure.kind === 'minimum' ? 'MIN' : 'MAX'
      const fraction = measure.kind === 'minimum' ? '0.01' : '0.99'
      const instead = `percentile_cont(${fraction}) WITHIN GROUP (ORDER BY ${measure.column})`
      return grouped
        ? `${name} is not supported in groups. Write ${instead}.`
        : `${name} is not supported beside other aggregates. ${alone} Or write ${instead}.`
    }
    default: {
      const where = grouped ? 'in groups' : 'beside other aggregates'
      const instead = grouped ? 'Send one statement for each group, with its condition in WHERE.' : alone
      return `correlations, covariances and regressions are not supported ${where}. ${instead}`
    }
  }
}

/** Adds a measure unless an equal one is there, and returns its place. */
export function placeMeasure(measures: Placed<Measure>[], part: Measure, at: number): number {
  const known = measures.findIndex((other) => isDeepStrictEqual(other.part, part))
  return known === -1 ? measures.push({ part, at }) - 1 : known
}

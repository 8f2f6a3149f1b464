import { isDeepStrictEqual } from 'node:util'
import type { GroupStatistic, QueryPredicate } from '../../../schemas/answers/query.ts'
import type { Dataset } from '../../core/dataset/dataset.ts'
import { normalPredicate } from '../../core/planner/identity/normal-predicate.ts'
import { statisticName } from '../../core/planner/kinds/group-by/statistics.ts'
import { defined } from '../../privacy/defined.ts'
import { entry } from '../../privacy/must.ts'
import { Refusal } from '../../privacy/refusal.ts'
import { combine } from './conditions.ts'
import type { GroupingExpression } from './grouping.ts'
import { columnsOf, MEDIAN, type Measure, statisticOf } from './measures.ts'
import type { Scope } from './scope.ts'

/** A part of a statement with its byte offset. */
export interface Placed<Part> {
  readonly part: Part
  readonly at: number
}

/** An aggregate, and the condition of its FILTER. */
export interface PlacedMeasure extends Placed<Measure> {
  readonly filter?: QueryPredicate
  /** The rows that also satisfy WHERE, as a text that is the same however the conditions are written. */
  readonly rows: string
}

/** A query without the fields that a request gives by themselves, and the places of its fields. */
export interface AssembledQuery {
  readonly query: Readonly<Record<string, unknown>>
  /** Byte offsets by the path of the field. */
  readonly places: ReadonlyMap<string, number>
  /** The measures that it computes, by their places, and the names of those that are statistics of groups. */
  readonly computes: readonly { readonly measure: number; readonly statistic?: string }[]
}

/**
 * Chooses the queries that compute the measures of each group. Measures of the same rows are statistics of one query, at one
 * price; those that no query computes beside others, and those of other rows, are queries of their own. The order of queries, keys
 * and statistics does not depend on that of the statement, so that equal statements are equal questions.
 * @param measures different measures
 * @throws Refusal `sql-not-supported` for measures that no query computes in groups
 */
export function assembleQueries(
  scope: Scope,
  groupings: readonly Placed<GroupingExpression>[],
  measures: readonly PlacedMeasure[],
  where: QueryPredicate | undefined,
): readonly AssembledQuery[] {
  const numbered = measures.map((measure, place) => ({ ...measure, place }))
  const alike = Map.groupBy(numbered, ({ rows }) => rows)
  const queries = [...alike.values()].flatMap((each) => {
    const { filter } = each.find((measure) => measure.filter === undefined) ?? entry(each, 0)
    return ofRows(scope, groupings, each, both(where, filter))
  })
  return queries.toSorted((one, other) => (orderOf(one, scope) < orderOf(other, scope) ? -1 : 1))
}

function both(
  one: QueryPredicate | undefined,
  other: QueryPredicate | undefined,
): QueryPredicate | undefined {
  return one === undefined || other === undefined ? (one ?? other) : combine('and', [one, other])
}

/** A text by which queries are sorted, which is the same for queries that are spelled differently. */
function orderOf({ query }: AssembledQuery, { dataset }: Scope): string {
  const { where, ...others } = query
  return JSON.stringify([others, normalText(where as QueryPredicate | undefined, dataset)])
}

/**
 * A predicate in normal form, which is empty if every row satisfies it; as it is if it does not fit the dataset, which the planner
 * then refuses.
 */
function normalText(predicate: QueryPredicate | undefined, dataset: Dataset): string {
  if (predicate === undefined) return ''
  try {
    const normal = normalPredicate(predicate, dataset)
    return normal.every ? '' : JSON.stringify(normal.predicate)
  } catch (error) {
    if (error instanceof Refusal) return JSON.stringify(predicate)
    throw error
  }
}

interface Numbered extends PlacedMeasure {
  readonly place: number
}

/** The queries that compute measures of the same rows. */
function ofRows(
  scope: Scope,
  groupings: readonly Placed<GroupingExpression>[],
  measures: readonly Numbered[],
  where: QueryPredicate | undefined,
): readonly AssembledQuery[] {
  const isGrouped = groupings.length > 0
  return apart(measures, isGrouped).map((together) => {
    const { fields, places, names } = isGrouped
      ? ofGroups(scope, groupings, together)
      : ofAllRows(scope, together)
    const rows = withoutNulls(together, where)
    return {
      query: { ...fields, ...(rows === undefined ? {} : { where: rows }) },
      places,
      computes: together.map(({ place }, at) => defined({ measure: place, statistic: names?.[at] })),
    }
  })
}

/** Largest number of statistics of a query. */
const MOST_STATISTICS = 8

/** Divides measures into those that one query computes together: all of them, in their order, if it can. */
function apart(measures: readonly Numbered[], isGrouped: boolean): readonly (readonly Numbered[])[] {
  if (goTogether(measures, isGrouped)) return [measures]
  const sets: Numbered[][] = []
  for (const measure of measures.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))) {
    const open = sets.find((set) => goTogether([...set, measure], isGrouped))
    if (open === undefined) sets.push([measure])
    else open.push(measure)
  }
  return sets
}

const keyOf = ({ part }: Numbered): string => JSON.stringify(part)

function goTogether(measures: readonly Numbered[], isGrouped: boolean): boolean {
  if (!sameRows(measures)) return false
  if (!isGrouped && (isRegression(measures) || arePercentiles(measures))) return true
  const statistics = measures.map(({ part }) => statisticOf(part))
  if (measures.length > MOST_STATISTICS || statistics.includes(undefined)) return false
  const names = statistics.map((each) => each && each.kind !== 'proportion' && statisticName(each))
  return names.every((name, place) => name === false || names.indexOf(name) === place)
}

/** COUNT(column) counts the rows where the column has a value, so it goes with aggregates that use only these. */
function sameRows(measures: readonly PlacedMeasure[]): boolean {
  return measures.every(
    ({ part }) =>
      part.kind !== 'countOfValues' || measures.every((other) => columnsOf(other.part).includes(part.column)),
  )
}

/** The rows of a COUNT(column), for which no statistic of groups has a condition of its own. */
function withoutNulls(
  measures: readonly PlacedMeasure[],
  where: QueryPredicate | undefined,
): QueryPredicate | undefined {
  const counted = measures.find(({ part }) => part.kind === 'countOfValues')
  if (counted?.part.kind !== 'countOfValues') return where
  const hasValue = { op: 'not', predicate: { column: counted.part.column, op: 'isNull' } } as const
  return where === undefined ? hasValue : combine('and', [where, hasValue])
}

type Fields = { readonly kind: string } & Readonly<Record<string, unknown>>
interface Assembly {
  readonly fields: Fields
  readonly places: ReadonlyMap<string, number>
  /** The names of the measures as statistics of groups. */
  readonly names?: readonly string[]
}

function ofAllRows(scope: Scope, measures: readonly Placed<Measure>[]): Assembly {
  const only = entry(measures, 0)
  if (isRegression(measures)) return regressionOf(entry(measures, 0))
  if (arePercentiles(measures)) return percentilesOf(measures)
  return measures.length === 1 ? ofOne(only) : statisticsOf(scope, [], measures)
}

function ofOne({ part, at }: Placed<Measure>): Assembly {
  const places = placesOf(['column', 'columns', 'clamp', 'p', 'of'], at)
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

function placesOf(fields: readonly string[], at: number): Map<string, number> {
  return new Map(fields.map((field) => [field, at]))
}

/** Measures of one kind. */
type AllOf<Kind extends Measure['kind']> = readonly Placed<Extract<Measure, { readonly kind: Kind }>>[]

/** True for the slope, the intercept, or both of one regression. */
function isRegression(measures: readonly Placed<Measure>[]): measures is AllOf<'linearRegression'> {
  const { part: first } = entry(measures, 0)
  if (first.kind !== 'linearRegression') return false
  return measures.every(({ part }) => isDeepStrictEqual({ ...part, part: first.part }, first))
}

function regressionOf({ part: measure, at }: AllOf<'linearRegression'>[number]): Assembly {
  const { part: _, predictor, ...asked } = measure
  const fields = { ...asked, predictors: [predictor] }
  return { fields, places: placesOf(['outcome', 'predictors', 'clamp'], at) }
}

/** True for several percentiles of one column. */
function arePercentiles(measures: readonly Placed<Measure>[]): measures is AllOf<'percentile'> {
  const { part: first } = entry(measures, 0)
  if (first.kind !== 'percentile' || measures.length === 1) return false
  return measures.every(({ part }) => isDeepStrictEqual({ ...part, p: first.p }, first))
}

function percentilesOf(measures: AllOf<'percentile'>): Assembly {
  const { part, at } = entry(measures, 0)
  const places = placesOf(['column', 'clamp', 'p'], at)
  for (const [place, each] of measures.entries()) places.set(`p.${place}`, each.at)
  return { fields: { ...part, p: measures.map((each) => each.part.p) }, places }
}

function ofGroups(
  scope: Scope,
  groupings: readonly Placed<GroupingExpression>[],
  measures: readonly Placed<Measure>[],
): Assembly {
  const { part: counted, at } = entry(measures, 0)
  if (measures.length > 1 || (counted.kind !== 'count' && counted.kind !== 'countOfValues'))
    return statisticsOf(scope, groupings, measures)
  // The kinds of query that count in groups and do nothing else.
  const of = counted.kind === 'count' && counted.of !== undefined ? { of: counted.of } : {}
  const columns = groupings.map(({ part }) => part.column)
  const [column] = columns
  const places = placesOf(['column', 'columns'], entry(groupings, 0).at).set('of', at)
  for (const [place, each] of groupings.entries()) places.set(`columns.${place}`, each.at)
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
  let shares = 0
  const statistics = measures.map(({ part, at }): GroupStatistic => {
    const statistic = statisticOf(part)
    if (statistic === undefined) throw scope.unsupported(at, adviceFor(part))
    if (statistic.kind !== 'proportion') return statistic
    shares += 1
    return shares === 1 ? statistic : { ...statistic, name: `proportion_${shares}` }
  })
  return {
    fields: { kind: 'groupBy', keys: groupings.map(({ part }) => part.column), statistics },
    places,
    names: statistics.map(statisticName),
  }
}

/** Advice for an aggregate that cannot be computed for each group. */
function adviceFor(measure: Measure): string {
  switch (measure.kind) {
    case 'minimum':
    case 'maximum': {
      const name = measure.kind === 'minimum' ? 'MIN' : 'MAX'
      const fraction = measure.kind === 'minimum' ? '0.01' : '0.99'
      return `${name} is not supported in groups. Write percentile_cont(${fraction}) WITHIN GROUP (ORDER BY ${measure.column}).`
    }
    default:
      return (
        'correlations, covariances and regressions are not supported in groups. Send one statement for each group, with its ' +
        'condition in WHERE.'
      )
  }
}

/** Adds a measure unless one of the same rows is there, and returns its place. */
export function placeMeasure(
  measures: PlacedMeasure[],
  measure: Omit<PlacedMeasure, 'rows'>,
  where: QueryPredicate | undefined,
  { dataset }: Pick<Scope, 'dataset'>,
): number {
  const rows = normalText(both(where, measure.filter), dataset)
  const known = measures.findIndex(
    (other) => other.rows === rows && isDeepStrictEqual(other.part, measure.part),
  )
  return known === -1 ? measures.push({ ...measure, rows }) - 1 : known
}

import { isDeepStrictEqual } from 'node:util'
import type {
  ContributionRequest,
  GroupingColumn,
  GroupStatistic,
  Query,
  QueryPredicate,
} from '../../schemas/query.ts'
import {
  type Dataset,
  type GridColumn,
  isGrid,
  isNumeric,
  isTemporal,
  type NumericColumn,
  type TemporalColumn,
} from '../catalog/dataset.ts'
import { refuseField } from '../privacy/refusal.ts'
import type { Aggregate, Bounding, GroupKey, Predicate, Statistic } from './aggregate.ts'
import { mostKeys, planBounding, planKeyBounding, requirePeople } from './contribution.ts'
import type { PairMoments } from './estimates/covariance.ts'
import type { Moment } from './estimates/moments.ts'
import type { Regression } from './estimates/regression.ts'
import { type Grouping, planGrouping } from './grouping.ts'
import type { MeasuredColumn } from './measured-column.ts'
import { type PersonValueRequest, planPersonValue } from './person-value.ts'
import type { PlanLimits } from './plan-kind.ts'
import { planPredicate, requireColumn, requireSelectable, widestBounding } from './predicate.ts'
import { isQuantile, type QuantileStatistic, requireDistinctNames } from './statistic-names.ts'
import { planPair, planRegression, requireProducts } from './sums-of-products.ts'
import { cellsOf, planGroupings } from './tables.ts'

/** Queries that are answered by adding noise to sums and counts. */
export type AdditiveQuery = Extract<Query, { postprocess: unknown }>

/** Number of rows that a mean is over: a public number, or a noisy count, given by its place among the statistics. */
export type RowCount =
  | { readonly kind: 'public'; readonly rows: number }
  | { readonly kind: 'noisy'; readonly statistic: number }

/** One number of an answer and the noisy statistics it is made from, each given by its place among the statistics. */
export type Estimate =
  | {
      readonly kind: 'count' | 'count-distinct'
      readonly statistic: number
      /** Number of values, one in each cell, whose half-widths hold together; 1 if absent. */
      readonly together?: number
    }
  | { readonly kind: 'sum'; readonly column: NumericColumn; readonly statistic: number }
  /** From the sum about the middle of the range, or about 0, and the number of rows. */
  | {
      readonly kind: 'sum-from-middle' | 'mean'
      readonly column: GridColumn
      readonly sum: number
      readonly rows: RowCount
      readonly about?: 'zero'
    }
  /** From the sum and the sum of squares about the middle of the range. */
  | {
      readonly kind: 'variance' | 'standard-deviation'
      readonly column: NumericColumn
      readonly squares: number
      readonly sum: number
      readonly rows: RowCount
    }
  /** From sums about the middles of the ranges, over the rows where neither column is NULL. */
  | {
      readonly kind: 'covariance'
      readonly columns: readonly [MeasuredColumn, MeasuredColumn]
      readonly moments: PairMoments
    }
  /** From the same sums and the sums of squares of both columns. */
  | {
      readonly kind: 'correlation'
      readonly columns: readonly [MeasuredColumn, MeasuredColumn]
      readonly moments: PairMoments
      readonly squares: readonly [Moment, Moment]
    }
  /** The intercept of a regression (place 0) or the coefficient of a predictor. */
  | {
      readonly kind: 'coefficient'
      readonly columns: readonly MeasuredColumn[]
      readonly regression: Regression
      readonly place: number
    }
  /** Share of a public number of rows. */
  | { readonly kind: 'proportion'; readonly statistic: number; readonly rows: number }
  /** Share from a count about the middle and the number of rows. */
  | { readonly kind: 'share'; readonly sum: number; readonly rows: RowCount }
  /** Share from two cells of one count: rows that do not satisfy the predicate, then rows that do. */
  | { readonly kind: 'proportion-of-cells'; readonly statistic: number }

/** The aggregate of a query, and how its answer is made from that. */
export interface AdditiveShape {
  readonly aggregate: Aggregate
  /** Bounds on what each person contributes, as answers state them. */
  readonly bounding: Bounding
  /** Groupings that span the cells of the answer; without any, there is one cell. */
  readonly groupings: readonly Grouping[]
  /** Estimates of each cell of the answer. */
  readonly estimates: readonly Estimate[]
  /** True if every statistic is a whole number in the unit that people read; geometric noise is then offered. */
  readonly wholeNumbers: boolean
}

/**
 * Plans the aggregate that a query needs and the estimates that its answer shows.
 * @throws Refusal `query-does-not-fit` if the query does not fit the dataset or its answer would be too large.
 */
export function planAdditive(query: AdditiveQuery, dataset: Dataset, limits: PlanLimits): AdditiveShape {
  const groupings = planGroupings(query, dataset, limits)
  const bounding = boundingOf(query, dataset, groupings)
  const where = query.where === undefined ? undefined : planPredicate(query.where, dataset, 'where')
  const statistics: Statistic[] = []
  const conditions: Predicate[] = where === undefined ? [] : [where]
  const sources: Sources = {
    dataset,
    groupings,
    bounding,
    where,
    everyRow: where === undefined && groupings.length === 0,
    place: (statistic) => placeOf(statistic, statistics),
    exclude: (predicate) => conditions.push({ kind: 'not', predicate }),
  }
  const estimates = estimatesOf(query, sources)
  const groupBy = groupings.map((grouping) => grouping.key)
  if (estimates.some(({ kind }) => kind === 'proportion-of-cells') && query.kind === 'proportion') {
    groupBy.push({ kind: 'predicate', predicate: planPredicate(query.of, dataset, 'of') })
  }
  return {
    aggregate: {
      ...whereAll(conditions),
      groupBy,
      statistics,
      // The groups of a count of values are the values, which the statistic bounds itself.
      bounding:
        query.kind === 'countDistinct' && bounding.kind === 'groups' ? widestBounding(dataset) : bounding,
    },
    bounding,
    groupings,
    estimates,
    wholeNumbers: estimates.flatMap(columnsOf).every(({ type }) => type !== 'number'),
  }
}

function boundingOf(query: AdditiveQuery, dataset: Dataset, groupings: readonly Grouping[]): Bounding {
  if (query.kind === 'countDistinct' && isFreeText(query.column, dataset))
    return planKeyBounding(query.contribution, dataset)
  return planBounding(query.contribution, dataset, groupings.length === 0 ? 'one' : 'groups')
}

function whereAll(predicates: readonly Predicate[]): Pick<Aggregate, 'where'> {
  const [first, ...others] = predicates
  if (first === undefined) return {}
  return { where: others.length === 0 ? first : { kind: 'and', predicates } }
}

/** The columns whose values an estimate is about. */
export function columnsOf(estimate: Estimate): readonly MeasuredColumn[] {
  if ('column' in estimate) return [estimate.column]
  return 'columns' in estimate ? estimate.columns : []
}

/** Returns the type of the dates or timestamps that an estimate is; `undefined` for an estimate that is a number. */
export function temporalType(estimate: Estimate): TemporalColumn['type'] | undefined {
  return estimate.kind === 'mean' && isTemporal(estimate.column) ? estimate.column.type : undefined
}

/** Source of the statistics that estimates are made from. */
export interface Sources {
  readonly dataset: Dataset
  readonly groupings: readonly Grouping[]
  readonly bounding: Bounding
  /** The query's own condition on rows. */
  readonly where: Predicate | undefined
  /** True if every row of the dataset is in the one cell; a public number of rows is then that of the cell. */
  readonly everyRow: boolean
  /** Adds a statistic to the aggregate unless it is there already, and returns its place. */
  readonly place: (statistic: Statistic) => number
  /** Excludes the rows that satisfy a predicate from all statistics. */
  readonly exclude: (predicate: Predicate) => void
}

function placeOf(statistic: Statistic, statistics: Statistic[]): number {
  const known = statistics.findIndex((other) => isDeepStrictEqual(other, statistic))
  return known === -1 ? statistics.push(statistic) - 1 : known
}

function estimatesOf(query: AdditiveQuery, sources: Sources): readonly Estimate[] {
  switch (query.kind) {
    case 'count':
    case 'histogram':
    case 'contingency':
      return [countEstimate(query.of, 'of', sources)]
    case 'topGroups':
      return [{ ...countEstimate(query.of, 'of', sources), together: cellsOf(sources.groupings) }]
    case 'sum':
    case 'mean':
    case 'variance':
    case 'standardDeviation':
      return [ofColumn(query, 'column', query.contribution, sources)]
    case 'covariance':
    case 'correlation':
      return [planPair(query, sources)]
    case 'linearRegression':
      return planRegression(query, sources)
    case 'proportion':
      return [proportionEstimate(query.of, sources)]
    case 'countDistinct':
      if (isFreeText(query.column, sources.dataset)) return [distinctValues(query.column, sources)]
      return [distinctEstimate(query.column, 'column', sources)]
    case 'groupBy': {
      requireDistinctNames(query.statistics)
      return query.statistics.flatMap((statistic, position) =>
        isQuantile(statistic) ? [] : [groupEstimate(query, statistic, `statistics.${position}`, sources)],
      )
    }
  }
}

/** Plans one statistic of each group. */
function groupEstimate(
  { statistics, contribution }: Extract<AdditiveQuery, { kind: 'groupBy' }>,
  statistic: Exclude<GroupStatistic, QuantileStatistic>,
  field: string,
  sources: Sources,
): Estimate {
  switch (statistic.kind) {
    case 'count':
      return countEstimate(statistic.of, `${field}.of`, sources)
    case 'proportion':
      return shareEstimate(statistic.of, `${field}.of`, sources)
    case 'countDistinct':
      return distinctEstimate(statistic.column, `${field}.column`, sources)
    default: {
      const { kind, column } = statistic
      const clamped = contribution?.perPerson !== undefined
      if (kind === 'sum' && !clamped && centeredColumns(statistics).has(column))
        return numericEstimate('sumFromMiddle', column, `${field}.column`, sources)
      return ofColumn(statistic, `${field}.column`, contribution, sources)
    }
  }
}

function distinctEstimate(column: GroupingColumn, field: string, { dataset, place }: Sources): Estimate {
  const { key } = planGrouping(column, dataset, field)
  return { kind: 'count-distinct', statistic: place({ kind: 'count-distinct', of: withoutNullCell(key) }) }
}

/**
 * Plans the share of each group's rows that satisfy a predicate: the mean of a number that is 1 for these rows and 0
 * for the others. About its middle, a row moves its sum by half as much as a count.
 */
function shareEstimate(of: QueryPredicate, field: string, { dataset, place }: Sources): Estimate {
  const where = planPredicate(of, dataset, field)
  const sum = place({ kind: 'affine-count', where, factor: 2n, offset: -1n })
  return { kind: 'share', sum, rows: { kind: 'noisy', statistic: place({ kind: 'count' }) } }
}

/** Plans a statistic of a column: of its rows, of people's clamped totals, or of a value per person. */
function ofColumn(
  statistic: ColumnStatistic,
  field: string,
  contribution: ContributionRequest | undefined,
  sources: Sources,
): Estimate {
  const { kind, column } = statistic
  if (statistic.kind === 'mean' && statistic.perPerson !== undefined)
    return meanPerPerson({ kind: statistic.perPerson, column, field, contribution }, sources)
  if ((kind === 'sum' || kind === 'mean') && contribution?.perPerson !== undefined)
    return clampedEstimate(kind, { kind: 'sum', column, field, contribution }, sources)
  return numericEstimate(kind, column, field, sources)
}

/** Plans the mean of a value per person: a noisy sum about the middle of its range, divided by the number of people. */
function meanPerPerson(request: PersonValueRequest, sources: Sources): Estimate {
  const { dataset, bounding, everyRow, place } = sources
  const { value, column } = planPersonValue(request, dataset, bounding)
  const offset = -(column.lowerIndex + column.upperIndex)
  const sum = place({ kind: 'affine-sum', perPerson: value, factor: 2n, offset })
  const { people } = dataset
  const rows: RowCount =
    people !== undefined && everyRow && !column.nullable
      ? { kind: 'public', rows: people }
      : {
          kind: 'noisy',
          statistic: place({ kind: 'count-people', ...(column.nullable ? { column: column.name } : {}) }),
        }
  return { kind: 'mean', column, sum, rows }
}

/**
 * Plans a sum of people's clamped totals, or such a sum divided by a noisy number of rows. A person's total moves the
 * sum by at most the larger clamping bound, whatever the number of rows. It has no middle that would fit every number
 * of rows, so the mean is about 0. As each total is divided among one row or more, it lies between 0 and a clamping
 * bound.
 */
function clampedEstimate(kind: 'sum' | 'mean', request: PersonValueRequest, sources: Sources): Estimate {
  const { value, column } = planPersonValue(request, sources.dataset, sources.bounding)
  const statistic = sources.place({ kind: 'affine-sum', perPerson: value, factor: 1n, offset: 0n })
  if (kind === 'sum') return { kind, column, statistic }
  const range = {
    lowerIndex: value.lower < 0n ? value.lower : 0n,
    upperIndex: value.upper > 0n ? value.upper : 0n,
  }
  const rows = rowsOf(column, sources)
  return { kind, column: { ...column, ...range }, sum: statistic, rows, about: 'zero' }
}

/** The one column whose totals a query clamps; `undefined` if its sums and means are about several columns, or none. */
export function clampedColumn(statistics: readonly GroupStatistic[]): string | undefined {
  const columns = new Set(
    statistics.flatMap((statistic) =>
      statistic.kind === 'sum' || statistic.kind === 'mean' ? [statistic.column] : [],
    ),
  )
  const [only] = columns
  return columns.size === 1 ? only : undefined
}

/** True for a column whose values are not declared. */
function isFreeText(column: GroupingColumn, dataset: Dataset): column is string {
  return typeof column === 'string' && requireColumn(dataset, column, 'column').type === 'string'
}

/**
 * Counts the values of a free-text column. Neighbours that replace a unit are not supported: one value may replace
 * another.
 */
function distinctValues(name: string, { dataset, bounding, place }: Sources): Estimate {
  const column = requireSelectable(dataset, name)
  if (dataset.neighbours === 'change-one') {
    const rule =
      'must have declared values; those of free text can be counted under add-remove neighbours only'
    throw refuseField('query-does-not-fit', 'column', rule)
  }
  const valuesEach = mostKeys(bounding)
  return {
    kind: 'count-distinct',
    statistic: place({ kind: 'count-distinct-values', column: column.name, valuesEach }),
  }
}

function countEstimate(
  of: 'rows' | 'people' | undefined,
  field: string,
  sources: Sources,
): { readonly kind: 'count'; readonly statistic: number } {
  requirePeople(of, sources.dataset, field)
  return {
    kind: 'count',
    statistic: sources.place({ kind: of === 'people' ? 'count-people' : 'count' }),
  }
}

/**
 * Columns whose sum about the middle is measured for another statistic, so that their sum needs no separate
 * measurement.
 */
function centeredColumns(statistics: readonly GroupStatistic[]): ReadonlySet<string> {
  return new Set(
    statistics.flatMap((statistic) => {
      switch (statistic.kind) {
        case 'mean':
          return statistic.perPerson === undefined ? [statistic.column] : []
        case 'variance':
        case 'standardDeviation':
          return [statistic.column]
        default:
          return []
      }
    }),
  )
}

type ColumnStatistic = Exclude<
  GroupStatistic,
  { kind: 'count' | 'countDistinct' | 'proportion' | 'median' | 'percentile' }
>
type NumericStatistic = ColumnStatistic['kind'] | 'sumFromMiddle'

/**
 * Plans one statistic of a numeric column. If the number of rows is public, a mean is one noisy sum divided by it.
 * Otherwise it is a noisy sum about the middle of the range divided by a noisy count: a row then moves the sum by at
 * most half the range, at any distance of the range from 0. A variance adds the sum of squares about the middle, which
 * a row moves by at most a quarter of the squared range. A sum beside one of these is `sum about the middle + middle *
 * count`: its noise is no larger than that of a sum measured by itself, because half the range and the distance of the
 * middle from 0 add up to the largest absolute value, and the epsilon is divided among fewer statistics.
 */
function numericEstimate(kind: NumericStatistic, name: string, field: string, sources: Sources): Estimate {
  const sum = (column: GridColumn, factor: bigint, offset: bigint) =>
    sources.place({ kind: 'affine-sum', column: column.name, factor, offset })
  const fromMiddle = (column: GridColumn) => ({
    // In half steps, so that the middle of an odd range is a whole number of them too.
    sum: sum(column, 2n, -(column.lowerIndex + column.upperIndex)),
    rows: rowsOf(column, sources),
  })
  if (kind === 'mean') {
    const column = requireGridColumn(sources.dataset, name, field)
    return { kind, column, ...fromMiddle(column) }
  }
  const column = requireNumericColumn(sources.dataset, name, field)
  switch (kind) {
    case 'sum':
      return { kind: 'sum', column, statistic: sum(column, 1n, 0n) }
    case 'sumFromMiddle':
      return { kind: 'sum-from-middle', column, ...fromMiddle(column) }
    case 'variance':
    case 'standardDeviation': {
      requireProducts(column, field)
      const offset = -(column.lowerIndex + column.upperIndex)
      const squares = { kind: 'affine-square-sum', column: column.name, factor: 2n, offset } as const
      return {
        kind: kind === 'variance' ? 'variance' : 'standard-deviation',
        column,
        squares: sources.place(squares),
        ...fromMiddle(column),
      }
    }
  }
}

function rowsOf(column: GridColumn, { dataset, everyRow, place }: Sources): RowCount {
  if (dataset.rows !== undefined && everyRow && !column.nullable)
    return { kind: 'public', rows: dataset.rows }
  return {
    kind: 'noisy',
    statistic: place(column.nullable ? { kind: 'count', column: column.name } : { kind: 'count' }),
  }
}

/**
 * Plans a proportion. Of a public number of rows it is a noisy count divided by that number. Otherwise it is made from
 * two noisy counts, of the rows that satisfy the predicate and of the others: a row is in one of them, so both together
 * cost what one does.
 */
function proportionEstimate(of: QueryPredicate, { dataset, everyRow, place }: Sources): Estimate {
  if (dataset.rows === undefined || !everyRow)
    return { kind: 'proportion-of-cells', statistic: place({ kind: 'count' }) }
  const where = planPredicate(of, dataset, 'of')
  return { kind: 'proportion', statistic: place({ kind: 'count', where }), rows: dataset.rows }
}

/**
 * Returns a column that is known to be numeric.
 * @throws Refusal `query-does-not-fit` for any other column.
 */
export function requireNumericColumn(dataset: Dataset, name: string, field: string): NumericColumn {
  const column = requireColumn(dataset, name, field)
  if (isNumeric(column)) return column
  throw refuseField('query-does-not-fit', field, `must be numeric, and ${name} is of type ${column.type}`)
}

/**
 * Returns a column that is known to have an order and a public grid.
 * @throws Refusal `query-does-not-fit` for any other column.
 */
export function requireGridColumn(dataset: Dataset, name: string, field: string): GridColumn {
  const column = requireColumn(dataset, name, field)
  if (isGrid(column)) return column
  const rule = `must be of numbers, dates or timestamps, and ${name} is of type ${column.type}`
  throw refuseField('query-does-not-fit', field, rule)
}

function withoutNullCell(key: GroupKey): GroupKey {
  return 'nullCell' in key ? { ...key, nullCell: false } : key
}

import { isTemporal, type TemporalColumn } from '../catalog/dataset.ts'
import { type GridValue, unitsOfValue } from '../catalog/grid-value.ts'
import { rankDistance, type ValueCounts } from '../mechanisms/quantile.ts'
import { type Estimate, temporalType } from '../planner/additive.ts'
import { additiveNumbers } from '../planner/additive-report.ts'
import type { Moment } from '../planner/estimates/moments.ts'
import { type CellLabel, cellKeys } from '../planner/grouping.ts'
import type { AdditivePlan } from '../planner/kinds/additive.ts'
import type { GroupsPlan } from '../planner/kinds/groups.ts'
import type { QuantilePlan } from '../planner/kinds/quantile.ts'
import { percentagesOf } from '../planner/kinds/quantile.ts'
import { accuracyReport } from '../planner/report.ts'
import type { AccuracyReport, Report } from '../planner/report-kinds.ts'
import { estimateNames, statisticName } from '../planner/statistic-names.ts'
import { numberFromDecimal } from '../privacy/decimal.ts'

/*
 * Answers without noise, for evaluations of synthetic data. The results reveal the data itself, so that nothing that
 * answers a query uses this file.
 */

/**
 * Identifies a number of an answer by its cell, its statistic within a group, or its percentile. Empty for a single
 * number.
 */
export interface NumberName {
  readonly key?: Readonly<Record<string, CellLabel>>
  /** Its name in the group's values. */
  readonly statistic?: string
  readonly p?: number
}

/** One number of an answer with its true value, and its error as far as theory knows it. */
export interface TrueNumber {
  readonly name: NumberName
  /** Type of the dates or timestamps that the number stands for; absent for a number. */
  readonly temporal?: TemporalColumn['type']
  /**
   * Value without noise and without post-processing; null for a statistic that is undefined, such as a mean of no rows.
   */
  readonly truth: number | null
  /** Expected absolute error before post-processing; null if it is not known. */
  readonly expectedAbsoluteError: number | null
  /** Upper bound of the expected absolute error for the true number of rows, if the error itself is not known. */
  readonly expectedAbsoluteErrorBound: number | null
  /** True if the expected error is known to be 0, including post-processing. */
  readonly unbiased: boolean
}

/**
 * A number of an answer with its half-width, which is that of the rank for a quantile. Dates and timestamps are numbers
 * of days and seconds since 1970.
 */
export interface AnswerNumber {
  readonly value: number
  readonly halfWidth: number | null
}

/**
 * The numbers of an answer, in the order of {@link exactEstimates} and {@link trueQuantiles}: cell by cell, and within
 * a group statistic by statistic.
 * @throws RangeError for a selection of candidates or keys.
 */
export function answerNumbers({ result, accuracy: { halfWidth } }: Report): readonly AnswerNumber[] {
  if ('value' in result) return [numberOf(result, halfWidth)]
  if ('cells' in result) return result.cells.map((cell) => numberOf(cell, halfWidth))
  if ('groups' in result)
    return result.groups.flatMap(({ values }) =>
      Object.values(values).map((value) => numberOf(value, value.halfWidth)),
    )
  if ('coefficients' in result) return [result.intercept, ...result.coefficients]
  if ('percentiles' in result) return result.percentiles.map((value) => numberOf(value, halfWidth))
  throw new RangeError('the result is a selection, which has no numbers')
}

function numberOf({ value }: { readonly value: GridValue }, halfWidth: number | null): AnswerNumber {
  return { value: unitsOfValue(value), halfWidth }
}

/** The names of an answer's numbers, which are public. */
export function numberNames(plan: AdditivePlan | GroupsPlan | QuantilePlan): readonly NumberName[] {
  const { query } = plan
  if (plan.kind === 'quantile')
    return query.kind === 'percentile' && Array.isArray(query.p)
      ? percentagesOf(query).map((p) => ({ p }))
      : [{}]
  const { groupings } = plan
  const names = plan.kind === 'groups' ? plan.query.statistics.map(statisticName) : estimateNames(query)
  const statistics = names.map((statistic) => ({ statistic }))
  if (groupings.length === 0) return statistics.length === 0 ? [{}] : statistics
  const keys = cellKeys(groupings)
  if (statistics.length === 0) return keys.map((key) => ({ key }))
  return keys.flatMap((key) => statistics.map((statistic) => ({ key, ...statistic })))
}

/**
 * The true value of each number of an answer made from sums and counts.
 * @param integers the data read for the plan: one array per statistic, one integer per cell, in grid units.
 */
export function exactEstimates(
  plan: AdditivePlan,
  integers: readonly (readonly bigint[])[],
): readonly TrueNumber[] {
  const { round, nonNegative } = plan.query.postprocess
  const query = { ...plan.query, postprocess: { round: false, nonNegative: false } }
  const unprocessed: AdditivePlan = { ...plan, query, estimates: withoutRidge(plan.estimates) }
  const noiseless = plan.measurements.map(({ fractionBits }, statistic) =>
    (integers[statistic] ?? []).map((integer) => integer << BigInt(fractionBits)),
  )
  const truths = additiveNumbers(unprocessed)(noiseless)
  const names = numberNames(plan)
  const accuracyAt = rememberingRows((rows) => accuracyReport(unprocessed, { rows }))
  return truths.map((truth, position) => {
    const place = position % plan.estimates.length
    const estimate = plan.estimates[place]
    const name = names[position]
    if (estimate === undefined || name === undefined)
      throw new RangeError('a number has no estimate or no name')
    const rows = rowsOf(estimate, integers, (position - place) / plan.estimates.length)
    if (rows === 0 || isUndefined(estimate, integers))
      return { ...UNKNOWN, ...temporalOf(temporalType(estimate)), name }
    const accuracy = accuracyAt(rows)
    const { expectedAbsoluteError } = accuracy.estimates?.[name.statistic ?? ''] ?? accuracy
    const linear = isLinear(estimate)
    return {
      name,
      ...temporalOf(temporalType(estimate)),
      truth,
      expectedAbsoluteError: linear ? expectedAbsoluteError : null,
      expectedAbsoluteErrorBound: linear ? null : expectedAbsoluteError,
      unbiased: linear && !('rows' in estimate) && !round && !nonNegative,
    }
  })
}

/** The truth of a regression is that of least squares without a ridge. */
function withoutRidge(estimates: readonly Estimate[]): readonly Estimate[] {
  const [first] = estimates
  if (first?.kind !== 'coefficient') return estimates
  const regression = { ...first.regression, ridge: 0 }
  return estimates.map((estimate) =>
    estimate.kind === 'coefficient' ? { ...estimate, regression } : estimate,
  )
}

function temporalOf(type: TemporalColumn['type'] | undefined): Pick<TrueNumber, 'temporal'> {
  return type === undefined ? {} : { temporal: type }
}

const UNKNOWN = {
  truth: null,
  expectedAbsoluteError: null,
  expectedAbsoluteErrorBound: null,
  unbiased: false,
} as const

/** Number of rows of an estimate, if its accuracy depends on it. */
function rowsOf(
  estimate: Estimate,
  integers: readonly (readonly bigint[])[],
  cell: number,
): number | undefined {
  const numberAt = (statistic: number, at: number) => Number(integers[statistic]?.[at] ?? 0n)
  switch (estimate.kind) {
    case 'count':
    case 'count-distinct':
    case 'sum':
    case 'sum-from-middle':
      return undefined
    case 'proportion':
      return estimate.rows
    case 'proportion-of-cells':
      return numberAt(estimate.statistic, 0) + numberAt(estimate.statistic, 1)
    case 'share':
    case 'mean':
    case 'variance':
    case 'standard-deviation':
      return estimate.rows.kind === 'public' ? estimate.rows.rows : numberAt(estimate.rows.statistic, cell)
    case 'covariance':
    case 'correlation': {
      const { rows } = estimate.moments
      return rows.kind === 'public' ? rows.value : numberAt(rows.statistic, cell)
    }
    case 'coefficient':
      return undefined
  }
}

/** True for a correlation with a column that has a single value, and for predictors that determine each other. */
function isUndefined(estimate: Estimate, integers: readonly (readonly bigint[])[]): boolean {
  // In half steps; the centred square of a boolean is 1.
  const integerOf = (moment: Moment) =>
    moment.kind === 'public' ? BigInt(moment.value) : (integers[moment.statistic]?.[0] ?? 0n)
  switch (estimate.kind) {
    case 'coefficient':
      return isSingular(estimate.regression.gram.map((row) => row.map(integerOf)))
    case 'correlation': {
      const { moments, squares } = estimate
      return [moments.sum, moments.otherSum].some((sum, place) => {
        const square = squares[place] ?? moments.rows
        return integerOf(square) * integerOf(moments.rows) === integerOf(sum) ** 2n
      })
    }
    default:
      return false
  }
}

/**
 * True if the determinant of a positive semidefinite matrix is 0. Elimination without fractions (Bareiss 1968): every
 * quotient is exact, and the pivots are the leading principal minors, of which one is 0 only if the determinant is.
 */
function isSingular(matrix: readonly (readonly bigint[])[]): boolean {
  let [rows, divisor] = [matrix, 1n]
  for (;;) {
    const [first, ...others] = rows
    if (first === undefined) return false
    const [pivot = 0n, ...rest] = first
    if (pivot === 0n) return true
    rows = others.map(([head = 0n, ...tail]) =>
      tail.map((entry, place) => (pivot * entry - head * (rest[place] ?? 0n)) / divisor),
    )
    divisor = pivot
  }
}

/** True if the error is that of a single noisy sum or count, so that its expected size is known. */
function isLinear(estimate: Estimate): boolean {
  switch (estimate.kind) {
    case 'count':
    case 'count-distinct':
    case 'sum':
    case 'proportion':
      return true
    case 'mean':
      return estimate.rows.kind === 'public'
    case 'sum-from-middle':
    case 'proportion-of-cells':
    case 'share':
    case 'variance':
    case 'standard-deviation':
    case 'covariance':
    case 'correlation':
    case 'coefficient':
      return false
  }
}

/** Remembers the accuracy by number of rows, because many cells have the same number. */
function rememberingRows(
  accuracyAt: (rows: number | undefined) => AccuracyReport,
): (rows: number | undefined) => AccuracyReport {
  const known = new Map<number | undefined, AccuracyReport>()
  return (rows) => {
    const accuracy = known.get(rows) ?? accuracyAt(rows)
    known.set(rows, accuracy)
    return accuracy
  }
}

/** True quantiles, and the rank errors of other values. */
export interface TrueQuantiles {
  readonly numbers: readonly TrueNumber[]
  /**
   * Distance in rows between the rank of a value and the target rank of the quantile at this position; 0 for a right
   * value.
   */
  readonly rankErrorRows: (position: number, value: number) => number
}

/**
 * The true quantiles of a plan, by the target ranks of its mechanism: the least grid point with n p of the n rows at or
 * below it; for a minimum of rank r the r-th value from below, for a maximum the r-th value from above. With fewer than
 * r rows it is the last of them.
 * @param names names of the quantiles
 */
export function trueQuantiles(
  plan: Pick<QuantilePlan, 'column' | 'measurements'> & {
    readonly query: Pick<QuantilePlan['query'], 'kind'>
  },
  { indexes, counts }: ValueCounts,
  names: readonly NumberName[],
): TrueQuantiles {
  const { stepNano } = plan.column
  const values = Float64Array.from(indexes, (index) => numberFromDecimal(BigInt(index) * stepNano, 9))
  const rowsBefore = new Float64Array(values.length + 1)
  for (const [position, count] of counts.entries())
    rowsBefore[position + 1] = (rowsBefore[position] ?? 0) + count
  const rows = BigInt(rowsBefore.at(-1) ?? 0)
  const scores = plan.measurements.map(({ score }) => score)

  /**
   * Numbers of rows below, at and above the value at this position; `at` is false for a point just below that value.
   */
  const rowsAround = (position: number, at: boolean) => {
    const below = BigInt(rowsBefore[position] ?? 0)
    const equal = at ? BigInt(counts[position] ?? 0) : 0n
    return [below, equal, rows - below - equal] as const
  }
  const truthOf = ({ below, above, target }: (typeof scores)[number]): number | null => {
    // The weight increases from each value with rows to the next, so the first or the last one that suffices is the
    // quantile.
    const enough = firstPosition(values.length, (position) => {
      const [rowsBelow, rowsEqual, rowsAbove] = rowsAround(position, true)
      return plan.query.kind === 'maximum'
        ? below * rowsBelow + above * (rowsEqual + rowsAbove) > target
        : below * (rowsBelow + rowsEqual) + above * rowsAbove >= target
    })
    const chosen =
      plan.query.kind === 'maximum' ? Math.max(0, enough - 1) : Math.min(enough, values.length - 1)
    return values[chosen] ?? null
  }
  return {
    numbers: scores.map((score, position) => ({
      ...UNKNOWN,
      ...temporalOf(isTemporal(plan.column) ? plan.column.type : undefined),
      name: names[position] ?? {},
      truth: truthOf(score),
    })),
    rankErrorRows: (position, value) => {
      const score = scores[position]
      if (score === undefined) throw new RangeError('the plan has no quantile at this position')
      const place = firstPosition(values.length, (at) => (values[at] ?? Number.POSITIVE_INFINITY) >= value)
      const distance = rankDistance(score, ...rowsAround(place, values[place] === value))
      return Number(distance) / Number(score.below - score.above)
    },
  }
}

/** True statistics of groups, and the rank errors of quantiles. */
export interface TrueGroups {
  readonly numbers: readonly TrueNumber[]
  /** See {@link TrueQuantiles}; `undefined` for a position of another statistic. */
  readonly rankErrorRows: (position: number, value: number) => number | undefined
}

/**
 * The true statistics of groups: cell by cell, and within a cell statistic by statistic.
 * @param integers the data read for the sums and counts
 * @param values the data read for the quantiles
 */
export function trueGroups(
  plan: GroupsPlan,
  integers: readonly (readonly bigint[])[] | undefined,
  values: readonly (readonly ValueCounts[])[],
): TrueGroups {
  const { query, sums, quantiles } = plan
  const ofSums = sums === undefined ? [] : exactEstimates(sums, integers ?? [])
  const statistics = query.statistics.length
  const ofQuantiles = quantiles.map(({ column, measurement }, part) =>
    (values[part] ?? []).map((counts) =>
      trueQuantiles({ query: { kind: 'median' }, column, measurements: [measurement] }, counts, [{}]),
    ),
  )
  const quantileAt = (position: number) => {
    const part = quantiles.findIndex(({ place }) => place === position % statistics)
    return ofQuantiles[part]?.[Math.floor(position / statistics)]
  }
  const numbers = ofSums.values()
  return {
    numbers: numberNames(plan).map((name, position) => {
      const known = quantileAt(position)?.numbers[0] ?? numbers.next().value
      if (known === undefined) throw new RangeError('each number belongs to a part')
      return { ...known, name }
    }),
    rankErrorRows: (position, value) => quantileAt(position)?.rankErrorRows(0, value),
  }
}

/** The first position for which a monotonic predicate holds, by bisection; the length if there is none. */
function firstPosition(length: number, holds: (position: number) => boolean): number {
  let [first, end] = [0, length]
  while (first < end) {
    const middle = Math.floor((first + end) / 2)
    if (holds(middle)) end = middle
    else first = middle + 1
  }
  return first
}

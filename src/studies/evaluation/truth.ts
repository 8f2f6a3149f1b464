import { isTemporal, type TemporalColumn } from '../../core/dataset/dataset.ts'
import { type GridValue, unitsOfValue } from '../../core/dataset/grid-value.ts'
import { isLinearEstimate } from '../../core/inference/infer.ts'
import { rankDistance, type ValueCounts } from '../../core/mechanisms/selection/quantile.ts'
import { exactRowsOf } from '../../core/planner/additive/estimates/estimate-kinds.ts'
import { additiveNumbers } from '../../core/planner/additive/report.ts'
import {
  type AdditivePlan,
  type Estimate,
  type Moment,
  namesOf,
  temporalType,
} from '../../core/planner/additive/shape.ts'
import { type CellLabel, cellKeys } from '../../core/planner/language/grouping.ts'
import type { CellIntegers } from '../../core/planner/language/reading.ts'
import { type CumulativePlan, cumulativeNumbers } from '../../core/planner/plans/cumulative.ts'
import type { GroupsPlan } from '../../core/planner/plans/groups.ts'
import type { MarginalsPlan } from '../../core/planner/plans/marginals.ts'
import type { QuantilePlan } from '../../core/planner/plans/quantile.ts'
import { accuracyReport, measuredReporter } from '../../core/planner/report.ts'
import type { AccuracyReport, Report } from '../../core/planner/report-kinds.ts'
import { columnsIn } from '../../core/workloads/column-sets.ts'
import { numberFromDecimal } from '../../privacy/decimal.ts'
import { entry, must } from '../../privacy/must.ts'

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
  readonly temporal?: TemporalColumn['type'] | undefined
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

/** The numbers of an answer with their true values, in their order. */
export interface TrueAnswer {
  readonly numbers: readonly TrueNumber[]
  /**
   * Distance in rows between the rank of a value and the target rank of the quantile at this position, 0 for a right value;
   * `undefined` at a position of another statistic. Absent for an answer without quantiles.
   */
  readonly rankErrorRows?: (position: number, value: number) => number | undefined
}

/** The true values of an answer's numbers, in their order. */
export type Truths = readonly TrueNumber['truth'][]

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
  if ('tables' in result)
    return result.tables.flatMap(({ values = [], halfWidth: own }) =>
      values.map((value) => ({ value, halfWidth: own })),
    )
  if ('percentiles' in result) return result.percentiles.map((value) => numberOf(value, halfWidth))
  throw new RangeError('the result is a selection, which has no numbers')
}

/** Exact integers as a release without noise would have them, in output units. */
function withoutNoise(
  { measurements }: Pick<AdditivePlan, 'measurements'>,
  integers: CellIntegers,
): CellIntegers {
  return measurements.map(({ fractionBits }, place) =>
    entry(integers, place).map((integer) => integer << BigInt(fractionBits)),
  )
}

function numberOf({ value }: { readonly value: GridValue }, halfWidth: number | null): AnswerNumber {
  return { value: unitsOfValue(value), halfWidth }
}

/** The names of an answer's numbers, which are public. */
export function numberNames(
  plan: AdditivePlan | GroupsPlan | QuantilePlan | MarginalsPlan | CumulativePlan,
): readonly NumberName[] {
  if (plan.kind === 'marginals')
    return plan.tables.flatMap(({ set }) =>
      cellKeys(columnsIn(set).map((column) => entry(plan.groupings, column))).map((key) => ({ key })),
    )
  if (plan.kind === 'cumulative')
    return plan.cells.spans.map((span) => ({ key: { [plan.cells.column]: span }, statistic: 'count' }))
  if (plan.kind === 'quantile') {
    const { listed, percentages = [] } = plan
    return listed ? percentages.map((p) => ({ p })) : [{}]
  }
  const { groupings } = plan
  const names = plan.kind === 'groups' ? plan.names : namesOf(plan.shown)
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
  const truths = additiveNumbers(unprocessed)(withoutNoise(plan, integers))
  const names = numberNames(plan)
  const accuracyAt = rememberingRows((rows) => accuracyReport(unprocessed, { rows }))
  return truths.map((truth, position) => {
    const place = position % plan.estimates.length
    const estimate = entry(plan.estimates, place)
    const name = entry(names, position)
    const temporal = temporalType(estimate)
    const cell = (position - place) / plan.estimates.length
    const rows = exactRowsOf(estimate, (statistic, at = cell) =>
      Number(entry(entry(integers, statistic), at)),
    )
    if (rows === 0 || isUndefined(estimate, integers)) return { ...UNKNOWN, temporal, name }
    const accuracy = accuracyAt(rows)
    const { expectedAbsoluteError } = accuracy.estimates?.[name.statistic ?? ''] ?? accuracy
    const linear = isOfOneNoise(estimate)
    return {
      name,
      temporal,
      truth,
      expectedAbsoluteError: linear ? expectedAbsoluteError : null,
      expectedAbsoluteErrorBound: linear ? null : expectedAbsoluteError,
      unbiased: linear && !('rows' in estimate) && !round && !nonNegative,
    }
  })
}

/** True if the error of an estimate is that of a single noisy sum or count, so that its expected size is known. */
function isOfOneNoise(estimate: Estimate): boolean {
  return (
    estimate.kind === 'count-distinct' || (estimate.kind !== 'sum-from-middle' && isLinearEstimate(estimate))
  )
}

/**
 * The true value of each cell of tables that are estimated together: without noise, estimates are exact.
 * @param integers the data read for the plan: those of each measured table.
 */
export function trueTables(
  plan: MarginalsPlan,
  integers: readonly (readonly bigint[])[],
): readonly TrueNumber[] {
  const noisy = withoutNoise(plan, integers)
  const truths = answerNumbers(measuredReporter(plan)({ kind: 'marginals', noisy }))
  const deviations = plan.tables.flatMap(({ cells, deviation }) =>
    Array.from({ length: cells }, () => deviation),
  )
  return unbiasedNumbers(
    plan,
    truths.map(({ value }) => value),
    deviations,
  )
}

/**
 * The true cumulative counts.
 * @param nodes the exact nodes, level by level
 */
export function trueCurve(
  plan: CumulativePlan,
  nodes: readonly (readonly bigint[])[],
): readonly TrueNumber[] {
  const exact = plan.measurements.map((measurement) => ({ ...measurement, fractionBits: 0 }))
  return unbiasedNumbers(plan, cumulativeNumbers(exact, nodes, plan.cells.spans.length), plan.deviations)
}

/** Numbers whose standard deviations are known, which their expected absolute errors do not exceed. */
function unbiasedNumbers(
  plan: MarginalsPlan | CumulativePlan,
  truths: readonly number[],
  deviations: readonly number[],
): readonly TrueNumber[] {
  return numberNames(plan).map((name, place) => ({
    name,
    truth: entry(truths, place),
    expectedAbsoluteError: null,
    expectedAbsoluteErrorBound: entry(deviations, place),
    unbiased: true,
  }))
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

const UNKNOWN = {
  truth: null,
  expectedAbsoluteError: null,
  expectedAbsoluteErrorBound: null,
  unbiased: false,
} as const

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
      tail.map((term, place) => (pivot * term - head * entry(rest, place)) / divisor),
    )
    divisor = pivot
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

/**
 * The true quantiles of a plan, by the target ranks of its mechanism: the least grid point with n p of the n rows at or
 * below it; for a minimum of rank r the r-th value from below, for a maximum the r-th value from above. With fewer than
 * r rows it is the last of them.
 * @param names names of the quantiles
 */
export function trueQuantiles(
  plan: Pick<QuantilePlan, 'column' | 'measurements'>,
  { indexes, counts }: ValueCounts,
  names: readonly NumberName[],
): TrueAnswer & Required<Pick<TrueAnswer, 'rankErrorRows'>> {
  const { stepNano } = plan.column
  const values = Float64Array.from(indexes, (index) => numberFromDecimal(BigInt(index) * stepNano, 9))
  const rowsBefore = new Float64Array(values.length + 1)
  for (const [position, count] of counts.entries())
    rowsBefore[position + 1] = entry(rowsBefore, position) + count
  const rows = BigInt(rowsBefore.at(-1) ?? 0)
  const scores = plan.measurements.map(({ score }) => score)

  /**
   * Numbers of rows below, at and above the value at this position; `at` is false for a point just below that value.
   */
  const rowsAround = (position: number, at: boolean) => {
    const below = BigInt(entry(rowsBefore, position))
    const equal = at ? BigInt(entry(counts, position)) : 0n
    return [below, equal, rows - below - equal] as const
  }
  const truthOf = ({ below, above, target }: (typeof scores)[number]): number | null => {
    // A rank from the upper end gives rows below no weight.
    const fromAbove = below === 0n
    // The weight increases from each value with rows to the next, so the first or the last one that suffices is the
    // quantile.
    const enough = firstPosition(values.length, (position) => {
      const [rowsBelow, rowsEqual, rowsAbove] = rowsAround(position, true)
      return fromAbove
        ? below * rowsBelow + above * (rowsEqual + rowsAbove) > target
        : below * (rowsBelow + rowsEqual) + above * rowsAbove >= target
    })
    const chosen = fromAbove ? Math.max(0, enough - 1) : Math.min(enough, values.length - 1)
    return values[chosen] ?? null
  }
  return {
    numbers: scores.map((score, position) => ({
      ...UNKNOWN,
      temporal: isTemporal(plan.column) ? plan.column.type : undefined,
      name: names[position] ?? {},
      truth: truthOf(score),
    })),
    rankErrorRows: (position, value) => {
      const score = entry(scores, position)
      const place = firstPosition(values.length, (at) => entry(values, at) >= value)
      const distance = rankDistance(score, ...rowsAround(place, values[place] === value))
      return Number(distance) / Number(score.below - score.above)
    },
  }
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
): TrueAnswer {
  const { names, sums, quantiles } = plan
  const ofSums = sums === undefined ? [] : exactEstimates(sums, integers ?? [])
  const statistics = names.length
  const ofQuantiles = quantiles.map(({ column, measurement }, part) =>
    entry(values, part).map((counts) => trueQuantiles({ column, measurements: [measurement] }, counts, [{}])),
  )
  const quantileAt = (position: number) => {
    const part = quantiles.findIndex(({ place }) => place === position % statistics)
    return ofQuantiles[part]?.[Math.floor(position / statistics)]
  }
  const numbers = ofSums.values()
  return {
    numbers: numberNames(plan).map((name, position) => {
      const known = quantileAt(position)?.numbers[0] ?? numbers.next().value
      return { ...must(known, 'part of a number'), name }
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

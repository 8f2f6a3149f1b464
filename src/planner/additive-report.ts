import type { Accuracy, Measurement } from '../mechanisms/measurement.ts'
import { accuracy } from '../mechanisms/mechanism.ts'
import { numberFromDecimal } from '../privacy/decimal.ts'
import { epsilonNumber } from '../privacy/loss.ts'
import { numberFromRational } from '../privacy/rational.ts'
import { type Estimate, type RowCount, statisticName } from './additive.ts'
import type { Statistic } from './aggregate.ts'
import { cellKeys } from './grouping.ts'
import type { AdditivePlan } from './kinds/additive.ts'
import type {
  AccuracyReport,
  ErrorReport,
  NoiseReport,
  Report,
  Result,
  StatisticNoise,
} from './report-kinds.ts'

type NumericEstimate = Extract<Estimate, { column: unknown }>

/** A released number, in people's units, and how far off it can be. */
interface Released {
  readonly value: number
  readonly halfWidth: number
  readonly expectedAbsoluteError: number
}

/** How a plan's statistics are made noisy; public before the query is paid for. */
export function noiseOfAdditive(plan: AdditivePlan): NoiseReport {
  const [first, ...others] = plan.measurements
  if (first === undefined) throw new RangeError('a plan has a measurement')
  const facts = {
    mechanism: first.mechanism,
    ...(first.calibration === undefined ? {} : { calibration: first.calibration }),
    neighbours: plan.dataset.neighbours,
  }
  if (others.length === 0) return { ...facts, ...statisticNoise(plan, 0, publicDivisor(plan)) }
  return {
    ...facts,
    statistics: plan.measurements.map(({ loss }, place) => ({
      ...nameOf(statisticAt(plan, place)),
      ...statisticNoise(plan, place),
      // The Gaussian mechanism releases them as one vector: none has a share of its own.
      ...(first.mechanism === 'gaussian' ? {} : { epsilon: epsilonNumber(loss.epsilonNano) }),
    })),
  }
}

/** What a noisy statistic is called, and of which column it is. */
function nameOf(statistic: Statistic): { readonly statistic: string; readonly column?: string } {
  switch (statistic.kind) {
    case 'count':
      return {
        statistic: 'count',
        ...(statistic.column === undefined ? {} : { column: statistic.column }),
      }
    case 'count-distinct':
      return { statistic: 'count of distinct values' }
    case 'affine-sum':
      return {
        statistic: statistic.factor === 1n ? 'sum' : 'sum about the middle',
        column: statistic.column,
      }
    case 'affine-square-sum':
      return { statistic: 'sum of squares about the middle', column: statistic.column }
  }
}

/** What a single noisy sum or count is divided by to become the answer, whose noise is the one to state. */
function publicDivisor({ estimates }: AdditivePlan): number {
  const [estimate, ...others] = estimates
  if (estimate === undefined || others.length > 0) return 1
  if (estimate.kind === 'proportion') return estimate.rows
  return estimate.kind === 'mean' && estimate.rows.kind === 'public' ? estimate.rows.rows : 1
}

function statisticNoise(plan: AdditivePlan, place: number, divisor = 1): StatisticNoise {
  const { noise, sensitivity, fractionBits } = measurementAt(plan, place)
  const unit = unitOf(plan, place) / divisor
  const granularity = unit / 2 ** fractionBits
  switch (noise.kind) {
    case 'discrete-laplace':
      return {
        scale: numberFromRational(noise.scale) * granularity,
        sensitivity: Number(sensitivity.l1) * unit,
        granularity,
      }
    case 'discrete-gaussian':
      return {
        scale: Number(noise.sigma) * granularity,
        sensitivity: Math.sqrt(Number(sensitivity.l2Squared)) * unit,
        granularity,
      }
  }
}

/**
 * The accuracy of a plan's answer, computed without data. It is about noise alone: clamping to the declared bounds
 * and rounding to the grid are not errors it knows of. Expected errors are those before post-processing.
 *
 * @param supposedRows how many rows the caller supposes to count, for estimates over a private number of them; whole,
 * at least 1. The accuracy is then a bound for the data that are hardest to estimate.
 */
export function accuracyOfAdditive(plan: AdditivePlan, supposedRows?: number): AccuracyReport {
  const each = plan.estimates.map((estimate) => accuracyBefore(plan, estimate, supposedRows))
  const [first] = each
  const single = each.length === 1 ? first : undefined
  return {
    confidence: plan.confidence,
    halfWidth: single?.halfWidth ?? null,
    expectedAbsoluteError: single?.expectedAbsoluteError ?? null,
    ...(each.length === 1
      ? {}
      : {
          estimates: Object.fromEntries(
            namesOf(plan).map((name, place) => [name, each[place] ?? UNKNOWN_ERROR]),
          ),
        }),
    ...partsOf(plan),
  }
}

/** The names of a plan's estimates in answers, if there may be several. */
function namesOf({ query }: AdditivePlan): readonly string[] {
  return query.kind === 'groupBy' ? query.statistics.map(statisticName) : []
}

/** The half-widths of the statistics that estimates are made from, which hold together, where an estimate needs several. */
function partsOf(plan: AdditivePlan): Pick<AccuracyReport, 'statistics'> {
  const { measurements } = plan
  if (measurements.length === 1) return {}
  return {
    statistics: measurements.map((_, place) => ({
      ...nameOf(statisticAt(plan, place)),
      ...errorOf(plan, place, measurements.length),
    })),
  }
}

/** The answer's numbers from the noisy integers: post-processing, so it may use anything public and costs nothing. */
export function reportEstimates(plan: AdditivePlan, noisy: readonly (readonly bigint[])[]): Report {
  const { groupings, estimates, query } = plan
  const before = accuracyOfAdditive(plan)
  if (groupings.length === 0) {
    const [estimate] = estimates
    if (estimate === undefined) throw new RangeError('a plan has an estimate')
    const { value, halfWidth, expectedAbsoluteError } = released(
      plan,
      estimate,
      errorsOf(plan, estimate),
      noisy,
      0,
    )
    return { result: { value }, accuracy: { ...before, halfWidth, expectedAbsoluteError } }
  }
  const keys = cellKeys(groupings)
  if (query.kind !== 'groupBy') {
    const [estimate] = estimates
    if (estimate === undefined) throw new RangeError('a table has an estimate')
    const errors = errorsOf(plan, estimate)
    const cells = keys.map((key, cell) => ({
      key,
      value: released(plan, estimate, errors, noisy, cell).value,
    }))
    return { result: { cells }, accuracy: before }
  }
  const names = namesOf(plan)
  const parts = estimates.map((estimate, place) => ({
    name: names[place] ?? '',
    estimate,
    errors: errorsOf(plan, estimate),
  }))
  const groups = keys.map((key, cell) => ({
    key,
    values: Object.fromEntries(
      parts.map(({ name, estimate, errors }) => {
        const { value, halfWidth } = released(plan, estimate, errors, noisy, cell)
        return [name, { value, halfWidth }]
      }),
    ),
  }))
  return { result: { groups } satisfies Result, accuracy: before }
}

/** The statistics that an estimate is made from. */
function placesOf(estimate: Estimate): readonly number[] {
  switch (estimate.kind) {
    case 'count':
    case 'count-distinct':
    case 'sum':
    case 'proportion':
      return [estimate.statistic]
    // Two cells of it, which err independently of each other.
    case 'proportion-of-cells':
      return [estimate.statistic, estimate.statistic]
    case 'sum-from-middle':
    case 'mean':
      return [estimate.sum, ...placeOfRows(estimate.rows)]
    case 'variance':
    case 'standard-deviation':
      return [estimate.squares, estimate.sum, ...placeOfRows(estimate.rows)]
  }
}

function placeOfRows(rows: RowCount): readonly number[] {
  return rows.kind === 'noisy' ? [rows.statistic] : []
}

/** How far off the parts of an estimate are: each is given a share of what the whole may miss by (Bonferroni). */
function errorsOf(plan: AdditivePlan, estimate: Estimate): readonly ErrorReport[] {
  const places = placesOf(estimate)
  return places.map((place) => errorOf(plan, place, places.length))
}

function errorOf(plan: AdditivePlan, place: number, parts: number): ErrorReport {
  const stated: Accuracy = accuracy(measurementAt(plan, place), 1 - (1 - plan.confidence) / parts)
  const unit = unitOf(plan, place)
  return { halfWidth: stated.halfWidth * unit, expectedAbsoluteError: stated.expectedAbsoluteError * unit }
}

interface PredictedError {
  readonly halfWidth: number | null
  readonly expectedAbsoluteError: number | null
}

const UNKNOWN_ERROR: PredictedError = { halfWidth: null, expectedAbsoluteError: null }
const NO_ERROR: ErrorReport = { halfWidth: 0, expectedAbsoluteError: 0 }

function accuracyBefore(
  plan: AdditivePlan,
  estimate: Estimate,
  supposedRows: number | undefined,
): PredictedError {
  const foreseen = unroundedAccuracyBefore(plan, estimate, supposedRows)
  if (foreseen.halfWidth === null) return foreseen
  return { ...foreseen, halfWidth: roundedHalfWidth(plan, estimate, foreseen.halfWidth) }
}

function unroundedAccuracyBefore(
  plan: AdditivePlan,
  estimate: Estimate,
  supposedRows: number | undefined,
): PredictedError {
  const [first = NO_ERROR, second = NO_ERROR, third = NO_ERROR] = errorsOf(plan, estimate)
  switch (estimate.kind) {
    case 'count':
    case 'count-distinct':
    case 'sum':
      return first
    case 'sum-from-middle':
      return sumErrors(estimate, first, second)
    case 'proportion':
      return proportionErrors(first, estimate.rows)
    case 'proportion-of-cells':
      return supposedRows === undefined ? UNKNOWN_ERROR : proportionErrors(first, supposedRows)
    case 'mean': {
      const rows = rowsSupposed(estimate.rows, supposedRows)
      return rows === undefined ? UNKNOWN_ERROR : meanErrors(estimate, first, second, rows)
    }
    case 'variance':
    case 'standard-deviation': {
      const rows = rowsSupposed(estimate.rows, supposedRows)
      if (rows === undefined) return UNKNOWN_ERROR
      const variance = varianceErrors(estimate, first, second, third, rows)
      if (estimate.kind === 'variance') return variance
      // |sqrt(a) - sqrt(b)| <= sqrt(|a - b|), and the mean of a square root is at most the square root of the mean.
      return {
        halfWidth: Math.sqrt(variance.halfWidth),
        expectedAbsoluteError: Math.sqrt(variance.expectedAbsoluteError),
      }
    }
  }
}

function rowsSupposed(rows: RowCount, supposedRows: number | undefined): number | undefined {
  return rows.kind === 'public' ? rows.rows : supposedRows
}

/** The sum is that about the middle, plus the middle times the number of rows. */
function sumErrors(estimate: NumericEstimate, sum: ErrorReport, count: ErrorReport): ErrorReport {
  const middle = Math.abs(boundsOf(estimate)[1])
  return {
    halfWidth: sum.halfWidth + middle * count.halfWidth,
    expectedAbsoluteError: sum.expectedAbsoluteError + middle * count.expectedAbsoluteError,
  }
}

/**
 * With N rows, the released mean c errs by at most (h_S + h_N range / 2) / N. For let it lie above the true mean m (both
 * from the middle): then c N' <= S', noise included, so c (N - h_N) or c (N + h_N) is at most m N + h_S, and |c| is at
 * most half the range. Likewise below.
 */
function meanErrors(
  estimate: NumericEstimate,
  sum: ErrorReport,
  count: ErrorReport,
  rows: number,
): ErrorReport {
  const range = rangeOf(estimate)
  const bound = (sumError: number, countError: number) =>
    Math.min(range, (sumError + (range / 2) * countError) / rows)
  return {
    halfWidth: bound(sum.halfWidth, count.halfWidth),
    expectedAbsoluteError: bound(sum.expectedAbsoluteError, count.expectedAbsoluteError),
  }
}

/**
 * What the roundings of a difference of squares may come to, in parts of the largest variance: next to nothing, but for
 * the root of a variance near 0.
 */
const VARIANCE_ROUNDING = 32 * Number.EPSILON

/**
 * With N rows, the released variance w errs by at most (max(h_Q, h_N range^2 / 4) + h_S range + h_N range^2 / 4) / N. As
 * S^2 / N >= 2 t S - t^2 N for every t, with the true mean m for t where w is too large, and the released one m' where it
 * is too small (from the middle; a prime is for noise included):
 *
 *   w N' <= Q' - S'^2 / N' <= Q' - 2 m S' + m^2 N', less v N = Q - m^2 N:   (w - v) N <= h_Q + 2 |m| h_S + |m^2 - w| h_N
 *   v N <= Q - 2 m' S + m'^2 N, less w N' >= Q' - m'^2 N':                  (v - w) N <= h_Q + 2 |m'| h_S + |m'^2 - w| h_N
 *
 * where |m| is at most half the range, and squares and variances a quarter of its square. Should |m'| be larger, then t
 * is half the range: v N <= range (N range / 2 - |S|), which is at most range (h_S + h_N range / 2).
 */
function varianceErrors(
  estimate: NumericEstimate,
  squares: ErrorReport,
  sum: ErrorReport,
  count: ErrorReport,
  rows: number,
): ErrorReport {
  const range = rangeOf(estimate)
  const largest = range ** 2 / 4
  const bound = (squaresError: number, sumError: number, countError: number) =>
    Math.min(
      largest,
      (Math.max(squaresError, largest * countError) + range * sumError + largest * countError) / rows,
    )
  return {
    halfWidth: bound(squares.halfWidth, sum.halfWidth, count.halfWidth) + VARIANCE_ROUNDING * largest,
    expectedAbsoluteError: bound(
      squares.expectedAbsoluteError,
      sum.expectedAbsoluteError,
      count.expectedAbsoluteError,
    ),
  }
}

/**
 * With N rows, the released share p' errs by at most h / N. Of two noisy counts likewise: above the true share p, p' (N + e
 * + e') is at most p N + e, so (p' - p) N <= (1 - p') e - p' e'; below, the other share lies above.
 */
function proportionErrors(count: ErrorReport, rows: number): ErrorReport {
  const bound = (error: number) => Math.min(1, error / rows)
  return {
    halfWidth: bound(count.halfWidth),
    expectedAbsoluteError: bound(count.expectedAbsoluteError),
  }
}

/** One estimate of one cell, post-processed as the query asks. The errors of its parts are the same in every cell. */
function released(
  plan: AdditivePlan,
  estimate: Estimate,
  errors: readonly ErrorReport[],
  noisy: readonly (readonly bigint[])[],
  cell: number,
): Released {
  const { round, nonNegative } = plan.query.postprocess
  const { value, halfWidth, expectedAbsoluteError } = estimated(plan, estimate, errors, noisy, cell)
  const rounded = round ? Math.round(value) : value
  return {
    value: nonNegative && rounded < 0 ? 0 : rounded,
    halfWidth: roundedHalfWidth(plan, estimate, halfWidth),
    expectedAbsoluteError,
  }
}

function estimated(
  plan: AdditivePlan,
  estimate: Estimate,
  errors: readonly ErrorReport[],
  noisy: readonly (readonly bigint[])[],
  cell: number,
): Released {
  const numberAt = (place: number, at = cell) => releasedNumber(plan, place, noisy[place]?.[at])
  const [foreseen = NO_ERROR] = errors
  switch (estimate.kind) {
    case 'count':
    case 'count-distinct':
    case 'sum':
      return { value: numberAt(estimate.statistic), ...foreseen }
    case 'sum-from-middle': {
      const [sum = NO_ERROR, count = NO_ERROR] = errors
      const value = numberAt(estimate.sum) + boundsOf(estimate)[1] * rowsAt(estimate.rows, numberAt)
      return { value, ...sumErrors(estimate, sum, count) }
    }
    case 'proportion': {
      const value = within(numberAt(estimate.statistic) / estimate.rows, 0, 1)
      return { value, ...proportionErrors(foreseen, estimate.rows) }
    }
    case 'proportion-of-cells':
      return estimatedProportion(numberAt(estimate.statistic, 1), numberAt(estimate.statistic, 0), foreseen)
    case 'mean':
      return estimatedMean(estimate, errors, numberAt)
    case 'variance':
      return estimatedVariance(estimate, errors, numberAt)
    case 'standard-deviation': {
      const variance = estimatedVariance(estimate, errors, numberAt)
      const value = Math.sqrt(variance.value)
      const above = Math.sqrt(variance.value + variance.halfWidth) - value
      const below = value - Math.sqrt(Math.max(0, variance.value - variance.halfWidth))
      return {
        value,
        halfWidth: Math.min(Math.max(above, below), rangeOf(estimate) / 2),
        expectedAbsoluteError: Math.min(
          Math.sqrt(variance.expectedAbsoluteError),
          value > 0 ? variance.expectedAbsoluteError / (2 * value) : Number.POSITIVE_INFINITY,
        ),
      }
    }
  }
}

/** The share of the rows `holding`; the interval is that of the quotient while both counts are within their half-widths. */
function estimatedProportion(holding: number, others: number, error: ErrorReport): Released {
  const { halfWidth: h } = error
  const share = (of: number, rest: number) => (of + rest > 0 ? of / (of + rest) : 1 / 2)
  const total = Math.max(1, holding + others)
  const value = within(holding / total, 0, 1)
  const lowest = share(Math.max(0, holding - h), Math.max(0, others + h))
  const highest = share(Math.max(0, holding + h), Math.max(0, others - h))
  return {
    value,
    halfWidth: Math.max(value - Math.min(lowest, value), Math.max(highest, value) - value),
    expectedAbsoluteError: Math.min(1, error.expectedAbsoluteError / total),
  }
}

/**
 * The mean from a noisy sum about the middle and the number of rows. The interval is that of the quotient while both
 * parts are within their half-widths, which holds with the stated confidence; the expected error is to first order.
 */
function estimatedMean(
  estimate: Extract<Estimate, { sum: number }>,
  errors: readonly ErrorReport[],
  numberAt: (place: number) => number,
): Released {
  const [sum = NO_ERROR, count = NO_ERROR] = errors
  const [lower, middle, upper] = boundsOf(estimate)
  const total = numberAt(estimate.sum)
  const rows = Math.max(1, rowsAt(estimate.rows, numberAt))
  const meanOf = (dividend: number, divisor: number) => within(middle + dividend / divisor, lower, upper)
  const value = meanOf(total, rows)
  if (estimate.rows.kind === 'public') return { value, ...meanErrors(estimate, sum, count, rows) }

  const divisors = [Math.max(1, rows - count.halfWidth), rows + count.halfWidth]
  const ends = divisors.flatMap((divisor) => [
    meanOf(total - sum.halfWidth, divisor),
    meanOf(total + sum.halfWidth, divisor),
  ])
  return {
    value,
    halfWidth: Math.max(...ends.map((end) => Math.abs(end - value))),
    expectedAbsoluteError: Math.min(
      Math.max(value - lower, upper - value),
      (sum.expectedAbsoluteError + Math.abs(value - middle) * count.expectedAbsoluteError) / rows,
    ),
  }
}

/**
 * The variance from noisy sums and squares about the middle and the number of rows, Q / N - (S / N)^2. The interval is
 * the range of that while every part is within its half-width. In Q and S it is monotonic on either side of 0; in N it
 * rises to its largest value at N = 2 S^2 / Q and falls from there. The expected error is to first order.
 */
function estimatedVariance(
  estimate: Extract<Estimate, { squares: number }>,
  errors: readonly ErrorReport[],
  numberAt: (place: number) => number,
): Released {
  const [squaresError = NO_ERROR, sumError = NO_ERROR, countError = NO_ERROR] = errors
  const largest = rangeOf(estimate) ** 2 / 4
  const [squares, sum] = [numberAt(estimate.squares), numberAt(estimate.sum)]
  const rows = Math.max(1, rowsAt(estimate.rows, numberAt))
  const varianceOf = (q: number, sSquared: number, n: number) => within(q / n - sSquared / n ** 2, 0, largest)
  const value = varianceOf(squares, sum ** 2, rows)

  const [fewest, most] = [Math.max(1, rows - countError.halfWidth), rows + countError.halfWidth]
  const leastSum = Math.max(0, Math.abs(sum) - sumError.halfWidth) ** 2
  const largestSum = (Math.abs(sum) + sumError.halfWidth) ** 2
  const mostSquares = squares + squaresError.halfWidth
  const top = within(mostSquares > 0 ? (2 * leastSum) / mostSquares : most, fewest, most)
  const highest = Math.max(...[fewest, top, most].map((n) => varianceOf(mostSquares, leastSum, n)))
  const lowest = Math.min(
    ...[fewest, most].map((n) => varianceOf(squares - squaresError.halfWidth, largestSum, n)),
  )
  const mean = within(sum / rows, -Math.sqrt(largest), Math.sqrt(largest))
  const meanSquare = within(squares / rows, 0, largest)
  const firstOrder =
    (squaresError.expectedAbsoluteError +
      2 * Math.abs(mean) * sumError.expectedAbsoluteError +
      Math.abs(meanSquare - 2 * mean ** 2) * countError.expectedAbsoluteError) /
    rows
  return {
    value,
    halfWidth: Math.max(highest - value, value - lowest) + VARIANCE_ROUNDING * largest,
    expectedAbsoluteError: Math.min(firstOrder, Math.max(value, largest - value)),
  }
}

function rowsAt(rows: RowCount, numberAt: (place: number) => number): number {
  return rows.kind === 'public' ? rows.rows : numberAt(rows.statistic)
}

/** Lower bound, middle and upper bound of an estimate's column, in people's units. */
function boundsOf({ column }: NumericEstimate): readonly [number, number, number] {
  const { lowerIndex, upperIndex, stepNano } = column
  return [
    numberFromDecimal(lowerIndex * stepNano, 9),
    numberFromDecimal((lowerIndex + upperIndex) * stepNano, 9) / 2,
    numberFromDecimal(upperIndex * stepNano, 9),
  ]
}

function rangeOf({ column }: NumericEstimate): number {
  return numberFromDecimal((column.upperIndex - column.lowerIndex) * column.stepNano, 9)
}

function roundedHalfWidth(plan: AdditivePlan, estimate: Estimate, halfWidth: number): number {
  if (!plan.query.postprocess.round) return halfWidth
  const wholeTruth =
    estimate.kind === 'count' ||
    estimate.kind === 'count-distinct' ||
    ((estimate.kind === 'sum' || estimate.kind === 'sum-from-middle') && estimate.column.type === 'integer')
  // A whole truth within h of x is within floor(h + 1/2) of x rounded; any other truth may be half a unit further.
  return wholeTruth ? Math.floor(halfWidth + 0.5) : halfWidth + 0.5
}

/** A noisy integer in people's units. */
function releasedNumber(plan: AdditivePlan, place: number, integer: bigint | undefined): number {
  if (integer === undefined) throw new RangeError('a statistic was not released')
  const { fractionBits } = measurementAt(plan, place)
  const { stepNano, factor, power } = gridOf(plan, place)
  return numberFromDecimal(integer * stepNano ** power, 9 * Number(power)) / factor / 2 ** fractionBits
}

/** What one grid unit of a statistic is in the units people read. */
function unitOf(plan: AdditivePlan, place: number): number {
  const { stepNano, factor, power } = gridOf(plan, place)
  return numberFromDecimal(stepNano ** power, 9 * Number(power)) / factor
}

const ONE_NANO = 1_000_000_000n

/** A grid unit is stepNano^power * 1e-9^power / factor. */
function gridOf(
  plan: AdditivePlan,
  place: number,
): { readonly stepNano: bigint; readonly factor: number; readonly power: bigint } {
  const statistic = statisticAt(plan, place)
  switch (statistic.kind) {
    case 'count':
    case 'count-distinct':
      return { stepNano: ONE_NANO, factor: 1, power: 1n }
    case 'affine-sum':
      return { stepNano: stepOf(plan, statistic), factor: Number(statistic.factor), power: 1n }
    case 'affine-square-sum':
      return { stepNano: stepOf(plan, statistic), factor: Number(statistic.factor) ** 2, power: 2n }
  }
}

function stepOf({ estimates }: AdditivePlan, { column }: { readonly column: string }): bigint {
  for (const estimate of estimates)
    if ('column' in estimate && estimate.column.name === column) return estimate.column.stepNano
  throw new RangeError('a sum belongs to an estimate of its column')
}

function statisticAt({ aggregate }: AdditivePlan, place: number): Statistic {
  const statistic = aggregate.statistics[place]
  if (statistic === undefined) throw new RangeError('an estimate is made from the statistics of its plan')
  return statistic
}

function measurementAt({ measurements }: AdditivePlan, place: number): Measurement {
  const measurement = measurements[place]
  if (measurement === undefined) throw new RangeError('a plan has a measurement for each statistic')
  return measurement
}

function within(value: number, lowest: number, highest: number): number {
  return Math.min(Math.max(value, lowest), highest)
}

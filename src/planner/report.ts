import type { Accuracy, Measurement } from '../mechanisms/measurement.ts'
import { accuracy } from '../mechanisms/mechanism.ts'
import { numberFromDecimal } from '../privacy/decimal.ts'
import { deltaNumber, epsilonNumber } from '../privacy/loss.ts'
import { numberFromRational } from '../privacy/rational.ts'
import type { CellLabel } from './grouping.ts'
import type { Plan } from './plan.ts'

/** The step of what is counted, in units of 1e-9. */
const ONE_NANO = 1_000_000_000n

/** The confidence that every stated half-width has. */
export const CONFIDENCE = 0.95

/** What an answer holds of the released values. */
export type Result =
  | { readonly value: number }
  | {
      readonly cells: readonly { readonly key: Readonly<Record<string, CellLabel>>; readonly value: number }[]
    }

/** The noise of one statistic, in the units of what it is the noise of. */
export interface StatisticNoise {
  /** The scale b of geometric and Laplace noise, the standard deviation sigma of Gaussian noise. */
  readonly scale: number
  /** In the mechanism's own norm: L1 for geometric and Laplace, L2 for Gaussian. */
  readonly sensitivity: number
  /** Noisy values are multiples of it. */
  readonly granularity: number
}

/** How an answer was made noisy. A mean about the middle of the range has two noisy parts. */
export type NoiseReport = Pick<Measurement, 'mechanism' | 'calibration'> & {
  readonly neighbours: Plan['dataset']['neighbours']
} & (
    | StatisticNoise
    | { readonly sum: StatisticNoise & SharePaid; readonly count: StatisticNoise & SharePaid }
  )

interface SharePaid {
  readonly epsilon: number
  readonly delta: number
}

/** How far off one value can be. */
export interface ErrorReport {
  readonly halfWidth: number
  readonly expectedAbsoluteError: number
}

/**
 * Accuracy of each released value. `halfWidth` and `expectedAbsoluteError` are null where they depend on a number of
 * rows that is not public and no noisy count is at hand.
 */
export interface AccuracyReport {
  readonly confidence: number
  readonly halfWidth: number | null
  readonly expectedAbsoluteError: number | null
  readonly sum?: ErrorReport
  readonly count?: ErrorReport
}

/** How a plan's answer is made noisy; public before the query is paid for. */
export function noiseReport(plan: Plan): NoiseReport {
  const [first, second] = plan.measurements
  if (first === undefined) throw new RangeError('a plan has a measurement')
  const facts = {
    mechanism: first.mechanism,
    ...(first.calibration === undefined ? {} : { calibration: first.calibration }),
    neighbours: plan.dataset.neighbours,
  }
  if (second === undefined) return { ...facts, ...statisticNoise(first, unitOf(plan)) }
  return {
    ...facts,
    sum: { ...statisticNoise(first, unitOf(plan)), ...sharePaid(first) },
    count: { ...statisticNoise(second, 1), ...sharePaid(second) },
  }
}

function sharePaid({ loss }: Measurement): SharePaid {
  return { epsilon: epsilonNumber(loss.epsilonNano), delta: deltaNumber(loss.deltaAtto) }
}

function statisticNoise(measurement: Measurement, unit: number): StatisticNoise {
  const { noise, sensitivity } = measurement
  const granularity = unit / 2 ** measurement.fractionBits
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

/** What one grid unit of a plan's leading statistic is in the units people read. */
function unitOf(plan: Plan): number {
  const { presentation } = plan
  switch (presentation.kind) {
    case 'sum':
      return numberFromDecimal(presentation.column.stepNano, 9)
    case 'mean-of-public-size':
      return numberFromDecimal(presentation.column.stepNano, 9) / presentation.rows
    case 'mean-about-middle':
      return numberFromDecimal(presentation.column.stepNano, 9) / 2
    case 'count':
    case 'cells':
      return 1
  }
}

/**
 * The accuracy of a plan's answer, computed without data. It is about noise alone: clamping to the declared bounds
 * and rounding to the grid are not errors it knows of. Expected errors are those before post-processing.
 *
 * @param supposedRows how many rows the caller supposes to count, for a mean over a private number of them; whole, at
 * least 1. The accuracy is then a bound for the mean that is hardest to estimate.
 */
export function accuracyReport(plan: Plan, supposedRows?: number): AccuracyReport {
  const [first, second] = plan.measurements
  if (first === undefined) throw new RangeError('a plan has a measurement')
  if (second !== undefined) {
    const errors = meanErrors(first, second)
    const sum = errorReport(errors.sum, unitOf(plan))
    const count = errorReport(errors.count, 1)
    const whole = supposedRows === undefined ? undefined : supposedMeanErrors(plan, sum, count, supposedRows)
    return {
      confidence: CONFIDENCE,
      halfWidth: whole === undefined ? null : roundedHalfWidth(plan, whole.halfWidth),
      expectedAbsoluteError: whole?.expectedAbsoluteError ?? null,
      sum,
      count,
    }
  }
  const { halfWidth, expectedAbsoluteError } = errorReport(accuracy(first, CONFIDENCE), unitOf(plan))
  return { confidence: CONFIDENCE, halfWidth: roundedHalfWidth(plan, halfWidth), expectedAbsoluteError }
}

/** Each part is given half of what the whole may miss by (Bonferroni), so that both hold together. */
function meanErrors(sum: Measurement, count: Measurement): { sum: Accuracy; count: Accuracy } {
  const each = 1 - (1 - CONFIDENCE) / 2
  return { sum: accuracy(sum, each), count: accuracy(count, each) }
}

/** With N rows and a mean m from the middle, S / N errs by at most (h_S + |m| h_N) / (N - h_N); |m| is half the range. */
function supposedMeanErrors(plan: Plan, sum: ErrorReport, count: ErrorReport, rows: number): ErrorReport {
  const [lower, upper] = boundsOf(plan) ?? [0, 0]
  const range = upper - lower
  const bound = (sumError: number, countError: number, divisor: number) =>
    Math.min(range, (sumError + (range / 2) * countError) / Math.max(1, divisor))
  return {
    halfWidth: bound(sum.halfWidth, count.halfWidth, rows - count.halfWidth),
    expectedAbsoluteError: bound(sum.expectedAbsoluteError, count.expectedAbsoluteError, rows),
  }
}

function errorReport(error: Accuracy, unit: number): ErrorReport {
  return { halfWidth: error.halfWidth * unit, expectedAbsoluteError: error.expectedAbsoluteError * unit }
}

function roundedHalfWidth(plan: Plan, halfWidth: number): number {
  if (!plan.query.postprocess.round) return halfWidth
  const { presentation } = plan
  const wholeTruth =
    presentation.kind === 'count' ||
    presentation.kind === 'cells' ||
    (presentation.kind === 'sum' && presentation.column.type === 'integer')
  // A whole truth within h of x is within floor(h + 1/2) of x rounded; any other truth may be half a unit further.
  return wholeTruth ? Math.floor(halfWidth + 0.5) : halfWidth + 0.5
}

/** What leaves: the released integers as numbers people read, and how far off they can be. */
export interface Report {
  readonly result: Result
  readonly accuracy: AccuracyReport
}

/**
 * The answer's numbers from the noisy integers: post-processing, so it may use anything public and costs nothing.
 *
 * @param noisy one array per statistic, one noisy integer per cell, in output units
 */
export function report(plan: Plan, noisy: readonly (readonly bigint[])[]): Report {
  const { presentation } = plan
  const [leading = [], counts = []] = noisy
  switch (presentation.kind) {
    case 'count':
    case 'sum': {
      const stepNano = presentation.kind === 'count' ? ONE_NANO : presentation.column.stepNano
      const value = releasedNumber(leading[0], plan, stepNano)
      return { result: { value: postprocess(plan, value) }, accuracy: accuracyReport(plan) }
    }
    case 'mean-of-public-size': {
      const { column, rows } = presentation
      const mean = withinBounds(releasedNumber(leading[0], plan, column.stepNano) / rows, plan)
      return { result: { value: postprocess(plan, mean) }, accuracy: accuracyReport(plan) }
    }
    case 'mean-about-middle':
      return reportMean(plan, leading[0] ?? 0n, counts[0] ?? 0n)
    case 'cells': {
      const labels = cellKeys(presentation.groupings)
      const cells = leading.map((integer, cell) => ({
        key: labels[cell] ?? {},
        value: postprocess(plan, releasedNumber(integer, plan, ONE_NANO)),
      }))
      return { result: { cells }, accuracy: accuracyReport(plan) }
    }
  }
}

function releasedNumber(integer: bigint | undefined, plan: Plan, stepNano: bigint): number {
  return numberFromDecimal((integer ?? 0n) * stepNano, 9) / 2 ** (plan.measurements[0]?.fractionBits ?? 0)
}

function postprocess(plan: Plan, value: number): number {
  const { round, nonNegative } = plan.query.postprocess
  const rounded = round ? Math.round(value) : value
  return nonNegative && rounded < 0 ? 0 : rounded
}

function cellKeys(groupings: readonly { column: string; labels: readonly CellLabel[] }[]) {
  return groupings.reduce<readonly Record<string, CellLabel>[]>(
    (keys, { column, labels }) => keys.flatMap((key) => labels.map((label) => ({ ...key, [column]: label }))),
    [{}],
  )
}

/**
 * The mean from a noisy sum about the middle and a noisy count. The interval is that of the quotient while both parts
 * are within their half-widths, which holds with the stated confidence; the expected error is to first order.
 */
function reportMean(plan: Plan, noisySum: bigint, noisyCount: bigint): Report {
  const [sum, count] = plan.measurements
  if (sum === undefined || count === undefined || plan.presentation.kind !== 'mean-about-middle') {
    throw new RangeError('a mean about the middle has two measurements')
  }
  const { column } = plan.presentation
  const halfStep = unitOf(plan)
  const total = numberFromDecimal(noisySum * column.stepNano, 9) / 2 / 2 ** sum.fractionBits
  const rows = Math.max(1, Number(noisyCount) / 2 ** count.fractionBits)
  const errors = meanErrors(sum, count)
  const [sumHalfWidth, countHalfWidth] = [errors.sum.halfWidth * halfStep, errors.count.halfWidth]
  const middle = numberFromDecimal((column.lowerIndex + column.upperIndex) * column.stepNano, 9) / 2
  const released = withinBounds(middle + total / rows, plan)

  const fewest = Math.max(1, rows - countHalfWidth)
  const most = rows + countHalfWidth
  const ends = [fewest, most].flatMap((divisor) =>
    [total - sumHalfWidth, total + sumHalfWidth].map((dividend) =>
      withinBounds(middle + dividend / divisor, plan),
    ),
  )
  const halfWidth = Math.max(...ends.map((end) => Math.abs(end - released)))
  const furthest = Math.max(
    released - numberFromDecimal(column.lowerIndex * column.stepNano, 9),
    numberFromDecimal(column.upperIndex * column.stepNano, 9) - released,
  )
  const expectedAbsoluteError = Math.min(
    furthest,
    (errors.sum.expectedAbsoluteError * halfStep +
      Math.abs(released - middle) * errors.count.expectedAbsoluteError) /
      rows,
  )
  return {
    result: { value: postprocess(plan, released) },
    accuracy: {
      ...accuracyReport(plan),
      halfWidth: roundedHalfWidth(plan, halfWidth),
      expectedAbsoluteError,
    },
  }
}

/** A mean lies within the bounds of its column: a fact that is public. */
function withinBounds(mean: number, plan: Plan): number {
  const [lower, upper] = boundsOf(plan) ?? [mean, mean]
  return Math.min(Math.max(mean, lower), upper)
}

/** The bounds of the column whose sum or mean is asked for. */
function boundsOf({ presentation }: Plan): readonly [number, number] | undefined {
  if (!('column' in presentation)) return undefined
  const { lowerIndex, upperIndex, stepNano } = presentation.column
  return [numberFromDecimal(lowerIndex * stepNano, 9), numberFromDecimal(upperIndex * stepNano, 9)]
}

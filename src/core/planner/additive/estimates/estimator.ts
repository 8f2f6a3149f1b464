import type { Suppositions } from '../../../../../schemas/answers/query.ts'
import { numberFromDecimal } from '../../../../privacy/decimal.ts'
import type { Noise, WeightedNoise } from '../../../mechanisms/noise/weighted-noise.ts'
import type { MeasuredColumn } from '../../language/measured-column.ts'
import type { ErrorReport } from '../../report-kinds.ts'
import type { AdditivePlan, Moment } from '../shape.ts'
import { noiseAt } from './noisy-statistic.ts'

/*
 * An estimate is made from one to three noisy statistics. To first order, its error is a linear combination of their
 * noises, from which its half-width follows. src/core/planner/additive/estimates/accuracy.md derives every formula.
 */

/** A released number in the unit that people read, and bounds on its error. */
export interface Released extends ErrorReport {
  readonly value: number
}

/** Returns the released number of a statistic, in the estimated cell or in another one. */
export type NumberAt = (place: number, cell?: number) => number

/**
 * Computes one estimate of a plan from its noisy statistics, and the error of the estimate.
 * See decision 28.
 */
export interface Estimator {
  /**
   * Error before the release, for data that match the suppositions; without suppositions, for the data that are hardest
   * to estimate. `undefined` if it depends on a private number of rows that was not supposed.
   */
  readonly foreseen: (supposed: Suppositions) => ErrorReport | undefined
  /** The estimate in one cell. Its error bound covers all data that could have led to these numbers. */
  readonly released: (numberAt: NumberAt) => Released
  /** The error in one cell, if it is a sum of its noises whatever the data are. */
  readonly error?: readonly WeightedNoise[]
}

type GridRange = Pick<MeasuredColumn, 'lowerIndex' | 'upperIndex' | 'stepNano'>

/** The bounds of a column in the unit that people read. */
export interface ColumnRange {
  readonly lower: number
  readonly middle: number
  readonly upper: number
  readonly halfRange: number
}

/** The bounds of a column in the unit that people read. */
export function columnRange({ lowerIndex, upperIndex, stepNano }: GridRange): ColumnRange {
  return {
    lower: numberFromDecimal(lowerIndex * stepNano, 9),
    middle: numberFromDecimal((lowerIndex + upperIndex) * stepNano, 9) / 2,
    upper: numberFromDecimal(upperIndex * stepNano, 9),
    halfRange: numberFromDecimal((upperIndex - lowerIndex) * stepNano, 9) / 2,
  }
}

/** The number of rows that an estimate covers: public, supposed, or unknown. */
export function rowsForeseen(rows: Moment, supposed: Suppositions): number | undefined {
  return rows.kind === 'public' ? rows.value : supposed.rows
}

/** The noise of the number of rows; `undefined` if the number is public. */
export function rowsNoise(plan: AdditivePlan, rows: Moment): Noise | undefined {
  return rows.kind === 'public' ? undefined : noiseAt(plan, rows.statistic)
}

/** Maximum number of halvings. A half-width that needs more is 0 for every purpose. */
const MOST_HALVINGS = 64

/**
 * The least half-width, to the last digit, whose probability of failure is at most alpha; `widest` if no smaller one
 * suffices.
 * @param widest largest possible error of the estimate.
 * @param failure returns an upper bound of the probability that the error exceeds a half-width.
 */
export function leastHalfWidth(
  widest: number,
  alpha: number,
  failure: (halfWidth: number) => number,
): number {
  let enough = widest
  let tooSmall = widest / 2
  for (let halving = 0; failure(tooSmall) <= alpha; halving += 1) {
    if (halving === MOST_HALVINGS) return tooSmall
    enough = tooSmall
    tooSmall /= 2
  }
  for (;;) {
    const middle = tooSmall + (enough - tooSmall) / 2
    if (middle === tooSmall || middle === enough) return enough
    if (failure(middle) <= alpha) enough = middle
    else tooSmall = middle
  }
}

/**
 * True if an error can exceed a half-width, that is, if the half-width is below the largest error that the bounds
 * allow. Values that are equal up to rounding count as below, because a released value at its bound has exactly that
 * error.
 */
export function isBelow(halfWidth: number, largestError: number): boolean {
  return halfWidth < largestError * (1 + 1e-12)
}

/** The nearest value between two ends. */
export function within(value: number, lowest: number, highest: number): number {
  return Math.min(Math.max(value, lowest), highest)
}

/** Bounds of a true value by the declaration alone; without one that is absent. */
export interface Range {
  readonly lower?: number
  readonly upper?: number
}

/** The interval of a half-width around a value, cut at the bounds of the true value. */
export function intervalAround(
  value: number,
  halfWidth: number,
  { lower = Number.NEGATIVE_INFINITY, upper = Number.POSITIVE_INFINITY }: Range,
): Required<Range> {
  // Never -0, which a stored answer has as 0.
  const end = (uncut: number) => within(uncut, lower, upper) + 0
  return { lower: end(value - halfWidth), upper: end(value + halfWidth) }
}

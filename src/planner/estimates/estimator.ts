import type { Suppositions } from '../../../schemas/query.ts'
import type { NumericColumn } from '../../catalog/dataset.ts'
import type { Noise } from '../../mechanisms/combined-noise.ts'
import { numberFromDecimal } from '../../privacy/decimal.ts'
import type { RowCount } from '../additive.ts'
import type { AdditivePlan } from '../kinds/additive.ts'
import type { ErrorReport } from '../report-kinds.ts'
import { noiseAt } from './noisy-statistic.ts'

/*
 * An estimate is made from one to three noisy statistics. How far off it is follows from the noise of the linear combination of
 * them that its error is to first order; docs/proofs/accuracy.md derives every formula.
 */

/** A released number, in the unit that people read, and how far off it can be. */
export interface Released extends ErrorReport {
  readonly value: number
}

/** The released number of a statistic: in the cell that is estimated, or in another one. */
export type NumberAt = (place: number, cell?: number) => number

/** How one estimate of a plan comes from its noisy statistics, and how far off it is. */
export interface Estimator {
  /**
   * The error before the release, for data that are as supposed; where nothing is supposed, for the data that are hardest to
   * estimate. `undefined` where it depends on a private number of rows that is not supposed.
   */
  readonly foreseen: (supposed: Suppositions) => ErrorReport | undefined
  /** The estimate in one cell. Its error is that of data which could have led to these numbers. */
  readonly released: (numberAt: NumberAt) => Released
}

/** The bounds of a column in the unit that people read. */
export interface ColumnRange {
  readonly lower: number
  readonly middle: number
  readonly upper: number
  readonly halfRange: number
}

/** The bounds of a column in the unit that people read. */
export function columnRange({ lowerIndex, upperIndex, stepNano }: NumericColumn): ColumnRange {
  return {
    lower: numberFromDecimal(lowerIndex * stepNano, 9),
    middle: numberFromDecimal((lowerIndex + upperIndex) * stepNano, 9) / 2,
    upper: numberFromDecimal(upperIndex * stepNano, 9),
    halfRange: numberFromDecimal((upperIndex - lowerIndex) * stepNano, 9) / 2,
  }
}

/** The number of rows that an estimate is over: public, supposed, or unknown. */
export function rowsForeseen(rows: RowCount, supposed: Suppositions): number | undefined {
  return rows.kind === 'public' ? rows.rows : supposed.rows
}

/** The number of rows that an estimate is over, or the noisy count of them. */
export function rowsReleased(rows: RowCount, numberAt: NumberAt): number {
  return rows.kind === 'public' ? rows.rows : numberAt(rows.statistic)
}

/** The noise of the number of rows; `undefined` where the number is public. */
export function rowsNoise(plan: AdditivePlan, rows: RowCount): Noise | undefined {
  return rows.kind === 'public' ? undefined : noiseAt(plan, rows.statistic)
}

/** More halvings than any half-width needs: beyond, it is 0 for every purpose. */
const MOST_HALVINGS = 64

/**
 * The least half-width, to the last digit, whose probability of failure is at most alpha; `widest` where there is none below.
 * @param widest the estimate is never further off than this.
 * @param failure an upper bound of the probability that the estimate is further off than a half-width.
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
 * True where an error can exceed a half-width: where the half-width lies below the largest error that the bounds allow. Values that
 * are equal but for rounding count as below, because a released value at its bound has just that error.
 */
export function isBelow(halfWidth: number, largestError: number): boolean {
  return halfWidth < largestError * (1 + 1e-12)
}

/** The nearest value between two ends. */
export function within(value: number, lowest: number, highest: number): number {
  return Math.min(Math.max(value, lowest), highest)
}

import { tailBound } from '../../../mechanisms/noise/combined-noise.ts'
import type { AdditivePlan, Estimate, Moment, PairMoments } from '../shape.ts'
import {
  columnRange,
  type Estimator,
  leastHalfWidth,
  type NumberAt,
  type Released,
  rowsForeseen,
  within,
} from './estimator.ts'
import {
  momentReleased,
  momentsExpectedError,
  momentsHalfWidth,
  noiseOfMoments,
  type WeightedMoment,
} from './moments.ts'

/*
 * The covariance c of two columns x and y, centred and scaled to lie between -1 and 1, from noisy sums P' of products,
 * S' of x and T' of y, and the number of rows, which is public or a noisy count N'. The released value is
 * w = P' / N' - S' T' / N'^2. With m and k the true means, and e_P, e_S, e_T and e_N the errors,
 *
 *   (w - c) N' = L - E F / N'     L = e_P - k e_S - m e_T + (m k - c) e_N     E = e_S - m e_N     F = e_T - k e_N
 *
 * exactly (src/core/planner/additive/estimates/accuracy.md). A small share of alpha is set aside for the second-order term. The variance of a
 * column is its covariance with itself.
 */

/** Share of alpha that is set aside for the second-order term. */
const SECOND_ORDER_SHARE = 1 / 16

/** A bound on rounding, in parts of the largest covariance. */
const ROUNDING = 32 * Number.EPSILON

/** Estimates the covariance of two columns. */
export function covarianceEstimator(
  plan: AdditivePlan,
  { columns, moments }: Extract<Estimate, { kind: 'covariance' }>,
): Estimator {
  const alpha = 1 - plan.confidence
  const largest = columns.reduce((product, column) => product * columnRange(column).halfRange, 1)
  const covariance = releasedCovariance(plan, moments, alpha)
  return {
    foreseen: (supposed) => {
      const rows = rowsForeseen(moments.rows, supposed)
      if (rows === undefined) return undefined
      const halfWidth = leastHalfWidth(2, alpha, foreseenFailure(plan, moments, alpha, rows))
      const expected = momentsExpectedError(plan, linearPart(moments, 1, 1, 1)) / rows
      return {
        halfWidth: Math.min(2, halfWidth + ROUNDING) * largest,
        expectedAbsoluteError: Math.min(2, expected) * largest,
      }
    },
    released: (numberAt) => {
      const { value, halfWidth, expectedAbsoluteError } = covariance(numberAt)
      return {
        value: value * largest,
        halfWidth: halfWidth * largest,
        expectedAbsoluteError: expectedAbsoluteError * largest,
      }
    },
  }
}

/**
 * Estimates the correlation of two columns, the covariance divided by the root of the product of the variances. It is
 * known only with the answer: small variances make it arbitrarily hard to estimate. Each of the three is within its
 * interval, a third of alpha each; the interval of the correlation holds all quotients of these. If a noisy variance is
 * not positive, the released value is 0 with a half-width of 1, which every correlation satisfies.
 */
export function correlationEstimator(
  plan: AdditivePlan,
  { moments, squares }: Extract<Estimate, { kind: 'correlation' }>,
): Estimator {
  const alpha = (1 - plan.confidence) / 3
  const { sum, otherSum, rows } = moments
  const [squaresOfOne, squaresOfOther] = squares
  const covariance = releasedCovariance(plan, moments, alpha)
  const variances = [
    releasedCovariance(plan, { products: squaresOfOne, sum, otherSum: sum, rows }, alpha),
    releasedCovariance(plan, { products: squaresOfOther, sum: otherSum, otherSum, rows }, alpha),
  ]
  return {
    foreseen: () => undefined,
    released: (numberAt) => {
      const c = covariance(numberAt)
      const [v, w] = variances.map((variance) => variance(numberAt))
      if (v === undefined || w === undefined) throw new RangeError('a correlation has two variances')
      if (v.value <= 0 || w.value <= 0) return { value: 0, halfWidth: 1, expectedAbsoluteError: 1 }
      const root = Math.sqrt(v.value * w.value)
      const value = within(c.value / root, -1, 1)
      const [least, most] = [v, w].reduce(
        ([low, high], { value: variance, halfWidth }) => [
          low * Math.max(0, variance - halfWidth),
          high * Math.min(1, variance + halfWidth),
        ],
        [1, 1],
      )
      const lowest = quotientAtLeast(c.value - c.halfWidth, Math.sqrt(least), Math.sqrt(most))
      const highest = -quotientAtLeast(-c.value - c.halfWidth, Math.sqrt(least), Math.sqrt(most))
      const relative = (variance: typeof c) => variance.expectedAbsoluteError / (2 * variance.value)
      const expected = c.expectedAbsoluteError / root + Math.abs(value) * (relative(v) + relative(w))
      const widest = 1 + Math.abs(value)
      return {
        value,
        halfWidth: Math.min(widest, Math.max(value - lowest, highest - value) + ROUNDING),
        expectedAbsoluteError: Math.min(widest, expected),
      }
    },
  }
}

/** The least quotient of a dividend and a divisor between two ends, but at least -1. */
function quotientAtLeast(dividend: number, leastDivisor: number, mostDivisor: number): number {
  const divisor = dividend >= 0 ? mostDivisor : leastDivisor
  if (divisor <= 0) return -1
  return within(dividend / divisor, -1, 1)
}

/** L, for weights whose magnitudes are at most these. */
function linearPart(
  { products, sum, otherSum, rows }: PairMoments,
  mean: number,
  otherMean: number,
  countWeight: number,
): readonly WeightedMoment[] {
  return [
    { moment: products, weight: 1 },
    { moment: sum, weight: otherMean },
    { moment: otherSum, weight: mean },
    { moment: rows, weight: countWeight },
  ]
}

/** E or F, for a mean whose magnitude is at most this. */
function meanPart(sum: Moment, rows: Moment, mean: number): readonly WeightedMoment[] {
  return [
    { moment: sum, weight: 1 },
    { moment: rows, weight: mean },
  ]
}

/**
 * Returns a bound on the probability that the covariance released over this number of rows misses by more than h, for
 * the data that are hardest to estimate. w - c > h means L - h e_N - E F / N' > h N. The weight of e_N is m k - c - h:
 * m k - c is at most 1, because the covariance is at most the root of (1 - m^2) (1 - k^2).
 */
function foreseenFailure(plan: AdditivePlan, moments: PairMoments, alpha: number, rows: number) {
  const share = alpha * SECOND_ORDER_SHARE
  const halfWidthAt = momentsHalfWidth(plan, share / 3)
  const count: WeightedMoment = { moment: moments.rows, weight: 1 }
  const fewest = rows - halfWidthAt([count])
  const secondOrder =
    fewest < 1
      ? Number.POSITIVE_INFINITY
      : (halfWidthAt(meanPart(moments.sum, moments.rows, 1)) *
          halfWidthAt(meanPart(moments.otherSum, moments.rows, 1))) /
        fewest
  const fewRows = tailBound(noiseOfMoments(plan, [count]), rows - 1)
  return (h: number) => {
    const noise = noiseOfMoments(plan, linearPart(moments, 1, 1, 1 + h))
    return fewRows + share + 2 * tailBound(noise, h * rows - secondOrder)
  }
}

/**
 * Bounds a released covariance, in the unit of the centred and scaled columns. With confidence 1 - alpha, |E|, |F| and |L| are within their half-widths at the true m,
 * k and c. Each half-width is taken at the largest weights in the intervals so far, which hold the true ones, so that
 * the next interval does too.
 */
function releasedCovariance(
  plan: AdditivePlan,
  moments: PairMoments,
  alpha: number,
): (numberAt: NumberAt) => Released {
  const { products, sum, otherSum, rows } = moments
  const meanHalfWidth = momentsHalfWidth(plan, (alpha * SECOND_ORDER_SHARE) / 2)
  const linearHalfWidth = momentsHalfWidth(plan, alpha * (1 - SECOND_ORDER_SHARE))
  return (numberAt) => {
    const count = momentReleased(rows, numberAt)
    const divisor = Math.max(1, count)
    const mean = momentReleased(sum, numberAt) / divisor
    const otherMean = momentReleased(otherSum, numberAt) / divisor
    const value = within(momentReleased(products, numberAt) / divisor - mean * otherMean, -1, 1)
    const widest = 1 + Math.abs(value)
    if (count < 1) return { value, halfWidth: widest, expectedAbsoluteError: widest }

    const errorOf = (moment: Moment, released: number) => {
      let error = 2
      for (let pass = 0; pass < 2; pass += 1)
        error = meanHalfWidth(meanPart(moment, rows, Math.min(1, Math.abs(released) + error))) / count
      return error
    }
    const [error, otherError] = [errorOf(sum, mean), errorOf(otherSum, otherMean)]
    const largest = Math.min(1, Math.abs(mean) + error)
    const otherLargest = Math.min(1, Math.abs(otherMean) + otherError)
    let halfWidth = widest
    for (let pass = 0; pass < 2; pass += 1) {
      const product = Math.abs(mean * otherMean - value)
      const slack = error * otherLargest + otherError * Math.abs(mean) + halfWidth
      const weight = Math.min(1, product + slack)
      const linear = linearHalfWidth(linearPart(moments, largest, otherLargest, weight))
      halfWidth = Math.min(widest, linear / count + error * otherError + ROUNDING)
    }
    const atReleased = linearPart(
      moments,
      Math.abs(mean),
      Math.abs(otherMean),
      Math.abs(mean * otherMean - value),
    )
    const expectedAbsoluteError = Math.min(widest, momentsExpectedError(plan, atReleased) / count)
    return { value, halfWidth, expectedAbsoluteError }
  }
}

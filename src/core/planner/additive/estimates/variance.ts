import type { Suppositions } from '../../../../../schemas/answers/query.ts'
import { expectedAbsoluteBound, halfWidthBound, tailBound } from '../../../mechanisms/noise/combined-noise.ts'
import type { Noise, WeightedNoise } from '../../../mechanisms/noise/weighted-noise.ts'
import type { AdditivePlan, Estimate } from '../shape.ts'
import {
  columnRange,
  type Estimator,
  isBelow,
  leastHalfWidth,
  type NumberAt,
  type Released,
  rowsForeseen,
  rowsNoise,
  within,
} from './estimator.ts'
import { momentReleased } from './moments.ts'
import { noiseAt } from './noisy-statistic.ts'

/*
 * The variance v from noisy squares Q' and a noisy sum S' about the middle of the range, and the number of rows, which is public or a
 * noisy count N'. The released value is w = Q' / N' - (S' / N')^2. With m the true mean about the middle, and e_Q, e_S and e_N the errors,
 *
 *   (w - v) N' = L - E^2 / N'        L = e_Q - 2 m e_S + (m^2 - v) e_N        E = e_S - m e_N
 *
 * exactly. The second-order term only lowers w: an upper bound of w - v needs L alone, and an upper bound of v - w needs
 * E^2 / N' as well, for which a small share of alpha is set aside.
 */

type VarianceEstimate = Extract<Estimate, { squares: number }>

/** Share of alpha that is set aside for the second-order term. */
const SECOND_ORDER_SHARE = 1 / 16

/** A bound on rounding, in parts of the largest variance; it matters only for the root of a variance near 0. */
const ROUNDING = 32 * Number.EPSILON

/** An interval that contains the number it bounds. */
interface Interval {
  readonly lowest: number
  readonly highest: number
}

/** Inputs of the error of a variance. */
interface VarianceNoise {
  readonly squares: Noise
  readonly sum: Noise
  readonly count: Noise | undefined
  readonly alpha: number
  /** The largest variance about the middle: the square of half the range. */
  readonly largest: number
}

/** Estimates the variance. */
export function varianceEstimator(plan: AdditivePlan, estimate: VarianceEstimate): Estimator {
  const noise = varianceNoise(plan, estimate)
  const { middle } = columnRange(estimate.column)
  const { alpha, largest } = noise
  return {
    foreseen: (supposed) => {
      const count = rowsForeseen(estimate.rows, supposed)
      if (count === undefined) return undefined
      const failure = foreseenFailure(noise, momentsSupposed(supposed, middle, largest), count)
      const variance = supposed.standardDeviation === undefined ? largest : supposed.standardDeviation ** 2
      const halfWidth = leastHalfWidth(largest, alpha, (h) =>
        failure(h, isBelow(h, variance) ? h : undefined),
      )
      return {
        halfWidth: Math.min(largest, halfWidth + ROUNDING * largest),
        expectedAbsoluteError: foreseenExpectedError(noise, supposed, middle, count),
      }
    },
    released: releasedVariance(noise, estimate),
  }
}

/**
 * Estimates the standard deviation, the root of the variance. With s the true one, it is too large by more than h if the variance
 * is too large by more than h (2 s + h), and too small by more than h if the variance is too small by more than h (2 s
 * - h).
 */
export function standardDeviationEstimator(plan: AdditivePlan, estimate: VarianceEstimate): Estimator {
  const noise = varianceNoise(plan, estimate)
  const { middle, halfRange } = columnRange(estimate.column)
  const { alpha, largest } = noise
  const variance = releasedVariance(noise, estimate)
  return {
    foreseen: (supposed) => {
      const count = rowsForeseen(estimate.rows, supposed)
      if (count === undefined) return undefined
      const { standardDeviation: s, standardDeviation: leastDeviation = 0 } = supposed
      const failure = foreseenFailure(noise, momentsSupposed(supposed, middle, largest), count)
      // Without suppositions, h (2 s + h) is least at s = 0, and h (2 s - h) at s = h: h^2 both.
      const halfWidth = leastHalfWidth(halfRange, alpha, (h) =>
        s === undefined
          ? failure(h * h, h * h)
          : failure(h * (2 * s + h), isBelow(h, s) ? h * (2 * s - h) : undefined),
      )
      const error = foreseenExpectedError(noise, supposed, middle, count)
      return {
        halfWidth: Math.min(halfRange, halfWidth + rootRounding(largest, s)),
        expectedAbsoluteError: rootError(error, leastDeviation),
      }
    },
    released: (numberAt) => {
      const { value: squared, below, above, expectedAbsoluteError } = variance(numberAt)
      const value = Math.sqrt(squared)
      const highest = Math.sqrt(squared + above) - value
      const lowest = value - Math.sqrt(Math.max(0, squared - below))
      return {
        value,
        halfWidth: Math.min(Math.max(highest, lowest), halfRange),
        expectedAbsoluteError: rootError(expectedAbsoluteError, value),
      }
    },
  }
}

/** |sqrt(a) - sqrt(b)| is at most the root of |a - b|, and at most |a - b| / sqrt(b); to first order half of that. */
function rootError(error: number, root: number): number {
  return Math.min(Math.sqrt(error), root > 0 ? error / (2 * root) : Number.POSITIVE_INFINITY)
}

function rootRounding(largest: number, root = 0): number {
  return Math.sqrt(root ** 2 + ROUNDING * largest) - root
}

function varianceNoise(plan: AdditivePlan, { column, squares, sum, rows }: VarianceEstimate): VarianceNoise {
  return {
    squares: noiseAt(plan, squares),
    sum: noiseAt(plan, sum),
    count: rowsNoise(plan, rows),
    alpha: 1 - plan.confidence,
    largest: columnRange(column).halfRange ** 2,
  }
}

/** L, for 2 |m| and |m^2 - v| at most as large as these. */
function linearPart(
  { squares, sum, count }: VarianceNoise,
  twiceMean: number,
  countWeight: number,
): readonly WeightedNoise[] {
  return [
    { noise: squares, weight: 1 },
    { noise: sum, weight: twiceMean },
    ...(count === undefined ? [] : [{ noise: count, weight: countWeight }]),
  ]
}

/** E, for |m| at most as large as this. */
function meanPart({ sum, count }: VarianceNoise, mean: number): readonly WeightedNoise[] {
  return [{ noise: sum, weight: 1 }, ...(count === undefined ? [] : [{ noise: count, weight: mean }])]
}

/**
 * Bounds from the suppositions on the mean about the middle and on the variance. The weights in L depend on nothing
 * else.
 */
interface SupposedMoments {
  readonly leastVariance: number
  readonly largestMean: number
  /** An interval of m^2 - v. */
  readonly difference: Interval
}

/** m^2 + v is at most the square of half the range, so a supposition about one bounds the other. */
function momentsSupposed(
  { mean, standardDeviation }: Suppositions,
  middle: number,
  largest: number,
): SupposedMoments {
  const square = mean === undefined ? undefined : (mean - middle) ** 2
  const variance = standardDeviation === undefined ? undefined : standardDeviation ** 2
  const leastVariance = variance === undefined ? 0 : variance
  const [leastSquare, mostSquare] = square === undefined ? [0, largest - leastVariance] : [square, square]
  const mostVariance = variance === undefined ? largest - leastSquare : variance
  return {
    leastVariance,
    largestMean: Math.sqrt(Math.max(0, mostSquare)),
    difference: { lowest: leastSquare - mostVariance, highest: mostSquare - leastVariance },
  }
}

/**
 * A bound on the probability that the released variance, over `count` rows, is too large by more than `above` or too small by more
 * than `below` (`undefined`: an error of this size is impossible). Dividing by N' = N + e_N is no approximation: w - v
 * > h means L - h e_N > h N. The weight of e_N stays within the largest variance, because neither the true variance nor
 * the released one lies beyond it.
 */
function foreseenFailure(
  noise: VarianceNoise,
  { leastVariance, largestMean, difference }: SupposedMoments,
  count: number,
): (above: number, below: number | undefined) => number {
  const { largest } = noise
  const fewRows = noise.count === undefined ? 0 : tailBound([{ noise: noise.count, weight: 1 }], count - 1)
  const { term: secondOrder, share } = foreseenSecondOrder(noise, largestMean, count)
  const exceeds = (shift: number, threshold: number) => {
    const weight = Math.max(Math.abs(difference.lowest + shift), Math.abs(difference.highest + shift))
    return tailBound(linearPart(noise, 2 * largestMean, Math.min(largest, weight)), threshold)
  }
  return (above, below) => {
    const tooLarge = isBelow(above, largest - leastVariance) ? exceeds(-above, above * count) : 0
    const tooSmall = below === undefined ? 0 : share + exceeds(below, below * count - secondOrder)
    return fewRows + tooLarge + tooSmall
  }
}

/**
 * Upper bound of the second-order term E^2 / N', except for a small share of alpha: half of it for E, and half for N'
 * far below N.
 */
function foreseenSecondOrder(noise: VarianceNoise, largestMean: number, count: number) {
  const share = noise.alpha * SECOND_ORDER_SHARE
  const halfWidthAt = halfWidthBound(noise.count === undefined ? share : share / 2)
  const fewest = noise.count === undefined ? count : count - halfWidthAt([{ noise: noise.count, weight: 1 }])
  const mean = halfWidthAt(meanPart(noise, largestMean))
  return { share, term: fewest < 1 ? Number.POSITIVE_INFINITY : mean ** 2 / fewest }
}

/** The expected absolute value of L, divided by the number of rows. */
function foreseenExpectedError(
  noise: VarianceNoise,
  supposed: Suppositions,
  middle: number,
  count: number,
): number {
  const { largestMean, difference } = momentsSupposed(supposed, middle, noise.largest)
  const weight = Math.max(Math.abs(difference.lowest), Math.abs(difference.highest))
  return Math.min(noise.largest, expectedAbsoluteBound(linearPart(noise, 2 * largestMean, weight)) / count)
}

/** A released variance, and bounds on the distance to the true one, below and above. */
interface ReleasedVariance extends Released {
  readonly below: number
  readonly above: number
}

/**
 * Bounds a released variance. With confidence 1 - alpha, both |E| and |L| are within their half-widths at the true m
 * and v: then |m - m'| is at most that of E divided by N', and v lies from w less L / N' to w plus L / N' plus (E /
 * N')^2. Each half-width is taken at the largest weights in the interval so far, which holds m and v, so that the next
 * interval does too.
 */
function releasedVariance(
  noise: VarianceNoise,
  { squares, sum, rows }: VarianceEstimate,
): (numberAt: NumberAt) => ReleasedVariance {
  const { alpha, largest } = noise
  const meanHalfWidth = halfWidthBound(alpha * SECOND_ORDER_SHARE)
  const linearHalfWidth = halfWidthBound(alpha * (1 - SECOND_ORDER_SHARE))
  return (numberAt) => {
    const count = momentReleased(rows, numberAt)
    const divisor = Math.max(1, count)
    const releasedMean = numberAt(sum) / divisor
    const value = within(numberAt(squares) / divisor - releasedMean ** 2, 0, largest)
    if (count < 1) return unknownVariance(value, largest)

    const halfRange = Math.sqrt(largest)
    const mean = Math.abs(within(releasedMean, -halfRange, halfRange))
    let meanError = halfRange
    for (let pass = 0; pass < 2; pass += 1)
      meanError = meanHalfWidth(meanPart(noise, Math.min(halfRange, mean + meanError))) / count
    const means = { lowest: Math.max(0, mean - meanError), highest: Math.min(halfRange, mean + meanError) }
    let [below, above] = [largest, largest]
    for (let pass = 0; pass < 2; pass += 1) {
      const weight = Math.max(
        means.highest ** 2 - Math.max(0, value - below),
        Math.min(largest, value + above) - means.lowest ** 2,
      )
      below = linearHalfWidth(linearPart(noise, 2 * means.highest, Math.min(largest, weight))) / count
      above = below + meanError ** 2
    }
    return releasedWithin(value, largest, {
      below: below + ROUNDING * largest,
      above: above + ROUNDING * largest,
      expectedAbsoluteError:
        expectedAbsoluteBound(linearPart(noise, 2 * mean, Math.abs(mean ** 2 - value))) / count,
    })
  }
}

function unknownVariance(value: number, largest: number): ReleasedVariance {
  return releasedWithin(value, largest, { below: largest, above: largest, expectedAbsoluteError: largest })
}

/** Clamps a variance to the range from 0 to the largest one. */
function releasedWithin(
  value: number,
  largest: number,
  error: Pick<ReleasedVariance, 'below' | 'above' | 'expectedAbsoluteError'>,
): ReleasedVariance {
  const [below, above] = [Math.min(value, error.below), Math.min(largest - value, error.above)]
  const halfWidth = Math.max(below, above)
  return {
    value,
    below,
    above,
    halfWidth,
    expectedAbsoluteError: Math.min(error.expectedAbsoluteError, Math.max(value, largest - value)),
  }
}

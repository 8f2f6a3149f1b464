import { normalHalfWidth } from './gaussian.ts'
import type { CountedNoise, Noise } from './weighted-noise.ts'

/*
 * Bounds on linear combinations of many independent noises, such as the error of a table that is estimated from thousands
 * of noisy cells. `combined-noise.ts` allows half an output unit for every noise, which would add up here. These bounds add a
 * normal variable G of a small standard deviation g to the combination X instead: P(G > -3 g) = 0.99865, so
 *
 *   P(|X| > h) <= P(|X + G| > h - 3 g) / 0.99865
 *
 * and the law of X + G is known: its tail differs from a normal one by less than 1e-20 for discrete Gaussian noises, and is
 * computed from its characteristic function for discrete Laplace ones. Proof: src/core/workloads/workloads.md, "Half-widths".
 */

/** A discrete Gaussian noise has at least this standard deviation, in its units. */
export const LEAST_SCALE_UNITS = 1_024

/** P(G > -3 g) for a normal variable, rounded down. */
const ALMOST_SURE = 0.99865
const DEVIATIONS = 3

/** An upper bound of the standard deviation of a combination. */
export function deviationOfMany(combination: readonly CountedNoise[]): number {
  return Math.sqrt(sumOf(combination, ({ noise, weight }) => weight ** 2 * varianceOf(noise)))
}

function sumOf(combination: readonly CountedNoise[], termOf: (term: CountedNoise) => number): number {
  return combination.reduce((sum, term) => sum + term.count * termOf(term), 0)
}

function varianceOf(noise: Noise): number {
  return noise.kind === 'normal'
    ? noise.sigma ** 2
    : (noise.unit * Math.SQRT1_2) ** 2 / Math.sinh(0.5 / noise.scaleUnits) ** 2
}

/**
 * Returns a number that the absolute value of a combination exceeds with a probability of at most `alpha`; within one per
 * cent of the least one.
 * @param alpha strictly between 0 and 1
 * @throws RangeError for discrete Gaussian noises below {@link LEAST_SCALE_UNITS}.
 */
export function halfWidthOfMany(combination: readonly CountedNoise[], alpha: number): number {
  const terms = combination.filter(({ weight, count }) => weight !== 0 && count > 0)
  if (terms.length === 0) return 0
  return terms.every(({ noise }) => noise.kind === 'normal')
    ? normalHalfWidthOfMany(terms, alpha)
    : halfWidthBySmoothing(terms, alpha)
}

/** Standard deviation, in output units, of the normal variable that is added to each discrete Gaussian noise. */
const SMOOTHING_UNITS = 2

function normalHalfWidthOfMany(terms: readonly CountedNoise[], alpha: number): number {
  const { smoothing, deviation } = smoothedNormal(terms)
  return (normalHalfWidth(alpha * ALMOST_SURE) * deviation + DEVIATIONS * smoothing) * (1 + 1e-9)
}

/** Standard deviations of what is added to discrete Gaussian noises, and of the normal variable that they become. */
function smoothedNormal(terms: readonly CountedNoise[]) {
  const smoothing = Math.sqrt(
    sumOf(terms, ({ noise, weight }) => (weight * SMOOTHING_UNITS * noise.unit) ** 2),
  )
  const deviation = Math.sqrt(
    sumOf(terms, ({ noise, weight }) => {
      requireFine(noise)
      return weight ** 2 * (varianceOf(noise) + (SMOOTHING_UNITS * noise.unit) ** 2)
    }),
  )
  return { smoothing, deviation }
}

function requireFine(noise: Noise): void {
  if (noise.kind === 'normal' && !(noise.sigma / noise.unit >= LEAST_SCALE_UNITS * (1 - 1e-9)))
    throw new RangeError('the unit of a noise is too coarse')
}

/** Least standard deviation of G, as a part of that of the combination. */
const SMOOTHING_PART = 1 / 256
/**
 * Least standard deviation of G, in the largest unit: the characteristic function of a discrete noise repeats itself at a
 * distance of 2 pi in its unit, where that of G is below {@link NEGLIGIBLE}.
 */
const SMOOTHING_OF_UNIT = 1.2
/** Absolute values of the characteristic function below this are left out. */
const NEGLIGIBLE = 1e-12
/** Bound on the error of a tail: points, those left out, and rounding. */
const TAIL_ERROR = 1e-9

function halfWidthBySmoothing(all: readonly CountedNoise[], alpha: number): number {
  const terms = all.filter(({ noise }) => noise.kind === 'laplace')
  const normal = smoothedNormal(all.filter(({ noise }) => noise.kind === 'normal'))
  const coarsest = Math.max(...terms.map(({ noise, weight }) => Math.abs(weight) * noise.unit))
  const own = Math.max(SMOOTHING_PART * deviationOfMany(all), SMOOTHING_OF_UNIT * coarsest)
  const smoothing = Math.hypot(own, normal.smoothing)
  const sigma = Math.hypot(own, normal.deviation)
  const reach = reachOf(terms) + 8 * sigma
  const distance = Math.PI / reach
  const transform = transformAt(terms, sigma, distance)
  // Davies 1973: the points are off by at most the probability of a sum beyond 2 pi / distance - threshold.
  const tail = (threshold: number) =>
    transform.reduce((probability, value, place) => {
      const point = place + 0.5
      return probability - (value * Math.sin(point * distance * threshold)) / (Math.PI * point)
    }, 0.5) + TAIL_ERROR
  return halfWidthOfTail(tail, reach, alpha * ALMOST_SURE, 1e-7) + DEVIATIONS * smoothing
}

/**
 * Returns the h with P(|sum| > h) = alpha for a symmetric variable, by halving.
 * @param reach a number that is large enough
 * @param error the largest relative error
 */
export function halfWidthOfTail(
  tail: (threshold: number) => number,
  reach: number,
  alpha: number,
  error: number,
): number {
  let [below, above] = [0, reach]
  while (above - below > error * above) {
    const middle = (below + above) / 2
    if (2 * tail(middle) > alpha) below = middle
    else above = middle
  }
  return above
}

/**
 * The characteristic function of X + G at the points (k + 1/2) distance, up to the last one that matters. That of discrete
 * Laplace noise is 1 / (1 + (sin(u / 2) / sinh(1 / (2 b)))^2), which falls up to u = pi; beyond, that of the normal part is
 * negligible.
 * @param sigma standard deviation of the normal part, G included
 */
function transformAt(terms: readonly CountedNoise[], sigma: number, distance: number): readonly number[] {
  const coarsest = Math.max(...terms.map(({ noise, weight }) => Math.abs(weight) * noise.unit))
  const least = 7.5 / sigma
  const factors = terms.map(({ noise, weight, count }) => ({
    angle: (weight * noise.unit) / 2,
    inverse: 1 / Math.sinh(0.5 / scaleUnitsOf(noise)),
    count,
  }))
  const values: number[] = []
  for (let point = 0.5; ; point += 1) {
    const u = point * distance
    let logarithm = -0.5 * (sigma * u) ** 2
    for (const { angle, inverse, count } of factors)
      logarithm -= count * Math.log1p((Math.sin(angle * u) * inverse) ** 2)
    const value = Math.exp(logarithm)
    if (value < NEGLIGIBLE && (u >= least || least * coarsest <= Math.PI)) return values
    values.push(value)
  }
}

/** Returns the scale of a Laplace noise, in its units. */
export function scaleUnitsOf(noise: Noise): number {
  if (noise.kind === 'normal') throw new RangeError('the noise is not a Laplace noise')
  return noise.scaleUnits
}

/**
 * A number that a combination of Laplace noises exceeds with a probability below 1e-12. Chernoff 1952: P(X > t) <= exp(-s t)
 * times the product of the moment generating functions, each at most that of a continuous Laplace variable of scale
 * 1 / (2 tanh(1 / (2 b))); the best of a few s.
 */
function reachOf(terms: readonly CountedNoise[]): number {
  const scales = terms.map(({ noise, weight, count }) => ({
    scale: (Math.abs(weight) * noise.unit) / (2 * Math.tanh(0.5 / scaleUnitsOf(noise))),
    count,
  }))
  const largest = scales.reduce((most, { scale }) => Math.max(most, scale), 0)
  const usual = Math.sqrt(2 * Math.log(1e12)) / deviationOfMany(terms)
  const reaches = [1 / 8, 1 / 4, 1 / 2, 3 / 4].map((part) => {
    const s = Math.min(usual, part / largest)
    return (
      scales.reduce(
        (sum, { scale, count }) => sum - count * Math.log1p(-((scale * s) ** 2)),
        Math.log(1e12),
      ) / s
    )
  })
  return Math.min(...reaches)
}

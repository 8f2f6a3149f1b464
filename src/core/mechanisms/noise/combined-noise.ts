import erfcx from '@stdlib/math-base-special-erfcx'
import { entry } from '../../../privacy/must.ts'
import { numberFromRational } from '../../../privacy/rational.ts'
import type { Measurement } from '../measurement.ts'
import { normalHalfWidth } from './gaussian.ts'
import { discreteLaplaceHalfWidth } from './geometric.ts'
import { halfWidthOfMany, halfWidthOfTail, scaleUnitsOf } from './many-noises.ts'
import type { CountedNoise, Noise, WeightedNoise } from './weighted-noise.ts'

/*
 * Bounds on linear combinations of independent noises, such as the error of a sum minus a mean times the error of a count.
 *
 * Each discrete noise is compared with a continuous distribution of the same shape. With U uniform on one output unit,
 * noise + U is symmetric and unimodal, and more peaked than a Laplace (or normal) distribution of slightly larger scale. Birnbaum 1948, "On Random
 * Variables with Comparable Peakedness": such comparisons carry over to sums of independent symmetric unimodal variables. So
 *
 *   P(sum of w_i noise_i > t) <= P(sum of w_i X_i > t - sum of |w_i| u_i / 2)
 *
 * with X_i the continuous variables and u_i the output units. The continuous tail is exact. Proof: src/core/planner/additive/estimates/accuracy.md.
 * For many terms, half a unit for each is more than the error of smoothing their exact distribution: see `many-noises.ts`.
 */

/** The noise of a measurement's entries, where one grid unit is `gridUnit` of the unit that people read. */
export function noiseOf({ noise, fractionBits }: Measurement, gridUnit: number): Noise {
  const unit = gridUnit / 2 ** fractionBits
  switch (noise.kind) {
    case 'discrete-laplace':
      return { kind: 'laplace', unit, scaleUnits: numberFromRational(noise.scale) }
    case 'discrete-gaussian':
      return { kind: 'normal', unit, sigma: Number(noise.sigma) * unit }
  }
}

/** Laplace noise of a scale, on a grid so fine that its unit does not count; for noise of a question that is not planned. */
export function laplaceOf(scale: number): WeightedNoise {
  return { noise: { kind: 'laplace', unit: scale / FINE_GRID, scaleUnits: FINE_GRID }, weight: 1 }
}

const FINE_GRID = 2 ** 20

/**
 * An upper bound of the probability that a combination exceeds a threshold. Exact, up to rounding, for a single term
 * with Laplace noise.
 */
export function tailBound(combination: readonly WeightedNoise[], threshold: number): number {
  const terms = combination.filter(({ weight }) => weight !== 0)
  return waysWithoutCoarse(terms).reduce(
    (least, way) => Math.min(least, way.missed + tailOfTerms(way.terms, threshold)),
    tailOfTerms(terms, threshold),
  )
}

function tailOfTerms(terms: readonly WeightedNoise[], threshold: number): number {
  const [only] = terms
  if (only === undefined) return threshold >= 0 ? 0 : 1
  if (terms.length === 1 && only.noise.kind === 'laplace') return latticeTail(only, threshold)
  const beyond = threshold - slackOf(terms)
  if (beyond <= 0) return 1
  const [laplace, normal] = byKind(terms)
  if (laplace.length === 0) return normalTail(beyond / deviationOf(normal))
  return sumOf(laplace, normal).tail(beyond)
}

function byKind(
  terms: readonly WeightedNoise[],
): readonly [laplace: readonly WeightedNoise[], normal: readonly WeightedNoise[]] {
  return [
    terms.filter(({ noise }) => noise.kind === 'laplace'),
    terms.filter(({ noise }) => noise.kind === 'normal'),
  ]
}

/**
 * Returns a function of a combination: its absolute value exceeds the result with a probability of at most `alpha`.
 * @param alpha strictly between 0 and 1.
 */
export function halfWidthBound(alpha: number): (combination: readonly WeightedNoise[]) => number {
  const standardNormal = normalHalfWidth(alpha)
  return (combination) => {
    const terms = combination.filter(({ weight }) => weight !== 0)
    let least = halfWidthOfTerms(terms, alpha, standardNormal)
    for (const { terms: rest, missed } of waysWithoutCoarse(terms))
      if (missed < alpha) least = Math.min(least, halfWidthOfTerms(rest, alpha - missed, standardNormal))
    return least
  }
}

/** @param standardNormal half-width of a standard normal variable at alpha. */
function halfWidthOfTerms(terms: readonly WeightedNoise[], alpha: number, standardNormal: number): number {
  const [only] = terms
  if (only === undefined) return 0
  if (terms.length === 1 && only.noise.kind === 'laplace')
    return discreteLaplaceHalfWidth(only.noise.scaleUnits, alpha) * only.noise.unit * Math.abs(only.weight)
  const [laplace, normal] = byKind(terms)
  if (laplace.length === 0) return deviationOf(normal) * standardNormal + slackOf(terms)
  if (laplace.length > MANY_TERMS) return halfWidthOfMany(counted(terms), alpha)
  const halfWidth = sumOf(laplace, normal).halfWidth(alpha) + slackOf(terms)
  return laplace.length > FEW_TERMS ? Math.min(halfWidth, halfWidthOfMany(counted(terms), alpha)) : halfWidth
}

/** Up to this many terms, smoothing adds more to a half-width than half a unit for each term. */
const FEW_TERMS = 8
/** From this many terms on, smoothing always gives the smaller half-width. */
const MANY_TERMS = 64

/** Equal noises together. */
function counted(terms: readonly WeightedNoise[]): readonly CountedNoise[] {
  const alike = Map.groupBy(terms, ({ noise, weight }) => JSON.stringify([noise, Math.abs(weight)]))
  return Array.from(alike.values(), (each) => ({ ...entry(each, 0), count: each.length }))
}

/** Laplace noise of a smaller scale than this, in units, is often exactly 0, unlike continuous noise. */
const COARSE_SCALE_UNITS = 1

/** A combination without some of its noises. */
interface WayWithoutCoarse {
  readonly terms: readonly WeightedNoise[]
  /** The probability that one of the noises left out is not 0. */
  readonly missed: number
}

/**
 * Ways to bound a combination without its coarsest noises, as if they were 0: P(noise != 0) = 2 q / (1 + q). Each way is a
 * bound, so the least of them is. Of many, only the first few and the last are tried.
 */
function waysWithoutCoarse(terms: readonly WeightedNoise[]): readonly WayWithoutCoarse[] {
  const coarsestFirst = terms.filter(isCoarse)
  coarsestFirst.sort((a, b) => scaleUnitsOf(a.noise) - scaleUnitsOf(b.noise))
  const others = terms.filter((term) => !isCoarse(term))
  const ways: WayWithoutCoarse[] = []
  let missed = 0
  for (const [place, coarsest] of coarsestFirst.entries()) {
    missed += notZero(coarsest)
    if (missed >= 1) break
    const isLast = place === coarsestFirst.length - 1
    if (place < MANY_TERMS || isLast)
      ways.push({ terms: [...others, ...coarsestFirst.slice(place + 1)], missed })
  }
  return ways
}

function notZero({ noise }: WeightedNoise): number {
  return 2 / (1 + Math.exp(1 / scaleUnitsOf(noise)))
}

function isCoarse({ noise }: WeightedNoise): boolean {
  return noise.kind === 'laplace' && noise.scaleUnits < COARSE_SCALE_UNITS
}

/** An upper bound of the expected absolute value of a combination, which is within a few per cent of it. */
export function expectedAbsoluteBound(combination: readonly WeightedNoise[]): number {
  const terms = combination.filter(({ weight }) => weight !== 0)
  const [only] = terms
  if (only === undefined) return 0
  if (terms.length === 1 && only.noise.kind === 'laplace')
    return (Math.abs(only.weight) * only.noise.unit) / Math.sinh(1 / only.noise.scaleUnits)
  const [laplace, normal] = byKind(terms)
  if (laplace.length === 0) return deviationOf(normal) * Math.sqrt(2 / Math.PI)
  // U has mean 0, so adding it does not make the expected absolute value smaller.
  return sumOf(laplace, normal).expectedAbsolute
}

/** Half an output unit for each term. */
function slackOf(terms: readonly WeightedNoise[]): number {
  return terms.reduce((sum, { noise, weight }) => sum + (Math.abs(weight) * noise.unit) / 2, 0)
}

/**
 * The standard deviation of the continuous bound: discrete Gaussian noise plus U is more peaked than a normal distribution whose
 * sigma is larger by two units, for a sigma of 2^40 units or more.
 */
function deviationOf(terms: readonly WeightedNoise[]): number {
  return rootOfSquares(
    terms.map(({ noise, weight }) => {
      if (noise.kind !== 'normal') throw new RangeError('the noise is not normal')
      return weight * (noise.sigma + 2 * noise.unit)
    }),
  )
}

/** The root of a sum of squares of numbers that may be more than a call takes as arguments. */
function rootOfSquares(numbers: readonly number[]): number {
  return numbers.reduce((root, number) => Math.hypot(root, number), 0)
}

function normalTail(z: number): number {
  return 0.5 * Math.exp(-0.5 * z * z) * erfcx(z * Math.SQRT1_2) * (1 + 1e-12)
}

/** P(weight * noise > threshold) with q = exp(-1 / b): q^k / (1 + q), k the least whole number of units that exceeds it. */
function latticeTail(term: WeightedNoise, threshold: number): number {
  if (threshold < 0) return 1
  const { noise, weight } = term
  const scaleUnits = scaleUnitsOf(term.noise)
  // Rounded down slightly: a threshold that is a whole number of units up to rounding counts as not yet exceeded.
  const units = Math.floor((threshold / (Math.abs(weight) * noise.unit)) * (1 - 1e-12)) + 1
  return Math.exp(-units / scaleUnits) / (1 + Math.exp(-1 / scaleUnits))
}

/** A sum of independent Laplace variables, and of normal ones. */
interface ContinuousSum {
  /** P(sum > threshold), rounded up, for a threshold above 0. */
  readonly tail: (threshold: number) => number
  /** The h with P(|sum| > h) = alpha, rounded up. */
  readonly halfWidth: (alpha: number) => number
  /** An upper bound of the expected absolute value, within a few per cent of it. */
  readonly expectedAbsolute: number
}

/** Partial fractions with larger weights than this cancel each other, and lose the digits of the tail. */
const LARGEST_WEIGHT = 1e6

function sumOf(laplace: readonly WeightedNoise[], normal: readonly WeightedNoise[]): ContinuousSum {
  const sum = laplace.length > MANY_TERMS ? undefined : poles(laplace)
  if (normal.length === 0 && sum?.every(({ weight }) => Math.abs(weight) <= LARGEST_WEIGHT))
    return {
      tail: (threshold) => laplaceTail(sum, threshold).probability,
      halfWidth: (alpha) => laplaceHalfWidth(sum, alpha),
      // The integral of the tail.
      expectedAbsolute: sum.reduce((total, { scale, weight }) => total + weight * scale, 0),
    }
  const scales = laplace.map(scaleOf)
  const sigma = deviationOf(normal)
  const transform = (u: number) =>
    scales.reduce((product, scale) => product / (1 + (scale * u) ** 2), Math.exp(-0.5 * (sigma * u) ** 2))
  const reach = reachOf(scales, sigma)
  const tail = (threshold: number) => invertedTail(transform, reach, threshold)
  return {
    tail,
    halfWidth: (alpha) => halfWidthOfTail(tail, reach, alpha, 1e-6),
    // A sum of Laplace variables is a normal variable of random variance, and the square root is concave.
    expectedAbsolute:
      rootOfSquares([sigma, ...scales.map((scale) => Math.SQRT2 * scale)]) * Math.sqrt(2 / Math.PI),
  }
}

/** The error of an inverted tail. */
const INVERSION_ERROR = 1e-10

/**
 * P(sum > threshold) of a symmetric variable, rounded up: its characteristic function, inverted at the points (k + 1/2) d. The
 * error of the points is at most the probability of a sum beyond 2 pi / d - threshold. Davies 1973, "Numerical inversion of a
 * characteristic function", Biometrika 60.
 * @param transform the characteristic function, which falls at least as fast as u^-2
 * @param reach a number that the sum hardly exceeds
 */
function invertedTail(transform: (u: number) => number, reach: number, threshold: number): number {
  const distance = (2 * Math.PI) / (threshold + reach)
  let probability = 0.5
  for (let point = 0.5; ; point += 1) {
    const u = point * distance
    const value = transform(u)
    probability -= (value * Math.sin(u * threshold)) / (Math.PI * point)
    // The rest is at most that of a geometric series.
    if (value < INVERSION_ERROR / 10) break
  }
  return probability + INVERSION_ERROR
}

/**
 * A number that the sum of Laplace variables and of a normal one exceeds with a probability below 1e-12. Chernoff 1952:
 * P(sum > t) <= exp(-s t) exp(sigma^2 s^2 / 2) times the product of 1 / (1 - a_i^2 s^2), here with s at most half of what the
 * largest scale allows.
 */
function reachOf(scales: readonly number[], sigma: number): number {
  const exponent = Math.log(1e12)
  const largest = scales.reduce((most, scale) => Math.max(most, scale), 0)
  const s = Math.min(0.5 / largest, Math.sqrt(2 * exponent) / sigma)
  return (
    scales.reduce((sum, scale) => sum - Math.log1p(-((scale * s) ** 2)), exponent + 0.5 * (sigma * s) ** 2) /
    s
  )
}

/** The scale of the Laplace variable that a noise is compared with, times its weight. */
function scaleOf(term: WeightedNoise): number {
  return (Math.abs(term.weight) * term.noise.unit) / (2 * Math.tanh(0.5 / scaleUnitsOf(term.noise)))
}

/** One term of the tail of a sum of Laplace variables, P(sum > t) = 1/2 sum of weight * exp(-t / scale). */
interface Pole {
  readonly scale: number
  readonly weight: number
}

/**
 * Scales of the sum's terms closer to each other than this, as a quotient, are moved apart, each up: the weights would have
 * large errors otherwise. It makes a half-width larger by less than one per cent.
 */
const LEAST_QUOTIENT = 1 + 1 / 128

/**
 * Scales and weights of the tail of a sum of independent Laplace variables: for distinct scales a_i,
 * weight_i = product over j of a_i^2 / (a_i^2 - a_j^2), by partial fractions of the characteristic function
 * product of 1 / (1 + a_i^2 s^2).
 */
function poles(terms: readonly WeightedNoise[]): readonly Pole[] {
  const scales = terms.map(scaleOf)
  scales.sort((a, b) => a - b)
  let smaller = 0
  for (const [place, scale] of scales.entries()) {
    smaller = Math.max(scale, smaller * LEAST_QUOTIENT)
    scales[place] = smaller
  }
  return scales.map((scale) => {
    let weight = 1
    for (const other of scales) if (other !== scale) weight /= 1 - (other / scale) ** 2
    return { scale, weight }
  })
}

/** The tail of a sum of Laplace variables beyond `threshold`, above 0, and its density there. */
function laplaceTail(sum: readonly Pole[], threshold: number) {
  let [probability, density] = [0, 0]
  for (const { scale, weight } of sum) {
    const term = 0.5 * weight * Math.exp(-threshold / scale)
    probability += term
    density += term / scale
  }
  return { probability: probability * (1 + 1e-9), density }
}

/** More Newton steps than any half-width needs. */
const NEWTON_STEPS = 20

/**
 * The h with P(|sum| > h) = alpha, rounded up. The logarithm of the tail is concave, because the density is: Newton's
 * method comes from above after its first step, so that every later step holds.
 */
function laplaceHalfWidth(sum: readonly Pole[], alpha: number): number {
  const widest = Math.max(...sum.map(({ scale }) => scale))
  let h = widest * Math.log(1 / alpha)
  for (let step = 0; step < NEWTON_STEPS; step += 1) {
    const { probability, density } = laplaceTail(sum, h)
    const change = (Math.log(probability / (alpha / 2)) * probability) / density
    h += change
    if (Math.abs(change) < 1e-12 * h) break
  }
  return h * (1 + 1e-9)
}

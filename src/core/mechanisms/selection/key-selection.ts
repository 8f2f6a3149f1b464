import {
  deltaAtto as brandDelta,
  epsilonNano as brandEpsilon,
  type DeltaAtto,
  type EpsilonNano,
  ONE_DELTA_ATTO,
  ONE_EPSILON_NANO,
  type PrivacyLoss,
} from '../../../privacy/loss.ts'
import { entry } from '../../../privacy/must.ts'
import { divideRoundingUp, numberFromRational, type Rational, rational } from '../../../privacy/rational.ts'
import { refuseField } from '../../../privacy/refusal.ts'
import type { KeySensitivity } from '../../../privacy/sensitivity.ts'
import type { Accuracy } from '../measurement.ts'
import { calibrateGeometric, laplaceAccuracy } from '../noise/geometric.ts'
import { requireConfidence, requireEpsilon, requireWithin } from '../preconditions.ts'
import { discreteLaplaceSampler } from '../samplers/discrete-laplace.ts'
import { type Bounds, exponentialBounds, shiftRoundingUp } from '../samplers/exponential-bounds.ts'
import type { UniformSource } from '../samplers/uniform-source.ts'

/**
 * Selection of the keys of a group-by that are not declared: a key that only one person has is kept with a probability
 * of at most delta.
 *
 * | what             | valid                                                          | unit              |
 * |------------------|----------------------------------------------------------------|-------------------|
 * | input            | the people of each key that occurs: whole numbers up to 2^53 - 1 | people          |
 * | input metric     | L0 counts move, each by 1; at most `rising` of them rise, and at | people          |
 * |                  | most `rising` fall                                             |                   |
 * | output           | positions of keys, in the order given                          |                   |
 * |                  | with `thresholded-geometric`, a noisy count for each as well   | people            |
 * | privacy measure  | (epsilon, delta), epsilon above 0, 0 < delta < 1               | 1e-9, 1e-18 up    |
 *
 * A person who contributes to at most g keys, by 1 each, moves g counts in the same direction where the person is added
 * or removed, and raises g counts and lowers g where the person is replaced. Where each row is a person, g is 1.
 *
 * `thresholded-geometric`: each count gets discrete Laplace noise, and a key is kept where the result is at or above a
 * threshold, so that none of the keys that only this person has is kept with a probability of 1 - delta. Source:
 * Korolova, Kenthapadi, Mishra, Ntoulas 2009, "Releasing Search Queries and Clicks Privately".
 * `near-truncated-geometric`: a key of n people is kept with the largest probability that (epsilon, delta) allows.
 * Source: Desfontaines, Voss, Gipson, Mandayam 2020, "Differentially private partition selection" (arXiv 2006.03684),
 * theorem 1; each key that changes gets an equal share of epsilon and delta. Proofs, and what a replaced person costs:
 * src/core/mechanisms/selection/key-selection.md.
 *
 * The order of the keys in the input is not protected, so an answer must sort the keys that were kept.
 */

/** Selection of keys with noisy counts. */
export interface KeyCountMeasurement {
  readonly mechanism: 'thresholded-geometric'
  readonly sensitivity: KeySensitivity
  /** Scale of the discrete Laplace noise on each count, in people. */
  readonly scale: Rational
  /** Least noisy count of a key that is kept; 1 or more, in people. */
  readonly threshold: bigint
  readonly loss: PrivacyLoss
}

/** Selection of keys without counts. */
export interface KeyPresenceMeasurement {
  readonly mechanism: 'near-truncated-geometric'
  readonly sensitivity: KeySensitivity
  /** Epsilon of one key. */
  readonly exponent: Rational
  /** Delta of one key. */
  readonly delta: Rational
  /** Number of people up to which the probability of keeping a key grows; beyond it, that of dropping it shrinks. */
  readonly crossover: bigint
  readonly loss: PrivacyLoss
}

/** Selection of keys, with or without counts. */
export type KeySelectionMeasurement = KeyCountMeasurement | KeyPresenceMeasurement

/** A key that was kept. */
export interface NoisyKey {
  /** The key's position among the counts. */
  readonly key: number
  readonly noisyCount: bigint
}

/** Bits of precision that almost always suffice; otherwise more are used. */
const FIRST_PRECISION = 192
/**
 * Bits beyond those asked for. With the shares of two million keys, 1 - exp(-epsilon) may be as small as 2^-52, and
 * exp(-epsilon n) as small as 2^-82.
 */
const GUARD_BITS = 192
/** Bits that the coin of a key draws at a time. The first draw decides all but one in 2^30 coins. */
const BITS_AT_A_TIME = 32

/**
 * Binds the selection of keys with noisy counts to an epsilon and a delta: noise of scale L1 / epsilon, and the
 * smallest threshold for which any of `rising` keys of one person each is kept with a probability of at most delta.
 * @throws Refusal (`mechanism-not-applicable`) for a delta of 0.
 * @throws RangeError for a sensitivity that the proof does not cover, an epsilon of 0 or a delta of 1.
 */
export function calibrateKeyCounts(
  sensitivity: KeySensitivity,
  epsilonNano: EpsilonNano,
  delta: DeltaAtto,
): KeyCountMeasurement {
  requireKeySensitivity(sensitivity)
  requireLoss(epsilonNano, delta)
  const scale = rational(sensitivity.l1 * ONE_EPSILON_NANO, epsilonNano)
  const measurement: KeyCountMeasurement = {
    mechanism: 'thresholded-geometric',
    sensitivity,
    scale,
    threshold: smallestThreshold(scale, sensitivity.rising, rational(delta, ONE_DELTA_ATTO)),
    loss: { epsilonNano, deltaAtto: delta },
  }
  requireWithin(keyCountsPrivacyMap(measurement), measurement.loss)
  return measurement
}

/**
 * Binds the selection of keys without counts to an epsilon and a delta. Each of the keys that can change gets an equal
 * share of both.
 * @throws Refusal (`mechanism-not-applicable`) for a delta of 0.
 * @throws RangeError for a sensitivity that the proof does not cover, an epsilon of 0 or a delta of 1.
 */
export function calibrateKeyPresence(
  sensitivity: KeySensitivity,
  epsilonNano: EpsilonNano,
  deltaAtto: DeltaAtto,
): KeyPresenceMeasurement {
  requireKeySensitivity(sensitivity)
  requireLoss(epsilonNano, deltaAtto)
  const keys = sensitivity.l0
  const exponent = rational(epsilonNano, keys * ONE_EPSILON_NANO)
  const delta = rational(deltaAtto, keys * ONE_DELTA_ATTO)
  const measurement: KeyPresenceMeasurement = {
    mechanism: 'near-truncated-geometric',
    sensitivity,
    exponent,
    delta,
    crossover: crossoverOf(exponent, delta),
    loss: { epsilonNano, deltaAtto },
  }
  requireWithin(keyPresencePrivacyMap(measurement), measurement.loss)
  return measurement
}

/**
 * Loss of releasing keys with noisy counts, rounded up: epsilon = 1 / scale for each key that changes; delta = 1 - (1 -
 * p)^rising with p = P(1 + Y >= threshold), even if as many other keys change in the other direction.
 * @throws RangeError for a sensitivity that the proof does not cover.
 */
export function keyCountsPrivacyMap({ scale, threshold, sensitivity }: KeyCountMeasurement): PrivacyLoss {
  requireKeySensitivity(sensitivity)
  const epsilon = sensitivity.l1 * ONE_EPSILON_NANO * scale.denominator
  const { one, q, power } = powers(reciprocal(scale), threshold - 1n, FIRST_PRECISION)
  const kept = divideRoundingUp(power.upper << BigInt(FIRST_PRECISION), one.lower + q.lower)
  const dropped = { lower: notNegative(one.lower - kept), upper: one.upper }
  const anyKept = one.upper - toThePower(dropped, sensitivity.rising, FIRST_PRECISION).lower
  return {
    epsilonNano: brandEpsilon(divideRoundingUp(epsilon, scale.numerator)),
    deltaAtto: brandDelta(shiftRoundingUp(anyKept * ONE_DELTA_ATTO, BigInt(FIRST_PRECISION))),
  }
}

/**
 * Loss of releasing keys without counts, rounded up: epsilon and delta of each key that changes.
 * @throws RangeError for a sensitivity that the proof does not cover.
 */
export function keyPresencePrivacyMap({ exponent, delta, sensitivity }: KeyPresenceMeasurement): PrivacyLoss {
  requireKeySensitivity(sensitivity)
  const keys = sensitivity.l0
  return {
    epsilonNano: brandEpsilon(
      divideRoundingUp(keys * exponent.numerator * ONE_EPSILON_NANO, exponent.denominator),
    ),
    deltaAtto: brandDelta(divideRoundingUp(keys * delta.numerator * ONE_DELTA_ATTO, delta.denominator)),
  }
}

/**
 * Releases keys with noisy counts, exactly. A key with a count of 0 does not occur and is never kept.
 * @param counts the people of each key.
 * @throws RangeError for a count that is not a whole number from 0 to 2^53 - 1; and any error of the source.
 */
export function releaseKeyCounts(
  { scale, threshold }: KeyCountMeasurement,
  counts: ArrayLike<number>,
  source: UniformSource,
): NoisyKey[] {
  requireCounts(counts)
  const noise = discreteLaplaceSampler(scale, source)
  const kept: NoisyKey[] = []
  for (let key = 0; key < counts.length; key += 1) {
    const count = entry(counts, key)
    if (count === 0) continue
    const noisyCount = BigInt(count) + noise()
    if (noisyCount >= threshold) kept.push({ key, noisyCount })
  }
  return kept
}

/**
 * A sampler of the positions of keys alone, each kept with its exact probability, for repeated releases of the same counts.
 * The probabilities are bounded once, when they are first needed: computing the bounds takes far longer than drawing the
 * coins.
 * @param counts the people of each key; they must not change between draws.
 * @throws RangeError for a count that is not a whole number from 0 to 2^53 - 1.
 */
export function keyPresenceSampler(
  measurement: KeyPresenceMeasurement,
  counts: ArrayLike<number>,
): (source: UniformSource) => number[] {
  requireCounts(counts)
  // Many keys have the same small count.
  const firstBounds = new Map<number, Bounds>()
  return (source) => {
    const kept: number[] = []
    for (let key = 0; key < counts.length; key += 1) {
      const count = entry(counts, key)
      const known = firstBounds.get(count)
      const first = known ?? keepBounds(measurement, BigInt(count), BITS_AT_A_TIME)
      if (known === undefined) firstBounds.set(count, first)
      const boundsAt = (bits: number) =>
        bits === BITS_AT_A_TIME ? first : keepBounds(measurement, BigInt(count), bits)
      if (flipBetween(boundsAt, source)) kept.push(key)
    }
    return kept
  }
}

/**
 * Returns true with exactly the probability that the bounds enclose: draws bits of a uniform number until it is
 * certainly below that probability, or certainly not.
 *
 * @param boundsAt bounds with lower <= probability * 2^bits <= upper, which converge as the bits grow.
 * @param bitsAtATime bits to draw at a time. The distribution does not depend on it; tests use few.
 */
export function flipBetween(
  boundsAt: (bits: number) => Bounds,
  source: UniformSource,
  bitsAtATime = BITS_AT_A_TIME,
): boolean {
  const word = 1n << BigInt(bitsAtATime)
  let drawn = 0n
  for (let bits = bitsAtATime; ; bits += bitsAtATime) {
    drawn = drawn * word + source.belowBig(word)
    const { lower, upper } = boundsAt(bits)
    // The number lies in [drawn, drawn + 1) * 2^-bits.
    if (drawn + 1n <= lower) return true
    if (drawn >= upper) return false
  }
}

/** Probability that a key of `count` people is kept, as a double: for tests and for people, never for sampling. */
export function keepProbability(measurement: KeySelectionMeasurement, count: number): number {
  return outcome(measurement, count).kept
}

/**
 * Number of people that a key needs to be kept with this confidence; and the accuracy of each noisy count, if there are any,
 * before it is known whether the key is kept. Near the threshold, the counts of keys that are kept tend to be too large.
 * @throws RangeError for a confidence outside (0, 1).
 */
export function keySelectionAccuracy(
  measurement: KeySelectionMeasurement,
  confidence: number,
): { readonly countForConfidence: number; readonly count?: Accuracy } {
  requireConfidence(confidence)
  // The factor covers the roundings of doubles: they can overstate the number, never understate it.
  const rare = (1 - confidence) / (1 + 16 * Number.EPSILON)
  const least = smallest((count) => outcome(measurement, Number(count)).dropped <= rare)
  const accuracy = { countForConfidence: Number(least) }
  if (measurement.mechanism === 'near-truncated-geometric') return accuracy
  const { sensitivity, loss } = measurement
  const geometric = calibrateGeometric(sensitivity, loss.epsilonNano)
  return { ...accuracy, count: laplaceAccuracy(geometric, confidence) }
}

/** Both probabilities of a key's coin, neither computed as a difference from 1. */
function outcome(
  measurement: KeySelectionMeasurement,
  count: number,
): { readonly kept: number; readonly dropped: number } {
  if (count === 0) return { kept: 0, dropped: 1 }
  if (measurement.mechanism === 'near-truncated-geometric') {
    const { lower, upper } = keepBounds(measurement, BigInt(count), FIRST_PRECISION)
    const one = 2 ** FIRST_PRECISION
    return { kept: Number(upper) / one, dropped: Number((1n << BigInt(FIRST_PRECISION)) - lower) / one }
  }
  const scale = numberFromRational(measurement.scale)
  const excess = count - Number(measurement.threshold)
  // P(Y >= m) = q^m / (1 + q) for whole m >= 0, and noise is symmetric.
  const tail = (noise: number) => Math.exp(-noise / scale) / (1 + Math.exp(-1 / scale))
  if (excess < 0) return { kept: tail(-excess), dropped: 1 - tail(-excess) }
  return { kept: 1 - tail(excess + 1), dropped: tail(excess + 1) }
}

/**
 * Smallest threshold t >= 1 for which any of `keys` keys of one person each is kept with a probability of at most
 * delta. (That probability is never equal to delta: q is transcendental.)
 */
function smallestThreshold(scale: Rational, keys: bigint, delta: Rational): bigint {
  return smallest((threshold) =>
    isLess((bits) => {
      const whole = 1n << BigInt(bits)
      return [
        times(anyKeptBounds(scale, threshold, keys, bits), delta.denominator),
        times({ lower: whole, upper: whole }, delta.numerator),
      ]
    }),
  )
}

/**
 * Bounds of the probability that any of `keys` keys of one person each is kept, in units of 2^-bits: 1 - (1 - p)^keys
 * with p = P(1 + Y >= t) = q^(t - 1) / (1 + q), q = exp(-1 / scale).
 */
function anyKeptBounds(scale: Rational, threshold: bigint, keys: bigint, bits: number): Bounds {
  const { one, q, power } = powers(reciprocal(scale), threshold - 1n, bits)
  const shift = BigInt(bits)
  const kept = {
    lower: (power.lower << shift) / (one.upper + q.upper),
    upper: divideRoundingUp(power.upper << shift, one.lower + q.lower),
  }
  const none = toThePower(
    { lower: notNegative(one.lower - kept.upper), upper: one.upper - kept.lower },
    keys,
    bits,
  )
  return { lower: one.lower - none.upper, upper: one.upper - none.lower }
}

/** Bounds of base^exponent, for bounds of a base from 0 to 1, in units of 2^-bits. */
function toThePower(base: Bounds, exponent: bigint, bits: number): Bounds {
  const shift = BigInt(bits)
  const product = (a: Bounds, b: Bounds): Bounds => ({
    lower: (a.lower * b.lower) >> shift,
    upper: shiftRoundingUp(a.upper * b.upper, shift),
  })
  let result: Bounds = { lower: 1n << shift, upper: 1n << shift }
  let square = base
  for (let left = exponent; left > 0n; left >>= 1n) {
    if ((left & 1n) === 1n) result = product(result, square)
    square = product(square, square)
  }
  return result
}

/**
 * With a(n) = delta (1 + x + ... + x^(n - 1)), x = exp(epsilon), the probability of keeping n people is a(n) as long as
 * a(n - 1) + a(n) <= 1. This is the last such n, hence the first with a(n) + a(n + 1) > 1, which is q^n (1 - q + 2
 * delta q) < delta (1 + q) in q = 1 / x. (The two sides are never equal: q is transcendental.)
 */
function crossoverOf(exponent: Rational, delta: Rational): bigint {
  return smallest((count) =>
    isLess((bits) => {
      const { one, q, power } = powers(exponent, count, bits)
      const shift = BigInt(bits)
      // 1 - q + 2 delta q, times the denominator of delta.
      const factor = sum(
        times({ lower: one.lower - q.upper, upper: one.upper - q.lower }, delta.denominator),
        times(q, 2n * delta.numerator),
      )
      const product = {
        lower: (power.lower * factor.lower) >> shift,
        upper: shiftRoundingUp(power.upper * factor.upper, shift),
      }
      return [product, times(sum(one, q), delta.numerator)]
    }),
  )
}

/**
 * Proven bounds of the probability that a key of `count` people is kept: lower <= probability * 2^bits <= upper. With h
 * the crossover and q = exp(-epsilon), it is a(n) up to n = h, and 1 - q^m max(0, 1 - a(h) - a(m)) for n = h + m, which
 * is 1 beyond 2 h.
 */
function keepBounds(measurement: KeyPresenceMeasurement, count: bigint, bits: number): Bounds {
  const { exponent, crossover } = measurement
  const one = 1n << BigInt(bits)
  if (count > 2n * crossover) return { lower: one, upper: one }
  const precision = bits + GUARD_BITS
  const guard = BigInt(GUARD_BITS)
  if (count <= crossover) {
    const { lower, upper } = growth(measurement, count, precision)
    return { lower: lower >> guard, upper: shiftRoundingUp(upper, guard) }
  }
  const beyond = count - crossover
  const { one: whole, power } = powers(exponent, beyond, precision)
  const reached = sum(growth(measurement, crossover, precision), growth(measurement, beyond, precision))
  const shift = BigInt(precision) + guard
  return {
    lower: one - shiftRoundingUp(power.upper * notNegative(whole.upper - reached.lower), shift),
    upper: one - ((power.lower * notNegative(whole.lower - reached.upper)) >> shift),
  }
}

/**
 * Bounds of a(n) = delta (1 / p - q) / (1 - q), p = q^(n - 1), in units of 2^-precision. It falls in p, and grows in q
 * as p <= 1.
 */
function growth({ exponent, delta }: KeyPresenceMeasurement, count: bigint, precision: number): Bounds {
  if (count === 0n) return { lower: 0n, upper: 0n }
  const { one, q, power } = powers(exponent, count - 1n, precision)
  const square = one.lower * one.lower
  const lower = (square / power.upper - q.lower) * one.lower * delta.numerator
  const upper = (divideRoundingUp(square, power.lower) - q.upper) * one.lower * delta.numerator
  return {
    lower: lower / ((one.lower - q.lower) * delta.denominator),
    upper: divideRoundingUp(upper, (one.lower - q.upper) * delta.denominator),
  }
}

/** 1, q = exp(-exponent) and q^count, in units of 2^-bits. */
function powers(
  exponent: Rational,
  count: bigint,
  bits: number,
): { readonly one: Bounds; readonly q: Bounds; readonly power: Bounds } {
  const whole = 1n << BigInt(bits)
  return {
    one: { lower: whole, upper: whole },
    q: exponentialBounds(exponent, bits),
    power: exponentialBounds(rational(exponent.numerator * count, exponent.denominator), bits),
  }
}

/** Compares two different numbers by bounds at growing precision; true if the first is smaller. */
function isLess(sidesAt: (bits: number) => readonly [Bounds, Bounds]): boolean {
  for (let bits = FIRST_PRECISION; ; bits *= 2) {
    const [left, right] = sidesAt(bits)
    if (left.upper <= right.lower) return true
    if (left.lower >= right.upper) return false
  }
}

/** Smallest whole number from 1 on that satisfies a condition which all larger ones satisfy as well, by bisection. */
function smallest(holds: (value: bigint) => boolean): bigint {
  let enough = 1n
  while (!holds(enough)) enough *= 2n
  let tooSmall = enough / 2n
  while (enough - tooSmall > 1n) {
    const middle = (enough + tooSmall) / 2n
    if (holds(middle)) enough = middle
    else tooSmall = middle
  }
  return enough
}

function sum(a: Bounds, b: Bounds): Bounds {
  return { lower: a.lower + b.lower, upper: a.upper + b.upper }
}

/** @param factor not negative. */
function times({ lower, upper }: Bounds, factor: bigint): Bounds {
  return { lower: lower * factor, upper: upper * factor }
}

function notNegative(value: bigint): bigint {
  return value > 0n ? value : 0n
}

function reciprocal({ numerator, denominator }: Rational): Rational {
  return { numerator: denominator, denominator: numerator }
}

/**
 * The proofs cover counts that move by 1 each, of which at most `rising` rise and at most `rising` fall.
 * @throws RangeError for any other sensitivity.
 */
function requireKeySensitivity({ l0, l1, l2Squared, lInfinity, rising }: KeySensitivity): void {
  const covered = rising >= 1n && l0 >= rising && l0 <= 2n * rising
  if (!covered || l1 !== l0 || l2Squared !== l0 || lInfinity !== 1n)
    throw new RangeError('a selection of keys supports only counts that one person moves by 1 each')
}

function requireLoss(epsilonNano: EpsilonNano, delta: DeltaAtto): void {
  requireEpsilon(epsilonNano)
  if (delta === 0n)
    throw refuseField('mechanism-not-applicable', 'delta', 'must be greater than 0 for a selection of keys')
  if (delta === ONE_DELTA_ATTO) throw new RangeError('delta must be below 1')
}

function requireCounts(counts: ArrayLike<number>): void {
  let sound = true
  for (let key = 0; key < counts.length; key += 1) {
    const count = counts[key]
    sound &&= Number.isSafeInteger(count) && (count ?? -1) >= 0
  }
  if (!sound) throw new RangeError('the number of people of a key must be a whole number')
}

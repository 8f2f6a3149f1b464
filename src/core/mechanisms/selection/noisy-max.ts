import {
  epsilonNano as brandEpsilon,
  type EpsilonNano,
  NO_LOSS,
  ONE_EPSILON_NANO,
  type PrivacyLoss,
  type RhoPico,
} from '../../../privacy/loss.ts'
import { entry } from '../../../privacy/must.ts'
import { divideRoundingUp, numberFromRational, type Rational, rational } from '../../../privacy/rational.ts'
import { refuseField, refuseQuery } from '../../../privacy/refusal.ts'
import type { ScoreSensitivity } from '../../../privacy/sensitivity.ts'
import { boundedRangeRho, pureRho } from '../../../privacy/zero-concentrated.ts'
import { fineFractionBits } from '../fine-grid.ts'
import { requireConfidence, requireEpsilon, requireWithin } from '../preconditions.ts'
import { discreteLaplaceSampler } from '../samplers/discrete-laplace.ts'
import type { UniformSource } from '../samplers/uniform-source.ts'
import { chooseByScores, requireScoreSensitivity, scoreSpread } from './exponential.ts'
import { permuteAndFlip, permuteAndFlipRho } from './permute-and-flip.ts'

/**
 * Report noisy max: the `k` candidates with the largest scores, in order, after noise on every score. With Laplace
 * noise it also releases the lead of each over the next, at no further cost.
 *
 * | what             | valid                                                                | unit               |
 * |------------------|----------------------------------------------------------------------|--------------------|
 * | input            | a vector of integer scores of any size, one for each candidate       | score units        |
 * | input metric     | L-infinity sensitivity of the scores, at least 1                     | score units        |
 * | output           | `k` different candidates, the best first                             |                    |
 * |                  | for each, on request, its gap to the next: an integer, at least 0    | 2^-`fractionBits`  |
 * | privacy measure  | pure differential privacy, epsilon above 0                           | 1e-9, rounded up   |
 * |                  | zero-concentrated differential privacy, rho                          | 1e-12, rounded up  |
 * | scale            | k spread / epsilon; for Laplace noise rounded up to a whole number,  | 2^-`fractionBits`  |
 * |                  | 2^40 or more; otherwise exact, and `fractionBits` is 0               |                    |
 *
 * The spread is the sensitivity where scores are monotonic (all move in the same direction between neighbours), twice it
 * where they are not. Privacy map: epsilon = k spread / scale, for each noise. In rho: Laplace noise costs what a number
 * with Laplace noise does, epsilon + exp(-epsilon) - 1 but for the grid, exponential noise the same k times at epsilon /
 * k, Gumbel noise k times what the bounded range epsilon / k does.
 *
 * - `laplace`: discrete Laplace noise; among equals the candidate with the lower index is ahead. The gap is measured
 *   against rivals that are one output unit better than they are wherever they would win a tie, which is what keeps it
 *   free of cost although ties happen: at most one output unit less than the plain difference.
 * - `exponential`: permute-and-flip, k times.
 * - `gumbel`: the exponential mechanism, k times.
 *
 * Source: Dwork and Roth 2014, "The Algorithmic Foundations of Differential Privacy", section 3.3; the gap: Ding, Wang,
 * Zhang, Kifer 2019, "Free Gap Information from the Differentially Private Sparse Vector and Noisy Max Mechanisms" (arXiv
 * 1904.12773); one draw of Gumbel noise is k rounds: Durfee and Rogers 2019 (arXiv 1905.04273). Proof:
 * src/core/mechanisms/selection/noisy-max.md.
 */

/** Noise that is added to every score. */
export type SelectionNoise = 'laplace' | 'exponential' | 'gumbel'

/** Selection and its input. */
export interface NoisyMaxSetting extends ScoreSensitivity {
  /** Number of candidates. */
  readonly candidates: number
  /** Number of candidates to release. */
  readonly k: number
  readonly gap: boolean
  readonly noise: SelectionNoise
}

/** Report noisy max, bound to a setting and a scale. */
export interface NoisyMaxMeasurement extends NoisyMaxSetting {
  readonly mechanism: 'noisy-max'
  readonly fractionBits: number
  /** In output units of 2^-`fractionBits` score units. */
  readonly scale: Rational
  readonly loss: PrivacyLoss
}

/** One selected candidate. */
export interface Selected {
  /** Its index. */
  readonly candidate: number
  /** Lower bound on how far it was ahead of the next, noise included: in output units, not negative. */
  readonly gap?: bigint
}

/**
 * Binds report noisy max to a setting and an epsilon for the whole selection.
 * @throws Refusal `mechanism-not-applicable` for a `gap` with noise other than `laplace`; `query-does-not-fit` for a `k`
 * that is larger than the candidates allow.
 * @throws RangeError for a sensitivity or an epsilon of 0, or a `k` below 1.
 */
export function calibrateNoisyMax(setting: NoisyMaxSetting, epsilonNano: EpsilonNano): NoisyMaxMeasurement {
  requireSetting(setting)
  requireEpsilon(epsilonNano)
  const shiftNano = noiseShift(setting) * ONE_EPSILON_NANO
  let fractionBits = 0
  let scale = rational(shiftNano, epsilonNano)
  if (setting.noise === 'laplace') {
    fractionBits = fineFractionBits(shiftNano, epsilonNano)
    scale = rational(divideRoundingUp(shiftNano << BigInt(fractionBits), epsilonNano), 1n)
  }
  const loss: PrivacyLoss = { ...NO_LOSS, epsilonNano }
  const measurement: NoisyMaxMeasurement = { ...setting, mechanism: 'noisy-max', fractionBits, scale, loss }
  requireWithin(noisyMaxPrivacyMap(measurement), loss)
  return measurement
}

function requireSetting({ candidates, k, gap, noise, sensitivity }: NoisyMaxSetting): void {
  requireScoreSensitivity(sensitivity)
  if (!Number.isInteger(k) || k < 1)
    throw new RangeError('the number of selected candidates must be a whole number')
  if (gap && noise !== 'laplace')
    throw refuseField(
      'mechanism-not-applicable',
      'gap',
      `needs noise "laplace": with noise "${noise}" no noisy counts are drawn, so gaps are not available`,
    )
  const largest = gap ? candidates - 1 : candidates
  if (k <= largest) return
  const reason = gap
    ? 'the last gap is measured to a candidate that is not selected'
    : 'no other candidates exist'
  throw refuseQuery('k', `must be at most ${largest} of ${candidates} candidates: ${reason}`)
}

/** Largest total shift of the noise that makes up for a neighbour, in score units. */
function noiseShift(setting: NoisyMaxSetting): bigint {
  return BigInt(setting.k) * scoreSpread(setting)
}

/** Loss of a selection: epsilon = k spread / scale, rounded up to 1e-9. */
export function noisyMaxPrivacyMap(measurement: NoisyMaxMeasurement): PrivacyLoss {
  const { scale } = measurement
  const shift = noiseShift(measurement) << BigInt(measurement.fractionBits)
  return {
    ...NO_LOSS,
    epsilonNano: brandEpsilon(
      divideRoundingUp(shift * ONE_EPSILON_NANO * scale.denominator, scale.numerator),
    ),
  }
}

/** Price of a selection in zCDP, rounded up to 1e-12. */
export function noisyMaxRho(measurement: NoisyMaxMeasurement): RhoPico {
  const { epsilonNano } = noisyMaxPrivacyMap(measurement)
  const k = BigInt(measurement.k)
  switch (measurement.noise) {
    case 'laplace':
      // Scores of neighbours are joined by steps of one output unit.
      return pureRho(epsilonNano, 1n, measurement.sensitivity << BigInt(measurement.fractionBits))
    case 'exponential':
      return permuteAndFlipRho(epsilonNano, k)
    case 'gumbel':
      return boundedRangeRho(epsilonNano, k)
  }
}

/**
 * Selects candidates, with exactly the distribution that the measurement's noise gives.
 *
 * @param scores one for each candidate, in score units.
 * @returns `k` candidates, the best first.
 * @throws RangeError for another number of scores than of candidates; and any error of the source: a failure of
 * randomness is fatal, and nothing is released.
 */
export function selectNoisyMax(
  measurement: NoisyMaxMeasurement,
  scores: readonly bigint[],
  source: UniformSource,
): readonly Selected[] {
  if (scores.length !== measurement.candidates)
    throw new RangeError('a selection needs a score for each candidate')
  const { k, scale } = measurement
  const exponent: Rational = { numerator: scale.denominator, denominator: scale.numerator }
  switch (measurement.noise) {
    case 'laplace':
      return selectWithNoise(measurement, scores, discreteLaplaceSampler(scale, source))
    case 'exponential':
      return permuteAndFlipRounds(scores, k, exponent, source)
    case 'gumbel':
      return chooseByScores(scores, k, exponent, source).map((candidate) => ({ candidate }))
  }
}

/** Runs permute-and-flip `k` times, each time among the candidates that are left. */
function permuteAndFlipRounds(
  scores: readonly bigint[],
  k: number,
  exponent: Rational,
  source: UniformSource,
): Selected[] {
  // Most selections choose one candidate of up to 100,000, where copies would take longer than the choice.
  if (k === 1) return [{ candidate: permuteAndFlip(scores, exponent, source) }]
  const left = [...scores]
  const candidates = scores.map((_, candidate) => candidate)
  return Array.from({ length: k }, () => {
    const place = permuteAndFlip(left, exponent, source)
    left.splice(place, 1)
    const [candidate = -1] = candidates.splice(place, 1)
    return { candidate }
  })
}

/**
 * Selects the `k` best after noise, with their gaps. Of equals, the lower index is ahead. If the next candidate has the
 * lower index, it would win a tie, and therefore counts as one output unit better than it is.
 *
 * @param scores at least `k`, and with gaps `k + 1`, in score units.
 * @param sample draws noise, in output units.
 */
export function selectWithNoise(
  { fractionBits, k, gap }: Pick<NoisyMaxMeasurement, 'fractionBits' | 'k' | 'gap'>,
  scores: readonly bigint[],
  sample: () => bigint,
): Selected[] {
  const noisy = scores.map((score) => (score << BigInt(fractionBits)) + sample())
  const order = bestInOrder(noisy, gap ? k + 1 : k)
  return Array.from(order.subarray(0, k), (candidate, rank) => {
    if (!gap) return { candidate }
    const next = entry(order, rank + 1)
    const handicap = next < candidate ? 1n : 0n
    return { candidate, gap: entry(noisy, candidate) - entry(noisy, next) - handicap }
  })
}

/** Indices of the largest values in descending order, of equals the lower index first. */
function bestInOrder(values: readonly bigint[], count: number): Uint32Array {
  const best = new Uint32Array(count + 1)
  let size = 0
  for (const [index, value] of values.entries()) {
    if (size === count && value <= entry(values, entry(best, count - 1))) continue
    // The first place with a smaller value: equal values came earlier and stay ahead.
    let [place, end] = [0, size]
    while (place < end) {
      const middle = (place + end) >>> 1
      if (entry(values, entry(best, middle)) < value) end = middle
      else place = middle + 1
    }
    best.copyWithin(place + 1, place, size)
    best[place] = index
    size = Math.min(size + 1, count)
  }
  return best.subarray(0, size)
}

/**
 * Accuracy of the selection: with this confidence, the score of every selected candidate is within `halfWidth` of the
 * best one not selected before it.
 *
 * A candidate that is more than t worse than one of the k best is ahead of it only if the difference of their noise is
 * t + 1 or more. There are n - r candidates behind the one of rank r, so k n - k (k + 1) / 2 pairs, and t is the smallest
 * whole number for which all of them together have a probability of at most 1 - confidence.
 *
 * @returns the half-width in score units.
 * @throws RangeError for a confidence outside (0, 1).
 */
export function noisyMaxHalfWidth(measurement: NoisyMaxMeasurement, confidence: number): number {
  requireConfidence(confidence)
  const { candidates, k, scale, fractionBits } = measurement
  const pairs = k * candidates - (k * (k + 1)) / 2
  const within = (scales: number) => pairs * differenceTail(measurement, scales) <= 1 - confidence
  let [low, high] = [0, 1]
  while (!within(high)) high *= 2
  for (;;) {
    const middle = (low + high) / 2
    if (middle === low || middle === high) break
    if (within(middle)) high = middle
    else low = middle
  }
  const successor = (high + ROUNDING) * numberFromRational(scale) * 2 ** -fractionBits
  return Math.max(0, Math.ceil(successor) - 1)
}

/**
 * Accuracy of the gaps: with this confidence, every gap is within the half-width of the true difference between the
 * scores of the candidate and of the next one released, and the last gap of the difference to the best candidate not
 * selected.
 *
 * If the noise of all n candidates is within t, a difference of two scores, or to the largest of many, moves by at most
 * 2 t, and by one output unit more where the gap allows for a tie. P(|Y| > t) = 2 q^(t + 1) / (1 + q) with q = exp(-1 /
 * scale).
 *
 * The error of one gap is at most the sum of the two largest of all |Y|, and one output unit. A |Y| is at most an
 * exponential variable of the same scale and one output unit more, and the two largest of n such variables have the
 * expected sum scale (2 (1 + 1/2 + ... + 1/n) - 1): the bound of the expected absolute error of each gap.
 *
 * @returns the half-width and the bound in score units.
 * @throws RangeError for a measurement without gaps, or a confidence outside (0, 1).
 */
export function noisyMaxGapAccuracy(
  { gap, candidates, scale, fractionBits }: NoisyMaxMeasurement,
  confidence: number,
): { readonly halfWidth: number; readonly expectedAbsoluteErrorBound: number } {
  requireConfidence(confidence)
  if (!gap) throw new RangeError('this measurement releases no gaps')
  const scaleNumber = numberFromRational(scale)
  const tail = (1 - confidence) / candidates
  const successor = scaleNumber * (Math.log(2 / (tail * (1 + Math.exp(-1 / scaleNumber)))) + ROUNDING)
  let harmonic = 0
  for (let candidate = candidates; candidate >= 1; candidate -= 1) harmonic += 1 / candidate
  const largestTwo = scaleNumber * (2 * harmonic - 1) * (1 + ROUNDING)
  return {
    halfWidth: Math.max(1, 2 * Math.ceil(successor) - 1) * 2 ** -fractionBits,
    expectedAbsoluteErrorBound: (largestTwo + 3) * 2 ** -fractionBits,
  }
}

/**
 * Covers the roundings of a tail, in scales, and those of the half-width: they can overstate it, never understate it.
 */
const ROUNDING = 2 ** -40

/** Probability that the difference of two draws of noise is at least this many scales. */
function differenceTail({ noise, scale }: NoisyMaxMeasurement, scales: number): number {
  switch (noise) {
    case 'laplace': {
      // With p = exp(-1 / scale), P(D >= m) = p^m ((m + (1 + p^2) / (1 - p^2)) (1 - p) + p) / (1 + p)^2.
      const step = 1 / numberFromRational(scale)
      const [p, q] = [Math.exp(-step), -Math.expm1(-step)]
      return (Math.exp(-scales) * ((scales / step) * q + (1 + p * p) / (1 + p) + p)) / (1 + p) ** 2
    }
    case 'exponential':
      return Math.exp(-scales) / 2
    case 'gumbel':
      return 1 / (1 + Math.exp(scales))
  }
}

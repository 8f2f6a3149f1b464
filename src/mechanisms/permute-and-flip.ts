import type { EpsilonNano, PrivacyLoss, RhoPico } from '../privacy/loss.ts'
import { numberFromRational, type Rational } from '../privacy/rational.ts'
import type { ScoreSensitivity } from '../privacy/sensitivity.ts'
import { pureRho } from '../privacy/zero-concentrated.ts'
import type { Mechanism } from './contract.ts'
import {
  bestScore,
  calibrateExponential,
  exponentialPrivacyMap,
  type SelectionAccuracy,
} from './exponential.ts'
import { requireConfidence } from './preconditions.ts'
import { bernoulliExpUnbounded } from './samplers/bernoulli-unbounded.ts'
import type { UniformSource } from './samplers/uniform-source.ts'

/**
 * Permute-and-flip: report noisy max with exponential noise, without drawing the noise. Its expected error is never
 * above that of the exponential mechanism at the same price in pure epsilon, and down to half of it.
 *
 * | what             | valid                                                                | unit               |
 * |------------------|----------------------------------------------------------------------|--------------------|
 * | input            | a vector of integer scores of any size, the larger the better        | score units        |
 * | input metric     | L-infinity sensitivity of the scores, at least 1                     | score units        |
 * | output           | the index of one candidate                                           |                    |
 * | privacy measure  | pure differential privacy, epsilon above 0                           | 1e-9, rounded up   |
 * |                  | zero-concentrated differential privacy, rho                          | 1e-12, rounded up  |
 * | exponent         | epsilon / spread, an exact fraction: nothing is rounded              | 1 / score units    |
 *
 * Privacy map: epsilon = exponent * spread, with the spread of the exponential mechanism: the sensitivity where scores
 * are monotonic, twice it where they are not. In zCDP it costs what any mechanism of that epsilon does, and *not* the
 * exponential mechanism's epsilon^2 / 8: its range is not bounded by epsilon. Source: McKenna and Sheldon 2020,
 * "Permute-and-Flip: A new mechanism for differentially private selection" (arXiv 2010.12603), algorithm 1; as report
 * noisy max: Ding et al. 2021, "The Permute-and-Flip Mechanism is Identical to Report-Noisy-Max with Exponential Noise"
 * (arXiv 2105.07260). Proof: docs/proofs/permute-and-flip.md.
 */

/** Permute-and-flip bound to the sensitivity of its scores. */
export interface PermuteAndFlipMeasurement extends ScoreSensitivity {
  readonly mechanism: 'permute-and-flip'
  /** Number of candidates. */
  readonly outcomes: bigint
  /** The coin of a candidate succeeds with probability exp(-exponent * distance). */
  readonly exponent: Rational
  readonly loss: PrivacyLoss
}

/**
 * Binds permute-and-flip to the sensitivity of scores and an epsilon.
 * @throws RangeError for a sensitivity or an epsilon of 0, or no candidates.
 */
export function calibratePermuteAndFlip(
  setting: Pick<PermuteAndFlipMeasurement, 'sensitivity' | 'monotonic' | 'outcomes'>,
  epsilonNano: EpsilonNano,
): PermuteAndFlipMeasurement {
  // At the same price both mechanisms have the same exponent.
  return { ...calibrateExponential(setting, epsilonNano), mechanism: 'permute-and-flip' }
}

/** Loss of one choice where scores have this sensitivity: epsilon = exponent * spread, rounded up to 1e-9. */
export function permuteAndFlipPrivacyMap(
  measurement: Pick<PermuteAndFlipMeasurement, 'exponent'>,
  sensitivity: ScoreSensitivity,
): PrivacyLoss {
  return exponentialPrivacyMap(measurement, sensitivity)
}

/** Price of one choice in zCDP: that of its pure epsilon. */
export function permuteAndFlipRho(
  measurement: Pick<PermuteAndFlipMeasurement, 'exponent'>,
  sensitivity: ScoreSensitivity,
): RhoPico {
  return pureRho(permuteAndFlipPrivacyMap(measurement, sensitivity).epsilonNano)
}

/**
 * Bounds the distance of the chosen candidate from the best. As report noisy max with exponential noise, a
 * candidate that is t + 1 worse than the best is ahead of it with a probability of exp(-exponent (t + 1)) / 2 at most.
 * The half-width is the smallest whole t for which this probability, over all n - 1 others, is at most 1 - confidence.
 *
 * @throws RangeError for a confidence outside (0, 1).
 */
export function permuteAndFlipAccuracy(
  { exponent, outcomes }: Pick<PermuteAndFlipMeasurement, 'exponent' | 'outcomes'>,
  confidence: number,
): SelectionAccuracy {
  requireConfidence(confidence)
  const others = Number(outcomes - 1n)
  // The summand covers the roundings of this line: they can overstate the half-width, never understate it.
  const successor = (Math.log(others / (2 * (1 - confidence))) + 2 ** -40) / numberFromRational(exponent)
  return { confidence, halfWidth: Math.max(0, Math.ceil(successor) - 1) }
}

/**
 * Chooses a candidate with exactly the distribution of report noisy max with exponential noise of scale 1 / exponent:
 * visits the candidates in a random order, and stops at the first whose coin of probability
 * exp(-exponent * (best - score)) succeeds. The coin of the best candidate always succeeds.
 *
 * @param scores at least one, in score units.
 * @param exponent per score unit.
 * @returns an index.
 * @throws RangeError if there are no scores.
 */
export function permuteAndFlip(scores: readonly bigint[], exponent: Rational, source: UniformSource): number {
  const best = bestScore(scores)
  // A Fisher-Yates shuffle, only as far as needed: the first `left` candidates have not been visited.
  const candidates = new Uint32Array(scores.length)
  for (let index = 0; index < candidates.length; index += 1) candidates[index] = index
  for (let left = candidates.length; left > 0; left -= 1) {
    const place = source.below(left)
    const candidate = candidates[place] ?? 0
    candidates[place] = candidates[left - 1] ?? 0
    const distance = best - (scores[candidate] ?? best)
    if (distance === 0n) return candidate
    if (bernoulliExpUnbounded(distance * exponent.numerator, exponent.denominator, source)) return candidate
  }
  throw new Error('the coin of the best candidate failed, which must always succeed')
}

/**
 * Probability of each candidate, to within rounding. For few candidates only: the time grows with the cube of their
 * number.
 *
 * Before a candidate of success probability p, a set of k of the n - 1 others is visited with probability
 * 1 / (n C(n - 1, k)), and all of it fails. So P = p / n * (sum over k of the mean, over all sets of k others, of the
 * product of their failure probabilities); no term is negative, so nothing cancels.
 */
export function permuteAndFlipMasses(scores: readonly bigint[], exponent: Rational): number[] {
  const best = bestScore(scores)
  const perUnit = numberFromRational(exponent)
  const failures = scores.map((score) => -Math.expm1(-perUnit * Number(best - score)))
  return failures.map((failure, candidate) => {
    // The mean over all sets of k among the others seen so far, by k.
    let means = [1]
    failures.forEach((other, index) => {
      if (index === candidate) return
      const seen = means.length
      means = Array.from(
        { length: seen + 1 },
        (_, k) => ((means[k] ?? 0) * (seen - k) + (means[k - 1] ?? 0) * other * k) / seen,
      )
    })
    const sum = means.reduce((total, mean) => total + mean, 0)
    return ((1 - failure) * sum) / scores.length
  })
}

/** Permute-and-flip under the contract of all mechanisms. It releases the index of one candidate. */
export const permuteAndFlipMechanism = {
  calibrate: (setting, { epsilonNano }) => calibratePermuteAndFlip(setting, epsilonNano),
  privacyMap: permuteAndFlipPrivacyMap,
  zeroConcentratedMap: permuteAndFlipRho,
  release: ({ exponent }, scores, source) => permuteAndFlip(scores, exponent, source),
  accuracy: permuteAndFlipAccuracy,
} as const satisfies Mechanism<
  Pick<PermuteAndFlipMeasurement, 'sensitivity' | 'monotonic' | 'outcomes'>,
  PermuteAndFlipMeasurement,
  ScoreSensitivity,
  readonly bigint[],
  number
>

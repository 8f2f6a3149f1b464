import type { EpsilonNano, RhoPico } from '../../../privacy/loss.ts'
import { entry } from '../../../privacy/must.ts'
import type { Rational } from '../../../privacy/rational.ts'
import { pureRho } from '../../../privacy/zero-concentrated.ts'
import { bernoulliExpUnbounded } from '../samplers/bernoulli-unbounded.ts'
import type { UniformSource } from '../samplers/uniform-source.ts'
import { bestScore } from './exponential.ts'

/*
 * Permute-and-flip: report noisy max with exponential noise, without drawing the noise. Its expected error is never
 * above that of the exponential mechanism at the same price in pure epsilon, and down to half of it. In zCDP it costs
 * what Laplace noise does, epsilon + exp(-epsilon) - 1, and *not* what the exponential mechanism does: its range is not
 * bounded by epsilon. Source: McKenna and Sheldon 2020, "Permute-and-Flip: A new mechanism for differentially private selection"
 * (arXiv 2010.12603), algorithm 1; as report noisy max: Ding et al. 2021, "The Permute-and-Flip Mechanism is Identical to
 * Report-Noisy-Max with Exponential Noise" (arXiv 2105.07260). Proof: src/core/mechanisms/selection/permute-and-flip.md.
 */

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
    const candidate = entry(candidates, place)
    candidates[place] = entry(candidates, left - 1)
    const distance = best - (scores[candidate] ?? best)
    if (distance === 0n) return candidate
    if (bernoulliExpUnbounded(distance * exponent.numerator, exponent.denominator, source)) return candidate
  }
  throw new Error('the coin of the best candidate failed, which must always succeed')
}

/**
 * Price of permute-and-flip in zCDP, rounded up to 1e-12: epsilon + exp(-epsilon) - 1.
 *
 * @param rounds number of choices together, each at an equal part of the epsilon; at least 1.
 */
export function permuteAndFlipRho(epsilonNano: EpsilonNano, rounds: bigint): RhoPico {
  return pureRho(epsilonNano, rounds, STEPS)
}

/** Scores of neighbours are joined by any number of equal steps; the more, the closer the price to its limit. */
const STEPS = 1n << 40n

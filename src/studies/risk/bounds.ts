import { entry } from '../../privacy/must.ts'
import type { RiskAnalysis } from './analysis.ts'

/**
 * Upper bound of the posterior of any world after any response (equations 4 and 5, section 5.1): with n equally
 * likely worlds 1 / (1 + (n - 1) exp(-epsilon bounded / unbounded)). With a prior, n - 1 becomes the odds against the
 * most likely world.
 */
export function upperBoundAt(analysis: RiskAnalysis, epsilon: number): number {
  const { boundedSensitivity } = analysis
  return 1 / (1 + oddsAgainst(analysis) * likelihood(boundedSensitivity, rateAt(analysis, epsilon)))
}

/** Odds against the most likely world, before a response. */
export function oddsAgainst({ worlds, largestPrior, totalMass }: RiskAnalysis): number {
  return totalMass === worlds ? worlds - 1 : (1 - largestPrior) / largestPrior
}

/**
 * Tight bound (section 5.2, with an example in equation 12): the largest posterior of any world after the response
 * that is best for it, which is its own answer. For equally likely worlds, 1 / (1 + the sum over the others of
 * exp(-epsilon |difference of answers| / unbounded)), the largest over all worlds.
 */
export function tightBoundAt(analysis: RiskAnalysis, epsilon: number): number {
  const rate = rateAt(analysis, epsilon)
  const { answers } = analysis
  /** Weight of the answers up to each answer, at that answer. */
  const fromBelow = new Float64Array(answers.length)
  let weight = 0
  for (const [index, { abovePrevious, mass }] of answers.entries()) {
    weight = weight * likelihood(abovePrevious, rate) + mass
    fromBelow[index] = weight
  }
  let largest = 0
  let fromAbove = 0
  for (let index = answers.length - 1; index >= 0; index -= 1) {
    const { abovePrevious = 0, mass = 0, largestMass = 0 } = answers[index] ?? {}
    if (largestMass > 0) largest = Math.max(largest, largestMass / (entry(fromBelow, index) + fromAbove))
    fromAbove = (fromAbove + mass) * likelihood(abovePrevious, rate)
  }
  return largest
}

/** Both bounds at one epsilon. */
export interface CurvePoint {
  readonly epsilon: number
  readonly upperBound: number
  readonly tightBound: number
}

/** Computes both bounds at each of these epsilons, for a plot. */
export function curve(analysis: RiskAnalysis, epsilons: readonly number[]): readonly CurvePoint[] {
  return epsilons.map((epsilon) => ({
    epsilon,
    upperBound: upperBoundAt(analysis, epsilon),
    tightBound: tightBoundAt(analysis, epsilon),
  }))
}

/**
 * Reciprocal of the scale of the noise. Without any sensitivity all answers are equal, and every rate gives the same.
 */
export function rateAt({ unboundedSensitivity }: RiskAnalysis, epsilon: number): number {
  return unboundedSensitivity === 0 ? 0 : epsilon / unboundedSensitivity
}

/** Weight of an answer at that distance from the response, relative to an answer at distance 0. */
export function likelihood(distance: number, rate: number): number {
  return distance === 0 ? 1 : Math.exp(-distance * rate)
}

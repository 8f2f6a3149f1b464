import { Refusal } from '../../privacy/refusal.ts'
import type { RiskAnalysis } from './analysis.ts'
import { oddsAgainst, tightBoundAt } from './bounds.ts'

/** An epsilon that achieves the risk, or the reason why every epsilon does. */
export type EpsilonForRisk =
  | { readonly reached: true; readonly epsilon: number }
  | {
      readonly reached: false
      /** Value at which the bound stays, or its limit. */
      readonly largestRisk: number
      readonly why: string
    }

/**
 * Computes the largest epsilon at which a bound is at most a risk: from the upper bound in closed form (section 5.2,
 * inequality 7), unbounded / bounded ln(odds against x risk / (1 - risk)), and from the tight bound by bisection.
 *
 * @param risk largest accepted posterior of a world; above the largest prior and below 1.
 * @param tolerance distance by which the epsilon from the tight bound may be too small, where doubles are closer; at
 * that epsilon the bound is still within the risk.
 * @throws Refusal `risk-below-prior` for a risk of at most the largest prior, which no epsilon achieves.
 */
export function epsilonForRisk(
  analysis: RiskAnalysis,
  risk: number,
  tolerance = 1e-12,
): {
  readonly upperBound: EpsilonForRisk
  readonly tightBound: EpsilonForRisk & { readonly tolerance: number }
} {
  const { largestPrior } = analysis
  if (risk <= largestPrior) {
    const rule = `must be greater than ${largestPrior}, the largest prior, because no epsilon reduces the risk to it`
    throw new Refusal('risk-below-prior', `risk: ${rule}`, [{ field: 'risk', rule }], { risk, largestPrior })
  }
  return {
    upperBound: epsilonOfUpperBound(analysis, risk),
    tightBound: { ...epsilonOfTightBound(analysis, risk, tolerance), tolerance },
  }
}

function epsilonOfUpperBound(analysis: RiskAnalysis, risk: number): EpsilonForRisk {
  const { boundedSensitivity, unboundedSensitivity, largestPrior, upperBoundHolds } = analysis
  if (boundedSensitivity === 0)
    return {
      reached: false,
      largestRisk: largestPrior,
      why: upperBoundHolds ? SAME_ANSWER : SAME_AS_NEIGHBOURS,
    }
  // Logarithms are taken separately: the odds of very many worlds against a risk close to 1 exceed a double.
  const logOdds = Math.log(oddsAgainst(analysis)) + Math.log(risk / (1 - risk))
  return { reached: true, epsilon: (unboundedSensitivity / boundedSensitivity) * Math.max(0, logOdds) }
}

function epsilonOfTightBound(analysis: RiskAnalysis, risk: number, tolerance: number): EpsilonForRisk {
  const { answers, largestDifference } = analysis
  const largestRisk = answers.reduce(
    (largest, { mass, largestMass }) => Math.max(largest, mass === 0 ? 0 : largestMass / mass),
    0,
  )
  if (risk >= largestRisk)
    return { reached: false, largestRisk, why: largestDifference === 0 ? SAME_ANSWER : SHARED_ANSWERS }
  let within = 0
  let beyond = 1
  while (tightBoundAt(analysis, beyond) <= risk) {
    within = beyond
    beyond *= 2
    // The bound tends to a risk above this one.
    if (beyond === Number.POSITIVE_INFINITY) throw new RangeError('no epsilon reaches the risk')
  }
  while (beyond - within > tolerance) {
    const middle = (within + beyond) / 2
    if (middle === within || middle === beyond) break
    if (tightBoundAt(analysis, middle) <= risk) within = middle
    else beyond = middle
  }
  return { reached: true, epsilon: within }
}

const SAME_ANSWER = 'all worlds have the same answer, so no response distinguishes them'
const SAME_AS_NEIGHBOURS =
  'every world has the answer of its neighbours, so this bound stays at the prior; it does not hold here, because other worlds ' +
  'have other answers'
const SHARED_ANSWERS =
  'every world shares its answer with others, and no response distinguishes these: even for a large epsilon the ' +
  'risk is not reached'

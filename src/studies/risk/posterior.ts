import { entry } from '../../privacy/must.ts'
import type { EnumeratedWorlds, RiskAnalysis } from './analysis.ts'
import { likelihood, rateAt } from './bounds.ts'
import { MOST_LISTED_NUMBERS } from './limits.ts'
import { forEachSubset, positionsUpTo } from './subsets.ts'

/** Effect of a response on the adversary's beliefs. */
export interface Posterior {
  /** Disclosure risk: the posterior of the most likely world after the response. */
  readonly largest: number
  /** Difference between that posterior and the prior of the same world. */
  readonly confidence: number
  /** All worlds in order, if the answers were enumerated and the list is not too long. */
  readonly worlds: readonly WorldBelief[] | undefined
}

/** A possible world with its probability before and after a response. */
export interface WorldBelief {
  /** People in the world: positions in the universe, counted from 0. */
  readonly positions: readonly number[]
  readonly answer: number
  readonly prior: number
  readonly posterior: number
}

/**
 * Computes the posterior after a response (definition 3): proportional to prior x exp(-epsilon |response - answer| /
 * unbounded). If the unbounded sensitivity is 0, all worlds have the same answer and no response changes the prior.
 *
 * @param mostListed largest number of numbers in the list of worlds; a longer list is omitted
 */
export function posteriorAt(
  analysis: RiskAnalysis,
  epsilon: number,
  response: number,
  mostListed = MOST_LISTED_NUMBERS,
): Posterior {
  const { answers, enumerated, totalMass } = analysis
  const likelihoods = likelihoodsOf(analysis, epsilon, response)
  let total = 0
  for (const [index, { mass }] of answers.entries()) total += mass * entry(likelihoods, index)
  let [largest, prior] = [0, 0]
  for (const [index, { largestMass }] of answers.entries()) {
    const posterior = (largestMass * entry(likelihoods, index)) / total
    if (posterior > largest) [largest, prior] = [posterior, largestMass / totalMass]
  }
  const posteriorOf = (mass: number, index: number) => (mass * entry(likelihoods, index)) / total
  const isShort = enumerated !== undefined && listLength(enumerated) <= mostListed
  const worlds = isShort ? beliefsOf(analysis, enumerated, posteriorOf) : undefined
  return { largest, confidence: largest - prior, worlds }
}

/** Likelihood of the response given each answer, relative to the answer with the largest likelihood. */
function likelihoodsOf(analysis: RiskAnalysis, epsilon: number, response: number): Float64Array {
  const { answers, largestDifference } = analysis
  const rate = rateAt(analysis, epsilon)
  // A response beyond all answers has the same effect as the answer at that end.
  const place = Math.min(Math.max(response - (answers[0]?.answer ?? 0), 0), largestDifference)
  const distances = answers.map(({ aboveLeast }) => Math.abs(place - aboveLeast))
  let nearest = Number.POSITIVE_INFINITY
  for (const [index, { mass }] of answers.entries())
    if (mass > 0) nearest = Math.min(nearest, entry(distances, index))
  return Float64Array.from(distances, (distance) => likelihood(Math.max(0, distance - nearest), rate))
}

/** Positions, answer and two beliefs of each world. */
function listLength({ masses, released }: EnumeratedWorlds): number {
  return masses.length * (released + 3)
}

function beliefsOf(
  { answers, totalMass }: RiskAnalysis,
  { universeSize, released, answerOf, masses }: EnumeratedWorlds,
  posteriorOf: (mass: number, index: number) => number,
): readonly WorldBelief[] {
  const beliefs: WorldBelief[] = []
  const positions: number[] = []
  forEachSubset(positionsUpTo(universeSize), released, {
    take: (position) => positions.push(position),
    putBack: () => positions.pop(),
    visit: () => {
      const [index = 0, mass = 0] = [answerOf[beliefs.length], masses[beliefs.length]]
      beliefs.push({
        positions: [...positions],
        answer: answers[index]?.answer ?? 0,
        prior: mass / totalMass,
        posterior: posteriorOf(mass, index),
      })
    },
  })
  return beliefs
}

import { refuseField } from '../privacy/refusal.ts'
import type { EnumeratedWorlds, RiskAnalysis } from './analysis.ts'
import { likelihood, rateAt, requireEpsilon } from './bounds.ts'
import { MOST_LISTED_NUMBERS } from './limits.ts'
import { forEachSubset, positionsUpTo } from './subsets.ts'

/** What a response does to the adversary's beliefs. */
export interface Posterior {
  /** The disclosure risk: the posterior of the world that is likeliest now. */
  readonly largest: number
  /** That posterior less the prior of the same world. */
  readonly confidence: number
  /** Each world in its order, where the answers were enumerated and the list is not too long. */
  readonly worlds?: readonly WorldBelief[]
}

/** A possible world, and how likely it is before and after a response. */
export interface WorldBelief {
  /** Who is in it: positions in the universe, counted from 0. */
  readonly positions: readonly number[]
  readonly answer: number
  readonly prior: number
  readonly posterior: number
}

/**
 * The posterior after a response (definition 3): proportional to prior x exp(-epsilon |response - answer| / unbounded).
 * Where the unbounded sensitivity is 0, all worlds have the same answer and every response leaves the prior as it is.
 *
 * @param mostListed how many numbers the list of worlds may hold; a longer one is left out
 * @throws Refusal (`invalid-request`) for a response that is no finite number, and as {@link requireEpsilon}.
 */
export function posteriorAt(
  analysis: RiskAnalysis,
  epsilon: number,
  response: number,
  mostListed = MOST_LISTED_NUMBERS,
): Posterior {
  requireEpsilon(epsilon)
  if (!Number.isFinite(response)) throw refuseField('invalid-request', 'response', 'must be a number')
  const { answers, enumerated, totalMass } = analysis
  const likelihoods = likelihoodsOf(analysis, epsilon, response)
  let total = 0
  for (const [index, { mass }] of answers.entries()) total += mass * (likelihoods[index] ?? 0)
  let [largest, prior] = [0, 0]
  for (const [index, { largestMass }] of answers.entries()) {
    const posterior = (largestMass * (likelihoods[index] ?? 0)) / total
    if (posterior > largest) [largest, prior] = [posterior, largestMass / totalMass]
  }
  const posteriorOf = (mass: number, index: number) => (mass * (likelihoods[index] ?? 0)) / total
  const isShort = enumerated !== undefined && listLength(enumerated) <= mostListed
  const beliefs = isShort ? beliefsOf(analysis, enumerated, posteriorOf) : undefined
  return { largest, confidence: largest - prior, ...(beliefs === undefined ? {} : { worlds: beliefs }) }
}

/** How likely each answer makes the response, relative to the answer that makes it likeliest. */
function likelihoodsOf(analysis: RiskAnalysis, epsilon: number, response: number): Float64Array {
  const { answers, largestDifference } = analysis
  const rate = rateAt(analysis, epsilon)
  // Beyond the answers, a response tells as much as the answer at the end.
  const place = Math.min(Math.max(response - (answers[0]?.answer ?? 0), 0), largestDifference)
  const distances = answers.map(({ aboveLeast }) => Math.abs(place - aboveLeast))
  let nearest = Number.POSITIVE_INFINITY
  for (const [index, { mass }] of answers.entries())
    if (mass > 0) nearest = Math.min(nearest, distances[index] ?? 0)
  return Float64Array.from(distances, (distance) => likelihood(Math.max(0, distance - nearest), rate))
}

/** Each world's positions, its answer and two beliefs. */
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

import { Refusal, refuseField } from '../privacy/refusal.ts'
import { type AnswerCount, countedAnswers, structuredAnswers } from './answer-counts.ts'
import { answersOfWorlds, enumeratedSensitivities, valuesOfNeighbours } from './enumeration.ts'
import { answerDifference, answerNumber, type ExactQuery, exactQuery, hasStructure } from './exact-query.ts'
import {
  LARGEST_UNIVERSE,
  MOST_ENUMERATED_VALUES,
  MOST_ENUMERATED_VALUES_BY_CHOICE,
  MOST_ENUMERATED_WORLDS,
  MOST_LISTED_NUMBERS,
  MOST_WORLDS,
  tooManyWorlds,
} from './limits.ts'
import type { RiskQuestion, Way } from './question.ts'
import { structuredSensitivities } from './sensitivities.ts'
import { binomial, forEachSubset, positionsUpTo } from './subsets.ts'

/*
 * The disclosure risk of Lee and Clifton 2011, "How Much Is Enough? Choosing epsilon for Differential Privacy". An adversary
 * knows the value of everybody in a universe, and the size of the released dataset; which of the possible worlds (all
 * datasets of that size) it is, a noisy answer tells more or less. The noise is Laplace noise of scale unbounded
 * sensitivity / epsilon. The risk is the largest posterior of a world. Proofs: docs/proofs/disclosure-risk.md.
 */

/** What is known before epsilon is chosen: everything that the bounds and the posterior are worked out from. */
export interface RiskAnalysis {
  /** How many possible worlds there are; a double, exact up to 2^53. */
  readonly worlds: number
  /** How the sensitivities and the answers of the worlds were found. */
  readonly ways: { readonly sensitivities: Way; readonly answers: Way }
  /** The largest difference between answers of worlds that differ by `changed` people, in the unit of the answer. */
  readonly boundedSensitivity: number
  /** The largest between a world's and that of a dataset with `changed` people fewer, or more. */
  readonly unboundedSensitivity: number
  /** The largest between any two worlds. */
  readonly largestDifference: number
  /**
   * Whether the upper bound is proved to bound the posterior at every epsilon: it is where no two worlds are farther apart
   * than neighbours are. Where it is not, only the tight bound does.
   */
  readonly upperBoundHolds: boolean
  /** The prior of the likeliest world: 1 / worlds where all are equally likely. */
  readonly largestPrior: number
  /** What masses are parts of: the number of worlds, or 1 where a prior was supplied. */
  readonly totalMass: number
  /** The different answers, ascending. */
  readonly answers: readonly PossibleAnswer[]
  /** World by world, in the lexicographic order of positions, where the answers were enumerated. */
  readonly enumerated?: EnumeratedWorlds
}

/** An answer that some world has. */
export interface PossibleAnswer {
  readonly answer: number
  /** The answer less the least of all, from their exact difference; and less the one before it, or 0. */
  readonly aboveLeast: number
  readonly abovePrevious: number
  /** How many worlds have it. */
  readonly worlds: number
  /** Their prior together, and that of the likeliest of them, as parts of the total mass. */
  readonly mass: number
  readonly largestMass: number
}

/** Each possible world in its order. */
export interface EnumeratedWorlds {
  readonly universeSize: number
  readonly released: number
  /** Which of the different answers each world has. */
  readonly answerOf: Int32Array
  /** Each world's prior as a part of the total mass. */
  readonly masses: Float64Array
}

/**
 * Sensitivities, and the answers of all possible worlds with their prior.
 *
 * @throws Refusal (`invalid-request`) for what no question can be: among others, a released size that leaves fewer than
 * `changed` people in or out, for then worlds have no neighbours among each other.
 * @throws Refusal (`too-many-worlds`), before anything is worked out, for what would take too long.
 */
export function analyse(question: RiskQuestion): RiskAnalysis {
  const asked = checked(question)
  const { query, released, changed } = asked
  const ways = chooseWays(asked, question.way)
  const answersInOrder = ways.answers === 'enumeration' ? answersOfWorlds(query, released) : undefined
  const counts =
    answersInOrder === undefined ? structuredAnswers(query, released) : countedAnswers(answersInOrder)
  const sensitivitiesBy =
    ways.sensitivities === 'enumeration' ? enumeratedSensitivities : structuredSensitivities
  const { bounded, unbounded } = sensitivitiesBy(query, released, changed)
  const enumerated = answersInOrder && enumeratedWorlds(asked, answersInOrder, counts)
  const answers = possibleAnswers(asked, counts, enumerated)
  const largestDifference = answers.at(-1)?.aboveLeast ?? 0
  const totalMass = asked.prior === undefined ? Number(asked.worlds) : 1
  return {
    worlds: Number(asked.worlds),
    ways,
    boundedSensitivity: bounded,
    unboundedSensitivity: unbounded,
    largestDifference,
    upperBoundHolds: bounded >= largestDifference,
    largestPrior: largestOf(answers, ({ largestMass }) => largestMass) / totalMass,
    totalMass,
    answers,
    ...(enumerated === undefined ? {} : { enumerated }),
  }
}

/** A question that can be asked, in exact numbers. */
interface CheckedQuestion {
  readonly query: ExactQuery
  readonly released: number
  readonly changed: number
  readonly worlds: bigint
  readonly prior: readonly number[] | undefined
}

function checked(question: RiskQuestion): CheckedQuestion {
  const { universe, released, changed = 1, prior } = question
  const size = universe.length
  if (size > LARGEST_UNIVERSE)
    throw tooManyWorlds('the universe is too large', 'people', BigInt(size), LARGEST_UNIVERSE)
  requireWholeBetween('released', released, 1, size - 1)
  requireWholeBetween('changed', changed, 1, Math.min(released, size - released))
  const query = exactQuery(universe, question.query)
  const worlds = binomial(size, released)
  if (prior !== undefined && worlds <= BigInt(MOST_ENUMERATED_WORLDS)) checkPrior(prior, Number(worlds))
  return { query, released, changed, worlds, prior }
}

function requireWholeBetween(field: string, value: number, least: number, largest: number): void {
  if (!Number.isInteger(value) || value < least || value > largest)
    throw refuseField(
      'invalid-request',
      field,
      largest < least
        ? 'leaves no room for neighbours in this universe'
        : `must be a whole number from ${least} to ${largest} in this universe`,
    )
}

function checkPrior(prior: readonly number[], worlds: number): void {
  if (prior.length !== worlds)
    throw refuseField('invalid-request', 'prior', `must have one number for each of the ${worlds} worlds`)
  const wrong = prior.findIndex((belief) => !(belief >= 0 && belief <= 1))
  if (wrong >= 0) throw refuseField('invalid-request', `prior.${wrong}`, 'must be from 0 to 1')
  if (Math.abs(sumOf(prior) - 1) > PRIOR_TOLERANCE)
    throw refuseField('invalid-request', 'prior', 'must add up to 1')
}

/** How far the numbers of a prior may be from adding up to 1; they are then divided by what they add up to. */
const PRIOR_TOLERANCE = 1e-9

function chooseWays({ query, released, changed, worlds, prior }: CheckedQuestion, way: Way | undefined) {
  const structured = hasStructure(query)
  if (way === 'structure' && !structured) throw new RangeError('squares are not told by order')
  const fewWorlds = worlds <= BigInt(MOST_ENUMERATED_WORLDS)
  const mustListWorlds = !structured || prior !== undefined || way === 'enumeration'
  if (mustListWorlds && !fewWorlds)
    throw tooManyWorlds(
      'every world must be looked at for such a query, or such a prior',
      'worlds',
      worlds,
      MOST_ENUMERATED_WORLDS,
      largestUniverse(query, released, changed),
    )
  if (worlds > MOST_WORLDS)
    throw tooManyWorlds('their number must be a double', 'worlds', worlds, MOST_WORLDS)
  const values = valuesOfNeighbours(query, released, changed)
  const mustCompare = !structured || way === 'enumeration'
  if (mustCompare && values > BigInt(MOST_ENUMERATED_VALUES))
    throw tooManyWorlds(
      'every world must be compared with its neighbours for such a query',
      'values to read',
      values,
      MOST_ENUMERATED_VALUES,
      largestUniverse(query, released, changed),
    )
  const isCheap = fewWorlds && values <= BigInt(MOST_ENUMERATED_VALUES_BY_CHOICE)
  return {
    sensitivities: mustCompare ? 'enumeration' : (way ?? (isCheap ? 'enumeration' : 'structure')),
    answers: mustListWorlds ? 'enumeration' : (way ?? (fewWorlds ? 'enumeration' : 'structure')),
  } satisfies RiskAnalysis['ways']
}

/** The largest universe whose worlds can be looked at one by one where as many are released, or left out, as was asked. */
function largestUniverse(
  query: ExactQuery,
  released: number,
  changed: number,
): Readonly<Record<string, number>> {
  const size = query.values.length
  const leftOut = size - released
  const fits = (smaller: number) => {
    const kept = released <= leftOut ? released : smaller - leftOut
    const fitting = { ...query, values: query.values.slice(0, smaller) }
    return (
      binomial(smaller, kept) <= BigInt(MOST_ENUMERATED_WORLDS) &&
      (hasStructure(query) || valuesOfNeighbours(fitting, kept, changed) <= BigInt(MOST_ENUMERATED_VALUES))
    )
  }
  let [fitting, tooLarge] = [2 * Math.min(released, leftOut), size]
  if (fitting >= size || !fits(fitting)) return {}
  while (tooLarge - fitting > 1) {
    const middle = Math.floor((fitting + tooLarge) / 2)
    if (fits(middle)) fitting = middle
    else tooLarge = middle
  }
  return { largestUniverse: fitting }
}

function enumeratedWorlds(
  { query, released, prior }: CheckedQuestion,
  answersInOrder: readonly bigint[],
  counts: readonly AnswerCount[],
): EnumeratedWorlds {
  const indexOf = new Map(counts.map(({ answer }, index) => [answer, index]))
  const total = prior === undefined ? 1 : sumOf(prior)
  return {
    universeSize: query.values.length,
    released,
    answerOf: Int32Array.from(answersInOrder, (answer) => indexOf.get(answer) ?? 0),
    masses: Float64Array.from(answersInOrder, (_, world) => (prior?.[world] ?? 1) / total),
  }
}

function possibleAnswers(
  { query, released, prior }: CheckedQuestion,
  counts: readonly AnswerCount[],
  enumerated: EnumeratedWorlds | undefined,
): readonly PossibleAnswer[] {
  const least = counts[0]?.answer ?? 0n
  const masses = Float64Array.from(counts, ({ worlds }) => (prior === undefined ? worlds : 0))
  const largestMasses = Float64Array.from(counts, () => (prior === undefined ? 1 : 0))
  if (prior !== undefined)
    enumerated?.answerOf.forEach((index, world) => {
      const mass = enumerated.masses[world] ?? 0
      masses[index] = (masses[index] ?? 0) + mass
      largestMasses[index] = Math.max(largestMasses[index] ?? 0, mass)
    })
  return counts.map(({ answer, worlds }, index) => ({
    answer: answerNumber(query, answer, released),
    aboveLeast: answerDifference(query, [answer, released], [least, released]),
    abovePrevious: answerDifference(
      query,
      [answer, released],
      [counts[index - 1]?.answer ?? answer, released],
    ),
    worlds,
    mass: masses[index] ?? 0,
    largestMass: largestMasses[index] ?? 0,
  }))
}

/**
 * The upper bound of the posterior of any world after any response (equations 4 and 5, section 5.1): with n equally likely
 * worlds 1 / (1 + (n - 1) exp(-epsilon bounded / unbounded)). With a prior, n - 1 becomes the odds against the likeliest
 * world.
 *
 * @throws Refusal (`invalid-request`) for an epsilon that is no finite number of at least 0.
 */
export function upperBoundAt(analysis: RiskAnalysis, epsilon: number): number {
  requireEpsilon(epsilon)
  const { boundedSensitivity } = analysis
  return 1 / (1 + oddsAgainst(analysis) * likelihood(boundedSensitivity, rateAt(analysis, epsilon)))
}

/** Of the likeliest world, before a response. */
function oddsAgainst({ worlds, largestPrior, totalMass }: RiskAnalysis): number {
  return totalMass === worlds ? worlds - 1 : (1 - largestPrior) / largestPrior
}

/**
 * The tight bound (section 5.2; equation 12 is an example of it): the largest posterior that any world gets, after the response that is
 * best for it, which is its own answer. Of equally likely worlds, 1 / (1 + the sum over the others of
 * exp(-epsilon |difference of answers| / unbounded)), the largest over all worlds.
 *
 * @throws Refusal (`invalid-request`) as {@link upperBoundAt}.
 */
export function tightBoundAt(analysis: RiskAnalysis, epsilon: number): number {
  requireEpsilon(epsilon)
  const rate = rateAt(analysis, epsilon)
  const { answers } = analysis
  /** What the answers up to each one weigh there. */
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
    if (largestMass > 0) largest = Math.max(largest, largestMass / ((fromBelow[index] ?? 0) + fromAbove))
    fromAbove = (fromAbove + mass) * likelihood(abovePrevious, rate)
  }
  return largest
}

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
 * @throws Refusal (`invalid-request`) for a response that is no finite number, and as {@link upperBoundAt}.
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

/** An epsilon that keeps the risk, or why every epsilon does. */
export type EpsilonForRisk =
  | { readonly reached: true; readonly epsilon: number }
  | {
      readonly reached: false
      /** What the bound stays at, or rises to without getting there. */
      readonly largestRisk: number
      readonly why: string
    }

/**
 * The largest epsilon at which a bound is no larger than a risk: from the upper bound in closed form (section 5.2,
 * inequality 7), unbounded / bounded ln(odds against x risk / (1 - risk)), and from the tight bound by bisection.
 *
 * @param risk what the posterior of a world may be at the most; above the largest prior and below 1.
 * @param tolerance by how much the epsilon from the tight bound may fall short, where doubles are not farther apart; at it, the
 * bound is still within the risk.
 * @throws Refusal (`risk-below-prior`) for a risk that is the largest prior or less: no epsilon brings it so low.
 * @throws Refusal (`invalid-request`) for a risk that is not between 0 and 1.
 */
export function epsilonForRisk(
  analysis: RiskAnalysis,
  risk: number,
  tolerance = 1e-12,
): {
  readonly upperBound: EpsilonForRisk
  readonly tightBound: EpsilonForRisk & { readonly tolerance: number }
} {
  if (!(risk > 0 && risk < 1)) throw refuseField('invalid-request', 'risk', 'must be above 0 and below 1')
  const { largestPrior } = analysis
  if (risk <= largestPrior) {
    const rule = `must be above ${largestPrior}, the largest prior: no epsilon brings the risk so low`
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
  // Each logarithm by itself: the odds of very many worlds against a risk close to 1 are beyond a double.
  const logOdds = Math.log(oddsAgainst(analysis)) + Math.log(risk / (1 - risk))
  return { reached: true, epsilon: (unboundedSensitivity / boundedSensitivity) * Math.max(0, logOdds) }
}

function epsilonOfTightBound(analysis: RiskAnalysis, risk: number, tolerance: number): EpsilonForRisk {
  const { answers, largestDifference } = analysis
  const largestRisk = largestOf(answers, ({ mass, largestMass }) => (mass === 0 ? 0 : largestMass / mass))
  if (risk >= largestRisk)
    return { reached: false, largestRisk, why: largestDifference === 0 ? SAME_ANSWER : SHARED_ANSWERS }
  let [within, beyond] = [0, 1]
  while (tightBoundAt(analysis, beyond) <= risk) [within, beyond] = [beyond, 2 * beyond]
  while (beyond - within > tolerance) {
    const middle = (within + beyond) / 2
    if (middle === within || middle === beyond) break
    if (tightBoundAt(analysis, middle) <= risk) within = middle
    else beyond = middle
  }
  return { reached: true, epsilon: within }
}

const SAME_ANSWER = 'all worlds have the same answer, so that no response tells one from another'
const SAME_AS_NEIGHBOURS =
  'every world has the answer of its neighbours, so that this bound stays at the prior; it does not hold here, for others ' +
  'have another answer'
const SHARED_ANSWERS =
  'every world has its answer in common with others, and no response tells these apart: however large epsilon is, the ' +
  'risk does not get there'

/** Both bounds at one epsilon. */
export interface CurvePoint {
  readonly epsilon: number
  readonly upperBound: number
  readonly tightBound: number
}

/**
 * Both bounds at each of these epsilons, ready to plot.
 * @throws Refusal (`invalid-request`) as {@link upperBoundAt}.
 */
export function curve(analysis: RiskAnalysis, epsilons: readonly number[]): readonly CurvePoint[] {
  return epsilons.map((epsilon) => ({
    epsilon,
    upperBound: upperBoundAt(analysis, epsilon),
    tightBound: tightBoundAt(analysis, epsilon),
  }))
}

/** One over the scale of the noise. Without any sensitivity all answers are the same, and any rate tells nothing. */
function rateAt({ unboundedSensitivity }: RiskAnalysis, epsilon: number): number {
  return unboundedSensitivity === 0 ? 0 : epsilon / unboundedSensitivity
}

function likelihood(distance: number, rate: number): number {
  return distance === 0 ? 1 : Math.exp(-distance * rate)
}

function requireEpsilon(epsilon: number): void {
  if (!(epsilon >= 0 && Number.isFinite(epsilon)))
    throw refuseField('invalid-request', 'epsilon', 'must be a number of at least 0')
}

function largestOf<Item>(items: readonly Item[], figure: (item: Item) => number): number {
  return items.reduce((largest, item) => Math.max(largest, figure(item)), 0)
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}

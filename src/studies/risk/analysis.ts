import { entry } from '../../privacy/must.ts'
import { refuseField } from '../../privacy/refusal.ts'
import { type AnswerCount, countedAnswers, prepareStructuredAnswers } from './answer-counts.ts'
import { answersOfWorlds, enumeratedSensitivities, valuesOfNeighbours } from './enumeration.ts'
import { answerDifference, answerNumber, type ExactQuery, exactQuery, hasStructure } from './exact-query.ts'
import { type ColumnLimits, LARGEST_UNIVERSE, limitsOfColumn, MOST_WORLDS, tooManyWorlds } from './limits.ts'
import type { RiskQuestion, Way } from './question.ts'
import { structuredSensitivities } from './sensitivities.ts'
import { binomial } from './subsets.ts'

/*
 * The disclosure risk of Lee and Clifton 2011, "How Much Is Enough? Choosing epsilon for Differential Privacy". An
 * adversary knows the value of every person in a universe and the size of the released dataset. Each dataset of that
 * size is a possible world. A noisy answer changes the adversary's belief in each world. The noise is Laplace noise
 * of scale (unbounded sensitivity) / epsilon. The risk is the largest posterior of a world. Proofs:
 * src/studies/risk/disclosure-risk.md.
 */

/** Facts that do not depend on epsilon, from which the bounds and the posterior are computed. */
export interface RiskAnalysis {
  /** Number of possible worlds; a double, exact up to 2^53. */
  readonly worlds: number
  /** Methods that computed the sensitivities and the answers of the worlds. */
  readonly ways: { readonly sensitivities: Way; readonly answers: Way }
  /**
   * Bounded sensitivity: largest difference between answers of worlds that differ by `changed` people, in the unit of
   * the answer.
   */
  readonly boundedSensitivity: number
  /**
   * Unbounded sensitivity: largest difference between the answer of a world and of a dataset with `changed` people
   * fewer or more.
   */
  readonly unboundedSensitivity: number
  /** Largest difference between the answers of any two worlds. */
  readonly largestDifference: number
  /**
   * True if the upper bound is proved to bound the posterior at every epsilon, which requires that no two worlds are
   * farther apart than neighbours. Otherwise only the tight bound holds.
   */
  readonly upperBoundHolds: boolean
  /** Prior of the most likely world: 1 / worlds if all are equally likely. */
  readonly largestPrior: number
  /** Total mass: the number of worlds, or 1 if a prior was supplied. */
  readonly totalMass: number
  /** Distinct answers, ascending. */
  readonly answers: readonly PossibleAnswer[]
  /** Every world, in the lexicographic order of positions, if the answers were enumerated. */
  readonly enumerated: EnumeratedWorlds | undefined
}

/** An answer of at least one world. */
export interface PossibleAnswer {
  readonly answer: number
  /** Difference to the least answer, from their exact difference, and to the previous answer, or 0. */
  readonly aboveLeast: number
  readonly abovePrevious: number
  /** Number of worlds with this answer. */
  readonly worlds: number
  /** Prior of these worlds together, and of the most likely of them, as parts of the total mass. */
  readonly mass: number
  readonly largestMass: number
}

/** All possible worlds in order. */
export interface EnumeratedWorlds {
  readonly universeSize: number
  readonly released: number
  /** Index of each world's answer among the distinct answers. */
  readonly answerOf: Int32Array
  /** Prior of each world as a part of the total mass. */
  readonly masses: Float64Array
}

/**
 * Computes the sensitivities, and the answers of all possible worlds with their prior. See decision 21.
 *
 * @param sharedBy number of such questions that share the limits of work
 * @throws Refusal `invalid-request` for an invalid question, for example a released size that leaves fewer than
 * `changed` people in or out, because worlds then have no neighbours.
 * @throws Refusal `too-many-worlds` before any computation, if it would take too long.
 */
export function analyse(question: RiskQuestion, sharedBy = 1): RiskAnalysis {
  return prepareAnalysis(question, sharedBy)()
}

/**
 * Checks a question as {@link analyse} does, and computes the analysis when the result is called.
 * @throws Refusal at once, as {@link analyse} does; the result throws none.
 */
export function prepareAnalysis(question: RiskQuestion, sharedBy = 1): () => RiskAnalysis {
  const limits = limitsOfColumn(sharedBy)
  const asked = checked(question, limits)
  const ways = chooseWays(asked, question.way, limits)
  const countAnswers =
    ways.answers === 'enumeration' ? undefined : prepareStructuredAnswers(asked.query, asked.released, limits)
  return () => workOut(asked, ways, countAnswers)
}

function workOut(
  asked: CheckedQuestion,
  ways: RiskAnalysis['ways'],
  countAnswers: (() => readonly AnswerCount[]) | undefined,
): RiskAnalysis {
  const { query, released, changed } = asked
  const answersInOrder = countAnswers === undefined ? answersOfWorlds(query, released) : undefined
  const counts = countAnswers?.() ?? countedAnswers(answersInOrder ?? [])
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
    largestPrior: answers.reduce((largest, { largestMass }) => Math.max(largest, largestMass), 0) / totalMass,
    totalMass,
    answers,
    enumerated,
  }
}

/** A checked question in exact numbers. */
interface CheckedQuestion {
  readonly query: ExactQuery
  readonly released: number
  readonly changed: number
  readonly worlds: bigint
  readonly prior: readonly number[] | undefined
}

function checked(question: RiskQuestion, limits: ColumnLimits): CheckedQuestion {
  const { universe, released, changed = 1, prior } = question
  const size = universe.length
  if (size > LARGEST_UNIVERSE)
    throw tooManyWorlds('the universe is too large', {
      counted: 'people',
      asked: BigInt(size),
      limit: LARGEST_UNIVERSE,
    })
  if (released < 1 || released >= size) {
    const rule = `must be at least 1 and less than ${size}, the number of people in the universe`
    throw refuseField('invalid-request', 'released', rule)
  }
  requireNeighbours(changed, released, size - released)
  const query = exactQuery(universe, question.query)
  const worlds = binomial(size, released)
  if (prior !== undefined && worlds <= BigInt(limits.enumeratedWorlds)) checkPrior(prior, Number(worlds))
  return { query, released, changed, worlds, prior }
}

/** Requires worlds that differ by this number of people: as many leave as join. */
function requireNeighbours(changed: number, released: number, leftOut: number): void {
  const most = Math.min(released, leftOut)
  if (changed >= 1 && changed <= most) return
  const people = (number: number) => `${number} ${number === 1 ? 'person' : 'people'}`
  const why = `neighbouring datasets exchange that many of the ${people(released)} released for others, and ${people(leftOut)} can join`
  throw refuseField('invalid-request', 'changed', `must be a whole number from 1 to ${most} here: ${why}`)
}

function checkPrior(prior: readonly number[], worlds: number): void {
  if (prior.length !== worlds)
    throw refuseField('invalid-request', 'prior', `must have one number for each of the ${worlds} worlds`)
  if (Math.abs(sumOf(prior) - 1) > PRIOR_TOLERANCE)
    throw refuseField('invalid-request', 'prior', 'must sum to 1')
}

/** Largest accepted distance between the sum of a prior and 1. */
const PRIOR_TOLERANCE = 1e-9

/**
 * Returns the divisor that makes a prior sum to 1. It is 1 if the prior sums to 1 up to the rounding of its numbers to
 * doubles, so that such a prior is used and reported unchanged.
 */
function divisorOf(prior: readonly number[] | undefined): number {
  if (prior === undefined) return 1
  const total = sumOf(prior)
  return Math.abs(total - 1) <= Number.EPSILON ? 1 : total
}

function chooseWays(
  { query, released, changed, worlds, prior }: CheckedQuestion,
  way: Way | undefined,
  limits: ColumnLimits,
): RiskAnalysis['ways'] {
  const { columns, enumeratedWorlds, enumeratedValues, enumeratedValuesByChoice } = limits
  const structured = hasStructure(query)
  if (way === 'structure' && !structured)
    throw new RangeError('a query over squares has no structure by order')
  const fewWorlds = worlds <= BigInt(enumeratedWorlds)
  const mustListWorlds = !structured || prior !== undefined || way === 'enumeration'
  if (mustListWorlds && !fewWorlds)
    throw tooManyWorlds(
      'this query, or this prior, requires every world to be enumerated',
      { counted: 'worlds', asked: worlds, limit: enumeratedWorlds, columns },
      largestUniverse(query, released, changed, limits),
    )
  if (worlds > MOST_WORLDS)
    throw tooManyWorlds('there are more possible worlds than the service can count', {
      counted: 'worlds',
      asked: worlds,
      limit: MOST_WORLDS,
    })
  const values = valuesOfNeighbours(query, released, changed)
  const mustCompare = !structured || way === 'enumeration'
  if (mustCompare && values > BigInt(enumeratedValues))
    throw tooManyWorlds(
      'this query requires every world to be compared with its neighbours',
      { counted: 'values to read', asked: values, limit: enumeratedValues, columns },
      largestUniverse(query, released, changed, limits),
    )
  const isCheap = fewWorlds && values <= BigInt(enumeratedValuesByChoice)
  return {
    sensitivities: mustCompare ? 'enumeration' : (way ?? (isCheap ? 'enumeration' : 'structure')),
    answers: mustListWorlds ? 'enumeration' : (way ?? (fewWorlds ? 'enumeration' : 'structure')),
  }
}

/** Returns the largest universe whose worlds can be enumerated if the same number of people is released or left out. */
function largestUniverse(
  query: ExactQuery,
  released: number,
  changed: number,
  { enumeratedWorlds, enumeratedValues }: ColumnLimits,
): Readonly<Record<string, number>> {
  const size = query.values.length
  const leftOut = size - released
  const fits = (smaller: number) => {
    const kept = released <= leftOut ? released : smaller - leftOut
    const fitting = { ...query, values: query.values.slice(0, smaller) }
    return (
      binomial(smaller, kept) <= BigInt(enumeratedWorlds) &&
      (hasStructure(query) || valuesOfNeighbours(fitting, kept, changed) <= BigInt(enumeratedValues))
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
  const divisor = divisorOf(prior)
  return {
    universeSize: query.values.length,
    released,
    answerOf: Int32Array.from(answersInOrder, (answer) => indexOf.get(answer) ?? 0),
    masses: Float64Array.from(answersInOrder, (_, world) => (prior?.[world] ?? 1) / divisor),
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
      const mass = entry(enumerated.masses, world)
      masses[index] = entry(masses, index) + mass
      largestMasses[index] = Math.max(entry(largestMasses, index), mass)
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
    mass: entry(masses, index),
    largestMass: entry(largestMasses, index),
  }))
}

/** Compensated sum (Neumaier 1974): its error does not grow with the number of summands. */
function sumOf(numbers: readonly number[]): number {
  let [sum, lost] = [0, 0]
  for (const number of numbers) {
    const next = sum + number
    lost += Math.abs(sum) >= Math.abs(number) ? sum - next + number : number - next + sum
    sum = next
  }
  return sum + lost
}

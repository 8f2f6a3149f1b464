import type { Rational } from '../privacy/rational.ts'
import {
  ascendingPositions,
  compare,
  type ExactQuery,
  greatestCommonDivisor,
  placeAt,
} from './exact-query.ts'
import { type ColumnLimits, LARGEST_SUM_TABLE, tooManyWorlds } from './limits.ts'
import { binomialsOf, positionsUpTo } from './subsets.ts'

/** An exact answer, and how many worlds have it. */
export interface AnswerCount {
  readonly answer: bigint
  /** A double: exact up to 2^53, and to within some roundings beyond. */
  readonly worlds: number
}

/**
 * Counts, when it is called, the different answers in ascending order, without looking at worlds; of at most 1e300 worlds
 * in all. How they are counted is proved in docs/proofs/disclosure-risk.md.
 *
 * @throws Refusal (`too-many-worlds`) at once, where counting would take too long.
 * @throws RangeError for a variance or a standard deviation.
 */
export function prepareStructuredAnswers(
  query: ExactQuery,
  released: number,
  limits: ColumnLimits,
): () => readonly AnswerCount[] {
  switch (query.kind) {
    case 'sum':
    case 'mean':
      return prepareAnswersOfSum(query.values, released, limits)
    case 'orderStatistic':
      if (placeAt(query.share, released).above !== 0n) requireFewPairs(query.values.length - released, limits)
      return () => answersOfOrderStatistic(query, query.share, released)
    default:
      throw new RangeError('squares are not told by order')
  }
}

/** The same from the answers of all worlds. */
export function countedAnswers(answers: readonly bigint[]): readonly AnswerCount[] {
  return collected(answers.map((answer) => ({ answer, worlds: 1 })))
}

function collected(counts: readonly AnswerCount[]): readonly AnswerCount[] {
  const worldsOf = new Map<bigint, number>()
  for (const { answer, worlds } of counts) worldsOf.set(answer, (worldsOf.get(answer) ?? 0) + worlds)
  return [...worldsOf]
    .map(([answer, worlds]) => ({ answer, worlds }))
    .sort((a, b) => compare(a.answer, b.answer))
}

/**
 * Sums of those released, or, where they are fewer, of those left out: what everybody's sum lacks. They are counted in
 * steps above the least value, so that as many of the least value is 0.
 */
function prepareAnswersOfSum(
  values: readonly bigint[],
  released: number,
  limits: ColumnLimits,
): () => readonly AnswerCount[] {
  const leftOut = values.length - released
  const chosen = Math.min(released, leftOut)
  const { least, step, steps } = inSteps(values)
  const count = steps.every((value) => value <= 1n)
    ? () => countsOfOnes(steps.filter((value) => value === 1n).length, values.length, chosen)
    : prepareCountsOfSums(steps, chosen, limits)
  return () => {
    const everybody = values.reduce((sum, value) => sum + value, 0n)
    const base = BigInt(chosen) * least
    const answers = [...count().entries()].flatMap(([sum, worlds]) =>
      worlds === 0 ? [] : [{ answer: base + step * BigInt(sum), worlds }],
    )
    if (released <= leftOut) return answers
    return answers.map(({ answer, worlds }) => ({ answer: everybody - answer, worlds })).reverse()
  }
}

/** Values as whole steps above the least of them, as large as they can be. */
function inSteps(values: readonly bigint[]) {
  const ascending = ascendingPositions(values).map((position) => values[position] ?? 0n)
  const least = ascending[0] ?? 0n
  const above = ascending.map((value) => value - least)
  const step = above.reduce(greatestCommonDivisor, 0n) || 1n
  return { least, step, steps: above.map((value) => value / step) }
}

/** The hypergeometric counts: choosing 0, 1, ... of the ones among everybody. */
function countsOfOnes(ones: number, size: number, chosen: number): Float64Array {
  const counts = new Float64Array(chosen + 1)
  const zeros = size - ones
  for (let taken = Math.max(0, chosen - zeros); taken <= Math.min(ones, chosen); taken += 1) {
    const [ofOnes = 0] = binomialsOf(taken, ones, ones)
    const [ofZeros = 0] = binomialsOf(chosen - taken, zeros, zeros)
    counts[taken] = ofOnes * ofZeros
  }
  return counts
}

function prepareCountsOfSums(
  ascending: readonly bigint[],
  chosen: number,
  limits: ColumnLimits,
): () => Float64Array {
  const sums = [1n]
  for (const value of ascending.slice(ascending.length - chosen).reverse())
    sums.push((sums.at(-1) ?? 0n) + value)
  requireFewSums(sums, ascending.length, limits)
  return () => countsOfSums(ascending.map(Number), sums.map(Number))
}

/**
 * How many ways there are to choose so many of the values, by their sum.
 * @param sums how many there are of no values, of one, and so on, with all that no values have
 */
function countsOfSums(values: readonly number[], sums: readonly number[]): Float64Array {
  const chosen = sums.length - 1
  /** By how many are chosen of the values so far, and by their sum. */
  const ways = sums.map((ofSoMany) => new Float64Array(ofSoMany))
  ways[0]?.fill(1)
  for (const [place, value] of values.entries()) {
    const largestSums = [0]
    for (let below = place; below >= 0 && below > place - chosen; below -= 1)
      largestSums.push((largestSums.at(-1) ?? 0) + (values[below] ?? 0))
    // From the most chosen on, so that no value is chosen twice.
    for (let count = largestSums.length - 1; count > 0; count -= 1)
      addShifted(ways[count], ways[count - 1], value, largestSums[count] ?? 0)
  }
  return ways[chosen] ?? new Float64Array()
}

/** Adds to each sum up to the largest what was counted for the sum without the value. */
function addShifted(
  counts: Float64Array | undefined,
  without: Float64Array | undefined,
  value: number,
  largest: number,
): void {
  if (counts === undefined || without === undefined) return
  for (let sum = value; sum <= largest; sum += 1)
    counts[sum] = (counts[sum] ?? 0) + (without[sum - value] ?? 0)
}

function requireFewSums(
  sums: readonly bigint[],
  size: number,
  { columns, answers: mostAnswers, sumAdditions }: ColumnLimits,
): void {
  const [answers = 0n, entries] = [sums.at(-1), sums.reduce((total, ofSoMany) => total + ofSoMany)]
  const limit = Math.floor(Math.min(LARGEST_SUM_TABLE, sumAdditions / size))
  if (answers > BigInt(mostAnswers))
    throw tooManyWorlds(COARSER, { counted: 'different sums', asked: answers, limit: mostAnswers, columns })
  if (entries > BigInt(limit))
    throw tooManyWorlds(COARSER, {
      counted: 'sums of as many or fewer values',
      asked: entries,
      limit,
      columns,
    })
}

const COARSER = 'these values have too many sums to count them; rounded to a coarser grid they have fewer'

/**
 * Where the query falls on a rank, a world's answer is the value at the position of that rank; where it falls between two,
 * it lies between the values at the positions of both. The rest of the world is below the first and above the last.
 */
function answersOfOrderStatistic(
  { values }: ExactQuery,
  share: Rational,
  released: number,
): readonly AnswerCount[] {
  const { rank, above } = placeAt(share, released)
  const skippable = values.length - released
  const ascending = ascendingPositions(values).map((position) => values[position] ?? 0n)
  const at = (place: number) => ascending[place] ?? 0n
  /** In how many ways a number of ranks fill as many positions and some that are skipped. */
  const waysOf = (ranks: number) => binomialsOf(ranks, ranks, ranks + skippable)
  const skips = positionsUpTo(skippable + 1)
  const waysBelow = waysOf(rank)
  if (above === 0n) {
    const waysAbove = waysOf(released - 1 - rank)
    return collected(
      skips.map((skipped) => ({
        answer: at(rank + skipped) * share.denominator,
        worlds: (waysBelow[skipped] ?? 0) * (waysAbove[skippable - skipped] ?? 0),
      })),
    )
  }
  const waysAbove = waysOf(released - 2 - rank)
  return collected(
    skips.flatMap((skipped) =>
      skips.slice(skipped).map((skippedByNext) => ({
        answer: at(rank + skipped) * (share.denominator - above) + at(rank + 1 + skippedByNext) * above,
        worlds: (waysBelow[skipped] ?? 0) * (waysAbove[skippable - skippedByNext] ?? 0),
      })),
    ),
  )
}

function requireFewPairs(skippable: number, { columns, answers }: ColumnLimits): void {
  const pairs = (BigInt(skippable + 1) * BigInt(skippable + 2)) / 2n
  if (pairs > BigInt(answers))
    throw tooManyWorlds(
      'the query falls between two ranks, and more pairs of values can be at them than can be counted; for a released ' +
        'size closer to that of the universe, or one for which it falls on a rank, there are fewer',
      { counted: 'pairs', asked: pairs, limit: answers, columns },
    )
}

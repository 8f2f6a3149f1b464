import { entry } from '../../privacy/must.ts'
import { greatestCommonDivisor, type Rational } from '../../privacy/rational.ts'
import { ascendingPositions, compare, type ExactQuery, placeAt } from './exact-query.ts'
import { type ColumnLimits, LARGEST_SUM_TABLE, tooManyWorlds } from './limits.ts'
import { binomialsOf, positionsUpTo } from './subsets.ts'

/** An exact answer and its number of worlds. */
export interface AnswerCount {
  readonly answer: bigint
  /** A double: exact up to 2^53, and to within a few roundings beyond. */
  readonly worlds: number
}

/**
 * Counts, when it is called, the distinct answers in ascending order without enumerating worlds; for at most 1e300
 * worlds. Proof: src/studies/risk/disclosure-risk.md.
 *
 * @throws Refusal `too-many-worlds` at once, if counting would take too long.
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
      throw new RangeError('a query over squares has no structure by order')
  }
}

/** Counts the same from the answers of all worlds. */
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
 * Counts sums of those released or, if they are fewer, of those left out, which the total lacks. Sums are counted in
 * steps above the least value, so that any number of the least value contributes 0.
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

/** Values as whole steps above the least value, with the largest possible step. */
function inSteps(values: readonly bigint[]) {
  const ascending = ascendingPositions(values).map((position) => entry(values, position))
  const least = entry(ascending, 0)
  const above = ascending.map((value) => value - least)
  const step = above.reduce(greatestCommonDivisor, 0n) || 1n
  return { least, step, steps: above.map((value) => value / step) }
}

/** Hypergeometric counts: the ways to choose 0, 1, ... of the ones among all people. */
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
 * Number of ways to choose a given number of the values, by their sum.
 * @param sums for 0, 1, ... chosen values, the length of the table of their sums
 */
function countsOfSums(values: readonly number[], sums: readonly number[]): Float64Array {
  const chosen = sums.length - 1
  /** Counts by the number of chosen values and by their sum. */
  const ways = sums.map((length) => new Float64Array(length))
  ways[0]?.fill(1)
  for (const [place, value] of values.entries()) {
    const largestSums = [0]
    for (let below = place; below >= 0 && below > place - chosen; below -= 1)
      largestSums.push((largestSums.at(-1) ?? 0) + entry(values, below))
    // In descending order, so that no value is chosen twice.
    for (let count = largestSums.length - 1; count > 0; count -= 1)
      addShifted(ways[count], ways[count - 1], value, entry(largestSums, count))
  }
  return ways[chosen] ?? new Float64Array()
}

/** Adds to each sum up to the largest the count of the sum without the value. */
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
  const [answers = 0n, entries] = [sums.at(-1), sums.reduce((total, length) => total + length)]
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

const COARSER = 'these values have too many different sums; round the values to a coarser grid'

/**
 * If the query falls on a rank, a world's answer is the value at the position of that rank. If it falls between two
 * ranks, the answer lies between the values at both positions. The other people of the world are below the first and
 * above the last.
 */
function answersOfOrderStatistic(
  { values }: ExactQuery,
  share: Rational,
  released: number,
): readonly AnswerCount[] {
  const { rank, above } = placeAt(share, released)
  const skippable = values.length - released
  const ascending = ascendingPositions(values).map((position) => entry(values, position))
  const at = (place: number) => entry(ascending, place)
  /** Number of ways in which ranks fill the same number of positions, with some positions skipped. */
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
      'the query falls between two ranks with more possible pairs of values than the service can count; a released ' +
        'size closer to that of the universe, or one for which the query falls on a rank, has fewer',
      { counted: 'pairs', asked: pairs, limit: answers, columns },
    )
}

import { entry } from '../../privacy/must.ts'
import type { Rational } from '../../privacy/rational.ts'
import { answerDifference, ascendingPositions, type ExactQuery, placeAt } from './exact-query.ts'

/** Largest differences between the answers of neighbouring datasets, of which at least one is a possible world. */
export interface Sensitivities {
  /** Between two worlds that differ by exactly the number of changed people. */
  readonly bounded: number
  /** Between a world and a dataset with exactly that many people fewer or more. */
  readonly unbounded: number
}

/**
 * Computes the sensitivities of a query with structure: the answers of the two neighbours that are farthest apart.
 * Proof: src/studies/risk/disclosure-risk.md.
 *
 * @throws RangeError for a variance or a standard deviation.
 */
export function structuredSensitivities(query: ExactQuery, released: number, changed: number): Sensitivities {
  const ascending = ascendingPositions(query.values).map((position) => entry(query.values, position))
  const setting = { query, ascending, released, changed }
  switch (query.kind) {
    case 'sum':
      return sensitivitiesOfSum(setting)
    case 'mean':
      return sensitivitiesOfMean(setting)
    case 'orderStatistic':
      return sensitivitiesOfOrderStatistic({ ...setting, share: query.share })
    default:
      throw new RangeError('a query over squares has no structure by order')
  }
}

interface Setting {
  readonly query: ExactQuery
  /** Values of the universe. */
  readonly ascending: readonly bigint[]
  readonly released: number
  readonly changed: number
}

function sensitivitiesOfSum({ query, ascending, released, changed }: Setting): Sensitivities {
  const { bottom, top } = extremeSums(ascending)
  const apart = (sum: bigint, other: bigint) => answerDifference(query, [sum, released], [other, released])
  return {
    bounded: apart(top(changed), bottom(changed)),
    unbounded: Math.max(apart(top(changed), 0n), apart(0n, bottom(changed))),
  }
}

function sensitivitiesOfMean({ query, ascending, released, changed }: Setting): Sensitivities {
  const { bottom, top } = extremeSums(ascending)
  /** A dataset with `changed` extreme people, and one without them; the others are at the opposite end. */
  const apart = (larger: number) => {
    const smaller = larger - changed
    if (smaller === 0) return 0
    const rise = answerDifference(query, [top(changed) + bottom(smaller), larger], [bottom(smaller), smaller])
    const fall = answerDifference(query, [top(smaller), smaller], [bottom(changed) + top(smaller), larger])
    return Math.max(rise, fall)
  }
  return {
    bounded: answerDifference(query, [top(changed), released], [bottom(changed), released]),
    unbounded: Math.max(apart(released), apart(released + changed)),
  }
}

function extremeSums(ascending: readonly bigint[]) {
  const sums = [0n]
  for (const value of ascending) sums.push((sums.at(-1) ?? 0n) + value)
  const bottom = (count: number) => entry(sums, count)
  return { bottom, top: (count: number) => bottom(ascending.length) - bottom(ascending.length - count) }
}

function sensitivitiesOfOrderStatistic({
  query,
  ascending,
  released,
  changed,
  share,
}: Setting & { readonly share: Rational }): Sensitivities {
  /** An order statistic of a dataset of this size, minus another at the same or a lower position. */
  const largest = (size: number, upper: readonly RankWeight[], lower: readonly RankWeight[]) =>
    answerDifference(query, [largestRise(ascending, size, upper, lower), released], [0n, released])
  /** Removing the top keeps the ranks; removing the bottom raises every rank by the number removed. */
  const apart = (larger: number) => {
    const smaller = larger - changed
    if (smaller === 0) return 0
    const [before, after] = [weightsAt(share, larger), weightsAt(share, smaller)]
    return Math.max(largest(larger, lifted(after, changed), before), largest(larger, before, after))
  }
  const weights = weightsAt(share, released)
  return {
    bounded: largest(released + changed, lifted(weights, changed), weights),
    unbounded: Math.max(apart(released), apart(released + changed)),
  }
}

/** Weight of the value at a rank, counted from 0, in a combination of order statistics. */
interface RankWeight {
  readonly rank: number
  readonly weight: bigint
}

function weightsAt(share: Rational, size: number): readonly RankWeight[] {
  const { rank, above } = placeAt(share, size)
  return [
    { rank, weight: share.denominator - above },
    { rank: rank + 1, weight: above },
  ]
}

function lifted(weights: readonly RankWeight[], ranks: number): readonly RankWeight[] {
  return weights.map(({ rank, weight }) => ({ rank: rank + ranks, weight }))
}

/**
 * Largest difference of two interpolated order statistics of one subset of that size, the upper one at the same or a
 * higher position. Below some rank no weight of the difference is positive and above it none is negative. So the
 * values at the ranks of the negative weights are least, and those at the others largest, in one subset: the one
 * without any of the values between them.
 */
function largestRise(
  ascending: readonly bigint[],
  size: number,
  upper: readonly RankWeight[],
  lower: readonly RankWeight[],
): bigint {
  const weightOf = new Map<number, bigint>()
  for (const { rank, weight } of upper) weightOf.set(rank, weight)
  for (const { rank, weight } of lower) weightOf.set(rank, (weightOf.get(rank) ?? 0n) - weight)
  const skipped = ascending.length - size
  let rise = 0n
  // The rank after the last one has no weight, and no value.
  for (const [rank, weight] of weightOf)
    if (weight !== 0n) rise += weight * entry(ascending, weight > 0n ? rank + skipped : rank)
  return rise
}

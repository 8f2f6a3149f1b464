import { answerDifference, type ExactDataset, type ExactQuery, emptyDataset } from './exact-query.ts'
import type { Sensitivities } from './sensitivities.ts'
import { binomial, forEachSubset, positionsUpTo } from './subsets.ts'

/*
 * Enumeration of possible worlds and their neighbours. The smaller of a world and its complement is enumerated:
 * 10,000 people without one give 10,000 worlds, each one step from the whole universe.
 */

/** Exact answer of every world, in the lexicographic order of its positions. */
export function answersOfWorlds(query: ExactQuery, released: number): readonly bigint[] {
  const answers: bigint[] = []
  const dataset = emptyDataset(query)
  const isReversed = walkWorlds(query.values.length, released, dataset, () => {
    answers.push(dataset.answer())
  })
  return isReversed ? answers.reverse() : answers
}

/** Number of values that are read to compare all worlds with all their neighbours. */
export function valuesOfNeighbours(query: ExactQuery, released: number, changed: number): bigint {
  const size = query.values.length
  const [removals, additions] = [binomial(released, changed), binomial(size - released, changed)]
  const neighbours = removals + additions + removals * additions
  // Sums change by the people who join and leave; an order statistic is looked up starting from the least value.
  const read = query.kind === 'orderStatistic' ? size : 2 * changed
  return binomial(size, released) * (BigInt(size) + neighbours * BigInt(read))
}

/** Computes the sensitivities by comparing every world with every neighbour. */
export function enumeratedSensitivities(query: ExactQuery, released: number, changed: number): Sensitivities {
  const everybody = positionsUpTo(query.values.length)
  const dataset = emptyDataset(query)
  const present = new Uint8Array(everybody.length)
  const marked = {
    add: (position: number) => {
      present[position] = 1
      dataset.add(position)
    },
    remove: (position: number) => {
      present[position] = 0
      dataset.remove(position)
    },
  }
  // On the empty set only sums have an answer, and the missing people then join some other world.
  const someStay = released > changed
  let [bounded, unbounded] = [0, 0]
  walkWorlds(everybody.length, released, marked, () => {
    const members = everybody.filter((position) => present[position] === 1)
    const rest = everybody.filter((position) => present[position] === 0)
    const answer = dataset.answer()
    const [fewer, more, replaced] = [extremes(), extremes(), extremes()]
    const added = (into: Extremes) => ({
      take: dataset.add,
      putBack: dataset.remove,
      visit: () => into.include(dataset.answer()),
    })
    forEachSubset(rest, changed, added(more))
    forEachSubset(members, changed, {
      take: dataset.remove,
      putBack: dataset.add,
      visit: () => {
        if (someStay) fewer.include(dataset.answer())
        forEachSubset(rest, changed, added(replaced))
      },
    })
    const farthest = ({ found }: Extremes, size: number) =>
      Math.max(
        0,
        ...found.map((other) => Math.abs(answerDifference(query, [answer, released], [other, size]))),
      )
    bounded = Math.max(bounded, farthest(replaced, released))
    unbounded = Math.max(unbounded, farthest(fewer, released - changed), farthest(more, released + changed))
  })
  return { bounded, unbounded }
}

/** Visits all worlds in the lexicographic order of their positions, or in its reverse, and returns which. */
function walkWorlds(
  size: number,
  released: number,
  { add, remove }: Pick<ExactDataset, 'add' | 'remove'>,
  visit: () => void,
): boolean {
  const everybody = positionsUpTo(size)
  if (2 * released <= size) {
    forEachSubset(everybody, released, { take: add, putBack: remove, visit })
    return false
  }
  for (const position of everybody) add(position)
  forEachSubset(everybody, size - released, { take: remove, putBack: add, visit })
  // Where two worlds first differ, the earlier one contains the person whom the later one leaves out.
  return true
}

/** Least and largest of the answers of datasets of one size; undefined if there was none. */
interface Extremes {
  readonly found: bigint[]
  readonly include: (answer: bigint) => void
}

function extremes(): Extremes {
  const found: bigint[] = []
  return {
    found,
    include: (answer) => {
      const [least = answer, largest = answer] = found
      found[0] = answer < least ? answer : least
      found[1] = answer > largest ? answer : largest
    },
  }
}

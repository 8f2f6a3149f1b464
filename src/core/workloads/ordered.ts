import { entry } from '../../privacy/must.ts'
import type { NoiseShape } from '../mechanisms/measurement.ts'

/*
 * Counts of one ordered column through Haar nodes: at every level the cells are divided into nodes of 2, 4, 8, ... cells, and
 * of each node the number of rows in its first half less that in its second half is measured; and the number of all rows.
 * One row is in one node of each level and moves its difference by 1. Every cumulative count, and every range, follows
 * from few of them: workloads.md, "One ordered column".
 */

/** The least power of 2 that is at least `cells`, as its exponent: the number of levels. */
export function levelsFor(cells: number): number {
  return cells <= 1 ? 0 : 32 - Math.clz32(cells - 1)
}

/**
 * The integers to measure: the number of all rows, then the differences of each level, from the one node of all cells to
 * those of two cells. Cells beyond the last one are empty.
 */
export function haarNodes(counts: readonly bigint[]): readonly (readonly bigint[])[] {
  return nodesOf(counts, 0n, (first, second, sign) => first + sign * second)
}

/**
 * The nodes of any quantities that can be added and subtracted, as {@link haarNodes}.
 * @param none the quantity of an empty cell
 * @param combine adds the second quantity to the first, or subtracts it where the sign is -1
 */
export function nodesOf<Quantity>(
  cells: readonly Quantity[],
  none: Quantity,
  combine: (first: Quantity, second: Quantity, sign: 1n | -1n) => Quantity,
): readonly (readonly Quantity[])[] {
  const levels = levelsFor(cells.length)
  const empty = Array.from({ length: 2 ** levels - cells.length }, () => none)
  let sums: readonly Quantity[] = [...cells, ...empty]
  const nodes: (readonly Quantity[])[] = []
  for (let level = 0; level < levels; level += 1) {
    const halves = sums
    const pairs = Array.from({ length: halves.length / 2 }, (_, node) => 2 * node)
    const each = (sign: 1n | -1n) =>
      pairs.map((first) => combine(entry(halves, first), entry(halves, first + 1), sign))
    nodes.unshift(each(-1n))
    sums = each(1n)
  }
  return [sums, ...nodes]
}

/**
 * The cumulative counts that follow from measured nodes: of the first cell, of the first two, and so on.
 * @returns numerators over 2^levels, exact
 */
export function cumulativeCounts(nodes: readonly (readonly bigint[])[], cells: number): readonly bigint[] {
  const levels = nodes.length - 1
  // Sums of nodes over the one denominator 2^levels. Each half is exact: `level` halvings leave a whole number.
  let sums = entry(nodes, 0).map((total) => total << BigInt(levels))
  for (let level = 1; level <= levels; level += 1) {
    const differences = entry(nodes, level)
    sums = sums.flatMap((sum, node) => {
      const difference = entry(differences, node) << BigInt(levels)
      return [(sum + difference) / 2n, (sum - difference) / 2n]
    })
  }
  let total = 0n
  return sums.slice(0, cells).map((sum) => {
    total += sum
    return total
  })
}

/** Sum over all cumulative counts of the square of the factor with which nodes of each level enter. */
function squaresByLevel(cells: number): readonly number[] {
  const levels = levelsFor(cells)
  const squares = Array.from({ length: levels + 1 }, () => 0)
  for (let prefix = 1; prefix <= cells; prefix += 1)
    for (const [level, factor] of factorsOf(prefix, levels).entries())
      squares[level] = entry(squares, level) + factor ** 2
  return squares
}

/** The factors with which the total and one node of each level enter the count of the first `prefix` cells. */
export function factorsOf(prefix: number, levels: number): readonly number[] {
  const factors = [prefix / 2 ** levels]
  for (let level = 1; level <= levels; level += 1) {
    const half = 2 ** (levels - level)
    const inside = prefix % (2 * half)
    factors.push((inside <= half ? inside : 2 * half - inside) / (2 * half))
  }
  return factors
}

/** Rounds in which the worst moves are found. One move needs one. */
const ROUNDS = 100

/**
 * Precisions of the total and of each level, with the least variance of all cumulative counts together among those where no
 * move costs more than 1: of Gaussian noise, 1 / variance; of Laplace noise, 1 / scale. Any precisions are private at their own
 * price; these are best up to the rounds that find which moves cost most.
 * @param moves how far a unit moves the total and each level, for all the ways in which it can: L2^2 for Gaussian noise, L1 for
 * Laplace noise
 */
export function haarPrecisions(
  cells: number,
  noise: NoiseShape,
  moves: readonly (readonly number[])[],
): readonly number[] {
  const squares = squaresByLevel(cells)
  let multipliers = moves.map(() => 1)
  let precisions: readonly number[] = []
  for (let round = 0; round < (moves.length === 1 ? 1 : ROUNDS); round += 1) {
    // The least variance if the moves, weighted by their multipliers, cost 1 together (Lagrange).
    const roots = squares.map((square, level) => {
      const cost = moves.reduce((sum, move, place) => sum + entry(multipliers, place) * entry(move, level), 0)
      return noise === 'gaussian' ? Math.sqrt(square / cost) : Math.cbrt(square / cost)
    })
    const costs = moves.map((move) => move.reduce((sum, own, level) => sum + own * entry(roots, level), 0))
    const most = Math.max(...costs)
    precisions = roots.map((root) => root / most)
    multipliers = multipliers.map((each, place) => each * (entry(costs, place) / most))
  }
  return precisions
}

/** A cumulative count of the first `prefix` cells and its factor in a linear combination. */
export interface WeightedPrefix {
  readonly prefix: number
  readonly factor: number
}

/**
 * The factors with which nodes enter a linear combination of cumulative counts: for the total and for each level, one for every
 * node that does. A range is the difference of two cumulative counts, in which most nodes cancel.
 */
export function nodeFactors(
  combination: readonly WeightedPrefix[],
  levels: number,
): readonly (readonly number[])[] {
  const byNode = Array.from({ length: levels + 1 }, () => new Map<number, number>())
  for (const { prefix, factor } of combination)
    for (const [level, own] of factorsOf(prefix, levels).entries()) {
      if (own === 0) continue
      const node = level === 0 ? 0 : Math.floor(prefix / 2 ** (levels - level + 1))
      const nodes = entry(byNode, level)
      nodes.set(node, (nodes.get(node) ?? 0) + factor * own)
    }
  return byNode.map((nodes) => [...nodes.values()].filter((factor) => factor !== 0))
}

import { entry } from '../../privacy/must.ts'
import type { NoiseShape } from '../mechanisms/measurement.ts'
import { type ColumnSet, cellsIn, contains, subsetsOf } from './column-sets.ts'

/*
 * Shares of the price of a workload: which tables to measure, and how well, so that all tables of the workload that are
 * estimated from them have the least error. Floating point: shares decide how good the estimates are, never whether
 * they are private. Derivation: workloads.md, "Shares".
 */

/** The tables that people ask for. */
export interface Workload {
  /** Number of cells of each column. */
  readonly sizes: readonly number[]
  readonly tables: readonly ColumnSet[]
  /** Beyond this number of cells a table is measured only if it is part of one that is asked for. */
  readonly mostCells?: number
}

/** A table to measure, and its share of the price. */
export interface Share {
  readonly set: ColumnSet
  readonly share: number
  /** To which its noise is proportional. */
  readonly sensitivity: number
}

/**
 * What to minimise: the variance of all cells together (`total`), that of the worst cell (`largest`), the sum over all
 * cells of variance times the weight of the table, or the largest quotient of a cell's deviation and what its table may have.
 */
export type Objective =
  | 'total'
  | 'largest'
  | readonly number[]
  | { readonly largestAgainst: readonly number[] }

const MOST_ROUNDS = 600
/** A solution is good enough once this many rounds improve it by less than a part of {@link ENOUGH}. */
const CHECKED_ROUNDS = 25
const ENOUGH = 1e-5
/** Measurements whose share is this part of an equal share, or less, are left out. */
const NEGLIGIBLE = 2e-3
/** All combinations of this number of columns or fewer may be measured, not only parts of the tables asked for. */
const FEW_COLUMNS = 6
/** Default of {@link Workload.mostCells}. */
const MANY_CELLS = 1_000_000
/** With Laplace noise there are many local minima, and a workload of few columns is solved from several starts. */
const STARTS = 12

/**
 * Chooses the tables to measure and their shares, which add up to 1. The result depends on its arguments alone.
 * @param sensitivityOf the sensitivity of each table, to which its noise is proportional
 */
export function sharesOf(
  workload: Workload,
  noise: NoiseShape,
  objective: Objective,
  sensitivityOf: (set: ColumnSet) => number = () => 1,
): readonly Share[] {
  const problem = problemOf(workload, objective, sensitivityOf)
  const few = workload.sizes.length <= FEW_COLUMNS
  const starts = noise === 'laplace' && few ? STARTS : 1
  const found = Array.from({ length: starts }, (_, start) =>
    solve(problem, noise, objective, startAt(problem, start)),
  )
  const { shares } = found.reduce((best, next) => (next.loss < best.loss ? next : best))
  return withoutNegligible(workload, problem, shares).map((share) => ({
    ...share,
    sensitivity: sensitivityOf(share.set),
  }))
}

interface Problem {
  /** Tables that may be measured. */
  readonly candidates: readonly ColumnSet[]
  /** Parts of each candidate, from `starts[i]` to `starts[i + 1]`: components, and the factor of their information. */
  readonly parts: Int32Array
  readonly factors: Float64Array
  readonly starts: Int32Array
  /** Number of components, which come first among the candidates: the sets that are part of some table asked for. */
  readonly components: number
  /** The same for the tables asked for: what each component adds to the variance of a cell. */
  readonly tableParts: Int32Array
  readonly tableFactors: Float64Array
  readonly tableStarts: Int32Array
  /** Weight of each table: of its cells, times their number. */
  readonly tableWeights: Float64Array
  /** The variance that counts as 1 in the cells of each table, where the worst one is what matters. */
  readonly tableUnits: Float64Array
}

function problemOf(
  { sizes, tables, mostCells = MANY_CELLS }: Workload,
  objective: Objective,
  sensitivityOf: (set: ColumnSet) => number,
): Problem {
  const needed = [...new Set(tables.flatMap(subsetsOf))]
  const further = sizes.length > FEW_COLUMNS ? [] : subsetsOf(2 ** sizes.length - 1)
  const extra = further.filter((set) => !needed.includes(set) && cellsIn(set, sizes) <= mostCells)
  const candidates = [...needed, ...extra]
  const places = new Map(needed.map((set, place) => [set, place]))
  // A table of S says about component T what a table of T with that many times the variance would say.
  const precisions = new Map(candidates.map((set) => [set, sensitivityOf(set) ** -2]))
  const measured = partsOf(
    candidates,
    places,
    (set, part) => (precisions.get(set) ?? 1) / cellsIn(set & ~part, sizes),
  )
  const estimated = partsOf(tables, places, (set, part) => componentFactor(set, part, sizes))
  const weightOf = (place: number) =>
    isOfWorst(objective) || objective === 'total' ? 1 : entry(objective, place)
  const deviationOf = (place: number) =>
    typeof objective === 'object' && 'largestAgainst' in objective
      ? entry(objective.largestAgainst, place)
      : 1
  return {
    candidates,
    ...measured,
    components: needed.length,
    tableParts: estimated.parts,
    tableFactors: estimated.factors,
    tableStarts: estimated.starts,
    tableWeights: Float64Array.from(tables, (set, place) => weightOf(place) * cellsIn(set, sizes)),
    tableUnits: Float64Array.from(tables, (_, place) => deviationOf(place) ** 2),
  }
}

/** True if the worst cell is what matters. */
function isOfWorst(
  objective: Objective,
): objective is 'largest' | { readonly largestAgainst: readonly number[] } {
  return objective === 'largest' || (typeof objective === 'object' && 'largestAgainst' in objective)
}

/** The part of a cell's variance that a component of information 1 has. */
function componentFactor(set: ColumnSet, part: ColumnSet, sizes: readonly number[]): number {
  let factor = 1
  for (const [column, size] of sizes.entries()) {
    if (!((set >> column) & 1)) continue
    factor *= (part >> column) & 1 ? (size - 1) / size : 1 / size ** 2
  }
  return factor
}

function partsOf(
  sets: readonly ColumnSet[],
  places: ReadonlyMap<ColumnSet, number>,
  factorOf: (set: ColumnSet, part: ColumnSet) => number,
) {
  const [parts, factors, starts]: [number[], number[], number[]] = [[], [], [0]]
  for (const set of sets) {
    for (const part of subsetsOf(set)) {
      const place = places.get(part)
      if (place === undefined) continue
      parts.push(place)
      factors.push(factorOf(set, part))
    }
    starts.push(parts.length)
  }
  return {
    parts: Int32Array.from(parts),
    factors: Float64Array.from(factors),
    starts: Int32Array.from(starts),
  }
}

/** The first start is the same for all candidates; others come from a fixed sequence (Knuth's MMIX generator). */
function startAt({ candidates }: Problem, start: number): Float64Array {
  let state = BigInt(start)
  return Float64Array.from(candidates, () => {
    if (start === 0) return 1
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n)
    return (Number(state >> 33n) / 2 ** 31) ** 3 + 1e-6
  })
}

/**
 * Multiplicative updates: the share of a candidate grows with what it would save. At a fixed point all candidates with a
 * share save the same, which is the condition of a minimum; with Gaussian noise there is only one.
 */
function solve(problem: Problem, noise: NoiseShape, objective: Objective, start: Float64Array) {
  const { candidates, parts, factors, starts, components } = problem
  const shares = normalised(start)
  const weights = normalised(Float64Array.from(problem.tableWeights))
  const information = new Float64Array(components)
  const savings = new Float64Array(components)
  const needs = new Float64Array(components)
  let best = { loss: Number.POSITIVE_INFINITY, shares: Float64Array.from(shares) }
  let before = Number.POSITIVE_INFINITY
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    if (round % CHECKED_ROUNDS === 0) {
      if (best.loss > before * (1 - ENOUGH)) break
      before = best.loss
    }
    information.fill(0)
    for (let place = 0; place < candidates.length; place += 1) {
      const share = entry(shares, place)
      const own = noise === 'gaussian' ? share : share ** 2
      for (let at = entry(starts, place); at < entry(starts, place + 1); at += 1)
        information[entry(parts, at)] = entry(information, entry(parts, at)) + own * entry(factors, at)
    }
    const loss = needsOf(problem, objective, information, weights, needs)
    if (loss < best.loss) best = { loss, shares: Float64Array.from(shares) }
    for (let part = 0; part < components; part += 1)
      savings[part] = entry(needs, part) / entry(information, part) ** 2
    for (let place = 0; place < candidates.length; place += 1) {
      let saved = 0
      for (let at = entry(starts, place); at < entry(starts, place + 1); at += 1)
        saved += entry(savings, entry(parts, at)) * entry(factors, at)
      const share = entry(shares, place)
      shares[place] = noise === 'gaussian' ? share * Math.sqrt(saved) : share * Math.cbrt(share * saved)
    }
    normalised(shares)
  }
  return best
}

/**
 * Computes what each component adds to the loss at information 1, and returns the loss. For the largest variance, the
 * tables are weighted by what makes their weighted sum largest: the dual of the minimax problem.
 */
function needsOf(
  { tableParts, tableFactors, tableStarts, tableUnits }: Problem,
  objective: Objective,
  information: Float64Array,
  weights: Float64Array,
  needs: Float64Array,
): number {
  needs.fill(0)
  let [total, largest] = [0, 0]
  const adapts = isOfWorst(objective)
  for (let table = 0; table < weights.length; table += 1) {
    const weight = entry(weights, table)
    let variance = 0
    for (let at = entry(tableStarts, table); at < entry(tableStarts, table + 1); at += 1) {
      const [part, factor] = [entry(tableParts, at), entry(tableFactors, at)]
      variance += factor / entry(information, part)
      needs[part] = entry(needs, part) + weight * factor
    }
    total += weight * variance
    const excess = variance / entry(tableUnits, table)
    largest = Math.max(largest, excess)
    if (adapts) weights[table] = weight * Math.sqrt(excess)
  }
  if (adapts) normalised(weights)
  return adapts ? largest : total
}

function normalised(values: Float64Array): Float64Array {
  const sum = values.reduce((total, value) => total + value, 0)
  for (let place = 0; place < values.length; place += 1) values[place] = entry(values, place) / sum
  return values
}

/**
 * Leaves out what is hardly measured, unless a table would then be part of none that is: columns of one cell can make a table
 * that others say everything about.
 */
function withoutNegligible(
  { tables }: Workload,
  { candidates }: Problem,
  shares: Float64Array,
): readonly Pick<Share, 'set' | 'share'>[] {
  const least = NEGLIGIBLE / candidates.length
  const all = candidates.map((set, place) => ({ set, share: entry(shares, place) }))
  const kept = all.filter(({ share }) => share > least)
  const uncovered = tables.filter((table) => !kept.some(({ set }) => contains(set, table)))
  const chosen = [...kept, ...[...new Set(uncovered)].map((set) => ({ set, share: least }))]
  const total = chosen.reduce((sum, { share }) => sum + share, 0)
  return chosen.map(({ set, share }) => ({ set, share: share / total })).toSorted((a, b) => a.set - b.set)
}

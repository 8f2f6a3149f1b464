import { entry, must } from '../../privacy/must.ts'
import { type ColumnSet, cellsIn, columnsIn, contains, sizesIn, subsetsOf } from './column-sets.ts'
import type { Workload } from './shares.ts'

/*
 * The best linear unbiased estimates of tables from noisy tables, by the residual decomposition: a table of columns A is
 * the sum over all T within A of a component, which adds up to 0 over each column of T, and each component is estimated from
 * every measured table that contains T. Exact integers throughout, so that estimates of different tables agree to the last
 * digit: workloads.md, "Estimates".
 */

/** The weights of the measured tables in each component, as whole numbers that add up to {@link WHOLE}. */
export interface Reconstruction extends Workload {
  /** The measured tables. */
  readonly measured: readonly ColumnSet[]
  /** For each measured table: its weight in each component that it contributes to. */
  readonly weights: readonly ReadonlyMap<ColumnSet, number>[]
}

/** The sum of the weights of a component. */
export const WHOLE = 2 ** 24

/**
 * Weighs measured tables. A table S estimates the component T with a variance proportional to its own variance per cell and
 * to the number of its cells for each cell of T; weights are inverse to it.
 * @param variances the variance per cell of each measured table; only their quotients matter.
 * @throws RangeError if a table is part of no measured one.
 */
export function reconstructionOf(
  { sizes, tables }: Workload,
  measured: readonly ColumnSet[],
  variances: readonly number[],
): Reconstruction {
  const weights = measured.map(() => new Map<ColumnSet, number>())
  for (const component of new Set(tables.flatMap(subsetsOf))) {
    const sources = [...measured.keys()].filter((place) => contains(entry(measured, place), component))
    const information = sources.map(
      (place) => 1 / (entry(variances, place) * cellsIn(entry(measured, place) & ~component, sizes)),
    )
    const total = information.reduce((sum, part) => sum + part, 0)
    const whole = information.map((part) => Math.floor((part / total) * WHOLE))
    const heaviest = information.indexOf(Math.max(...information))
    if (heaviest === -1) throw new RangeError('a table is part of no measured one')
    const rest = WHOLE - whole.reduce((sum, part) => sum + part, 0)
    whole[heaviest] = entry(whole, heaviest) + rest
    for (const [at, weight] of whole.entries())
      if (weight > 0) entry(weights, entry(sources, at)).set(component, weight)
  }
  return { sizes, tables, measured, weights }
}

/**
 * Prepares estimates from measured tables.
 * @param integers the noisy tables, all in one unit
 * @returns a function of a table of the workload: the numerator of each cell over one denominator
 */
export function estimates(
  { sizes, measured, weights }: Reconstruction,
  integers: readonly (readonly bigint[])[],
) {
  const components = new Map<ColumnSet, readonly bigint[]>()
  for (const [place, set] of measured.entries()) {
    const marginals = marginalsOf(set, entry(integers, place), entry(weights, place), sizes)
    for (const [component, weight] of entry(weights, place))
      components.set(
        component,
        weighted(components.get(component), must(marginals.get(component), 'a marginal'), weight),
      )
  }
  for (const [component, values] of components)
    components.set(component, centred(values, sizesIn(component, sizes)))
  return (table: ColumnSet) => ({
    numerators: composed(table, components, sizes),
    denominator: BigInt(WHOLE) * BigInt(cellsIn(table, sizes)),
  })
}

/** Adds up a table over the columns that a part of it lacks. */
export function addedUp(
  values: readonly bigint[],
  set: ColumnSet,
  part: ColumnSet,
  sizes: readonly number[],
): readonly bigint[] {
  let [table, own] = [values, set]
  for (const column of columnsIn(set & ~part)) {
    table = sumOver(table, sizesIn(own, sizes), columnsIn(own).indexOf(column))
    own &= ~(1 << column)
  }
  return table
}

/** Sums of a table over its columns, for every set of columns that is wanted. */
function marginalsOf(
  set: ColumnSet,
  values: readonly bigint[],
  wanted: ReadonlyMap<ColumnSet, unknown>,
  sizes: readonly number[],
): ReadonlyMap<ColumnSet, readonly bigint[]> {
  const marginals = new Map([[set, values]])
  for (const part of subsetsOf(set).toReversed()) {
    if (part === set || ![...wanted.keys()].some((each) => contains(part, each))) continue
    // Of the tables with one column more, the smallest is the quickest to add up.
    const missing = columnsIn(set & ~part).toSorted((a, b) => entry(sizes, a) - entry(sizes, b))
    const column = must(
      missing.find((each) => marginals.has(part | (1 << each))),
      'a table to add up',
    )
    const source = part | (1 << column)
    const axis = columnsIn(source).indexOf(column)
    marginals.set(part, sumOver(must(marginals.get(source), 'a marginal'), sizesIn(source, sizes), axis))
  }
  return marginals
}

/** The number of cells before, along and after a column of a table. */
function around(sizes: readonly number[], axis: number) {
  const product = (part: readonly number[]) => part.reduce((cells, size) => cells * size, 1)
  return {
    before: product(sizes.slice(0, axis)),
    along: entry(sizes, axis),
    after: product(sizes.slice(axis + 1)),
  }
}

function sumOver(values: readonly bigint[], sizes: readonly number[], axis: number): bigint[] {
  const { before, along, after } = around(sizes, axis)
  const sums = Array.from({ length: before * after }, () => 0n)
  let from = 0
  for (let outer = 0; outer < before; outer += 1)
    for (let cell = 0; cell < along; cell += 1)
      for (let inner = 0; inner < after; inner += 1) {
        const at = outer * after + inner
        sums[at] = entry(sums, at) + entry(values, from)
        from += 1
      }
  return sums
}

function weighted(
  sum: readonly bigint[] | undefined,
  values: readonly bigint[],
  weight: number,
): readonly bigint[] {
  const factor = BigInt(weight)
  return sum === undefined
    ? values.map((value) => value * factor)
    : sum.map((value, cell) => value + entry(values, cell) * factor)
}

/** Subtracts from each number, times the size of a column, the sum along the column; for every column. */
function centred(values: readonly bigint[], sizes: readonly number[]): readonly bigint[] {
  return sizes.reduce<readonly bigint[]>((table, size, axis) => {
    const sums = sumOver(table, sizes, axis)
    const { along, after } = around(sizes, axis)
    const factor = BigInt(size)
    return table.map((value, cell) => {
      const outer = Math.floor(cell / (along * after))
      return value * factor - entry(sums, outer * after + (cell % after))
    })
  }, values)
}

/** Adds up the components of a table, column by column: what lacks a column is the same in all of its cells. */
function composed(
  table: ColumnSet,
  components: ReadonlyMap<ColumnSet, readonly bigint[]>,
  sizes: readonly number[],
): readonly bigint[] {
  let parts = new Map(subsetsOf(table).map((part) => [part, must(components.get(part), 'a component')]))
  let expanded = 1
  for (const column of columnsIn(table)) {
    const bit = 1 << column
    const size = entry(sizes, column)
    const next = new Map<ColumnSet, readonly bigint[]>()
    for (const [part, without] of parts) {
      if (part & bit) continue
      const own = must(parts.get(part | bit), 'a component')
      next.set(
        part,
        broadcast(own, without, { before: expanded, along: size, after: without.length / expanded }),
      )
    }
    parts = next
    expanded *= size
  }
  return must(parts.get(0), 'the table')
}

function broadcast(
  own: readonly bigint[],
  without: readonly bigint[],
  { before, along, after }: ReturnType<typeof around>,
): readonly bigint[] {
  const sums: bigint[] = []
  for (let outer = 0; outer < before; outer += 1)
    for (let cell = 0; cell < along; cell += 1)
      for (let inner = 0; inner < after; inner += 1)
        sums.push(entry(own, sums.length) + entry(without, outer * after + inner))
  return sums
}

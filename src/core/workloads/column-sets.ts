/*
 * Sets of the columns of a workload, as bits: bit i is column i. A table of a set has a cell for each combination of
 * cells of its columns, in row-major order: the last column changes fastest.
 */

/** Set of at most 30 columns, a 32-bit integer without its sign. */
export type ColumnSet = number

/** Positions of the columns in a set, ascending. */
export function columnsIn(set: ColumnSet): readonly number[] {
  const columns: number[] = []
  for (let rest = set; rest !== 0; rest &= rest - 1) columns.push(31 - Math.clz32(rest & -rest))
  return columns
}

/** All subsets of a set, from the empty one to the set itself; a set comes after its own subsets. */
export function subsetsOf(set: ColumnSet): readonly ColumnSet[] {
  const subsets: ColumnSet[] = []
  for (let subset = 0; ; subset = (subset - set) & set) {
    subsets.push(subset)
    if (subset === set) return subsets
  }
}

/** True if one set contains the other. */
export function contains(set: ColumnSet, part: ColumnSet): boolean {
  return (set & part) === part
}

/** Number of cells of the table of a set. */
export function cellsIn(set: ColumnSet, sizes: readonly number[]): number {
  let cells = 1
  for (const [column, size] of sizes.entries()) if ((set >> column) & 1) cells *= size
  return cells
}

/** The sizes of the columns in a set, in their order. */
export function sizesIn(set: ColumnSet, sizes: readonly number[]): readonly number[] {
  return sizes.filter((_, column) => (set >> column) & 1)
}

/** All sets of `ways` of the first `columns` columns, in the order in which people list them: 12, 13, 23. */
export function setsOf(ways: number, columns: number, from = 0): readonly ColumnSet[] {
  if (ways === 0) return [0]
  const sets: ColumnSet[] = []
  for (let first = from; first <= columns - ways; first += 1)
    for (const rest of setsOf(ways - 1, columns, first + 1)) sets.push((1 << first) | rest)
  return sets
}

/** Number of sets of `ways` of some columns. */
export function combinations(columns: number, ways: number): number {
  let count = 1
  for (let place = 1; place <= ways; place += 1) count = (count * (columns - ways + place)) / place
  return Math.round(count)
}

import { entry } from '../../privacy/must.ts'
import type { CountedNoise, Noise } from '../mechanisms/noise/weighted-noise.ts'
import { type ColumnSet, cellsIn, columnsIn, subsetsOf } from './column-sets.ts'
import { type Reconstruction, WHOLE } from './reconstruction.ts'

/**
 * The error of a cell of an estimated table, as a combination of the noises of the measured tables. It is the same for all
 * cells of a table. The factor of a measured cell depends on the columns in which it agrees with the estimated one.
 * @param noises the noise of the cells of each measured table
 */
export function cellError(
  { sizes, measured, weights }: Reconstruction,
  table: ColumnSet,
  noises: readonly Noise[],
): readonly CountedNoise[] {
  const cells = cellsIn(table, sizes) * WHOLE
  return measured.flatMap((set, place) => {
    const shared = set & table
    const own = entry(weights, place)
    const elsewhere = cellsIn(set & ~shared, sizes)
    return subsetsOf(shared).map((agreeing) => ({
      noise: entry(noises, place),
      weight: factorAt(agreeing, shared, own, sizes) / cells,
      count: columnsIn(shared & ~agreeing).reduce(
        (count, column) => count * (entry(sizes, column) - 1),
        elsewhere,
      ),
    }))
  })
}

/** Sum over components of their weight, times the size less 1 of each column that agrees, and -1 for each other one. */
function factorAt(
  agreeing: ColumnSet,
  shared: ColumnSet,
  weights: ReadonlyMap<ColumnSet, number>,
  sizes: readonly number[],
): number {
  let factor = 0
  for (const part of subsetsOf(shared)) {
    const weight = weights.get(part)
    if (weight === undefined) continue
    factor += columnsIn(part).reduce(
      (product, column) => product * ((agreeing >> column) & 1 ? entry(sizes, column) - 1 : -1),
      weight,
    )
  }
  return factor
}

import { entry } from '../../privacy/must.ts'
import type { CountedNoise, Noise } from '../mechanisms/noise/weighted-noise.ts'
import { type ColumnSet, cellsIn, columnsIn, subsetsOf } from './column-sets.ts'
import { type Reconstruction, WHOLE } from './reconstruction.ts'

/** Cells of a measured table that enter an estimated cell with one factor. */
interface CellFactor {
  /** Place of the measured table. */
  readonly place: number
  readonly weight: number
  /** Number of such cells. */
  readonly count: number
}

/**
 * The factors with which the measured cells enter a cell of an estimated table. They are the same for all cells of a table: the
 * factor of a measured cell depends on the columns in which it agrees with the estimated one.
 */
export function cellFactors(
  { sizes, measured, weights }: Reconstruction,
  table: ColumnSet,
): readonly CellFactor[] {
  const cells = cellsIn(table, sizes) * WHOLE
  return measured.flatMap((set, place) => {
    const shared = set & table
    const own = entry(weights, place)
    const elsewhere = cellsIn(set & ~shared, sizes)
    return subsetsOf(shared).map((agreeing) => ({
      place,
      weight: factorAt(agreeing, shared, own, sizes) / cells,
      count: columnsIn(shared & ~agreeing).reduce(
        (count, column) => count * (entry(sizes, column) - 1),
        elsewhere,
      ),
    }))
  })
}

/**
 * The error of a cell of an estimated table, as a combination of the noises of the measured tables.
 * @param noises the noise of the cells of each measured table
 */
export function errorOf(factors: readonly CellFactor[], noises: readonly Noise[]): readonly CountedNoise[] {
  return factors.map(({ place, weight, count }) => ({ noise: entry(noises, place), weight, count }))
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

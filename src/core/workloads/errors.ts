import { entry } from '../../privacy/must.ts'
import type { NoiseShape } from '../mechanisms/measurement.ts'
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
 * factor of a measured cell depends on the columns in which it agrees with the estimated one. Of Gaussian noises only the sum of
 * squares matters, so that all cells of a measured table are one with its root.
 */
export function cellFactors(
  { sizes, measured, weights }: Reconstruction,
  table: ColumnSet,
  noise: NoiseShape,
): readonly CellFactor[] {
  const cells = cellsIn(table, sizes) * WHOLE
  return measured.flatMap((set, place) => {
    const shared = set & table
    const elsewhere = cellsIn(set & ~shared, sizes)
    const factors = factorsIn(shared, entry(weights, place), sizes)
    if (noise === 'laplace')
      return factors.map(({ factor, count }) => ({ place, weight: factor / cells, count: count * elsewhere }))
    const squares = factors.reduce((sum, { factor, count }) => sum + count * factor ** 2, 0)
    return [{ place, weight: Math.sqrt(squares * elsewhere) / cells, count: 1 }]
  })
}

/**
 * The error of a cell of an estimated table, as a combination of the noises of the measured tables.
 * @param noises the noise of the cells of each measured table
 */
export function errorOf(factors: readonly CellFactor[], noises: readonly Noise[]): readonly CountedNoise[] {
  return factors.map(({ place, weight, count }) => ({ noise: entry(noises, place), weight, count }))
}

/**
 * For each set of columns in which a measured cell agrees with the estimated one, and the others of `shared` in which it does not:
 * the sum over components of their weight, times the size less 1 of each column that agrees, and -1 for each other one; and the
 * number of such cells. Computed column by column.
 */
function factorsIn(
  shared: ColumnSet,
  weights: ReadonlyMap<ColumnSet, number>,
  sizes: readonly number[],
): readonly { readonly factor: number; readonly count: number }[] {
  let known = subsetsOf(shared).map((part) => {
    const weight = weights.get(part)
    return { factor: weight === undefined ? 0 : weight, count: 1 }
  })
  for (const [place, column] of columnsIn(shared).entries()) {
    const rest = entry(sizes, column) - 1
    // The sets are in the order of binary numbers, in which each column is a digit.
    known = known.map(({ factor, count }, set) => {
      const other = entry(known, set ^ (1 << place)).factor
      return (set >> place) & 1
        ? { factor: other + rest * factor, count }
        : { factor: factor - other, count: count * rest }
    })
  }
  return known
}

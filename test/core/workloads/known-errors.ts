import type { NoiseShape } from '../../../src/core/mechanisms/measurement.ts'
import { deviationOfMany } from '../../../src/core/mechanisms/noise/many-noises.ts'
import type { Noise } from '../../../src/core/mechanisms/noise/weighted-noise.ts'
import { type ColumnSet, cellsIn, setsOf } from '../../../src/core/workloads/column-sets.ts'
import { cellFactors, errorOf } from '../../../src/core/workloads/errors.ts'
import { factorsOf } from '../../../src/core/workloads/ordered.ts'
import { reconstructionOf } from '../../../src/core/workloads/reconstruction.ts'
import { type Objective, sharesOf } from '../../../src/core/workloads/shares.ts'
import { entry } from '../../../src/privacy/must.ts'

/** Cells of the columns of two datasets by which mechanisms for many tables are compared in the literature. */
export const ADULT = [100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2]
export const CPS = [50, 100, 7, 4, 2]

/**
 * Workloads, each with the root mean squared error that no Gaussian noise falls below at rho = 1/2: ResidualPlanner (Xiao, He,
 * Zhang, Kifer 2023, arXiv 2305.08175).
 */
export const WORKLOADS = [
  { data: 'Adult', sizes: ADULT, ways: [1], optimum: 3.047 },
  { data: 'Adult', sizes: ADULT, ways: [2], optimum: 6.359 },
  { data: 'Adult', sizes: ADULT, ways: [3], optimum: 10.515 },
  { data: 'Adult', sizes: ADULT, ways: [0, 1, 2, 3], optimum: 10.665 },
  { data: 'CPS', sizes: CPS, ways: [2], optimum: 2.035 },
  { data: 'CPS', sizes: CPS, ways: [0, 1, 2, 3], optimum: 2.276 },
] as const

/** The standard deviation of a cell of each table, at rho = 1/2 or epsilon = 1, for a sensitivity of 1. */
export function deviationsOf(
  sizes: readonly number[],
  tables: readonly ColumnSet[],
  noise: NoiseShape,
  objective: Objective = 'total',
): readonly number[] {
  const shares = sharesOf({ sizes, tables }, noise, objective)
  const noises = shares.map(
    ({ share }): Noise =>
      noise === 'gaussian'
        ? { kind: 'normal', unit: 2 ** -12, sigma: 1 / Math.sqrt(share) }
        : { kind: 'laplace', unit: 2 ** -12, scaleUnits: 2 ** 12 / share },
  )
  const variances = shares.map(({ share }) => (noise === 'gaussian' ? 1 / share : 2 / share ** 2))
  const reconstruction = reconstructionOf(
    { sizes, tables },
    shares.map(({ set }) => set),
    variances,
  )
  return tables.map((table) => deviationOfMany(errorOf(cellFactors(reconstruction, table, noise), noises)))
}

/** The root mean squared error of all cells of all tables. */
export function rootMeanSquare(
  sizes: readonly number[],
  tables: readonly ColumnSet[],
  deviations: readonly number[],
) {
  const cells = tables.map((table) => cellsIn(table, sizes))
  const squares = deviations.reduce((sum, deviation, place) => sum + deviation ** 2 * (cells[place] ?? 0), 0)
  return Math.sqrt(squares / cells.reduce((sum, count) => sum + count, 0))
}

/** The tables of some numbers of columns. */
export function waysOf(sizes: readonly number[], ways: readonly number[]): readonly ColumnSet[] {
  return ways.flatMap((each) => setsOf(each, sizes.length))
}

/** The variance of the count of the first `prefix` cells, by the variance of each level's nodes. */
export function varianceOfPrefix(prefix: number, variances: readonly number[]): number {
  return factorsOf(prefix, variances.length - 1).reduce(
    (sum, factor, level) => sum + factor ** 2 * entry(variances, level),
    0,
  )
}

import { describe, expect, test } from 'vitest'
import { deviationOfMany } from '../../../src/core/mechanisms/noise/many-noises.ts'
import type { Noise } from '../../../src/core/mechanisms/noise/weighted-noise.ts'
import { type ColumnSet, cellsIn, setsOf } from '../../../src/core/workloads/column-sets.ts'
import { cellFactors, errorOf } from '../../../src/core/workloads/errors.ts'
import { reconstructionOf } from '../../../src/core/workloads/reconstruction.ts'
import { type NoiseShape, type Objective, sharesOf } from '../../../src/core/workloads/shares.ts'

const ADULT = [100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2]
const CPS = [50, 100, 7, 4, 2]

/** The standard deviation of a cell of each table, at rho = 1/2 or epsilon = 1, for a sensitivity of 1. */
function deviationsOf(
  sizes: readonly number[],
  tables: readonly ColumnSet[],
  noise: NoiseShape,
  objective: Objective = 'total',
): readonly number[] {
  const shares = sharesOf({ sizes, tables }, noise, objective)
  expect(shares.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 12)
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
  return tables.map((table) => deviationOfMany(errorOf(cellFactors(reconstruction, table), noises)))
}

function rootMeanSquare(
  sizes: readonly number[],
  tables: readonly ColumnSet[],
  deviations: readonly number[],
) {
  const cells = tables.map((table) => cellsIn(table, sizes))
  const squares = deviations.reduce((sum, deviation, place) => sum + deviation ** 2 * (cells[place] ?? 0), 0)
  return Math.sqrt(squares / cells.reduce((sum, count) => sum + count, 0))
}

const waysOf = (sizes: readonly number[], ways: readonly number[]) =>
  ways.flatMap((each) => setsOf(each, sizes.length))

describe('the best weights of whole tables', () => {
  // The optimum of any Gaussian noise: ResidualPlanner (Xiao, He, Zhang, Kifer 2023, arXiv 2305.08175).
  test.each([
    ['Adult', ADULT, [1], 3.047],
    ['Adult', ADULT, [2], 6.359],
    ['Adult', ADULT, [3], 10.515],
    ['Adult', ADULT, [0, 1, 2, 3], 10.665],
    ['CPS', CPS, [2], 2.035],
    ['CPS', CPS, [0, 1, 2, 3], 2.276],
  ] as const)('%s %j: within 4 %% of the optimum', (_, sizes, ways, optimum) => {
    const tables = waysOf(sizes, ways)
    const error = rootMeanSquare(sizes, tables, deviationsOf(sizes, tables, 'gaussian'))
    expect(error).toBeGreaterThan(optimum * 0.9999)
    expect(error).toBeLessThan(optimum * 1.04)
  })

  test('pure epsilon', () => {
    const tables = waysOf(CPS, [0, 1, 2, 3])
    expect(rootMeanSquare(CPS, tables, deviationsOf(CPS, tables, 'laplace'))).toBeLessThan(9.3)
  })

  test.each(['gaussian', 'laplace'] as const)('the largest error with %s noise', (noise) => {
    const tables = waysOf(CPS, [1, 2, 3])
    const total = deviationsOf(CPS, tables, noise)
    const largest = deviationsOf(CPS, tables, noise, 'largest')
    expect(Math.max(...largest)).toBeLessThan(Math.max(...total) / 3)
    // All tables that limit it have almost the same error.
    expect(largest.filter((each) => each > Math.max(...largest) * 0.9).length).toBeGreaterThan(3)
  })

  test('a table of more weight has a smaller error', () => {
    const tables = waysOf(CPS, [2])
    const equal = deviationsOf(CPS, tables, 'gaussian')
    const stated = deviationsOf(
      CPS,
      tables,
      'gaussian',
      tables.map((_, place) => (place === 9 ? 1e5 : 1)),
    )
    expect(stated[9]).toBeLessThan((equal[9] ?? 0) / 2)
  })
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deviationOfMany } from '../../../src/core/mechanisms/noise/many-noises.ts'
import type { Noise } from '../../../src/core/mechanisms/noise/weighted-noise.ts'
import {
  type ColumnSet,
  cellsIn,
  columnsIn,
  contains,
  setsOf,
  sizesIn,
  subsetsOf,
} from '../../../src/core/workloads/column-sets.ts'
import { cellFactors, errorOf } from '../../../src/core/workloads/errors.ts'
import { estimates, reconstructionOf } from '../../../src/core/workloads/reconstruction.ts'
import { entry } from '../../../src/privacy/must.ts'

/** Sizes of up to three columns, tables that are part of measured ones, variances, and noisy integers. */
const cases = fc
  .array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 3 })
  .chain((sizes) => {
    const all = subsetsOf(2 ** sizes.length - 1)
    return fc.record({
      sizes: fc.constant(sizes),
      measured: fc.uniqueArray(fc.constantFrom(...all), { minLength: 1, maxLength: all.length }),
      variances: fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 8, maxLength: 8 }),
      seed: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    })
  })
  .map(({ sizes, measured, variances, seed }) => ({
    sizes,
    measured,
    tables: [...new Set(measured.flatMap(subsetsOf))],
    variances: measured.map((_, place) => entry(variances, place)),
    numbers: numbersFrom(seed),
  }))

function numbersFrom(seed: number): () => bigint {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return BigInt((state % 2001) - 1000)
  }
}

/** The cell of a part of a table's columns that each cell of the table belongs to. */
function cellsOfPart(set: ColumnSet, part: ColumnSet, sizes: readonly number[]): readonly number[] {
  return Array.from({ length: cellsIn(set, sizes) }, (_, cell) => {
    let [rest, place, step] = [cell, 0, 1]
    for (const column of columnsIn(set).toReversed()) {
      const size = entry(sizes, column)
      if (contains(part, 1 << column)) {
        place += (rest % size) * step
        step *= size
      }
      rest = Math.floor(rest / size)
    }
    return place
  })
}

function sumsOf(
  values: readonly bigint[],
  set: ColumnSet,
  part: ColumnSet,
  sizes: readonly number[],
): readonly bigint[] {
  const sums = Array.from({ length: cellsIn(part, sizes) }, () => 0n)
  for (const [cell, at] of cellsOfPart(set, part, sizes).entries())
    sums[at] = entry(sums, at) + entry(values, cell)
  return sums
}

/** Solves a positive definite system by Gauss's elimination. */
function solved(matrix: number[][], right: number[]): number[] {
  const size = right.length
  for (let pivot = 0; pivot < size; pivot += 1)
    for (let row = pivot + 1; row < size; row += 1) {
      const factor = entry(entry(matrix, row), pivot) / entry(entry(matrix, pivot), pivot)
      const target = entry(matrix, row)
      for (let column = pivot; column < size; column += 1)
        target[column] = entry(target, column) - factor * entry(entry(matrix, pivot), column)
      right[row] = entry(right, row) - factor * entry(right, pivot)
    }
  for (let row = size - 1; row >= 0; row -= 1) {
    let rest = entry(right, row)
    for (let column = row + 1; column < size; column += 1)
      rest -= entry(entry(matrix, row), column) * entry(right, column)
    right[row] = rest / entry(entry(matrix, row), row)
  }
  return right
}

/** Least squares over the cells of all columns. A tiny ridge decides what the tables do not; no table depends on it. */
function leastSquares(
  sizes: readonly number[],
  measured: readonly ColumnSet[],
  variances: readonly number[],
  integers: readonly (readonly bigint[])[],
): readonly number[] {
  const all = 2 ** sizes.length - 1
  const cells = cellsIn(all, sizes)
  const matrix = Array.from({ length: cells }, (_, row) =>
    Array.from({ length: cells }, (_, column): number => (row === column ? 1e-9 : 0)),
  )
  const right = Array.from({ length: cells }, () => 0)
  for (const [place, set] of measured.entries()) {
    const at = cellsOfPart(all, set, sizes)
    for (let row = 0; row < cells; row += 1) {
      right[row] =
        entry(right, row) + Number(entry(entry(integers, place), entry(at, row))) / entry(variances, place)
      for (let column = 0; column < cells; column += 1)
        if (at[row] === at[column])
          entry(matrix, row)[column] = entry(entry(matrix, row), column) + 1 / entry(variances, place)
    }
  }
  return solved(matrix, right)
}

describe('estimates of tables', () => {
  test('are those of least squares over the cells of all columns', () => {
    fc.assert(
      fc.property(cases, ({ sizes, measured, tables, variances, numbers }) => {
        const integers = measured.map((set) => Array.from({ length: cellsIn(set, sizes) }, numbers))
        const estimate = estimates(reconstructionOf({ sizes, tables }, measured, variances), integers)
        const all = 2 ** sizes.length - 1
        const cells = leastSquares(sizes, measured, variances, integers)
        for (const table of tables) {
          const { numerators, denominator } = estimate(table)
          const expected = numerators.map(() => 0)
          for (const [cell, at] of cellsOfPart(all, table, sizes).entries())
            expected[at] = entry(expected, at) + entry(cells, cell)
          for (const [cell, numerator] of numerators.entries())
            expect(Math.abs(Number(numerator) / Number(denominator) - entry(expected, cell))).toBeLessThan(
              0.01,
            )
        }
      }),
      { numRuns: 1500 },
    )
  })

  test('are exact without noise, and agree to the last digit with noise', () => {
    fc.assert(
      fc.property(cases, ({ sizes, measured, tables, variances, numbers }) => {
        const all = 2 ** sizes.length - 1
        const truth = Array.from({ length: cellsIn(all, sizes) }, numbers)
        const reconstruction = reconstructionOf({ sizes, tables }, measured, variances)
        const exact = estimates(
          reconstruction,
          measured.map((set) => sumsOf(truth, all, set, sizes)),
        )
        const noisy = estimates(
          reconstruction,
          measured.map((set) => Array.from({ length: cellsIn(set, sizes) }, numbers)),
        )
        for (const table of tables) {
          const { numerators, denominator } = exact(table)
          expect(numerators).toEqual(sumsOf(truth, all, table, sizes).map((value) => value * denominator))
          const whole = noisy(table)
          for (const part of subsetsOf(table)) {
            const own = noisy(part)
            expect(
              sumsOf(whole.numerators, table, part, sizes).map((value) => value * own.denominator),
            ).toEqual(own.numerators.map((value) => value * whole.denominator))
          }
        }
      }),
      { numRuns: 500 },
    )
  })

  test('have the stated combination of noises', () => {
    fc.assert(
      fc.property(cases, ({ sizes, measured, tables, variances }) => {
        const reconstruction = reconstructionOf({ sizes, tables }, measured, variances)
        const noises = variances.map(
          (variance): Noise => ({ kind: 'normal', unit: 2 ** -20, sigma: Math.sqrt(variance) }),
        )
        // A unit in one measured cell shows its factor in every estimate.
        const squares = new Map(
          tables.map((table) => [table, new Array<number>(cellsIn(table, sizes)).fill(0)]),
        )
        for (const [place, set] of measured.entries())
          for (let cell = 0; cell < cellsIn(set, sizes); cell += 1) {
            const unit = measured.map((each, other) =>
              Array.from({ length: cellsIn(each, sizes) }, (_, at) =>
                other === place && at === cell ? 1n : 0n,
              ),
            )
            const estimate = estimates(reconstruction, unit)
            for (const table of tables) {
              const { numerators, denominator } = estimate(table)
              const sums = squares.get(table) ?? []
              for (const [at, numerator] of numerators.entries())
                sums[at] =
                  entry(sums, at) + (Number(numerator) / Number(denominator)) ** 2 * entry(variances, place)
            }
          }
        for (const table of tables) {
          for (const shape of ['gaussian', 'laplace'] as const) {
            const stated = deviationOfMany(errorOf(cellFactors(reconstruction, table, shape), noises))
            for (const square of squares.get(table) ?? []) expect(stated).toBeCloseTo(Math.sqrt(square), 9)
          }
        }
      }),
      { numRuns: 150 },
    )
  })

  test('need every table to be part of a measured one', () => {
    expect(() => reconstructionOf({ sizes: [2, 2], tables: [3] }, [1, 2], [1, 1])).toThrow(
      'part of no measured one',
    )
  })
})

test('sets of columns', () => {
  expect(setsOf(2, 4).map(columnsIn)).toEqual([
    [0, 1],
    [0, 2],
    [0, 3],
    [1, 2],
    [1, 3],
    [2, 3],
  ])
  expect(subsetsOf(0b101)).toEqual([0, 0b001, 0b100, 0b101])
  expect(sizesIn(0b101, [2, 3, 5])).toEqual([2, 5])
})

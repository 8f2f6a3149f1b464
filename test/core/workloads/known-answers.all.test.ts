import { describe, expect, test } from 'vitest'
import { sharesOf } from '../../../src/core/workloads/shares.ts'
import { CPS, deviationsOf, rootMeanSquare, WORKLOADS, waysOf } from './known-errors.ts'

describe('the best weights of whole tables', () => {
  test.each(WORKLOADS)('$data $ways: within 4 % of the optimum', ({ sizes, ways, optimum }) => {
    const tables = waysOf(sizes, ways)
    const error = rootMeanSquare(sizes, tables, deviationsOf(sizes, tables, 'gaussian'))
    expect(error).toBeGreaterThan(optimum * 0.9999)
    expect(error).toBeLessThan(optimum * 1.04)
  })

  test.each(['gaussian', 'laplace'] as const)(
    'the shares of the price of %s noise add up to the price',
    (noise) => {
      const shares = sharesOf({ sizes: CPS, tables: waysOf(CPS, [0, 1, 2, 3]) }, noise, 'total')
      expect(shares.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 12)
    },
  )

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

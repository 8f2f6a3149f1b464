import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  cumulativeCounts,
  haarNodes,
  haarPrecisions,
  levelsFor,
} from '../../../src/core/workloads/ordered.ts'
import { entry } from '../../../src/privacy/must.ts'
import { varianceOfPrefix } from './known-errors.ts'

const counts = fc.array(fc.bigInt(0n, 1000n), { minLength: 1, maxLength: 40 })

test('cumulative counts follow exactly from the nodes', () => {
  fc.assert(
    fc.property(counts, (cells) => {
      let total = 0n
      const expected = cells.map((count) => {
        total += count
        return total << BigInt(levelsFor(cells.length))
      })
      expect(cumulativeCounts(haarNodes(cells), cells.length)).toEqual(expected)
    }),
  )
})

test('one row moves the total and one node of each level by 1', () => {
  fc.assert(
    fc.property(counts, fc.nat(), (cells, at) => {
      const more = cells.map((count, cell) => (cell === at % cells.length ? count + 1n : count))
      const moved = haarNodes(cells).map((level, place) =>
        level.flatMap((node, index) => {
          const change = entry(entry(haarNodes(more), place), index) - node
          return change === 0n ? [] : [change]
        }),
      )
      for (const level of moved) expect([[1n], [-1n]]).toContainEqual(level)
    }),
  )
})

test('the variance of a cumulative count is that of the nodes it follows from', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), (size) => {
      const levels = levelsFor(size)
      const nodes = haarNodes(Array.from({ length: size }, () => 0n))
      const variances = nodes.map((_, level) => 3 + level)
      const squares = Array.from({ length: size }, () => 0)
      for (const [level, own] of nodes.entries())
        for (const index of own.keys()) {
          const unit = nodes.map((each, place) =>
            each.map((_, node) => (place === level && node === index ? 1n : 0n)),
          )
          for (const [prefix, value] of cumulativeCounts(unit, size).entries())
            squares[prefix] =
              entry(squares, prefix) + (Number(value) / 2 ** levels) ** 2 * entry(variances, level)
        }
      for (const [prefix, square] of squares.entries())
        expect(varianceOfPrefix(prefix + 1, variances)).toBeCloseTo(square, 9)
    }),
  )
})

test('1,024 cumulative counts at rho = 1/2: 3.55, where counts of the cells have 22.6', () => {
  const variances = haarPrecisions(1024, 'gaussian', [Array.from({ length: 11 }, () => 1)]).map(
    (each) => 1 / each,
  )
  const squares = Array.from({ length: 1024 }, (_, cell) => varianceOfPrefix(cell + 1, variances))
  const error = Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / 1024)
  expect(error).toBeGreaterThan(2.91)
  expect(error).toBeLessThan(3.56)
})

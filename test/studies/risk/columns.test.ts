import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Refusal } from '../../../src/privacy/refusal.ts'
import { epsilonOfColumns, riskOfColumns } from '../../../src/studies/risk/columns.ts'
import { MOST_LISTED_NUMBERS } from '../../../src/studies/risk/limits.ts'

const mean = { released: 3, query: { kind: 'mean' } } as const

describe('several columns of a universe', () => {
  test('their lists of worlds share a limit, and are omitted if they are too long', () => {
    const universe = Array.from({ length: 19 }, (_, person) => person)
    const listed = (columns: number, released: number) => {
      const names = Array.from({ length: columns }, (_, column) => [`column ${column}`, universe])
      const question = { columns: Object.fromEntries(names), released, query: { kind: 'mean' } } as const
      const found = riskOfColumns({ ...question, epsilon: 1, response: 3 })
      return found.map(({ posterior }) => posterior?.worlds)
    }
    const inAll = listed(8, 3)
    const numbers = inAll.flatMap((worlds) => worlds?.map(({ positions }) => positions.length + 3) ?? [])
    expect(numbers.length).toBe(8 * 969)
    expect(numbers.reduce((sum, length) => sum + length)).toBeLessThanOrEqual(MOST_LISTED_NUMBERS)
    expect(listed(1, 5)[0]).toHaveLength(11_628)
    expect(listed(2, 5)).toEqual([undefined, undefined])
    expect(listed(1, 8)).toEqual([undefined])
  })

  test('a refusal names the column that is invalid or too large', () => {
    const refusal = (columns: Record<string, number[]>, released: number): Refusal => {
      try {
        riskOfColumns({ columns, released, query: { kind: 'mean' } })
      } catch (error) {
        if (error instanceof Refusal) return error
      }
      throw new Error('nothing was refused')
    }
    const wrong = refusal({ good: [1, 2, 3, 4], bad: [1, 2, 3, 5e-324] }, 3)
    expect(wrong.errors[0]?.field).toBe('universe.bad.3')
    const people = Array.from({ length: 300 }, (_, person) => person)
    const bits = people.map((person) => person % 2)
    const tooMany = refusal({ good: bits, bad: people.map((person) => person * Math.SQRT2) }, 150)
    expect(tooMany).toMatchObject({ code: 'too-many-worlds', facts: { column: 'bad' } })
  })

  test('a curve ends at the requested epsilon, with even steps', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 999, noNaN: true }),
        fc.double({ min: 1e-6, max: 1, noNaN: true }),
        fc.integer({ min: 2, max: 300 }),
        (from, share, points) => {
          const to = from + share * (1_000 - from)
          fc.pre(from < to)
          const columns = { days: [1, 2, 3, 10] }
          const [column] = epsilonOfColumns({ ...mean, columns, risk: 0.5, curve: { from, to, points } })
          const epsilons = column?.curve?.map(({ epsilon }) => epsilon) ?? []
          expect(epsilons).toHaveLength(points)
          expect(Math.max(...epsilons)).toBeLessThanOrEqual(to)
          expect(epsilons.at(-1)).toBeCloseTo(to, 9)
          expect(epsilons[0]).toBe(from)
        },
      ),
    )
  })

  test('without an end a curve extends to twice the largest epsilon found', () => {
    const columns = { days: [1, 2, 3, 10], year: [1, 2, 3, 4], same: [5, 5, 5, 5] }
    const found = epsilonOfColumns({ ...mean, columns, risk: 1 / 3, curve: { from: 0, points: 3 } })
    for (const { curve } of found) expect(curve?.at(-1)?.epsilon).toBeCloseTo(2 * 0.52514968727, 9)
    const [same] = epsilonOfColumns({
      ...mean,
      columns: { same: columns.same },
      risk: 0.5,
      curve: { from: 0, points: 3 },
    })
    expect(same?.curve?.at(-1)?.epsilon).toBe(1)
  })
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { declareDataset } from '../../src/catalog/declaration.ts'
import type { Aggregate, Statistic } from '../../src/planner/aggregate.ts'
import { stabilityOf } from '../../src/planner/stability.ts'
import type { Neighbours } from '../../src/privacy/neighbours.ts'
import { aggregateRows, type StoredRow } from '../engines/reference-engine.ts'

/** A column of these bounds, and two more that decide which rows count and in which cell they are. */
function small(neighbours: Neighbours, lower: number, upper: number, nullable: boolean) {
  return declareDataset(
    {
      id: 'small',
      title: 'Small',
      source: { kind: 'file', path: 'small.csv', format: 'csv' },
      columns: [
        { name: 'Value', type: 'integer', lower, upper, step: 1, nullable },
        { name: 'Counts', type: 'boolean', nullable: false },
        { name: 'Cell', type: 'boolean', nullable: false },
      ],
      privacyUnit: { kind: 'row' },
      neighbours,
      synthetic: true,
      accounting: 'basic',
      sharing: false,
    },
    '1',
    1,
  )
}

const magnitude = (value: bigint) => (value < 0n ? -value : value)
const larger = (a: bigint, b: bigint) => (a > b ? a : b)

test('the stability of a sum is reached by the worst pair of neighbours, for any sum', () => {
  const statistic = fc.record({
    kind: fc.constantFrom('affine-sum' as const, 'affine-square-sum' as const),
    column: fc.constant('Value'),
    factor: fc.bigInt(-3n, 3n),
    offset: fc.bigInt(-20n, 20n),
  })
  fc.assert(
    fc.property(
      statistic,
      fc.tuple(fc.integer({ min: -6, max: 6 }), fc.integer({ min: 1, max: 6 })),
      fc.constantFrom('add-remove' as const, 'change-one' as const),
      fc.record({ filtered: fc.boolean(), grouped: fc.boolean(), nullable: fc.boolean() }),
      (summed, [lower, span], neighbours, { filtered, grouped, nullable }) => {
        const upper = lower + span
        const values = Array.from({ length: span + 1 }, (_, step) => BigInt(lower + step))
        const rows: StoredRow[] = [...values, ...(nullable ? [null] : [])].flatMap((Value) =>
          [true, false].flatMap((Counts) => [true, false].map((Cell) => ({ Value, Counts, Cell }))),
        )
        const statistics: readonly Statistic[] = [summed]
        const aggregate: Aggregate = {
          ...(filtered ? { where: { kind: 'boolean-is', column: 'Counts', value: true } } : {}),
          groupBy: grouped ? [{ kind: 'boolean', column: 'Cell', nullCell: false }] : [],
          statistics,
          bounding: { kind: 'one-row-each' },
        }
        // The difference made by one added or replaced row does not depend on the other rows.
        const sums = rows.map((row) => aggregateRows(aggregate, [row])[0] ?? [])
        const none = aggregateRows(aggregate, [])[0] ?? []
        let reached = { l0: 0n, l1: 0n, l2Squared: 0n, lInfinity: 0n }
        for (const here of sums) {
          for (const there of neighbours === 'add-remove' ? [none] : sums) {
            const moved = here.map((sum, cell) => magnitude(sum - (there[cell] ?? 0n)))
            const entries = BigInt(moved.filter((value) => value > 0n).length)
            reached = {
              l0: larger(reached.l0, entries),
              l1: larger(
                reached.l1,
                moved.reduce((sum, value) => sum + value, 0n),
              ),
              l2Squared: larger(
                reached.l2Squared,
                moved.reduce((sum, value) => sum + value ** 2n, 0n),
              ),
              lInfinity: moved.reduce(larger, reached.lInfinity),
            }
          }
        }
        const dataset = small(neighbours, lower, upper, nullable)
        expect(stabilityOf(summed, aggregate, dataset)).toEqual(reached)
      },
    ),
    { numRuns: 1000 },
  )
})

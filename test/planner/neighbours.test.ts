import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Query, query as querySchema } from '../../schemas/query.ts'
import type { Column, Dataset } from '../../src/catalog/dataset.ts'
import { plan } from '../../src/planner/plan.ts'
import type { Neighbours } from '../../src/privacy/neighbours.ts'
import { aggregateRows, type StoredRow, type StoredValue } from '../engines/reference-engine.ts'
import { people } from './people.ts'

/** Stored values of a column, its extremes often: that is where an aggregate moves most. */
function stored(column: Column): fc.Arbitrary<StoredValue> {
  const present = (): fc.Arbitrary<StoredValue> => {
    switch (column.type) {
      case 'integer':
      case 'number':
        return fc.oneof(
          fc.constantFrom(column.lowerIndex, column.upperIndex),
          fc.bigInt({ min: column.lowerIndex, max: column.upperIndex }),
        )
      case 'category':
        return fc.nat(column.categories.length - 1)
      case 'boolean':
        return fc.boolean()
      case 'string':
        return fc.constantFrom('', 'a', 'b')
    }
  }
  return column.nullable ? fc.oneof({ weight: 4, arbitrary: present() }, fc.constant(null)) : present()
}

const rowOf = (dataset: Dataset): fc.Arbitrary<StoredRow> =>
  fc.record(Object.fromEntries(dataset.columns.map((column) => [column.name, stored(column)])))

const leaf: fc.Arbitrary<object> = fc.oneof(
  fc.record({
    column: fc.constant('Age'),
    op: fc.constantFrom('=', '!=', '<', '<=', '>', '>='),
    value: fc.nat(130),
  }),
  fc.record({
    column: fc.constant('Balance'),
    op: fc.constantFrom('<', '>='),
    value: fc.integer({ min: -60, max: 40 }),
  }),
  fc.record({ column: fc.constantFrom('Income', 'Region', 'Member'), op: fc.constant('isNull') }),
  fc.record({ column: fc.constant('Sex'), op: fc.constantFrom('=', '!='), value: fc.constantFrom('M', 'F') }),
  fc.record({
    column: fc.constant('Region'),
    op: fc.constant('in'),
    values: fc.constantFrom(['N'], ['N', 'S'], ['E']),
  }),
  fc.record({ column: fc.constant('Member'), op: fc.constant('='), value: fc.boolean() }),
  fc.record({ column: fc.constant('Note'), op: fc.constant('='), value: fc.constantFrom('', 'a') }),
)
const where = fc.oneof(
  leaf,
  fc.record({ op: fc.constantFrom('and', 'or'), predicates: fc.array(leaf, { minLength: 1, maxLength: 3 }) }),
  fc.record({ op: fc.constant('not'), predicate: leaf }),
)
const numeric = fc.constantFrom('Age', 'Balance', 'Income')
const grouping = fc.constantFrom(
  'Sex',
  'Region',
  'Member',
  { column: 'Age', edges: [0, 18, 65] },
  { column: 'Income', edges: [10, 100, 500] },
)
const nameOf = (column: string | { column: string }) => (typeof column === 'string' ? column : column.column)

const query: fc.Arbitrary<Query> = fc
  .tuple(
    fc.oneof(
      fc.constant({ kind: 'count' }),
      fc.record({ kind: fc.constantFrom('sum', 'mean'), column: numeric }),
      fc.record({ kind: fc.constant('histogram'), column: grouping }),
      fc.record({
        kind: fc.constant('contingency'),
        columns: fc.uniqueArray(grouping, { minLength: 2, maxLength: 3, selector: nameOf }),
      }),
    ),
    fc.option(where),
  )
  .map(([kind, filter]) =>
    querySchema.parse({ ...kind, epsilon: 1, ...(filter === null ? {} : { where: filter }) }),
  )

/** All neighbours of rows, but for the replacements under change-one, of which one is given. */
function neighboursOf(
  rows: readonly StoredRow[],
  kind: Neighbours,
  replacement: StoredRow,
): readonly StoredRow[][] {
  return rows.map((_, index) => [
    ...rows.slice(0, index),
    ...(kind === 'change-one' ? [replacement] : []),
    ...rows.slice(index + 1),
  ])
}

/** How far two vectors are apart, in the three norms (the second squared). */
function distances(a: readonly bigint[], b: readonly bigint[]) {
  const differences = a
    .map((value, cell) => value - (b[cell] ?? 0n))
    .map((value) => (value < 0n ? -value : value))
  return {
    l1: differences.reduce((sum, value) => sum + value, 0n),
    l2Squared: differences.reduce((sum, value) => sum + value * value, 0n),
    lInfinity: differences.sort((x, y) => (x < y ? -1 : 1)).at(-1) ?? 0n,
  }
}

describe.each(['add-remove', 'change-one'] as const)('under %s', (kind) => {
  const dataset = people(kind)
  const reached = new Map<string, Set<string>>()

  test('no person moves any statistic of any query by more than its sensitivity', () => {
    fc.assert(
      fc.property(
        query,
        fc.array(rowOf(dataset), { minLength: 1, maxLength: 6 }),
        rowOf(dataset),
        (asked, rows, replacement) => {
          const planned = plan(asked, dataset, { maxCells: 1000 })
          const here = aggregateRows(planned.aggregate, rows)
          for (const neighbour of neighboursOf(rows, kind, replacement)) {
            const there = aggregateRows(planned.aggregate, neighbour)
            for (const [index, { sensitivity }] of planned.measurements.entries()) {
              const moved = distances(here[index] ?? [], there[index] ?? [])
              for (const norm of ['l1', 'l2Squared', 'lInfinity'] as const) {
                expect(
                  moved[norm] <= sensitivity[norm],
                  `${norm}: ${moved[norm]} of ${sensitivity[norm]}`,
                ).toBe(true)
                if (moved[norm] === sensitivity[norm]) {
                  reached.set(asked.kind, (reached.get(asked.kind) ?? new Set()).add(`${index} ${norm}`))
                }
              }
            }
          }
        },
      ),
      { numRuns: 3000 },
    )
  })

  // A sensitivity that is too large would pass the test above; one that is reached is exact.
  test('some person moves each statistic by exactly its sensitivity, in every norm', () => {
    const norms = (index: number) => ['l1', 'l2Squared', 'lInfinity'].map((norm) => `${index} ${norm}`)
    for (const asked of ['count', 'sum', 'histogram', 'contingency']) {
      expect([...(reached.get(asked) ?? [])].sort(), asked).toEqual(norms(0).sort())
    }
    expect([...(reached.get('mean') ?? [])].sort()).toEqual([...norms(0), ...norms(1)].sort())
  })
})

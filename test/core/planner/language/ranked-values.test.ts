import { describe, expect, test } from 'vitest'
import { query as querySchema } from '../../../../schemas/answers/query.ts'
import type { Dataset } from '../../../../src/core/dataset/dataset.ts'
import { MOST_UNDECLARED_VALUES, MOST_VALUES } from '../../../../src/core/dataset/value-limits.ts'
import { plan } from '../../../../src/core/planner/plan.ts'
import { Refusal } from '../../../../src/privacy/refusal.ts'
import { column, datasetOf } from '../../../engines/fixture.ts'

const grid = (name: string, points: number, maxValues?: number) => ({
  ...column.integer(name, 0n, BigInt(points) - 1n),
  ...(maxValues === undefined ? {} : { rankable: { maxValues } }),
})

const COLUMNS = [
  grid('small', MOST_UNDECLARED_VALUES),
  grid('large', MOST_UNDECLARED_VALUES + 1),
  grid('declared', 2 ** 53, MOST_VALUES),
  grid('narrow', 2 ** 53, 1_000),
  column.timestamp('second', '2024-01-01T00:00:00Z', '2024-12-31T23:59:59Z'),
  column.category(
    'hundred',
    Array.from({ length: 100 }, (_, place) => String(place)),
  ),
  column.boolean('flag'),
]
const rows = datasetOf(COLUMNS)
const people: Dataset = {
  ...datasetOf([column.identifier('id'), ...COLUMNS]),
  privacyUnit: { kind: 'person', column: 'id', maxRows: 8 },
}

/** The field and the rule of a refusal; `undefined` for a query that can be planned. */
function refused(query: object, dataset: Dataset = rows): string | undefined {
  try {
    plan(querySchema.parse({ epsilon: 1, ...query }), dataset, { maxCells: 10_000 })
    return undefined
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    expect(error.code).toBe('query-does-not-fit')
    return error.errors.map(({ field, rule }) => `${field}: ${rule}`).join()
  }
}

describe('quantiles of a column', () => {
  test.each(['median', 'minimum', 'maximum'])('%s: a large grid must be declared', (kind) => {
    expect(refused({ kind, column: 'small' })).toBeUndefined()
    expect(refused({ kind, column: 'declared' })).toBeUndefined()
    expect(refused({ kind, column: 'large' })).toMatch(
      /^column: must be declared with "rankable".* large has 1048577 grid points, and at most 1048576 need no declaration$/,
    )
    expect(refused({ kind, column: 'second' })).toMatch(/^column: must be declared with "rankable"/)
  })

  test('several percentiles of an undeclared column are refused', () => {
    expect(refused({ kind: 'percentile', column: 'large', p: [10, 90] })).toMatch(/^column: must be declared/)
  })

  test('a condition changes nothing, because it depends on the data how many values it leaves', () => {
    const where = { column: 'large', op: '<', value: 5 }
    expect(refused({ kind: 'median', column: 'large', where })).toMatch(/^column: must be declared/)
    expect(refused({ kind: 'median', column: 'declared', where })).toBeUndefined()
  })

  test('a public number of rows limits the values as well', () => {
    const counted = (number: number): Dataset => ({ ...rows, neighbours: 'change-one', rows: number })
    expect(refused({ kind: 'median', column: 'large' }, counted(MOST_UNDECLARED_VALUES))).toBeUndefined()
    expect(refused({ kind: 'median', column: 'large' }, counted(MOST_UNDECLARED_VALUES + 1))).toBeDefined()
    const source = { kind: 'population', rows: 1_000_000, seed: 's' } as const
    expect(refused({ kind: 'median', column: 'large' }, { ...rows, source })).toBeUndefined()
  })
})

describe('quantiles of groups', () => {
  const ofGroups = (columns: readonly string[], keys: readonly string[]) => ({
    kind: 'groupBy',
    keys,
    statistics: columns.map((name) => ({ kind: 'median', column: name })),
  })

  test('the values of all groups together have a limit', () => {
    expect(refused(ofGroups(['narrow'], ['hundred']))).toBeUndefined()
    expect(refused(ofGroups(['small'], ['flag']))).toBeUndefined()
    expect(refused(ofGroups(['small'], ['hundred']))).toMatch(
      /^statistics.0.column: must have at most 4194304 values in all groups and columns together/,
    )
    expect(refused(ofGroups(['declared'], ['flag']))).toMatch(
      /^statistics.0.column: must have at most 4194304/,
    )
    expect(refused(ofGroups(['large'], ['flag']))).toMatch(/^statistics.0.column: must be declared/)
  })

  test('the values of several columns add up, and those of one column count once', () => {
    const twice = { kind: 'percentile', column: 'small', p: 10 }
    const query = ofGroups(['small'], ['flag'])
    expect(refused({ ...query, statistics: [...query.statistics, twice] })).toBeUndefined()
    expect(refused(ofGroups(['small', 'narrow'], ['flag']))).toBeUndefined()
    expect(refused(ofGroups(['small', 'narrow'], ['flag', 'hundred']))).toMatch(/^statistics.0.column/)
    const half = datasetOf([
      grid('one', MOST_UNDECLARED_VALUES),
      grid('other', 2 ** 53, 2 ** 20 + 1),
      ...COLUMNS,
    ])
    expect(refused(ofGroups(['one', 'other'], ['flag']), half)).toMatch(/^statistics.1.column/)
  })
})

describe('quantiles of values per person', () => {
  test('their grid has a limit, which clamping bounds or fewer rows keep', () => {
    const sums = { kind: 'median', column: 'small', perPerson: 'sum' }
    expect(refused(sums, people)).toMatch(/^contribution.perPerson: must bound the values to at most 4194304/)
    expect(refused({ ...sums, contribution: { rows: 4 } }, people)).toBeUndefined()
    const clamped = { rows: 8, perPerson: { lower: 0, upper: MOST_VALUES - 1 } }
    expect(refused({ ...sums, contribution: clamped }, people)).toBeUndefined()
    const beyond = { rows: 8, perPerson: { lower: 0, upper: MOST_VALUES } }
    expect(refused({ ...sums, contribution: beyond }, people)).toMatch(/^contribution.perPerson/)
  })

  test('a declared limit on the values of rows does not limit sums or means of several', () => {
    for (const perPerson of ['sum', 'mean'])
      expect(refused({ kind: 'median', column: 'narrow', perPerson }, people)).toMatch(
        /^contribution.perPerson/,
      )
    expect(refused({ kind: 'median', column: 'narrow', perPerson: 'count' }, people)).toBeUndefined()
  })

  test('a public number of people limits the values as well', () => {
    const counted: Dataset = { ...people, neighbours: 'change-one', people: MOST_VALUES }
    expect(refused({ kind: 'median', column: 'narrow', perPerson: 'mean' }, counted)).toBeUndefined()
    const more = { ...counted, people: MOST_VALUES + 1 }
    expect(refused({ kind: 'median', column: 'narrow', perPerson: 'mean' }, more)).toBeDefined()
  })
})

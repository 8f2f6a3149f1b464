import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type {
  Aggregate,
  Bounding,
  Predicate,
  Statistic,
} from '../../../src/core/planner/language/aggregate.ts'
import type { DuckDbEngine } from '../../../src/engines/duckdb/engine.ts'
import { folderForAll } from '../../folders.ts'
import { column, openTestEngine, withDuckDb } from '../fixture.ts'
import { peopleDataset } from '../people-table.ts'

/*
 * Bounding and counting of more people than fit into memory. Statements move to the temporary folder what exceeds the
 * memory limit, so that none fails for the number of people.
 */

const PEOPLE = 1_000_000
const ROWS_EACH = 4
const GROUPS = ['a', 'b', 'c', 'd', 'e']

const columns = [
  column.integer('cost', 0n, 1_000_000n),
  column.integer('other', 0n, 1_000_000n),
  column.category('group', GROUPS),
  column.boolean('flag'),
  column.string('text'),
]
const dataset = peopleDataset([column.identifier('id'), ...columns], 'people', ROWS_EACH)

const folder = folderForAll()
let engine: DuckDbEngine
beforeAll(async () => {
  await withDuckDb(
    join(folder.path, 'people.duckdb'),
    `CREATE TABLE rows AS SELECT (hash(range) % 1000001)::BIGINT AS cost, (hash(range + 1) % 1000001)::BIGINT AS other,
      (hash(range + 2) % 5)::INTEGER AS "group", hash(range + 3) % 2 = 0 AS flag, hash(range + 4)::VARCHAR AS text,
      (range // ${ROWS_EACH})::INTEGER AS sotto_person, (range % ${ROWS_EACH} + 1)::INTEGER AS sotto_rank
      FROM range(${PEOPLE * ROWS_EACH})`,
  )
  engine = openTestEngine(folder.path, { memoryLimit: '64MB' })
  await engine.open(dataset)
})
afterAll(async () => {
  await engine.close()
})

const flagged: Predicate = { kind: 'boolean-is', column: 'flag', value: true }
const group = { kind: 'category', column: 'group', size: GROUPS.length, nullCell: true } as const
const rows = (most: number): Bounding => ({ kind: 'rows', rows: most })
const groups = (most: number, rowsPerGroup: number): Bounding => ({
  kind: 'groups',
  groups: most,
  rowsPerGroup,
})
const sum = (name: string): Statistic => ({ kind: 'affine-sum', column: name, factor: 1n, offset: 0n })

/** The sum of each statistic over all cells. */
async function totals(aggregate: Partial<Aggregate> & Pick<Aggregate, 'statistics' | 'bounding'>) {
  const integers = await engine.aggregate(dataset, { where: flagged, groupBy: [], ...aggregate })
  return integers.map((cells) => cells.reduce((total, cell) => total + cell, 0n))
}

it.each([
  ['one row each, of no column', rows(1), [{ kind: 'count' }]],
  ['one row each, of one column', rows(1), [{ kind: 'count', column: 'cost' }, sum('cost')]],
  ['one row each, of several columns', rows(1), [{ kind: 'count' }, sum('cost'), sum('other')]],
] as const)('a count of %s is that of the people', async (_, bounding, statistics) => {
  const [people] = await totals({ statistics: [{ kind: 'count-people' }], bounding: rows(ROWS_EACH) })
  const [counted] = await totals({ statistics, bounding })
  expect(counted).toBe(people)
  // One in 16 people has no row that counts.
  expect(Number(people) / PEOPLE).toBeCloseTo(15 / 16, 2)
})

it('a few rows each are bounded', async () => {
  const statistics: readonly Statistic[] = [{ kind: 'count', column: 'cost' }, sum('cost')]
  const [counted = 0n] = await totals({ statistics, bounding: rows(3) })
  // The number of rows that count is binomial: 2 on average, and 4 with a probability of 1 in 16.
  expect(Number(counted) / PEOPLE).toBeCloseTo(2 - 1 / 16, 2)
})

it('groups and rows in them are bounded', async () => {
  const one = await totals({ groupBy: [group], statistics: [{ kind: 'count' }], bounding: groups(1, 1) })
  expect(Number(one[0]) / PEOPLE).toBeCloseTo(15 / 16, 2)
  const statistics: readonly Statistic[] = [
    { kind: 'count' },
    { kind: 'count-people' },
    sum('cost'),
    sum('other'),
  ]
  const [counted = 0n, people = 0n] = await totals({ groupBy: [group], statistics, bounding: groups(2, 2) })
  expect(counted).toBeGreaterThan(people)
  expect(people).toBeGreaterThan(one[0] ?? 0n)
})

it('people are counted, and have a value each', async () => {
  const perPerson = { kind: 'sum', column: 'cost', lower: 0n, upper: 2_000_000n } as const
  const statistics: readonly Statistic[] = [
    { kind: 'count-people', where: flagged },
    { kind: 'count-people', where: { kind: 'not', predicate: flagged } },
    { kind: 'affine-sum', perPerson, factor: 1n, offset: 0n },
  ]
  const everybody = {
    where: { kind: 'or', predicates: [flagged, { kind: 'not', predicate: flagged }] },
  } as const
  const [flaggedPeople = 0n] = await totals({ ...everybody, statistics, bounding: rows(3) })
  expect(Number(flaggedPeople) / PEOPLE).toBeCloseTo(7 / 8, 2)
  const { counts } = await engine.countIndexes(dataset, { where: flagged, perPerson, bounding: rows(3) })
  expect(counts.reduce((total, count) => total + count, 0) / PEOPLE).toBeCloseTo(15 / 16, 2)
})

it('texts of people are bounded and counted', async () => {
  const texts: Statistic = { kind: 'count-distinct-values', column: 'text', valuesEach: 1 }
  const [counted] = await totals({ statistics: [texts], bounding: rows(ROWS_EACH) })
  expect(Number(counted) / PEOPLE).toBeCloseTo(15 / 16, 2)
})

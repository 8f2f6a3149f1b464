import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { GroupingColumn } from '../../../../schemas/answers/query.ts'
import type { TemporalColumn } from '../../../../src/core/dataset/dataset.ts'
import { planGrouping } from '../../../../src/core/planner/language/grouping.ts'
import type { DuckDbEngine } from '../../../../src/engines/duckdb/engine.ts'
import { ingest } from '../../../../src/engines/duckdb/ingestion/ingest.ts'
import { folderForAll } from '../../../folders.ts'
import { column, datasetOf, openTestEngine, withDuckDb } from '../../fixture.ts'

const folder = folderForAll()
let engine: DuckDbEngine
beforeAll(async () => {
  engine = openTestEngine(folder.path)
})
afterAll(async () => {
  await engine.close()
})

/** DuckDB's own names of the cells of a TIMESTAMP `t`, computed without Sotto's calendar. */
const NAMES = {
  year: "strftime(t, '%Y')",
  quarter: "strftime(t, '%Y') || '-Q' || quarter(t)",
  month: "strftime(date_trunc('month', t), '%Y-%m')",
  week: "strftime(date_trunc('week', t), '%G-W%V')",
  day: "strftime(date_trunc('day', t), '%Y-%m-%d')",
  hour: "strftime(date_trunc('hour', t), '%Y-%m-%dT%HZ')",
  dayOfWeek: 'dayname(t)',
  monthOfYear: 'monthname(t)',
} as const

type Unit = keyof typeof NAMES

const seconds = (text: string) => Date.parse(text) / 1000

/** Instants between two ends, among them many at the turns of years, leap days, days and hours. */
function instantsBetween(from: string, to: string, numRuns = 10_000): readonly number[] {
  const [first, last] = [seconds(from), seconds(to)]
  const any = fc.integer({ min: first, max: last })
  const turns = fc
    .tuple(any, fc.constantFrom(3600, 86_400), fc.constantFrom(-1, 0, 1))
    .map(([instant, length, shift]) => Math.floor(instant / length) * length + shift)
  const newYear = fc
    .tuple(
      fc.integer({
        min: new Date(first * 1000).getUTCFullYear(),
        max: new Date(last * 1000).getUTCFullYear(),
      }),
      fc.integer({ min: -8 * 86_400, max: 8 * 86_400 }),
    )
    .map(([year, shift]) => Date.UTC(year, 0, 1) / 1000 + shift)
  const leapDay = fc
    .tuple(
      fc.integer({
        min: new Date(first * 1000).getUTCFullYear(),
        max: new Date(last * 1000).getUTCFullYear(),
      }),
      fc.integer({ min: -2 * 86_400, max: 2 * 86_400 }),
    )
    .map(([year, shift]) => Date.UTC(year, 1, 29) / 1000 + shift)
  return fc
    .sample(fc.oneof(any, turns, newYear, leapDay), { numRuns, seed: 29 })
    .map((instant) => Math.min(Math.max(instant, first), last))
}

/** Counts the rows of each cell by the engine, through ingestion and planning. Empty cells are left out. */
async function countedBySotto(id: string, declared: TemporalColumn, grouping: GroupingColumn) {
  const dataset = datasetOf([declared], id)
  const { key, labels } = planGrouping(grouping, dataset, 'column')
  await engine.open(dataset)
  const [counts = []] = await engine.aggregate(dataset, {
    groupBy: [key],
    statistics: [{ kind: 'count' }],
    bounding: { kind: 'one-row-each' },
  })
  expect(counts).toHaveLength(labels.length)
  const cells = labels.map((label, cell) => [String(label), Number(counts[cell])] as const)
  return Object.fromEntries(cells.filter(([, count]) => count > 0))
}

/** Ingests a column `t` of timestamps. */
async function ingestInstants(id: string, declared: TemporalColumn, instants: readonly number[]) {
  const sourcePath = join(folder.path, `${id}.parquet`)
  const values = instants.map((instant) => `(${instant})`).join(', ')
  await withDuckDb(
    ':memory:',
    `COPY (SELECT make_timestamp(s::BIGINT * 1000000) AS t FROM (VALUES ${values}) v(s)) TO '${sourcePath}' (FORMAT parquet)`,
  )
  const targetPath = join(folder.path, `${id}.duckdb`)
  await ingest({
    sourcePath,
    format: 'parquet',
    columns: [declared],
    privacyUnit: { kind: 'row' },
    targetPath,
  })
  return sourcePath
}

async function countedByDuckDb(sourcePath: string, name: string, where = 'true') {
  const sql = `SELECT ${name} AS name, count(*)::INTEGER FROM '${sourcePath}' WHERE ${where} GROUP BY name`
  return Object.fromEntries(
    (await withDuckDb(':memory:', sql)).map(([label, count]) => [label, Number(count)]),
  )
}

const DECADES = ['1938-03-05T00:00:00Z', '2034-11-09T00:00:00Z'] as const
const WEEKS = ['1969-12-20T00:00:00Z', '1970-03-01T00:00:00Z'] as const

test.each(Object.keys(NAMES) as Unit[])('instants are in the cells that DuckDB assigns by %s', async (by) => {
  const [from, to] = by === 'hour' ? WEEKS : DECADES
  const declared = column.timestamp('t', from, to)
  const sourcePath = await ingestInstants(`instants-${by}`, declared, instantsBetween(from, to))
  const counted = await countedBySotto(`instants-${by}`, declared, { column: 't', by })
  expect(Object.keys(counted).length).toBeGreaterThan(6)
  expect(counted).toEqual(await countedByDuckDb(sourcePath, NAMES[by]))
})

test.each((Object.keys(NAMES) as Unit[]).filter((by) => by !== 'hour'))(
  'dates are in the cells that DuckDB assigns by %s',
  async (by) => {
    const [from, to] = DECADES
    const declared = column.date('t', from.slice(0, 10), to.slice(0, 10))
    const sourcePath = await ingestInstants(`dates-${by}`, declared, instantsBetween(from, to))
    expect(await countedBySotto(`dates-${by}`, declared, { column: 't', by })).toEqual(
      await countedByDuckDb(sourcePath, NAMES[by]),
    )
  },
)

/** Rounds a TIMESTAMP to the nearest multiple of a number of seconds since 1970, as a stored value is. */
const rounded = (step: number) =>
  `make_timestamp(floor(epoch(t) / ${step} + 0.5)::BIGINT * ${step} * 1000000)`

test.each<[Unit, bigint]>([
  ['month', 7n],
  ['quarter', 13n],
  ['year', 10n],
  ['week', 5n],
  ['monthOfYear', 28n],
])('a %s of a column with a step of %d days holds the stored dates of that period', async (by, step) => {
  const day = 86_400n * step
  const grid = (text: string) => new Date(Number((BigInt(seconds(text)) / day) * day) * 1000).toISOString()
  const [from, to] = [grid('1960-06-01T00:00:00Z'), grid('1980-06-01T00:00:00Z')]
  const declared = column.date('t', from.slice(0, 10), to.slice(0, 10), { step })
  // Instants at midnight: a time of day is cut off before rounding.
  const midnights = instantsBetween(from, to, 2_000).map((instant) => Math.floor(instant / 86_400) * 86_400)
  const id = `step-${by}-${step}`
  const sourcePath = await ingestInstants(id, declared, midnights)
  const name = NAMES[by].replaceAll(/\bt\b/g, rounded(Number(day)))
  expect(await countedBySotto(id, declared, { column: 't', by })).toEqual(
    await countedByDuckDb(sourcePath, name),
  )
})

test.each<[Unit, bigint]>([
  ['hour', 7n],
  ['hour', 1800n],
  ['day', 7200n],
  ['day', 50_000n],
  ['week', 86_400n],
  ['dayOfWeek', 50_000n],
])(
  'a %s of a column with a step of %d seconds holds the stored instants of that period',
  async (by, step) => {
    const grid = (text: string) =>
      new Date(Number((BigInt(seconds(text)) / step) * step) * 1000).toISOString()
    const [from, to] = [grid('1969-12-01T00:00:00Z'), grid('1970-02-01T00:00:00Z')]
    const declared = column.timestamp('t', from, to, { step })
    const id = `step-${by}-${step}`
    const sourcePath = await ingestInstants(id, declared, instantsBetween(from, to))
    const name = NAMES[by].replaceAll(/\bt\b/g, rounded(Number(step)))
    expect(await countedBySotto(id, declared, { column: 't', by })).toEqual(
      await countedByDuckDb(sourcePath, name),
    )
  },
)

test('from and to leave out the rows of other periods', async () => {
  const declared = column.timestamp('t', ...DECADES)
  const sourcePath = await ingestInstants('from-to', declared, instantsBetween(...DECADES, 2_000))
  const counted = (grouping: GroupingColumn) => countedBySotto('from-to', declared, grouping)
  const within = (from: string, to: string) => `t >= TIMESTAMP '${from}' AND t < TIMESTAMP '${to}'`
  expect(await counted({ column: 't', by: 'month', from: '1999-11', to: '2001-02' })).toEqual(
    await countedByDuckDb(sourcePath, NAMES.month, within('1999-11-01', '2001-03-01')),
  )
  expect(await counted({ column: 't', by: 'dayOfWeek', from: '1999-12-31', to: '2008-02-29' })).toEqual(
    await countedByDuckDb(sourcePath, NAMES.dayOfWeek, within('1999-12-31', '2008-03-01')),
  )
  expect(await counted({ column: 't', by: 'monthOfYear', from: '1999-12-31', to: '2003-02' })).toEqual(
    await countedByDuckDb(sourcePath, NAMES.monthOfYear, within('1999-12-01', '2003-03-01')),
  )
})

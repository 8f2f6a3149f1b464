import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Dataset } from '../../../../src/core/dataset/dataset.ts'
import type { Aggregate } from '../../../../src/core/planner/language/aggregate.ts'
import { ingestStored } from '../../../../src/engines/duckdb/ingestion/ingest-stored.ts'
import type { StoredRows, TableDataset } from '../../../../src/engines/tables/table-engine.ts'
import { temporaryFolder } from '../../../folders.ts'
import { column, datasetOf, openTestEngine, withDuckDb } from '../../fixture.ts'
import { createFakeDatabase, type FakeDatabase } from '../../tables/fake-database.ts'

const UNIT = { kind: 'person', column: 'person', maxRows: 3 } as const
const KEY = '7'.repeat(64)
const COLUMNS = [
  column.identifier('person', 'drop-row'),
  column.integer('value', -50n, 50n),
  column.category('ward', ['A', 'B']),
  column.boolean('urgent'),
  column.string('note'),
]
const dataset: Dataset = { ...datasetOf(COLUMNS), privacyUnit: UNIT }

let folder = ''
let database: FakeDatabase
beforeAll(async () => {
  database = await createFakeDatabase()
})
beforeEach(() => {
  folder = temporaryFolder()
})
afterAll(() => database.engine.close())

const targetPath = () => path.join(folder, 'rows.duckdb')

test('a snapshot gives the integers of the live table over the same rows, people and their bounds included', async () => {
  await database.run(
    `CREATE OR REPLACE TABLE t AS SELECT
       CASE WHEN i % 17 <> 0 THEN 'p' || (hash(i) % 400) END AS person,
       CASE WHEN i % 11 <> 0 THEN (hash(i * 3) % 301)::INTEGER - 150 END AS value,
       ['A', 'B', 'C', NULL][(hash(i * 5) % 4 + 1)::INTEGER] AS ward,
       [true, false, NULL][(hash(i * 7) % 3 + 1)::INTEGER] AS urgent,
       ['', 'x' || chr(65279), 'é''"', NULL, '-1'][(hash(i * 9) % 5 + 1)::INTEGER] AS note
     FROM range(6000) AS rows(i)`,
  )
  const described = (await database.engine.describe({ schema: 'main', name: 't' })) ?? []
  const table: TableDataset = {
    dataset,
    table: { schema: 'main', name: 't' },
    columns: described,
    unit: { ...UNIT, key: KEY },
  }
  database.engine.open(table)
  const inspection = await database.engine.inspect(table)
  const copied = await ingestStored({
    rows: database.engine.read(table),
    expectedRows: inspection.rowsRead - inspection.rowsWithoutIdentifier,
    columns: COLUMNS,
    privacyUnit: table.unit,
    targetPath: targetPath(),
  })
  expect(copied).toEqual({
    rowsRead: inspection.rowsRead - inspection.rowsWithoutIdentifier,
    rowsStored: inspection.rowsStored,
    people: inspection.people,
  })
  expect(inspection.rowsStored).toBeLessThan(copied.rowsRead)

  const engine = openTestEngine(folder, { files: targetPath, memoryLimit: '256MB', queryTimeoutMs: 60_000 })
  try {
    await engine.open(dataset)
    for (const note of ['', 'x\ufeff', 'é\'"', '-1'])
      for (const rows of [1, 2, 3]) {
        const aggregate: Aggregate = {
          where: { kind: 'string-in', column: 'note', values: [note] },
          groupBy: [{ kind: 'category', column: 'ward', size: 2, nullCell: true }],
          statistics: [
            { kind: 'count' },
            { kind: 'count-people' },
            { kind: 'affine-sum', column: 'value', factor: 1n, offset: 0n },
          ],
          bounding: { kind: 'rows', rows },
        }
        expect(await engine.aggregate(dataset, aggregate)).toEqual(
          await database.engine.aggregate(dataset, aggregate),
        )
      }
  } finally {
    await engine.close()
  }
})

async function* rowsOf(...batches: readonly StoredRows[]) {
  yield* batches
}

/** Ingests rows of one column `value`. */
const ingestValues = (rows: AsyncIterable<StoredRows>, changes: object = {}) =>
  ingestStored({
    rows,
    expectedRows: 1,
    columns: [column.integer('value', 0n, 10n)],
    privacyUnit: { kind: 'row' },
    targetPath: targetPath(),
    ...changes,
  })

test('texts are stored character by character', async () => {
  const texts = ['\ufeffx', 'x\u0000y', '\u{1f600}', '', ' ', "'"]
  const rows = rowsOf(texts.map((text) => [text]))
  await ingestValues(rows, { columns: [column.string('value')] })
  const codes = (await withDuckDb(targetPath(), 'SELECT hex(value) FROM rows ORDER BY rowid')).flat()
  expect(codes).toEqual(texts.map((text) => Buffer.from(text).toString('hex').toUpperCase()))
})

test.each([
  ['an index beyond the bounds', [['11']]],
  ['a value that is not an integer', [['1.5']]],
  ['a row that is too short', [[]]],
])('%s is never stored, whatever a database returns', async (_, rows) => {
  await expect(ingestValues(rowsOf([['10']], rows))).rejects.toThrow('the source could not be stored')
  expect(await readdir(folder)).toEqual([])
})

test('bounds on rows, bytes and values hold for tables', async () => {
  const rows = () => rowsOf([['1'], ['2']], [['3']])
  const rule = (bounds: object) => ingestValues(rows(), { bounds })
  await expect(rule({ maxRows: 2 })).rejects.toThrow('must have at most 2 rows')
  await expect(rule({ maxBytes: 2 })).rejects.toThrow('must have at most 2 bytes')
  await expect(rule({ maxValueBytes: 0 })).rejects.toThrow(
    'columns.0.name: the source has a value of more than 0 bytes',
  )
  expect(await rule({ maxRows: 3 })).toEqual({ rowsRead: 3, rowsStored: 3 })
})

test('a signal stops a snapshot between two batches and leaves nothing behind', async () => {
  const stopping = new AbortController()
  async function* endless() {
    for (let i = 0; ; i += 1) {
      if (i === 5) stopping.abort(new Error('stopped'))
      yield [['1']]
    }
  }
  await expect(ingestValues(endless(), { signal: stopping.signal })).rejects.toThrow('stopped')
  expect(await readdir(folder)).toEqual([])
})

test('the progress is the part of the expected rows that was read, then that of the storing', async () => {
  const progress: object[] = []
  const onProgress = (step: object) => progress.push(step)
  const rows = rowsOf([['1']], [['2'], ['3']], [['4'], ['5']])
  await ingestValues(rows, { expectedRows: 4, onProgress })
  expect(progress.filter((step) => 'phase' in step && step.phase === 'read')).toEqual(
    // More rows than expected came.
    [0, 0.25, 0.75, 1].map((fraction) => ({ phase: 'read', fraction })),
  )
  expect(progress.at(-1)).toEqual({ phase: 'store', fraction: 1 })
})

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAggregate } from '../../src/answers/release.ts'
import { type DuckDbEngine, openDuckDbEngine } from '../../src/engines/duckdb/engine.ts'
import { ingest } from '../../src/engines/duckdb/ingest.ts'
import { plan } from '../../src/planner/plan.ts'
import { report } from '../../src/planner/report.ts'
import { Refusal } from '../../src/privacy/refusal.ts'
import type { Cell } from '../../src/sql/grouping.ts'
import type { ResultColumn } from '../../src/sql/result.ts'
import { temporaryFolder } from '../engines/fixture.ts'
import { comparable } from './grammar.ts'
import { COLUMNS, translated, visits } from './translated.ts'

/*
 * Statements over random rows: the exact integers of the planned aggregate, from the engine, against a database that runs
 * the text of the statement on the same rows. No noise is added to the integers.
 */

const DATASETS = ['first', 'second', 'third']
const STATEMENTS = 500

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let engine: DuckDbEngine
let database: DuckDBInstance

const orNull = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { freq: 4, nil: '' })
const row = fc.tuple(
  fc.nat(7).map((person) => `p${person}`),
  orNull(fc.constantFrom('North', 'South', "O'Hara")),
  orNull(fc.nat(20)),
  fc.nat(9),
  orNull(fc.integer({ min: -20, max: 20 }).map((quarters) => quarters / 4)),
  orNull(fc.nat(40).map((day) => new Date(Date.UTC(2024, 0, 25 + day)).toISOString().slice(0, 10))),
  orNull(fc.nat(119).map((hour) => `${new Date(Date.UTC(2024, 1, 27, hour)).toISOString().slice(0, 19)}Z`)),
  orNull(fc.boolean()),
  orNull(fc.constantFrom('a', "it's", 'ÄÖ𝄞', 'other')),
)

/** The types of the columns in the database. */
const TYPES = [
  'VARCHAR',
  'VARCHAR',
  'INTEGER',
  'INTEGER',
  'DOUBLE',
  'DATE',
  'TIMESTAMP',
  'BOOLEAN',
  'VARCHAR',
]

/** width_bucket as PostgreSQL defines it; the database has none. */
const WIDTH_BUCKET = `CREATE MACRO width_bucket(x, thresholds) AS
    CASE WHEN x IS NULL THEN NULL ELSE len(list_filter(thresholds, lambda each: each <= x)) END,
  (x, lower_bound, upper_bound, parts) AS
    CASE WHEN x IS NULL THEN NULL WHEN x < lower_bound THEN 0 WHEN x >= upper_bound THEN parts + 1
    ELSE CAST(floor((x - lower_bound) * parts / (upper_bound - lower_bound)) AS INTEGER) + 1 END`

beforeAll(async () => {
  folder = await temporaryFolder()
  const fileOf = (version: string) => join(folder.path, `${version}.duckdb`)
  engine = openDuckDbEngine({
    files: ({ version }) => fileOf(version),
    connectionsPerDataset: 2,
    threads: 1,
    memoryLimit: '512MB',
    queryTimeoutMs: 600_000,
    temporaryDirectory: join(folder.path, 'temporary'),
  })
  database = await DuckDBInstance.create(':memory:')
  const connection = await database.connect()
  await connection.run(WIDTH_BUCKET)
  for (const [seed, version] of DATASETS.entries()) {
    const rows = fc.sample(fc.array(row, { minLength: 40, maxLength: 80 }), { seed, numRuns: 1 })[0] ?? []
    const header = COLUMNS.map(({ name }) => `"${name}"`).join(',')
    const path = join(folder.path, `${version}.csv`)
    const lines = rows.map((values) => values.map((value) => (value === '' ? '' : `"${value}"`)).join(','))
    await writeFile(path, `${[header, ...lines].join('\n')}\n`)
    await ingest({
      sourcePath: path,
      format: 'csv',
      columns: COLUMNS,
      privacyUnit: { kind: 'person', column: 'patient', maxRows: 1_000, key: '0123456789abcdef'.repeat(4) },
      targetPath: fileOf(version),
    })
    await engine.open({ ...visits, version })
    const typed = COLUMNS.map(({ name }, place) => `"${name}" ${TYPES[place]}`).join(', ')
    await connection.run(`CREATE SCHEMA ${version}`)
    await connection.run(`CREATE TABLE ${version}.visits (${typed})`)
    await connection.run(`COPY ${version}.visits FROM '${path}' (HEADER, NULLSTR '')`)
  }
  connection.closeSync()
})
afterAll(async () => {
  await engine.close()
  database.closeSync()
  await folder.remove()
})

/** The rows of a statement, made from exact integers. */
async function exactRows(sql: string, version: string) {
  const { asked, columns, rowsOf } = translated(sql)
  const planned = plan(asked, { ...visits, version }, { maxCells: 100_000 })
  if (planned.kind !== 'additive') throw new Error(`not made from sums and counts: ${sql}`)
  const exact = await readAggregate(planned, engine)
  if (exact.kind !== 'additive') throw new Error('sums and counts are read')
  const noisy = planned.measurements.map(({ fractionBits }, place) =>
    (exact.integers[place] ?? []).map((integer) => integer << BigInt(fractionBits)),
  )
  return { columns, rows: rowsOf(report(planned, { kind: 'additive', noisy })) }
}

/** A value of the database as rows of statements show it. */
function shown(value: unknown, { type }: ResultColumn): Cell {
  if (value === null || typeof value === 'boolean') return value
  if (typeof value === 'bigint' || typeof value === 'number') return Number(value)
  const text = String(value)
  if (type === 'date') return text.slice(0, 10)
  if (type === 'timestamp') return `${text.slice(0, 19).replace(' ', 'T')}Z`
  return type === 'text' ? text : Number(text)
}

/** Splits rows into the values by which they are grouped, as a text, and the values of the aggregates. */
function byKey(columns: readonly ResultColumn[], rows: readonly (readonly Cell[])[]) {
  return new Map(
    rows.map((cells) => [
      JSON.stringify(cells.filter((_, place) => columns[place]?.halfWidthColumn === undefined)),
      cells.filter((_, place) => columns[place]?.halfWidthColumn !== undefined),
    ]),
  )
}

test('exact answers equal those of a database that runs the same text on the same rows', async () => {
  const connection = await database.connect()
  const compared = { rows: 0, statements: 0, groupsWithoutRows: 0, nullGroups: 0 }
  for (const [place, sql] of fc.sample(comparable, { seed: 20_261_123, numRuns: STATEMENTS }).entries()) {
    const version = DATASETS[place % DATASETS.length] ?? ''
    const exact = await exactRows(sql, version).catch((error: unknown) => {
      // A covariance is refused if the condition leaves one value of a column.
      if (error instanceof Refusal && error.message.includes('must not be constant')) return undefined
      throw error
    })
    if (exact === undefined) continue
    const halfWidths = new Set(exact.columns.map(({ halfWidthColumn }) => halfWidthColumn))
    const columns = exact.columns.filter(({ name }) => !halfWidths.has(name))
    const kept = exact.rows.map((cells) => cells.filter((_, at) => !halfWidths.has(exact.columns[at]?.name)))
    await connection.run(`USE ${version}`)
    const result = await connection.runAndReadAll(sql)
    const expected = byKey(
      columns,
      result
        .getRows()
        .map((cells) => cells.map((cell, at) => shown(cell, columns[at] ?? { name: '', type: 'text' }))),
    )
    const found = byKey(columns, kept)
    compared.statements += 1
    for (const [key, values] of expected) {
      const own = found.get(key)
      expect(own, `${sql}: no group ${key}`).toBeDefined()
      compared.rows += 1
      if (key.includes('null')) compared.nullGroups += 1
      for (const [at, value] of values.entries()) {
        // Without any value SUM is 0 and the other statistics are what the noise makes of them.
        if (value === null || Number.isNaN(value)) continue
        const label = `${version}: ${sql}: ${key}, value ${at}`
        if (Number.isInteger(value)) expect(Number(own?.[at]) - Number(value), label).toBeCloseTo(0, 9)
        else expect(own?.[at], label).toBeCloseTo(Number(value), 6)
      }
    }
    for (const [key, values] of found) {
      if (expected.has(key)) continue
      compared.groupsWithoutRows += 1
      expect(values[0], `${sql}: group ${key} has rows`).toBe(0)
    }
  }
  connection.closeSync()
  expect(compared.statements).toBeGreaterThan(0.95 * STATEMENTS)
  expect(compared.rows).toBeGreaterThan(STATEMENTS)
  expect(compared.nullGroups).toBeGreaterThan(50)
  expect(compared.groupsWithoutRows).toBeGreaterThan(100)
})

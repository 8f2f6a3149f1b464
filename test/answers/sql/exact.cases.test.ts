import { DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadParser } from '../../../src/answers/sql/parsing/parser.ts'
import type { ResultColumn } from '../../../src/answers/sql/rows/result.ts'
import type { Cell } from '../../../src/answers/sql/rows/row-values.ts'
import { Refusal } from '../../../src/privacy/refusal.ts'
import { cases } from '../../cases.ts'
import { DATASETS, type ExactRows, openExactRows } from './exact-rows.ts'
import { comparable } from './grammar.ts'
import { COLUMNS } from './translated.ts'

/*
 * Statements over random rows: the exact integers of the planned aggregate, from the engine, against a database that runs
 * the text of the statement on the same rows. No noise is added to the integers.
 */

const STATEMENTS = cases(500)

let exactRows: ExactRows
let database: DuckDBInstance

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
  await loadParser()
  exactRows = await openExactRows()
  database = await DuckDBInstance.create(':memory:')
  const connection = await database.connect()
  await connection.run(WIDTH_BUCKET)
  for (const { version, path } of exactRows.sources) {
    const typed = COLUMNS.map(({ name }, place) => `"${name}" ${TYPES[place]}`).join(', ')
    await connection.run(`CREATE SCHEMA ${version}`)
    await connection.run(`CREATE TABLE ${version}.visits (${typed})`)
    await connection.run(`COPY ${version}.visits FROM '${path}' (HEADER, NULLSTR '')`)
  }
  connection.closeSync()
})
afterAll(async () => {
  database.closeSync()
  await exactRows.close()
})

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
    const exact = await exactRows.read(sql, version).catch((error: unknown) => {
      // A covariance is refused if the condition leaves one value of a column.
      if (error instanceof Refusal && error.message.includes('must not be constant')) return undefined
      throw error
    })
    if (exact === undefined) continue
    const { columns, rows } = exact
    await connection.run(`USE ${version}`)
    const result = await connection.runAndReadAll(sql)
    const expected = byKey(
      columns,
      result
        .getRows()
        .map((cells) => cells.map((cell, at) => shown(cell, columns[at] ?? { name: '', type: 'text' }))),
    )
    const found = byKey(columns, rows)
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
  expect(compared.nullGroups).toBeGreaterThan(25)
  expect(compared.groupsWithoutRows).toBeGreaterThan(100)
})

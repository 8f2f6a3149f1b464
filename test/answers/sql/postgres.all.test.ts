import fc from 'fast-check'
import { Client, types } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadParser } from '../../../src/answers/sql/parsing/parser.ts'
import type { Cell } from '../../../src/answers/sql/rows/row-values.ts'
import { entry } from '../../../src/privacy/must.ts'
import { Refusal } from '../../../src/privacy/refusal.ts'
import { describePostgres } from '../../servers/postgres.ts'
import { DATASETS, type ExactRows, openExactRows } from './exact-rows.ts'
import { sorted } from './grammar.ts'
import { COLUMNS } from './translated.ts'

/*
 * PostgreSQL decides what names and constants mean: whether a name is a column or an alias, and what a text is compared as.
 * A statement that is answered has the rows of PostgreSQL, in its order.
 */

const STATEMENTS = 1_500

/** Wrappers that change nothing. */
const WRAPPERS: readonly ((sql: string) => string)[] = [
  (sql) => sql,
  (sql) => `WITH visits AS (SELECT * FROM visits) ${sql}`,
  (sql) => `SELECT w.* FROM (${sql}) AS w`,
  (sql) => `WITH w AS (${sql}), x AS (SELECT * FROM w) SELECT * FROM x`,
]

/** The types of the columns in PostgreSQL. */
const TYPES = ['text', 'text', 'int', 'int', 'numeric', 'date', 'timestamptz', 'boolean', 'text']

/** Reads numbers as numbers, and all other values as texts. */
const NUMBERS: readonly number[] = [
  types.builtins.INT4,
  types.builtins.INT8,
  types.builtins.NUMERIC,
  types.builtins.FLOAT8,
]
const parsers = {
  getTypeParser: (type: number) => (text: string) =>
    NUMBERS.includes(type) ? Number(text) : type === types.builtins.BOOL ? text === 't' : text,
}

/** A value as statements show it. Midnight is written as the date. */
function shown(value: Cell): Cell {
  if (typeof value === 'number') return Number(value.toFixed(9))
  return typeof value === 'string' ? value.replace(/[ T]00:00:00(Z|\+00)?$/, '') : value
}

const shownRows = (rows: readonly (readonly Cell[])[]) => rows.map((cells) => cells.map(shown))

describePostgres('statements', (databases) => {
  let exactRows: ExactRows
  let client: Client

  beforeAll(async () => {
    await loadParser()
    exactRows = await openExactRows()
    client = new Client({ connectionString: await databases.createDatabase() })
    await client.connect()
    await client.query(`SET TimeZone = 'UTC'`)
    const columns = COLUMNS.map(({ name }, place) => `"${name}" ${TYPES[place]}`).join(', ')
    const values = TYPES.map((type, place) => `nullif($${place + 1}, '')::${type}`).join(', ')
    for (const { version, rows } of exactRows.sources) {
      await client.query(`CREATE SCHEMA ${version}; CREATE TABLE ${version}.visits (${columns})`)
      for (const row of rows) await client.query(`INSERT INTO ${version}.visits VALUES (${values})`, [...row])
    }
  })
  afterAll(async () => {
    await client.end()
    await exactRows.close()
  })

  test('that are answered have the rows of PostgreSQL, in its order', async () => {
    const counts = { answered: 0, refused: 0, rows: 0 }
    for (const [place, bare] of fc.sample(sorted, { seed: 20_261_123, numRuns: STATEMENTS }).entries()) {
      const sql = entry(WRAPPERS, place % WRAPPERS.length)(bare)
      const version = DATASETS[place % DATASETS.length] ?? ''
      const found = await exactRows.read(sql, version).catch((error: unknown) => error)
      if (found instanceof Refusal) {
        counts.refused += 1
        continue
      }
      if (found instanceof Error) throw found
      await client.query(`SET search_path = ${version}`)
      const expected = await client
        .query({ text: sql, rowMode: 'array', types: parsers })
        .catch((error: Error) => ({ rows: [[`PostgreSQL refuses it: ${error.message}`]] }))
      const { rows } = found as Awaited<ReturnType<ExactRows['read']>>
      expect(shownRows(rows), `${version}: ${sql}`).toEqual(shownRows(expected.rows))
      counts.answered += 1
      counts.rows += rows.length
    }
    expect(counts.answered).toBeGreaterThan(STATEMENTS / 5)
    expect(counts.refused).toBeGreaterThan(STATEMENTS / 5)
    expect(counts.rows).toBeGreaterThan(STATEMENTS)
  })
})

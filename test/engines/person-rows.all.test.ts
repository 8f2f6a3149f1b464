import { DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { duckDbDigest } from '../../src/engines/duckdb/ingestion/statements.ts'
import {
  type DigestDialect,
  type DigestedValue,
  printPersonOrder,
  printRowOrder,
} from '../../src/engines/person-rows.ts'
import { postgresDialect } from '../../src/engines/postgres/dialect.ts'
import { describePostgres } from '../servers/postgres.ts'
import { withClient } from '../servers/postgres-server.ts'

const KEY = `'${'00112233445566778899aabbccddeeff'.repeat(2)}'`

/** A row: its number, its person, and its values. */
type Row = readonly [number, string, string | null, boolean | null, string | null, string | null]

const digested: readonly DigestedValue[] = [
  { type: 'integer', sql: 'amount' },
  { type: 'boolean', sql: 'flag' },
  { type: 'text', sql: 'note' },
  { type: 'text', sql: 'remark' },
  // More than the arguments of one call.
  ...Array.from({ length: 120 }, (_, i) => ({ type: 'integer', sql: `(amount + ${i})` }) as const),
]

const TEXTS = [
  '',
  'n',
  'n,',
  ',',
  '1:',
  '1:a',
  "it's",
  '"',
  '\\',
  ' ',
  'ü',
  'u\u0308',
  '日本',
  '😀',
  'İ',
  '\u{feff}x',
  '\n',
]
const text = fc.oneof(
  fc.constantFrom(...TEXTS),
  // PostgreSQL stores no NUL and no half of a surrogate pair.
  fc.string({ unit: 'grapheme', maxLength: 8 }).map((each) => each.replaceAll('\0', '')),
)

const rows: readonly Row[] = fc
  .sample(
    fc.tuple(
      fc.constantFrom('a', 'A', '', ' a', 'Größe', '日本', "o'clock", '12:', '7', '07'),
      fc.option(fc.bigInt(-(2n ** 53n), 2n ** 53n).map(String)),
      fc.option(fc.boolean()),
      fc.option(text),
      fc.option(text),
    ),
    { numRuns: 2_000, seed: 1 },
  )
  .map((values, number) => [number, ...values])

/** Numbers of the rows: person after person in the order of people, each in the order of its rows. */
function printOrdered(dialect: DigestDialect): string {
  const people = printPersonOrder(dialect, KEY, 'identifier')
  const own = printRowOrder(dialect, KEY, 'identifier', digested)
  // Rows with the same values have the same digest and may be in any order.
  return `SELECT CAST(min(number) OVER (PARTITION BY identifier, amount, flag, note, remark) AS INTEGER) AS number
    FROM visits ORDER BY ${[...people, ...own].join(', ')}`
}

const CREATE =
  'CREATE TABLE visits (number INTEGER, identifier TEXT, amount BIGINT, flag BOOLEAN, note TEXT, remark TEXT)'

async function orderedByDuckDb(): Promise<readonly number[]> {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  try {
    await connection.run(CREATE)
    for (const [number, identifier, amount, flag, note, remark] of rows) {
      await connection.run(
        'INSERT INTO visits SELECT $1, $2, $3::BIGINT, $4::BOOLEAN, $5::VARCHAR, $6::VARCHAR',
        [number, identifier, amount === null ? null : BigInt(amount), flag, note, remark],
      )
    }
    return (await connection.runAndReadAll(printOrdered(duckDbDigest)))
      .getRows()
      .map(([number]) => Number(number))
  } finally {
    connection.disconnectSync()
    instance.closeSync()
  }
}

function orderedByPostgres(url: string): Promise<readonly number[]> {
  return withClient(url, async (client) => {
    await client.query(CREATE)
    for (const row of rows) await client.query('INSERT INTO visits VALUES ($1, $2, $3, $4, $5, $6)', [...row])
    const { rows: found } = await client.query<{ number: number }>(printOrdered(postgresDialect))
    return found.map(({ number }) => number)
  })
}

describePostgres('PostgreSQL and DuckDB', ({ createDatabase }) => {
  it('choose the same rows of the same people', async () => {
    const [here, there] = await Promise.all([orderedByDuckDb(), orderedByPostgres(await createDatabase())])
    expect(here).toHaveLength(rows.length)
    expect(there).toEqual(here)
    // The order is not that of the source.
    expect(here).not.toEqual(here.toSorted((a, b) => a - b))
  })
})

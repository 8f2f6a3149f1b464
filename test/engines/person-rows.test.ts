import { DuckDBInstance, LIST, listValue, VARCHAR } from '@duckdb/node-api'
import { expect, it } from 'vitest'
import { duckDbDigest } from '../../src/engines/duckdb/ingestion/statements.ts'
import { printPersonOrder, printRowOrder, requireKey } from '../../src/engines/person-rows.ts'

const DIGITS = '00112233445566778899aabbccddeeff'.repeat(2)
const KEY = `'${DIGITS}'`

/** Texts that run into each other if they are joined without lengths. */
const TEXTS = [
  null,
  '',
  'n',
  'n,',
  ',',
  '1',
  '1:',
  '1:n',
  '1:n,',
  '2:',
  '0:',
  '0:,',
  'a',
  'aa',
  'A',
  'n,n,',
  '4:1:n,',
]

it('two rows have the same digest only if they are identical', async () => {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  try {
    const order = printRowOrder(duckDbDigest, KEY, 'i', [
      { type: 'text', sql: 't' },
      { type: 'integer', sql: 'x' },
      { type: 'boolean', sql: 'b' },
      { type: 'text', sql: 'u' },
    ])
    const result = await connection.runAndReadAll(
      `WITH texts AS (SELECT unnest($texts) AS v),
      rows AS (
        SELECT i.v AS i, t.v AS t, u.v AS u, x, b
        FROM texts i, texts t, texts u, (VALUES (NULL), (0), (1), (-1), (10)) xs(x), (VALUES (NULL), (true), (false)) bs(b)
        WHERE i.v IS NOT NULL
      )
      SELECT count(*)::INTEGER, count(DISTINCT ${order.join(' || ')})::INTEGER FROM rows`,
      { texts: listValue(TEXTS) },
      { texts: LIST(VARCHAR) },
    )
    const rows = (TEXTS.length - 1) * TEXTS.length ** 2 * 5 * 3
    expect(result.getRows()).toEqual([[rows, rows]])
  } finally {
    connection.disconnectSync()
    instance.closeSync()
  }
})

it('a key is 64 hexadecimal digits, so that it can be printed', () => {
  for (const key of ['', DIGITS.slice(1), `${DIGITS}0`, DIGITS.toUpperCase(), `${DIGITS.slice(1)}'`])
    expect(() => requireKey(key)).toThrow(RangeError)
  expect(requireKey(DIGITS)).toBe(DIGITS)
})

it('the digest of a person is not that of one of their rows', () => {
  expect(printPersonOrder(duckDbDigest, KEY, 'i')).not.toEqual(printRowOrder(duckDbDigest, KEY, 'i', []))
})

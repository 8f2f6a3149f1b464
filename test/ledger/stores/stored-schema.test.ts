import { expect, it } from 'vitest'
import { LEDGER_SCHEMA } from '../../../src/ledger/postgres/schema.ts'
import {
  MAX_CAP_DELTA_ATTO,
  MAX_COUNT,
  MAX_EPSILON_NANO,
  MAX_RHO_PICO,
  MAX_THRESHOLD_NOISE,
  MAX_TIME_MS,
} from '../../../src/ledger/range.ts'
import { SQLITE_SCHEMA } from '../../../src/ledger/sqlite/database.ts'
import { statementsFor } from '../../../src/ledger/stores/stored-schema.ts'

const SCHEMA = {
  version: 5,
  sql: 'everything',
  steps: new Map([
    [3, 'from 3'],
    [4, 'from 4'],
  ]),
}

it.each([
  [0, ['everything']],
  [3, ['from 3', 'from 4']],
  [4, ['from 4']],
  [5, []],
])('a store of version %d needs these statements', (found, statements) => {
  expect(statementsFor(found, SCHEMA, 'the ledger')).toEqual(statements)
})

it.each([1, 2, 6, 99])('a store of version %d, from which no steps lead here, is refused', (found) => {
  expect(() => statementsFor(found, SCHEMA, 'the ledger')).toThrow(
    `the ledger has schema version ${found}; this release of Sotto uses version 5 only`,
  )
})

it.each([
  ['SQLite', SQLITE_SCHEMA.sql],
  ['PostgreSQL', LEDGER_SCHEMA.sql],
])('the ranges of the tables in %s are those of the ledger', (_store, sql) => {
  const found = new Set([...sql.matchAll(/\d{10,}/g)].map(([digits]) => BigInt(digits)))
  const ranges = [
    MAX_CAP_DELTA_ATTO,
    MAX_COUNT,
    MAX_EPSILON_NANO,
    MAX_RHO_PICO,
    MAX_THRESHOLD_NOISE,
    MAX_TIME_MS,
  ]
  expect(found).toEqual(new Set(ranges.map(BigInt)))
})

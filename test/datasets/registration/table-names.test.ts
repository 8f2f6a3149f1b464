import { expect, test } from 'vitest'
import {
  type Connections,
  resolveTable,
  tableDigest,
} from '../../../src/datasets/registration/sources/table.ts'

const named = (engine: 'postgres' | 'trino', table: string) => {
  const connection = { name: 'warehouse', engine, schema: 'Clinic' }
  const connections = new Map([['warehouse', { connection }]]) as unknown as Connections
  return resolveTable(connections, { kind: 'table', connection: 'warehouse', table, mode: 'live' })
}

test('a table has one complete name, so that it is recognised under another id', () => {
  expect(named('postgres', 'Visits').table).toBe('Clinic.Visits')
  expect(tableDigest(named('postgres', 'Visits'))).toBe(tableDigest(named('postgres', 'Clinic.Visits')))
})

test('PostgreSQL distinguishes upper and lower case, Trino does not', () => {
  expect(tableDigest(named('postgres', 'visits'))).not.toBe(tableDigest(named('postgres', 'Visits')))
  expect(named('trino', 'Visits').table).toBe('clinic.visits')
  expect(tableDigest(named('trino', 'CLINIC.visits'))).toBe(tableDigest(named('trino', 'Visits')))
})

import type { Client } from 'pg'
import { quoteIdentifier } from '../../../src/engines/dialect.ts'
import type { PostgresConnection } from '../../../src/engines/tables/connection.ts'
import type { TableName } from '../../../src/engines/tables/table-engine.ts'
import type { SourceTable, SourceType } from '../conformance-tables.ts'

/** A connection to the database at a URL. */
export function connectionOf(url: string, given: Partial<PostgresConnection> = {}): PostgresConnection {
  const { hostname, port, pathname, username } = new URL(url)
  return {
    name: 'warehouse',
    engine: 'postgres',
    host: hostname,
    port: Number(port),
    database: pathname.slice(1),
    user: username,
    schema: 'public',
    allowWritableRole: true,
    limits: { connections: 2, statementTimeoutMs: 600_000, registrationTimeoutMs: 600_000 },
    ...given,
  }
}

const BATCH_ROWS = 1_000

/** Creates a table, whose texts have a collation under which texts that differ are equal, and inserts its rows. */
export async function loadTable(client: Client, { name, columns, rows }: SourceTable): Promise<TableName> {
  const collation = await createCollation(client)
  const definitions = columns.map(
    ({ column, type }) => `${quoteIdentifier(column.name)} ${typeOf(type, collation)}`,
  )
  await client.query(`CREATE TABLE ${quoteIdentifier(name)} (${definitions.join(', ')})`)
  const types = columns.map(
    ({ type }, i) => `($1::text[])[i * ${columns.length} + ${i + 1}]::${typeOf(type, '')}`,
  )
  for (let start = 0; start < rows.length; start += BATCH_ROWS) {
    const batch = rows.slice(start, start + BATCH_ROWS)
    await client.query(
      `INSERT INTO ${quoteIdentifier(name)} SELECT ${types.join(', ')} FROM generate_series(0, ${batch.length - 1}) AS i`,
      [batch.flat()],
    )
  }
  await client.query(`ANALYZE ${quoteIdentifier(name)}`)
  return { schema: 'public', name }
}

function typeOf(type: SourceType, collation: string): string {
  if (type === 'double') return 'double precision'
  const isText = type === 'text' || type.startsWith('varchar') || type.startsWith('char')
  return isText ? `${type}${collation}` : type
}

async function createCollation(client: Client): Promise<string> {
  const { rows } = await client.query("SELECT FROM pg_collation WHERE collprovider = 'i' LIMIT 1")
  if (rows.length === 0) return ''
  await client.query(
    `CREATE COLLATION IF NOT EXISTS "no_case" (provider = icu, locale = 'und-u-ks-level1', deterministic = false)`,
  )
  return ' COLLATE "no_case"'
}

import {
  BIGINT,
  BOOLEAN,
  type DuckDBConnection,
  type DuckDBInstance,
  type DuckDBMaterializedResult,
  type DuckDBType,
  VARCHAR,
} from '@duckdb/node-api'
import type { SqlValue } from '../dialect.ts'
import type { PrintedStatement } from '../printing/printer.ts'

/** A statement that succeeds on every connection that works. */
export const PROBE: PrintedStatement = { sql: "SELECT '1'", parameters: [] }

/** Returns a connection that works after a failure: the same one, a new one, or `undefined` if neither does. */
export async function recoverConnection(
  instance: DuckDBInstance,
  connection: DuckDBConnection,
): Promise<DuckDBConnection | undefined> {
  if (await works(connection)) return connection
  try {
    connection.disconnectSync()
    const replacement = await instance.connect()
    if (await works(replacement)) return replacement
    replacement.disconnectSync()
    return undefined
  } catch {
    return undefined
  }
}

function works(connection: DuckDBConnection): Promise<boolean> {
  return execute(connection, PROBE).then(
    () => true,
    () => false,
  )
}

/**
 * Runs a statement on a connection that runs no other.
 * @throws Error whose message may quote data.
 */
export function execute(
  connection: DuckDBConnection,
  { sql, parameters }: PrintedStatement,
): Promise<DuckDBMaterializedResult> {
  return connection.run(sql, [...parameters], parameters.map(typeOf))
}

function typeOf(value: SqlValue): DuckDBType {
  switch (typeof value) {
    case 'bigint':
      return BIGINT
    case 'boolean':
      return BOOLEAN
    case 'string':
      return VARCHAR
  }
}

/** Reads a result as rows of values. */
export function readRows(result: DuckDBMaterializedResult): readonly (readonly unknown[])[] {
  const rows: (readonly unknown[])[] = []
  for (let index = 0; index < result.chunkCount; index += 1) {
    const chunk = result.getChunk(index)
    const columns = Array.from({ length: chunk.columnCount }, (_, column) => chunk.getColumnValues(column))
    for (let row = 0; row < chunk.rowCount; row += 1) rows.push(columns.map((values) => values[row]))
  }
  return rows
}

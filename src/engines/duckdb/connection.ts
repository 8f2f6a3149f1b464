import {
  type DuckDBConnection,
  type DuckDBInstance,
  type DuckDBMaterializedResult,
  type DuckDBPreparedStatement,
  DuckDBTypeId,
} from '@duckdb/node-api'
import type { SqlValue } from '../dialect.ts'
import type { PrintedStatement } from '../printing/printer.ts'

/**
 * The number of statements that a connection keeps prepared. That saves parsing; DuckDB plans a statement anew for each
 * set of values, so that filters can be applied during the scan.
 */
const MAX_PREPARED_STATEMENTS = 64

/**
 * The longest statement that is kept, in characters. DuckDB holds a kilobyte or more for each parameter outside of its
 * memory limit, and long lists come in many lengths.
 */
const MAX_KEPT_LENGTH = 4_096

/** A statement that succeeds on every connection that works. */
export const PROBE: PrintedStatement = { sql: "SELECT '1'", parameters: [] }

/** A connection and the statements that it keeps prepared, the most recently used last. It runs one at a time. */
export interface Connection {
  readonly duckDb: DuckDBConnection
  readonly statements: Map<string, PreparedStatement>
}

interface PreparedStatement {
  readonly prepared: DuckDBPreparedStatement
  readonly bind: readonly ((value: SqlValue) => void)[]
}

/** Opens a connection. */
export async function openConnection(instance: DuckDBInstance): Promise<Connection> {
  return { duckDb: await instance.connect(), statements: new Map() }
}

/** Closes a connection. */
export function closeConnection(connection: Connection): void {
  forgetStatements(connection)
  connection.duckDb.disconnectSync()
}

/** Returns a connection that works after a failure: the same one, a new one, or `undefined` if neither does. */
export async function recoverConnection(
  instance: DuckDBInstance,
  connection: Connection,
): Promise<Connection | undefined> {
  forgetStatements(connection)
  if (await works(connection)) return connection
  try {
    closeConnection(connection)
    const replacement = await openConnection(instance)
    if (await works(replacement)) return replacement
    closeConnection(replacement)
    return undefined
  } catch {
    return undefined
  }
}

function works(connection: Connection): Promise<boolean> {
  return execute(connection, PROBE, readRows).then(
    () => true,
    () => false,
  )
}

/**
 * Runs a statement on a connection that runs no other.
 * @param read reads the result
 * @throws Error whose message may quote data.
 */
export async function execute<Answer>(
  connection: Connection,
  { sql, parameters }: PrintedStatement,
  read: (result: DuckDBMaterializedResult) => Answer | Promise<Answer>,
): Promise<Answer> {
  const { prepared, bind } = await prepare(connection, sql)
  try {
    if (bind.length !== parameters.length)
      throw new RangeError('a statement needs as many values as it has parameters')
    for (const [index, value] of parameters.entries()) bind[index]?.(value)
    return await read(await prepared.run())
  } finally {
    if (!connection.statements.has(sql)) prepared.destroySync()
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

async function prepare({ duckDb, statements }: Connection, sql: string): Promise<PreparedStatement> {
  const known = statements.get(sql)
  if (known !== undefined) {
    statements.delete(sql)
    statements.set(sql, known)
    return known
  }
  const prepared = await duckDb.prepare(sql)
  const statement = {
    prepared,
    bind: Array.from({ length: prepared.parameterCount }, (_, index) => binder(prepared, index + 1)),
  }
  if (sql.length > MAX_KEPT_LENGTH) return statement
  statements.set(sql, statement)
  const [oldest] = statements
  if (statements.size > MAX_PREPARED_STATEMENTS && oldest !== undefined) {
    statements.delete(oldest[0])
    oldest[1].prepared.destroySync()
  }
  return statement
}

/**
 * Binds a value in the type that the statement declares for the parameter. DuckDB reports no type for a BIGINT that it
 * converts to HUGEINT.
 */
function binder(prepared: DuckDBPreparedStatement, position: number): (value: SqlValue) => void {
  const type = prepared.parameterTypeId(position)
  const isBigInt = type === DuckDBTypeId.BIGINT || type === DuckDBTypeId.INVALID
  return (value) => {
    if (typeof value === 'bigint' && isBigInt) prepared.bindBigInt(position, value)
    else if (typeof value === 'bigint' && type === DuckDBTypeId.INTEGER)
      prepared.bindInteger(position, Number(value))
    else if (typeof value === 'boolean' && type === DuckDBTypeId.BOOLEAN)
      prepared.bindBoolean(position, value)
    else if (typeof value === 'string' && type === DuckDBTypeId.VARCHAR) prepared.bindVarchar(position, value)
    else throw new RangeError('a value does not have the type of its parameter')
  }
}

function forgetStatements({ statements }: Connection): void {
  for (const { prepared } of statements.values()) prepared.destroySync()
  statements.clear()
}

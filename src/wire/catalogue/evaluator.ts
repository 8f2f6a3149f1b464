import {
  type DuckDBConnection,
  DuckDBDateValue,
  DuckDBInstance,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBValue,
} from '@duckdb/node-api'
import { WireError } from '../errors.ts'
import type { WireColumn } from '../protocol/backend.ts'
import type { WireValue } from '../values/encode.ts'
import { OID, wireColumn } from '../values/oids.ts'

/** Rows of the catalogue. */
export interface CatalogueRows {
  readonly columns: readonly WireColumn[]
  readonly rows: readonly (readonly WireValue[])[]
}

/** Evaluates statements about the catalogue of some datasets. It holds public declarations only. */
export interface Evaluator {
  /**
   * Evaluates a statement. The next one must wait for its end.
   * @param givenUp aborted if the answer is not needed
   * @throws WireError for a statement that cannot be evaluated
   */
  evaluate(statement: Evaluated, variables: Variables, givenUp: AbortSignal): Promise<CatalogueRows>
  close(): void
}

/** A statement about the catalogue. */
export interface Evaluated {
  readonly sql: string
  /** True if only its columns are needed: it has no rows then. Its planning evaluates parts of it nevertheless. */
  readonly describes: boolean
}

/** Facts of the session that asks. */
export interface Variables {
  readonly principal: string
  readonly database: string
  readonly settings: readonly (readonly [string, string])[]
  readonly cursors: readonly SessionCursor[]
}

/** A cursor, as pg_cursors lists it. */
export interface SessionCursor {
  readonly name: string
  readonly statement: string
  readonly isHoldable: boolean
  readonly isScrollable: boolean
  readonly createdAtMs: number
}

/** Time after which a statement is interrupted. Its planning cannot be. */
export const TIMEOUT_MS = 3_000
/** Most values of a result, which are read in one turn of the event loop. */
const MOST_VALUES = 200_000
const MOST_CHARACTERS = 4_000_000

/**
 * Opens an evaluator: an instance of DuckDB in memory, without access to files, whose settings cannot be changed.
 * @param setup statements that create the relations
 */
export async function openEvaluator(setup: readonly string[]): Promise<Evaluator> {
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: '128MB',
    threads: '1',
    temp_directory: '',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
  })
  const connection = await instance.connect()
  for (const statement of setup) await connection.run(statement)
  await connection.run('SET enable_external_access = false')
  await connection.run('SET lock_configuration = true')
  return {
    async evaluate({ sql, describes }, variables, givenUp) {
      for (const statement of variableStatements(variables)) await connection.run(statement)
      if (describes) return { columns: await describeColumns(connection, sql), rows: [] }
      return evaluate(connection, sql, givenUp)
    },
    close() {
      connection.disconnectSync()
      instance.closeSync()
    },
  }
}

/** A list of rows of pg_cursors. One without rows has the type, too. */
export function cursorList(rows: readonly string[]): string {
  const columns =
    'name VARCHAR, statement VARCHAR, is_holdable BOOLEAN, is_binary BOOLEAN, is_scrollable BOOLEAN, creation_time TIMESTAMP'
  return `[${rows.join(', ')}]::STRUCT(${columns})[]`
}

function variableStatements({ principal, database, settings, cursors }: Variables): readonly string[] {
  const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`
  const rows = cursors.map(
    ({ name, statement, isHoldable, isScrollable, createdAtMs }) =>
      `row(${quoted(name)}, ${quoted(statement)}, ${isHoldable}, false, ${isScrollable}, epoch_ms(${createdAtMs}))`,
  )
  const pairs = settings.map(([name, value]) => `${quoted(name.toLowerCase())}: ${quoted(value)}`)
  return [
    `SET VARIABLE principal = ${quoted(principal)}`,
    `SET VARIABLE database = ${quoted(database)}`,
    `SET VARIABLE settings = MAP {${pairs.join(', ')}}`,
    `SET VARIABLE cursors = ${cursorList(rows)}`,
  ]
}

async function evaluate(
  connection: DuckDBConnection,
  sql: string,
  givenUp: AbortSignal,
): Promise<CatalogueRows> {
  let late = false
  const interrupt = () => connection.interrupt()
  const timer = setTimeout(() => {
    late = true
    interrupt()
  }, TIMEOUT_MS)
  givenUp.addEventListener('abort', interrupt, { once: true })
  try {
    const columns = await describeColumns(connection, sql)
    await requireSmall(connection, sql, columns.length)
    const reader = await connection.runAndReadAll(sql)
    return { columns, rows: reader.getRows().map((row) => row.map(wireValueOf)) }
  } catch (error) {
    if (late) throw tookTooLong()
    throw error instanceof WireError ? error : catalogueError(error)
  } finally {
    clearTimeout(timer)
    givenUp.removeEventListener('abort', interrupt)
  }
}

/**
 * Requires that a result is small, as the evaluator adds it up within its memory limit: rows that are read are copied out of it.
 * @throws WireError if the result is too large
 */
async function requireSmall(connection: DuckDBConnection, sql: string, columnCount: number): Promise<void> {
  const columns = Array.from({ length: columnCount }, (_, index) => `c${index}`)
  const lengths = columns.map((column) => `coalesce(length(CAST(${column} AS VARCHAR)), 0)`).join(' + ')
  const measured = `SELECT count(*), sum(${lengths}) FROM (${sql}) AS result(${columns.join(', ')})`
  const [[rows, characters] = []] = (await connection.runAndReadAll(measured)).getRows()
  if (Number(rows) * columnCount > MOST_VALUES || Number(characters) > MOST_CHARACTERS) throw tooLarge()
}

async function describeColumns(connection: DuckDBConnection, sql: string): Promise<readonly WireColumn[]> {
  try {
    const prepared = await connection.prepare(sql)
    return Array.from({ length: prepared.columnCount }, (_, index) =>
      wireColumn(prepared.columnName(index), typeOf(prepared.columnType(index))),
    )
  } catch (error) {
    throw catalogueError(error)
  }
}

/** The refusal of a statement that took too long. */
export function tookTooLong(): WireError {
  return new WireError('57014', 'The statement about the catalogue took too long.')
}

/** The refusal of a statement that needs too much memory. */
export function tooLarge(): WireError {
  return new WireError('54000', 'The result of the statement about the catalogue is too large.')
}

/** The evaluator knows public facts only, so that its messages reveal nothing. */
function catalogueError(error: unknown): WireError {
  const message = error instanceof Error ? error.message : ''
  const [first = ''] = message.split('\n')
  if (first.startsWith('Out of Memory')) return tooLarge()
  const sqlState = /Table with name .* does not exist/.test(message)
    ? '42P01'
    : /(Scalar|Table|Aggregate) Function with name .* does not exist/.test(message)
      ? '42883'
      : /column .* not found|Column .* referenced that exists/.test(message)
        ? '42703'
        : '0A000'
  return new WireError(sqlState, first.replace(/^\w+( \w+)? Error: /, ''))
}

const TYPES: ReadonlyMap<DuckDBTypeId, number> = new Map<DuckDBTypeId, number>([
  [DuckDBTypeId.BOOLEAN, OID.bool],
  [DuckDBTypeId.TINYINT, OID.int2],
  [DuckDBTypeId.SMALLINT, OID.int2],
  [DuckDBTypeId.INTEGER, OID.int4],
  [DuckDBTypeId.UINTEGER, OID.oid],
  [DuckDBTypeId.BIGINT, OID.int8],
  [DuckDBTypeId.HUGEINT, OID.int8],
  [DuckDBTypeId.FLOAT, OID.float8],
  [DuckDBTypeId.DOUBLE, OID.float8],
  [DuckDBTypeId.DECIMAL, OID.float8],
  [DuckDBTypeId.DATE, OID.date],
  [DuckDBTypeId.TIMESTAMP, OID.timestamptz],
  [DuckDBTypeId.TIMESTAMP_TZ, OID.timestamptz],
])

const ARRAYS: ReadonlyMap<number, number> = new Map([
  [OID.int2, OID.int2Array],
  [OID.int4, OID.int4Array],
  [OID.oid, OID.int8Array],
  [OID.int8, OID.int8Array],
])

function typeOf(type: DuckDBType | undefined): number {
  if (type === undefined) return OID.text
  if (type.typeId === DuckDBTypeId.LIST && 'valueType' in type)
    return ARRAYS.get(typeOf(type.valueType)) ?? OID.textArray
  return TYPES.get(type.typeId) ?? OID.text
}

const MS_PER_DAY = 86_400_000
const ISO_DATE_LENGTH = 10

/** @throws WireError for a time that ISO 8601 does not write with four digits of the year */
function isoOf(ms: number): string {
  const time = new Date(ms)
  if (!(time.getTime() >= Date.UTC(0) && time.getUTCFullYear() < 10_000))
    throw new WireError('22008', 'A time of the result is out of range.')
  return time.toISOString()
}

function wireValueOf(value: DuckDBValue): WireValue {
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return value
  if (typeof value === 'bigint' || typeof value === 'string') return value
  if (value instanceof DuckDBTimestampValue || value instanceof DuckDBTimestampTZValue)
    return isoOf(Number(value.micros / 1_000n))
  if (value instanceof DuckDBDateValue) return isoOf(value.days * MS_PER_DAY).slice(0, ISO_DATE_LENGTH)
  if (typeof value === 'object' && 'items' in value && Array.isArray(value.items))
    return value.items.map(wireValueOf)
  return String(value)
}

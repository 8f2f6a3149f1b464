import { mkdtemp, rm, stat, symlink } from 'node:fs/promises'
import path from 'node:path'
import {
  type DuckDBConnection,
  type DuckDBInstance,
  type DuckDBResultReader,
  VARCHAR,
} from '@duckdb/node-api'
import {
  type Column,
  type CsvDeclaration,
  csvDialect,
  type FileFormat,
  type KeyedPrivacyUnit,
} from '../../../core/dataset/dataset.ts'
import type { IngestionCounts } from '../../../core/dataset/entry.ts'
import { publishFile } from '../../../platform/files/durable-file.ts'
import { defined } from '../../../privacy/defined.ts'
import { must } from '../../../privacy/must.ts'
import { plausibleRowsOf } from '../../../privacy/neighbours.ts'
import { Refusal, refuseField } from '../../../privacy/refusal.ts'
import { quoteIdentifier } from '../../dialect.ts'
import { EngineFailure } from '../../engine.ts'
import { describeClamped, describeMisfits, MISFIT_KINDS } from '../../misfits.ts'
import { beyondLimit, checkColumns, refuseInvalidValues, repeatedIdentifier } from '../../source-rules.ts'
import type { Statement } from '../encodings/source.ts'
import { canIdentify } from '../encodings/text.ts'
import {
  type InstanceLimits,
  isDiskFull,
  isMemoryError,
  openLockedInstance,
  ROWS_TABLE,
} from '../instance.ts'
import {
  DEFAULT_BOUNDS,
  printValueSizes,
  readValueSizes,
  refuseMemory,
  requireBytes,
  requireValueSizes,
  type SourceBounds,
  type ValueSizes,
} from './bounds.ts'
import type { FileRelation } from './formats/format.ts'
import { FILE_FORMATS } from './formats/formats.ts'
import {
  type IngestionControl,
  type IngestionProgress,
  PROGRESS_SETTINGS,
  runControlled,
} from './progress.ts'
import { type IngestedUnit, printIngest, type RelationColumn, type StoreStatements } from './statements.ts'

/** A file to ingest. */
export interface Ingestion extends IngestionControl {
  /** An absolute path to a file that the caller has checked. */
  readonly sourcePath: string
  readonly format: FileFormat
  /** Dialect of a CSV file, as far as it differs from RFC 4180 in UTF-8. It may be compressed by gzip. */
  readonly csv?: CsvDeclaration | undefined
  readonly columns: readonly Column[]
  readonly privacyUnit: KeyedPrivacyUnit
  /** The DuckDB file to write; it exists completely or not at all. */
  readonly targetPath: string
  readonly limits?: Partial<Pick<InstanceLimits, 'threads' | 'memoryLimit' | 'maxTemporaryDirectorySize'>>
  readonly bounds?: Partial<SourceBounds> | undefined
}

const SOURCE_FIELD = 'source'

/**
 * Default limits. DuckDB's limit does not include the vectors under way and the allocator's overhead: with 500 MB a
 * process that ingests 20 million rows stays below 1 GB.
 */
const LIMITS = {
  threads: 2,
  memoryLimit: '500MB',
  maxTemporaryDirectorySize: '20GB',
  // It replaces the ranking of a person's rows by lists in memory, which cannot be moved to the temporary folder.
  disabledOptimizers: 'top_n_window_elimination',
} as const

/** People are numbered by 32-bit integers. */
const MOST_PEOPLE = 2 ** 31 - 1

/**
 * Writes the file that queries read: the declared columns of a source file, every value converted to its declared type
 * by the rules of `encodings/`. Identifiers are not stored. Where people are the privacy units, each row has the number
 * of its person and its rank among that person's rows instead, and rows beyond `maxRows` are in a table of their own.
 * See decision 2.
 *
 * @param ingestion its columns and privacy unit are those of a checked declaration
 * @returns exact numbers for the dataset's custodian
 * @throws Refusal `source-unreadable` or `source-does-not-fit`, which name columns but no values. Throws the reason of
 * the signal once it has aborted. Nothing is left behind in either case.
 */
export async function ingest(ingestion: Ingestion): Promise<IngestionCounts> {
  checkColumns(ingestion.columns)
  return publishRows(ingestion, (partialPath) => ingestInto(partialPath, ingestion))
}

/**
 * Writes a file of rows under a temporary name and renames it when it is complete.
 * @param write writes the file to a path
 * @throws Refusal or EngineFailure as `write` does; the signal's reason once it has aborted; otherwise an Error without
 * details. Nothing is left behind.
 */
export async function publishRows<Counts>(
  { targetPath, signal }: Pick<Ingestion, 'targetPath' | 'signal'>,
  write: (partialPath: string) => Promise<Counts>,
): Promise<Counts> {
  signal?.throwIfAborted()
  let partialFolder: string | undefined
  try {
    // A name of its own, so that another process that ingests the same target does not disturb this one.
    partialFolder = await mkdtemp(`${targetPath}.partial-`)
    const partialPath = path.join(partialFolder, 'rows.duckdb')
    const counts = await write(partialPath)
    signal?.throwIfAborted()
    await publishFile(partialPath, targetPath)
    return counts
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof Refusal || error instanceof EngineFailure) throw error
    if (isMemoryError(error)) throw refuseMemory()
    if (isDiskFull(error)) throw refuseDisk()
    // Messages of DuckDB and the file system may quote data.
    throw new Error('the source could not be stored')
  } finally {
    if (partialFolder !== undefined) await rm(partialFolder, { recursive: true, force: true })
  }
}

async function ingestInto(partialPath: string, ingestion: Ingestion): Promise<IngestionCounts> {
  await readableOrRefused(async () => {
    const file = await stat(ingestion.sourcePath)
    if (!file.isFile()) throw unreadable()
    requireBytes(file.size, boundsOf(ingestion))
  })
  // DuckDB interprets a path as a pattern, so it reads the file through a link with a generated name.
  const linkPath = `${partialPath}.source`
  const decodedPath = `${partialPath}.text`
  await symlink(ingestion.sourcePath, linkPath)
  return withInstance(partialPath, ingestion.limits, [linkPath, decodedPath], (connection) =>
    ingestThrough(connection, linkPath, decodedPath, ingestion),
  )
}

/**
 * Runs work on a connection to a new file of rows.
 * @param files the files that statements may read
 */
export async function withInstance<Result>(
  partialPath: string,
  changes: Ingestion['limits'],
  files: readonly string[],
  work: (connection: DuckDBConnection) => Promise<Result>,
): Promise<Result> {
  const limits = { ...LIMITS, ...changes, temporaryDirectory: `${partialPath}.temporary` }
  let connection: DuckDBConnection | undefined
  const connect = async (opened: DuckDBInstance) => {
    connection = await opened.connect()
    for (const setting of PROGRESS_SETTINGS) await connection.run(setting)
  }
  const instance = await openLockedInstance(partialPath, 'READ_WRITE', limits, files, connect)
  try {
    if (connection === undefined) throw new Error('the instance has no connection')
    return await work(connection)
  } finally {
    connection?.disconnectSync()
    instance.closeSync()
  }
}

async function ingestThrough(
  connection: DuckDBConnection,
  sourcePath: string,
  decodedFile: string,
  ingestion: Ingestion,
): Promise<IngestionCounts> {
  const { format, columns, privacyUnit, onProgress } = ingestion
  const run: Run = (statement, phase) =>
    runControlled(connection, ingestion, () => runStatement(connection, statement), phase)
  onProgress?.({ phase: 'check', fraction: 0 })
  const bounds = boundsOf(ingestion)
  const csv = csvDialect(ingestion.csv)
  const examination = { ...ingestion, csv, bounds, decodedFile }
  const relation = await readableOrRefused(() =>
    FILE_FORMATS[format].relation(connection, sourcePath, examination),
  )
  const source = { sql: relation.sql, parameters: { path: { value: relation.file, type: VARCHAR } } }
  const found = locateColumns(columns, relation)
  requireValueSizes(columns, await valueSizes(run, source, found, relation), bounds)
  const statements = printIngest(columns, positionedUnit(privacyUnit, columns), source, found, ROWS_TABLE)
  for (const statement of statements.prepare) await run(statement)
  onProgress?.({ phase: 'read', fraction: 0 })
  await readableOrRefused(() => run(statements.stage, 'read'))
  onProgress?.({ phase: 'store', fraction: 0 })

  const [rowsRead, rowsWithMisfits] = await countsOf(run, statements.rows)
  if (rowsRead === undefined || relation.expectedRows !== rowsRead) throw unreadable()
  // Where no row has a misfit, there is nothing to inspect.
  const inspected =
    rowsWithMisfits === 0
      ? new Array<number>(1 + (MISFIT_KINDS.length + 1) * columns.length).fill(0)
      : await countsOf(run, statements.inspect)
  const rowsWithoutIdentifier = must(inspected[0], 'the number of rows without identifier')
  const [misfits, clamped] = [
    inspected.slice(1, 1 + MISFIT_KINDS.length * columns.length),
    inspected.slice(1 + MISFIT_KINDS.length * columns.length),
  ]
  const invalidValues = await describeMisfits(columns, misfits, {
    ...relation.places,
    rows: async (position, kind) => {
      const rows = await run(statements.places(position, kind))
      return rows.getRows().map(([row]) => Number(row))
    },
  })
  refuseInvalidValues(columns, invalidValues)
  const { rowsStored, people } = await storeStaged(run, statements)
  onProgress?.({ phase: 'store', fraction: 1 })
  const rowsBeyondMaxRows = rowsRead - rowsWithoutIdentifier - rowsStored
  const clampedValues = describeClamped(columns, clamped)
  const counts = { rowsRead, rowsWithoutIdentifier, rowsBeyondMaxRows, rowsStored, people }
  return defined({ ...counts, invalidValues, clampedValues })
}

/**
 * Stores the staged rows.
 * @throws Refusal `source-does-not-fit`
 */
export async function storeStaged(
  run: Run,
  statements: StoreStatements,
): Promise<{ readonly rowsStored: number; readonly people: number | undefined }> {
  for (const { position, statement } of statements.repetitions) {
    const repeated = await run(statement)
    if (repeated.currentRowCount > 0) throw repeatedIdentifier(position)
  }
  const people = await numberPeople(run, statements.people)
  for (const statement of statements.store) await run(statement)
  for (const limit of statements.limits) {
    const exceeded = await run(limit.statement)
    if (exceeded.currentRowCount > 0) throw beyondLimit(limit)
  }
  const rowsStored = await countOf(run, ROWS_STORED)
  // Staged rows hold identifiers. They are in memory and in temporary files, which are deleted.
  for (const sql of ['DROP TABLE IF EXISTS staged', 'DROP TABLE IF EXISTS people', 'CHECKPOINT'])
    await run(sql)
  return { rowsStored, people }
}

function refuseDisk(): Refusal {
  const detail = 'The disk of the service is full. Nothing was changed.'
  return new Refusal('unavailable', detail, [], { retryAfterSeconds: 10 })
}

/** Runs a statement of an ingestion, under its control. */
export type Run = (
  statement: string | Statement,
  phase?: IngestionProgress['phase'],
) => Promise<DuckDBResultReader>

/** The bounds of an ingestion, with the defaults where it states none. */
export function boundsOf({ bounds }: Pick<Ingestion, 'bounds'>): SourceBounds {
  return { ...DEFAULT_BOUNDS, ...bounds }
}

/** Returns the sizes of the values of each declared column. */
async function valueSizes(
  run: Run,
  source: Statement,
  found: readonly RelationColumn[],
  relation: FileRelation,
): Promise<readonly ValueSizes[]> {
  const { longestValues } = relation
  if (longestValues !== undefined)
    return found.map((column) => ({
      longest: must(longestValues[relation.columns.indexOf(column)], 'the longest value of a column'),
      // The size of the file limits that of all values.
      total: 0,
    }))
  const measured = found.map(({ name, type }, position) => ({ name: quoteIdentifier(name), type, position }))
  const statement = printValueSizes(source, measured)
  const counts = statement === undefined ? [] : await readableOrRefused(() => countsOf(run, statement))
  return readValueSizes(measured, counts, relation.expectedRows)
}

const ROWS_STORED = `SELECT count(*)::VARCHAR FROM ${quoteIdentifier(ROWS_TABLE)}`

/** The unit with the position of its identifier in place of the name. */
export function positionedUnit(unit: Ingestion['privacyUnit'], columns: readonly Column[]): IngestedUnit {
  if (unit.kind === 'row') return unit
  const position = columns.findIndex(({ type, name }) => type === 'identifier' && name === unit.column)
  if (position === -1)
    throw refuseField('invalid-request', 'privacyUnit.column', 'must be a declared column of type identifier')
  const { maxRows, key } = unit
  return { kind: 'person', position, maxRows, plausibleRows: plausibleRowsOf(unit), key }
}

/** Reads a row of counts. */
async function countsOf(run: Run, statement: string | Statement): Promise<readonly number[]> {
  const [row] = (await run(statement)).getRows()
  return must(row, 'a row of counts').map((text) => {
    const count = Number(text)
    if (!Number.isSafeInteger(count)) throw new Error('a count is not an integer')
    return count
  })
}

async function countOf(run: Run, statement: string): Promise<number> {
  return must((await countsOf(run, statement))[0], 'a count')
}

/** Creates the table of people, if rows belong to people. Returns their number. */
async function numberPeople(run: Run, statement: string | undefined): Promise<number | undefined> {
  if (statement === undefined) return undefined
  await run(statement)
  const people = await countOf(run, 'SELECT count(*)::VARCHAR FROM people')
  if (people > MOST_PEOPLE)
    throw refuseField('source-does-not-fit', SOURCE_FIELD, `must have at most ${MOST_PEOPLE} people`)
  return people
}

/** Runs a statement and reads its whole result. */
export function runStatement(
  connection: DuckDBConnection,
  statement: string | Statement,
): Promise<DuckDBResultReader> {
  if (typeof statement === 'string') return connection.runAndReadAll(statement)
  const { sql, parameters } = statement
  const each = Object.entries(parameters)
  return connection.runAndReadAll(
    sql,
    Object.fromEntries(each.map(([name, { value }]) => [name, value])),
    Object.fromEntries(each.map(([name, { type }]) => [name, type])),
  )
}

function locateColumns(columns: readonly Column[], relation: FileRelation): readonly RelationColumn[] {
  return columns.map(({ name, type }, index) => {
    const misfit = (rule: string) => refuseField('source-does-not-fit', `columns.${index}.name`, rule)
    const position = relation.fileNames.indexOf(name)
    if (relation.fileNames.lastIndexOf(name) !== position) throw misfit('matches two columns of the source')
    const found = relation.columns[position]
    if (found === undefined) throw misfit('the source has no column of this name')
    if (type === 'identifier' && !canIdentify(found.type))
      throw misfit('must be text or whole numbers in the source')
    return found
  })
}

/** Turns every failure to read the source into the same refusal, unless it needs too much memory or is too large. */
async function readableOrRefused<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof Refusal || isMemoryError(error)) throw error
    throw unreadable()
  }
}

function unreadable(): Refusal {
  return refuseField('source-unreadable', SOURCE_FIELD, 'cannot be read in its declared format')
}

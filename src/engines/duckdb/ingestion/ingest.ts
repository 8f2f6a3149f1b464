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
import { type Join, type JoinTree, parseJoinedColumn, tablesBelow } from '../../../core/dataset/joins.ts'
import { publishFile } from '../../../platform/files/durable-file.ts'
import { defined } from '../../../privacy/defined.ts'
import { must } from '../../../privacy/must.ts'
import { Refusal, refuseField } from '../../../privacy/refusal.ts'
import { quoteIdentifier } from '../../dialect.ts'
import { EngineFailure } from '../../engine.ts'
import { describeJoin, type JoinCounts, readFactCounts } from '../../joins.ts'
import {
  describeClamped,
  describeMisfits,
  MISFIT_KINDS,
  type MisfitPlaces,
  placesOfRows,
} from '../../misfits.ts'
import { beyondLimit, checkColumns, refuseInvalidValues, repeatedIdentifier } from '../../source-rules.ts'
import type { Statement } from '../encodings/source.ts'
import {
  type InstanceLimits,
  isDiskFull,
  isMemoryError,
  openLockedInstance,
  ROWS_TABLE,
} from '../instance.ts'
import {
  DEFAULT_BOUNDS,
  fieldOfColumn,
  printValueSizes,
  readValueSizes,
  refuseMemory,
  requireBytes,
  requireRows,
  requireValueSizes,
  type SourceBounds,
  type ValueSizes,
} from './bounds.ts'
import type { FileRelation } from './formats/format.ts'
import { FILE_FORMATS } from './formats/formats.ts'
import {
  danglingReferences,
  locate,
  locateJoined,
  printDanglingCounts,
  printJoined,
  printOneRowPerPerson,
  printRepeatedKey,
  printStagedFactCounts,
  printStagedTable,
  repeatedKey,
  stagedName,
} from './joined.ts'
import {
  type IngestionControl,
  type IngestionProgress,
  PROGRESS_SETTINGS,
  runControlled,
} from './progress.ts'
import {
  type IngestStatements,
  printIngest,
  type RelationColumn,
  type StoreStatements,
} from './statements.ts'

/** A file or joined files to ingest. */
export type Ingestion = IngestionTerms & (SourceFile | JoinedFiles)

/** A file of rows. */
export interface SourceFile {
  /** An absolute path to a file that the caller has checked. */
  readonly sourcePath: string
  readonly format: FileFormat
  /** Dialect of a CSV file, as far as it differs from RFC 4180 in UTF-8. It may be compressed by gzip. */
  readonly csv?: CsvDeclaration | undefined
}

/** The files of the tables of a joined source. */
export interface JoinedFiles {
  readonly tables: Readonly<Record<string, SourceFile>>
  readonly joins: JoinTree
}

/** What is ingested, and where to. */
export interface IngestionTerms extends IngestionControl {
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
  { targetPath, signal }: Pick<IngestionTerms, 'targetPath' | 'signal'>,
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
  const files = 'tables' in ingestion ? Object.entries(ingestion.tables) : [['', ingestion] as const]
  const opened: OpenFile[] = []
  let bytes = 0
  for (const [name, file] of files) {
    await readableOrRefused(async () => {
      const status = await stat(file.sourcePath)
      if (!status.isFile()) throw unreadable(name)
      bytes += status.size
      requireBytes(bytes, boundsOf(ingestion))
    }, name)
    // DuckDB interprets a path as a pattern, so it reads the file through a link with a generated name.
    const linkPath = `${partialPath}.source${opened.length}`
    await symlink(file.sourcePath, linkPath)
    const { format, csv } = file
    opened.push({ name, format, csv, linkPath, decodedFile: `${partialPath}.text${opened.length}` })
  }
  const readable = opened.flatMap(({ linkPath, decodedFile }) => [linkPath, decodedFile])
  return withInstance(partialPath, ingestion.limits, readable, (connection) =>
    ingestThrough(connection, opened, ingestion),
  )
}

/** A file as statements reach it. */
interface OpenFile extends Omit<SourceFile, 'sourcePath'> {
  /** The table of a joined source. */
  readonly name: string
  readonly linkPath: string
  /** A path for the decoded text. */
  readonly decodedFile: string
}

/**
 * Runs work on a connection to a new file of rows.
 * @param files the files that statements may read
 */
export async function withInstance<Result>(
  partialPath: string,
  changes: IngestionTerms['limits'],
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
  files: readonly OpenFile[],
  ingestion: Ingestion,
): Promise<IngestionCounts> {
  const { columns, privacyUnit, onProgress } = ingestion
  const run: Run = (statement, phase) =>
    runControlled(connection, ingestion, () => runStatement(connection, statement), phase)
  onProgress?.({ phase: 'check', fraction: 0 })
  const relations = new Map<string, FileRelation>()
  for (const { name, linkPath, decodedFile, format, csv } of files) {
    const examination = { ...ingestion, csv: csvDialect(csv), bounds: boundsOf(ingestion), decodedFile }
    relations.set(
      name,
      await readableOrRefused(() => FILE_FORMATS[format].relation(connection, linkPath, examination), name),
    )
  }
  const source =
    'tables' in ingestion
      ? await joinFiles(run, ingestion, relations)
      : await oneFile(run, ingestion, must(relations.get(''), 'the relation of a file'))
  const statements = printIngest(columns, privacyUnit, source.statement, source.columns, ROWS_TABLE)
  for (const statement of statements.prepare) await run(statement)
  onProgress?.({ phase: 'read', fraction: 0 })
  await readableOrRefused(() => run(statements.stage, 'read'))
  onProgress?.({ phase: 'store', fraction: 0 })

  const [rowsStaged, rowsWithMisfits] = await countsOf(run, statements.rows)
  if (rowsStaged === undefined || (source.expectedRows ?? rowsStaged) !== rowsStaged) throw unreadable()
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
  const places = source.places((sql) => numbersOf(run, sql), statements)
  const invalidValues = await describeMisfits(columns, misfits, places)
  refuseInvalidValues(columns, invalidValues)
  const { rowsStored, people } = await storeStaged(run, statements)
  onProgress?.({ phase: 'store', fraction: 1 })
  const { rowsRead = rowsStaged, joins } = source
  return defined({
    rowsRead,
    rowsWithoutIdentifier,
    rowsBeyondMaxRows: rowsStaged - rowsWithoutIdentifier - rowsStored,
    rowsStored,
    people: source.people ?? people,
    joins,
    invalidValues,
    clampedValues: describeClamped(columns, clamped),
  })
}

/** The rows to ingest as a relation. */
interface IngestedRelation {
  readonly statement: Statement
  /** The relation's column for each declared column. */
  readonly columns: readonly RelationColumn[]
  /** The number of rows that the relation must have; absent for joined tables, each of which was checked. */
  readonly expectedRows?: number
  /** Reads the places of misfits. */
  readonly places: (
    read: (statement: string) => Promise<readonly number[]>,
    statements: IngestStatements,
  ) => MisfitPlaces
  /** Rows of the source, where it has others than the relation. */
  readonly rowsRead?: number
  /** People, where the source has others than those of the rows. */
  readonly people?: number | undefined
  readonly joins?: IngestionCounts['joins']
}

async function oneFile(run: Run, terms: IngestionTerms, relation: FileRelation): Promise<IngestedRelation> {
  const { columns } = terms
  const found = columns.map(({ name, type }, index) =>
    locate(relation, name, fieldOfColumn(index), type === 'identifier'),
  )
  requireValueSizes(await valueSizes(run, found, relation), boundsOf(terms), fieldOfColumn)
  const { expectedRows, places } = relation
  return {
    statement: statementOf(relation),
    columns: found,
    expectedRows,
    places: (read, statements) => async (position, kind) =>
      placesOfRows(places, await read(statements.places(position, kind))),
  }
}

function statementOf({ sql, file }: FileRelation): Statement {
  return { sql, parameters: { path: { value: file, type: VARCHAR } } }
}

/** Stages the tables of a joined source, checks their keys and counts what their references do not find. */
async function joinFiles(
  run: Run,
  terms: IngestionTerms & JoinedFiles,
  relations: ReadonlyMap<string, FileRelation>,
): Promise<IngestedRelation> {
  const { columns, joins: tree, privacyUnit: unit } = terms
  const bounds = boundsOf(terms)
  const tables = locateJoined(columns, tree, relations)
  const rowsRead = must(relations.get(tree.root), 'the table of the rows').expectedRows
  let longestRow = 0
  for (const table of tables) {
    const { relation } = table
    const sizes = await valueSizes(run, table.columns, relation)
    longestRow += sizes.reduce((sum, { longest }) => sum + longest, 0)
    // Each row can have the longest value of another table. How many rows two facts combine to is counted below.
    const isOwn = table.name === tree.root || tree.facts !== undefined
    const inJoined = sizes.map(({ longest, total }) => ({
      longest,
      total: isOwn ? total : longest * rowsRead,
    }))
    requireValueSizes(inJoined, bounds, (place) => must(table.columns[place], 'a staged column').field)
    await readableOrRefused(() => run(printStagedTable(table, statementOf(relation))), table.name)
    const staged = await countOf(run, `SELECT count(*)::VARCHAR FROM ${stagedName(table.name)}`)
    if (staged !== relation.expectedRows) throw unreadable(table.name)
  }
  for (const join of tree.joins.filter(({ kind }) => kind !== 'facts')) {
    const repeated = await run(printRepeatedKey(join))
    if (repeated.currentRowCount === 0) continue
    if (join.kind !== 'owner' || join.to.table !== tree.people || unit.kind === 'row') throw repeatedKey(join)
    const table = must(
      tables.find(({ name }) => name === tree.people),
      'the table of people',
    )
    await run(printOneRowPerPerson(join, table, unit))
  }
  const facts = await countFacts(run, terms)
  if (facts !== undefined) {
    requireRows(facts.combined, bounds)
    requireBytes(facts.combined * longestRow, bounds)
  }
  const last = tree.joins.find(({ to }) => to.table === tree.people)
  const people =
    last === undefined || unit.kind === 'row'
      ? undefined
      : await countOf(run, `SELECT count(to${last.position})::VARCHAR FROM ${stagedName(tree.people)}`)
  return {
    statement: { sql: printJoined(tree, columns, unit), parameters: {} },
    columns: columns.map((_, position) => {
      const of = tables.flatMap((table) => table.columns).find((each) => each.position === position)
      return { ...must(of, 'the source of a declared column'), name: `value${position}` }
    }),
    places: (read, statements) => async (position, kind) => {
      const { name } = must(columns[position], 'a declared column')
      const { table } = must(parseJoinedColumn(name), 'the table of a column')
      const side = tree.facts?.sides.find(({ root, joins }) => tablesBelow(root, joins).has(table)) ?? tree
      // Where a reference finds no row, the row that refers has the place.
      for (const each of [table, side.root]) {
        const relation = printJoined(tree, columns, unit, each)
        const rows = await read(statements.joinedPlaces(position, kind, relation))
        if (rows.length > 0)
          return { ...placesOfRows(must(relations.get(each), 'a table').places, rows), table: each }
      }
      return {}
    },
    rowsRead,
    people,
    joins: await countJoins(run, tree, facts),
  }
}

/** Counts the rows of two facts, where a source joins them. */
async function countFacts(
  run: Run,
  { joins: { facts }, columns, privacyUnit }: IngestionTerms & JoinedFiles,
): Promise<ReturnType<typeof readFactCounts> | undefined> {
  if (facts === undefined) return undefined
  return readFactCounts(facts, await countsOf(run, printStagedFactCounts(facts, columns, privacyUnit)))
}

/** @throws Refusal `source-does-not-fit` for references that lead nowhere, where they are refused */
async function countJoins(
  run: Run,
  tree: JoinTree,
  facts: JoinCounts | undefined,
): Promise<IngestionCounts['joins']> {
  const counted = new Map<Join, JoinCounts>()
  for (const side of tree.facts?.sides ?? [tree]) {
    if (side.joins.length === 0) continue
    const counts = await countsOf(run, printDanglingCounts(side))
    side.joins.forEach((join, place) => {
      const [missing = 0, dangling = 0] = counts.slice(2 * place)
      if (join.dangling === 'refuse' && missing + dangling > 0)
        throw danglingReferences(join, missing, dangling)
      counted.set(join, { missing, dangling })
    })
  }
  return tree.joins.map((join) =>
    describeJoin(join, must(counted.get(join) ?? facts, 'the counts of a join')),
  )
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
export function boundsOf({ bounds }: Pick<IngestionTerms, 'bounds'>): SourceBounds {
  return { ...DEFAULT_BOUNDS, ...bounds }
}

/** Returns the sizes of the values of columns of a file. */
async function valueSizes(
  run: Run,
  found: readonly RelationColumn[],
  relation: FileRelation,
): Promise<readonly ValueSizes[]> {
  const { longestValues } = relation
  if (longestValues !== undefined)
    return found.map(({ name }) => ({
      longest: must(
        longestValues[relation.columns.findIndex((each) => each.name === name)],
        'the longest value of a column',
      ),
      // The size of the file limits that of all values.
      total: 0,
    }))
  const measured = found.map(({ name, type }, position) => ({ name: quoteIdentifier(name), type, position }))
  const statement = printValueSizes(statementOf(relation), measured)
  const counts = statement === undefined ? [] : await readableOrRefused(() => countsOf(run, statement))
  return readValueSizes(measured, counts, relation.expectedRows)
}

const ROWS_STORED = `SELECT count(*)::VARCHAR FROM ${quoteIdentifier(ROWS_TABLE)}`

/** Reads a row of counts. */
async function countsOf(run: Run, statement: string | Statement): Promise<readonly number[]> {
  const [row] = (await run(statement)).getRows()
  return must(row, 'a row of counts').map((text) => {
    const count = Number(text)
    if (!Number.isSafeInteger(count)) throw new Error('a count is not an integer')
    return count
  })
}

/** Reads numbers, one in each row. */
async function numbersOf(run: Run, statement: string): Promise<readonly number[]> {
  return (await run(statement)).getRows().map(([number]) => Number(number))
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

/**
 * Turns every failure to read the source into the same refusal, unless it needs too much memory or is too large.
 * @param table the table of a joined source; empty for one file
 */
async function readableOrRefused<T>(read: () => Promise<T>, table = ''): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof Refusal || isMemoryError(error)) throw error
    throw unreadable(table)
  }
}

function unreadable(table = ''): Refusal {
  const field = table === '' ? SOURCE_FIELD : `${SOURCE_FIELD}.tables.${table}`
  return refuseField('source-unreadable', field, 'cannot be read in its declared format')
}

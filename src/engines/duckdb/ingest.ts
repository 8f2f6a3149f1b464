import { rm, stat, symlink } from 'node:fs/promises'
import {
  BIGINT,
  BOOLEAN,
  type DuckDBConnection,
  type DuckDBType,
  type DuckDBValue,
  INTEGER,
  LIST,
  listValue,
  VARCHAR,
} from '@duckdb/node-api'
import type { Column } from '../../catalog/dataset.ts'
import { publishFile } from '../../files/durable-file.ts'
import { Refusal, refuseField } from '../../privacy/refusal.ts'
import { type CsvShape, readCsvShape } from './csv-shape.ts'
import { printIngest, rangeIsComputable } from './ingest-sql.ts'
import { type InstanceLimits, openLockedInstance, ROWS_TABLE } from './instance.ts'

/** A file to make a dataset's rows of. */
export interface Ingestion {
  /** Absolute; the caller has checked that this file may be read. */
  readonly sourcePath: string
  readonly format: 'csv' | 'parquet'
  readonly columns: readonly Column[]
  /** Where the DuckDB file goes; it appears there whole, or not at all. */
  readonly targetPath: string
  readonly limits?: Partial<Pick<InstanceLimits, 'threads' | 'memoryLimit' | 'maxTemporaryDirectorySize'>>
}

interface Relation {
  readonly sql: string
  /** The file's names for its columns, in order, and this relation's names for them. */
  readonly fileNames: readonly string[]
  readonly relationNames: readonly string[]
  /** How many rows there must be, where something else than DuckDB has counted them. */
  readonly expectedRows?: number
}

const SOURCE_FIELD = 'source'

/**
 * Makes the file that queries read: the declared columns of a CSV or Parquet file, every value checked into its declared
 * type by the rules of `ingest-sql.ts`.
 *
 * @throws Refusal `source-unreadable` or `source-does-not-fit`; it names columns, but nothing that is in them.
 */
export async function ingest(ingestion: Ingestion): Promise<{ rows: number }> {
  checkDeclarations(ingestion.columns)
  const partialPath = `${ingestion.targetPath}.partial`
  await removePartial(partialPath)
  try {
    const rows = await ingestInto(partialPath, ingestion)
    await publishFile(partialPath, ingestion.targetPath)
    return { rows }
  } catch (error) {
    if (error instanceof Refusal) throw error
    // What DuckDB and the file system say may quote the data.
    throw new Error('the source could not be stored')
  } finally {
    await removePartial(partialPath)
  }
}

function checkDeclarations(columns: readonly Column[]): void {
  const names = new Set<string>()
  for (const [index, column] of columns.entries()) {
    const field = `columns.${index}`
    const name = column.name.toLowerCase()
    if (names.has(name)) {
      throw refuseField('invalid-request', `${field}.name`, 'must differ from the others by more than case')
    }
    names.add(name)
    if (column.invalidValue.kind === 'null' && !column.nullable) {
      throw refuseField(
        'invalid-request',
        `${field}.invalidValue`,
        'cannot be null where the column is not nullable',
      )
    }
    if ((column.type === 'integer' || column.type === 'number') && !rangeIsComputable(column)) {
      throw refuseField('invalid-request', field, 'has bounds beyond what can be computed with exactly')
    }
  }
}

async function ingestInto(partialPath: string, ingestion: Ingestion): Promise<number> {
  const shape = await inspectSource(ingestion)
  // DuckDB takes a path for a pattern, so it never sees the custodian's: this name is made of ours alone.
  const linkPath = `${partialPath}.source`
  await symlink(ingestion.sourcePath, linkPath)
  const instance = await openLockedInstance(
    partialPath,
    'READ_WRITE',
    {
      threads: 2,
      memoryLimit: '1GB',
      maxTemporaryDirectorySize: '20GB',
      ...ingestion.limits,
      temporaryDirectory: `${partialPath}.temporary`,
    },
    [linkPath],
  )
  try {
    const connection = await instance.connect()
    try {
      return await ingestThrough(connection, linkPath, shape, ingestion.columns)
    } finally {
      connection.disconnectSync()
    }
  } finally {
    instance.closeSync()
  }
}

async function inspectSource({ sourcePath, format }: Ingestion): Promise<CsvShape | undefined> {
  const shape = await readableOrRefused(async () => {
    if (!(await stat(sourcePath)).isFile()) throw unreadable()
    return format === 'csv' ? readCsvShape(sourcePath) : undefined
  })
  if (format === 'csv' && shape === undefined) throw unreadable()
  return shape
}

async function ingestThrough(
  connection: DuckDBConnection,
  sourcePath: string,
  shape: CsvShape | undefined,
  columns: readonly Column[],
): Promise<number> {
  const relation =
    shape === undefined
      ? await readableOrRefused(() => parquetRelation(connection, sourcePath))
      : csvRelation(shape)
  const statements = printIngest(columns, relation.sql, locateColumns(columns, relation), ROWS_TABLE)

  const values: Record<string, DuckDBValue> = { path: sourcePath }
  const types: Record<string, DuckDBType> = { path: VARCHAR }
  for (const [index, column] of columns.entries()) {
    if (column.type !== 'category') continue
    values[`category${index}`] = listValue(column.categories)
    types[`category${index}`] = LIST(VARCHAR)
  }
  await readableOrRefused(() => connection.run(statements.stage, values, types))

  const [facts = []] = (await connection.runAndReadAll(statements.inspect)).getRows()
  const [count, ...refusals] = facts
  const rows = Number(count)
  if (!Number.isSafeInteger(rows)) throw new Error('a count of rows is an integer')
  if (relation.expectedRows !== undefined && relation.expectedRows !== rows) throw unreadable()
  const refused = refusals.indexOf(true)
  if (refused !== -1) {
    throw refuseField(
      'source-does-not-fit',
      `columns.${refused}.name`,
      'the source holds values that do not fit what is declared of this column',
    )
  }

  const replacements = printReplacements(columns)
  await connection.run(statements.store, replacements.values, replacements.types)
  await connection.run('DROP TABLE staged')
  await connection.run('CHECKPOINT')
  return rows
}

function csvRelation(shape: CsvShape): Relation {
  // Names of our own: the file's may differ by nothing but case, or not at all.
  const relationNames = shape.header.map((_, index) => `field${index}`)
  const options = [
    `columns = {${relationNames.map((name) => `'${name}': 'VARCHAR'`).join(', ')}}`,
    'auto_detect = false',
    'header = true',
    'skip = 0',
    "delim = ','",
    `quote = '"'`,
    `escape = '"'`,
    "comment = ''",
    "nullstr = ''",
    'allow_quoted_nulls = false',
    'null_padding = false',
    'ignore_errors = false',
    'strict_mode = true',
    "compression = 'none'",
    // Reading in parallel guesses where records begin.
    'parallel = false',
  ]
  return {
    sql: `read_csv($path, ${options.join(', ')})`,
    fileNames: shape.header,
    relationNames,
    expectedRows: shape.records,
  }
}

async function parquetRelation(connection: DuckDBConnection, sourcePath: string): Promise<Relation> {
  const sql = 'read_parquet($path, hive_partitioning = false, union_by_name = false)'
  const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${sql}`, { path: sourcePath })
  const names = described.getRows().map(([name]) => String(name))
  return { sql, fileNames: names, relationNames: names }
}

function locateColumns(columns: readonly Column[], relation: Relation): readonly string[] {
  return columns.map(({ name }, index) => {
    const position = relation.fileNames.indexOf(name)
    if (relation.fileNames.lastIndexOf(name) !== position) {
      throw refuseField('source-does-not-fit', `columns.${index}.name`, 'names two columns of the source')
    }
    const found = relation.relationNames[position]
    if (found === undefined) {
      throw refuseField(
        'source-does-not-fit',
        `columns.${index}.name`,
        'the source has no column of this name',
      )
    }
    return found
  })
}

function printReplacements(columns: readonly Column[]): {
  readonly values: Record<string, DuckDBValue>
  readonly types: Record<string, DuckDBType>
} {
  const storedTypes = {
    integer: BIGINT,
    number: BIGINT,
    boolean: BOOLEAN,
    category: INTEGER,
    string: VARCHAR,
  }
  const values: Record<string, DuckDBValue> = {}
  const types: Record<string, DuckDBType> = {}
  for (const [index, column] of columns.entries()) {
    if (column.invalidValue.kind !== 'replace') continue
    values[`replacement${index}`] = column.invalidValue.value
    types[`replacement${index}`] = storedTypes[column.type]
  }
  return { values, types }
}

/** Whatever goes wrong while the source is read is said in the same words. */
async function readableOrRefused<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch {
    throw unreadable()
  }
}

function unreadable(): Refusal {
  return refuseField('source-unreadable', SOURCE_FIELD, 'cannot be read in its declared format')
}

async function removePartial(partialPath: string): Promise<void> {
  for (const suffix of ['', '.wal', '.temporary', '.source']) {
    await rm(`${partialPath}${suffix}`, { recursive: true, force: true })
  }
}

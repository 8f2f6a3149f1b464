import { rm, stat, symlink } from 'node:fs/promises'
import { type DuckDBConnection, type DuckDBResultReader, VARCHAR } from '@duckdb/node-api'
import type { Column, FileFormat } from '../../catalog/dataset.ts'
import { publishFile } from '../../files/durable-file.ts'
import { Refusal, refuseField } from '../../privacy/refusal.ts'
import type { Statement } from './encodings/encoding.ts'
import { rangeIsComputable } from './encodings/numeric.ts'
import { FILE_FORMATS, type FileRelation } from './formats/format.ts'
import { printIngest, type RelationColumn } from './ingest-sql.ts'
import { type InstanceLimits, openLockedInstance, ROWS_TABLE } from './instance.ts'

/** A file to ingest. */
export interface Ingestion {
  /** An absolute path to a file that the caller has checked. */
  readonly sourcePath: string
  readonly format: FileFormat
  readonly columns: readonly Column[]
  /** The DuckDB file to write; it exists completely or not at all. */
  readonly targetPath: string
  readonly limits?: Partial<Pick<InstanceLimits, 'threads' | 'memoryLimit' | 'maxTemporaryDirectorySize'>>
}

const SOURCE_FIELD = 'source'

/**
 * Writes the file that queries read: the declared columns of a source file, every value converted to its declared type by
 * the rules of `encodings/`.
 *
 * @throws Refusal `source-unreadable` or `source-does-not-fit`, which name columns but no values.
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
    // Messages of DuckDB and the file system may quote data.
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
      throw refuseField(
        'invalid-request',
        `${field}.name`,
        'must differ from other names by more than letter case',
      )
    }
    names.add(name)
    if (column.invalidValue.kind === 'null' && !column.nullable) {
      throw refuseField(
        'invalid-request',
        `${field}.invalidValue`,
        'must not be null for a column that is not nullable',
      )
    }
    if ((column.type === 'integer' || column.type === 'number') && !rangeIsComputable(column)) {
      throw refuseField('invalid-request', field, 'has bounds that are too large for exact computation')
    }
  }
}

async function ingestInto(partialPath: string, ingestion: Ingestion): Promise<number> {
  await readableOrRefused(async () => {
    if (!(await stat(ingestion.sourcePath)).isFile()) throw unreadable()
  })
  // DuckDB interprets a path as a pattern, so it reads the file through a link with a generated name.
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
      return await ingestThrough(connection, linkPath, ingestion)
    } finally {
      connection.disconnectSync()
    }
  } finally {
    instance.closeSync()
  }
}

async function ingestThrough(
  connection: DuckDBConnection,
  sourcePath: string,
  { format, columns }: Ingestion,
): Promise<number> {
  const relation = await readableOrRefused(() => FILE_FORMATS[format].relation(connection, sourcePath))
  const source = { sql: relation.sql, parameters: { path: { value: sourcePath, type: VARCHAR } } }
  const statements = printIngest(columns, source, locateColumns(columns, relation), ROWS_TABLE)
  for (const statement of statements.prepare) await run(connection, statement)
  await readableOrRefused(() => run(connection, statements.stage))

  const [facts = []] = (await run(connection, statements.inspect)).getRows()
  const [count, ...refusals] = facts
  const rows = Number(count)
  if (!Number.isSafeInteger(rows)) throw new Error('the number of rows is not an integer')
  if (relation.expectedRows !== undefined && relation.expectedRows !== rows) throw unreadable()
  const refused = refusals.indexOf(true)
  if (refused !== -1) {
    throw refuseField(
      'source-does-not-fit',
      `columns.${refused}.name`,
      'the source has values that do not fit the declaration of this column',
    )
  }

  await run(connection, statements.store)
  await connection.run('DROP TABLE staged')
  await connection.run('CHECKPOINT')
  return rows
}

function run(connection: DuckDBConnection, { sql, parameters }: Statement): Promise<DuckDBResultReader> {
  const each = Object.entries(parameters)
  return connection.runAndReadAll(
    sql,
    Object.fromEntries(each.map(([name, { value }]) => [name, value])),
    Object.fromEntries(each.map(([name, { type }]) => [name, type])),
  )
}

function locateColumns(columns: readonly Column[], relation: FileRelation): readonly RelationColumn[] {
  return columns.map(({ name }, index) => {
    const position = relation.fileNames.indexOf(name)
    if (relation.fileNames.lastIndexOf(name) !== position) {
      throw refuseField('source-does-not-fit', `columns.${index}.name`, 'matches two columns of the source')
    }
    const found = relation.columns[position]
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

/** Turns every failure to read the source into the same refusal. */
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

import type { Column, KeyedPrivacyUnit, TableColumn, TableSource } from '../../../core/dataset/dataset.ts'
import { type DatasetDeclaration, declareDataset } from '../../../core/dataset/declaration.ts'
import type { CatalogEntry, InvalidValues } from '../../../core/dataset/entry.ts'
import { ingestStored, type StoredIngestion } from '../../../engines/duckdb/ingestion/ingest-stored.ts'
import { EngineFailure } from '../../../engines/engine.ts'
import { describeClamped, describeMisfits } from '../../../engines/misfits.ts'
import {
  beyondLimit,
  checkColumns,
  refuseInvalidValues,
  repeatedIdentifier,
} from '../../../engines/source-rules.ts'
import {
  parseTableName,
  type TableEngine,
  type TableInspection,
} from '../../../engines/tables/table-engine.ts'
import { canonicalJson, sha256 } from '../../../ledger/canonical.ts'
import { defined } from '../../../privacy/defined.ts'
import { must } from '../../../privacy/must.ts'
import { Refusal, refuseField } from '../../../privacy/refusal.ts'
import type { OpenedConnection } from '../../connections/open.ts'

/** The connections that the operator has configured, by their names. */
export type Connections = ReadonlyMap<string, OpenedConnection>

/** Largest number of characters of an identifier. PostgreSQL would cut off the rest. */
const LONGEST_IDENTIFIER = { postgres: 63, trino: 128 } as const

/**
 * Returns the source with the complete name of its table, so that a table has one name, and keeps it if the schema of the
 * connection changes. Trino compares names in lower case.
 * @throws Refusal `source-refused` for a connection that is not configured, or a name that is too long.
 */
export function resolveTable(connections: Connections, source: TableSource): TableSource {
  const { connection } = connectionOf(connections, source)
  const { schema = connection.schema, name } = parseTableName(source.table)
  const longest = LONGEST_IDENTIFIER[connection.engine]
  if ([schema, name].some((part) => [...part].length > longest))
    throw refuseField('source-refused', 'source.table', `must have names of at most ${longest} characters`)
  const table = `${schema}.${name}`
  return { ...source, table: connection.engine === 'trino' ? table.toLowerCase() : table }
}

/** The digest by which the ledger recognises a table that is registered under another id. */
export function tableDigest({ connection, table }: TableSource): string {
  return sha256(canonicalJson({ connection, table }))
}

/** A table to attach: a declaration whose source has a complete name, its columns, and its keyed privacy unit. */
export interface AttachedTable {
  readonly declaration: DatasetDeclaration
  readonly columns: readonly Column[]
  readonly unit: KeyedPrivacyUnit
}

/**
 * Checks a live table in its database as ingestion checks a file.
 * @returns exact numbers for the custodian, and the columns that the table has
 * @throws Refusal as for a file, and `unavailable` if the database cannot be reached; the reason of the signal once it is
 * aborted.
 */
export async function attachTable(
  connections: Connections,
  source: TableSource,
  attached: AttachedTable,
  signal: AbortSignal,
): Promise<Required<Pick<CatalogEntry, 'ingestion' | 'tableColumns'>>> {
  const { table, inspection, invalidValues } = await inspectTable(connections, source, attached, signal)
  requireLimits(attached.columns, inspection)
  return { ingestion: countsOf(attached.columns, inspection, invalidValues), tableColumns: table.columns }
}

/** Destination and limits of a snapshot. */
export type SnapshotTarget = Pick<StoredIngestion, 'targetPath' | 'signal' | 'bounds' | 'onProgress'>

/**
 * Copies the rows of a table once, in the stored form that the database computes.
 * @returns exact numbers for the custodian. The misfits are counted just before the rows are read; values that no longer
 * fit when they are read follow the rule for live tables.
 * @throws Refusal as {@link attachTable} does.
 */
export async function copyTable(
  connections: Connections,
  source: TableSource,
  attached: AttachedTable,
  target: SnapshotTarget,
): Promise<Pick<CatalogEntry, 'ingestion'>> {
  const { columns, unit: privacyUnit } = attached
  const { signal } = target
  const inspected = await inspectTable(connections, source, attached, signal)
  const { engine, table, inspection, invalidValues } = inspected
  const rows = engine.read(table, signal)
  const expectedRows = inspection.rowsRead - inspection.rowsWithoutIdentifier
  const copied = await readable(
    () => ingestStored({ ...target, rows, expectedRows, columns, privacyUnit }),
    signal,
  )
  const rowsRead = copied.rowsRead + inspection.rowsWithoutIdentifier
  return { ingestion: countsOf(columns, { ...inspection, ...copied, rowsRead }, invalidValues) }
}

/**
 * Finds the declared columns in a table and counts its rows and misfits.
 * @throws Refusal `source-refused` for a table that cannot be used, `source-does-not-fit` for a column that is missing or
 * has another type, or for misfits that are refused, `unavailable` if the database cannot be reached.
 */
async function inspectTable(
  connections: Connections,
  source: TableSource,
  { declaration, columns, unit }: AttachedTable,
  signal: AbortSignal | undefined,
) {
  checkColumns(columns)
  const { engine } = connectionOf(connections, source)
  const name = parseTableName(source.table)
  const found = await readable(() => engine.describe(name, signal), signal)
  if (found === undefined)
    throw refuseField('source-refused', 'source.table', 'names no table or view that the connection may read')
  const rule = await readable(async () => engine.refusal?.(name, signal), signal)
  if (rule !== undefined) throw refuseField('source-refused', 'source.connection', rule)
  // The version does not matter before the publication.
  const dataset = declareDataset(declaration, '0', 0)
  const table = { dataset, table: name, columns: locateColumns(engine, columns, found), unit }
  const inspection = await readable(() => engine.inspect(table, signal), signal)
  const invalidValues = await describeMisfits(columns, inspection.misfits)
  refuseInvalidValues(columns, invalidValues)
  return { engine, table, inspection, invalidValues }
}

function connectionOf(connections: Connections, { connection }: TableSource): OpenedConnection {
  const found = connections.get(connection)
  if (found === undefined)
    throw refuseField('source-refused', 'source.connection', 'must be the name of a configured connection')
  return found
}

function locateColumns(
  engine: TableEngine,
  columns: readonly Column[],
  found: readonly TableColumn[],
): readonly TableColumn[] {
  return columns.map((column, position) => {
    const field = `columns.${position}`
    const located = columnNamed(found, column.name)
    if (located === undefined)
      throw refuseField('source-does-not-fit', `${field}.name`, 'the source has no column of this name')
    if (!engine.fits(column, located))
      throw refuseField(
        'source-does-not-fit',
        `${field}.type`,
        `values of the type ${located.type} cannot be converted to this type`,
      )
    return located
  })
}

/** Finds a column by its exact name, otherwise by its name in upper or lower case if only one column has it. */
function columnNamed(found: readonly TableColumn[], name: string): TableColumn | undefined {
  const exact = found.find((column) => column.name === name)
  if (exact !== undefined) return exact
  const [folded, ...others] = found.filter((column) => column.name.toLowerCase() === name.toLowerCase())
  return others.length === 0 ? folded : undefined
}

/** @throws Refusal `source-does-not-fit` for an identifier that repeats, or the first limit that is exceeded. */
function requireLimits(columns: readonly Column[], inspection: TableInspection): void {
  const repeated = inspection.repeated.indexOf(true)
  if (repeated !== -1) throw repeatedIdentifier(repeated)
  for (const [position, column] of columns.entries()) {
    const exceeds = (counts: readonly (number | undefined)[], limit: number) =>
      must(counts[position], 'a count of a column with a limit') > limit
    const { distinctValues, longestTexts } = inspection
    if ('rankable' in column && column.rankable && exceeds(distinctValues, column.rankable.maxValues))
      throw beyondLimit({ position, field: 'rankable.maxValues' })
    if (column.type !== 'string' || column.selectable === undefined) continue
    const { maxValues, maxLength } = column.selectable
    if (exceeds(distinctValues, maxValues)) throw beyondLimit({ position, field: 'selectable.maxValues' })
    if (exceeds(longestTexts, maxLength)) throw beyondLimit({ position, field: 'selectable.maxLength' })
  }
}

function countsOf(
  columns: readonly Column[],
  { rowsRead, rowsWithoutIdentifier, rowsStored, people, clamped }: TableInspection,
  invalidValues: readonly InvalidValues[],
): Required<CatalogEntry>['ingestion'] {
  const rowsBeyondMaxRows = rowsRead - rowsWithoutIdentifier - rowsStored
  const counts = { rowsRead, rowsWithoutIdentifier, rowsStored, rowsBeyondMaxRows, people }
  return defined({ ...counts, invalidValues, clampedValues: describeClamped(columns, clamped) })
}

/** Converts failures of a database to refusals. Its own messages may quote data. */
export async function readable<Result>(task: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
  try {
    return await task()
  } catch (error) {
    signal?.throwIfAborted()
    if (!(error instanceof EngineFailure)) throw error
    switch (error.name) {
      case 'EngineUnavailable':
      case 'EngineInterrupted':
        throw new Refusal('unavailable', 'The database of the connection cannot be reached.', [], {
          retryAfterSeconds: 10,
        })
      case 'EngineTimeout':
        throw refuseField(
          'source-unreadable',
          'source.table',
          "must be read within the connection's time limit for registrations",
        )
      default:
        throw refuseField('source-unreadable', 'source.table', 'cannot be read through the connection')
    }
  }
}

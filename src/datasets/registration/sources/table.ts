import {
  type Column,
  databaseOf,
  isLiveSource,
  type KeyedPrivacyUnit,
  type Source,
  type TableColumn,
  type TableSource,
} from '../../../core/dataset/dataset.ts'
import { type DatasetDeclaration, declareDataset } from '../../../core/dataset/declaration.ts'
import type { CatalogEntry, InvalidValues } from '../../../core/dataset/entry.ts'
import { isJoined, mapTables, parseJoinedColumn, publicTables } from '../../../core/dataset/joins.ts'
import { ingestStored, type StoredIngestion } from '../../../engines/duckdb/ingestion/ingest-stored.ts'
import { danglingReferences, repeatedKey } from '../../../engines/duckdb/ingestion/joined.ts'
import { EngineFailure } from '../../../engines/engine.ts'
import { describeJoin } from '../../../engines/joins.ts'
import { describeClamped, describeMisfits } from '../../../engines/misfits.ts'
import {
  beyondLimit,
  checkColumns,
  refuseInvalidValues,
  repeatedIdentifier,
} from '../../../engines/source-rules.ts'
import { KEY } from '../../../engines/tables/joined.ts'
import {
  eachTable,
  type JoinedCounts,
  type JoinedTables,
  parseTableName,
  type ShownRelation,
  type TableDataset,
  type TableEngine,
  type TableInspection,
  tablesOf,
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
  const complete = source.table.includes('.') ? source.table : `${connection.schema}.${source.table}`
  const { schema, name } = parseTableName(complete)
  const longest = LONGEST_IDENTIFIER[connection.engine]
  if ([schema, name].some((part) => [...part].length > longest))
    throw refuseField('source-refused', 'source.table', `must have names of at most ${longest} characters`)
  return { ...source, table: connection.engine === 'trino' ? complete.toLowerCase() : complete }
}

/**
 * Returns a source with the complete names of its tables, if it has any, as {@link resolveTable} does.
 * @throws Refusal `source-refused`
 */
export function resolveTables(connections: Connections, source: Source): Source {
  if (source.kind === 'table') return resolveTable(connections, source)
  if (!isJoined(source)) return source
  return mapTables(source, (table, name) => {
    if (table.kind !== 'table') return table
    try {
      return resolveTable(connections, table)
    } catch (error) {
      throw ofTable(name, error)
    }
  })
}

/** Names a table of a joined source in the fields of its refusal. */
export function ofTable(name: string, error: unknown): unknown {
  if (!(error instanceof Refusal)) return error
  const errors = error.errors.map(({ field, rule }) => ({
    field: field.replace(/^source\b/, `source.tables.${name}`),
    rule,
  }))
  return new Refusal(error.code, `${name}: ${error.message}`, errors, error.facts)
}

/** The digest by which the ledger recognises a table that is registered under another id. */
export function tableDigest({ connection, table }: TableSource): string {
  return sha256(canonicalJson({ connection, table }))
}

/**
 * Returns the relations whose rows a table shows. By their digests the ledger recognises views over a registered
 * table, parts of it, and other connections to its database. See decision 67.
 * @throws Refusal `source-unreadable`, or `unavailable` if the database cannot be reached; the reason of the signal once it is
 * aborted.
 */
export async function relationsOf(
  connections: Connections,
  source: TableSource,
  signal: AbortSignal | undefined,
): Promise<readonly RegisteredRelation[]> {
  const { engine } = connectionOf(connections, source)
  const relations = await readable(() => engine.relations(parseTableName(source.table), signal), signal)
  return relations.map(({ text, isOrigin }) => ({
    digest: sha256(canonicalJson({ relation: text })),
    isOrigin,
  }))
}

/** A relation whose rows a table shows, with the digest by which the ledger recognises it. */
export interface RegisteredRelation extends Pick<ShownRelation, 'isOrigin'> {
  readonly digest: string
}

/** A table to attach: a declaration whose source has a complete name, its columns, and its keyed privacy unit. */
export interface AttachedTable {
  readonly declaration: DatasetDeclaration
  readonly columns: readonly Column[]
  readonly unit: KeyedPrivacyUnit
}

/**
 * Checks a live table, or live tables that are joined, in their database as ingestion checks a file.
 * @returns exact numbers for the custodian, and the columns that the table has
 * @throws Refusal as for a file, and `unavailable` if the database cannot be reached; the reason of the signal once it is
 * aborted.
 */
export async function attachTable(
  connections: Connections,
  attached: AttachedTable,
  signal: AbortSignal,
): Promise<Required<Pick<CatalogEntry, 'ingestion' | 'tableColumns'>>> {
  const { table, inspection, invalidValues } = await inspectTable(connections, attached, signal)
  requireLimits(attached.columns, inspection)
  return { ingestion: countsOf(table, inspection, invalidValues), tableColumns: table.columns }
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
  attached: AttachedTable,
  target: SnapshotTarget,
): Promise<Pick<CatalogEntry, 'ingestion'>> {
  const { columns, unit: privacyUnit } = attached
  const { signal } = target
  const inspected = await inspectTable(connections, attached, signal)
  const { engine, table, inspection, invalidValues } = inspected
  let joined: JoinedCounts | undefined
  const rows = engine.read(table, signal, (counts) => {
    joined = counts
  })
  const expectedRows = inspection.rowsRead - inspection.rowsWithoutIdentifier
  const copied = await readable(
    () => ingestStored({ ...target, rows, expectedRows, columns, privacyUnit }),
    signal,
  )
  requireJoins(table, joined)
  const rowsRead = copied.rowsRead + inspection.rowsWithoutIdentifier
  return {
    ingestion: countsOf(table, { ...inspection, ...copied, rowsRead, ...defined({ joined }) }, invalidValues),
  }
}

/**
 * Finds the declared columns in a table and counts its rows and misfits.
 * @throws Refusal `source-refused` for a table that cannot be used, `source-does-not-fit` for a column that is missing or
 * has another type, or for misfits that are refused, `unavailable` if the database cannot be reached.
 */
async function inspectTable(
  connections: Connections,
  { declaration, columns, unit }: AttachedTable,
  signal: AbortSignal | undefined,
) {
  checkColumns(columns)
  const { engine, connection } = connectionOf(
    connections,
    must(databaseOf(declaration.source), 'the database of a table'),
  )
  const named = tablesOf(declaration)
  const found: TableColumn[] = []
  for (const each of eachTable(named)) found.push(...(await describeOne(engine, each, signal)))
  await requireIndependent(engine, named, signal)
  // The version does not matter before the publication.
  const dataset = declareDataset(declaration, '0', 0)
  const longest = LONGEST_IDENTIFIER[connection.engine]
  // Trino guarantees no key: its statements check them.
  const mustBeUnique = isLiveSource(declaration.source) && connection.engine === 'postgres'
  const table: TableDataset = {
    ...{ dataset, table: named, unit },
    columns: [
      ...locateColumns(engine, columns, found, named, longest),
      ...locateEnds(engine, named, found, mustBeUnique),
    ],
  }
  const inspection = await readable(() => engine.inspect(table, signal), signal)
  requireJoins(table, inspection.joined)
  const invalidValues = await describeMisfits(columns, inspection.misfits)
  refuseInvalidValues(columns, invalidValues)
  return { engine, table, inspection, invalidValues }
}

/** Describes a table whose role may be used. The names of its columns begin with the prefix. */
async function describeOne(
  engine: TableEngine,
  { prefix, table }: ReturnType<typeof eachTable>[number],
  signal: AbortSignal | undefined,
): Promise<readonly TableColumn[]> {
  const source = prefix === '' ? 'source' : `source.tables.${prefix.slice(0, -1)}`
  const found = await readable(() => engine.describe(table, signal), signal)
  if (found === undefined)
    throw refuseField(
      'source-refused',
      `${source}.table`,
      'names no table or view that the connection may read',
    )
  const rule = await readable(async () => engine.refusal?.(table, signal), signal)
  if (rule !== undefined) throw refuseField('source-refused', `${source}.connection`, rule)
  return found.map((column) => ({ ...column, name: `${prefix}${column.name}` }))
}

/** @throws Refusal `source-does-not-fit` for a public table that depends on people, as far as the database tells. */
async function requireIndependent(
  engine: TableEngine,
  named: TableDataset['table'],
  signal: AbortSignal | undefined,
): Promise<void> {
  if (!('tables' in named)) return
  const isPublic = publicTables(named.joins)
  const tables = Object.entries(named.tables)
  for (const [name, table] of tables.filter(([name]) => isPublic.has(name)))
    for (const [people, other] of tables.filter(([name]) => !isPublic.has(name)))
      if (await readable(async () => engine.dependsOn?.(table, other, signal), signal))
        throw refuseField(
          'source-does-not-fit',
          `source.tables.${name}`,
          `depends on ${people}, by a view, a foreign key or inheritance, and so on people: it cannot be public`,
        )
}

function connectionOf(
  connections: Connections,
  { connection }: Pick<TableSource, 'connection'>,
): OpenedConnection {
  const found = connections.get(connection)
  if (found === undefined)
    throw refuseField('source-refused', 'source.connection', 'must be the name of a configured connection')
  return found
}

function locateColumns(
  engine: TableEngine,
  columns: readonly Column[],
  found: readonly TableColumn[],
  table: TableDataset['table'],
  longest: number,
): readonly TableColumn[] {
  return columns.map((column, position) => {
    const field = `columns.${position}`
    if ('tables' in table && Buffer.byteLength(column.name) > longest)
      throw refuseField(
        'source-does-not-fit',
        `${field}.name`,
        `must have at most ${longest} bytes, where tables of a database are joined`,
      )
    const located = columnNamed('tables' in table ? ofSameTable(found, column.name) : found, column.name)
    if (located === undefined)
      throw refuseField('source-does-not-fit', `${field}.name`, 'the source has no column of this name')
    if (!engine.fits(column, located))
      throw refuseField(
        'source-does-not-fit',
        `${field}.type`,
        `values of the type ${located.type} cannot be converted to this type`,
      )
    const { unique: _, ...facts } = located
    return facts
  })
}

/**
 * Finds the ends of the joins, two for each.
 * @param mustBeUnique true if the database must guarantee that keys are unique, unless they are those of people
 */
function locateEnds(
  engine: TableEngine,
  table: TableDataset['table'],
  found: readonly TableColumn[],
  mustBeUnique: boolean,
): readonly TableColumn[] {
  if (!('tables' in table)) return []
  const ordered = [...table.joins.joins].sort((one, other) => one.position - other.position)
  return ordered.flatMap(({ position, from, to, kind }) => {
    const isOfPeople = kind === 'owner' && to.table === table.joins.people
    const [one, key] = (['from', 'to'] as const).map((name) => {
      const end = { from, to }[name]
      const misfit = (rule: string) =>
        refuseField('source-does-not-fit', `source.joins.${position}.${name}`, rule)
      const full = `${end.table}.${end.column}`
      const located = columnNamed(ofSameTable(found, full), full)
      if (located === undefined) throw misfit('the source has no column of this name')
      if (!engine.fits(KEY, located)) throw misfit('must be text, whole numbers or UUIDs in the source')
      if (name === 'to' && mustBeUnique && !isOfPeople && kind !== 'facts' && !located.unique)
        throw misfit(NOT_UNIQUE)
      const { unique: _, ...facts } = located
      return name === 'to' && kind !== 'facts' ? located : facts
    })
    return [must(one, 'an end of a join'), must(key, 'an end of a join')]
  })
}

const NOT_UNIQUE =
  'must be a primary key, or have a unique index of its own, so that a live table can have no key twice; add one, or declare ' +
  'the mode "snapshot", which checks the keys once'

/** @throws Refusal `source-does-not-fit` for a key that several rows have, and for references that the declaration refuses. */
function requireJoins({ table }: TableDataset, counts: JoinedCounts | undefined): void {
  if (!('tables' in table) || counts === undefined) return
  const found = joinsOf(table, counts)
  for (const { join, repeated } of found) if (repeated > 0) throw repeatedKey(join)
  for (const { join, missing, dangling } of found)
    if (join.dangling === 'refuse' && missing + dangling > 0)
      throw danglingReferences(join, missing, dangling)
}

function joinsOf({ joins: { joins } }: JoinedTables, counts: JoinedCounts) {
  return counts.joins.map((each, i) => ({ ...each, join: must(joins[i], 'a join') }))
}

/** Returns the columns of the joined table that a name names. */
function ofSameTable(found: readonly TableColumn[], name: string): readonly TableColumn[] {
  const table = parseJoinedColumn(name)?.table
  return found.filter((column) => parseJoinedColumn(column.name)?.table === table)
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
  { dataset: { columns }, table }: TableDataset,
  { rowsRead, rowsWithoutIdentifier, rowsStored, people, clamped, joined }: TableInspection,
  invalidValues: readonly InvalidValues[],
): Required<CatalogEntry>['ingestion'] {
  const rowsBeyondMaxRows = rowsRead - rowsWithoutIdentifier - rowsStored
  const counts = {
    rowsRead: joined?.rowsRead ?? rowsRead,
    ...{ rowsWithoutIdentifier, rowsStored, rowsBeyondMaxRows },
    // Rows that Trino reads later may have more people.
    people: joined?.people === undefined ? people : Math.max(joined.people, people ?? 0),
    joins:
      joined && 'tables' in table
        ? joinsOf(table, joined).map((each) => describeJoin(each.join, each))
        : undefined,
  }
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

import type {
  Column,
  Dataset,
  DatasetVersion,
  KeyedPrivacyUnit,
  TableColumn,
} from '../../core/dataset/dataset.ts'
import { isJoined, type JoinTree, joinTree } from '../../core/dataset/joins.ts'
import { must } from '../../privacy/must.ts'
import { type Engine, EngineFailure } from '../engine.ts'
import type { JoinCounts } from '../joins.ts'
import type { MISFIT_KINDS } from '../misfits.ts'

/** A table or view of a database, by its complete name. */
export interface TableName {
  readonly schema: string
  readonly name: string
}

/** Reads a complete name, `schema.table`. The parts of a declared name contain no dots. */
export function parseTableName(text: string): TableName {
  const dot = text.indexOf('.')
  if (dot === -1) throw new RangeError('the name of a table has no schema')
  return { schema: text.slice(0, dot), name: text.slice(dot + 1) }
}

/** Tables of one database whose joined rows are those of a dataset. */
export interface JoinedTables {
  /** The tables by their names in the declaration. */
  readonly tables: Readonly<Record<string, TableName>>
  readonly joins: JoinTree
}

/**
 * Returns the table of a dataset, or the tables that it joins.
 * @throws RangeError for a source that has none
 */
export function tablesOf({
  source,
  privacyUnit,
}: Pick<Dataset, 'source' | 'privacyUnit'>): TableName | JoinedTables {
  if (source.kind === 'table') return parseTableName(source.table)
  if (!isJoined(source)) throw new RangeError('the source is no table of a database')
  const joins = must(
    joinTree({ source, privacyUnit, columns: [] }, () => undefined),
    'the joins of a dataset',
  )
  const tables = Object.entries(source.tables).map(([name, table]) => {
    if (table.kind !== 'table') throw new RangeError('a joined source is no table of a database')
    return [name, parseTableName(table.table)]
  })
  return { tables: Object.fromEntries(tables), joins }
}

/** Returns each table with the text that begins the names of its columns: nothing, or `table.` of a joined table. */
export function eachTable(
  table: TableName | JoinedTables,
): readonly { readonly prefix: string; readonly table: TableName }[] {
  if (!('tables' in table)) return [{ prefix: '', table }]
  return Object.entries(table.tables).map(([name, joined]) => ({ prefix: `${name}.`, table: joined }))
}

/**
 * Describes the columns of a table, or of joined tables.
 * @returns `undefined` if there is one that cannot be read
 */
export async function describeTables(
  engine: Pick<TableEngine, 'describe'>,
  table: TableName | JoinedTables,
  signal?: AbortSignal,
): Promise<readonly TableColumn[] | undefined> {
  const all: TableColumn[] = []
  for (const { prefix, table: name } of eachTable(table)) {
    const found = await engine.describe(name, signal)
    if (found === undefined) return undefined
    all.push(...found.map((column) => ({ ...column, name: `${prefix}${column.name}` })))
  }
  return all
}

/** A dataset whose rows are read from a table of a database, or from tables that it joins. */
export interface TableDataset {
  readonly dataset: Dataset
  readonly table: TableName | JoinedTables
  /**
   * The columns that the table had at registration, for the declared columns only and in their order. Of joined tables the
   * two ends of each join follow, in the order of the declared joins.
   */
  readonly columns: readonly TableColumn[]
  readonly unit: KeyedPrivacyUnit
}

/** A difference between a column as it was at the registration of its table, and as it is now. */
export type ColumnChange =
  /** The table has no such column, or the connection may no longer read it. */
  | { readonly change: 'missing'; readonly column: string }
  | {
      readonly change: 'type'
      readonly column: string
      readonly registered: string
      readonly present: string
    }
  /** The column may be NULL now, may no longer be NULL, or may have a value twice. */
  | { readonly change: 'nullable' | 'not-null' | 'not-unique'; readonly column: string }

/**
 * Compares the columns that a table had at registration with those that it has now. Columns that are not declared may
 * change.
 */
export function findColumnChanges(
  registered: readonly TableColumn[],
  found: readonly TableColumn[],
): readonly ColumnChange[] {
  const present = new Map(found.map((column) => [column.name, column]))
  const changes = registered.flatMap(({ name, type, notNull, unique }): readonly ColumnChange[] => {
    const now = present.get(name)
    if (now === undefined) return [{ change: 'missing', column: name }]
    const changes: ColumnChange[] = []
    if (now.type !== type) changes.push({ change: 'type', column: name, registered: type, present: now.type })
    if (now.notNull !== notNull) changes.push({ change: notNull ? 'nullable' : 'not-null', column: name })
    if (unique && !now.unique) changes.push({ change: 'not-unique', column: name })
    return changes
  })
  // A declared column can be an end of a join as well.
  return [...new Map(changes.map((change) => [JSON.stringify(change), change])).values()]
}

/** @throws EngineFailure `TableChanged` unless a table still has the columns of its registration. */
export function requireColumns(registered: readonly TableColumn[], found: readonly TableColumn[]): void {
  if (findColumnChanges(registered, found).length > 0) throw new EngineFailure('TableChanged')
}

/**
 * Exact numbers about a table, for its custodian only. The arrays have an entry for each declared column, unless stated
 * otherwise.
 */
export interface TableInspection {
  readonly rowsRead: number
  readonly rowsWithoutIdentifier: number
  readonly rowsStored: number
  /** Absent if each row is a person. */
  readonly people?: number
  /**
   * Misfits: for each column an entry for each of {@link MISFIT_KINDS}. Those of rows without identifier count for the
   * identifier only.
   */
  readonly misfits: readonly number[]
  /** Number of values that the bounds of a column clamp; 0 for a column without bounds. */
  readonly clamped: readonly number[]
  /** True for an identifier with the same value in several rows, where each row is a person. */
  readonly repeated: readonly boolean[]
  /** Number of distinct stored values, for columns with a declared limit. */
  readonly distinctValues: readonly (number | undefined)[]
  /** Largest number of characters, for columns with a declared limit. */
  readonly longestTexts: readonly (number | undefined)[]
  /** Present for joined tables. */
  readonly joined?: JoinedCounts
}

/** Exact numbers about joined tables, for their custodian only. */
export interface JoinedCounts {
  /** Rows of the table to which no join leads. */
  readonly rowsRead: number
  /** Rows of the table of people that have a key; absent where no join leads to people. */
  readonly people?: number
  /**
   * For each join the keys that several rows have, and the rows of the source without a reference and with one that leads
   * nowhere. The other numbers hold only if there is no such key.
   */
  readonly joins: readonly (JoinCounts & { readonly repeated: number })[]
}

/** Rows of a table in stored form, as texts; NULL is null. Declared columns in their order, identifiers included. */
export type StoredRows = readonly (readonly (string | null)[])[]

/** A foreign key of a table: a column of which each value is a key of another table. */
export interface TableReference {
  readonly column: string
  readonly table: TableName
  readonly key: string
}

/** A relation whose rows a table shows. */
export interface ShownRelation {
  /** Text that identifies the relation through all connections to its database. */
  readonly text: string
  /** True for a relation that is neither a view nor part of another one: the rows that it shows are its own. */
  readonly isOrigin: boolean
}

/** Reads tables of one database in place. */
export interface TableEngine extends Engine {
  /**
   * Describes the columns of a table or view; `undefined` if there is none that the connection may read.
   * @throws EngineFailure; the signal's reason once it is aborted.
   */
  describe(table: TableName, signal?: AbortSignal): Promise<readonly TableColumn[] | undefined>
  /**
   * Returns the rule that the connection breaks for a table, such as that its role may change it; `undefined` if it
   * breaks none. The text names no table and no value.
   * @throws EngineFailure; the signal's reason once it is aborted.
   */
  refusal?(table: TableName, signal?: AbortSignal): Promise<string | undefined>
  /**
   * Returns true if the catalogue of the database shows that the rows of a table depend on those of another one, such as
   * those of a view over it.
   * @throws EngineFailure; the signal's reason once it is aborted.
   */
  dependsOn?(table: TableName, other: TableName, signal?: AbortSignal): Promise<boolean>
  /**
   * Returns the relations whose rows a table shows, as far as the catalogue of the database tells: itself, those that it
   * reads as a view, and those of which it or they are parts. None for a table that does not exist.
   * @throws EngineFailure; the signal's reason once it is aborted.
   */
  relations(table: TableName, signal?: AbortSignal): Promise<readonly ShownRelation[]>
  /**
   * Returns the foreign keys of a table that consist of one column, as the catalogue of the database declares them.
   * @throws EngineFailure; the signal's reason once it is aborted.
   */
  references?(table: TableName, signal?: AbortSignal): Promise<readonly TableReference[]>
  /** Returns true if values of a table's column can be converted to a declared column. */
  fits(column: Column, source: TableColumn): boolean
  /**
   * Checks and counts the rows of a table, in one snapshot of the database.
   * @throws EngineFailure; the signal's reason once it is aborted.
   */
  inspect(table: TableDataset, signal?: AbortSignal): Promise<TableInspection>
  /**
   * Reads all rows that no rule leaves out, in batches and in one snapshot of the database, before any bounding.
   * @param onJoined receives the numbers of joined tables in the same snapshot, before the first rows
   * @throws EngineFailure; the signal's reason once it is aborted.
   */
  read(
    table: TableDataset,
    signal?: AbortSignal,
    onJoined?: (counts: JoinedCounts) => void,
  ): AsyncIterable<StoredRows>
  /** Opens a dataset for queries; does nothing if it is open already. It does not reach the database. */
  open(table: TableDataset): void
  /** Accepts no more queries of a dataset and cancels those that run. */
  closeDataset(dataset: DatasetVersion): Promise<void>
  /** Returns true if the database can be reached and accepts the connection's credentials. */
  reachable(): Promise<boolean>
}

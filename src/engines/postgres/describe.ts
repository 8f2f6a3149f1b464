import type { TableColumn } from '../../core/dataset/dataset.ts'
import { must } from '../../privacy/must.ts'
import type { PostgresConnection } from '../tables/connection.ts'
import { printTableName } from '../tables/joined.ts'
import {
  eachTable,
  requireColumns,
  type TableDataset,
  type TableEngine,
  type TableName,
} from '../tables/table-engine.ts'
import { quoteLiteral } from './encodings/literals.ts'
import { ENUM_PREFIX } from './encodings/source.ts'
import type { Row, Session, Transactions, TransactionTerms } from './sessions.ts'

/** Terms of statements that read a dataset's tables: their definitions are kept and compared first. */
export function readingTerms(
  table: TableDataset,
  terms: Pick<TransactionTerms, 'isolation' | 'timeoutMs' | 'signal'>,
): TransactionTerms {
  const tables = eachTable(table.table)
  const described = tables.map((each) => `(${printColumns(each.table, each.prefix)})`)
  return {
    ...terms,
    prepare: [...tables.map((each) => printHold(each.table)), described.join(' UNION ALL ')],
    check: (rows) => requireColumns(table.columns, readColumns(rows)),
  }
}

/**
 * Checks the tables once more after they were read. The lock of a reader does not prevent that a table begins to inherit from
 * another one, in which keys are then repeated. One that was read can end to inherit only after the transaction.
 * @throws EngineFailure `TableChanged`
 */
export async function checkAgain(session: Session, { prepare, check }: TransactionTerms): Promise<void> {
  const sql = must(prepare.at(-1), 'the description of the tables')
  check?.(await session.rows({ sql, parameters: [] }, 10 * MOST_COLUMNS))
}

/** Facts about tables from the catalog of the database, each read in a transaction of its own. */
export interface Lookups
  extends Required<
    Pick<TableEngine, 'describe' | 'refusal' | 'dependsOn' | 'relations' | 'references' | 'reachable'>
  > {
  /** Returns true if the role may lock a table. */
  lockable(table: TableName, signal?: AbortSignal): Promise<boolean>
}

/** Largest number of columns of a view of PostgreSQL; tables have fewer. */
const MOST_COLUMNS = 1_664

const MAY_WRITE =
  'its role may change this table: it is a superuser, owns the table, or has INSERT, UPDATE, DELETE or TRUNCATE; ' +
  'use a role that may only SELECT, or set "allowWritableRole": true'

/** @param onWritable called once, when the connection first accepts a table that its role may change */
export function createLookups(
  connection: PostgresConnection,
  transactions: Transactions,
  onWritable: () => void,
): Lookups {
  const timeoutMs = connection.limits.statementTimeoutMs
  let hasToldWritable = false

  const ask = (sql: string, signal?: AbortSignal) =>
    transactions.run({ isolation: 'statement', timeoutMs, signal, prepare: [] }, (session) =>
      session.rows({ sql, parameters: [] }, MOST_COLUMNS),
    )
  const isTrue = async (sql: string, signal?: AbortSignal) => {
    const [row] = await ask(sql, signal)
    return row?.[0] === 't'
  }

  return {
    describe: async (table, signal) => {
      const columns = readColumns(await ask(printColumns(table), signal))
      return columns.length === 0 ? undefined : columns
    },
    refusal: async (table, signal) => {
      if (!(await isTrue(printMayWrite(table), signal))) return undefined
      if (!connection.allowWritableRole) return MAY_WRITE
      if (!hasToldWritable) onWritable()
      hasToldWritable = true
      return undefined
    },
    dependsOn: (table, other, signal) => isTrue(printDependsOn(table, other), signal),
    relations: async (table, signal) => {
      const server = (await isTrue(MAY_IDENTIFY, signal)) ? SYSTEM_IDENTIFIER : quoteLiteral(connection.name)
      const rows = await ask(printRelations(table, server), signal)
      return rows.map(([text, isOrigin]) => ({
        text: must(text ?? undefined, 'a relation'),
        isOrigin: isOrigin === 't',
      }))
    },
    references: async (table, signal) => {
      const rows = await ask(printReferences(table), signal)
      return rows.map((row) => {
        const [column, schema, name, key] = row.map((text) => must(text ?? undefined, 'a name'))
        return {
          column: must(column, 'a column'),
          table: { schema: must(schema, 'a schema'), name: must(name, 'a table') },
          key: must(key, 'a key'),
        }
      })
    },
    reachable: async () => {
      // Every busy connection either answers or runs out of time.
      if (transactions.busy()) return true
      return ask('SELECT 1').then(
        () => true,
        () => false,
      )
    },
    lockable: (table, signal) => isTrue(printLockable(table), signal),
  }
}

/**
 * Prints a statement that keeps the definition of a table until the end of the transaction. It waits for changes that
 * are under way.
 */
function printHold(table: TableName): string {
  return `SELECT 1 FROM ${printTableName(table)} LIMIT 0`
}

/**
 * Prints a statement that keeps the definition of a table as {@link printHold} does, but without taking a snapshot, so that
 * the transaction's snapshot is not older.
 */
export function printLock(table: TableName): string {
  return `LOCK TABLE ${printTableName(table)} IN ACCESS SHARE MODE`
}

/**
 * Prints a statement that returns whether the role may use {@link printLock}; no row if there is no table. The command takes
 * neither materialized views nor foreign tables, and does not count rights on columns.
 */
function printLockable(table: TableName): string {
  return `SELECT c.relkind IN ('r', 'p', 'v') AND has_table_privilege(c.oid, 'SELECT')
    AND has_schema_privilege(c.relnamespace, 'USAGE')
  FROM pg_class c WHERE ${isTable(table)}`
}

/**
 * Prints a statement that describes the columns of a table, view, materialized view, partitioned table or foreign table.
 *
 * NOT NULL holds for tables only; PostgreSQL does not enforce it for foreign tables, even if they are partitions, nor for
 * rows that are older than a constraint that was not validated. A unique index holds for the rows of its own table, not for
 * those of tables that inherit from it.
 * @param prefix begins the name of each column
 */
export function printColumns(table: TableName, prefix = ''): string {
  return `SELECT ${quoteLiteral(prefix)} || a.attname,
    CASE WHEN t.typtype = 'e' THEN '${ENUM_PREFIX}' ELSE '' END || format_type(a.atttypid, a.atttypmod),
    a.attnotnull AND ${ENFORCED},
    has_schema_privilege(c.relnamespace, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT'),
    (c.relkind IN ('p', 'm') OR (c.relkind = 'r' AND NOT ${IS_INHERITED})) AND EXISTS (
      SELECT FROM pg_index i
      WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indisready AND i.indislive
        AND i.indpred IS NULL AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum)
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid
  WHERE ${isTable(table)} AND a.attnum > 0 AND NOT a.attisdropped
  ORDER BY a.attnum`
}

/** The flag of the catalog stays after the last table that inherits is gone. */
const IS_INHERITED = 'EXISTS (SELECT FROM pg_inherits h WHERE h.inhparent = c.oid)'

const ENFORCED = `CASE c.relkind
      WHEN 'r' THEN NOT ${IS_INHERITED}
      WHEN 'p' THEN NOT EXISTS (
        SELECT FROM pg_partition_tree(c.oid) p JOIN pg_class f ON f.oid = p.relid WHERE f.relkind = 'f')
      ELSE FALSE
    END AND NOT EXISTS (
      SELECT FROM pg_constraint n
      WHERE n.conrelid = c.oid AND n.contype = 'n' AND NOT n.convalidated AND a.attnum = ANY (n.conkey))`

/** Prints a statement that returns whether the role may change a table; no row if there is none. */
function printMayWrite(table: TableName): string {
  return `SELECT r.rolsuper OR pg_has_role(c.relowner, 'MEMBER')
    OR has_table_privilege(c.oid, 'DELETE') OR has_table_privilege(c.oid, 'TRUNCATE')
    OR has_any_column_privilege(c.oid, 'INSERT') OR has_any_column_privilege(c.oid, 'UPDATE')
  FROM pg_class c, pg_roles r
  WHERE ${isTable(table)} AND r.rolname = session_user`
}

/**
 * Prints a statement that returns whether a table depends on another one: over any number of steps as a view over it, by a
 * foreign key, or as a table that inherits from it or is inherited by it, such as a partition.
 */
function printDependsOn(table: TableName, other: TableName): string {
  const foreignKeys = `SELECT f.confrelid, FALSE FROM pg_constraint f WHERE f.conrelid = r.oid AND f.contype = 'f'`
  return `${printReached(table, [foreignKeys])}
  SELECT EXISTS (SELECT FROM pg_class c JOIN reached USING (oid) WHERE ${isTable(other)})`
}

/**
 * Prints a statement that returns the relations whose rows a table shows, and whether each shows its own. Parts are found by
 * what they are parts of, because a table can have thousands.
 * @param server SQL for the identity of the server
 */
function printRelations(table: TableName, server: string): string {
  return `${printReached(table)}
  SELECT DISTINCT concat_ws(' ', 'postgres', ${server}, d.oid, r.oid),
    c.relkind NOT IN ('v', 'm') AND NOT EXISTS (SELECT FROM pg_inherits h WHERE h.inhrelid = r.oid)
  FROM reached r JOIN pg_class c USING (oid), pg_database d WHERE NOT r.is_part AND d.datname = current_database()`
}

/** Restricted roles of some hosts may not ask for the identity of the server. */
const MAY_IDENTIFY = `SELECT EXISTS (
    SELECT FROM pg_proc WHERE proname = 'pg_control_system' AND has_function_privilege(oid, 'EXECUTE'))`
const SYSTEM_IDENTIFIER = '(SELECT system_identifier FROM pg_control_system())'

/**
 * Prints the relations that a table leads to over any number of steps: those that it reads as a view, from which it inherits,
 * and which inherit from it as its parts. Relations of the system are left out: they contain nothing about people.
 * @param more further steps from a relation `r`
 */
function printReached(table: TableName, more: readonly string[] = []): string {
  const steps = [
    `SELECT d.refobjid, FALSE FROM pg_rewrite w JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
      WHERE w.ev_class = r.oid AND d.refclassid = 'pg_class'::regclass AND d.refobjid >= ${FIRST_OF_USERS}`,
    'SELECT h.inhparent, FALSE FROM pg_inherits h WHERE h.inhrelid = r.oid',
    'SELECT h.inhrelid, TRUE FROM pg_inherits h WHERE h.inhparent = r.oid',
    ...more,
  ]
  return `WITH RECURSIVE reached(oid, is_part) AS (
    SELECT c.oid, FALSE FROM pg_class c WHERE ${isTable(table)}
    UNION
    SELECT e.oid, e.is_part FROM reached r CROSS JOIN LATERAL (
      ${steps.join('\n      UNION ALL ')}) e(oid, is_part))`
}

/** The first oid that PostgreSQL gives to what users create. */
const FIRST_OF_USERS = 16_384

/** Prints a statement that returns a table's foreign keys of one column, in the order of the columns. */
function printReferences(table: TableName): string {
  return `SELECT a.attname, n.nspname, t.relname, k.attname
  FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid
    JOIN pg_class t ON t.oid = f.confrelid JOIN pg_namespace n ON n.oid = t.relnamespace
    JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = f.conkey[1]
    JOIN pg_attribute k ON k.attrelid = f.confrelid AND k.attnum = f.confkey[1]
  WHERE ${isTable(table)} AND f.contype = 'f' AND cardinality(f.conkey) = 1
  ORDER BY a.attnum, f.conname`
}

function isTable({ schema, name }: TableName): string {
  return `c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = ${quoteLiteral(schema)})
    AND c.relname = ${quoteLiteral(name)} AND c.relkind IN ('r', 'v', 'm', 'p', 'f')`
}

/** Reads the columns that the role may read from the result of {@link printColumns}. */
function readColumns(rows: readonly Row[]): readonly TableColumn[] {
  return rows.flatMap(([name, type, notNull, readable, unique]) => {
    if (typeof name !== 'string' || typeof type !== 'string')
      throw new RangeError('a column has no name or type')
    if (readable !== 't') return []
    return [{ name, type, notNull: notNull === 't', ...(unique === 't' ? { unique: true as const } : {}) }]
  })
}

import type { PostgresConnection } from '../tables/connection.ts'
import type { TableEngine } from '../tables/table-engine.ts'
import { qualify } from './qualified-table.ts'
import { printColumns, printLockable, printMayWrite, type QualifiedName, readColumns } from './table-facts.ts'
import { statementOf, type Transactions } from './transactions.ts'

/** Facts about tables from the catalog of the database, each read in a transaction of its own. */
export interface Lookups extends Required<Pick<TableEngine, 'describe' | 'refusal' | 'reachable'>> {
  /** Returns true if the role may lock a table. */
  lockable(table: QualifiedName, signal?: AbortSignal): Promise<boolean>
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
      session.rows(statementOf(sql), MOST_COLUMNS),
    )
  const isTrue = async (sql: string, signal?: AbortSignal) => {
    const [row] = await ask(sql, signal)
    return row?.[0] === 't'
  }

  return {
    describe: async (table, signal) => {
      const columns = readColumns(await ask(printColumns(qualify(table, connection)), signal))
      return columns.length === 0 ? undefined : columns
    },
    refusal: async (table, signal) => {
      if (!(await isTrue(printMayWrite(qualify(table, connection)), signal))) return undefined
      if (!connection.allowWritableRole) return MAY_WRITE
      if (!hasToldWritable) onWritable()
      hasToldWritable = true
      return undefined
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

import { EngineFailure } from '../engine.ts'
import type { PostgresConnection } from '../tables/connection.ts'
import { printInspection, readInspection } from '../tables/inspection.ts'
import { printRead } from '../tables/relation.ts'
import type { StoredRows, TableDataset, TableEngine, TableInspection } from '../tables/table-engine.ts'
import { type Lookups, printLock, type QualifiedTable, qualifyTable, readingTerms } from './describe.ts'
import { postgresDialect } from './dialect.ts'
import type { Row, Session, Transactions, TransactionTerms } from './sessions.ts'

/** Reads whole tables for registrations and snapshots, each in one snapshot of the database. */
export function createRegistration(
  connection: PostgresConnection,
  transactions: Transactions,
  { lockable }: Pick<Lookups, 'lockable'>,
): Pick<TableEngine, 'inspect' | 'read'> {
  /**
   * Terms of a transaction with one snapshot. The table is locked before the snapshot is taken, because rows that a
   * concurrent change of the table has rewritten are invisible to an older one.
   */
  const snapshotTerms = async (table: QualifiedTable, signal?: AbortSignal): Promise<TransactionTerms> => {
    const timeoutMs = connection.limits.registrationTimeoutMs
    const terms = readingTerms(table, { isolation: 'snapshot', timeoutMs, signal })
    if (!(await lockable(table.table, signal))) return terms
    return { ...terms, prepare: [printLock(table.table), ...terms.prepare] }
  }

  async function* readTable(given: TableDataset, signal?: AbortSignal): AsyncIterable<StoredRows> {
    const table = qualifyTable(given, connection)
    const transaction = await transactions.open(await snapshotTerms(table, signal))
    let isComplete = false
    try {
      yield* transaction.session.batches(printRead(postgresDialect, table))
      isComplete = true
    } catch (error) {
      throw transaction.abandon(error)
    } finally {
      if (isComplete) transaction.finish()
      else transaction.abandon(new EngineFailure())
    }
  }

  return {
    inspect: async (given, signal) => {
      const table = qualifyTable(given, connection)
      return transactions.run(await snapshotTerms(table, signal), (session) => inspectTable(session, table))
    },
    read: readTable,
  }
}

async function inspectTable(session: Session, table: QualifiedTable): Promise<TableInspection> {
  const results: Row[] = []
  for (const sql of Object.values(printInspection(postgresDialect, table)))
    results.push(...(await session.rows(sql, 1)))
  return readInspection(table, results.flat())
}

import { EngineFailure } from '../engine.ts'
import type { PostgresConnection } from '../tables/connection.ts'
import { printInspection, readCount, readInspection } from '../tables/inspection.ts'
import { printJoinedCounts, readJoinedCounts } from '../tables/joined.ts'
import { printRead } from '../tables/relation.ts'
import {
  eachTable,
  type JoinedCounts,
  type StoredRows,
  type TableDataset,
  type TableEngine,
  type TableInspection,
} from '../tables/table-engine.ts'
import { checkAgain, type Lookups, printLock, readingTerms } from './describe.ts'
import { postgresDialect } from './dialect.ts'
import type { Row, Session, Transactions, TransactionTerms } from './sessions.ts'

/** Reads whole tables for registrations and snapshots, each in one snapshot of the database. */
export function createRegistration(
  connection: PostgresConnection,
  transactions: Transactions,
  { lockable }: Pick<Lookups, 'lockable'>,
): Pick<TableEngine, 'inspect' | 'read'> {
  /**
   * Terms of a transaction with one snapshot. Tables are locked before the snapshot is taken, because rows that a
   * concurrent change of a table has rewritten are invisible to an older one.
   */
  const snapshotTerms = async (table: TableDataset, signal?: AbortSignal): Promise<TransactionTerms> => {
    const timeoutMs = connection.limits.registrationTimeoutMs
    const terms = readingTerms(table, { isolation: 'snapshot', timeoutMs, signal })
    const locks: string[] = []
    for (const { table: name } of eachTable(table.table))
      if (await lockable(name, signal)) locks.push(printLock(name))
    return { ...terms, prepare: [...locks, ...terms.prepare] }
  }

  async function* readTable(
    table: TableDataset,
    signal?: AbortSignal,
    onJoined?: (counts: JoinedCounts) => void,
  ): AsyncIterable<StoredRows> {
    const terms = await snapshotTerms(table, signal)
    const transaction = await transactions.open(terms)
    let isComplete = false
    try {
      const joined = await countJoined(transaction.session, table)
      if (joined !== undefined) onJoined?.(joined)
      yield* transaction.session.batches(printRead(postgresDialect, table))
      if (joined !== undefined) await checkAgain(transaction.session, terms)
      isComplete = true
    } catch (error) {
      throw transaction.abandon(error)
    } finally {
      if (isComplete) transaction.finish()
      else transaction.abandon(new EngineFailure())
    }
  }

  return {
    inspect: async (table, signal) =>
      transactions.run(await snapshotTerms(table, signal), (session) => inspectTable(session, table)),
    read: readTable,
  }
}

async function countJoined(session: Session, table: TableDataset): Promise<JoinedCounts | undefined> {
  const statement = printJoinedCounts(postgresDialect, table)
  if (statement === undefined) return undefined
  return readJoinedCounts(table, (await session.rows(statement, 1)).flat().map(readCount))
}

async function inspectTable(session: Session, table: TableDataset): Promise<TableInspection> {
  const results: Row[] = []
  for (const statement of Object.values(printInspection(postgresDialect, table)))
    results.push(...(await session.rows(statement, 1)))
  return readInspection(table, results.flat())
}

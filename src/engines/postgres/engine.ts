import { versionKey } from '../../catalog/dataset.ts'
import type { Dialect } from '../dialect.ts'
import { EngineFailure } from '../engine.ts'
import type { PostgresConnection } from '../tables/connection.ts'
import { encodeColumns, printRelation, printSelectedRows } from '../tables/relation.ts'
import type { TableEngine } from '../tables/table-engine.ts'
import { postgresDialect } from './dialect.ts'
import { createLookups } from './lookups.ts'
import { type QualifiedTable, qualifyTable, readingTerms } from './qualified-table.ts'
import { createQueries, type UseDataset } from './queries.ts'
import { createRegistrationReads } from './registration-reads.ts'
import { openTransactions } from './transactions.ts'

/** A dataset that is open for queries. */
interface OpenDataset {
  readonly table: QualifiedTable
  readonly dialect: Dialect
  /** Cancels its queries. */
  readonly closing: AbortController
}

/**
 * Reads tables of one PostgreSQL database in place. Every statement runs in a read-only transaction with settings of its
 * own, after the table's columns have been compared with those of the registration.
 * @param onWritable called once, when the connection first accepts a table that its role may change
 */
export function openPostgresTables(
  connection: PostgresConnection,
  onWritable: () => void = () => {},
): TableEngine {
  const transactions = openTransactions(connection)
  const { lockable, ...lookups } = createLookups(connection, transactions, onWritable)
  const datasets = new Map<string, OpenDataset>()

  const query: UseDataset = async (dataset, work) => {
    const open = datasets.get(versionKey(dataset))
    if (open === undefined) throw new EngineFailure('EngineUnavailable')
    const terms = readingTerms(open.table, {
      isolation: 'statement',
      timeoutMs: connection.limits.statementTimeoutMs,
      signal: open.closing.signal,
    })
    return transactions.run(terms, (session) => work(session, open.dialect))
  }

  return {
    ...createQueries(query),
    ...lookups,
    ...createRegistrationReads(connection, transactions, { lockable }),
    healthy: lookups.reachable,
    fits: (column, source) => postgresDialect.encode(column, { ...source, sql: 'source' }) !== undefined,
    open: (given) => {
      const key = versionKey(given.dataset)
      if (datasets.has(key)) return
      const table = qualifyTable(given, connection)
      datasets.set(key, { table, dialect: dialectOf(table), closing: new AbortController() })
    },
    closeDataset: async (dataset) => {
      const key = versionKey(dataset)
      datasets.get(key)?.closing.abort(new EngineFailure('EngineUnavailable'))
      datasets.delete(key)
    },
    close: async () => {
      datasets.clear()
      await transactions.close()
    },
  }
}

/** @throws RangeError for a table whose columns do not fit. */
function dialectOf(table: QualifiedTable): Dialect {
  encodeColumns(postgresDialect, table)
  return {
    ...postgresDialect,
    relation: (_, bind) => printRelation(postgresDialect, table, bind),
    selectRows: (_, conditions) => printSelectedRows(postgresDialect, table, conditions),
  }
}

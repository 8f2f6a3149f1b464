import { versionKey } from '../../catalog/dataset.ts'
import type { Dialect } from '../dialect.ts'
import { EngineFailure } from '../engine.ts'
import type { PrintedStatement } from '../printing/printer.ts'
import type { PostgresConnection } from '../tables/connection.ts'
import { printInspection, readInspection } from '../tables/inspection.ts'
import { printRead, printRelation, printSelectedRows } from '../tables/relation.ts'
import {
  requireColumns,
  type StoredRows,
  type TableDataset,
  type TableEngine,
  type TableInspection,
  type TableName,
} from '../tables/table-engine.ts'
import { postgresDialect } from './dialect.ts'
import { createQueries, type UseDataset } from './queries.ts'
import { printColumns, printHold, printMayWrite, type QualifiedName, readColumns } from './table-facts.ts'
import { openTransactions, type Session, type TransactionTerms } from './transactions.ts'

/** A dataset that is open for queries. */
interface OpenDataset {
  readonly table: QualifiedTable
  readonly dialect: Dialect
  /** Cancels its queries. */
  readonly closing: AbortController
}

type QualifiedTable = TableDataset & { readonly table: QualifiedName }

/** Largest number of columns of a view of PostgreSQL; tables have fewer. */
const MOST_COLUMNS = 1_664

const MAY_WRITE =
  'its role may change this table: it is a superuser, owns the table, or has INSERT, UPDATE, DELETE or TRUNCATE; ' +
  'use a role that may only SELECT, or set "allowWritableRole": true'

/**
 * Reads tables of one PostgreSQL database in place. Every statement runs in a read-only transaction with settings of its
 * own, after the table's columns have been compared with those of the registration.
 * @param onWritable called once, when the connection first accepts a table that its role may change
 */
export function openPostgresTables(
  connection: PostgresConnection,
  onWritable: () => void = () => {},
): TableEngine {
  const { statementTimeoutMs, registrationTimeoutMs } = connection.limits
  const transactions = openTransactions(connection)
  const datasets = new Map<string, OpenDataset>()
  let hasToldWritable = false

  const qualified = ({ schema, name }: TableName): QualifiedName => ({
    schema: schema ?? connection.schema,
    name,
  })
  const qualifiedTable = (table: TableDataset): QualifiedTable => ({
    ...table,
    table: qualified(table.table),
  })

  /** Terms of statements that read a table: its definition is kept and compared first. */
  const termsOf = (
    { table, columns }: QualifiedTable,
    terms: Pick<TransactionTerms, 'isolation' | 'timeoutMs' | 'signal'>,
  ): TransactionTerms => ({
    ...terms,
    prepare: [printHold(table), printColumns(table)],
    check: (rows) => requireColumns(columns, readColumns(rows)),
  })

  const query: UseDataset = async (dataset, work) => {
    const open = datasets.get(versionKey(dataset))
    if (open === undefined) throw new EngineFailure('EngineUnavailable')
    const terms = {
      isolation: 'statement',
      timeoutMs: statementTimeoutMs,
      signal: open.closing.signal,
    } as const
    return transactions.run(termsOf(open.table, terms), (session) => work(session, open.dialect))
  }

  /** Reads facts of the catalog in a transaction of its own. */
  const ask = (sql: string, signal?: AbortSignal) =>
    transactions.run(
      { isolation: 'statement', timeoutMs: statementTimeoutMs, signal, prepare: [] },
      (session) => session.rows(statementOf(sql), MOST_COLUMNS),
    )

  async function* readTable(
    table: QualifiedTable,
    signal: AbortSignal | undefined,
  ): AsyncIterable<StoredRows> {
    const terms = { isolation: 'snapshot', timeoutMs: registrationTimeoutMs, signal } as const
    const transaction = await transactions.open(termsOf(table, terms))
    let isComplete = false
    try {
      yield* transaction.session.batches(statementOf(printRead(postgresDialect, table)))
      isComplete = true
    } catch (error) {
      throw transaction.abandon(error)
    } finally {
      if (isComplete) transaction.finish()
      else transaction.abandon(new EngineFailure())
    }
  }

  async function reachable(): Promise<boolean> {
    // Every busy connection either answers or runs out of time.
    if (transactions.busy()) return true
    return ask('SELECT 1').then(
      () => true,
      () => false,
    )
  }

  return {
    ...createQueries(query),
    healthy: reachable,
    reachable,
    describe: async (table, signal) => {
      const columns = readColumns(await ask(printColumns(qualified(table)), signal))
      return columns.length === 0 ? undefined : columns
    },
    refusal: async (table, signal) => {
      const [row] = await ask(printMayWrite(qualified(table)), signal)
      if (row?.[0] !== 't') return undefined
      if (!connection.allowWritableRole) return MAY_WRITE
      if (!hasToldWritable) onWritable()
      hasToldWritable = true
      return undefined
    },
    fits: (column, source) => postgresDialect.encode(column, { ...source, sql: 'source' }) !== undefined,
    inspect: (table, signal) => {
      const named = qualifiedTable(table)
      const terms = { isolation: 'snapshot', timeoutMs: registrationTimeoutMs, signal } as const
      return transactions.run(termsOf(named, terms), (session) => inspectTable(session, named))
    },
    read: (table, signal) => readTable(qualifiedTable(table), signal),
    open: (table) => {
      const key = versionKey(table.dataset)
      if (datasets.has(key)) return
      const named = qualifiedTable(table)
      const relation = printRelation(postgresDialect, named)
      const dialect: Dialect = {
        ...postgresDialect,
        relation: () => relation,
        selectRows: (_, conditions) => printSelectedRows(postgresDialect, named, conditions),
      }
      datasets.set(key, { table: named, dialect, closing: new AbortController() })
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

async function inspectTable(session: Session, table: QualifiedTable): Promise<TableInspection> {
  const statements = printInspection(postgresDialect, table)
  const only = async (sql: string) => (await session.rows(statementOf(sql), 1))[0] ?? []
  const counts = await only(statements.counts)
  const repeated = await only(statements.repeated)
  const stored = await only(statements.stored)
  const limits = await only(statements.limits)
  return readInspection(table, { counts, repeated, stored, limits })
}

function statementOf(sql: string): PrintedStatement {
  return { sql, parameters: [] }
}

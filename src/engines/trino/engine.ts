import { type DatasetVersion, versionKey } from '../../catalog/dataset.ts'
import { EngineFailure } from '../engine.ts'
import type { TrinoConnection } from '../tables/connection.ts'
import { printRead, printRelation } from '../tables/relation.ts'
import {
  requireColumns,
  type StoredRows,
  type TableDataset,
  type TableEngine,
} from '../tables/table-engine.ts'
import { openTrinoClient, type TrinoClient } from './client.ts'
import { trinoDialect } from './dialect.ts'
import { encodeValue } from './encodings/encode.ts'
import { createQueries, isShortEnough, type UseDataset } from './queries.ts'
import { createSessions, type SessionTerms } from './sessions.ts'
import { describeTable, inspectTable, rowsOf, storedRowsOf } from './statements.ts'

/** Time limit for a statement that only checks the connection. */
const CHECK_MS = 5_000

/** A dataset that can be queried. */
interface OpenDataset {
  readonly table: TableDataset
  readonly relation: string
  /** Cancels the dataset's statements. */
  readonly closing: AbortController
}

/**
 * Opens an engine over the tables of one catalog. It does not reach the cluster.
 * @param client runs the statements
 */
export function openTrinoEngine(
  connection: TrinoConnection,
  client: TrinoClient = openTrinoClient(connection),
): TableEngine {
  const { limits, schema } = connection
  const sessions = createSessions(client, limits.connections)
  // Checks have a place of their own, because every place of a busy connection may be taken for long.
  const checks = createSessions(client, 1)
  const opened = new Map<string, OpenDataset>()
  const closing = new AbortController()
  // Trino repeats what a connector claims of NOT NULL, such as that of a foreign table, and enforces nothing.
  const asPrinted = (table: TableDataset): TableDataset => ({
    ...table,
    table: { schema, ...table.table },
    columns: table.columns.map((column) => ({ ...column, notNull: false })),
  })

  const useDataset: UseDataset = (dataset, query) => {
    const open = opened.get(versionKey(dataset))
    if (open === undefined) throw new EngineFailure('EngineUnavailable')
    const { table, relation } = open
    return sessions.use(
      { timeoutMs: limits.statementTimeoutMs, signal: open.closing.signal },
      async (run) => {
        requireColumns(table.columns, await describeTable(run, { schema, ...table.table }))
        return query({ relation, run })
      },
    )
  }

  const registering = (signal?: AbortSignal): SessionTerms => ({
    timeoutMs: limits.registrationTimeoutMs,
    signal: signal === undefined ? closing.signal : AbortSignal.any([closing.signal, signal]),
  })

  async function* read(table: TableDataset, signal?: AbortSignal): AsyncGenerator<StoredRows, void, void> {
    signal?.throwIfAborted()
    const session = await sessions.begin(registering(signal)).catch((error: unknown) => reject(error, signal))
    try {
      for await (const page of session.run(printRead(trinoDialect, asPrinted(table))))
        yield storedRowsOf(page)
    } catch (error) {
      reject(session.failureOf(error), signal)
    } finally {
      session.end()
    }
  }

  const reachable = (): Promise<boolean> =>
    checks
      .use({ timeoutMs: CHECK_MS, signal: closing.signal }, (run) => rowsOf(run('SELECT 1'), 1))
      .then(
        () => true,
        () => false,
      )

  const closeDataset = async (dataset: DatasetVersion): Promise<void> => {
    const key = versionKey(dataset)
    opened.get(key)?.closing.abort()
    opened.delete(key)
  }

  return {
    ...createQueries(async (dataset, query) => useDataset(dataset, query)),
    accepts: (dataset, reading) => {
      const open = opened.get(versionKey(dataset))
      return open === undefined || isShortEnough(open, dataset, reading)
    },
    healthy: reachable,
    reachable,
    describe: (table, signal) =>
      sessions
        .use(registering(signal), async (run) => {
          const columns = await describeTable(run, { schema, ...table })
          return columns.length === 0 ? undefined : columns
        })
        .catch((error: unknown) => reject(error, signal)),
    fits: (column, source) => encodeValue(column, { type: source.type, sql: 'x' }) !== undefined,
    inspect: (table, signal) =>
      sessions
        .use(registering(signal), (run) => inspectTable(run, asPrinted(table)))
        .catch((error: unknown) => reject(error, signal)),
    read,
    open: (table) => {
      const key = versionKey(table.dataset)
      if (opened.has(key)) return
      opened.set(key, {
        table,
        relation: printRelation(trinoDialect, asPrinted(table)),
        closing: new AbortController(),
      })
    },
    closeDataset,
    close: async () => {
      await sessions.idle()
      closing.abort()
      await Promise.all([...opened.values()].map(({ table }) => closeDataset(table.dataset)))
      client.close()
    },
  }
}

/** Throws the reason of a signal that is aborted, otherwise the error. */
function reject(error: unknown, signal: AbortSignal | undefined): never {
  signal?.throwIfAborted()
  throw error
}

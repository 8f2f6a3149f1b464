import { setImmediate } from 'node:timers/promises'
import type { TrinoConnection } from '../tables/connection.ts'
import { createOpenTables, type ReadRows } from '../tables/open-tables.ts'
import { describeTables, requireColumns, type TableEngine, type TableName } from '../tables/table-engine.ts'
import { LONGEST_STATEMENT, openTrinoClient, type TrinoClient } from './connection.ts'
import { describeTable, trusted } from './describe.ts'
import { trinoDialect } from './dialect.ts'
import { createRegistration } from './registration.ts'
import { createSessions, type RunStatement, rowsOf } from './sessions.ts'

/** Time limit for a statement that only checks the connection. */
const CHECK_MS = 5_000

/**
 * Opens an engine over the tables of one catalog. It does not reach the cluster.
 * @param client runs the statements
 */
export function openTrinoEngine(
  connection: TrinoConnection,
  client: TrinoClient = openTrinoClient(connection),
): TableEngine {
  const sessions = createSessions(client, connection.limits.connections)
  // Checks have a place of their own, because every place of a busy connection may be taken for long.
  const checks = createSessions(client, 1)
  const closing = new AbortController()
  const { limits } = connection
  const { closeAll, ...openTables } = createOpenTables({
    dialect: trinoDialect,
    trusted,
    longestStatement: LONGEST_STATEMENT,
    use: (table, signal, work) =>
      sessions.use(
        { timeoutMs: limits.statementTimeoutMs, signal, dataset: table.dataset.id },
        async (run) => {
          const describe = (name: TableName) => describeTable(run, name)
          const comparison = describeTables({ describe }, table.table).then((found) =>
            requireColumns(table.columns, found ?? []),
          )
          return runBeside(comparison, (cancelled) => work(readerOf(run, cancelled)))
        },
      ),
  })

  const reachable = (): Promise<boolean> =>
    checks
      .use({ timeoutMs: CHECK_MS, signal: closing.signal }, (run) => rowsOf(run('SELECT 1'), 1))
      .then(
        () => true,
        () => false,
      )

  return {
    ...openTables,
    ...createRegistration(sessions, connection, closing.signal),
    healthy: reachable,
    reachable,
    close: async () => {
      await sessions.idle()
      closing.abort()
      closeAll()
      client.close()
    },
  }
}

/**
 * Runs a query while the table's columns are compared. The outcome of the query counts only if the comparison succeeds;
 * otherwise the query is cancelled, and its answer or failure is dropped.
 * @throws the failure of the comparison, otherwise that of the query
 */
async function runBeside<Answer>(
  comparison: Promise<void>,
  query: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const cancelling = new AbortController()
  const answer = query(cancelling.signal)
  const [compared] = await Promise.allSettled([
    comparison.catch((error: unknown) => {
      cancelling.abort()
      throw error
    }),
    answer,
  ])
  if (compared.status === 'rejected') throw compared.reason
  return answer
}

/** Reads statements page by page. Between pages it yields to other work of the process. */
function readerOf(run: RunStatement, signal: AbortSignal): ReadRows {
  return async ({ sql }, use) => {
    for await (const page of run(sql, signal)) {
      for (const row of page) use(row)
      await setImmediate()
    }
  }
}

import type { TrinoConnection } from '../tables/connection.ts'
import { printRead } from '../tables/relation.ts'
import type { StoredRows, TableDataset, TableEngine } from '../tables/table-engine.ts'
import { openTrinoClient, type TrinoClient } from './client.ts'
import { trinoDialect } from './dialect.ts'
import { encodeValue } from './encodings/encode.ts'
import { createOpenTables } from './open-tables.ts'
import { createSessions, type Sessions, type SessionTerms } from './sessions.ts'
import { asPrinted, describeTable, inspectTable, rowsOf, storedRowsOf } from './statements.ts'

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
  const { closeAll, ...openTables } = createOpenTables(sessions, connection)

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
    fits: (column, source) => encodeValue(column, { type: source.type, sql: 'x' }) !== undefined,
    close: async () => {
      await sessions.idle()
      closing.abort()
      await closeAll()
      client.close()
    },
  }
}

/**
 * Creates the part of an engine that registrations use.
 * @param closing cancels the statements
 */
function createRegistration(
  sessions: Sessions,
  { limits, schema }: TrinoConnection,
  closing: AbortSignal,
): Pick<TableEngine, 'describe' | 'inspect' | 'read'> {
  const termsOf = (signal?: AbortSignal): SessionTerms => ({
    timeoutMs: limits.registrationTimeoutMs,
    signal: signal === undefined ? closing : AbortSignal.any([closing, signal]),
  })

  async function* read(table: TableDataset, signal?: AbortSignal): AsyncGenerator<StoredRows, void, void> {
    signal?.throwIfAborted()
    const session = await sessions.begin(termsOf(signal)).catch((error: unknown) => reject(error, signal))
    try {
      for await (const page of session.run(printRead(trinoDialect, asPrinted(table, schema))))
        yield storedRowsOf(page)
    } catch (error) {
      reject(session.failureOf(error), signal)
    } finally {
      session.end()
    }
  }

  return {
    describe: (table, signal) =>
      sessions
        .use(termsOf(signal), async (run) => {
          const columns = await describeTable(run, { schema, ...table })
          return columns.length === 0 ? undefined : columns
        })
        .catch((error: unknown) => reject(error, signal)),
    inspect: (table, signal) =>
      sessions
        .use(termsOf(signal), (run) => inspectTable(run, asPrinted(table, schema)))
        .catch((error: unknown) => reject(error, signal)),
    read,
  }
}

/** Throws the reason of a signal that is aborted, otherwise the error. */
function reject(error: unknown, signal: AbortSignal | undefined): never {
  signal?.throwIfAborted()
  throw error
}

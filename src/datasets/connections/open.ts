import type { Logger } from 'pino'
import { openPostgresTables } from '../../engines/postgres/engine.ts'
import type { Connection } from '../../engines/tables/connection.ts'
import type { TableEngine } from '../../engines/tables/table-engine.ts'
import { openTrinoEngine } from '../../engines/trino/engine.ts'
import { ConnectionFileError, readConnections } from './connection-file.ts'
import { type WatchedConnections, watchConnections } from './watch.ts'

/**
 * Opens an engine for a connection. It does not reach the database.
 * @param onWritable called once, when the connection first accepts a table that its role may change
 */
export type OpenTableEngine = (connection: Connection, onWritable: () => void) => TableEngine

/** Opens the engine that a connection names. */
export const openTableEngine: OpenTableEngine = (connection, onWritable) => {
  switch (connection.engine) {
    case 'postgres':
      return openPostgresTables(connection, onWritable)
    case 'trino':
      return openTrinoEngine(connection)
  }
}

/** Options of {@link openConnections}. */
export interface ConnectionOptions {
  /** The file of connections, an absolute path; absent if none is configured. */
  readonly file: string | undefined
  readonly queryTimeoutMs: number
  readonly openTableEngine: OpenTableEngine
  readonly logger: Logger
}

/** A configured connection and its engine. */
export interface OpenedConnection {
  readonly connection: Pick<Connection, 'name' | 'engine' | 'schema'>
  readonly engine: TableEngine
}

/** The configured connections by their names, and their states. */
export interface OpenedConnections {
  readonly opened: ReadonlyMap<string, OpenedConnection>
  readonly connections: WatchedConnections
}

/**
 * Reads the file of connections, opens an engine for each, and begins to watch them. A database that cannot be reached
 * does not prevent it.
 * @throws Error that names the variable, if the file cannot be used.
 */
export async function openConnections(options: ConnectionOptions): Promise<OpenedConnections> {
  const { file, queryTimeoutMs, logger } = options
  const configured = file === undefined ? [] : (await connectionsOf(file, queryTimeoutMs)).values()
  const opened = Array.from(configured, (connection) => ({
    connection,
    engine: options.openTableEngine(connection, () =>
      logger.warn(
        { connection: connection.name },
        'allowWritableRole: a table was accepted although the role may change it',
      ),
    ),
  }))
  const connections = await watchConnections(opened, {
    onChange: ({ name: connection, reachable }) =>
      reachable
        ? logger.info({ connection }, 'the database of the connection can be reached again')
        : logger.warn({ connection }, 'the database of the connection cannot be reached'),
  })
  return { opened: new Map(opened.map((each) => [each.connection.name, each])), connections }
}

async function connectionsOf(file: string, queryTimeoutMs: number): Promise<ReadonlyMap<string, Connection>> {
  try {
    return await readConnections(file, { queryTimeoutMs })
  } catch (error) {
    if (!(error instanceof ConnectionFileError)) throw error
    throw new Error(error.message.replace(/^/gm, 'SOTTO_CONNECTIONS: '))
  }
}

import type { Connection } from '../engines/tables/connection.ts'
import type { TableEngine } from '../engines/tables/table-engine.ts'
import { readConnections } from './connection-file.ts'
import { type ConnectionState, type WatchedConnections, watchConnections } from './watch.ts'

/**
 * Opens an engine for a connection. It does not reach the database.
 * @param onWritable called once, when the connection first accepts a table that its role may change
 */
export type OpenTableEngine = (connection: Connection, onWritable: () => void) => TableEngine

/** Options of {@link openConnections}. */
export interface ConnectionOptions {
  /** The file of connections, an absolute path; absent if none is configured. */
  readonly file: string | undefined
  readonly queryTimeoutMs: number
  readonly openTableEngine: OpenTableEngine
  /** Called when a connection becomes reachable or unreachable. */
  readonly onChange: (state: ConnectionState) => void
  /** Called once for a connection, when it first accepts a table that its role may change. */
  readonly onWritable: (connection: string) => void
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
 * @throws ConnectionFileError
 */
export async function openConnections(options: ConnectionOptions): Promise<OpenedConnections> {
  const { file, queryTimeoutMs, openTableEngine, onChange, onWritable } = options
  const configured = file === undefined ? [] : [...(await readConnections(file, { queryTimeoutMs })).values()]
  const opened = configured.map((connection) => ({
    connection,
    engine: openTableEngine(connection, () => onWritable(connection.name)),
  }))
  return {
    opened: new Map(opened.map((each) => [each.connection.name, each])),
    connections: await watchConnections(opened, { onChange }),
  }
}

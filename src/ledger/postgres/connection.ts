import { setTimeout as sleep } from 'node:timers/promises'
import {
  Client,
  type ClientBase,
  type ClientConfig,
  DatabaseError,
  Pool,
  type PoolClient,
  type QueryConfig,
  type QueryResult,
} from 'pg'
import { must } from '../../privacy/must.ts'
import { LedgerFault } from '../fault.ts'

/** Time limit for opening a connection, or for waiting until one is free. */
const CONNECT_TIMEOUT_MS = 5_000
/** Time limit for reconnecting to a server that is unavailable, for example during a restart. */
const RECONNECT_WITHIN_MS = 3_000
const RECONNECT_EVERY_MS = 100
/** Time limit for repeating a read whose connection was lost. */
const LOOK_AGAIN_WITHIN_MS = 3_000
/** After this idle time within a transaction, the server ends the session of a replica and releases its locks. */
const IDLE_TIMEOUT_MS = 5_000
/** Longer than the idle time limit, so that the locks of a failed replica are released before this expires. */
const LOCK_TIMEOUT_MS = 10_000
const STATEMENT_TIMEOUT_MS = 15_000
/** Time limit on the client side, for a server that does not respond. Longer than the server's own limits. */
const SILENCE_TIMEOUT_MS = 20_000
const KEEP_ALIVE_AFTER_MS = 10_000
const END_WITHIN_MS = 5_000

/** Oldest supported major version of PostgreSQL. */
const OLDEST_VERSION = 14

/**
 * Reason for the failure of a statement:
 * - `conflict`: another transaction changed the same rows first; repeating the statement may succeed;
 * - `refused`: the tables refuse the written values;
 * - `busy`: the statement, or its wait for a lock, took too long;
 * - `lost`: the connection was lost;
 * - `unusable`: the database does not meet the requirements of this release;
 * - `failed`: any other error of the server, such as a lack of space.
 */
type StatementErrorKind = 'conflict' | 'refused' | 'busy' | 'lost' | 'unusable' | 'failed'

/**
 * The error of a statement, without the rows that PostgreSQL quotes in its details. They may contain answers and
 * secrets.
 */
export class StatementError extends Error {
  readonly kind: StatementErrorKind

  constructor(kind: StatementErrorKind, message: string) {
    super(message)
    this.name = 'StatementError'
    this.kind = kind
  }
}

/** SQLSTATE that the ledger's functions raise if a row has changed since it was read. */
export const CHANGED_ROW_STATE = 'LG001'

/** Prefixes of SQLSTATE with the kind of their errors; the first match applies. */
const KINDS: readonly (readonly [string, StatementErrorKind])[] = [
  [CHANGED_ROW_STATE, 'conflict'],
  ['23505', 'conflict'],
  ['40', 'conflict'],
  ['55P03', 'busy'],
  ['57014', 'busy'],
  ['25006', 'unusable'],
  ['22', 'refused'],
  ['23', 'refused'],
  ['54', 'refused'],
  ['P0', 'refused'],
  ['28', 'unusable'],
  ['3D', 'unusable'],
  ['3F', 'unusable'],
  ['42', 'unusable'],
  ['08', 'lost'],
  ['57P', 'lost'],
]

/** Converts an error of `pg`. */
export function statementError(error: unknown): StatementError {
  if (error instanceof StatementError) return error
  if (!(error instanceof DatabaseError)) return new StatementError('lost', reasonOf(error))
  const state = String(error.code)
  const found = KINDS.find(([prefix]) => state.startsWith(prefix))?.[1] ?? 'failed'
  // After a fatal error the server closes the connection.
  const fatal = error.severity === 'FATAL' || error.severity === 'PANIC'
  const kind = fatal && found !== 'unusable' ? 'lost' : found
  return new StatementError(kind, `${error.message} (SQLSTATE ${state})`)
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(reasonOf).join(', ')
  return error instanceof Error ? error.message : String(error)
}

/** A prepared statement, which each connection plans once under its name. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/** Returns prepared statements from their texts by name. */
export function named<Name extends string>(
  texts: Readonly<Record<Name, string>>,
): Readonly<Record<Name, Statement>> {
  const statements = Object.entries<string>(texts).map(([name, text]) => [name, { name, text }])
  return Object.fromEntries(statements)
}

/**
 * Executes a statement.
 * @throws StatementError
 */
export async function ask(
  client: ClientBase,
  statement: Statement | string,
  values: readonly unknown[] = [],
): Promise<QueryResult> {
  const query: QueryConfig | string =
    typeof statement === 'string' ? statement : { ...statement, values: [...values] }
  try {
    return await client.query(query)
  } catch (error) {
    throw statementError(error)
  }
}

/** A pool of connections to one database. */
export interface Connections {
  /**
   * Runs `work` with a connection. A connection that was lost is not used again.
   * @throws LedgerFault `unknown` if no connection is available, `unusable` if `prepare` throws it.
   */
  use<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result>
  /**
   * Executes a statement that changes nothing, again if its connection was lost: after a restart of the server, every
   * connection of the pool may be.
   * @throws StatementError; LedgerFault as for `use`.
   */
  look(statement: Statement, values: readonly unknown[]): Promise<QueryResult>
  /** Waits for the connections in use, then closes all. */
  end(): Promise<void>
}

/** Store of a database, as messages name it. */
export type StoreName = 'ledger' | 'catalog'

/**
 * Creates a pool of at most `most` connections to the database at `url`, opened on demand.
 * @param prepare checks each new connection, and throws if it must not be used
 */
export function openConnections(
  url: string,
  most: number,
  prepare: (client: ClientBase) => Promise<void>,
  store: StoreName = 'ledger',
): Connections {
  const pool = new Pool({
    ...connectionOptions(url),
    query_timeout: SILENCE_TIMEOUT_MS,
    max: most,
    onConnect: prepare,
  })
  // A connection that fails in use rejects its statement. An idle one is replaced.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))

  async function connect(): Promise<PoolClient> {
    for (const startMs = performance.now(); ; await sleep(RECONNECT_EVERY_MS)) {
      try {
        return await pool.connect()
      } catch (error) {
        if (error instanceof LedgerFault) throw error
        const failure = statementError(error)
        const goesOn = performance.now() < startMs + RECONNECT_WITHIN_MS && !pool.ending
        if (failure.kind === 'lost' && goesOn) continue
        const kind = failure.kind === 'unusable' ? 'unusable' : 'unknown'
        throw new LedgerFault(kind, `the ${store}'s database cannot be reached: ${failure.message}`)
      }
    }
  }

  async function use<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
    const client = await connect()
    let broken = true
    try {
      const result = await work(client)
      broken = false
      return result
    } catch (error) {
      broken = !(error instanceof StatementError) || error.kind === 'lost'
      throw error
    } finally {
      client.release(broken)
    }
  }

  return {
    use,
    async look(statement, values) {
      for (const startMs = performance.now(); ; ) {
        try {
          return await use((client) => ask(client, statement, values))
        } catch (error) {
          const isLost = error instanceof StatementError && error.kind === 'lost'
          if (!isLost || performance.now() > startMs + LOOK_AGAIN_WITHIN_MS) throw error
        }
      }
    },
    async end() {
      // An unreachable server does not confirm the end of a connection.
      const late = new AbortController()
      await Promise.race([pool.end(), sleep(END_WITHIN_MS, undefined, { signal: late.signal })])
      late.abort()
    },
  }
}

/**
 * Runs `work` with a new, separate connection, without a time limit on the client side.
 * @throws StatementError; LedgerFault `unusable` if the server must not be used.
 */
export async function useOnce(
  url: string,
  work: (client: ClientBase) => Promise<void>,
  store: StoreName = 'ledger',
): Promise<void> {
  let client: Client | undefined
  try {
    client = new Client(connectionOptions(url))
    client.on('error', () => {})
    await client.connect()
    await prepareConnection(client, store)
    await work(client)
  } catch (error) {
    throw error instanceof LedgerFault ? error : statementError(error)
  } finally {
    await client?.end().catch(() => {})
  }
}

function connectionOptions(url: string): ClientConfig {
  return {
    connectionString: url,
    fallback_application_name: 'sotto',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
  }
}

/**
 * Settings of every new connection, which override those of its URL, user or database: time limits, and plans that use
 * indexes, so that the cost of a charge does not grow with the number of charges.
 */
const SETTINGS = `
  SET lock_timeout = ${LOCK_TIMEOUT_MS};
  SET statement_timeout = ${STATEMENT_TIMEOUT_MS};
  SET idle_in_transaction_session_timeout = ${IDLE_TIMEOUT_MS};
  SET default_transaction_isolation = 'read committed';
  SET default_transaction_read_only = off;
  SET plan_cache_mode = force_generic_plan;
  SET enable_seqscan = off;
  SET enable_hashjoin = off;
  SET enable_mergejoin = off;
  SET jit = off;
`

/**
 * Applies the settings to a new connection and checks its server.
 * @throws LedgerFault `unusable` if the server may lose or change acknowledged data.
 */
export async function prepareConnection(client: ClientBase, store: StoreName = 'ledger'): Promise<void> {
  await ask(client, SETTINGS)
  const { rows } = await ask(
    client,
    `SELECT pg_is_in_recovery() AS standby, current_setting('fsync') AS fsync,
      current_setting('full_page_writes') AS full_page_writes, current_setting('server_encoding') AS encoding,
      current_setting('server_version_num')::integer / 10000 AS version`,
  )
  const { standby, fsync, full_page_writes, encoding, version } = must(rows[0], 'the state of the server')
  const expectServer = (fits: boolean, why: string) => {
    if (!fits) throw new LedgerFault('unusable', `the ${store}'s PostgreSQL server cannot be used: ${why}`)
  }
  expectServer(
    version >= OLDEST_VERSION,
    `its version is ${version}; the oldest supported one is ${OLDEST_VERSION}`,
  )
  expectServer(standby === false, 'it is a standby')
  expectServer(fsync === 'on', 'fsync is off, so it may lose acknowledged data')
  expectServer(full_page_writes === 'on', 'full_page_writes is off, so a crash may corrupt it')
  expectServer(encoding === 'UTF8', `its encoding is ${encoding}, not UTF8`)
}

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
import { LedgerFault } from '../ledger.ts'

/** How long a new connection may take, or the wait for one that others use. */
const CONNECT_TIMEOUT_MS = 5_000
/** How long a server that is away, as during a restart, is asked again before its callers are told. */
const RECONNECT_WITHIN_MS = 3_000
const RECONNECT_EVERY_MS = 100
/** After this long between two statements the server takes a silent replica for dead, and frees its locks. */
const IDLE_TIMEOUT_MS = 5_000
/** Longer than it, so that whoever waits behind a dead replica lives to see the lock freed. */
const LOCK_TIMEOUT_MS = 10_000
const STATEMENT_TIMEOUT_MS = 15_000
/** The last resort against a server that falls silent: longer than all the limits that the server keeps itself. */
const SILENCE_TIMEOUT_MS = 20_000
const KEEP_ALIVE_AFTER_MS = 10_000
const END_WITHIN_MS = 5_000

/** The oldest version that still is repaired. */
const LEAST_VERSION = 14

/**
 * What became of a statement that was not carried out:
 * - `conflict`: another transaction came first: the same, asked again, may succeed;
 * - `refused`: the tables refuse what was to be written;
 * - `busy`: it took too long, or waited too long for a lock;
 * - `lost`: the connection is gone;
 * - `unusable`: the database is not one in which this release can work;
 * - `failed`: the server could not, as for want of space.
 */
type StatementErrorKind = 'conflict' | 'refused' | 'busy' | 'lost' | 'unusable' | 'failed'

/** A failed statement, without the rows that PostgreSQL quotes in its details: they hold answers and secrets. */
export class StatementError extends Error {
  readonly kind: StatementErrorKind

  constructor(kind: StatementErrorKind, message: string) {
    super(message)
    this.name = 'StatementError'
    this.kind = kind
  }
}

/** Raised by the ledger's functions where a row is not as it was read. */
export const MISFIT_STATE = 'LG001'

/** The conditions of SQLSTATE that decide what to do, the longest prefix first. */
const KINDS: readonly (readonly [string, StatementErrorKind])[] = [
  [MISFIT_STATE, 'conflict'],
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

/** What an error of `pg` means for the ledger. */
export function statementError(error: unknown): StatementError {
  if (error instanceof StatementError) return error
  if (!(error instanceof DatabaseError)) return new StatementError('lost', reasonOf(error))
  const state = error.code ?? ''
  const found = KINDS.find(([prefix]) => state.startsWith(prefix))?.[1] ?? 'failed'
  // After a fatal error the server hangs up, whatever it was.
  const fatal = error.severity === 'FATAL' || error.severity === 'PANIC'
  const kind = fatal && found !== 'unusable' ? 'lost' : found
  return new StatementError(kind, `${error.message} (SQLSTATE ${state})`)
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(reasonOf).join(', ')
  return error instanceof Error ? error.message : String(error)
}

/** A statement that is planned once per connection, under its name. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/**
 * Carry out one statement.
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

/** A few connections to one database, each looked at when it is made. */
export interface Connections {
  /**
   * Work with a connection of one's own. One on which a statement was lost is not used again.
   * @throws LedgerFault `unknown` where there is none to be had, `unusable` where `prepare` says so.
   */
  use<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result>
  /** Let those in use finish, then hang up. */
  end(): Promise<void>
}

/**
 * Connections to the database at `url`, at most `most`, made when they are needed.
 * @param prepare looks at each new connection, and throws where it must not be used
 */
export function openConnections(
  url: string,
  most: number,
  prepare: (client: ClientBase) => Promise<void>,
): Connections {
  const pool = new Pool({
    ...connectionOptions(url),
    query_timeout: SILENCE_TIMEOUT_MS,
    max: most,
    onConnect: prepare,
  })
  // A connection that breaks tells whoever uses it; between two uses nobody needs to know.
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
        throw new LedgerFault(kind, `the ledger's database cannot be reached: ${failure.message}`)
      }
    }
  }

  return {
    async use(work) {
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
    },
    async end() {
      // A server that is out of reach does not answer the farewell.
      const late = new AbortController()
      await Promise.race([pool.end(), sleep(END_WITHIN_MS, undefined, { signal: late.signal })])
      late.abort()
    },
  }
}

/**
 * Work with a connection that is made for it alone, and takes its time.
 * @throws StatementError; LedgerFault `unusable` where the server must not be used.
 */
export async function useOnce(url: string, work: (client: ClientBase) => Promise<void>): Promise<void> {
  let client: Client | undefined
  try {
    client = new Client(connectionOptions(url))
    client.on('error', () => {})
    await client.connect()
    await prepareConnection(client)
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
 * What a new connection is set to, whatever its URL, its user or its database say: limits on time, and plans that look rows
 * up, so that no charge costs more because there are many.
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
 * Set a new connection up.
 * @throws LedgerFault `unusable` where its server may lose or change what it acknowledges.
 */
export async function prepareConnection(client: ClientBase): Promise<void> {
  await ask(client, SETTINGS)
  const { rows } = await ask(
    client,
    `SELECT pg_is_in_recovery() AS standby, current_setting('fsync') AS fsync,
      current_setting('full_page_writes') AS full_page_writes, current_setting('server_encoding') AS encoding,
      current_setting('server_version_num')::integer / 10000 AS version`,
  )
  const { standby, fsync, full_page_writes, encoding, version } = rows[0] ?? {}
  const expectServer = (fits: boolean, why: string) => {
    if (!fits) throw new LedgerFault('unusable', `the ledger's PostgreSQL server cannot be used: ${why}`)
  }
  expectServer(
    version >= LEAST_VERSION,
    `it has version ${version}, and ${LEAST_VERSION} is the oldest known`,
  )
  expectServer(standby === false, 'it is a standby')
  expectServer(fsync === 'on', 'fsync is off, so that it may lose what it has acknowledged')
  expectServer(full_page_writes === 'on', 'full_page_writes is off, so that a crash may corrupt it')
  expectServer(encoding === 'UTF8', `its encoding is ${encoding}, not UTF8`)
}

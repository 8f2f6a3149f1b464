import {
  type ClientConfig,
  type CustomTypesConfig,
  DatabaseError,
  Pool,
  type PoolClient,
  Query,
  type QueryArrayConfig,
  type QueryArrayResult,
} from 'pg'
import Cursor from 'pg-cursor'
import { createLimiter, type Place } from '../../platform/concurrency/limiter.ts'
import { must } from '../../privacy/must.ts'
import { EngineFailure } from '../engine.ts'
import type { PrintedStatement } from '../printing/printer.ts'
import type { PostgresConnection } from '../tables/connection.ts'
import { createInterruptions } from '../tables/interruptions.ts'
import { clientConfig, IsolatedClient } from './connection.ts'

/** A row of a result. */
export type Row = readonly (string | null)[]

/** Terms of one transaction. */
export interface TransactionTerms {
  /** Id of the dataset that is queried; absent for work that no analyst asked for. */
  readonly dataset?: string
  /**
   * - `statement`: each statement sees what was committed before it began.
   * - `snapshot`: all statements see the same rows.
   */
  readonly isolation: 'statement' | 'snapshot'
  /** Time limit for the connection, and for each statement. */
  readonly timeoutMs: number
  /** Cancels the statement that runs. */
  readonly signal?: AbortSignal | undefined
  /** Statements to run first, as literals, which have no parameters. The results of the last one are checked. */
  readonly prepare: readonly string[]
  /**
   * Checks the result of the last statement to prepare.
   * @throws EngineFailure
   */
  readonly check?: (rows: readonly Row[]) => void
}

/** Statements of a transaction, one at a time. All values of a result are texts. */
export interface Session {
  /** Runs a statement and passes on each row as it arrives. */
  each(statement: PrintedStatement, use: (row: Row) => void): Promise<void>
  /**
   * Runs a statement and returns its rows.
   * @throws EngineFailure for more rows, which would otherwise fill the memory.
   */
  rows(statement: PrintedStatement, mostRows: number): Promise<readonly Row[]>
  /** Runs a statement and reads its rows in batches, on demand. */
  batches(statement: PrintedStatement): AsyncGenerator<readonly Row[]>
}

/** Read-only transactions of one database. */
export interface Transactions {
  /**
   * Runs work in a transaction as soon as a connection is free.
   * @throws EngineFailure `EngineUnavailable` if no statement of the work was run, or if the server was shut down meanwhile;
   * `EngineInterrupted` as {@link createInterruptions} has it; `EngineTimeout`; the error of `check`; the signal's reason once
   * it is aborted; `EngineFailure` for any other failure.
   */
  run<Answer>(terms: TransactionTerms, work: (session: Session) => Promise<Answer>): Promise<Answer>
  /** Opens a transaction. The caller must end it. Failures are those of {@link Transactions.run}. */
  open(terms: TransactionTerms): Promise<OpenTransaction>
  /** True if every connection is in use. */
  busy(): boolean
  /** Accepts no more work, waits for that under way, and closes all connections. */
  close(): Promise<void>
}

/** A transaction that has begun. */
export interface OpenTransaction {
  readonly session: Session
  /** Instant of `performance.now` at which it had begun. */
  readonly begunMs: number
  /** Time at which the server was started, as it states it. */
  readonly startedAt: string
  /** Ends it without waiting for the server, and returns the connection. */
  finish(): void
  /** Cancels the statement that runs, gives the connection up, and returns the failure to report. */
  abandon(error: unknown): unknown
}

/** Time limit for opening a connection, and for the last statement of a transaction. */
const CONNECT_TIMEOUT_MS = 5_000
/** The server ends a statement this long after the engine has given up, if it could not be cancelled. */
const SERVER_MARGIN_MS = 2_000
/** Rows in a batch. */
const BATCH_ROWS = 5_000

const SETTINGS: Readonly<Record<string, string>> = {
  search_path: 'pg_catalog',
  timezone: 'UTC',
  datestyle: 'ISO, YMD',
  intervalstyle: 'postgres',
  // Floating point numbers become the shortest decimals that read back as the same number.
  extra_float_digits: '3',
  standard_conforming_strings: 'on',
  transform_null_equals: 'off',
  quote_all_identifiers: 'off',
  // Rows that a policy hides are not part of the dataset.
  row_security: 'on',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
}

/** Reads every value as the text that the server sends. */
const TEXTS: CustomTypesConfig = { getTypeParser: () => (text: unknown) => text }

/** A pool of connections, each with one transaction at a time. */
export function openTransactions(connection: PostgresConnection): Transactions {
  const { connections } = connection.limits
  const config = clientConfig(connection, CONNECT_TIMEOUT_MS)
  const pool = new Pool({
    ...config,
    Client: IsolatedClient,
    max: connections,
    idleTimeoutMillis: 60_000,
    maxLifetimeSeconds: 3_600,
  })
  // A connection that fails in use rejects its statement. An idle one is replaced.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  const limiter = createLimiter({ concurrency: connections })
  const interrupted = createInterruptions()
  let closed: Promise<void> | undefined

  const open = async (terms: TransactionTerms): Promise<OpenTransaction> => {
    if (closed !== undefined) throw new EngineFailure('EngineUnavailable')
    const place = await limiter.enter({ signal: terms.signal })
    const begun = beginOn(pool, terms, connections)
    try {
      return openTransaction(await guarded(terms, () => begun.result), place, terms, config)
    } catch (error) {
      begun.giveUp()
      place.leave()
      const known = error instanceof EngineFailure && error.name === 'TableChanged'
      throw known || terms.signal?.aborted ? error : new EngineFailure('EngineUnavailable')
    }
  }

  return {
    open,
    run: async (terms, work) => {
      const transaction = await open(terms)
      try {
        const answer = await work(transaction.session)
        transaction.finish()
        return answer
      } catch (error) {
        const failure = transaction.abandon(error)
        if (terms.signal?.aborted || !isLost(error)) throw failure
        const { begunMs, startedAt } = transaction
        throw (await isShutDown(error, startedAt, config))
          ? new EngineFailure('EngineUnavailable')
          : interrupted(terms.dataset, begunMs)
      }
    },
    busy: () => limiter.running() >= connections,
    close: () => {
      closed ??= limiter.idle().then(() => pool.end())
      return closed
    },
  }
}

/** A connection with a transaction that has begun. */
interface Begun {
  readonly client: PoolClient
  /** Process id of the server's process. */
  readonly backend: string
  /** Time at which the server was started, as it states it. */
  readonly startedAt: string
}

/**
 * Begins a transaction on a connection. Idle connections that were lost, for example in a restart of the server, are
 * replaced.
 */
function beginOn(pool: Pool, terms: TransactionTerms, connections: number) {
  let current: PoolClient | undefined
  let isGivenUp = false
  const begin = async (): Promise<Begun> => {
    for (let attempt = 0; ; attempt += 1) {
      const client = await pool.connect()
      if (isGivenUp) {
        client.release(true)
        throw new EngineFailure('EngineUnavailable')
      }
      current = client
      try {
        return { client, ...(await beginTransaction(client, terms)) }
      } catch (error) {
        current = undefined
        if (!isGivenUp) client.release(true)
        if (isGivenUp || !isLost(error) || attempt === connections) throw refined(error)
      }
    }
  }
  const result = begin()
  // The caller may have given up before it waits for the result.
  result.catch(() => undefined)
  return {
    result,
    /** Closes the connection that is being prepared, or will be. */
    giveUp: () => {
      isGivenUp = true
      current?.release(true)
      current = undefined
    },
  }
}

/** Sends everything before the first statement in one message. */
async function beginTransaction(client: PoolClient, terms: TransactionTerms): Promise<Omit<Begun, 'client'>> {
  const { isolation, timeoutMs, prepare, check } = terms
  const level = isolation === 'snapshot' ? 'REPEATABLE READ' : 'READ COMMITTED'
  const settings = { ...SETTINGS, statement_timeout: String(timeoutMs + SERVER_MARGIN_MS) }
  const text = [
    `BEGIN ISOLATION LEVEL ${level} READ ONLY`,
    ...Object.entries(settings).map(([name, value]) => `SET LOCAL ${name} = '${value}'`),
    ...prepare,
    FACTS,
  ].join('; ')
  const answers: unknown = await client.query({ text, rowMode: 'array', types: TEXTS })
  const results = (answers as readonly QueryArrayResult<(string | null)[]>[]).map(({ rows }) => rows)
  const [facts] = must(results.at(-1), 'the result of the last statement')
  const [backend, startedAt, encoding, version] = must(facts, 'the facts of the server')
  if (typeof backend !== 'string' || typeof startedAt !== 'string')
    throw new EngineFailure('EngineUnavailable')
  if (encoding !== 'UTF8' || Number(version) < OLDEST_VERSION) throw new EngineFailure('EngineUnavailable')
  check?.(must(results.at(-2), 'the result of the last statement to prepare'))
  return { backend, startedAt }
}

/** Oldest supported version of PostgreSQL. */
const OLDEST_VERSION = 140_000

/** Servers on Linux notice during a statement that its client is gone. */
const FACTS = `SELECT pg_backend_pid(), extract(epoch FROM pg_postmaster_start_time()), current_setting('server_encoding'), current_setting('server_version_num'),
  CASE WHEN version() ~ 'linux' THEN set_config('client_connection_check_interval', '1s', true) END`

function openTransaction(
  { client, backend, startedAt }: Begun,
  place: Place,
  terms: TransactionTerms,
  config: ClientConfig,
): OpenTransaction {
  let isOver = false
  let running = 0
  const guard = async <Answer>(work: () => Promise<Answer>): Promise<Answer> => {
    running += 1
    // An error of the server ends the statement; after any other it may still run.
    return guarded(terms, work).then(
      (answer) => {
        running -= 1
        return answer
      },
      (error: unknown) => {
        if (error instanceof DatabaseError) running -= 1
        throw error
      },
    )
  }
  return {
    session: sessionOf(client, guard),
    begunMs: performance.now(),
    startedAt,
    finish: () => {
      if (isOver) return
      isOver = true
      void client
        .query({ text: 'COMMIT', query_timeout: CONNECT_TIMEOUT_MS } as { readonly text: string })
        .then(
          () => client.release(),
          () => client.release(true),
        )
        .finally(place.leave)
    },
    abandon: (error) => {
      const { signal } = terms
      const failure = signal?.aborted
        ? signal.reason
        : error instanceof EngineFailure
          ? error
          : new EngineFailure()
      if (isOver) return failure
      isOver = true
      void (running > 0 ? cancel(backend, config) : Promise.resolve()).finally(() => {
        client.release(true)
        place.leave()
      })
      return failure
    },
  }
}

function sessionOf(
  client: PoolClient,
  guard: <Answer>(work: () => Promise<Answer>) => Promise<Answer>,
): Session {
  const each: Session['each'] = (statement, use) =>
    guard(() => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const config: QueryArrayConfig = {
        text: statement.sql,
        values: statement.parameters.map(String),
        rowMode: 'array',
        types: TEXTS,
      }
      const query = new Query<(string | null)[]>(config)
      let isRefused = false
      query.on('row', (row) => {
        // Rows keep coming until the statement is cancelled.
        if (isRefused) return
        try {
          use(row as unknown as Row)
        } catch {
          isRefused = true
          reject(new EngineFailure())
        }
      })
      query.on('error', reject)
      query.on('end', () => resolve())
      client.query(query)
      return promise
    })
  return {
    each,
    rows: async (statement, mostRows) => {
      const rows: Row[] = []
      await each(statement, (row) => {
        if (rows.length >= mostRows) throw new EngineFailure()
        rows.push(row)
      })
      return rows
    },
    batches: async function* ({ sql, parameters }) {
      const config = { rowMode: 'array', types: TEXTS } as const
      const cursor = client.query(new Cursor<(string | null)[]>(sql, parameters.map(String), config))
      for (;;) {
        const rows = await guard(() => cursor.read(BATCH_ROWS))
        if (rows.length > 0) yield rows
        if (rows.length < BATCH_ROWS) return
      }
    },
  }
}

/** Waits for work, at most for the time limit and until the signal. The work itself goes on. */
async function guarded<Answer>(
  { timeoutMs, signal }: TransactionTerms,
  work: () => Promise<Answer>,
): Promise<Answer> {
  signal?.throwIfAborted()
  const ended = Promise.withResolvers<never>()
  const timer = setTimeout(() => ended.reject(new EngineFailure('EngineTimeout')), timeoutMs)
  const abort = () => ended.reject(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work(), ended.promise])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

/** Runs a statement through another connection. */
async function askApart(config: ClientConfig, text: string): Promise<unknown> {
  const client = new IsolatedClient({ ...config, query_timeout: CONNECT_TIMEOUT_MS })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query({ text, rowMode: 'array', types: TEXTS })
    return rows[0]?.[0]
  } finally {
    await client.end().catch(() => undefined)
  }
}

/**
 * Cancels the statement of a server's process through another connection. If that fails, the server ends the statement
 * once it notices that the client is gone, or at its own time limit.
 */
async function cancel(backend: string, config: ClientConfig): Promise<void> {
  // Nothing else can be done after a failure, and the message may contain data.
  await askApart(config, `SELECT pg_catalog.pg_cancel_backend('${Number(backend)}'::int4)`).catch(
    () => undefined,
  )
}

/** True for an error after which the connection cannot be used, although the server may accept another. */
function isLost(error: unknown): boolean {
  if (error instanceof EngineFailure || error instanceof RangeError || error instanceof TypeError)
    return false
  return !(error instanceof DatabaseError) || error.severity === 'FATAL' || /^(08|57P)/.test(error.code ?? '')
}

/** SQLSTATE of a process that an administrator, or a server that is shut down, has ended. */
const ADMIN_SHUTDOWN = '57P01'
/** SQLSTATE of a server that accepts no connections, because it is being shut down or started. */
const CANNOT_CONNECT_NOW = '57P03'

/**
 * True for an error that comes from an orderly shutdown of the server, which cannot depend on data: a process was told to
 * end, and the server accepts no connections or was started anew. A process that is told to end alone may have been chosen
 * for what it computes; a server that recovers from a crash ends its processes with another code.
 */
async function isShutDown(error: unknown, startedAt: string, config: ClientConfig): Promise<boolean> {
  if (!(error instanceof DatabaseError) || error.code !== ADMIN_SHUTDOWN) return false
  try {
    const started = await askApart(config, 'SELECT extract(epoch FROM pg_catalog.pg_postmaster_start_time())')
    return started !== startedAt
  } catch (refused) {
    return refused instanceof Error && 'code' in refused
      ? [CANNOT_CONNECT_NOW, ADMIN_SHUTDOWN, 'ECONNREFUSED'].includes(String(refused.code))
      : false
  }
}

/** SQLSTATEs of a table, a schema or a column that does not exist, and of a relation that cannot be read. */
const MISSING = ['42P01', '3F000', '42703', '42809']

function refined(error: unknown): unknown {
  return error instanceof DatabaseError && MISSING.includes(error.code ?? '')
    ? new EngineFailure('TableChanged')
    : error
}

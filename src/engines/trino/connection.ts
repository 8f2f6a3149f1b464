import { Agent as HttpAgent, type RequestOptions, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { must } from '../../privacy/must.ts'
import type { TrinoConnection } from '../tables/connection.ts'

/*
 * Trino's client protocol over HTTP: a statement is posted, and the answer names the address of the next page, until a
 * page names none. https://trino.io/docs/current/develop/client-protocol.html
 */

/** Rows of a result, as JSON represents them. */
export type TrinoRows = readonly (readonly unknown[])[]

/** Runs statements on one catalog of a Trino cluster. See decision 43. */
export interface TrinoClient {
  /**
   * Runs a statement and returns its pages that have rows. If the reader stops early or the signal is aborted, the
   * statement is cancelled.
   * @throws TrinoFailure; the signal's reason once it is aborted.
   */
  run(sql: string, options: StatementOptions): AsyncGenerator<TrinoRows, void, void>
  /** Closes the connections that are kept open. */
  close(): void
}

/** Options of a statement. */
export interface StatementOptions {
  readonly signal: AbortSignal
  /** Time limit that the cluster itself enforces. */
  readonly timeoutMs: number
  /** Called once the cluster has accepted the statement. */
  readonly onAccepted?: () => void
}

/** A statement that failed. The message is constant, because Trino's own message may quote data. */
export class TrinoFailure extends Error {
  /**
   * - `refused`: the cluster does not run the statement, whatever it reads: too many wait in its resource group, or the cluster
   *   is being started or shut down.
   * - `interrupted`: the cluster, one of its workers or the connection ended while the statement ran.
   * - `failed`: any other failure.
   */
  readonly outcome: 'refused' | 'interrupted' | 'failed'
  constructor(outcome: TrinoFailure['outcome'] = 'failed') {
    super('the statement failed')
    this.name = 'TrinoFailure'
    this.outcome = outcome
  }
}

/** Trino's names of the errors of a cluster that refuses statements. */
const REFUSED: readonly string[] = ['QUERY_QUEUE_FULL', 'SERVER_STARTING_UP', 'SERVER_SHUTTING_DOWN']

/** Trino's names of the errors for a worker that is gone, or cannot be reached by the others. */
const INTERRUPTED: readonly string[] = [
  'NO_NODES_AVAILABLE',
  'PAGE_TRANSPORT_ERROR',
  'PAGE_TRANSPORT_TIMEOUT',
  'REMOTE_HOST_GONE',
  'REMOTE_TASK_MISMATCH',
  'TOO_MANY_REQUESTS_FAILED',
]

function outcomeOf(errorName: string): TrinoFailure['outcome'] {
  if (REFUSED.includes(errorName)) return 'refused'
  return INTERRUPTED.includes(errorName) ? 'interrupted' : 'failed'
}

/** Limits of the protocol, which tests change. */
export interface ClientLimits {
  /** Largest size of one answer. */
  readonly maxPageBytes: number
  /** Time for which a request is repeated while the cluster cannot answer it. */
  readonly retryMs: number
}

/** A page of Trino has 16 MB unless its session asks for more; one row can be larger. */
const LIMITS: ClientLimits = { maxPageBytes: 128 * 2 ** 20, retryMs: 10_000 }

/** The longest statement that Trino accepts by default, in characters. */
export const LONGEST_STATEMENT = 1_000_000

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 2_000
const CANCEL_MS = 5_000

/** Answers to requests that may be repeated. */
const TRY_AGAIN: readonly number[] = [429, 502, 503, 504]

/** Opens a client. It does not reach the cluster. */
export function openTrinoClient(connection: TrinoConnection, limits: ClientLimits = LIMITS): TrinoClient {
  const send = createSender(connection, limits)
  const exchange = createExchange(send, limits)

  async function cancel(nextUri: string): Promise<void> {
    await send({ method: 'DELETE', url: nextUri }, AbortSignal.timeout(CANCEL_MS)).catch(() => undefined)
  }

  /**
   * Sends a statement. After the signal it waits up to {@link CANCEL_MS} for the answer, which has the address that cancels
   * the statement.
   */
  async function submit(statement: Exchange, signal: AbortSignal): Promise<Page> {
    signal.throwIfAborted()
    const sent = new AbortController()
    const aborted = Promise.withResolvers<never>()
    const stop = () => {
      setTimeout(() => sent.abort(), CANCEL_MS).unref()
      aborted.reject(signal.reason)
    }
    signal.addEventListener('abort', stop, { once: true })
    const posted = exchange(statement, signal, sent.signal)
    try {
      return await Promise.race([posted, aborted.promise])
    } catch (error) {
      void posted.then(
        ({ nextUri }) => (nextUri === undefined ? undefined : cancel(nextUri)),
        () => undefined,
      )
      throw error
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  async function* run(sql: string, options: StatementOptions): AsyncGenerator<TrinoRows, void, void> {
    const { signal, timeoutMs, onAccepted } = options
    if (sql.length > LONGEST_STATEMENT) throw new TrinoFailure()
    const post: Exchange = { method: 'POST', url: '/v1/statement', body: sql, timeoutMs }
    let next: string | undefined
    try {
      let page = await submit(post, signal)
      onAccepted?.()
      for (;;) {
        next = page.nextUri
        if (page.errorName !== undefined) throw new TrinoFailure(outcomeOf(page.errorName))
        if (page.data.length > 0) yield page.data
        if (next === undefined) return
        page = await exchange({ method: 'GET', url: next }, signal)
      }
    } finally {
      // The statement has not ended. Its cancellation is not awaited.
      if (next !== undefined) void cancel(next)
    }
  }

  return { run, close: send.close }
}

type Sender = ReturnType<typeof createSender>

/** Creates the function that sends a request until it is answered. */
function createExchange(send: Sender, { retryMs }: ClientLimits) {
  /**
   * Sends a request until it is answered. A page may be requested again if its connection broke, a statement may not.
   * @param signal stops the repetitions
   * @param sent stops a request that was sent
   */
  return async function exchange(request: Exchange, signal: AbortSignal, sent = signal): Promise<Page> {
    const idempotent = request.method === 'GET'
    const firstMs = performance.now()
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      signal.throwIfAborted()
      const answer = await send(request, sent).catch((error: unknown) => {
        signal.throwIfAborted()
        if (error instanceof TrinoFailure) throw error
        if (!idempotent) throw new TrinoFailure('interrupted')
        return undefined
      })
      if (answer?.status === 200) return pageOf(answer.body)
      const again = answer === undefined || TRY_AGAIN.includes(answer.status)
      const waitMs = Math.max(pauseMs, answer?.retryAfterMs ?? 0)
      if (!again) throw new TrinoFailure()
      if (performance.now() + waitMs > firstMs + retryMs) throw new TrinoFailure('interrupted')
      await sleep(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }
}

interface Exchange {
  readonly method: 'POST' | 'GET' | 'DELETE'
  /** An address, relative to the coordinator's. */
  readonly url: string
  readonly body?: string
  readonly timeoutMs?: number
}

interface Answer {
  readonly status: number
  readonly body: string
  readonly retryAfterMs: number | undefined
}

interface Page {
  readonly data: TrinoRows
  readonly nextUri: string | undefined
  /** Trino's name of the error, or an empty text for an error without one. Absent unless the statement failed. */
  readonly errorName: string | undefined
}

/** Sends requests to one coordinator only, whatever address an answer names, and follows no redirects. */
function createSender(connection: TrinoConnection, { maxPageBytes }: ClientLimits) {
  const { host, port, tls } = connection
  const protocol = tls === undefined ? 'http:' : 'https:'
  const origin = new URL(`${protocol}//${host.includes(':') ? `[${host}]` : host}:${port}`)
  const agent =
    tls === undefined
      ? new HttpAgent({ keepAlive: true })
      : // Certificates are checked even if NODE_TLS_REJECT_UNAUTHORIZED is 0.
        new HttpsAgent({ keepAlive: true, ...tls, rejectUnauthorized: true })
  const start: typeof requestHttp = tls === undefined ? requestHttp : requestHttps

  async function send(exchange: Exchange, signal: AbortSignal): Promise<Answer> {
    const url = URL.parse(exchange.url, origin.href)
    // Credentials are sent to the configured coordinator only.
    if (url === null || url.origin !== origin.origin || url.username !== '') throw new TrinoFailure()
    const headers = { ...headersOf(connection, exchange), ...(await authorization(connection)) }
    const options: RequestOptions = { method: exchange.method, agent, headers, signal }
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const request = start(url.href, options, (response) => {
      const chunks: Buffer[] = []
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > maxPageBytes) response.destroy(new TrinoFailure())
        else chunks.push(chunk)
      })
      response.on('error', reject)
      response.on('end', () => {
        const seconds = Number(response.headers['retry-after'])
        resolve({
          status: must(response.statusCode, 'the status of a response'),
          body: Buffer.concat(chunks).toString(),
          retryAfterMs: Number.isFinite(seconds) ? seconds * 1_000 : undefined,
        })
      })
    })
    request.on('error', reject)
    // As bytes, because Node would otherwise send the headers in the encoding of a text.
    request.end(exchange.body === undefined ? undefined : Buffer.from(exchange.body))
    return promise
  }
  return Object.assign(send, { close: () => agent.destroy() })
}

/** Headers are in ISO 8859-1; a name beyond it makes the request fail. Tables are named with their schema. */
function headersOf(connection: TrinoConnection, { body, timeoutMs }: Exchange): Record<string, string> {
  const common = { 'x-trino-user': connection.user, accept: 'application/json' }
  if (body === undefined) return common
  return {
    ...common,
    'content-type': 'text/plain; charset=utf-8',
    'x-trino-source': 'sotto',
    'x-trino-catalog': connection.catalog,
    'x-trino-time-zone': 'UTC',
    ...(timeoutMs === undefined
      ? {}
      : { 'x-trino-session': `query_max_run_time=${encodeURIComponent(`${Math.max(timeoutMs, 1)}ms`)}` }),
  }
}

async function authorization({ user, password, token }: TrinoConnection): Promise<Record<string, string>> {
  if (token !== undefined) return { authorization: `Bearer ${await token()}` }
  if (password === undefined) return {}
  const credentials = Buffer.from(`${user}:${await password()}`).toString('base64')
  return { authorization: `Basic ${credentials}` }
}

/** @throws TrinoFailure for a document that is not a page. */
function pageOf(text: string): Page {
  const { data = [], nextUri, error } = documentOf(text)
  const isPage =
    Array.isArray(data) && data.every(Array.isArray) && (nextUri === undefined || typeof nextUri === 'string')
  if (!isPage) throw new TrinoFailure()
  return { data, nextUri, errorName: error === undefined || error === null ? undefined : nameOf(error) }
}

function nameOf(error: unknown): string {
  const isNamed = typeof error === 'object' && error !== null && 'errorName' in error
  return isNamed ? String(error.errorName) : ''
}

function documentOf(text: string): {
  readonly data?: unknown
  readonly nextUri?: unknown
  readonly error?: unknown
} {
  try {
    const document: unknown = JSON.parse(text)
    if (typeof document === 'object' && document !== null) return document
  } catch {
    // The text may contain data.
  }
  throw new TrinoFailure()
}

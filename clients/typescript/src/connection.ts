import { ConnectionFailed, Problem, type ProblemDocument, UnexpectedResponse } from './problem.ts'

/** An API key or access token, or a function that returns the current one. */
export type Key = string | (() => string | Promise<string>)

/** How requests are sent and repeated. */
export interface ConnectionOptions {
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch
  /** Attempts at a request whose connection is lost. Default: 5. */
  readonly attempts?: number
  /** Longest time to wait between the attempts at one request, in all. Default: 60 seconds. */
  readonly longestWaitMs?: number
  /** Time limit for one attempt. Default: 120 seconds. */
  readonly timeoutMs?: number
}

/** Request to the service. Each may be repeated: see decision 49. */
export interface Request {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  /** A form is sent as it is, anything else as JSON. */
  readonly body?: unknown
  readonly parameters?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly idempotencyKey?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** Response of the service whose status is a success. */
export interface Reply {
  /** Address of the service. */
  readonly address: string
  readonly text: string
  /** True if the service sent a stored answer. */
  readonly replayed: boolean
}

/**
 * Sends a request, repeats it while that can help, and returns the response.
 * @throws Problem if the service refused or failed, ConnectionFailed if no response arrived, UnexpectedResponse if
 * something other than the service answered, and the reason of `signal` once it is aborted
 */
export type Connection = (request: Request) => Promise<Reply>

/** One attempt that was answered, or whose connection was lost. */
type Outcome =
  | { readonly kind: 'answered'; readonly status: number; readonly headers: Headers; readonly text: string }
  | { readonly kind: 'lost'; readonly reason: string }

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 8_000

/**
 * Returns a connection to a service. It follows no redirect and sends no cookies, so that the key reaches one address.
 * @throws TypeError if the address is not http or https, or contains a user name
 */
export function openConnection(url: string, key: Key, options: ConnectionOptions = {}): Connection {
  const address = addressOf(url)
  const { attempts = 5, longestWaitMs = 60_000, timeoutMs = 120_000 } = options
  const send = options.fetch ?? ((input, init) => fetch(input, init))
  return async (request) => {
    const { signal } = request
    for (let attempt = 1, waitedMs = 0; ; attempt += 1) {
      const outcome = await attemptOf(send, address, key, request, timeoutMs)
      if (outcome.kind === 'answered' && outcome.status >= 200 && outcome.status < 300)
        return {
          address,
          text: outcome.text,
          replayed: outcome.headers.get('idempotent-replayed') === 'true',
        }
      const pauseMs = pauseAfter(outcome, attempt, attempts)
      if (pauseMs === undefined || waitedMs + pauseMs > longestWaitMs)
        throw failureOf(outcome, attempt, address)
      await pause(pauseMs, signal)
      waitedMs += pauseMs
    }
  }
}

function addressOf(url: string): string {
  const base = (globalThis as { location?: { href?: string } }).location?.href
  if (!URL.canParse(url, base))
    throw new TypeError('the address of the service must be like https://sotto.example.org')
  const parsed = new URL(url, base)
  if (!/^https?:$/.test(parsed.protocol) || parsed.search !== '' || parsed.hash !== '')
    throw new TypeError('the address of the service must be like https://sotto.example.org')
  // An address with a password would appear in logs.
  if (parsed.username !== '' || parsed.password !== '')
    throw new TypeError('the address of the service must not contain a user name; pass the key separately')
  return parsed.href.replace(/\/+$/, '')
}

async function headersOf(key: Key, { body, idempotencyKey }: Request): Promise<Record<string, string>> {
  const token = (typeof key === 'string' ? key : await key()).trim()
  // The message must not contain the key, as that of fetch would.
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new TypeError('the key is empty or contains characters that no key has')
  return {
    authorization: `Bearer ${token}`,
    // `fetch` names the type of a form, with its boundary.
    ...(body === undefined || body instanceof FormData ? {} : { 'content-type': 'application/json' }),
    ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
  }
}

async function attemptOf(
  send: typeof fetch,
  address: string,
  key: Key,
  request: Request,
  timeoutMs: number,
): Promise<Outcome> {
  const { method, path, body, signal, parameters = {} } = request
  const query = new URLSearchParams(
    Object.entries(parameters).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] as [string, string]],
    ),
  )
  const headers = await headersOf(key, request)
  signal?.throwIfAborted()
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    const response = await send(`${address}${path}${query.size === 0 ? '' : `?${query}`}`, {
      method,
      headers,
      redirect: 'manual',
      credentials: 'omit',
      cache: 'no-store',
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      ...(body === undefined ? {} : { body: body instanceof FormData ? body : JSON.stringify(body) }),
    })
    // The body may be cut off after the status has arrived.
    return {
      kind: 'answered',
      status: response.status,
      headers: response.headers,
      text: await response.text(),
    }
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    return { kind: 'lost', reason: timeout.aborted ? 'timeout' : reasonOf(error) }
  }
}

/** Returns the code of the operating system, or the class of an error. Its message may quote the request. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'error'
  // `fetch` of Node keeps what happened as the cause.
  const { code } = (error.cause ?? error) as { readonly code?: unknown }
  return typeof code === 'string' && /^[A-Z][A-Z_]+$/.test(code) ? code : error.name
}

/** Returns the milliseconds to wait before the next attempt, or undefined if the outcome is final. */
function pauseAfter(outcome: Outcome, attempt: number, attempts: number): number | undefined {
  // Jitter, so that many clients that were refused together do not return together.
  const backoffMs =
    Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2)
  if (outcome.kind === 'lost') return attempt < attempts ? backoffMs : undefined
  const retryAfter = outcome.headers.get('retry-after')
  const code = documentOf(outcome.text)?.code
  switch (outcome.status) {
    case 409:
      if (code !== 'query-in-flight') return undefined
      break
    case 429:
      // Waiting helps against a rate limit. Of other quotas, only a Retry-After tells that it does.
      if (retryAfter === null && code !== 'rate-limited') return undefined
      break
    case 502:
    case 503:
    case 504:
      break
    default:
      return undefined
  }
  return Math.max(backoffMs, millisecondsOf(retryAfter))
}

function millisecondsOf(retryAfter: string | null): number {
  if (retryAfter === null) return 0
  const ms = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - Date.now()
  return Number.isNaN(ms) ? 0 : Math.max(0, ms)
}

function pause(durationMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, durationMs)
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}

function documentOf(text: string): ProblemDocument | undefined {
  try {
    const document: unknown = JSON.parse(text)
    return typeof document === 'object' && document !== null && 'code' in document
      ? (document as ProblemDocument)
      : undefined
  } catch {
    return undefined
  }
}

function failureOf(outcome: Outcome, attempts: number, address: string): Error {
  if (outcome.kind === 'lost') {
    const count = attempts === 1 ? '' : `, attempts: ${attempts}`
    return new ConnectionFailed(`no response from the service at ${address} (${outcome.reason}${count})`)
  }
  // A redirect has the status 0 in browsers.
  if (outcome.status < 400)
    return new UnexpectedResponse(
      `${address} redirects, and redirects are not followed; use the final address`,
    )
  const document = documentOf(outcome.text)
  return document === undefined
    ? new UnexpectedResponse(`${address} does not answer as Sotto does (HTTP status ${outcome.status})`)
    : new Problem({ ...document, ...typeOf(document, address) })
}

/** Returns the type of a problem as a whole address. The service states it relative to its own. */
function typeOf({ type }: ProblemDocument, address: string): Pick<ProblemDocument, 'type'> {
  return typeof type === 'string' && URL.canParse(type, address) ? { type: new URL(type, address).href } : {}
}

/**
 * Returns the body of a reply as JSON.
 * @throws UnexpectedResponse if it is not JSON
 */
export function jsonOf<Document>(reply: Reply): Document {
  try {
    return JSON.parse(reply.text) as Document
  } catch {
    throw new UnexpectedResponse(`${reply.address} does not answer as Sotto does: the response is not JSON`)
  }
}

/** Request for a list. */
type ListRequest = Pick<Request, 'path' | 'parameters' | 'signal'>

/** Page of a list. */
interface Page {
  readonly next?: string | undefined
}

/** Reads a list page by page. */
export async function* pagesOf<Read extends Page>(
  send: Connection,
  { parameters, ...request }: ListRequest,
): AsyncGenerator<Read> {
  for (let cursor: string | undefined; ; ) {
    const page = jsonOf<Read>(
      await send({ method: 'GET', ...request, parameters: { ...parameters, cursor } }),
    )
    yield page
    if (page.next === undefined) return
    cursor = page.next
  }
}

/** Largest number of entries of a page. */
const MOST_ENTRIES = 500

/**
 * Reads all pages of a list.
 * @param name name of the list in a page
 */
export async function wholeList<Entry>(
  send: Connection,
  name: string,
  request: ListRequest,
): Promise<Entry[]> {
  const entries: Entry[] = []
  const pages = pagesOf<Page & Readonly<Record<string, readonly Entry[]>>>(send, {
    ...request,
    parameters: { limit: MOST_ENTRIES },
  })
  for await (const { [name]: page = [] } of pages) entries.push(...page)
  return entries
}

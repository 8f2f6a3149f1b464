import { randomUUID } from 'node:crypto'
import autocannon from 'autocannon'

/** A route to put under load. */
export interface Target {
  /** The word `number` in its query string stands for the number of the request. */
  readonly url: string
  readonly authorization: string
  /** Absent for GET. */
  readonly body?: string
  /** Bodies that the requests have in turn, in place of `body`. */
  readonly bodies?: readonly string[]
}

/** Measurements of one run against a target. */
export interface Load {
  /** Number of all answers, including those before and after the measured time. */
  readonly answers: number
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Time for opening the connections and for the initial burst of requests. */
const RAMP_MS = 300
/** Interval at which the load generator checks the time. */
const LOOK_EVERY_MS = 50

interface Answer {
  readonly atMs: number
  readonly tookMs: number
}

/**
 * Sends requests as fast as the answers arrive, over several connections, each with its own `Idempotency-Key`.
 * @throws Error if a single request fails or is not answered with success: failures are fast and would improve the
 * figures.
 */
export async function measureLoad(target: Target, connections: number, durationMs: number): Promise<Load> {
  const { answers, startMs, result } = await run(target, connections, RAMP_MS + durationMs + LOOK_EVERY_MS)
  const { errors, timeouts, non2xx } = result
  const fromMs = startMs + RAMP_MS
  const measured = answers.filter(({ atMs }) => atMs >= fromMs && atMs < fromMs + durationMs)
  if (errors + timeouts + non2xx > 0 || measured.length === 0) {
    const failures = JSON.stringify({ errors, timeouts, non2xx, answers: answers.length })
    throw new Error(`${target.url} failed at ${connections} connections: ${failures}`)
  }
  const sorted = measured.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b)
  return {
    answers: answers.length,
    requestsPerSecond: (measured.length / durationMs) * 1_000,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
  }
}

/**
 * Sends requests over several connections, each with its own `Idempotency-Key`, as fast as they are answered, for as
 * long as a task runs. The requests may fail.
 * @returns the result of the task, and the requests that were answered with success and otherwise, per second
 */
export async function floodUntil<Result>(
  target: Target,
  connections: number,
  task: () => Promise<Result>,
): Promise<{
  readonly result: Result
  readonly answeredPerSecond: number
  readonly refusedPerSecond: number
}> {
  const startMs = performance.now()
  const { instance, ended } = start(target, connections, LONGEST_FLOOD_MS)
  try {
    const result = await task()
    const perSecond = (requests: number) => (requests / (performance.now() - startMs)) * 1_000
    instance.stop()
    const { '2xx': answered, non2xx } = await ended
    return { result, answeredPerSecond: perSecond(answered), refusedPerSecond: perSecond(non2xx) }
  } finally {
    instance.stop()
    await ended
  }
}

const LONGEST_FLOOD_MS = 600_000

interface Run {
  readonly answers: readonly Answer[]
  readonly startMs: number
  readonly result: autocannon.Result
}

async function run(target: Target, connections: number, durationMs: number): Promise<Run> {
  const answers: Answer[] = []
  let startMs = 0
  const { instance, ended } = start(target, connections, durationMs)
  instance.on('start', () => {
    startMs = performance.now()
  })
  instance.on('response', (_client, _status, _bytes, tookMs) =>
    answers.push({ atMs: performance.now(), tookMs }),
  )
  return { result: await ended, answers, startMs }
}

/** Starts the load generator. */
function start(target: Target, connections: number, durationMs: number) {
  const keys = randomUUID()
  const { authorization, body, bodies } = target
  const { pathname, search } = new URL(target.url)
  let asked = 0
  const options: autocannon.Options = {
    url: target.url,
    connections,
    duration: durationMs / 1_000,
    timeout: TIMEOUT_SECONDS,
    sampleInt: LOOK_EVERY_MS,
    requests: [
      {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        setupRequest: (request) => {
          asked += 1
          const path = `${pathname}${search.replace('number', String(asked))}`
          if (body === undefined) return { ...request, path }
          const headers = { ...request.headers, 'idempotency-key': `${keys}-${asked}` }
          return { ...request, path, headers, body: bodies?.[asked % bodies.length] ?? body }
        },
      },
    ],
  }
  const { promise: ended, resolve, reject } = Promise.withResolvers<autocannon.Result>()
  const instance = autocannon(options, (error: unknown, result: autocannon.Result) =>
    error ? reject(error) : resolve(result),
  )
  return { instance, ended }
}

/** Time after which a request counts as failed; floods make some of them wait for long. */
const TIMEOUT_SECONDS = 120

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

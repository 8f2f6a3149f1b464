import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKey } from '../test/api-key.ts'
import { WITHOUT_LIMITS } from '../test/e2e/process.ts'
import { type Child, startChild } from './child.ts'
import { floodUntil, type Target } from './load.ts'

/** Latency of requests that are sent one at a time, each with a pause before it. */
export interface Latency {
  readonly requests: number
  readonly p50Ms: number
  readonly p95Ms: number
}

/** Latency of one analyst's counts and of the probe while another principal floods the service. */
export interface FairnessFigure {
  readonly flood: string
  /** Requests per second that the flood was answered with success, and that it was refused. */
  readonly floodPerSecond: { readonly answered: number; readonly refused: number }
  readonly idle: Latency
  readonly flooded: Latency
  /** Latency of /healthz under the flood. */
  readonly probe: Latency
  /** Median under the flood divided by the median without it. */
  readonly ratio: number
}

/**
 * Goals for the quiet analyst's median under a flood, as a multiple of the idle one, for its 95th percentile and for that of
 * /healthz.
 */
export const FAIRNESS_GOALS = { ratio: 5, p95Ms: 500, probeP95Ms: 200 }

const FLOOD_CONNECTIONS = 64
const ROWS = 1_000_000
/** Time for which the quiet analyst asks without a flood, and under each. */
const IDLE_MS = 3_000
const FLOODED_MS = 7_000
const WARM_UP_MS = 2_000
/** Time for what a flood leaves behind: requests that are charged are answered though their client has left. */
const SETTLED_WITHIN_MS = 15_000
/** Time between two requests of the quiet analyst. */
const PAUSE_MS = 50

const QUIET_QUERY = { kind: 'count', where: { column: 'Age', op: '>=', value: 30 }, epsilon: 0.01 }
const MEDIAN = { kind: 'median', column: 'Earnings', epsilon: 0.01 }
const REGRESSION = { kind: 'linearRegression', outcome: 'Earnings', predictors: ['Age'], epsilon: 0.01 }
const TABLE = {
  kind: 'contingency',
  columns: [
    { column: 'Age', edges: upTo(100) },
    { column: 'Earnings', edges: upTo(99).map((edge) => 100_000 * edge) },
  ],
  epsilon: 0.01,
}

/** Requests of a flood. */
interface Flood {
  readonly flood: string
  /** Path within the dataset. */
  readonly path: string
  /** Absent for GET. */
  readonly body?: object
  readonly dataset?: 'poor'
  readonly role?: 'custodian'
}

const FLOODS: readonly Flood[] = [
  { flood: 'counts', path: 'queries', body: QUIET_QUERY },
  { flood: 'tables of 9,900 cells', path: 'queries', body: TABLE },
  {
    flood: 'lists of 6,000 values',
    path: 'queries',
    body: {
      kind: 'count',
      where: {
        op: 'or',
        predicates: upTo(5).map((list) => ({
          column: 'Earnings',
          op: 'in',
          values: upTo(999).map((value) => 1_000 * (1_000 * list + value)),
        })),
      },
      epsilon: 0.01,
    },
  },
  {
    flood: 'bodies that break 9,600 rules',
    path: 'queries',
    body: {
      kind: 'count',
      where: { op: 'and', predicates: Array.from({ length: 9_600 }, () => ({})) },
      epsilon: 0.01,
    },
  },
  { flood: 'medians of a wide column', path: 'queries', body: MEDIAN },
  {
    flood: 'correlations',
    path: 'queries',
    body: { kind: 'correlation', columns: ['Age', 'Earnings'], epsilon: 0.01 },
  },
  { flood: 'batches of 100 counts', path: 'queries/batch', body: { queries: Array(100).fill(QUIET_QUERY) } },
  { flood: 'previews of tables', path: 'queries/preview', body: TABLE },
  {
    flood: 'previews of batches of 100 regressions',
    path: 'queries/batch/preview',
    body: { queries: Array(100).fill(REGRESSION) },
  },
  { flood: 'evaluations of 1,000 runs', path: 'evaluations', body: { query: MEDIAN, runs: 1_000 } },
  {
    flood: 'SQL with 40 levels',
    path: 'sql',
    body: {
      sql: `SELECT COUNT(*) FROM people WHERE ${'NOT ('.repeat(40)}Age > 30${')'.repeat(40)}`,
      epsilon: 0.01,
    },
  },
  {
    flood: 'SQL with 9,000 levels',
    path: 'sql',
    body: {
      sql: `SELECT COUNT(*) FROM people WHERE ${'('.repeat(9_000)}Age > 30${')'.repeat(9_000)}`,
      epsilon: 0.01,
    },
  },
  { flood: 'denials', path: 'queries', body: { ...QUIET_QUERY, epsilon: 2 }, dataset: 'poor' },
  { flood: 'exports of the ledger', path: 'ledger/export', role: 'custodian' },
  { flood: 'files of 20,000 made-up rows', path: 'dummy?rows=20000&seed=number' },
]

const root = path.resolve(import.meta.dirname, '..')

/**
 * Measures how long one analyst's counts take while another principal's 64 connections send requests about the same
 * million rows as fast as they are answered. Without slots (`timing: "off"`), so that all of the time is the service's own.
 * @param named part of the names of the floods to send
 * @throws Error if a request of the quiet analyst fails.
 */
export async function fairnessBenchmark(named = ''): Promise<readonly FairnessFigure[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'sotto-bench-fairness-'))
  let sotto: Child | undefined
  try {
    const dataDirectory = path.join(folder, 'data')
    const keyOf = async (name: string, role: 'analyst' | 'custodian') =>
      `Bearer ${await createKey(dataDirectory, { name, role })}`
    const custodian = await keyOf('custodian', 'custodian')
    const quietAnalyst = await keyOf('quiet', 'analyst')
    const flooding = {
      analyst: await keyOf('flooding', 'analyst'),
      custodian: await keyOf('auditing', 'custodian'),
    }
    sotto = await startChild({
      arguments: [path.join(root, 'src/server.ts')],
      environment: {
        ...WITHOUT_LIMITS,
        SOTTO_PORT: '0',
        SOTTO_DATA_DIR: dataDirectory,
        SOTTO_DEMO: 'false',
      },
      logFile: path.join(folder, 'sotto.log'),
      announcement: /Sotto answers at (\S+)\./,
    })
    const { url } = sotto
    await register(url, custodian, { id: 'people', rows: ROWS, epsilon: 900_000 })
    await register(url, custodian, { id: 'poor', rows: 1_000, epsilon: 1 })
    const count = { method: 'POST', body: JSON.stringify(QUIET_QUERY) }
    const quiet = (forMs: number) =>
      latencyOf(`${url}/v1/datasets/people/queries`, { authorization: quietAnalyst, ...count }, forMs)
    await quiet(IDLE_MS)
    const { p50Ms: restMs } = await quiet(IDLE_MS)
    const settled = async () => {
      const startMs = performance.now()
      while ((await quiet(1_000)).p95Ms > 4 * restMs && performance.now() < startMs + SETTLED_WITHIN_MS);
    }

    const figures: FairnessFigure[] = []
    for (const { flood, path: route, body, dataset = 'people', role = 'analyst' } of FLOODS) {
      if (!flood.includes(named)) continue
      await settled()
      const idle = await quiet(IDLE_MS)
      const target: Target = {
        url: `${url}/v1/datasets/${dataset}/${route}`,
        authorization: flooding[role],
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }
      const { result, answeredPerSecond, refusedPerSecond } = await floodUntil(
        target,
        FLOOD_CONNECTIONS,
        async () => {
          await sleep(WARM_UP_MS)
          return Promise.all([quiet(FLOODED_MS), latencyOf(`${url}/healthz`, {}, FLOODED_MS)])
        },
      )
      const [flooded, probe] = result
      figures.push({
        flood,
        floodPerSecond: { answered: answeredPerSecond, refused: refusedPerSecond },
        idle,
        flooded,
        probe,
        ratio: flooded.p50Ms / idle.p50Ms,
      })
    }
    return figures
  } finally {
    await sotto?.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Returns the floods under which a goal is missed, in words. */
export function missedFairness(figures: readonly FairnessFigure[]): readonly string[] {
  const { ratio, p95Ms, probeP95Ms } = FAIRNESS_GOALS
  return figures
    .filter((each) => each.ratio > ratio || each.flooded.p95Ms > p95Ms || each.probe.p95Ms > probeP95Ms)
    .map(({ flood }) => flood)
}

function upTo(last: number): readonly number[] {
  return Array.from({ length: last + 1 }, (_, number) => number)
}

async function register(
  url: string,
  authorization: string,
  { id, rows, epsilon }: { readonly id: string; readonly rows: number; readonly epsilon: number },
): Promise<void> {
  const response = await fetch(`${url}/v1/datasets`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({
      id,
      title: 'A made-up population',
      source: { kind: 'population', rows, seed: id },
      privacyUnit: { kind: 'row' },
      neighbours: 'add-remove',
      timing: 'off',
      budget: { epsilon, delta: 0 },
    }),
  })
  if (!response.ok)
    throw new Error(`the registration was answered with ${response.status}: ${await response.text()}`)
}

/** Sends the same request again and again, one at a time, for as long as is given. */
async function latencyOf(
  url: string,
  {
    authorization,
    ...request
  }: { readonly authorization?: string; readonly method?: string; readonly body?: string },
  forMs: number,
): Promise<Latency> {
  const tookMs: number[] = []
  for (const startMs = performance.now(); performance.now() < startMs + forMs; ) {
    await sleep(PAUSE_MS)
    const askedMs = performance.now()
    const response = await fetch(url, {
      ...request,
      headers:
        authorization === undefined
          ? {}
          : { authorization, 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() },
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${url} was answered with ${response.status}: ${text}`)
    tookMs.push(performance.now() - askedMs)
  }
  const sorted = tookMs.toSorted((a, b) => a - b)
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  return { requests: sorted.length, p50Ms: at(0.5), p95Ms: at(0.95) }
}

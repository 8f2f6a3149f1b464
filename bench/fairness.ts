import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKey } from '../test/api-key.ts'
import { WITHOUT_LIMITS } from '../test/e2e/process.ts'
import { type Child, startChild } from './child.ts'
import { floodUntil, type Target } from './load.ts'

/** Latency of the quiet analyst's counts: one at a time, each with a pause before it. */
export interface QuietLatency {
  readonly counts: number
  readonly p50Ms: number
  readonly p95Ms: number
}

/** Latency of one analyst's counts while another analyst floods the service with one kind of query. */
export interface FairnessFigure {
  readonly flood: string
  /** Answers per second that the flooding analyst got. */
  readonly floodAnswersPerSecond: number
  readonly idle: QuietLatency
  readonly flooded: QuietLatency
  /** Median under the flood divided by the median without it. */
  readonly ratio: number
}

/** Goal for the quiet analyst's median latency under a flood, as a multiple of the idle one. */
export const FAIRNESS_GOAL = 4

const FLOOD_CONNECTIONS = 64
const ROWS = 1_000_000
const IDLE_COUNTS = 60
const FLOODED_COUNTS = 40
/** Time limit for the counts under one flood, because each may take very long. */
const FLOODED_MS = 60_000
const WARM_UP_MS = 3_000
/** Time between two counts of the quiet analyst. */
const PAUSE_MS = 50

const QUIET_QUERY = { kind: 'count', where: { column: 'Age', op: '>=', value: 30 }, epsilon: 0.01 }

/** Queries of the flooding analyst, from light to heavy. */
const FLOODS: readonly { readonly flood: string; readonly query: object }[] = [
  { flood: 'counts', query: QUIET_QUERY },
  {
    flood: 'tables of 6,000 cells',
    query: {
      kind: 'contingency',
      columns: [
        { column: 'Age', edges: Array.from({ length: 121 }, (_, age) => age) },
        'Married',
        'Occupation',
        'Sex',
      ],
      epsilon: 0.01,
    },
  },
  {
    flood: 'lists of 6,000 values',
    query: {
      kind: 'count',
      where: {
        op: 'or',
        predicates: Array.from({ length: 6 }, (_, list) => ({
          column: 'Earnings',
          op: 'in',
          values: Array.from({ length: 1_000 }, (_, i) => 1_000 * (1_000 * list + i)),
        })),
      },
      epsilon: 0.01,
    },
  },
  {
    flood: 'bodies that break 9,600 rules',
    query: {
      kind: 'count',
      where: { op: 'and', predicates: Array.from({ length: 9_600 }, () => ({})) },
      epsilon: 0.01,
    },
  },
  { flood: 'medians of a wide column', query: { kind: 'median', column: 'Earnings', epsilon: 0.01 } },
]

const root = path.resolve(import.meta.dirname, '..')

/**
 * Measures how long one analyst's counts take while another analyst's 64 connections send queries over the same million
 * rows as fast as they are answered. Without slots (`timing: "off"`), so that all of the time is the service's own.
 * @throws Error if a request of the quiet analyst fails.
 */
export async function fairnessBenchmark(): Promise<readonly FairnessFigure[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'sotto-bench-fairness-'))
  let sotto: Child | undefined
  try {
    const dataDirectory = path.join(folder, 'data')
    const custodian = bearer(await createKey(dataDirectory, { name: 'custodian', role: 'custodian' }))
    const quiet = bearer(await createKey(dataDirectory, { name: 'quiet', role: 'analyst' }))
    const flooding = bearer(await createKey(dataDirectory, { name: 'flooding', role: 'analyst' }))
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
    await register(sotto.url, custodian)
    const url = `${sotto.url}/v1/datasets/people/queries`
    const target = (authorization: string, query: object): Target => ({
      url,
      authorization,
      body: JSON.stringify(query),
    })
    await quietCounts(target(quiet, QUIET_QUERY), IDLE_COUNTS, WARM_UP_MS)

    const figures: FairnessFigure[] = []
    for (const { flood, query } of FLOODS) {
      const idle = await quietCounts(target(quiet, QUIET_QUERY), IDLE_COUNTS, FLOODED_MS)
      const flooded = await floodUntil(target(flooding, query), FLOOD_CONNECTIONS, async () => {
        await sleep(WARM_UP_MS)
        return quietCounts(target(quiet, QUIET_QUERY), FLOODED_COUNTS, FLOODED_MS)
      })
      figures.push({
        flood,
        floodAnswersPerSecond: flooded.answersPerSecond,
        idle,
        flooded: flooded.result,
        ratio: flooded.result.p50Ms / idle.p50Ms,
      })
    }
    return figures
  } finally {
    await sotto?.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

function bearer(key: string): string {
  return `Bearer ${key}`
}

async function register(url: string, authorization: string): Promise<void> {
  const response = await fetch(`${url}/v1/datasets`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({
      id: 'people',
      title: 'A made-up population',
      source: { kind: 'population', rows: ROWS, seed: 'fairness' },
      privacyUnit: { kind: 'row' },
      neighbours: 'add-remove',
      timing: 'off',
      budget: { epsilon: 900_000, delta: 0 },
    }),
  })
  if (!response.ok)
    throw new Error(`the registration was answered with ${response.status}: ${await response.text()}`)
}

/** Asks counts one after the other: `most` of them, or as many as begin within a time limit. */
async function quietCounts(target: Target, most: number, withinMs: number): Promise<QuietLatency> {
  const tookMs: number[] = []
  for (const startMs = performance.now(); tookMs.length < most && performance.now() < startMs + withinMs; ) {
    await sleep(PAUSE_MS)
    const askedMs = performance.now()
    const response = await fetch(target.url, {
      method: 'POST',
      headers: {
        authorization: target.authorization,
        'content-type': 'application/json',
        'idempotency-key': crypto.randomUUID(),
      },
      body: target.body,
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`a count was answered with ${response.status}: ${text}`)
    tookMs.push(performance.now() - askedMs)
  }
  const sorted = tookMs.toSorted((a, b) => a - b)
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  return { counts: sorted.length, p50Ms: at(0.5), p95Ms: at(0.95) }
}

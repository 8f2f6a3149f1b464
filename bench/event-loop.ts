import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import { startTestService } from '../test/e2e/service.ts'
import { median } from './median.ts'

/** Time for which one kind of request blocks the event loop, and so every other request. */
export interface EventLoopFigure {
  readonly request: string
  /** Longest delay of the event loop: a median over the rounds. Other load on the machine adds to it. */
  readonly longestDelayMs: number
  /** Processor time of the event loop's busiest turn: a median over the rounds. */
  readonly busiestTurnMs: number
  /** Time of the request as a whole. */
  readonly tookMs: number
}

const ROUNDS = 5
const ROWS = 1_000_000

const everyAge = { column: 'Age', edges: Array.from({ length: 121 }, (_, age) => age) }
const table = { kind: 'contingency', columns: [everyAge, 'Married', 'Occupation', 'Sex'], epsilon: 0.01 }
const regression = {
  kind: 'linearRegression',
  outcome: 'Earnings',
  predictors: ['Age'],
  epsilon: 0.01,
}

/** Requests whose work is known to be heavy. */
const REQUESTS: readonly { readonly request: string; readonly path: string; readonly body: object }[] = [
  {
    request: 'preview of a batch of 100 regressions',
    path: '/v1/datasets/people/queries/batch/preview',
    body: { queries: Array(100).fill(regression) },
  },
  {
    request: 'preview of a batch of 100 selections of keys',
    path: '/v1/datasets/texts/queries/batch/preview',
    body: { queries: Array.from({ length: 100 }, (_, place) => selection((place + 1) / 10_000)) },
  },
  {
    request: 'preview of a selection of keys',
    path: '/v1/datasets/texts/queries/preview',
    body: selection(0.0001),
  },
  { request: 'answer with a selection of keys', path: '/v1/datasets/texts/queries', body: selection(0.0002) },
  {
    request: 'comparison of mechanisms for 1,000 statistics',
    path: '/v1/mechanisms/compare',
    body: { epsilon: 1, delta: 1e-6, statistics: 1_000, perStatistic: { contribution: 1 } },
  },
  { request: 'answer with 6,000 cells', path: '/v1/datasets/people/queries', body: table },
  {
    request: 'answer with the median of a million values',
    path: '/v1/datasets/people/queries',
    body: { kind: 'median', column: 'Earnings', epsilon: 0.01 },
  },
]

function selection(epsilon: number) {
  return { kind: 'keySelection', column: 'Text', epsilon, delta: 1e-9 }
}

/**
 * Measures how long heavy requests hold up the event loop of a service in this process, which also sends the requests.
 * @throws Error if a request is refused.
 */
export async function eventLoopBenchmark(): Promise<readonly EventLoopFigure[]> {
  const service = await startTestService()
  const [custodian, analyst] = [service.keyOf('custodian'), service.keyOf('analyst')]
  const post = async (route: string, key: string, body: object): Promise<void> => {
    const response = await fetch(service.url + route, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': crypto.randomUUID(),
      },
      body: JSON.stringify(body),
    })
    const bytes = await response.arrayBuffer()
    if (!response.ok)
      throw new Error(`${route} was answered with ${response.status}: ${Buffer.from(bytes).toString()}`)
  }
  try {
    await post('/v1/datasets', custodian, PEOPLE)
    const texts = Array.from({ length: 100_000 }, (_, row) => `text ${row % 1_000}`)
    await writeFile(path.join(service.dataDirectory, 'texts.csv'), ['Text', ...texts, ''].join('\n'))
    await post('/v1/datasets', custodian, TEXTS)
    const figures: EventLoopFigure[] = []
    for (const { request, path: route, body } of REQUESTS) {
      const rounds: { readonly delayMs: number; readonly busiestMs: number; readonly tookMs: number }[] = []
      for (let round = 0; round <= ROUNDS; round += 1) {
        const delay = monitorEventLoopDelay({ resolution: 1 })
        delay.enable()
        const startMs = performance.now()
        const busiestMs = await busiestTurnOf(() => post(route, analyst, body))
        rounds.push({ tookMs: performance.now() - startMs, delayMs: delay.max / 1e6, busiestMs })
        delay.disable()
      }
      // The first round compiles.
      const measured = rounds.slice(1)
      figures.push({
        request,
        longestDelayMs: median(measured.map(({ delayMs }) => delayMs)),
        busiestTurnMs: median(measured.map(({ busiestMs }) => busiestMs)),
        tookMs: median(measured.map(({ tookMs }) => tookMs)),
      })
    }
    return figures
  } finally {
    await service.close()
  }
}

const SHARED = {
  privacyUnit: { kind: 'row' },
  neighbours: 'add-remove',
  synthetic: true,
  timing: 'off',
  budget: { epsilon: 900_000, delta: 1e-3 },
}

const PEOPLE = {
  id: 'people',
  title: 'A made-up population',
  source: { kind: 'population', rows: ROWS, seed: 'event loop' },
  ...SHARED,
}

const TEXTS = {
  id: 'texts',
  title: 'Made-up texts',
  source: { kind: 'file', path: 'texts.csv', format: 'csv' },
  columns: [{ name: 'Text', type: 'string', selectable: true, nullable: false }],
  ...SHARED,
}

/** Runs a task, and returns the processor time of this thread's busiest turn of the event loop meanwhile. */
async function busiestTurnOf(task: () => Promise<void>): Promise<number> {
  let busiest = 0
  let isDone = false
  const watching = (async () => {
    for (let before = process.threadCpuUsage(); !isDone; before = process.threadCpuUsage()) {
      await setImmediate()
      const { user, system } = process.threadCpuUsage(before)
      busiest = Math.max(busiest, (user + system) / 1_000)
    }
  })()
  await task().finally(() => {
    isDone = true
  })
  await watching
  return busiest
}

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DuckDBInstance } from '@duckdb/node-api'
import { WITHOUT_LIMITS } from '../test/e2e/process.ts'
import { GROUPED_COMMIT_ROUTE, SINGLE_COMMIT_ROUTE } from './bare-route.ts'
import { type Child, startChild } from './child.ts'
import { type Load, measureLoad, type Target } from './load.ts'
import { median } from './median.ts'

/** Servers that are compared. */
export const CONTENDERS = ['sotto', 'bare route', 'bare route, grouped commits'] as const
export type Contender = (typeof CONTENDERS)[number]

/** Queries over one dataset that are compared. */
interface Comparison {
  readonly dataset: string
  readonly rows: number
  /** `equal`: each request asks for the same count. `different`: each asks for another one, of a hundred. */
  readonly counts: 'equal' | 'different'
  readonly connections: readonly number[]
  readonly rounds: number
  readonly roundMs: number
  /** Goals for Sotto's requests per second as a multiple of the server's, at the most connections. */
  readonly goals?: Partial<Record<Contender, number>>
}

/** One row of the HTTP benchmark: medians over the rounds. */
export interface HttpFigure extends Pick<Comparison, 'rows' | 'counts'> {
  readonly contender: Contender
  readonly connections: number
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Processor time of the server for each request. It depends less on other work of the machine than the rates. */
  readonly processorMsPerRequest: number
  /** Sotto's requests per second divided by this server's in the same round; absent for Sotto itself. */
  readonly sottoRatio?: { readonly median: number; readonly lowest: number; readonly highest: number }
  readonly goal?: number
}

const LARGE = 'large'
const LARGE_ROWS = 10_000_000
const SMALL = { dataset: 'census', rows: 100_000, rounds: 7, roundMs: 1_000 }

const COMPARISONS: readonly Comparison[] = [
  {
    ...SMALL,
    counts: 'equal',
    connections: [1, 16, 64],
    goals: { 'bare route': 2, 'bare route, grouped commits': 1.3 },
  },
  { ...SMALL, counts: 'different', connections: [64] },
  ...(['equal', 'different'] as const).map(
    (counts): Comparison => ({
      dataset: LARGE,
      rows: LARGE_ROWS,
      counts,
      connections: [64],
      rounds: 3,
      // The bare route takes seconds for an answer on a busy machine.
      roundMs: 15_000,
      goals: { 'bare route': 8 },
    }),
  ),
]

const WARM_UP_MS = 3_000
/** Time for open requests to finish when a run ends. */
const PAUSE_MS = 150

const EPSILON = 0.1
const GRANTED_EPSILON = 900_000
const countFrom = (age: number) => ({
  kind: 'count',
  where: { column: 'Age', op: '>=', value: age },
  epsilon: EPSILON,
})
const AGES = Array.from({ length: 100 }, (_, age) => age)

const root = path.resolve(import.meta.dirname, '..')

/**
 * Measures durable noisy counts per second over HTTP, compared with routes that only count and commit, in about ten
 * minutes. Each server is its own process. The rounds take turns, so that other load on the machine affects all
 * servers alike.
 * @throws Error if a request fails, or if Sotto's budget does not show a debit for each answer.
 */
export async function httpBenchmark(): Promise<readonly HttpFigure[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'sotto-bench-http-'))
  const children: Child[] = []
  const start = async (...command: Parameters<typeof startChild>): Promise<Child> => {
    const child = await startChild(...command)
    children.push(child)
    return child
  }
  try {
    const dataDirectory = path.join(folder, 'data')
    const sotto = await start({
      arguments: [path.join(root, 'src/server.ts')],
      environment: { ...WITHOUT_LIMITS, SOTTO_PORT: '0', SOTTO_DATA_DIR: dataDirectory },
      logFile: path.join(folder, 'sotto.log'),
      announcement: /Sotto answers at (\S+)\. /,
    })
    const bearer = async (role: string) =>
      `Bearer ${(await readFile(path.join(dataDirectory, `${role}.key`), 'utf8')).trim()}`
    const custodian = await bearer('custodian')
    const authorization = await bearer('analyst')
    await post(`${sotto.url}/v1/datasets/${SMALL.dataset}/grants`, custodian, {
      epsilon: GRANTED_EPSILON,
      delta: 0,
      reason: 'benchmark',
    })
    await registerLarge(sotto.url, custodian, dataDirectory)

    const figures: HttpFigure[] = []
    for (const [number, comparison] of COMPARISONS.entries()) {
      const { dataset } = comparison
      const bare = await start({
        arguments: [
          path.join(root, 'bench/bare-route.ts'),
          dataDirectory,
          path.join(folder, `debits-${number}.sqlite`),
          dataset,
        ],
        environment: {},
        logFile: path.join(folder, `bare-route-${number}.log`),
        announcement: /bare route at (\S+)\./,
      })
      figures.push(...(await compare(comparison, { sotto, bare, authorization })))
      await bare.stop()
    }
    return figures
  } finally {
    for (const child of children) await child.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

interface Servers {
  readonly sotto: Child
  readonly bare: Child
  readonly authorization: string
}

/** One run against a server. */
interface Run extends Load {
  readonly processorMsPerRequest: number
}

async function compare(comparison: Comparison, servers: Servers): Promise<readonly HttpFigure[]> {
  const { dataset, connections: numbers, rounds: roundCount, roundMs } = comparison
  const { sotto, bare, authorization } = servers
  const targets = targetsOf(comparison, servers)
  const spent = async () => Math.round((await spentEpsilon(sotto.url, dataset, authorization)) / EPSILON)

  const spentBefore = await spent()
  let answers = 0
  let cutOff = 0
  const measure = async (contender: Contender, connections: number, durationMs: number): Promise<Run> => {
    const server = contender === 'sotto' ? sotto : bare
    const before = server.processorMs()
    const load = await measureLoad(targets[contender], connections, durationMs)
    await sleep(PAUSE_MS)
    if (contender === 'sotto') {
      answers += load.answers
      cutOff += connections
    }
    return { ...load, processorMsPerRequest: (server.processorMs() - before) / load.answers }
  }

  const warmUpMs = Math.max(WARM_UP_MS, roundMs)
  for (const contender of CONTENDERS) await measure(contender, Math.max(...numbers), warmUpMs)
  const rounds: Record<Contender, Run>[][] = numbers.map(() => [])
  for (let round = 0; round < roundCount; round += 1) {
    // Every other round runs in reverse order, so that no server always follows the same one.
    const order = round % 2 === 0 ? CONTENDERS : CONTENDERS.toReversed()
    for (const [index, connections] of numbers.entries()) {
      const loads: Partial<Record<Contender, Run>> = {}
      for (const contender of order) loads[contender] = await measure(contender, connections, roundMs)
      rounds[index]?.push(loads as Record<Contender, Run>)
    }
  }

  const debits = (await spent()) - spentBefore
  if (debits < answers || debits > answers + cutOff)
    throw new Error(`Sotto gave ${answers} answers and shows ${debits} debits`)
  return numbers.flatMap((connections, index) =>
    CONTENDERS.map((contender) => figure(comparison, contender, connections, rounds[index] ?? [])),
  )
}

/** The same requests for every server, so that the load generator costs the same. */
function targetsOf(
  { dataset, counts }: Comparison,
  { sotto, bare, authorization }: Servers,
): Readonly<Record<Contender, Target>> {
  const target = (url: string): Target => ({
    url,
    authorization,
    body: JSON.stringify(countFrom(30)),
    ...(counts === 'different' ? { bodies: AGES.map((age) => JSON.stringify(countFrom(age))) } : {}),
  })
  return {
    sotto: target(`${sotto.url}/v1/datasets/${dataset}/queries`),
    'bare route': target(bare.url + SINGLE_COMMIT_ROUTE),
    'bare route, grouped commits': target(bare.url + GROUPED_COMMIT_ROUTE),
  }
}

function figure(
  { rows, counts, connections: numbers, goals }: Comparison,
  contender: Contender,
  connections: number,
  rounds: readonly Readonly<Record<Contender, Run>>[],
): HttpFigure {
  const medianOf = (value: (run: Run) => number) => median(rounds.map((round) => value(round[contender])))
  const ratios = rounds.map((round) => round.sotto.requestsPerSecond / round[contender].requestsPerSecond)
  const goal = connections === Math.max(...numbers) ? goals?.[contender] : undefined
  return {
    rows,
    counts,
    contender,
    connections,
    requestsPerSecond: medianOf((load) => load.requestsPerSecond),
    p50Ms: medianOf((load) => load.p50Ms),
    p99Ms: medianOf((load) => load.p99Ms),
    processorMsPerRequest: medianOf((run) => run.processorMsPerRequest),
    ...(contender === 'sotto'
      ? {}
      : {
          sottoRatio: { median: median(ratios), lowest: Math.min(...ratios), highest: Math.max(...ratios) },
        }),
    ...(goal === undefined ? {} : { goal }),
  }
}

/** Registers 10 million made-up rows. */
async function registerLarge(url: string, authorization: string, dataDirectory: string): Promise<void> {
  const file = `${LARGE}.parquet`
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  await connection.run(
    `COPY (SELECT (hash(range) % 100)::INTEGER AS "Age", (hash(range + 1) % 200000)::INTEGER AS "Earnings",
      hash(range + 2) % 2 = 0 AS "Married" FROM range(${LARGE_ROWS}))
    TO '${path.join(dataDirectory, file)}' (FORMAT parquet)`,
  )
  connection.disconnectSync()
  instance.closeSync()
  await post(`${url}/v1/datasets`, authorization, {
    id: LARGE,
    title: 'Ten million made-up rows',
    source: { kind: 'file', path: file, format: 'parquet' },
    columns: [
      { name: 'Age', type: 'integer', lower: 0, upper: 120 },
      { name: 'Earnings', type: 'integer', lower: 0, upper: 200_000 },
      { name: 'Married', type: 'boolean' },
    ],
    privacyUnit: { kind: 'row' },
    neighbours: 'add-remove',
    timing: 'off',
    budget: { epsilon: GRANTED_EPSILON, delta: 0 },
  })
}

async function post(url: string, authorization: string, body: object): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`)
}

async function spentEpsilon(url: string, dataset: string, authorization: string): Promise<number> {
  const response = await fetch(`${url}/v1/datasets/${dataset}/budget`, { headers: { authorization } })
  const { spent } = (await response.json()) as { readonly spent: { readonly epsilon: number } }
  return spent.epsilon
}

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { WITHOUT_LIMITS } from '../test/e2e/process.ts'
import { GROUPED_COMMIT_ROUTE, SINGLE_COMMIT_ROUTE } from './bare-route.ts'
import { type Child, startChild } from './child.ts'
import { type Load, measureLoad, type Target } from './load.ts'

/** Servers that are compared. */
export const CONTENDERS = ['sotto', 'bare route', 'bare route, grouped commits'] as const
export type Contender = (typeof CONTENDERS)[number]

/** One row of the HTTP benchmark: medians over the rounds. */
export interface HttpFigure {
  readonly contender: Contender
  readonly connections: number
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Sotto's requests per second divided by this server's in the same round; absent for Sotto itself. */
  readonly sottoRatio?: { readonly median: number; readonly lowest: number; readonly highest: number }
}

const CONNECTIONS = [1, 16, 64] as const
const ROUNDS = 7
const WARM_UP_MS = 3_000
const ROUND_MS = 1_000
/** Time for open requests to finish when a run ends. */
const PAUSE_MS = 150

const EPSILON = 0.1
const GRANTED_EPSILON = 900_000
const QUERY = { kind: 'count', where: { column: 'Age', op: '>=', value: 30 }, epsilon: EPSILON }

const root = path.resolve(import.meta.dirname, '..')

/**
 * Measures durable noisy counts per second over HTTP, compared with routes that only count and commit, in under two
 * minutes. Each server is its own process. The rounds take turns, so that other load on the machine affects all
 * servers alike.
 * @throws Error if a request fails, or if Sotto's budget does not show a debit for each answer.
 */
export async function httpBenchmark(): Promise<readonly HttpFigure[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'sotto-bench-http-'))
  const children: Child[] = []
  try {
    const dataDirectory = path.join(folder, 'data')
    const sotto = await startChild({
      arguments: [path.join(root, 'src/server.ts')],
      environment: { ...WITHOUT_LIMITS, SOTTO_PORT: '0', SOTTO_DATA_DIR: dataDirectory },
      logFile: path.join(folder, 'sotto.log'),
      announcement: /Sotto answers at (\S+)\. /,
    })
    children.push(sotto)
    const bare = await startChild({
      arguments: [path.join(root, 'bench/bare-route.ts'), dataDirectory, path.join(folder, 'debits.sqlite')],
      environment: {},
      logFile: path.join(folder, 'bare-route.log'),
      announcement: /bare route at (\S+)\./,
    })
    children.push(bare)

    const bearer = async (role: string) =>
      `Bearer ${(await readFile(path.join(dataDirectory, `${role}.key`), 'utf8')).trim()}`
    await grant(sotto.url, await bearer('custodian'))
    const authorization = await bearer('analyst')
    // The same request everywhere, so that the load generator costs the same for every server.
    const target = (url: string): Target => ({ url, authorization, body: JSON.stringify(QUERY) })
    const targets: Readonly<Record<Contender, Target>> = {
      sotto: target(`${sotto.url}/v1/datasets/census/queries`),
      'bare route': target(bare.url + SINGLE_COMMIT_ROUTE),
      'bare route, grouped commits': target(bare.url + GROUPED_COMMIT_ROUTE),
    }

    let answers = 0
    let cutOff = 0
    const measure = async (contender: Contender, connections: number, durationMs: number): Promise<Load> => {
      const load = await measureLoad(targets[contender], connections, durationMs)
      await sleep(PAUSE_MS)
      if (contender === 'sotto') {
        answers += load.answers
        cutOff += connections
      }
      return load
    }

    for (const contender of CONTENDERS) await measure(contender, Math.max(...CONNECTIONS), WARM_UP_MS)
    const rounds: Record<Contender, Load>[][] = CONNECTIONS.map(() => [])
    for (let round = 0; round < ROUNDS; round += 1) {
      // Every other round runs in reverse order, so that no server always follows the same one.
      const order = round % 2 === 0 ? CONTENDERS : CONTENDERS.toReversed()
      for (const [index, connections] of CONNECTIONS.entries()) {
        const loads: Partial<Record<Contender, Load>> = {}
        for (const contender of order) loads[contender] = await measure(contender, connections, ROUND_MS)
        rounds[index]?.push(loads as Record<Contender, Load>)
      }
    }

    const debits = Math.round((await spentEpsilon(sotto.url, authorization)) / EPSILON)
    if (debits < answers || debits > answers + cutOff) {
      throw new Error(`Sotto gave ${answers} answers and shows ${debits} debits`)
    }
    return CONNECTIONS.flatMap((connections, index) =>
      CONTENDERS.map((contender) => figure(contender, connections, rounds[index] ?? [])),
    )
  } finally {
    for (const child of children) await child.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

function figure(
  contender: Contender,
  connections: number,
  rounds: readonly Readonly<Record<Contender, Load>>[],
): HttpFigure {
  const medianOf = (value: (load: Load) => number) => median(rounds.map((round) => value(round[contender])))
  const ratios = rounds.map((round) => round.sotto.requestsPerSecond / round[contender].requestsPerSecond)
  return {
    contender,
    connections,
    requestsPerSecond: medianOf((load) => load.requestsPerSecond),
    p50Ms: medianOf((load) => load.p50Ms),
    p99Ms: medianOf((load) => load.p99Ms),
    ...(contender === 'sotto'
      ? {}
      : {
          sottoRatio: { median: median(ratios), lowest: Math.min(...ratios), highest: Math.max(...ratios) },
        }),
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}

async function grant(url: string, authorization: string): Promise<void> {
  const response = await fetch(`${url}/v1/datasets/census/grants`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ epsilon: GRANTED_EPSILON, delta: 0, reason: 'benchmark' }),
  })
  if (!response.ok)
    throw new Error(`the grant was answered with ${response.status}: ${await response.text()}`)
}

async function spentEpsilon(url: string, authorization: string): Promise<number> {
  const response = await fetch(`${url}/v1/datasets/census/budget`, { headers: { authorization } })
  const { spent } = (await response.json()) as { readonly spent: { readonly epsilon: number } }
  return spent.epsilon
}

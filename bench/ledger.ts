import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ChargeRequest } from '../src/ledger/contract/charges.ts'
import type { Ledger } from '../src/ledger/ledger.ts'
import { openPostgresLedger } from '../src/ledger/postgres/ledger.ts'
import { openSqliteLedger } from '../src/ledger/sqlite/ledger.ts'
import { epsilonNano, MAX_BUDGET_EPSILON, NO_LOSS, ONE_EPSILON_NANO } from '../src/privacy/loss.ts'
import { postgresBinaries, startPostgresServer } from '../test/servers/postgres-server.ts'
import { bareCharges } from './bare-charge.ts'
import { postgresBaseline } from './postgres-baseline.ts'
import { openSqliteBaseline } from './sqlite-baseline.ts'

/** One row of the ledger's benchmark. */
export interface LedgerFigure {
  readonly store: 'SQLite' | 'PostgreSQL'
  /** Number of datasets among which the charges are spread. */
  readonly datasets: number
  readonly callers: number
  readonly chargesPerSecond: number
  /** Time from the call until the debit was durable; 99% took less. */
  readonly p99Ms: number
  readonly callsPerCommit: number
  /**
   * Rate of the bare store with the bare transaction of a charge, in alternating rounds: SQLite with as many charges
   * in one commit as there are callers, PostgreSQL with one transaction each (`SELECT … FOR UPDATE`).
   */
  readonly bareChargesPerSecond: number
  /** The ledger's rate divided by the bare store's, round by round. */
  readonly ratio: Spread
}

/** Figures of several rounds. */
export interface Spread {
  readonly median: number
  readonly lowest: number
  readonly highest: number
}

/** A ledger and the number of its operations. */
type CountingLedger = Ledger & {
  statistics(): { readonly calls: number; readonly commits: number }
}

const CALLERS = [1, 16, 64, 256] as const
const ROUNDS = 5
const ROUND_MS = 500
const LARGEST_BUDGET = {
  accounting: 'basic',
  neighbours: 'add-remove',
  granted: { ...NO_LOSS, epsilonNano: epsilonNano(BigInt(MAX_BUDGET_EPSILON) * ONE_EPSILON_NANO) },
} as const

/**
 * Measures durable charges per second of the ledger in SQLite, and of bare SQLite on the same disk, in half a minute.
 */
export async function sqliteLedgerBenchmark(): Promise<readonly LedgerFigure[]> {
  const figures: LedgerFigure[] = []
  for (const callers of CALLERS) {
    const folder = mkdtempSync(join(tmpdir(), 'sotto-bench-ledger-'))
    const ledger = await openSqliteLedger({ path: join(folder, 'ledger.sqlite') })
    const baseline = openSqliteBaseline()
    try {
      const bare = async () => baseline.measure(callers, ROUND_MS)
      figures.push({ store: 'SQLite', ...(await compare(ledger, 1, callers, bare)) })
    } finally {
      baseline.close()
      await ledger.close()
      rmSync(folder, { recursive: true, force: true })
    }
  }
  return figures
}

/** Measures the same for PostgreSQL, on one dataset and on 100; `undefined` if this machine has no PostgreSQL. */
export async function postgresLedgerBenchmark(): Promise<readonly LedgerFigure[] | undefined> {
  if (postgresBinaries() === undefined) return undefined
  const server = await startPostgresServer()
  try {
    const figures: LedgerFigure[] = []
    for (const datasets of [1, 100]) {
      for (const callers of CALLERS) {
        const url = await server.createDatabase()
        const ledger = await openPostgresLedger({ url })
        try {
          const bare = () => postgresBaseline(url, { callers, datasets, measureMs: ROUND_MS })
          figures.push({ store: 'PostgreSQL', ...(await compare(ledger, datasets, callers, bare)) })
        } finally {
          await ledger.close()
        }
      }
    }
    return figures
  } finally {
    await server.remove()
  }
}

/** Runs one round of the ledger and one of the bare store. */
type Round = Pick<LedgerFigure, 'chargesPerSecond' | 'p99Ms' | 'callsPerCommit' | 'bareChargesPerSecond'> & {
  readonly ratio: number
}

async function compare(
  ledger: CountingLedger,
  datasets: number,
  callers: number,
  bare: () => Promise<{ readonly chargesPerSecond: number }>,
): Promise<Omit<LedgerFigure, 'store'>> {
  const names = Array.from({ length: datasets }, (_, place) => `dataset-${place}`)
  for (const name of names) await ledger.openBudget(name, LARGEST_BUDGET, 'custodian')
  const questions = names.map((name) => questionsAbout(name))
  // Both sides run one warm-up round that does not count.
  await measureLedger(ledger, questions, callers)
  await bare()
  const rounds: Round[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const ours = await measureLedger(ledger, questions, callers)
    const { chargesPerSecond: bareChargesPerSecond } = await bare()
    rounds.push({ ...ours, bareChargesPerSecond, ratio: ours.chargesPerSecond / bareChargesPerSecond })
  }
  const medianOf = (pick: (round: Round) => number) => spread(rounds.map(pick)).median
  return {
    datasets,
    callers,
    chargesPerSecond: medianOf((round) => round.chargesPerSecond),
    p99Ms: medianOf((round) => round.p99Ms),
    callsPerCommit: medianOf((round) => round.callsPerCommit),
    bareChargesPerSecond: medianOf((round) => round.bareChargesPerSecond),
    ratio: spread(rounds.map(({ ratio }) => ratio)),
  }
}

async function measureLedger(
  ledger: CountingLedger,
  questions: readonly (() => ChargeRequest)[],
  callers: number,
): Promise<Pick<LedgerFigure, 'chargesPerSecond' | 'p99Ms' | 'callsPerCommit'>> {
  const tookMs: number[] = []
  const before = ledger.statistics()
  const startMs = performance.now()
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      let turn = caller
      for (let askedMs = startMs; askedMs < startMs + ROUND_MS; ) {
        const next = questions[turn % questions.length]
        if (next === undefined) throw new Error('no dataset exists')
        turn += callers
        const outcome = await ledger.charge(next())
        if (outcome.kind !== 'charged') throw new Error(`a charge of the benchmark is ${outcome.kind}`)
        const nowMs = performance.now()
        tookMs.push(nowMs - askedMs)
        askedMs = nowMs
      }
    }),
  )
  const elapsedMs = performance.now() - startMs
  const after = ledger.statistics()
  return {
    chargesPerSecond: (tookMs.length / elapsedMs) * 1_000,
    p99Ms: percentile99(tookMs),
    callsPerCommit: (after.calls - before.calls) / (after.commits - before.commits),
  }
}

/** Rate of charges by the number of a dataset's events. */
export interface GrowthFigure {
  readonly store: 'SQLite' | 'PostgreSQL'
  readonly events: number
  readonly chargesPerSecond: number
}

const FEW_EVENTS = 1_000
const GROWTH_CALLERS = 64

/**
 * Measures the rate of charges on a dataset with a thousand events and on one with many, in alternating rounds. Takes
 * minutes, because the events have to be created.
 */
export async function growthBenchmark(manyEvents = 1_000_000): Promise<readonly GrowthFigure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sotto-bench-growth-'))
  const figures: GrowthFigure[] = []
  const open = (name: string) => openSqliteLedger({ path: join(folder, `${name}.sqlite`) })
  const [few, many] = [await open('few'), await open('many')]
  try {
    figures.push(...(await growth('SQLite', few, many, manyEvents)))
  } finally {
    await Promise.all([few.close(), many.close()])
    rmSync(folder, { recursive: true, force: true })
  }
  if (postgresBinaries() === undefined) return figures
  const server = await startPostgresServer()
  const ledgers = await Promise.all(
    [1, 2].map(async () => openPostgresLedger({ url: await server.createDatabase() })),
  )
  try {
    const [fewer, more] = ledgers
    if (fewer !== undefined && more !== undefined)
      figures.push(...(await growth('PostgreSQL', fewer, more, manyEvents)))
  } finally {
    await Promise.all(ledgers.map((ledger) => ledger.close()))
    await server.remove()
  }
  return figures
}

async function growth(
  store: GrowthFigure['store'],
  few: CountingLedger,
  many: CountingLedger,
  manyEvents: number,
): Promise<readonly GrowthFigure[]> {
  const sides = []
  for (const [ledger, events] of [
    [few, FEW_EVENTS],
    [many, manyEvents],
  ] as const) {
    await ledger.openBudget('dataset-0', LARGEST_BUDGET, 'custodian')
    const question = questionsAbout('dataset-0')
    for (let made = 0; made < events; made += FEW_EVENTS)
      await Promise.all(Array.from({ length: FEW_EVENTS }, () => ledger.charge(question())))
    sides.push({ ledger, events, questions: [question], rates: [] as number[] })
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { ledger, questions, rates } of sides)
      rates.push((await measureLedger(ledger, questions, GROWTH_CALLERS)).chargesPerSecond)
  }
  return sides.map(({ events, rates }) => ({ store, events, chargesPerSecond: spread(rates).median }))
}

/** Makes questions about a dataset, each with its own key and as wide as the service's. */
function questionsAbout(dataset: string): () => ChargeRequest {
  const nextCharge = bareCharges(dataset)
  return () => {
    const { principal, idempotencyKey, requestHash, request } = nextCharge()
    return {
      dataset,
      datasetVersion: '1',
      principal,
      idempotencyKey,
      keyChosen: true,
      requestHash,
      request,
      price: { accounting: 'basic', ...NO_LOSS, epsilonNano: epsilonNano(1n) },
      sharing: false,
      leaseMs: 60_000,
    }
  }
}

function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (place: number) => sorted[place] ?? Number.NaN
  return { median: at(Math.floor(sorted.length / 2)), lowest: at(0), highest: at(sorted.length - 1) }
}

function percentile99(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN
}

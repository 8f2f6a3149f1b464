import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { ChargeRequest } from '../src/ledger/ledger.ts'
import { openSqliteLedger, type SqliteLedger } from '../src/ledger/sqlite.ts'
import { epsilonNano, MAX_BUDGET_EPSILON, NO_LOSS, ONE_EPSILON_NANO } from '../src/privacy/loss.ts'

/** One line of the ledger's benchmark. */
export interface LedgerFigure {
  /**
   * `charge`: a durable debit; `charge and answer`: a durable debit, then its durable answer; `raw row`: the same file
   * settings without the ledger, one row per transaction; `raw row, grouped`: as many rows per transaction as callers.
   */
  readonly what: 'charge' | 'charge and answer' | 'raw row' | 'raw row, grouped'
  readonly callers: number
  readonly debitsPerSecond: number
  /** Time from asking until the debit (and the answer, where there is one) was durable; 99 of 100 took less. */
  readonly p99Ms: number
  readonly callsPerCommit: number
}

const CALLERS = [1, 16, 64, 256] as const
const MEASURE_MS = 800
const REQUEST = JSON.stringify({ kind: 'count', where: { column: 'Age', op: '>=', value: 30 }, epsilon: 0.1 })
const ANSWER = JSON.stringify({ result: { value: 1_234 }, noise: { mechanism: 'geometric', scale: 10 } })

/** Durable debits per second of the embedded ledger, beside what SQLite itself does on the same disk, in about 10 s. */
export async function ledgerBenchmark(): Promise<readonly LedgerFigure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sotto-bench-ledger-'))
  try {
    const figures: LedgerFigure[] = []
    const ledger = await openSqliteLedger({ path: join(folder, 'ledger.sqlite') })
    const cap = { ...NO_LOSS, epsilonNano: epsilonNano(BigInt(MAX_BUDGET_EPSILON) * ONE_EPSILON_NANO) }
    await ledger.openBudget('census', cap, 'custodian')
    for (const callers of CALLERS) figures.push(await measureLedger(ledger, callers, false))
    for (const callers of CALLERS) figures.push(await measureLedger(ledger, callers, true))
    await ledger.close()
    for (const callers of CALLERS) figures.push(measureRaw(join(folder, `raw-${callers}.sqlite`), callers))
    return figures
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measureLedger(
  ledger: SqliteLedger,
  callers: number,
  answered: boolean,
): Promise<LedgerFigure> {
  const tookMs: number[] = []
  const before = ledger.statistics()
  const startMs = performance.now()
  await Promise.all(
    Array.from({ length: callers }, async () => {
      for (let askedMs = startMs; askedMs < startMs + MEASURE_MS; ) {
        const outcome = await ledger.charge(question(`${callers} ${answered} ${tookMs.length} ${askedMs}`))
        if (outcome.kind !== 'charged') throw new Error(`a charge of the benchmark is ${outcome.kind}`)
        if (answered) await ledger.recordAnswer(outcome.charge.id, outcome.charge.attempt, ANSWER)
        const nowMs = performance.now()
        tookMs.push(nowMs - askedMs)
        askedMs = nowMs
      }
    }),
  )
  const elapsedMs = performance.now() - startMs
  const after = ledger.statistics()
  return {
    what: answered ? 'charge and answer' : 'charge',
    callers,
    debitsPerSecond: (tookMs.length / elapsedMs) * 1_000,
    p99Ms: percentile99(tookMs),
    callsPerCommit: (after.calls - before.calls) / (after.commits - before.commits),
  }
}

let asked = 0

function question(key: string): ChargeRequest {
  asked += 1
  const idempotencyKey = `${key} ${asked}`
  return {
    dataset: 'census',
    datasetVersion: '1',
    principal: 'analyst',
    idempotencyKey,
    requestHash: idempotencyKey,
    request: REQUEST,
    loss: { ...NO_LOSS, epsilonNano: epsilonNano(1n) },
    leaseMs: 60_000,
  }
}

function measureRaw(path: string, rowsPerCommit: number): LedgerFigure {
  const database = new DatabaseSync(path)
  database.exec(`
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = 16000;
    CREATE TABLE debits (number INTEGER PRIMARY KEY, request TEXT NOT NULL) STRICT;
  `)
  const insert = database.prepare('INSERT INTO debits (request) VALUES (?)')
  const tookMs: number[] = []
  const startMs = performance.now()
  for (let beganMs = startMs; beganMs < startMs + MEASURE_MS; ) {
    database.exec('BEGIN IMMEDIATE')
    for (let row = 0; row < rowsPerCommit; row += 1) insert.run(REQUEST)
    database.exec('COMMIT')
    const nowMs = performance.now()
    tookMs.push(nowMs - beganMs)
    beganMs = nowMs
  }
  const elapsedMs = performance.now() - startMs
  database.close()
  return {
    what: rowsPerCommit === 1 ? 'raw row' : 'raw row, grouped',
    callers: rowsPerCommit,
    debitsPerSecond: ((tookMs.length * rowsPerCommit) / elapsedMs) * 1_000,
    p99Ms: percentile99(tookMs),
    callsPerCommit: rowsPerCommit,
  }
}

function percentile99(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN
}

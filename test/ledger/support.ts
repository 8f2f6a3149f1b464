import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { onTestFinished } from 'vitest'
import { canonicalEvent, eventHash, FIRST_PREVIOUS_HASH, type LedgerEvent } from '../../src/ledger/event.ts'
import type { ChargeRequest } from '../../src/ledger/ledger.ts'
import type { Call, OperationName, OperationResults } from '../../src/ledger/operation.ts'
import type { SqliteStore } from '../../src/ledger/sqlite-store.ts'
import { parseDecimal } from '../../src/privacy/decimal.ts'
import {
  DELTA_FRACTION_DIGITS,
  deltaAtto,
  EPSILON_FRACTION_DIGITS,
  epsilonNano,
  type PrivacyLoss,
} from '../../src/privacy/loss.ts'

/** A ledger path in a folder that goes away with the test. */
export function temporaryPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sotto-ledger-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'ledger.sqlite')
}

/** A loss from decimals as people write them. */
export function loss(epsilon: string, delta = '0'): PrivacyLoss {
  return {
    epsilonNano: epsilonNano(parseDecimal(epsilon, EPSILON_FRACTION_DIGITS) ?? -1n),
    deltaAtto: deltaAtto(parseDecimal(delta, DELTA_FRACTION_DIGITS) ?? -1n),
  }
}

/** A question by `ada` about `census` that costs 0.1; its key is its request. */
export function question(idempotencyKey: string, changes: Partial<ChargeRequest> = {}): ChargeRequest {
  return {
    dataset: 'census',
    datasetVersion: 'v1',
    principal: 'ada',
    idempotencyKey,
    requestHash: `hash of ${idempotencyKey}`,
    request: `{"kind":"${idempotencyKey}"}`,
    loss: loss('0.1'),
    leaseMs: 1_000,
    ...changes,
  }
}

/** Carry out one call in a transaction of its own; throws what the call threw. */
export function run<Name extends OperationName>(
  store: SqliteStore,
  operation: Name,
  ...args: Call<Name>['args']
): OperationResults[Name] {
  const [settled] = store.batch([{ operation, args } as Call])
  if (settled === undefined) throw new Error('the batch has no result')
  if (settled.kind === 'failed') throw settled.error
  return settled.result as OperationResults[Name]
}

/** The first event of a dataset that does not fit the chain, or `undefined` where all of them do. */
export function firstMisfit(database: DatabaseSync, dataset: string): number | undefined {
  let previousHash = FIRST_PREVIOUS_HASH
  let sequence = 0
  for (const row of database
    .prepare('SELECT * FROM events WHERE dataset = ? ORDER BY sequence')
    .iterate(dataset)) {
    sequence += 1
    try {
      const event: LedgerEvent = JSON.parse(String(row.canonical))
      const fits =
        canonicalEvent(event) === row.canonical &&
        eventHash(event) === row.hash &&
        event.previousHash === previousHash &&
        event.dataset === dataset &&
        event.sequence === sequence &&
        Number(row.sequence) === sequence &&
        event.principal === row.principal
      if (!fits) return sequence
    } catch {
      return sequence
    }
    previousHash = String(row.hash)
  }
  const head = database.prepare('SELECT head_sequence, head_hash FROM budgets WHERE dataset = ?').get(dataset)
  return Number(head?.head_sequence) === sequence && head?.head_hash === previousHash
    ? undefined
    : sequence + 1
}

/** Cap and spend of a dataset as its events alone tell them. */
export function balanceOfEvents(
  database: DatabaseSync,
  dataset: string,
): { cap: PrivacyLoss; spent: PrivacyLoss } {
  const sums = { opened: [0n, 0n], granted: [0n, 0n], charged: [0n, 0n] }
  for (const row of database.prepare('SELECT canonical FROM events WHERE dataset = ?').iterate(dataset)) {
    const event: LedgerEvent = JSON.parse(String(row.canonical))
    if (event.kind !== 'opened' && event.kind !== 'granted' && event.kind !== 'charged') continue
    const [epsilon = 0n, delta = 0n] = sums[event.kind]
    sums[event.kind] = [
      epsilon + BigInt(event.loss?.epsilonNano ?? 0),
      delta + BigInt(event.loss?.deltaAtto ?? 0),
    ]
  }
  const total = (...kinds: readonly (keyof typeof sums)[]): PrivacyLoss => ({
    epsilonNano: epsilonNano(kinds.reduce((sum, kind) => sum + (sums[kind][0] ?? 0n), 0n)),
    deltaAtto: deltaAtto(kinds.reduce((sum, kind) => sum + (sums[kind][1] ?? 0n), 0n)),
  })
  return { cap: total('opened', 'granted'), spent: total('charged') }
}

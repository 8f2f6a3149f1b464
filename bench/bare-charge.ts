import { randomUUID } from 'node:crypto'
import { canonicalEvent, FIRST_PREVIOUS_HASH, type LedgerEvent } from '../src/ledger/event.ts'

const PRINCIPAL = 'analyst'
const REQUEST = JSON.stringify({ kind: 'count', where: { column: 'Age', op: '>=', value: 30 }, epsilon: 0.1 })

/**
 * Values of a charge, as wide as the ledger's rows, for baselines that write without the ledger. Losses are 1
 * nano-epsilon.
 */
export interface BareCharge {
  /** 32 hexadecimal digits in random order, like a hash. */
  readonly id: string
  readonly principal: string
  readonly idempotencyKey: string
  readonly dataset: string
  readonly requestHash: string
  readonly request: string
  readonly nowMs: number
  readonly leaseExpiresAtMs: number
  /** Text of the charge's event; the same for all charges of a dataset. */
  readonly canonical: string
  /** Stands in for the event's SHA-256: 64 hexadecimal digits. Hashing is the ledger's work, not the store's. */
  readonly hash: string
}

/** Makes charges of a dataset, each with its own id. */
export function bareCharges(dataset: string): () => BareCharge {
  const event: LedgerEvent = {
    version: 1,
    dataset,
    sequence: 100_000,
    previousHash: FIRST_PREVIOUS_HASH,
    kind: 'charged',
    at: new Date(0).toISOString(),
    principal: PRINCIPAL,
    salt: crypto.randomUUID(),
    chargeId: hexadecimal(),
    attempt: 1,
    requestHash: hexadecimal() + hexadecimal(),
    datasetVersion: '1',
    loss: { epsilonNano: '1', deltaAtto: '0' },
  }
  const canonical = canonicalEvent(event)
  return () => {
    const id = hexadecimal()
    const hash = id + hexadecimal()
    const nowMs = Date.now()
    return {
      id,
      principal: PRINCIPAL,
      idempotencyKey: hash,
      dataset,
      requestHash: hash,
      request: REQUEST,
      nowMs,
      leaseExpiresAtMs: nowMs + 60_000,
      canonical,
      hash,
    }
  }
}

function hexadecimal(): string {
  return randomUUID().replaceAll('-', '')
}

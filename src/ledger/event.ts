import { deltaAtto, epsilonNano, type PrivacyLoss } from '../privacy/loss.ts'
import { canonicalJson, sha256 } from './canonical.ts'
import type { LedgerEntry } from './ledger.ts'

/** The `previousHash` of a dataset's first event. */
export const FIRST_PREVIOUS_HASH = '0'.repeat(64)

/**
 * One event as it is hashed: everything an auditor needs to follow the budget without the store. Amounts are decimal
 * strings of integers, because JSON numbers beyond 2^53 do not survive every reader.
 */
export interface LedgerEvent {
  /** The version of this layout. */
  readonly version: 1
  readonly dataset: string
  /** 1 for a dataset's first event, then without gaps. */
  readonly sequence: number
  /** The hash of the event before it; {@link FIRST_PREVIOUS_HASH} for the first. */
  readonly previousHash: string
  readonly kind: LedgerEntry['kind']
  /** ISO 8601, UTC. The sequence, not the clock, says what came first. */
  readonly at: string
  readonly principal: string
  readonly chargeId?: string
  readonly attempt?: number
  /** Of a session's answer, its number: 1 for the first. */
  readonly question?: number
  /** The request's SHA-256, hexadecimal; for charged, denied and session-answered. */
  readonly requestHash?: string
  /** The version of the dataset that the attempt reads. */
  readonly datasetVersion?: string
  /** The cap opened with, the amount granted, or the cost charged or denied. */
  readonly loss?: { readonly epsilonNano: string; readonly deltaAtto: string }
  /** SHA-256 of the stored answer's UTF-8, hexadecimal. */
  readonly answerHash?: string
  readonly reason?: string
}

/** The canonical JSON (RFC 8785) of an event: the text that is stored, and that is hashed. */
export function canonicalEvent(event: LedgerEvent): string {
  return canonicalJson(event)
}

/**
 * The hash that chains an event: SHA-256 over {@link canonicalEvent}, hexadecimal. As the event names its dataset, its
 * place and the hash before it, no event can be changed, moved, dropped or slipped in without changing every later hash.
 */
export function eventHash(event: LedgerEvent): string {
  return sha256(canonicalEvent(event))
}

/** An amount as events spell it. */
export function eventLoss(loss: PrivacyLoss): { epsilonNano: string; deltaAtto: string } {
  return { epsilonNano: loss.epsilonNano.toString(), deltaAtto: loss.deltaAtto.toString() }
}

/**
 * An event as readers of the ledger see it.
 * @throws SyntaxError or RangeError where the stored text is no event.
 */
export function entryFromEvent(canonical: string, hashOfEvent: string): LedgerEntry {
  const event: LedgerEvent = JSON.parse(canonical)
  return {
    sequence: event.sequence,
    dataset: event.dataset,
    kind: event.kind,
    at: event.at,
    principal: event.principal,
    ...(event.chargeId !== undefined && { chargeId: event.chargeId }),
    ...(event.loss !== undefined && {
      loss: {
        epsilonNano: epsilonNano(BigInt(event.loss.epsilonNano)),
        deltaAtto: deltaAtto(BigInt(event.loss.deltaAtto)),
      },
    }),
    ...(event.reason !== undefined && { reason: event.reason }),
    hash: hashOfEvent,
  }
}

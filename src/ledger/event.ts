import type { Amount } from '../privacy/accounting.ts'
import { deltaAtto, epsilonNano, type PrivacyLoss, rhoPico } from '../privacy/loss.ts'
import type { Neighbours } from '../privacy/neighbours.ts'
import { sha256 } from './canonical.ts'
import type { Ledger, LedgerEntry } from './ledger.ts'

/** The `previousHash` of a dataset's first event. */
export const FIRST_PREVIOUS_HASH = '0'.repeat(64)

/** A loss as events spell it: JSON numbers beyond 2^53 do not survive every reader. */
export interface EventLoss {
  readonly epsilonNano: string
  readonly deltaAtto: string
}

/** An amount as events spell it, in the units of the dataset's accounting. */
export type EventAmount = EventLoss | { readonly rhoPico: string }

/** One event as it is hashed: everything an auditor needs to follow the budget without the store. */
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
  /** Random, so that nobody can guess at an event from a hash alone. Events of before there was one have none. */
  readonly salt?: string
  /** Of opened: how the budget is counted; left out for sums of epsilon and delta. */
  readonly accounting?: 'zcdp'
  /** Of opened: the neighbours that its charges are priced for. Events of before it was noted have none. */
  readonly neighbours?: Neighbours
  readonly chargeId?: string
  readonly attempt?: number
  /** Of a session's answer, its number: 1 for the first. */
  readonly question?: number
  /** The request's SHA-256, hexadecimal; for charged, shared, denied and session-answered. */
  readonly requestHash?: string
  /** The version of the dataset that the attempt reads. */
  readonly datasetVersion?: string
  /** The (epsilon, delta) opened with, granted or allotted; the price charged, shared or denied. */
  readonly loss?: EventAmount
  /** Of opened, granted and allotted, where the accounting converts: what the whole of it buys from now on. */
  readonly limit?: EventAmount
  /** Of shared: the charge whose release it is. */
  readonly sharedFrom?: string
  /** Of allotted: whose allotment it is. */
  readonly analyst?: string
  /** SHA-256 of the stored answer's UTF-8, hexadecimal. */
  readonly answerHash?: string
  readonly reason?: string
}

/**
 * The canonical JSON (RFC 8785) of an event whose texts are well-formed: the text that is stored, and that is hashed. With
 * its fields in their order it is what JSON.stringify gives, several times as fast as the general way.
 */
export function canonicalEvent(event: LedgerEvent): string {
  return JSON.stringify({
    accounting: event.accounting,
    analyst: event.analyst,
    answerHash: event.answerHash,
    at: event.at,
    attempt: event.attempt,
    chargeId: event.chargeId,
    dataset: event.dataset,
    datasetVersion: event.datasetVersion,
    kind: event.kind,
    limit: inOrder(event.limit),
    loss: inOrder(event.loss),
    neighbours: event.neighbours,
    previousHash: event.previousHash,
    principal: event.principal,
    question: event.question,
    reason: event.reason,
    requestHash: event.requestHash,
    salt: event.salt,
    sequence: event.sequence,
    sharedFrom: event.sharedFrom,
    version: event.version,
  } satisfies { readonly [Field in keyof Required<LedgerEvent>]: LedgerEvent[Field] })
}

function inOrder(amount: EventAmount | undefined): EventAmount | undefined {
  return amount === undefined || 'rhoPico' in amount
    ? amount
    : { deltaAtto: amount.deltaAtto, epsilonNano: amount.epsilonNano }
}

/**
 * The hash that chains an event: SHA-256 over {@link canonicalEvent}, hexadecimal. As the event names its dataset, its
 * place and the hash before it, no event can be changed, moved, dropped or slipped in without changing every later hash.
 */
export function eventHash(event: LedgerEvent): string {
  return sha256(canonicalEvent(event))
}

/** A loss as events spell it. */
export function eventLoss(loss: PrivacyLoss): EventLoss {
  return { epsilonNano: loss.epsilonNano.toString(), deltaAtto: loss.deltaAtto.toString() }
}

/** An amount as events spell it. */
export function eventAmount(amount: Amount): EventAmount {
  return amount.accounting === 'zcdp' ? { rhoPico: amount.rhoPico.toString() } : eventLoss(amount)
}

/**
 * An event's (epsilon, delta).
 * @throws RangeError where it has none, or one that cannot be.
 */
export function lossFromEvent(loss: EventAmount | undefined): PrivacyLoss {
  if (loss === undefined || !('epsilonNano' in loss))
    throw new RangeError('the event has no (epsilon, delta)')
  return {
    epsilonNano: epsilonNano(integer(loss.epsilonNano)),
    deltaAtto: deltaAtto(integer(loss.deltaAtto)),
  }
}

/**
 * An event's amount.
 * @throws RangeError where it has none, or one that cannot be.
 */
export function amountFromEvent(amount: EventAmount | undefined): Amount {
  if (amount === undefined || !('rhoPico' in amount)) {
    return { accounting: 'basic', ...lossFromEvent(amount) }
  }
  return { accounting: 'zcdp', rhoPico: rhoPico(integer(amount.rhoPico)) }
}

function integer(text: unknown): bigint {
  // BigInt() would also take '', ' 1' and '0x1', which are not how an amount is written.
  if (typeof text !== 'string' || !/^(0|[1-9]\d{0,24})$/.test(text))
    throw new RangeError('an amount is a whole number in decimal digits')
  return BigInt(text)
}

/** The neighbours that a dataset's budget was opened for; `undefined` where there is none, or its event is of before. */
export async function openedForNeighbours(
  ledger: Pick<Ledger, 'events'>,
  dataset: string,
): Promise<Neighbours | undefined> {
  const [first] = await ledger.events(dataset, { limit: 1, afterSequence: 0 })
  if (first === undefined) return undefined
  const event: LedgerEvent = JSON.parse(first.canonical)
  return event.neighbours
}

/**
 * An event as readers of the ledger see it.
 * @throws SyntaxError or RangeError where the stored text is no event.
 */
export function entryFromEvent(canonical: string, hashOfEvent: string): LedgerEntry {
  const event: LedgerEvent = JSON.parse(canonical)
  const { sequence, dataset, kind, at, principal, chargeId, loss, analyst, reason } = event
  const isGrant = kind === 'opened' || kind === 'granted' || kind === 'allotted'
  return {
    sequence,
    dataset,
    kind,
    at,
    principal,
    ...(chargeId !== undefined && { chargeId }),
    ...(loss !== undefined &&
      (isGrant ? { granted: lossFromEvent(loss) } : { price: amountFromEvent(loss) })),
    ...(analyst !== undefined && { analyst }),
    ...(reason !== undefined && { reason }),
    hash: hashOfEvent,
  }
}

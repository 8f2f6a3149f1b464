import type { Amount } from '../privacy/accounting.ts'
import { defined } from '../privacy/defined.ts'
import type { ActKind, EventKind } from '../privacy/event-kinds.ts'
import { deltaAtto, epsilonNano, type PrivacyLoss, rhoPico } from '../privacy/loss.ts'
import type { Neighbours, PrivacyUnit } from '../privacy/neighbours.ts'
import type { ActFacts } from './contract/acts.ts'
import type { Chain, ChainHead, LedgerEntry } from './contract/chain.ts'
import type { CountedFailure } from './contract/suspension.ts'

/** The `previousHash` of a dataset's first event. */
export const FIRST_PREVIOUS_HASH = '0'.repeat(64)

/** A loss in an event. Texts, because JSON numbers beyond 2^53 are not exact in every reader. */
export interface EventLoss {
  readonly epsilonNano: string
  readonly deltaAtto: string
}

/** An amount in an event, in the units of the dataset's accounting. */
export type EventAmount = EventLoss | { readonly rhoPico: string }

/** A person as the privacy unit: the rows with the same value in an identifier column, which differs among the datasets of a population. */
export type PersonUnit = Pick<Extract<PrivacyUnit, { kind: 'person' }>, 'kind'> & { readonly column?: string }

/** One event in its hashed form. A budget can be recomputed from the events alone. */
export interface LedgerEvent {
  /** Version of this layout. */
  readonly version: 1
  readonly dataset: string
  /** 1 for a dataset's first event, then without gaps. */
  readonly sequence: number
  /** Hash of the event before it; {@link FIRST_PREVIOUS_HASH} for the first. */
  readonly previousHash: string
  readonly kind: EventKind | ActKind
  /** ISO 8601, UTC. The sequence, not this time, orders events. */
  readonly at: string
  readonly principal: string
  /** Random, so that a hash alone does not confirm a guessed event. */
  readonly salt: string
  /** In `opened`: the accounting of the budget; missing for basic composition. */
  readonly accounting?: 'zcdp'
  /** In `opened`: the neighbours that its charges are priced for. */
  readonly neighbours?: Neighbours
  /** In `opened`: the privacy unit that its charges are priced for; missing where each row is one. */
  readonly privacyUnit?: PersonUnit
  /** In `opened`: true if its data describe no real person. */
  readonly synthetic?: boolean
  /** In `joined`, in the chain of a dataset: the account of the population. */
  readonly population?: string
  /** In every event about a dataset in the chain of its population: the event of the dataset that it was appended with. */
  readonly member?: ChainHead
  /** In `source-reused`: the other datasets with the same source, in order. */
  readonly otherDatasets?: readonly string[]
  readonly chargeId?: string
  readonly attempt?: number
  /** In `session-answered`: number of the question, from 1. */
  readonly question?: number
  /** In `charged`, `shared`, `denied` and `session-answered`: SHA-256 of the request, hexadecimal. */
  readonly requestHash?: string
  /** Version of the dataset that the attempt reads. */
  readonly datasetVersion?: string
  /** The (epsilon, delta) granted or allotted; the price charged, shared or denied; or the amount carried. */
  readonly loss?: EventAmount
  /** In `opened`, `granted`, `cap-replaced` and `allotted` under zCDP: the resulting cap or limit in rho. */
  readonly limit?: EventAmount
  /** In `carried`: the part of the loss that paid for shared releases; missing if it is 0. */
  readonly spentOnShared?: EventAmount
  /** In `shared`: id of the charge whose release is shared. */
  readonly sharedFrom?: string
  /** In `inferred`: ids of the charges whose releases the answer follows from, in order. */
  readonly parents?: readonly string[]
  /** In `allotted` and `carried`: the analyst. */
  readonly analyst?: string
  /** SHA-256 of the stored answer's UTF-8, hexadecimal. */
  readonly answerHash?: string
  readonly reason?: string
  /** In `failed`: true if the failure counts towards a suspension. Every `session-failed` counts. */
  readonly counted?: true
  /** In `failed` and `session-failed`: class name of the error. */
  readonly errorClass?: string
  /** In `suspended`: number of counted failures since the last resumption. */
  readonly failures?: number
  /** In an administrative act: the thing acted on. */
  readonly subject?: string
  /** In an administrative act: further facts. */
  readonly facts?: ActFacts
}

/**
 * Serializes an event whose texts are well-formed as canonical JSON (RFC 8785): the text that is stored and hashed.
 * With sorted fields, JSON.stringify gives the same text as `canonicalJson`, several times as fast. Because an event
 * names its dataset, its sequence and the hash before it, changing, moving, removing or inserting an event changes
 * every later hash. Fields that are not those of an event are left out.
 */
export function canonicalEvent(event: LedgerEvent): string {
  return JSON.stringify({
    accounting: event.accounting,
    analyst: event.analyst,
    answerHash: event.answerHash,
    at: event.at,
    attempt: event.attempt,
    chargeId: event.chargeId,
    counted: event.counted,
    dataset: event.dataset,
    datasetVersion: event.datasetVersion,
    errorClass: event.errorClass,
    facts: event.facts && byName(event.facts),
    failures: event.failures,
    kind: event.kind,
    limit: inOrder(event.limit),
    loss: inOrder(event.loss),
    member: event.member && {
      dataset: event.member.dataset,
      hash: event.member.hash,
      sequence: event.member.sequence,
    },
    neighbours: event.neighbours,
    otherDatasets: event.otherDatasets,
    parents: event.parents,
    population: event.population,
    previousHash: event.previousHash,
    principal: event.principal,
    privacyUnit:
      event.privacyUnit && defined({ column: event.privacyUnit.column, kind: event.privacyUnit.kind }),
    question: event.question,
    reason: event.reason,
    requestHash: event.requestHash,
    salt: event.salt,
    sequence: event.sequence,
    sharedFrom: event.sharedFrom,
    spentOnShared: inOrder(event.spentOnShared),
    subject: event.subject,
    synthetic: event.synthetic,
    version: event.version,
  } satisfies { readonly [Field in keyof Required<LedgerEvent>]: LedgerEvent[Field] })
}

function byName(facts: ActFacts): ActFacts {
  // The order of UTF-16 code units, as canonical JSON requires.
  return Object.fromEntries(Object.entries(facts).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function inOrder(amount: EventAmount | undefined): EventAmount | undefined {
  if (amount === undefined) return undefined
  return 'rhoPico' in amount
    ? { rhoPico: amount.rhoPico }
    : { deltaAtto: amount.deltaAtto, epsilonNano: amount.epsilonNano }
}

/** Converts a loss to its form in events. */
export function eventLoss(loss: PrivacyLoss): EventLoss {
  return { epsilonNano: loss.epsilonNano.toString(), deltaAtto: loss.deltaAtto.toString() }
}

/** Converts an amount to its form in events. */
export function eventAmount(amount: Amount): EventAmount {
  return amount.accounting === 'zcdp' ? { rhoPico: amount.rhoPico.toString() } : eventLoss(amount)
}

/**
 * Reads the (epsilon, delta) of an event.
 * @throws RangeError if it is missing or invalid.
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
 * Reads the amount of an event.
 * @throws RangeError if it is missing or invalid.
 */
export function amountFromEvent(amount: EventAmount | undefined): Amount {
  if (amount === undefined || !('rhoPico' in amount)) {
    return { accounting: 'basic', ...lossFromEvent(amount) }
  }
  return { accounting: 'zcdp', rhoPico: rhoPico(integer(amount.rhoPico)) }
}

function integer(text: unknown): bigint {
  // BigInt() also accepts '', ' 1' and '0x1', which are not valid amounts.
  if (typeof text !== 'string' || !/^(0|[1-9]\d{0,24})$/.test(text))
    throw new RangeError('an amount is a whole number in decimal digits')
  return BigInt(text)
}

/**
 * Reads the neighbours, the privacy unit, the kind of data and the amount that a dataset's budget was opened with; none without a
 * budget. The privacy unit is missing where each row is one.
 */
export async function openedFor(
  ledger: Pick<Chain, 'events'>,
  dataset: string,
): Promise<Pick<LedgerEvent, 'neighbours' | 'privacyUnit' | 'synthetic' | 'loss'>> {
  const [first] = await ledger.events(dataset, { limit: 1, afterSequence: 0 })
  if (first === undefined) return {}
  const event: LedgerEvent = JSON.parse(first.canonical)
  return event
}

/** True if an event is a failure that counts towards a suspension. */
export function isCountedFailure({ kind, counted }: Pick<LedgerEvent, 'kind' | 'counted'>): boolean {
  return kind === 'session-failed' || (kind === 'failed' && counted === true)
}

/**
 * Converts a stored event to a counted failure.
 * @throws SyntaxError or RangeError if the stored text is not one.
 */
export function failureFromEvent(canonical: string): CountedFailure {
  const event: LedgerEvent = JSON.parse(canonical)
  const { sequence, at, principal, chargeId, errorClass } = event
  if (chargeId === undefined) throw new RangeError('the failure names no charge')
  return defined({ sequence, at, principal, chargeId, errorClass })
}

/**
 * Converts a stored event to an entry of the history.
 * @throws SyntaxError or RangeError if the stored text is not an event.
 */
export function entryFromEvent(canonical: string, hashOfEvent: string): LedgerEntry {
  const event: LedgerEvent = JSON.parse(canonical)
  const { sequence, dataset, at, principal, chargeId, loss, analyst, reason } = event
  const kind = event.kind as EventKind
  const isGrant = ['opened', 'granted', 'cap-replaced', 'allotted'].includes(kind)
  return defined({
    sequence,
    dataset,
    kind,
    at,
    principal,
    chargeId,
    granted: loss !== undefined && isGrant ? lossFromEvent(loss) : undefined,
    price: loss !== undefined && !isGrant ? amountFromEvent(loss) : undefined,
    analyst,
    reason,
    hash: hashOfEvent,
  })
}

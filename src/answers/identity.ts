import { type Dataset, databaseOf, earlierVersions, isLive } from '../core/dataset/dataset.ts'
import { canonicalJson, chargeId, sha256 } from '../ledger/canonical.ts'
import type { Chain } from '../ledger/contract/chain.ts'
import type { Span } from '../ledger/contract/charges.ts'
import type { Releases } from '../ledger/contract/releases.ts'

/** A request as far as it identifies the charge that pays for it. */
export interface Identified {
  readonly principal: string
  readonly dataset: Dataset
  /** The request as JSON; its top-level key names the kind of request. */
  readonly request: Readonly<Record<string, unknown>>
  /** The question as it was asked and as its answer states it. */
  readonly question: object
  /** Default: derived from the request, so that a repeat finds the stored answer. */
  readonly idempotencyKey?: string | undefined
}

/** The parts of a request from which its key is derived if none was chosen. */
type Derived = Omit<Identified, 'question' | 'idempotencyKey'>

/** Identifies a request: its canonical text and hash, its idempotency key, and the id of its charge. */
export interface Identity {
  readonly canonical: string
  readonly requestHash: string
  readonly key: string
  readonly id: string
  /** The period to which a question about a live table belongs. A repeat in another one is another request. */
  readonly period?: Span
}

/**
 * Returns the identity of a request at an instant, in milliseconds since 1970. Another version of the dataset makes it
 * another request, as does another period of a live table, unless a key was chosen.
 */
export function identityAt(request: Identified, atMs: number): Identity {
  const { dataset, idempotencyKey } = request
  return idempotencyKey === undefined
    ? derivedIdentity(request, periodAt(dataset, atMs))
    : chosenIdentity(request, idempotencyKey, dataset.version)
}

/** Idempotency key of a request sent without one. A repeated request has the same key. See decision 5. */
export function keyOfRequest(requestHash: string): string {
  return `sha256:${requestHash}`
}

function derivedIdentity(request: Derived, period: Span | undefined): Identity {
  const { principal, dataset } = request
  const key = keyWithin(timelessKey(request), period)
  if (period === undefined) return identified(principal, canonicalOf(request, dataset.version), key)
  const named = { ...request, request: { ...request.request, period: nameOf(period) } }
  return { ...identified(principal, canonicalOf(named, dataset.version), key), period }
}

function chosenIdentity(request: Derived, key: string, version: string): Identity {
  return identified(request.principal, canonicalOf(request, version), key)
}

/** The key of a request without its period. */
function timelessKey(request: Derived): string {
  return keyOfRequest(sha256(canonicalOf(request, request.dataset.version)))
}

function keyWithin(timeless: string, period: Span | undefined): string {
  return period === undefined ? timeless : `${timeless} ${nameOf(period)}`
}

function nameOf({ fromMs }: Span): string {
  return new Date(fromMs).toISOString()
}

function canonicalOf({ dataset, request }: Derived, version: string): string {
  return canonicalJson({ dataset: dataset.id, version, ...request })
}

function identified(principal: string, canonical: string, key: string): Identity {
  return { canonical, requestHash: sha256(canonical), key, id: chargeId(principal, key) }
}

const PERIOD_MS = { hour: 3_600_000, day: 86_400_000 }

/**
 * Returns the period of a live table that an instant belongs to, in UTC; `undefined` where a repeat is the same request for
 * ever. See decision 61.
 */
function periodAt(dataset: Dataset, atMs: number): Span | undefined {
  if (!isLive(dataset)) return undefined
  const { freshness = 'day' } = databaseOf(dataset.source) ?? {}
  if (freshness === 'forever') return undefined
  const fromMs = atMs - (atMs % PERIOD_MS[freshness])
  return { fromMs, untilMs: fromMs + PERIOD_MS[freshness] }
}

/** Returns the end of a period, as documents state it; `undefined` where there is no period. */
export function endOf(period: Span | undefined): string | undefined {
  return period && new Date(period.untilMs).toISOString()
}

/** Number of earlier periods in which an unanswered charge is looked for: about four days, or a hundred. */
const PERIODS_LOOKED_BACK = 100

/**
 * Returns the identity of the latest charge in an earlier period that pays for a repeat of a request without a chosen key,
 * because it has no answer yet; `undefined` if there is none.
 */
export async function unansweredEarlier(
  ledger: Pick<Chain, 'unansweredRequests'>,
  request: Derived,
  { period }: Identity,
): Promise<Identity | undefined> {
  if (period === undefined) return undefined
  const lengthMs = period.untilMs - period.fromMs
  const timeless = timelessKey(request)
  const earlier = Array.from({ length: PERIODS_LOOKED_BACK }, (_, index): Span & { id: string } => {
    const fromMs = period.fromMs - (index + 1) * lengthMs
    const span = { fromMs, untilMs: fromMs + lengthMs }
    return { ...span, id: chargeId(request.principal, keyWithin(timeless, span)) }
  })
  const found = await ledger.unansweredRequests(earlier.map(({ id }) => id))
  const latest = earlier.find(({ id }) => found.has(id))
  return latest === undefined ? undefined : derivedIdentity(request, latest)
}

/** Whether a repeat without a chosen key is paid, and within which period. */
export interface Repeat {
  /** True if it costs its principal nothing, because an earlier one was charged. It may still be unanswered. */
  readonly paid: boolean
  /** The period within which a repeat is the same request. */
  readonly period: Span | undefined
}

/** Finds out whether a repeat of a request at an instant, in milliseconds since 1970, is paid. */
export async function findRepeat(
  ledger: Pick<Chain, 'requests' | 'unansweredRequests'>,
  request: Derived,
  atMs: number,
): Promise<Repeat> {
  const identity = derivedIdentity(request, periodAt(request.dataset, atMs))
  const { period } = identity
  if ((await ledger.requests([identity.id])).has(identity.id)) return { paid: true, period }
  const earlier = await unansweredEarlier(ledger, request, identity)
  return earlier === undefined ? { paid: false, period } : { paid: true, period: earlier.period }
}

/**
 * Finds the identity under which a request with a chosen key was first sent, about an earlier version of the dataset. The
 * key keeps its outcome: the repeat gets the stored answer or denial, or the answer that was paid for.
 *
 * A version with a wider declaration can change the normal form of a question, and the epsilon that an accuracy needs.
 * An answered request is then found by the question that its answer states.
 * @returns undefined if no key was chosen, or if it was used for another request
 */
export async function identityOfEarlierVersion(
  ledger: Chain & Releases,
  request: Identified,
  identity: Identity,
): Promise<Identity | undefined> {
  const { idempotencyKey } = request
  const versions = earlierVersions(request.dataset)
  if (idempotencyKey === undefined || versions.length === 0) return undefined
  const [record] = await ledger.chargeRecords([identity.id])
  if (record === undefined) return undefined
  const { requestHash } = record
  const found = versions
    .map((version) => chosenIdentity(request, idempotencyKey, version))
    .find((earlier) => earlier.requestHash === requestHash)
  if (found !== undefined) return found
  const answer = (await ledger.release(identity.id))?.answer
  const canonical = (await ledger.requests([identity.id])).get(identity.id)
  if (answer === undefined || canonical === undefined) return undefined
  const { dataset, datasetVersion, question } = JSON.parse(answer)
  const isRepeat =
    dataset === request.dataset.id &&
    versions.includes(datasetVersion) &&
    canonicalJson(question) === canonicalJson(request.question)
  return isRepeat ? { ...identity, canonical, requestHash } : undefined
}

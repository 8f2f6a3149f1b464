import { defined } from '../privacy/defined.ts'
import { sha256 } from './canonical.ts'
import type { Chain, StoredEvent } from './contract/chain.ts'
import { isOpenTo, type Releases, type StoredRelease } from './contract/releases.ts'
import type { Sessions } from './contract/sessions.ts'
import type { LedgerEvent } from './event.ts'
import type { EventWithRequest } from './protocol/verifier/export.ts'
import { type InferredCharge, reasonAgainstInferred, releasesNamedBy } from './protocol/verifier/inference.ts'
import {
  earlierOf,
  followRequests,
  type RequestCounts,
  refersToRequest,
  withFault,
} from './protocol/verifier/requests.ts'
import type { BrokenVerification, Verification } from './protocol/verifier/verifier.ts'
import { eventPages, verifyLedger } from './verification.ts'

type Readable = Pick<Chain & Sessions, 'events' | 'requests' | 'sessionAnswers'>

/** Formats an event as one line of an export. The line contains the hashed texts of event and request unchanged. */
export function exportLine({ canonical, hash, request }: EventWithRequest): string {
  const question = request === undefined ? '' : `,"request":${JSON.stringify(request)}`
  return `{"event":${canonical},"hash":"${hash}"${question}}\n`
}

/** Yields a dataset's events with their requests as JSON Lines, oldest first, in pages. */
export async function* exportLines(ledger: Readable, dataset: string): AsyncGenerator<string> {
  for await (const page of eventsWithRequests(ledger, dataset)) yield page.map(exportLine).join('')
}

/** Number of events whose requests are read at a time. A request has 64 kB at most. */
const REQUESTS_PAGE = 64

/** Yields a dataset's events with their requests, oldest first, in pages. */
export async function* eventsWithRequests(
  ledger: Readable,
  dataset: string,
): AsyncGenerator<readonly EventWithRequest[]> {
  for await (const page of eventPages(ledger, dataset)) {
    for (let start = 0; start < page.length; start += REQUESTS_PAGE)
      yield await withRequests(ledger, page.slice(start, start + REQUESTS_PAGE))
  }
}

async function withRequests(
  ledger: Readable,
  page: readonly StoredEvent[],
): Promise<readonly EventWithRequest[]> {
  const events = page.map((stored) => ({ stored, event: JSON.parse(stored.canonical) as LedgerEvent }))
  const debited = events.flatMap(({ event }) =>
    event.chargeId !== undefined && event.kind !== 'session-answered' && refersToRequest(event)
      ? [event.chargeId]
      : [],
  )
  const requests = debited.length === 0 ? new Map<string, string>() : await ledger.requests(debited)
  const found: EventWithRequest[] = []
  for (const { stored, event } of events)
    found.push({ ...stored, ...(await requestOf(ledger, event, requests)) })
  return found
}

/** The request that an event refers to, if it is stored. */
async function requestOf(
  ledger: Pick<Sessions, 'sessionAnswers'>,
  event: LedgerEvent,
  requests: ReadonlyMap<string, string>,
): Promise<{ readonly request?: string }> {
  const { kind, chargeId, question } = event
  if (chargeId === undefined || !refersToRequest(event)) return {}
  if (kind !== 'session-answered') return defined({ request: requests.get(chargeId) })
  if (question === undefined) return {}
  const [answer] = await ledger.sessionAnswers(chargeId, { limit: 1, beforeQuestion: question + 1 })
  return answer?.question === question ? { request: answer.request } : {}
}

/** What is found of a dataset in a live ledger. */
export interface DatasetFindings {
  readonly verification: Verification
  readonly requests: RequestCounts
  /** Number of answers that were recomputed from others; absent if something is broken. */
  readonly inferred?: number
}

/**
 * Verifies all of a dataset in a live ledger: its chain, as {@link verifyLedger} does, its requests, and the answers that
 * follow from others.
 * @returns `undefined` if the dataset has no budget.
 * @throws LedgerFault if the store failed.
 */
export async function verifyDataset(
  ledger: Parameters<typeof verifyLedger>[0] & Parameters<typeof verifyDocuments>[0],
  dataset: string,
  counts?: ReadonlyMap<string, number>,
): Promise<DatasetFindings | undefined> {
  const chain = await verifyLedger(ledger, dataset, counts)
  if (chain === undefined) return undefined
  const { broken, requests, inferred } = await verifyDocuments(ledger, dataset, chain.kind)
  const verification = withFault(chain, broken)
  return { verification, requests, ...(verification.kind === 'sound' && { inferred }) }
}

/** What is found of the stored requests and answers of a dataset. */
interface DocumentFindings {
  readonly requests: RequestCounts
  /** Number of answers that were recomputed from others, up to the first that does not follow from them. */
  readonly inferred: number
  /** The first request or answer that is not sound. */
  readonly broken?: BrokenVerification
}

/**
 * Compares the stored requests of a dataset, all of which must be there, with the hashes in its events. If its chain is sound,
 * it also recomputes the stored answers that follow from releases, alone or with a measurement of their own: the events of a
 * broken chain may say anything.
 * @throws LedgerFault if the store failed.
 */
export async function verifyDocuments(
  ledger: Readable & Pick<Releases, 'release'>,
  dataset: string,
  chain: Verification['kind'] = 'sound',
): Promise<DocumentFindings> {
  const follower = followRequests({ required: true })
  let inferred = 0
  let unfounded: BrokenVerification | undefined
  for await (const page of eventsWithRequests(ledger, dataset)) {
    for (const { canonical, request } of page) {
      const event: LedgerEvent = JSON.parse(canonical)
      const digest = request === undefined ? undefined : sha256(request)
      follower.add(event, digest)
      if (chain === 'broken' || unfounded !== undefined) continue
      if (digest === undefined || digest !== event.requestHash) continue
      const found = await recompute(ledger, event, request)
      if (found === undefined) continue
      inferred += 1
      const { sequence } = event
      if (found.reason !== undefined) unfounded = { kind: 'broken', sequence, reason: found.reason }
    }
  }
  const { requests, broken } = follower.result()
  return { requests, inferred, ...defined({ broken: earlierOf(broken, unfounded) }) }
}

/** Recomputes the answer of an event from the releases that it follows from; `undefined` if it follows from none, or is not stored. */
async function recompute(
  ledger: Pick<Releases, 'release'>,
  event: LedgerEvent,
  request: string | undefined,
): Promise<{ readonly reason?: string | undefined } | undefined> {
  const charge = inferredCharge(event, request)
  if (charge === undefined || event.chargeId === undefined) return undefined
  const stored = await ledger.release(event.chargeId)
  if (stored === undefined) return undefined
  return { reason: reasonAgainstInferred(stored.answer, charge, await answersOf(ledger, stored)) }
}

/** What an event and its request say about an answer that follows from releases; `undefined` for one of another kind. */
function inferredCharge(
  { kind, member, parents = [] }: LedgerEvent,
  request: string | undefined,
): InferredCharge | undefined {
  if (member !== undefined) return undefined
  if (kind !== 'inferred' && kind !== 'charged') return undefined
  const { inferredFrom = [] }: { readonly inferredFrom?: readonly string[] } = JSON.parse(request ?? '{}')
  if (kind === 'inferred') return { parents, inferredFrom }
  return inferredFrom.length === 0 ? undefined : { parents: undefined, inferredFrom }
}

/** The answers that an answer follows from, open to its analyst and on the same dataset, by id. */
async function answersOf(
  ledger: Pick<Releases, 'release'>,
  { answer, dataset, principal }: StoredRelease,
): Promise<ReadonlyMap<string, string>> {
  const answers = new Map<string, string>()
  for (const id of releasesNamedBy(answer)) {
    const release = await ledger.release(id)
    if (release?.dataset === dataset && isOpenTo(principal, release)) answers.set(id, release.answer)
  }
  return answers
}

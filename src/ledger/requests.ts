import { sha256 } from './canonical.ts'
import type { LedgerEvent } from './event.ts'
import type { Ledger, StoredEvent } from './ledger.ts'
import { eventPages, type Verification } from './verification.ts'

/*
 * The requests that events refer to by their hash. An event does not contain its request, so that its size is bounded.
 * For a denied request only the hash is stored.
 */

/** An event with the text of its request, if it refers to one that is stored. */
export interface EventWithRequest extends StoredEvent {
  readonly request?: string
}

type Readable = Pick<Ledger, 'events' | 'requests' | 'sessionAnswers'>

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
  const events = page.map(({ canonical }): LedgerEvent => JSON.parse(canonical))
  const debited = events.flatMap(({ kind, chargeId }) =>
    chargeId !== undefined && (kind === 'charged' || kind === 'shared') ? [chargeId] : [],
  )
  const requests = debited.length === 0 ? new Map<string, string>() : await ledger.requests(debited)
  const found: EventWithRequest[] = []
  for (const [place, event] of events.entries()) {
    const stored = page[place]
    if (stored === undefined) continue
    const request =
      event.kind === 'session-answered'
        ? await questionOf(ledger, event)
        : refersToRequest(event)
          ? requests.get(event.chargeId ?? '')
          : undefined
    found.push(request === undefined ? stored : { ...stored, request })
  }
  return found
}

async function questionOf(
  ledger: Pick<Ledger, 'sessionAnswers'>,
  { chargeId = '', question = 0 }: LedgerEvent,
): Promise<string | undefined> {
  const [answer] = await ledger.sessionAnswers(chargeId, { limit: 1, beforeQuestion: question + 1 })
  return answer?.question === question ? answer.request : undefined
}

/** True if an event has the hash of a request that is stored. */
function refersToRequest({ kind }: Pick<LedgerEvent, 'kind'>): boolean {
  return kind === 'charged' || kind === 'shared' || kind === 'session-answered'
}

/** The number of events that refer to a request, and of those whose request was compared with its hash. */
export interface RequestCounts {
  readonly referredTo: number
  /** Fewer for exports of earlier versions of the software, which contain no requests. */
  readonly verified: number
}

/** Follows events with their requests. */
export interface RequestFollower {
  add(event: LedgerEvent, request: string | undefined): void
  result(): {
    readonly requests: RequestCounts
    /** The first event with a request that does not match its hash. */
    readonly broken?: Broken
  }
}

type Broken = Extract<Verification, { readonly kind: 'broken' }>

/**
 * Creates a follower that compares requests with the hashes in their events.
 * @param required true if every request that an event refers to must be there; otherwise all or none must be
 */
export function followRequests({ required }: { readonly required: boolean }): RequestFollower {
  let referredTo = 0
  let verified = 0
  let missing: Broken | undefined
  let broken: Broken | undefined
  return {
    add(event, request) {
      const { sequence } = event
      const refers = refersToRequest(event)
      if (refers) referredTo += 1
      if (request === undefined) {
        if (refers) missing ??= { kind: 'broken', sequence, reason: 'the request is missing' }
        return
      }
      const reason = reasonAgainst(event, request)
      if (reason === undefined) verified += 1
      else broken ??= { kind: 'broken', sequence, reason }
    },
    result() {
      // An export of an earlier version of the software has no requests.
      const lacking = required || verified > 0 ? missing : undefined
      const first = earlierOf(broken, lacking)
      return { requests: { referredTo, verified }, ...(first !== undefined && { broken: first }) }
    },
  }
}

function earlierOf(one: Broken | undefined, other: Broken | undefined): Broken | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return one.sequence < other.sequence ? one : other
}

function reasonAgainst(event: LedgerEvent, request: string): string | undefined {
  if (!refersToRequest(event)) return 'the event refers to no request'
  return sha256(request) === event.requestHash ? undefined : 'the request does not match its hash'
}

/** Compares the stored requests of a dataset, all of which must be there, with the hashes in its events. */
export async function verifyRequests(
  ledger: Readable,
  dataset: string,
): Promise<ReturnType<RequestFollower['result']>> {
  const follower = followRequests({ required: true })
  for await (const page of eventsWithRequests(ledger, dataset)) {
    for (const { canonical, request } of page) follower.add(JSON.parse(canonical), request)
  }
  return follower.result()
}

/** Returns the result for the events, unless the first fault is that of a request. */
export function withBrokenRequest(verification: Verification, broken: Broken | undefined): Verification {
  if (broken === undefined) return verification
  return verification.kind === 'broken' && verification.sequence <= broken.sequence ? verification : broken
}

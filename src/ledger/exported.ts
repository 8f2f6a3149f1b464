import type { LedgerEvent } from './event.ts'
import type { ChainHead, Ledger } from './ledger.ts'
import {
  type EventWithRequest,
  eventsWithRequests,
  followRequests,
  type RequestCounts,
  type RequestFollower,
  withBrokenRequest,
} from './requests.ts'
import { createVerifier, type Verification, type Verifier } from './verification.ts'

/** An event that was recorded elsewhere: a published head, or the receipt of an answer. */
export interface NotedEvent extends ChainHead {
  /** The answer that came with the receipt. */
  readonly answer?: NotedAnswer
}

/** The facts about an answer that the answer itself contains. */
export interface NotedAnswer {
  /** Id of its charge; for an answer of a session, id of the session. */
  readonly chargeId: string
  /** Number of the question, for an answer of a session. */
  readonly question?: number
  /** SHA-256 of the bytes that were sent, hexadecimal. */
  readonly answerHash: string
}

/** The result of looking for a noted event. */
export interface NotedFinding {
  readonly noted: NotedEvent
  /** Reason why the chain does not confirm the event; missing if it does. */
  readonly reason?: string
}

/** Looks for noted events in a chain. It does not verify the chain; a {@link Verifier} does. */
export interface NotedEventFinder {
  /** @param hash the hash stored with the event */
  add(event: LedgerEvent, hash: string): void
  /** In the order of the noted events. */
  result(): readonly NotedFinding[]
}

/** The result of verifying an export. {@link isSound} summarizes it. */
export interface ExportFindings {
  /** In the order of their first events. */
  readonly datasets: readonly {
    readonly dataset: string
    readonly verification: Verification
    readonly requests: RequestCounts
  }[]
  readonly noted: readonly NotedFinding[]
  /** The first line without an event, counted from 1. */
  readonly badLine?: { readonly line: number; readonly reason: string }
}

/** Longest accepted line. Events are much shorter. */
const MAX_LINE_BYTES = 1 << 24

const NEWLINE = 0x0a

/** Formats an event as one line of an export. The line contains the hashed texts of event and request unchanged. */
export function exportLine({ canonical, hash, request }: EventWithRequest): string {
  const question = request === undefined ? '' : `,"request":${JSON.stringify(request)}`
  return `{"event":${canonical},"hash":"${hash}"${question}}\n`
}

/** Yields a dataset's events with their requests as JSON Lines, oldest first, in pages. */
export async function* exportLines(
  ledger: Pick<Ledger, 'events' | 'requests' | 'sessionAnswers'>,
  dataset: string,
): AsyncGenerator<string> {
  for await (const page of eventsWithRequests(ledger, dataset)) yield page.map(exportLine).join('')
}

/**
 * Verifies an export with the events of one or more datasets, and looks for noted events in it. The events themselves
 * are not kept in memory.
 * @param chunks the bytes of the export
 * @param options.dataset the dataset of all events; by default each event names its own
 */
export async function followExport(
  chunks: AsyncIterable<Uint8Array>,
  options: { readonly dataset?: string; readonly noted?: readonly NotedEvent[] } = {},
): Promise<ExportFindings> {
  const chains = new Map<string, { readonly verifier: Verifier; readonly requests: RequestFollower }>()
  const finder = findNotedEvents(options.noted ?? [])
  let badLine: ExportFindings['badLine']
  let line = 0
  for await (const bytes of linesOf(chunks)) {
    line += 1
    const read = readLine(bytes)
    if (typeof read === 'string') {
      badLine ??= { line, reason: read }
      continue
    }
    const { event, stored } = read
    const dataset = options.dataset ?? event.dataset
    let chain = chains.get(dataset)
    if (chain === undefined) {
      chain = { verifier: createVerifier(dataset), requests: followRequests({ required: false }) }
      chains.set(dataset, chain)
    }
    chain.verifier.add(stored)
    chain.requests.add(event, stored.request)
    finder.add(event, stored.hash)
  }
  if (line === 0) badLine = { line: 1, reason: 'the export is empty' }
  return {
    datasets: [...chains].map(([dataset, { verifier, requests: follower }]) => {
      const { requests, broken } = follower.result()
      return { dataset, verification: withBrokenRequest(verifier.result(), broken), requests }
    }),
    noted: finder.result(),
    ...(badLine !== undefined && { badLine }),
  }
}

/** True if all lines and chains are valid and every noted event was confirmed. */
export function isSound({ datasets, noted, badLine }: ExportFindings): boolean {
  return (
    badLine === undefined &&
    datasets.every(({ verification }) => verification.kind === 'sound') &&
    noted.every(({ reason }) => reason === undefined)
  )
}

/** Creates a finder of noted events. */
export function findNotedEvents(noted: readonly NotedEvent[]): NotedEventFinder {
  const sought = noted.map((each) => ({
    noted: each,
    found: false,
    answered: each.answer === undefined,
    reason: undefined as string | undefined,
  }))
  return {
    add(event, hash) {
      for (const each of sought) {
        const { noted, found, answered, reason } = each
        if (reason !== undefined || event.dataset !== noted.dataset) continue
        if (!found) {
          if (event.sequence !== noted.sequence) continue
          each.reason = reasonAgainstReceipt(noted, event, hash)
          each.found = true
        } else if (!answered && noted.answer !== undefined && answers(event, noted.answer)) {
          each.answered = true
          if (event.answerHash !== noted.answer.answerHash)
            each.reason = `event ${event.sequence} records another answer`
        }
      }
    },
    result: () =>
      sought.map(({ noted, found, answered, reason: against }) => {
        const missing = found
          ? answered
            ? undefined
            : 'no later event records the answer'
          : `event ${noted.sequence} is missing`
        const reason = against ?? missing
        return { noted, ...(reason !== undefined && { reason }) }
      }),
  }
}

function reasonAgainstReceipt(
  { sequence, hash, answer }: NotedEvent,
  event: LedgerEvent,
  hashOfEvent: string,
): string | undefined {
  if (hash !== hashOfEvent) return `event ${sequence} has another hash`
  // A session is paid when it is opened. The receipt of one of its answers is the head before the answer.
  if (answer === undefined || answer.question !== undefined) return undefined
  const debits = event.kind === 'charged' || event.kind === 'shared' || event.kind === 'retried'
  return debits && event.chargeId === answer.chargeId
    ? undefined
    : `event ${sequence} does not debit the charge of the answer`
}

/** True if an event records the answer to the same question. */
function answers(event: LedgerEvent, { chargeId, question }: NotedAnswer): boolean {
  const kind = question === undefined ? 'answered' : 'session-answered'
  return event.kind === kind && event.chargeId === chargeId && event.question === question
}

async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  // Only "\n" ends a line. Text readers also split at characters that may occur in an event.
  let rest = new Uint8Array()
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const piece = chunk.subarray(start, end)
      yield rest.length === 0 ? piece : Buffer.concat([rest, piece])
      rest = new Uint8Array()
      start = end + 1
    }
    rest = Buffer.concat([rest, chunk.subarray(start)])
    if (rest.length > MAX_LINE_BYTES) break
  }
  if (rest.length > 0) yield rest
}

// Invalid UTF-8 must not be read as the replacement character.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Parses a line to its event, and the unchanged texts of it and of its request. Returns the reason if the line is invalid. */
function readLine(
  bytes: Uint8Array,
): { readonly event: LedgerEvent; readonly stored: EventWithRequest } | string {
  if (bytes.length > MAX_LINE_BYTES) return 'the line is longer than any event'
  let line: string
  try {
    line = decoder.decode(bytes)
  } catch {
    return 'the line is not UTF-8'
  }
  const [, canonical, hash, quoted] =
    /^\{"event":(.*),"hash":"([0-9a-f]{64})"(?:,"request":(".*"))?\}$/su.exec(line) ?? []
  if (canonical === undefined || hash === undefined) return 'the line is not {"event":…,"hash":"…"}'
  let event: LedgerEvent | null
  try {
    event = JSON.parse(canonical)
  } catch {
    return 'the event is not JSON'
  }
  if (typeof event?.dataset !== 'string') return 'the event names no dataset'
  if (quoted === undefined) return { event, stored: { canonical, hash } }
  const request = textOf(quoted)
  return request === undefined
    ? 'the request is not a JSON string'
    : { event, stored: { canonical, hash, request } }
}

/** Returns the text of a JSON string. Escapes of lone surrogates would be hashed as the replacement character. */
function textOf(quoted: string): string | undefined {
  try {
    const text: unknown = JSON.parse(quoted)
    return typeof text === 'string' && text.isWellFormed() ? text : undefined
  } catch {
    return undefined
  }
}

import type { LedgerEvent } from './event.ts'
import type { Ledger, StoredEvent } from './ledger.ts'
import type { ChainHead } from './signature.ts'
import { createVerifier, EVENTS_PAGE, type Verification, type Verifier } from './verification.ts'

/** An event that was noted elsewhere: a published head, or an answer's receipt. */
export interface NotedEvent extends ChainHead {
  /** The answer that the receipt came with. */
  readonly answer?: NotedAnswer
}

/** What is known of an answer from the answer itself. */
export interface NotedAnswer {
  /** The charge that it was given under; of a session's answer, the session. */
  readonly chargeId: string
  /** Of a session's answer, its number. */
  readonly question?: number
  /** SHA-256 of its bytes as they were sent, hexadecimal. */
  readonly answerHash: string
}

/** What became of a noted event. */
export interface NotedFinding {
  readonly noted: NotedEvent
  /** Why the chain does not bear it out; left out where it does. */
  readonly reason?: string
}

/** Looks for noted events among those that go by, in their order; whether these are sound a {@link Verifier} tells. */
export interface NotedEventFinder {
  /** @param hash as it stands beside the event */
  add(event: LedgerEvent, hash: string): void
  /** In the order in which they were noted. */
  result(): readonly NotedFinding[]
}

/** What following an export has found. It is sound where {@link isSound} says so. */
export interface ExportFindings {
  /** In the order in which the export names them. */
  readonly datasets: readonly { readonly dataset: string; readonly verification: Verification }[]
  readonly noted: readonly NotedFinding[]
  /** The first line that holds no event, 1 for the first. */
  readonly badLine?: { readonly line: number; readonly reason: string }
}

/** No event is nearly as long. */
const MAX_LINE_BYTES = 1 << 24

const NEWLINE = 0x0a

/** An event as one line of an export: the text that was hashed stands in it as it is. */
export function exportLine({ canonical, hash }: StoredEvent): string {
  return `{"event":${canonical},"hash":"${hash}"}\n`
}

/** A dataset's events as JSON Lines, oldest first, page by page. */
export async function* exportLines(ledger: Pick<Ledger, 'events'>, dataset: string): AsyncGenerator<string> {
  for await (const page of eventPages(ledger, dataset)) yield page.map(exportLine).join('')
}

/** A dataset's events, oldest first, page by page. */
export async function* eventPages(
  ledger: Pick<Ledger, 'events'>,
  dataset: string,
): AsyncGenerator<readonly StoredEvent[]> {
  for (let afterSequence = 0; ; ) {
    const page = await ledger.events(dataset, { limit: EVENTS_PAGE, afterSequence })
    if (page.length === 0) return
    afterSequence += page.length
    yield page
  }
}

/**
 * Follow the events of an export from the first on, of one dataset or of several, and look for noted events in it. Only
 * what a verifier remembers of the events is kept in memory.
 * @param chunks the bytes of the export, divided anyhow
 * @param options.dataset whose events they must all be; left out: each event says whose it is
 */
export async function followExport(
  chunks: AsyncIterable<Uint8Array>,
  options: { readonly dataset?: string; readonly noted?: readonly NotedEvent[] } = {},
): Promise<ExportFindings> {
  const verifiers = new Map<string, Verifier>()
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
    let verifier = verifiers.get(dataset)
    if (verifier === undefined) {
      verifier = createVerifier(dataset)
      verifiers.set(dataset, verifier)
    }
    verifier.add(stored)
    finder.add(event, stored.hash)
  }
  if (line === 0) badLine = { line: 1, reason: 'the export is empty' }
  return {
    datasets: [...verifiers].map(([dataset, verifier]) => ({ dataset, verification: verifier.result() })),
    noted: finder.result(),
    ...(badLine !== undefined && { badLine }),
  }
}

/** Whether every line fits and every noted event is there. */
export function isSound({ datasets, noted, badLine }: ExportFindings): boolean {
  return (
    badLine === undefined &&
    datasets.every(({ verification }) => verification.kind === 'sound') &&
    noted.every(({ reason }) => reason === undefined)
  )
}

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
            each.reason = `event ${event.sequence} records an answer of other bytes`
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
  if (hash !== hashOfEvent) return `event ${sequence} is another than the one noted`
  // A session was paid for when it was opened: its answers come with the head that they follow.
  if (answer === undefined || answer.question !== undefined) return undefined
  const debits = event.kind === 'charged' || event.kind === 'shared' || event.kind === 'retried'
  return debits && event.chargeId === answer.chargeId
    ? undefined
    : `event ${sequence} is not what the answer was paid by`
}

/** Whether an event records the answer to the question that an answer answers. */
function answers(event: LedgerEvent, { chargeId, question }: NotedAnswer): boolean {
  const kind = question === undefined ? 'answered' : 'session-answered'
  return event.kind === kind && event.chargeId === chargeId && event.question === question
}

async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  // Other things than "\n" end a line for readers of text, and some of them may stand in an event.
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

// What is no UTF-8 must not pass for the character that would replace it.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The event of a line with the very text that stands in it, or why it holds none. */
function readLine(bytes: Uint8Array): { readonly event: LedgerEvent; readonly stored: StoredEvent } | string {
  if (bytes.length > MAX_LINE_BYTES) return 'the line is longer than any event'
  let line: string
  try {
    line = decoder.decode(bytes)
  } catch {
    return 'the line is no UTF-8'
  }
  const [, canonical, hash] = /^\{"event":(.*),"hash":"([0-9a-f]{64})"\}$/su.exec(line) ?? []
  if (canonical === undefined || hash === undefined) return 'the line is no {"event":…,"hash":"…"}'
  let event: LedgerEvent | null
  try {
    event = JSON.parse(canonical)
  } catch {
    return 'the event is no JSON'
  }
  if (typeof event?.dataset !== 'string') return 'the event names no dataset'
  return { event, stored: { canonical, hash } }
}

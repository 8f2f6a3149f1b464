import type { ChainHead } from '../../contract/chain.ts'
import type { LedgerEvent } from '../../event.ts'

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
  /** True if the chain confirms the event, and the reason concerns the text of the answer only. */
  readonly onlyAnswer?: boolean
}

/** Looks for noted events in a chain. It does not verify the chain; a `Verifier` does. */
export interface NotedEventFinder {
  /** @param hash the hash stored with the event */
  add(event: LedgerEvent, hash: string): void
  /** In the order of the noted events. */
  result(): readonly NotedFinding[]
}

/** Serializes a head for its signature: canonical JSON (RFC 8785) with the version of the layout. */
export function headStatement({ dataset, sequence, hash }: ChainHead): string {
  // With sorted fields, this is the canonical form.
  return JSON.stringify({ dataset, hash, sequence, version: 1 })
}

/** A noted event, with its signature if it is signed. */
export interface SignedNote {
  readonly noted: NotedEvent
  readonly signature?: string
}

/** A head, a receipt or an answer that no service writes as it is. */
export interface ChangedNote {
  /** The rule that it violates. */
  readonly changed: string
}

/**
 * Divides a text into JSON documents: it is one, or each of its lines is one.
 * @throws SyntaxError that says what is not JSON
 */
export function readDocuments(
  text: string,
): readonly { readonly document: unknown; readonly text: string }[] {
  try {
    return [{ document: JSON.parse(text), text }]
  } catch {
    const lines = text.split('\n').filter((line) => line.trim() !== '')
    if (lines.length < 2) throw new SyntaxError('is not JSON')
    return lines.map((line, place) => {
      try {
        return { document: JSON.parse(line), text: line }
      } catch {
        throw new SyntaxError(`is not JSON in line ${place + 1}`)
      }
    })
  }
}

/**
 * Reads a head, a receipt, or an answer with its receipt.
 * @param options.dataset dataset of a receipt that names none
 * @param options.answerHash SHA-256 of the bytes of the document, in case that it is an answer
 * @throws SyntaxError for a document that is none of them, or whose dataset is unknown
 */
export function readNoted(
  document: unknown,
  options: { readonly dataset?: string | undefined; readonly answerHash: string },
): SignedNote | ChangedNote {
  const fields = fieldsOf(document)
  const { receipt, id, session, question, dataset = options.dataset } = fields
  const { sequence, hash, signature } = receipt === undefined ? fields : fieldsOf(receipt)
  const chargeId = id ?? session
  if (receipt === undefined && (sequence === undefined || hash === undefined))
    throw new SyntaxError('is no head, receipt or answer')
  if (typeof dataset !== 'string') throw new SyntaxError('names no dataset')
  if (typeof sequence !== 'number' || !Number.isSafeInteger(sequence) || sequence < 1)
    return { changed: '"sequence" must be the number of an event' }
  if (typeof hash !== 'string' || !/^[0-9a-f]{64}$/.test(hash))
    return { changed: '"hash" must be a SHA-256 in hexadecimal' }
  const head = { dataset, sequence, hash }
  const signed = typeof signature === 'string' ? { signature } : {}
  if (receipt === undefined) return { noted: head, ...signed }
  if (typeof chargeId !== 'string') return { changed: 'the answer has no id' }
  const { answerHash } = options
  const answer = { chargeId, answerHash, ...(typeof question === 'number' && { question }) }
  return { noted: { ...head, answer }, ...signed }
}

function fieldsOf(document: unknown): Readonly<Record<string, unknown>> {
  return typeof document === 'object' && document !== null ? { ...document } : {}
}

/** Creates a finder of noted events. */
export function findNotedEvents(noted: readonly NotedEvent[]): NotedEventFinder {
  const sought = noted.map(
    (each): Sought => ({ noted: each, found: false, answered: each.answer === undefined }),
  )
  return {
    add(event, hash) {
      for (const each of sought) compare(each, event, hash)
    },
    result: () => sought.map(findingOf),
  }
}

interface Sought {
  readonly noted: NotedEvent
  found: boolean
  answered: boolean
  reason?: string
}

function compare(sought: Sought, event: LedgerEvent, hash: string): void {
  const { noted, found, answered, reason } = sought
  if (reason !== undefined || event.dataset !== noted.dataset) return
  if (!found) {
    if (event.sequence !== noted.sequence) return
    const against = reasonAgainstReceipt(noted, event, hash)
    if (against === undefined) sought.found = true
    else sought.reason = against
  } else if (!answered && noted.answer !== undefined && answers(event, noted.answer)) {
    sought.answered = true
    if (event.answerHash !== noted.answer.answerHash)
      sought.reason = `event ${event.sequence} records another answer`
  }
}

function findingOf({ noted, found, answered, reason: against }: Sought): NotedFinding {
  const missing = found ? 'no later event records the answer' : `event ${noted.sequence} is missing`
  const reason = against ?? (found && answered ? undefined : missing)
  return { noted, ...(reason !== undefined && { reason, onlyAnswer: found }) }
}

function reasonAgainstReceipt(
  { sequence, hash, answer }: NotedEvent,
  event: LedgerEvent,
  hashOfEvent: string,
): string | undefined {
  if (hash !== hashOfEvent) return `event ${sequence} has another hash`
  // A session is paid when it is opened. The receipt of one of its answers is the head before the answer.
  if (answer === undefined || answer.question !== undefined) return undefined
  const debits = ['charged', 'shared', 'inferred', 'retried'].includes(event.kind)
  return debits && event.chargeId === answer.chargeId
    ? undefined
    : `event ${sequence} does not debit the charge of the answer`
}

/** True if an event records the answer to the same question. */
function answers(event: LedgerEvent, { chargeId, question }: NotedAnswer): boolean {
  const kind = question === undefined ? 'answered' : 'session-answered'
  return event.kind === kind && event.chargeId === chargeId && event.question === question
}

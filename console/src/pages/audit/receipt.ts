import { ADMINISTRATION, type Chain } from './chain.ts'
import { sha256 } from './digest.ts'

/** Event that was recorded outside the ledger: a head, or the receipt of an answer. */
export interface NotedEvent {
  /** Absent for a receipt of a session's question, which names no dataset. */
  readonly dataset?: string
  readonly sequence: number
  readonly hash: string
  readonly signature?: string
  /** Answer that came with the receipt. */
  readonly answer?: {
    /** Id of the charge; for an answer of a session, id of the session. */
    readonly chargeId: string
    readonly question?: number
    /** Text that was pasted. */
    readonly text: string
  }
}

/** Result of looking for a noted event in a chain. */
export interface NotedFinding {
  /** True if the chain contains the event, and it debits the charge of the answer. */
  readonly confirmed: boolean
  readonly text: string
  /**
   * Only for answers: `same` if the ledger has the hash of the pasted text, `other` if it has the hash of another text,
   * `missing` if it has none.
   */
  readonly answer?: 'same' | 'other' | 'missing'
}

type Json = Readonly<Record<string, unknown>>

/**
 * Reads heads, receipts and answers from a text: one JSON document, or one on each line.
 * @throws SyntaxError that says what is not a receipt
 */
export function readNoted(text: string): readonly NotedEvent[] {
  const whole = objectOf(text)
  if (whole !== undefined) return [notedIn(whole, text)]
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) throw new SyntaxError('Paste a head, a receipt or an answer.')
  return lines.map((line, place) => {
    const document = objectOf(line)
    if (document === undefined) throw new SyntaxError(`Line ${place + 1} is not a JSON document.`)
    return notedIn(document, line)
  })
}

function objectOf(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined
  } catch {
    return undefined
  }
}

function notedIn(document: Json, text: string): NotedEvent {
  const { receipt, dataset, id, session, question } = document
  const named = typeof dataset === 'string' ? { dataset } : {}
  if (typeof receipt !== 'object' || receipt === null) return { ...named, ...eventIn(document) }
  const event = eventIn(receipt as Json)
  if (typeof session === 'string' && typeof question === 'number')
    return { ...named, ...event, answer: { chargeId: session, question, text } }
  return { ...named, ...event, ...(typeof id === 'string' ? { answer: { chargeId: id, text } } : {}) }
}

function eventIn({ sequence, hash, signature }: Json): Pick<NotedEvent, 'sequence' | 'hash' | 'signature'> {
  const isNumber = Number.isSafeInteger(sequence) && Number(sequence) > 0
  if (!isNumber || typeof hash !== 'string' || !/^[0-9a-f]{64}$/.test(hash))
    throw new SyntaxError('A receipt has a `sequence` and a `hash` of 64 hexadecimal digits.')
  return { sequence: Number(sequence), hash, ...(typeof signature === 'string' ? { signature } : {}) }
}

const DEBITS: readonly string[] = ['charged', 'shared', 'retried']

/** Looks for a noted event in a verified chain. */
export async function findNoted(chain: Chain, noted: NotedEvent): Promise<NotedFinding> {
  const { sequence, hash, dataset, answer } = noted
  if (dataset !== undefined && dataset !== chain.dataset)
    return refuted(`It belongs to ${dataset === ADMINISTRATION ? 'the administrative acts' : dataset}.`)
  const event = chain.events[sequence - 1]
  if (event === undefined)
    return refuted(`Event ${sequence} is missing: the chain ends with event ${chain.events.length}.`)
  if (event.hash !== hash) return refuted(`Event ${sequence} has another hash: the ledger was rewritten.`)
  if (answer === undefined) return { confirmed: true, text: `Event ${sequence} is in the ledger.` }
  const { chargeId, question, text } = answer
  // A session is paid when it is opened. The receipt of one of its answers is the head before the answer.
  if (question === undefined && !(DEBITS.includes(event.kind) && event.chargeId === chargeId))
    return refuted(`Event ${sequence} does not debit the charge of this answer.`)
  const kind = question === undefined ? 'answered' : 'session-answered'
  const recorded = chain.events
    .slice(sequence)
    .find((each) => each.kind === kind && each.chargeId === chargeId && each.question === question)
  return {
    confirmed: true,
    text:
      question === undefined
        ? `Event ${sequence} debits this answer.`
        : `Event ${sequence} is in the ledger, before this answer.`,
    answer: await sameText(recorded?.answerHash, text),
  }
}

async function sameText(recorded: string | undefined, text: string): Promise<'same' | 'other' | 'missing'> {
  if (recorded === undefined) return 'missing'
  // Pasting may add a line break at the end. The answer itself has none.
  const hashes = await Promise.all([sha256(text), sha256(text.trim())])
  return hashes.includes(recorded) ? 'same' : 'other'
}

function refuted(text: string): NotedFinding {
  return { confirmed: false, text }
}

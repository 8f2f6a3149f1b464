import { applyEvent, type Balances, emptyBalances } from './balances.ts'
import { sha256 } from './digest.ts'
import { type ExportedEvent, type ExportLine, linesOf, readLine } from './export-lines.ts'

/*
 * Verification of an export of the ledger in the browser. The rules are those of docs/ledger.md. The code shares
 * nothing with the service, so that neither repeats a mistake of the other.
 */

/** Name of the chain of administrative acts, in the place of a dataset id. */
export const ADMINISTRATION = '@administration'

const FIRST_PREVIOUS_HASH = '0'.repeat(64)

/** Kinds of events that contain the hash of a request. */
const REFERRING: readonly string[] = ['charged', 'shared', 'session-answered']

/** Time after which the verification lets the browser draw the page and react to the person. */
const PAUSE_AFTER_MS = 50

/** Lines whose hashes are computed at the same time. */
const BATCH_SIZE = 256

/** Facts about a verified event with which receipts are checked. */
export interface VerifiedEvent extends Pick<ExportedEvent, 'kind' | 'chargeId' | 'question' | 'answerHash'> {
  readonly hash: string
}

/** Chain of events that was verified. */
export interface Chain extends Readonly<Balances> {
  readonly dataset: string
  /** In order: the event with sequence 1 is the first. */
  readonly events: readonly VerifiedEvent[]
  readonly headHash: string
  /** Number of events that contain the hash of a request, and of those whose request was compared with it. */
  readonly requests: { readonly referredTo: number; readonly verified: number }
}

export type ExportVerification =
  | { readonly kind: 'sound'; readonly chain: Chain }
  /** The first line that does not fit, counted from 1. */
  | { readonly kind: 'broken'; readonly line: number; readonly reason: string }

export interface VerifyOptions {
  /** Dataset of all events, or {@link ADMINISTRATION}. */
  readonly dataset: string
  /** Receives the number of events that were verified so far. */
  readonly onProgress?: (events: number) => void
  readonly signal?: AbortSignal
}

/**
 * Verifies an export: every hash, the chain of the hashes, the requests beside the events, and that no charge exceeds
 * the cap and every answer has its charge. Events that are missing at the end are found by comparison with a head that
 * was noted earlier only.
 * @param chunks the bytes of the export
 * @throws the reason of `signal` once it is aborted
 */
export async function verifyExport(
  chunks: AsyncIterable<Uint8Array>,
  { dataset, onProgress, signal }: VerifyOptions,
): Promise<ExportVerification> {
  const verifier = createVerifier(dataset)
  let batch: (ExportLine | string)[] = []
  let resumedAt = performance.now()
  for await (const bytes of linesOf(chunks)) {
    batch.push(readLine(bytes))
    if (batch.length < BATCH_SIZE) continue
    signal?.throwIfAborted()
    const fault = await verifier.add(batch)
    if (fault !== undefined) return fault
    onProgress?.(verifier.events.length)
    batch = []
    if (performance.now() - resumedAt > PAUSE_AFTER_MS) {
      await new Promise((resume) => setTimeout(resume))
      resumedAt = performance.now()
    }
  }
  return (await verifier.add(batch)) ?? verifier.end()
}

type Fault = Extract<ExportVerification, { kind: 'broken' }>

function createVerifier(dataset: string) {
  const events: VerifiedEvent[] = []
  const balances = emptyBalances()
  let headHash = FIRST_PREVIOUS_HASH
  let referredTo = 0
  let verified = 0
  let lineWithoutRequest: number | undefined

  const reasonAgainst = ({ line, hashes }: Hashed): string | undefined => {
    const { event, hash, request } = line
    if (hashes.event !== hash) return 'the hash does not match the event'
    if (event.dataset !== dataset) return 'the event belongs to another dataset'
    if (event.sequence !== events.length + 1) return `the event has sequence ${event.sequence}`
    if (event.previousHash !== headHash) return 'the previous hash does not match the event before it'
    if (request !== undefined) {
      if (!REFERRING.includes(event.kind)) return 'the event refers to no request'
      if (hashes.request !== event.requestHash) return 'the request does not match its hash'
    }
    if (dataset === ADMINISTRATION) return undefined
    try {
      return applyEvent(balances, event)
    } catch {
      return 'the event has no valid amount'
    }
  }

  return {
    events,
    /** Adds lines in order. Returns the first fault. */
    async add(lines: readonly (ExportLine | string)[]): Promise<Fault | undefined> {
      const first = events.length + 1
      for (const [place, line] of (await Promise.all(lines.map(hashed))).entries()) {
        const reason = typeof line === 'string' ? line : reasonAgainst(line)
        if (typeof line === 'string' || reason !== undefined)
          return { kind: 'broken', line: first + place, reason: reason ?? '' }
        const { event, hash, request } = line.line
        if (REFERRING.includes(event.kind)) referredTo += 1
        if (request !== undefined) verified += 1
        else if (REFERRING.includes(event.kind)) lineWithoutRequest ??= first + place
        events.push(noted(event, hash))
        headHash = hash
      }
      return undefined
    },
    end(): ExportVerification {
      if (events.length === 0) return { kind: 'broken', line: 1, reason: 'the export is empty' }
      // An export of an earlier version of the software has no requests at all.
      if (verified > 0 && lineWithoutRequest !== undefined)
        return { kind: 'broken', line: lineWithoutRequest, reason: 'the request is missing' }
      const requests = { referredTo, verified }
      return { kind: 'sound', chain: { dataset, events, headHash, requests, ...balances } }
    },
  }
}

/** Line with the hashes of its texts. */
interface Hashed {
  readonly line: ExportLine
  readonly hashes: { readonly event: string; readonly request: string | undefined }
}

async function hashed(line: ExportLine | string): Promise<Hashed | string> {
  if (typeof line === 'string') return line
  const { canonical, request } = line
  const event = await sha256(canonical)
  return { line, hashes: { event, request: request === undefined ? undefined : await sha256(request) } }
}

function noted({ kind, chargeId, question, answerHash }: ExportedEvent, hash: string): VerifiedEvent {
  return {
    hash,
    kind,
    ...(chargeId === undefined ? {} : { chargeId }),
    ...(question === undefined ? {} : { question }),
    ...(answerHash === undefined ? {} : { answerHash }),
  }
}

import { defined } from '../../../privacy/defined.ts'
import type { StoredEvent } from '../../contract/chain.ts'
import type { LedgerEvent } from '../../event.ts'
import { followMemberships } from './memberships.ts'
import { findNotedEvents, type NotedEvent, type NotedFinding } from './noted-events.ts'
import { followRequests, type RequestCounts, type RequestFollower, withFault } from './requests.ts'
import { createVerifier, type Verification, type Verifier } from './verifier.ts'

/** An event with the text of its request, if it refers to one that is stored. */
export interface EventWithRequest extends StoredEvent {
  readonly request?: string
}

/** The result of verifying an export. {@link isSound} summarizes it. */
export interface ExportFindings {
  /** In the order of their first events. */
  readonly datasets: readonly {
    readonly dataset: string
    readonly verification: Verification
    readonly requests: RequestCounts
    /** The number of answers that were recomputed from their releases; an export has no answers. */
    readonly inferred?: number
  }[]
  readonly noted: readonly NotedFinding[]
  /** The first line without an event, counted from 1. */
  readonly badLine?: { readonly line: number; readonly reason: string }
}

export interface ExportOptions {
  /** Computes the SHA-256 of a text's UTF-8, in hexadecimal. */
  readonly sha256: (text: string) => string | Promise<string>
  /** The dataset of all events; by default each event names its own. */
  readonly dataset?: string
  readonly noted?: readonly NotedEvent[]
  /** Receives the number of lines so far. The verification continues when it resolves, and stops if it rejects. */
  readonly onProgress?: (lines: number) => void | Promise<void>
}

/**
 * Verifies an export with the events of one or more datasets, and looks for noted events in it. The events themselves
 * are not kept in memory.
 * @param chunks the bytes of the export
 */
export async function followExport(
  chunks: AsyncIterable<Uint8Array>,
  { sha256, dataset, noted = [], onProgress }: ExportOptions,
): Promise<ExportFindings> {
  const chains = new Map<string, { readonly verifier: Verifier; readonly requests: RequestFollower }>()
  const finder = findNotedEvents(noted)
  const memberships = followMemberships()
  let badLine: ExportFindings['badLine']
  let line = 0
  for await (const complete of linesOf(chunks)) {
    for (const read of await Promise.all(complete.map((bytes) => readLine(bytes, sha256)))) {
      line += 1
      if (typeof read === 'string') {
        badLine ??= { line, reason: read }
        continue
      }
      const { event, stored, digest, requestDigest } = read
      const name = dataset ?? event.dataset
      let chain = chains.get(name)
      if (chain === undefined) {
        chain = { verifier: createVerifier(name), requests: followRequests({ required: false }) }
        chains.set(name, chain)
      }
      chain.verifier.add(stored, digest)
      chain.requests.add(event, requestDigest)
      finder.add(event, stored.hash)
      memberships.add(event, stored.hash)
    }
    await onProgress?.(line)
  }
  if (line === 0) badLine = { line: 1, reason: 'the export is empty' }
  const apart = memberships.result()
  return defined({
    datasets: [...chains].map(([name, { verifier, requests: follower }]) => {
      const { requests, broken } = follower.result()
      const alone = withFault(verifier.result(), broken)
      return { dataset: name, verification: withFault(alone, apart.get(name)), requests }
    }),
    noted: finder.result(),
    badLine,
  })
}

/** True if all lines and chains are valid and every noted event was confirmed. */
export function isSound({ datasets, noted, badLine }: ExportFindings): boolean {
  return (
    badLine === undefined &&
    datasets.every(({ verification }) => verification.kind === 'sound') &&
    noted.every(({ reason }) => reason === undefined)
  )
}

/** Longest accepted line. Events are much shorter. */
const MAX_LINE_BYTES = 1 << 24

const NEWLINE = 0x0a

/** Yields the lines that each chunk completes. Only "\n" ends a line: events may contain other line breaks. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<readonly Uint8Array[]> {
  let rest = new Uint8Array()
  for await (const chunk of chunks) {
    const lines: Uint8Array[] = []
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      lines.push(joined(rest, chunk.subarray(start, end)))
      rest = new Uint8Array()
      start = end + 1
    }
    rest = joined(rest, chunk.subarray(start))
    yield lines
    if (rest.length > MAX_LINE_BYTES) break
  }
  if (rest.length > 0) yield [rest]
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(one.length + other.length)
  bytes.set(one)
  bytes.set(other, one.length)
  return bytes
}

// Invalid UTF-8 must not be read as the replacement character.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A line of an export: its event, the unchanged texts of it and of its request, and the digests of both. */
interface ExportLine {
  readonly event: LedgerEvent
  readonly stored: StoredEvent
  readonly digest: string
  readonly requestDigest: string | undefined
}

/** Reads a line. Returns the reason if the line is invalid. */
async function readLine(bytes: Uint8Array, sha256: ExportOptions['sha256']): Promise<ExportLine | string> {
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
  const event = parsed(canonical) as LedgerEvent | null | undefined
  if (event === undefined) return 'the event is not JSON'
  if (typeof event?.dataset !== 'string') return 'the event names no dataset'
  const request = quoted === undefined ? undefined : parsed(quoted)
  // Escapes of lone surrogates would be hashed as the replacement character.
  if (quoted !== undefined && !(typeof request === 'string' && request.isWellFormed()))
    return 'the request is not a JSON string'
  return {
    event,
    stored: { canonical, hash },
    digest: await sha256(canonical),
    requestDigest: typeof request === 'string' ? await sha256(request) : undefined,
  }
}

/** Parses JSON; `undefined` if the text is none. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

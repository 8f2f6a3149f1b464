/** Event of an export, as far as it is verified here. */
export interface ExportedEvent {
  readonly dataset: string
  readonly sequence: number
  readonly previousHash: string
  readonly kind: string
  readonly principal: string
  readonly chargeId?: string
  readonly question?: number
  readonly requestHash?: string
  readonly answerHash?: string
  readonly accounting?: string
  readonly loss?: unknown
  readonly limit?: unknown
}

/** Line of an export: the event, and the unchanged texts that were hashed. */
export interface ExportLine {
  readonly event: ExportedEvent
  readonly canonical: string
  readonly hash: string
  readonly request?: string
}

/** Longest accepted line. Events are much shorter. */
const MAX_LINE_BYTES = 1 << 24

const NEWLINE = 0x0a

// Invalid UTF-8 must not be read as the replacement character.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Yields the lines of an export. Only "\n" ends a line: events may contain other line breaks. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest = new Uint8Array()
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      yield joined(rest, chunk.subarray(start, end))
      rest = new Uint8Array()
      start = end + 1
    }
    rest = joined(rest, chunk.subarray(start))
    if (rest.length > MAX_LINE_BYTES) break
  }
  if (rest.length > 0) yield rest
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(one.length + other.length)
  bytes.set(one)
  bytes.set(other, one.length)
  return bytes
}

/** Reads a line of an export. Returns the reason if it is not one. */
export function readLine(bytes: Uint8Array): ExportLine | string {
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
  const event = parsed(canonical) as ExportedEvent | undefined
  if (typeof event?.dataset !== 'string') return 'the event is not JSON, or names no dataset'
  if (quoted === undefined) return { event, canonical, hash }
  const request = parsed(quoted)
  // Escapes of lone surrogates would be hashed as the replacement character.
  return typeof request === 'string' && !/\p{Surrogate}/u.test(request)
    ? { event, canonical, hash, request }
    : 'the request is not a JSON string'
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) ?? undefined
  } catch {
    return undefined
  }
}

import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { DEFAULT_BOUNDS, requireRows } from '../ingest-bounds.ts'
import type { Examination } from './format.ts'

/** The shape of a CSV file: the names in its header and the number of records below it. */
export interface CsvShape {
  readonly header: readonly string[]
  readonly records: number
}

const QUOTE = 0x22
const COMMA = 0x2c
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const LARGEST_HEADER_BYTES = 1_000_000

type State = 'field-start' | 'unquoted' | 'quoted' | 'quote-in-quoted' | 'carriage-return'

/** The state of reading a file byte by byte. */
interface Scan {
  state: State
  /** The commas of the record so far. */
  commas: number
  /** True while the line is empty. */
  blank: boolean
  records: number
  headerBytes: number[]
  header: readonly string[] | undefined
  headerCommas: number
}

/**
 * Reads a file once and checks that it is CSV as RFC 4180 defines it, with LF or CRLF line ends and an optional byte
 * order mark. DuckDB's reader accepts more (it silently drops an unterminated last record), so the meaning of such a
 * file would be ambiguous.
 *
 * @returns `undefined` for a file that is no such CSV, or whose records differ from its header in length.
 * @throws Refusal for more records than the bounds allow, and the signal's reason once it has aborted.
 */
export async function readCsvShape(
  path: string,
  { signal, onProgress, bounds }: Examination = { bounds: DEFAULT_BOUNDS },
): Promise<CsvShape | undefined> {
  const scan: Scan = {
    state: 'field-start',
    commas: 0,
    blank: true,
    records: 0,
    headerBytes: [],
    header: undefined,
    headerCommas: 0,
  }
  const { size } = await stat(path)
  let bytes = 0
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
    signal?.throwIfAborted()
    if (!readChunk(scan, chunk)) return undefined
    requireRows(scan.records, bounds)
    bytes += chunk.length
    onProgress?.({ phase: 'check', fraction: bytes / size })
  }
  return endFile(scan)
}

/** @returns false for a chunk that makes the file malformed. */
function readChunk(scan: Scan, chunk: Buffer): boolean {
  for (let position = 0; position < chunk.length; position += 1) {
    const byte = chunk[position]
    if (byte === undefined) break
    const isHeader = scan.header === undefined
    if (isHeader) {
      if (scan.headerBytes.length >= LARGEST_HEADER_BYTES) return false
      scan.headerBytes.push(byte)
    }
    if (scan.state !== 'quoted') {
      if (!readByte(scan, byte)) return false
    } else if (byte === QUOTE) {
      scan.state = 'quote-in-quoted'
    } else if (!isHeader) {
      // Skips to the next quote; the bytes of the header are all collected.
      const quote = chunk.indexOf(QUOTE, position)
      if (quote === -1) break
      position = quote
      scan.state = 'quote-in-quoted'
    }
  }
  return true
}

/** @returns false for a byte that makes the file malformed. */
function readByte(scan: Scan, byte: number): boolean {
  if (scan.state === 'carriage-return' && byte !== LINE_FEED) return false
  switch (byte) {
    case QUOTE:
      // A quote may stand at the start of a field, or be the second of a pair.
      if (scan.state === 'unquoted' && !(scan.header === undefined && isByteOrderMark(scan.headerBytes)))
        return false
      scan.state = 'quoted'
      scan.blank = false
      return true
    case COMMA:
      scan.commas += 1
      scan.blank = false
      scan.state = 'field-start'
      return true
    case CARRIAGE_RETURN:
      scan.state = 'carriage-return'
      return true
    case LINE_FEED:
      return endRecord(scan)
    default:
      if (scan.state === 'quote-in-quoted') return false
      scan.state = 'unquoted'
      scan.blank = false
      return true
  }
}

/** @returns false for a record that makes the file malformed. */
function endRecord(scan: Scan): boolean {
  const { commas, blank } = scan
  scan.commas = 0
  scan.blank = true
  scan.state = 'field-start'
  if (scan.header === undefined) {
    scan.header = parseHeader(scan.headerBytes, commas + 1)
    scan.headerCommas = commas
    return !blank && isUtf8(Uint8Array.from(scan.headerBytes))
  }
  // A blank line is a record only if a record is a single field.
  if (blank && scan.headerCommas > 0) return true
  scan.records += 1
  return commas === scan.headerCommas
}

function endFile(scan: Scan): CsvShape | undefined {
  if (scan.state === 'quoted' || scan.state === 'carriage-return') return undefined
  if ((!scan.blank || scan.header === undefined) && !endRecord(scan)) return undefined
  return scan.header && { header: scan.header, records: scan.records }
}

function isByteOrderMark(bytes: readonly number[]): boolean {
  return bytes.length === 4 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}

function parseHeader(bytes: readonly number[], fields: number): readonly string[] {
  // TextDecoder drops the byte order mark.
  const line = new TextDecoder().decode(Uint8Array.from(bytes)).replace(/\r?\n$/, '')
  const matches = Array.from(line.matchAll(/(?:"((?:[^"]|"")*)"|([^",]*))(?:,|$)/gy)).slice(0, fields)
  return matches.map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '')
}

import { isUtf8 } from 'node:buffer'
import type { CsvDialect } from '../../../../core/dataset/dataset.ts'
import { must } from '../../../../privacy/must.ts'
import { requireRecordBytes } from '../bounds.ts'

/** The shape of a CSV text: the names of its columns and the records that hold values. See decision 41. */
export interface CsvShape {
  /** The fields of the header; `column1`, `column2` and so on without one. */
  readonly names: readonly string[]
  readonly records: number
  /** Size of the longest value of each column, in bytes of UTF-8, without the quotes around it. */
  readonly longestValues: readonly number[]
  /** True if each record is one line, and no line between them is blank. */
  readonly recordsAreLines: boolean
  /** The line end of all records; undefined for a single record without one. */
  readonly lineEnd: LineEnd | undefined
}

type LineEnd = 'lf' | 'crlf'

/** Characters of the delimiters of dialects, all of them ASCII. */
export const DELIMITERS: Readonly<Record<CsvDialect['delimiter'], string>> = {
  ',': ',',
  ';': ';',
  '|': '|',
  tab: '\t',
  space: ' ',
}

/** Characters of the quotes of dialects, all of them ASCII; empty for none. */
export const QUOTES: Readonly<Record<CsvDialect['quote'], string>> = { '"': '"', "'": "'", none: '' }

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

type State = 'field-start' | 'unquoted' | 'quoted' | 'quote-in-quoted' | 'carriage-return'

/** The state of reading a text byte by byte. Offsets are from the beginning of the text. */
interface Scan {
  readonly delimiter: number
  /** Undefined if the dialect has no quotes. */
  readonly quote: number | undefined
  readonly hasHeader: boolean
  /** 1 for the bytes that can change the state of an unquoted field. */
  readonly special: Uint8Array
  state: State
  chunkStart: number
  recordStart: number
  fieldStart: number
  /** Doubled quotes in the field so far. */
  doubledQuotes: number
  fieldIsQuoted: boolean
  /** The fields of the record so far, without the one that is read. */
  fields: number
  /** True while the line is empty. */
  blank: boolean
  records: number
  /** The bytes of the text so far, until the first record has ended. */
  firstBytes: Buffer[] | undefined
  firstFields: FieldPlace[]
  names: readonly string[]
  longestValues: number[]
  /** True once a blank line was skipped. */
  skippedBlank: boolean
  recordsAreLines: boolean
  lineEnd: LineEnd | undefined
}

interface FieldPlace {
  readonly start: number
  readonly end: number
  readonly isQuoted: boolean
}

/** Reader of a CSV text in chunks. */
export interface CsvShapeReader {
  /**
   * Reads the next chunk of UTF-8.
   * @returns false if the text is not CSV in this dialect
   * @throws Refusal for a record that is too long.
   */
  read(chunk: Buffer): boolean
  /** The number of records so far. */
  records(): number
  /**
   * Ends the text.
   * @returns `undefined` if it is not CSV in this dialect, or if its records differ in length.
   */
  end(): CsvShape | undefined
}

/**
 * Creates a reader that checks that a text is CSV as RFC 4180 defines it, with LF or CRLF line ends and the delimiter
 * and the quotes of a dialect.
 *
 * DuckDB's strict mode refuses a record with too few or too many fields, text after a closing quote and bytes that are not
 * UTF-8, but not the following. Without an error it drops every record after a quote that is not closed, and all
 * of a text whose line ends differ from those of the header; it skips a blank header; it takes quotes within a field and
 * spaces around quotes; and it drops an empty field too many. The numbers of rows, names and longest values have to be known before it reads, too.
 */
export function createCsvShapeReader(
  dialect: Pick<CsvDialect, 'delimiter' | 'quote' | 'header'>,
): CsvShapeReader {
  const delimiter = DELIMITERS[dialect.delimiter].charCodeAt(0)
  const quote = dialect.quote === 'none' ? undefined : QUOTES[dialect.quote].charCodeAt(0)
  const special = new Uint8Array(256)
  for (const byte of [delimiter, quote, LINE_FEED, CARRIAGE_RETURN]) if (byte !== undefined) special[byte] = 1
  const scan: Scan = {
    ...{ delimiter, quote, hasHeader: dialect.header, special },
    ...{ state: 'field-start', chunkStart: 0, recordStart: 0, fieldStart: 0, doubledQuotes: 0 },
    ...{ fieldIsQuoted: false, fields: 0, blank: true, records: 0 },
    ...{ firstBytes: [], firstFields: [], names: [], longestValues: [] },
    ...{ skippedBlank: false, recordsAreLines: true, lineEnd: undefined },
  }
  return {
    read: (chunk) => readChunk(scan, chunk),
    records: () => scan.records,
    end: () => endText(scan),
  }
}

/** @returns false for a chunk that makes the text malformed. */
function readChunk(scan: Scan, chunk: Buffer): boolean {
  scan.firstBytes?.push(chunk)
  const { special } = scan
  let nextLineFeed = -1
  for (let position = 0; position < chunk.length; position += 1) {
    if (scan.state === 'quoted') {
      const end = endOfQuoted(scan, chunk, position)
      if (scan.recordsAreLines) {
        if (nextLineFeed < position) nextLineFeed = positionOf(chunk, LINE_FEED, position)
        if (nextLineFeed < end) scan.recordsAreLines = false
      }
      position = end
      if (position < chunk.length) scan.state = 'quote-in-quoted'
      continue
    }
    const byte = chunk[position] as number
    if (special[byte] === 1) {
      if (!readSpecial(scan, byte, scan.chunkStart + position)) return false
      continue
    }
    if (scan.state === 'quote-in-quoted' || scan.state === 'carriage-return') return false
    scan.state = 'unquoted'
    scan.blank = false
    while (position + 1 < chunk.length && special[chunk[position + 1] as number] === 0) position += 1
  }
  scan.chunkStart += chunk.length
  requireRecordBytes(scan.chunkStart - scan.recordStart)
  return true
}

/** The position of the next quote, or the end of the chunk. */
function endOfQuoted({ quote }: Scan, chunk: Buffer, from: number): number {
  return quote === undefined ? chunk.length : positionOf(chunk, quote, from)
}

function positionOf(chunk: Buffer, byte: number, from: number): number {
  const position = chunk.indexOf(byte, from)
  return position === -1 ? chunk.length : position
}

/** @returns false for a byte that makes the text malformed. */
function readSpecial(scan: Scan, byte: number, offset: number): boolean {
  if (scan.state === 'carriage-return' && byte !== LINE_FEED) return false
  switch (byte) {
    case scan.delimiter:
      endField(scan, offset)
      scan.fields += 1
      scan.blank = false
      startField(scan, offset + 1)
      return true
    case scan.quote:
      return readQuote(scan)
    case CARRIAGE_RETURN:
      endField(scan, offset)
      scan.state = 'carriage-return'
      return true
    default:
      return endLine(scan, offset)
  }
}

/** All lines must end alike. */
function endLine(scan: Scan, offset: number): boolean {
  const lineEnd = scan.state === 'carriage-return' ? 'crlf' : 'lf'
  if (lineEnd === 'lf') endField(scan, offset)
  scan.lineEnd ??= lineEnd
  return scan.lineEnd === lineEnd && endRecord(scan, offset + 1)
}

/** A quote may be at the start of a field, or be the second of a pair. */
function readQuote(scan: Scan): boolean {
  if (scan.state === 'unquoted') return false
  if (scan.state === 'quote-in-quoted') scan.doubledQuotes += 1
  scan.state = 'quoted'
  scan.fieldIsQuoted = true
  scan.blank = false
  return true
}

function startField(scan: Scan, offset: number): void {
  scan.state = 'field-start'
  scan.fieldStart = offset
  scan.doubledQuotes = 0
  scan.fieldIsQuoted = false
}

function endField(scan: Scan, end: number): void {
  const { fieldStart: start, fieldIsQuoted: isQuoted, fields, doubledQuotes } = scan
  if (scan.firstBytes !== undefined) {
    scan.firstFields.push({ start, end, isQuoted })
    if (scan.hasHeader) return
  }
  const size = end - start - (isQuoted ? 2 + doubledQuotes : 0)
  if (size > (scan.longestValues[fields] ?? 0)) scan.longestValues[fields] = size
}

/** @returns false for a record that makes the text malformed. */
function endRecord(scan: Scan, next: number): boolean {
  const { fields, blank, recordStart } = scan
  scan.fields = 0
  scan.blank = true
  scan.recordStart = next
  startField(scan, next)
  requireRecordBytes(next - recordStart)
  if (scan.firstBytes !== undefined) return !blank && endFirstRecord(scan)
  // A blank line is a record only if a record is a single field.
  if (blank && scan.names.length > 1) {
    scan.skippedBlank = true
    return true
  }
  if (scan.skippedBlank) scan.recordsAreLines = false
  scan.records += 1
  return fields + 1 === scan.names.length
}

/** Takes the names of the columns from the first record, or their number if it has values. */
function endFirstRecord(scan: Scan): boolean {
  const bytes = Buffer.concat(must(scan.firstBytes, 'the first record'))
  const first = bytes.subarray(0, scan.firstFields.at(-1)?.end)
  scan.firstBytes = undefined
  if (!isUtf8(first)) return false
  if (!scan.hasHeader) {
    scan.names = scan.firstFields.map((_, index) => `column${index + 1}`)
    scan.records = 1
    return true
  }
  const quote = scan.quote === undefined ? '' : String.fromCharCode(scan.quote)
  scan.names = scan.firstFields.map(({ start, end, isQuoted }) => {
    const text = first.toString('utf8', start, end)
    return isQuoted ? text.slice(1, -1).replaceAll(quote + quote, quote) : text
  })
  return true
}

function endText(scan: Scan): CsvShape | undefined {
  if (scan.state === 'quoted' || scan.state === 'carriage-return') return undefined
  if (!scan.blank || scan.firstBytes !== undefined) {
    endField(scan, scan.chunkStart)
    if (!endRecord(scan, scan.chunkStart)) return undefined
  }
  const { names, records, recordsAreLines, lineEnd } = scan
  const longestValues = names.map((_, i) => scan.longestValues[i] ?? 0)
  return { names, records, longestValues, recordsAreLines, lineEnd }
}

import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'

/** What a CSV file looks like from outside: the names in its header and the number of records below it. */
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

/**
 * Reads a file once and checks that it is CSV by the letter of RFC 4180, with LF or CRLF line ends and, in the first
 * bytes, perhaps a byte order mark. DuckDB's reader forgives more than that (it drops an unterminated last record in
 * silence), so that a file's meaning would be a guess.
 *
 * @returns `undefined` where the file is no such CSV, or where its records are not all as long as its header.
 */
export async function readCsvShape(path: string): Promise<CsvShape | undefined> {
  const headerBytes: number[] = []
  let header: readonly string[] | undefined
  let state: State = 'field-start'
  let commas = 0
  let blank = true
  let records = 0
  let headerCommas = 0
  let wellFormed = true

  const endRecord = (): void => {
    if (header === undefined) {
      header = parseHeader(headerBytes, commas + 1)
      headerCommas = commas
      if (blank || !isUtf8(Uint8Array.from(headerBytes))) wellFormed = false
    } else if (!blank || headerCommas === 0) {
      // A blank line is a record only where a record is one field.
      records += 1
      if (commas !== headerCommas) wellFormed = false
    }
    commas = 0
    blank = true
    state = 'field-start'
  }

  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
    for (let position = 0; position < chunk.length; position += 1) {
      const byte = chunk[position]
      if (byte === undefined) break
      if (header === undefined) {
        if (headerBytes.length >= LARGEST_HEADER_BYTES) return undefined
        headerBytes.push(byte)
      }
      if (state === 'quoted') {
        const quote = byte === QUOTE ? position : header === undefined ? -1 : chunk.indexOf(QUOTE, position)
        if (quote === -1) {
          if (header !== undefined) break
        } else {
          position = quote
          state = 'quote-in-quoted'
        }
        continue
      }
      if (state === 'carriage-return' && byte !== LINE_FEED) return undefined
      switch (byte) {
        case QUOTE:
          // Only at the start of a field, or as the second of a doubled pair.
          if (state === 'unquoted') {
            if (!(header === undefined && isByteOrderMark(headerBytes))) return undefined
          }
          state = 'quoted'
          blank = false
          break
        case COMMA:
          commas += 1
          blank = false
          state = 'field-start'
          break
        case CARRIAGE_RETURN:
          state = 'carriage-return'
          break
        case LINE_FEED:
          endRecord()
          break
        default:
          if (state === 'quote-in-quoted') return undefined
          state = 'unquoted'
          blank = false
      }
      if (!wellFormed) return undefined
    }
  }
  if (state === 'quoted' || state === 'carriage-return') return undefined
  if (!blank || header === undefined) endRecord()
  return wellFormed && header !== undefined ? { header, records } : undefined
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

import { open } from 'node:fs/promises'
import type { Column } from '../../core/dataset/dataset.ts'
import { dateText, instantText } from '../../core/dataset/iso-time.ts'
import { formatDecimal } from '../../privacy/decimal.ts'
import { entry } from '../../privacy/must.ts'
import { refuseField } from '../../privacy/refusal.ts'
import type { DummyDeclaration, DummySize, DummyValue } from './declaration.ts'
import { populationRows } from './population.ts'
import { dummyRows } from './rows.ts'

/**
 * Format of made-up rows as text. `source` is CSV as ingestion reads it. `csv` is for people, who may open it in a spreadsheet:
 * a text that would be a formula there begins with an apostrophe.
 */
export type DummyTextFormat = 'csv' | 'json' | 'source'

/** Number of rows in a piece. */
const ROWS_PER_PIECE = 500

/** Number of decimal digits of a step. */
const FRACTION_DIGITS = 9
const ONE_NANO = 10n ** BigInt(FRACTION_DIGITS)

/**
 * Generates the text of made-up rows in pieces: CSV (RFC 4180 in UTF-8 with line feeds, where an empty field without quotes
 * is NULL), or a JSON array of objects, one on each line. The same arguments give the same text on every machine.
 */
export function* dummyText(
  declaration: DummyDeclaration,
  size: DummySize,
  format: DummyTextFormat,
  rows: Iterable<readonly DummyValue[]> = dummyRows(declaration, size),
): Generator<string> {
  const { columns } = declaration
  const isJson = format === 'json'
  const shown = format === 'csv' ? withoutFormula : (text: string) => text
  let piece = isJson ? '[' : columns.map(({ name }) => csvField(shown(name))).join(',')
  let count = 0
  for (const values of rows) {
    const fields = columns.map((column, i) => {
      const value = entry(values, i)
      return isJson ? jsonField(column, value) : csvValue(column, value, shown)
    })
    piece += isJson ? `${count === 0 ? '' : ','}\n{${fields.join(',')}}` : `\n${fields.join(',')}`
    count += 1
    if (count % ROWS_PER_PIECE > 0) continue
    yield piece
    piece = ''
  }
  yield isJson ? `${piece}\n]\n` : `${piece}\n`
}

function jsonField(column: Column, value: DummyValue): string {
  const text = value === null ? 'null' : textOf(column, value)
  return `${JSON.stringify(column.name)}:${value === null || isLiteral(column) ? text : JSON.stringify(text)}`
}

function csvValue(column: Column, value: DummyValue, shown: (text: string) => string): string {
  if (value === null) return ''
  return isLiteral(column) ? textOf(column, value) : csvField(shown(textOf(column, value)))
}

/** Beginnings that make a formula of a cell, also as full-width characters: those that exports escape (csv-stringify). */
const FORMULA = /^[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/

function withoutFormula(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text
}

/** Quotes a field where it must be. An empty text needs quotes, because without them it is NULL. */
function csvField(text: string): string {
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** True for numbers and booleans. */
function isLiteral({ type }: Column): boolean {
  return type === 'integer' || type === 'number' || type === 'boolean'
}

/** Converts a stored value to its text. Numbers are exact decimals, dates and timestamps are ISO 8601. */
function textOf(column: Column, value: NonNullable<DummyValue>): string {
  switch (column.type) {
    case 'integer':
    case 'number':
      return formatDecimal(BigInt(value) * column.stepNano, FRACTION_DIGITS)
    case 'date':
      return dateText((BigInt(value) * column.stepNano) / ONE_NANO)
    case 'timestamp':
      return instantText((BigInt(value) * column.stepNano) / ONE_NANO)
    case 'category':
      return entry(column.categories, Number(value))
    case 'boolean':
    case 'string':
    case 'identifier':
      return String(value)
  }
}

/** Made-up rows to write, and the file to write them to. It can be sent to a worker thread (structured clone). */
export interface DummyFileInput {
  readonly declaration: DummyDeclaration
  readonly size: DummySize
  readonly format: DummyTextFormat
  /** Rows of a population with this seed, instead of those that follow from the declaration. */
  readonly of?: 'population' | undefined
  /** Absolute path of a file that does not exist. */
  readonly file: string
}

/** Largest size of a file. Long categories and names can make rows large. */
const MOST_BYTES = 256 * 2 ** 20

/**
 * Writes made-up rows to a file, in pieces.
 * @throws Refusal `invalid-request` if the text is too large; part of the file is written then. It depends on the
 * declaration, the number of rows and the seed alone.
 */
export async function writeDummyFile({ declaration, size, format, of, file }: DummyFileInput): Promise<void> {
  const rows = of === 'population' ? populationRows(size) : undefined
  const handle = await open(file, 'wx', 0o600)
  try {
    let bytes = 0
    for (const piece of dummyText(declaration, size, format, rows)) {
      bytes += Buffer.byteLength(piece)
      if (bytes > MOST_BYTES)
        throw refuseField(
          'invalid-request',
          'rows',
          `must be fewer: their text has more than ${MOST_BYTES} bytes`,
        )
      await handle.writeFile(piece)
    }
  } finally {
    await handle.close()
  }
}

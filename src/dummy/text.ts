import { dateText, instantText } from '../catalog/iso-time.ts'
import { formatDecimal } from '../privacy/decimal.ts'
import type { DummyColumn, DummyDeclaration, DummySize } from './declaration.ts'
import { type DummyValue, dummyRows } from './rows.ts'

/** Format of made-up rows as text. */
export type DummyTextFormat = 'csv' | 'json'

/** Number of rows in a piece. */
const ROWS_PER_PIECE = 500

/** Number of decimal digits of a step. */
const FRACTION_DIGITS = 9
const ONE_NANO = 10n ** BigInt(FRACTION_DIGITS)

/** A value in a file: its text, and true if the text is a number or a boolean. NULL has none. */
type Shown = { readonly text: string; readonly isLiteral: boolean } | null

/** The text of one format. */
interface TextFormat {
  readonly begin: (names: readonly string[]) => string
  readonly row: (names: readonly string[], values: readonly Shown[]) => string
  readonly separator: string
  readonly end: string
}

const FORMATS: Readonly<Record<DummyTextFormat, TextFormat>> = {
  // RFC 4180 in UTF-8 with line feeds. An empty field without quotes is NULL.
  csv: {
    begin: (names) => `${names.map(csvField).join(',')}\n`,
    row: (_, values) => `${values.map(csvValue).join(',')}\n`,
    separator: '',
    end: '',
  },
  // An array of objects, one on each line.
  json: {
    begin: () => '[\n',
    row: (names, values) =>
      `{${values.map((shown, i) => `${JSON.stringify(names[i])}:${jsonValue(shown)}`).join(',')}}`,
    separator: ',\n',
    end: '\n]\n',
  },
}

/** Generates the text of made-up rows in pieces. The same arguments give the same text on every machine. */
export function* dummyText(
  declaration: DummyDeclaration,
  size: DummySize,
  format: DummyTextFormat,
): Generator<string> {
  const { columns } = declaration
  const { begin, row, separator, end } = FORMATS[format]
  const names = columns.map(({ name }) => name)
  let piece = [begin(names)]
  let count = 0
  for (const values of dummyRows(declaration, size)) {
    if (count > 0) piece.push(separator)
    const shown = columns.map((column, i) => shownValue(column, values[i] ?? null))
    piece.push(row(names, shown))
    count += 1
    if (count % ROWS_PER_PIECE > 0) continue
    yield piece.join('')
    piece = []
  }
  yield `${piece.join('')}${end}`
}

/** Converts a stored value to its text. Numbers are exact decimals, dates and timestamps are ISO 8601. */
function shownValue(column: DummyColumn, value: DummyValue): Shown {
  if (value === null) return null
  switch (column.type) {
    case 'integer':
    case 'number':
      return { text: formatDecimal(BigInt(value) * column.stepNano, FRACTION_DIGITS), isLiteral: true }
    case 'date':
      return { text: dateText((BigInt(value) * column.stepNano) / ONE_NANO), isLiteral: false }
    case 'timestamp':
      return { text: instantText((BigInt(value) * column.stepNano) / ONE_NANO), isLiteral: false }
    case 'boolean':
      return { text: String(value), isLiteral: true }
    case 'category':
      return { text: column.categories[Number(value)] ?? '', isLiteral: false }
    case 'string':
    case 'identifier':
      return { text: String(value), isLiteral: false }
  }
}

function jsonValue(shown: Shown): string {
  if (shown === null) return 'null'
  return shown.isLiteral ? shown.text : JSON.stringify(shown.text)
}

function csvValue(shown: Shown): string {
  if (shown === null) return ''
  return shown.isLiteral ? shown.text : csvField(shown.text)
}

/** Quotes a field where it must be. An empty text needs quotes, because without them it is NULL. */
function csvField(text: string): string {
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

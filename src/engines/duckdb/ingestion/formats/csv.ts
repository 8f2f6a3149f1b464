import { open } from 'node:fs/promises'
import type { CsvDialect } from '../../../../core/dataset/dataset.ts'
import type { RowPlaces } from '../../../misfits.ts'
import { quoteLiteral } from '../../instance.ts'
import { requireRows } from '../bounds.ts'
import { type CsvShape, createCsvShapeReader, DELIMITERS, QUOTES } from './csv-shape.ts'
import { isGzip, readText } from './csv-text.ts'
import type { Examination, FileFormatReader } from './format.ts'

/**
 * CSV in a declared dialect. Every column is read as text; a field without quotes that is empty or a declared null value
 * is NULL.
 *
 * The file is read twice: `readCsvShape` checks every byte, then DuckDB reads the values. What is not UTF-8, or has
 * several spaces between fields, is written to another file first, so that DuckDB reads exactly the text that was
 * checked.
 */
export const csvFormat: FileFormatReader = {
  relation: async (_connection, file, examination) => {
    const { csv: dialect, decodedFile } = examination
    const isCompressed = await isGzip(file)
    const isCopied = isCompressed || dialect.encoding !== 'utf-8' || dialect.delimiter === 'space'
    const shape = await readCsvShape(file, isCompressed, isCopied ? decodedFile : undefined, examination)
    if (shape === undefined) throw new Error('the file is not CSV in this dialect')
    // The relation uses generated names, because names in the file may be equal or differ only in case.
    const columns = shape.names.map((_, index) => ({
      name: `field${index}`,
      type: 'VARCHAR',
      decimal: dialect.decimal,
    }))
    const options = [
      `columns = {${columns.map(({ name, type }) => `'${name}': '${type}'`).join(', ')}}`,
      ...optionsOf(dialect, shape),
    ]
    return {
      sql: `read_csv($path, ${options.join(', ')})`,
      file: isCopied ? decodedFile : file,
      fileNames: shape.names,
      columns,
      expectedRows: shape.records,
      places: placesOf(dialect, shape),
      longestValues: shape.longestValues,
    }
  },
}

function placesOf({ header }: CsvDialect, { recordsAreLines }: CsvShape): RowPlaces {
  return recordsAreLines ? { unit: 'line', offset: header ? 1 : 0 } : { unit: 'record', offset: 0 }
}

/**
 * Checks a file and writes its decoded text.
 * @param copy the file to write; undefined to write none
 * @returns `undefined` for a file that is not CSV in its dialect.
 * @throws as `readText` does
 */
async function readCsvShape(
  file: string,
  isCompressed: boolean,
  copy: string | undefined,
  examination: Examination,
): Promise<CsvShape | undefined> {
  const { csv: dialect, bounds } = examination
  const reader = createCsvShapeReader(dialect)
  const handle = copy === undefined ? undefined : await open(copy, 'wx', 0o600)
  try {
    await readText(file, dialect, isCompressed, examination, async (chunk) => {
      if (!reader.read(chunk)) throw new Error('the text is not CSV in this dialect')
      requireRows(reader.records(), bounds)
      await handle?.writeFile(chunk)
    })
  } finally {
    await handle?.close()
  }
  return reader.end()
}

/** DuckDB's options for exactly the CSV that `readCsvShape` accepts. */
function optionsOf(
  { delimiter, quote, header, nullValues }: CsvDialect,
  { lineEnd }: CsvShape,
): readonly string[] {
  return [
    // DuckDB takes the first line break for the line end, even in quotes. Its option works for LF only.
    ...(lineEnd !== 'crlf' ? [`new_line = '\\n'`] : []),
    'auto_detect = false',
    `header = ${header}`,
    'skip = 0',
    `delim = ${quoteLiteral(DELIMITERS[delimiter])}`,
    `quote = ${quoteLiteral(QUOTES[quote])}`,
    `escape = ${quoteLiteral(QUOTES[quote])}`,
    "comment = ''",
    `nullstr = [${['', ...nullValues].map(quoteLiteral).join(', ')}]`,
    'allow_quoted_nulls = false',
    'null_padding = false',
    'ignore_errors = false',
    'strict_mode = true',
    "compression = 'none'",
    // A parallel reader guesses where records begin.
    'parallel = false',
  ]
}

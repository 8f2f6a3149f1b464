import { readCsvShape } from './csv-shape.ts'
import type { FileFormatReader } from './format.ts'

/** CSV as RFC 4180 defines it. Every column is read as text; an empty field without quotes is NULL. */
export const csvFormat: FileFormatReader = {
  relation: async (_connection, file, examination) => {
    const shape = await readCsvShape(file, examination)
    if (shape === undefined) throw new Error('the file is not CSV')
    // The relation uses generated names, because names in the file may be equal or differ only in case.
    const columns = shape.header.map((_, index) => ({ name: `field${index}`, type: 'VARCHAR' }))
    const options = [
      `columns = {${columns.map(({ name, type }) => `'${name}': '${type}'`).join(', ')}}`,
      ...OPTIONS,
    ]
    return {
      sql: `read_csv($path, ${options.join(', ')})`,
      fileNames: shape.header,
      columns,
      expectedRows: shape.records,
    }
  },
}

/** DuckDB's options for exactly the CSV that `readCsvShape` accepts. */
const OPTIONS = [
  'auto_detect = false',
  'header = true',
  'skip = 0',
  "delim = ','",
  `quote = '"'`,
  `escape = '"'`,
  "comment = ''",
  "nullstr = ''",
  'allow_quoted_nulls = false',
  'null_padding = false',
  'ignore_errors = false',
  'strict_mode = true',
  "compression = 'none'",
  // A parallel reader guesses where records begin.
  'parallel = false',
]

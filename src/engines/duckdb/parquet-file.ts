import { quoteIdentifier } from '../dialect.ts'
import { quoteLiteral, withSmallInstance } from './instance.ts'

/** A column of a Parquet file, with DuckDB's name of its type. */
export interface ParquetColumn {
  readonly name: string
  readonly type: 'BIGINT' | 'DOUBLE' | 'DATE' | 'TIMESTAMPTZ' | 'BOOLEAN' | 'VARCHAR'
}

/** Files of a conversion: absolute paths without quotes. */
export interface ParquetFiles {
  /** A CSV file (RFC 4180 in UTF-8, with a header and line feeds) that the service wrote itself. */
  readonly csvPath: string
  /** The Parquet file to write. */
  readonly parquetPath: string
  /** A folder that DuckDB creates if it needs it. */
  readonly temporaryDirectory: string
}

/**
 * Converts a CSV file to Parquet. An empty field without quotes becomes NULL.
 * @throws Error whose message may quote values of the file.
 */
export async function convertToParquet(
  columns: readonly ParquetColumn[],
  files: ParquetFiles,
): Promise<void> {
  const { csvPath, parquetPath, temporaryDirectory } = files
  await withSmallInstance(temporaryDirectory, [csvPath, parquetPath], (connection) =>
    connection.run(printConversion(columns, csvPath, parquetPath)),
  )
}

function printConversion(columns: readonly ParquetColumn[], csvPath: string, parquetPath: string): string {
  // Generated names, because declared names may differ only in a way that DuckDB ignores.
  const fields = columns.map((_, i) => `'field${i}': 'VARCHAR'`)
  const values = columns.map(({ name, type }, i) => `CAST(field${i} AS ${type}) AS ${quoteIdentifier(name)}`)
  const options = [
    `columns = {${fields.join(', ')}}`,
    'auto_detect = false',
    'header = true',
    "delim = ','",
    `quote = '"'`,
    `escape = '"'`,
    "nullstr = ''",
    'allow_quoted_nulls = false',
    `new_line = '\\n'`,
    'parallel = false',
  ]
  return (
    `COPY (SELECT ${values.join(', ')} FROM read_csv(${quoteLiteral(csvPath)}, ${options.join(', ')})) ` +
    `TO ${quoteLiteral(parquetPath)} (FORMAT parquet)`
  )
}

import { rename, rm } from 'node:fs/promises'
import { DuckDBDataChunk, INTEGER, VARCHAR } from '@duckdb/node-api'
import { quoteIdentifier } from '../src/engines/dialect.ts'
import { openLockedInstance, quoteLiteral, ROWS_TABLE } from '../src/engines/duckdb/instance.ts'

/** A column to write; all columns of a file have the same length. */
export type ParquetColumn =
  | { readonly name: string; readonly type: 'VARCHAR'; readonly values: readonly string[] }
  | { readonly name: string; readonly type: 'INTEGER'; readonly values: readonly number[] }

/** Number of rows that DuckDB appends at a time. */
const CHUNK_ROWS = 2048

/** Writes a Parquet file. It appears completely, or not at all. */
export async function writeParquet(path: string, columns: readonly ParquetColumn[]): Promise<void> {
  const partialPath = `${path}.partial`
  try {
    await writePartial(partialPath, columns)
    await rename(partialPath, path)
  } catch (error) {
    await rm(partialPath, { force: true })
    throw error
  }
}

async function writePartial(partialPath: string, columns: readonly ParquetColumn[]): Promise<void> {
  const limits = {
    threads: 1,
    memoryLimit: '512MB',
    temporaryDirectory: '',
    maxTemporaryDirectorySize: '0MB',
  }
  const instance = await openLockedInstance(':memory:', 'READ_WRITE', limits, [partialPath])
  try {
    const connection = await instance.connect()
    try {
      const table = quoteIdentifier(ROWS_TABLE)
      const declarations = columns.map(({ name, type }) => `${quoteIdentifier(name)} ${type} NOT NULL`)
      await connection.run(`CREATE TABLE ${table} (${declarations.join(', ')})`)

      const types = columns.map(({ type }) => (type === 'INTEGER' ? INTEGER : VARCHAR))
      const rows = Math.max(0, ...columns.map(({ values }) => values.length))
      const appender = await connection.createAppender(ROWS_TABLE)
      for (let start = 0; start < rows; start += CHUNK_ROWS) {
        const chunk = DuckDBDataChunk.create(types, Math.min(CHUNK_ROWS, rows - start))
        chunk.setColumns(columns.map(({ values }) => values.slice(start, start + CHUNK_ROWS)))
        appender.appendDataChunk(chunk)
      }
      appender.closeSync()
      // DuckDB's own temporary file would have a name that the configuration does not allow.
      await connection.run(
        `COPY ${table} TO ${quoteLiteral(partialPath)} (FORMAT parquet, USE_TMP_FILE false)`,
      )
    } finally {
      connection.disconnectSync()
    }
  } finally {
    instance.closeSync()
  }
}

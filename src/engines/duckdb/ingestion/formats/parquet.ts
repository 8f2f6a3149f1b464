import type { DuckDBConnection } from '@duckdb/node-api'
import { must } from '../../../../privacy/must.ts'
import { requireRows } from '../bounds.ts'
import { type IngestionControl, runControlled } from '../progress.ts'
import type { FileFormatReader } from './format.ts'

/** First bytes of a Parquet file. */
export const PARQUET_MAGIC = 'PAR1'

/** Parquet. Columns may have any type. */
export const parquetFormat: FileFormatReader = {
  relation: async (connection, file, { bounds, ...control }) => {
    // The footer states how many rows and values DuckDB will read, before any of them is read.
    const [rows, values] = await countsOfFooter(connection, file, control)
    requireRows(Math.max(rows, values), bounds)
    const sql = 'read_parquet($path, hive_partitioning = false, union_by_name = false)'
    const described = await select(connection, `DESCRIBE SELECT * FROM ${sql}`, file, control)
    const columns = described.map(([name, type]) => ({ name: String(name), type: String(type) }))
    return {
      sql,
      file,
      fileNames: columns.map(({ name }) => name),
      columns,
      expectedRows: rows,
      places: { unit: 'row', offset: 0 },
    }
  },
}

/**
 * Returns the number of rows of all row groups, and the largest number of values of a column, which is larger than that
 * of rows for lists.
 */
async function countsOfFooter(
  connection: DuckDBConnection,
  file: string,
  control: IngestionControl,
): Promise<readonly [rows: number, values: number]> {
  const perColumn = `SELECT column_id, sum(row_group_num_rows) AS row_count, sum(num_values) AS value_count
    FROM parquet_metadata($path) GROUP BY column_id`
  const counts = `SELECT coalesce(max(row_count), 0)::VARCHAR, coalesce(max(value_count), 0)::VARCHAR FROM (${perColumn})`
  const [row] = await select(connection, counts, file, control).catch((error: unknown) => {
    control.signal?.throwIfAborted()
    return countsOfFlatFile(connection, file, control, error)
  })
  const [rows, values] = must(row, 'the counts of a footer')
  return [Number(rows), Number(values)]
}

/**
 * Returns the counts of a file whose statistics DuckDB cannot print, such as those of times beyond its own range. A file
 * without lists has as many values as rows.
 */
async function countsOfFlatFile(
  connection: DuckDBConnection,
  file: string,
  control: IngestionControl,
  error: unknown,
) {
  const lists = "SELECT true FROM parquet_schema($path) WHERE repetition_type = 'REPEATED' LIMIT 1"
  if ((await select(connection, lists, file, control)).length > 0) throw error
  const rows = 'SELECT sum(num_rows)::VARCHAR FROM parquet_file_metadata($path)'
  const [row] = await select(connection, rows, file, control)
  const [count] = must(row, 'the counts of a footer')
  return [[count, count]]
}

async function select(connection: DuckDBConnection, sql: string, path: string, control: IngestionControl) {
  const result = await runControlled(connection, control, () => connection.runAndReadAll(sql, { path }))
  return result.getRows()
}

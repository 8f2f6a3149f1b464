import { runControlled } from '../ingest-progress.ts'
import type { FileFormatReader } from './format.ts'

/** Parquet. Columns may have any type. */
export const parquetFormat: FileFormatReader = {
  relation: async (connection, file, control) => {
    const sql = 'read_parquet($path, hive_partitioning = false, union_by_name = false)'
    const described = await runControlled(connection, control, () =>
      connection.runAndReadAll(`DESCRIBE SELECT * FROM ${sql}`, { path: file }),
    )
    const columns = described.getRows().map(([name, type]) => ({ name: String(name), type: String(type) }))
    return { sql, fileNames: columns.map(({ name }) => name), columns }
  },
}

import type { FileFormatReader } from './format.ts'

/** Parquet. Columns may have any type; ingestion reads every value as text. */
export const parquetFormat: FileFormatReader = {
  relation: async (connection, file) => {
    const sql = 'read_parquet($path, hive_partitioning = false, union_by_name = false)'
    const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${sql}`, { path: file })
    const names = described.getRows().map(([name]) => String(name))
    return { sql, fileNames: names, relationNames: names }
  },
}

import type { FileFormatReader } from './format.ts'

/** Parquet. Columns may have any type. */
export const parquetFormat: FileFormatReader = {
  relation: async (connection, file) => {
    const sql = 'read_parquet($path, hive_partitioning = false, union_by_name = false)'
    const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${sql}`, { path: file })
    const columns = described.getRows().map(([name, type]) => ({ name: String(name), type: String(type) }))
    return { sql, fileNames: columns.map(({ name }) => name), columns }
  },
}

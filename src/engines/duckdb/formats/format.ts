import type { DuckDBConnection } from '@duckdb/node-api'
import type { FileFormat } from '../../../catalog/dataset.ts'
import type { IngestionControl } from '../ingest-progress.ts'
import type { RelationColumn } from '../ingest-sql.ts'
import { csvFormat } from './csv.ts'
import { parquetFormat } from './parquet.ts'

/** A file as a relation to select from. */
export interface FileRelation {
  /** The relation; `$path` stands for the file. */
  readonly sql: string
  /** The file's names for its columns, in order, and the relation's columns for them. */
  readonly fileNames: readonly string[]
  readonly columns: readonly RelationColumn[]
  /** The number of rows that the relation must have, if it was counted independently of DuckDB. */
  readonly expectedRows?: number
}

/** Reader of files of one format. Each format is one file, and one entry in {@link FILE_FORMATS}. */
export interface FileFormatReader {
  /**
   * Examines a file.
   * @param file a path that DuckDB may read
   * @param control reports the progress of phase `check`
   * @throws Error for a file that is not in this format, and the signal's reason once it has aborted.
   */
  relation(connection: DuckDBConnection, file: string, control: IngestionControl): Promise<FileRelation>
}

/** Every format that can be ingested. */
export const FILE_FORMATS: Readonly<Record<FileFormat, FileFormatReader>> = {
  csv: csvFormat,
  parquet: parquetFormat,
}

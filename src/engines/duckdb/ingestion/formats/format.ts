import type { DuckDBConnection } from '@duckdb/node-api'
import type { CsvDialect } from '../../../../core/dataset/dataset.ts'
import type { RowPlaces } from '../../../misfits.ts'
import type { SourceBounds } from '../bounds.ts'
import type { IngestionControl } from '../progress.ts'
import type { RelationColumn } from '../statements.ts'

/** A file as a relation to select from. */
export interface FileRelation {
  /** The relation; `$path` stands for the file below. */
  readonly sql: string
  /** The file that DuckDB reads: the source, or its decoded text. */
  readonly file: string
  /** The file's names for its columns, in order, and the relation's columns for them. */
  readonly fileNames: readonly string[]
  readonly columns: readonly RelationColumn[]
  /** The number of rows that the relation must have. */
  readonly expectedRows: number
  /** Places of the rows in the file. */
  readonly places: RowPlaces
  /** Size of the longest value of each of the file's columns, in bytes. Absent if DuckDB has to find it. */
  readonly longestValues?: readonly number[]
}

/** Conditions under which a file is examined. */
export interface Examination extends IngestionControl {
  readonly bounds: SourceBounds
  /** Dialect of a CSV file. */
  readonly csv: CsvDialect
  /** A path that DuckDB may read, for the decoded text of a file. */
  readonly decodedFile: string
}

/** Reader of files of one format. Each format is one file, and one entry in `FILE_FORMATS`. */
export interface FileFormatReader {
  /**
   * Examines a file.
   * @param file a path that DuckDB may read
   * @param examination reports the progress of phase `check`
   * @throws Error for a file that is not in this format, Refusal for one beyond the bounds, and the signal's reason once
   * it has aborted.
   */
  relation(connection: DuckDBConnection, file: string, examination: Examination): Promise<FileRelation>
}

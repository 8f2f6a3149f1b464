import { type DuckDBConnection, DuckDBDataChunk, type DuckDBValue } from '@duckdb/node-api'
import type { Column } from '../../../core/dataset/dataset.ts'
import { defined } from '../../../privacy/defined.ts'
import { checkColumns } from '../../source-rules.ts'
import type { StoredRows } from '../../tables/table-engine.ts'
import { storedType } from '../encodings/encode.ts'
import { ROWS_TABLE } from '../instance.ts'
import { fieldOfColumn, requireBytes, requireRows, type SourceBounds, valueTooLong } from './bounds.ts'
import {
  boundsOf,
  type IngestionTerms,
  publishRows,
  type Run,
  runStatement,
  storeStaged,
  withInstance,
} from './ingest.ts'
import { runControlled } from './progress.ts'
import { printIngestStored } from './statements.ts'

/** Rows in stored form to ingest, of which none is left out for its values. */
export interface StoredIngestion extends IngestionTerms {
  readonly rows: AsyncIterable<StoredRows>
  /** The expected number of rows, for the progress. */
  readonly expectedRows: number
}

/** Exact numbers about rows in stored form. */
export interface StoredCounts {
  readonly rowsRead: number
  readonly rowsStored: number
  /** Absent if each row is a person. */
  readonly people?: number
}

/** Rows of a chunk, at most DuckDB's vector size. */
const CHUNK_ROWS = 2_048

/**
 * Writes the file that queries read, as `ingest` does, from rows whose values another engine has converted. Rows arrive in
 * batches, so that memory does not grow with their number.
 *
 * @throws Refusal `source-does-not-fit`; the failures of the rows; the signal's reason once it has aborted. Nothing is left
 * behind.
 */
export async function ingestStored(ingestion: StoredIngestion): Promise<StoredCounts> {
  checkColumns(ingestion.columns)
  return publishRows(ingestion, (partialPath) =>
    withInstance(partialPath, ingestion.limits, [], (connection) => ingestThrough(connection, ingestion)),
  )
}

async function ingestThrough(
  connection: DuckDBConnection,
  ingestion: StoredIngestion,
): Promise<StoredCounts> {
  const { columns, privacyUnit, onProgress } = ingestion
  const run: Run = (statement, phase) =>
    runControlled(connection, ingestion, () => runStatement(connection, statement), phase)
  const statements = printIngestStored(columns, privacyUnit, ROWS_TABLE)
  await run(statements.stage)
  onProgress?.({ phase: 'read', fraction: 0 })
  const rowsRead = await stageRows(connection, ingestion)
  onProgress?.({ phase: 'store', fraction: 0 })
  const { rowsStored, people } = await storeStaged(run, statements)
  onProgress?.({ phase: 'store', fraction: 1 })
  return defined({ rowsRead, rowsStored, people })
}

/** Fills the table `staged`. Returns the number of rows. */
async function stageRows(connection: DuckDBConnection, ingestion: StoredIngestion): Promise<number> {
  const { rows, columns, signal, onProgress, expectedRows } = ingestion
  const bounds = boundsOf(ingestion)
  const types = columns.map(storedType)
  const appender = await connection.createAppender('staged', 'main', 'temp')
  let [rowsRead, bytes] = [0, 0]
  try {
    for await (const batch of rows) {
      signal?.throwIfAborted()
      for (let start = 0; start < batch.length; start += CHUNK_ROWS) {
        const texts = batch.slice(start, start + CHUNK_ROWS)
        const values = texts.map((row) => columns.map((column, i) => storedValue(column, row[i])))
        rowsRead += texts.length
        bytes += sizeOf(texts, bounds)
        requireRows(rowsRead, bounds)
        requireBytes(bytes, bounds)
        const chunk = DuckDBDataChunk.create(types, texts.length)
        chunk.setRows(values)
        appender.appendDataChunk(chunk)
      }
      if (expectedRows > 0) onProgress?.({ phase: 'read', fraction: Math.min(1, rowsRead / expectedRows) })
    }
    appender.flushSync()
  } finally {
    appender.closeSync()
  }
  return rowsRead
}

/**
 * Adds up the sizes of texts in bytes.
 * @throws Refusal `source-does-not-fit` naming the column of a text that is too long.
 */
function sizeOf(rows: StoredRows, bounds: SourceBounds): number {
  let total = 0
  for (const row of rows)
    for (const [i, text] of row.entries()) {
      const bytes = text === null ? 0 : Buffer.byteLength(text)
      if (bytes > bounds.maxValueBytes) throw valueTooLong(fieldOfColumn(i), bounds)
      total += bytes
    }
  return total
}

/**
 * Reads a value in stored form.
 * @throws RangeError for a value that the column cannot have, whatever the database returned.
 */
function storedValue(column: Column, text: string | null | undefined): DuckDBValue {
  if (text === null) return null
  if (text === undefined) throw new RangeError('a row has too few values')
  switch (column.type) {
    case 'integer':
    case 'number':
    case 'date':
    case 'timestamp': {
      const index = BigInt(text)
      if (index < column.lowerIndex || index > column.upperIndex)
        throw new RangeError('an index is beyond the bounds')
      return index
    }
    case 'category': {
      const index = Number(text)
      if (!(Number.isInteger(index) && index >= 0 && index < column.categories.length))
        throw new RangeError('an index is not that of a category')
      return index
    }
    case 'boolean':
      if (text !== 'true' && text !== 'false') throw new RangeError('a value is not a boolean')
      return text === 'true'
    case 'string':
    case 'identifier':
      return text
  }
}

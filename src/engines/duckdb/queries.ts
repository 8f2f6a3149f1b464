import { setImmediate } from 'node:timers/promises'
import {
  type DuckDBDataChunk,
  DuckDBDoubleVector,
  type DuckDBMaterializedResult,
  DuckDBVarCharVector,
} from '@duckdb/node-api'
import type { Dataset } from '../../core/dataset/dataset.ts'
import { MOST_TEXTS, MOST_VALUES } from '../../core/dataset/value-limits.ts'
import type { IndexCounts, TextCounts } from '../../core/planner/language/reading.ts'
import type { Engine } from '../engine.ts'
import { printCellCounting, printIndexCounting, printTextCounting } from '../sql-printer.ts'
import { collectCellCounts, collectIndexCounts, collectTextCounts, requireWithin } from '../value-counts.ts'
import { duckDbDialect } from './dialect.ts'
import type { ConnectionPool } from './sessions.ts'
import type { SharedScans } from './shared-scans.ts'

/** A dataset that can be queried. */
export interface OpenDataset {
  readonly pool: ConnectionPool
  readonly scans: SharedScans
}

/**
 * Runs queries of an open dataset.
 * @throws EngineFailure
 */
export type UseDataset = <Answer>(
  dataset: Dataset,
  query: (open: OpenDataset) => Promise<Answer>,
) => Promise<Answer>

type Queries = Pick<Engine, 'aggregate' | 'countIndexes' | 'countIndexesInCells' | 'countTexts'>

/** Prints queries, runs them, and reads their results. Aggregates share scans. */
export function createQueries(use: UseDataset): Queries {
  return {
    aggregate: (dataset, aggregate) => use(dataset, ({ scans }) => scans.aggregate(dataset, aggregate)),
    countIndexes: (dataset, counting) =>
      use(dataset, ({ pool }) =>
        pool.run(printIndexCounting(counting, dataset, duckDbDialect, MOST_VALUES + 1), readIndexCounts),
      ),
    countIndexesInCells: (dataset, counting) =>
      use(dataset, ({ pool }) => {
        const printed = printCellCounting(counting, dataset, duckDbDialect, MOST_VALUES + 1)
        return pool.run(printed, (result, signal) => readCellCounts(result, printed.cells, signal))
      }),
    countTexts: (dataset, counting) =>
      use(dataset, ({ pool }) =>
        pool.run(printTextCounting(counting, dataset, duckDbDialect, MOST_TEXTS + 1), readTextCounts),
      ),
  }
}

/**
 * Reads the result of `printIndexCounting`: rows of two DOUBLEs. Between chunks it yields to other work of the process.
 *
 * @param signal stops the reading
 * @throws RangeError for anything but increasing integers with counts, and for more than {@link MOST_VALUES}, which
 * planning excludes; the signal's reason once it is aborted.
 */
export async function readIndexCounts(
  result: DuckDBMaterializedResult,
  signal: AbortSignal,
): Promise<IndexCounts> {
  requireWithin(result.rowCount, MOST_VALUES)
  const collector = collectIndexCounts(result.rowCount)
  await readChunks(result, 2, signal, (chunk) => {
    const [indexColumn, countColumn, { rowCount }] = [doubles(chunk, 0), doubles(chunk, 1), chunk]
    for (let row = 0; row < rowCount; row += 1)
      collector.add(indexColumn.getItem(row), countColumn.getItem(row))
  })
  return collector.finish()
}

/**
 * Reads the result of `printCellCounting`: rows of three DOUBLEs. Between chunks it yields to other work of the
 * process.
 *
 * @param cells the number of cells
 * @throws RangeError as {@link readIndexCounts} does, for each cell; and for a cell that does not exist, or cells that
 * are not in order.
 */
export async function readCellCounts(
  result: DuckDBMaterializedResult,
  cells: number,
  signal: AbortSignal,
): Promise<readonly IndexCounts[]> {
  requireWithin(result.rowCount, MOST_VALUES)
  const collector = collectCellCounts(cells, result.rowCount)
  await readChunks(result, 3, signal, (chunk) => {
    const [cellColumn, indexColumn, countColumn] = [doubles(chunk, 0), doubles(chunk, 1), doubles(chunk, 2)]
    for (let row = 0; row < chunk.rowCount; row += 1)
      collector.add(cellColumn.getItem(row), indexColumn.getItem(row), countColumn.getItem(row))
  })
  return collector.finish()
}

/**
 * Reads the result of `printTextCounting`: rows of a VARCHAR and a DOUBLE. Between chunks it yields to other work of
 * the process.
 *
 * @param signal stops the reading
 * @throws RangeError for anything but texts with counts, and for more than {@link MOST_TEXTS}, which ingestion excludes;
 * the signal's reason once it is aborted.
 */
export async function readTextCounts(
  result: DuckDBMaterializedResult,
  signal: AbortSignal,
): Promise<TextCounts> {
  requireWithin(result.rowCount, MOST_TEXTS)
  const collector = collectTextCounts()
  await readChunks(result, 2, signal, (chunk) => {
    const [textColumn, countColumn, { rowCount }] = [chunk.getColumnVector(0), doubles(chunk, 1), chunk]
    if (!(textColumn instanceof DuckDBVarCharVector)) throw new RangeError('a result is not a text')
    for (let row = 0; row < rowCount; row += 1)
      collector.add(textColumn.getItem(row), countColumn.getItem(row))
  })
  return collector.finish()
}

/** Reads chunk by chunk. A chunk is read without a pause, because only its columns keep its memory. */
async function readChunks(
  result: DuckDBMaterializedResult,
  columns: number,
  signal: AbortSignal,
  read: (chunk: DuckDBDataChunk) => void,
): Promise<void> {
  if (result.columnCount !== columns) throw new RangeError('a result has another number of columns')
  const { chunkCount } = result
  for (let index = 0; index < chunkCount; index += 1) {
    signal.throwIfAborted()
    read(result.getChunk(index))
    await setImmediate()
  }
}

function doubles(chunk: DuckDBDataChunk, column: number): DuckDBDoubleVector {
  const vector = chunk.getColumnVector(column)
  if (vector instanceof DuckDBDoubleVector) return vector
  throw new RangeError('a result is not a number')
}

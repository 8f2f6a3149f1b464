import { setImmediate } from 'node:timers/promises'
import {
  type DuckDBDataChunk,
  DuckDBDoubleVector,
  type DuckDBMaterializedResult,
  DuckDBVarCharVector,
} from '@duckdb/node-api'
import { MOST_TEXTS, MOST_VALUES } from '../../catalog/value-limits.ts'
import type { IndexCounts, TextCounts } from '../engine.ts'

/** The largest integer up to which doubles are exact. */
const LARGEST_INTEGER = 2 ** 53

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
  const values = result.rowCount
  requireWithin(values, MOST_VALUES)
  const [indexes, counts] = [new Float64Array(values), new Float64Array(values)]
  let position = 0
  let last = -Infinity
  await readChunks(result, 2, signal, (chunk) => {
    const [indexColumn, countColumn, { rowCount }] = [doubles(chunk, 0), doubles(chunk, 1), chunk]
    for (let row = 0; row < rowCount; row += 1) {
      const index = requireInteger(indexColumn.getItem(row), -LARGEST_INTEGER)
      if (index <= last) throw new RangeError('the indexes do not increase')
      indexes[position] = last = index
      counts[position] = requireInteger(countColumn.getItem(row), 1)
      position += 1
    }
  })
  return { indexes, counts }
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
  const [indexes, counts] = [new Float64Array(result.rowCount), new Float64Array(result.rowCount)]
  const ends = new Array<number>(cells).fill(0)
  let [position, lastCell, lastIndex] = [0, 0, -Infinity]
  await readChunks(result, 3, signal, (chunk) => {
    const [cellColumn, indexColumn, countColumn] = [doubles(chunk, 0), doubles(chunk, 1), doubles(chunk, 2)]
    for (let row = 0; row < chunk.rowCount; row += 1) {
      const cell = requireInteger(cellColumn.getItem(row), lastCell)
      const index = requireInteger(indexColumn.getItem(row), -LARGEST_INTEGER)
      if (cell >= cells || (cell === lastCell && index <= lastIndex))
        throw new RangeError('the cells or their indexes do not increase')
      indexes[position] = lastIndex = index
      counts[position] = requireInteger(countColumn.getItem(row), 1)
      position += 1
      ends[cell] = position
      lastCell = cell
    }
  })
  let start = 0
  return ends.map((end) => {
    const from = start
    start = Math.max(start, end)
    return { indexes: indexes.slice(from, start), counts: counts.slice(from, start) }
  })
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
  const values = result.rowCount
  requireWithin(values, MOST_TEXTS)
  const [texts, counts] = [new Array<string>(values), new Float64Array(values)]
  let position = 0
  await readChunks(result, 2, signal, (chunk) => {
    const [textColumn, countColumn, { rowCount }] = [chunk.getColumnVector(0), doubles(chunk, 1), chunk]
    if (!(textColumn instanceof DuckDBVarCharVector)) throw new RangeError('a result is not a text')
    for (let row = 0; row < rowCount; row += 1) {
      const text = textColumn.getItem(row)
      if (text === null) throw new RangeError('a result is not a text')
      texts[position] = text
      counts[position] = requireInteger(countColumn.getItem(row), 1)
      position += 1
    }
  })
  return { texts, counts }
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

function requireInteger(value: number | null, least: number): number {
  if (value !== null && Number.isInteger(value) && value >= least && value <= LARGEST_INTEGER) return value
  throw new RangeError('a result is not an integer')
}

function requireWithin(values: number, most: number): void {
  if (values > most) throw new RangeError('the result is too large')
}

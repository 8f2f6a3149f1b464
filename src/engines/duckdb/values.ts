import { setImmediate } from 'node:timers/promises'
import {
  type DuckDBDataChunk,
  DuckDBDoubleVector,
  type DuckDBMaterializedResult,
  DuckDBVarCharVector,
} from '@duckdb/node-api'
import type { IndexCounts, TextCounts } from '../engine.ts'

/** The memory of an index and its count: two doubles. */
export const BYTES_PER_INDEX = 16

/** The memory of a text and its count, besides the characters: the count, a reference and a header. */
export const BYTES_PER_TEXT = 32

/** JavaScript stores every character of a text with two bytes if one of them is beyond Latin-1. */
const BYTES_PER_CODE_UNIT = 2

/** The largest integer up to which doubles are exact. */
const LARGEST_INTEGER = 2 ** 53

/**
 * Reads the result of `printIndexCounting`: rows of two DOUBLEs. Between chunks it yields to other work of the process.
 *
 * @param maxBytes limit for the memory of the arrays
 * @param signal stops the reading
 * @throws RangeError for anything but increasing integers with counts, and for more than `maxBytes`; the signal's reason
 * once it is aborted.
 */
export async function readIndexCounts(
  result: DuckDBMaterializedResult,
  maxBytes: number,
  signal: AbortSignal,
): Promise<IndexCounts> {
  const values = result.rowCount
  requireWithin(values * BYTES_PER_INDEX, maxBytes)
  const [indexes, counts] = [new Float64Array(values), new Float64Array(values)]
  let position = 0
  let last = -Infinity
  await readChunks(result, signal, (chunk) => {
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
 * Reads the result of `printTextCounting`: rows of a VARCHAR and a DOUBLE. Between chunks it yields to other work of the
 * process.
 *
 * @param maxBytes limit for the memory of the texts and the array
 * @param signal stops the reading
 * @throws RangeError for anything but texts with counts, and for more than `maxBytes`; the signal's reason once it is
 * aborted.
 */
export async function readTextCounts(
  result: DuckDBMaterializedResult,
  maxBytes: number,
  signal: AbortSignal,
): Promise<TextCounts> {
  const values = result.rowCount
  let bytes = values * BYTES_PER_TEXT
  requireWithin(bytes, maxBytes)
  const [texts, counts] = [new Array<string>(values), new Float64Array(values)]
  let position = 0
  await readChunks(result, signal, (chunk) => {
    const [textColumn, countColumn, { rowCount }] = [chunk.getColumnVector(0), doubles(chunk, 1), chunk]
    if (!(textColumn instanceof DuckDBVarCharVector)) throw new RangeError('a result is not a text')
    for (let row = 0; row < rowCount; row += 1) {
      const text = textColumn.getItem(row)
      if (text === null) throw new RangeError('a result is not a text')
      bytes += text.length * BYTES_PER_CODE_UNIT
      requireWithin(bytes, maxBytes)
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
  signal: AbortSignal,
  read: (chunk: DuckDBDataChunk) => void,
): Promise<void> {
  if (result.columnCount !== 2) throw new RangeError('a result has another number of columns')
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

function requireWithin(bytes: number, maxBytes: number): void {
  if (bytes > maxBytes) throw new RangeError('the result is too large')
}

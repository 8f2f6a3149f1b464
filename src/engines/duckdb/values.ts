import { setImmediate } from 'node:timers/promises'
import {
  type DuckDBDataChunk,
  DuckDBDoubleVector,
  type DuckDBMaterializedResult,
  DuckDBVarCharVector,
} from '@duckdb/node-api'
import type { IndexCounts, TextCounts } from '../engine.ts'

/** What an index and its count take up: two doubles. */
export const BYTES_PER_INDEX = 16

/** What a text and its count take up besides the text's characters: the count, a reference and a header. */
export const BYTES_PER_TEXT = 32

/** A text with one character beyond Latin-1 is stored with as many bytes for each of its others. */
const BYTES_PER_CODE_UNIT = 2

/** Exact integers end here. */
const LARGEST_INTEGER = 2 ** 53

/**
 * Read how often each index occurs from rows of two DOUBLEs, as `printIndexCounting` asks for them. Other work of the
 * process goes on in between.
 *
 * @param maxBytes what the arrays may take up
 * @param expired whether nobody waits for the answer any more
 * @throws RangeError for anything but increasing integers with counts, for more than `maxBytes`, and once expired.
 */
export async function readIndexCounts(
  result: DuckDBMaterializedResult,
  maxBytes: number,
  expired: () => boolean,
): Promise<IndexCounts> {
  const values = result.rowCount
  requireRoom(values * BYTES_PER_INDEX, maxBytes)
  const [indexes, counts] = [new Float64Array(values), new Float64Array(values)]
  let position = 0
  let last = -Infinity
  await readChunks(result, expired, (chunk) => {
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
 * Read how often each text occurs from rows of a VARCHAR and a DOUBLE, as `printTextCounting` asks for them. Other work
 * of the process goes on in between.
 *
 * @param maxBytes what the texts and the array may take up
 * @param expired whether nobody waits for the answer any more
 * @throws RangeError for anything but texts with counts, for more than `maxBytes`, and once expired.
 */
export async function readTextCounts(
  result: DuckDBMaterializedResult,
  maxBytes: number,
  expired: () => boolean,
): Promise<TextCounts> {
  const values = result.rowCount
  let bytes = values * BYTES_PER_TEXT
  requireRoom(bytes, maxBytes)
  const [texts, counts] = [new Array<string>(values), new Float64Array(values)]
  let position = 0
  await readChunks(result, expired, (chunk) => {
    const [textColumn, countColumn, { rowCount }] = [chunk.getColumnVector(0), doubles(chunk, 1), chunk]
    if (!(textColumn instanceof DuckDBVarCharVector)) throw new RangeError('the answer is no text')
    for (let row = 0; row < rowCount; row += 1) {
      const text = textColumn.getItem(row)
      if (text === null) throw new RangeError('the answer is no text')
      bytes += text.length * BYTES_PER_CODE_UNIT
      requireRoom(bytes, maxBytes)
      texts[position] = text
      counts[position] = requireInteger(countColumn.getItem(row), 1)
      position += 1
    }
  })
  return { texts, counts }
}

/** One chunk is read without a pause: its memory is freed once nothing but its columns is held. */
async function readChunks(
  result: DuckDBMaterializedResult,
  expired: () => boolean,
  read: (chunk: DuckDBDataChunk) => void,
): Promise<void> {
  if (result.columnCount !== 2) throw new RangeError('the answer has another number of columns')
  const { chunkCount } = result
  for (let index = 0; index < chunkCount; index += 1) {
    if (expired()) throw new RangeError('the answer is not waited for')
    read(result.getChunk(index))
    await setImmediate()
  }
}

function doubles(chunk: DuckDBDataChunk, column: number): DuckDBDoubleVector {
  const vector = chunk.getColumnVector(column)
  if (vector instanceof DuckDBDoubleVector) return vector
  throw new RangeError('the answer is no number')
}

function requireInteger(value: number | null, least: number): number {
  if (value !== null && Number.isInteger(value) && value >= least && value <= LARGEST_INTEGER) return value
  throw new RangeError('the answer is no integer')
}

function requireRoom(bytes: number, maxBytes: number): void {
  if (bytes > maxBytes) throw new RangeError('the answer is too large')
}

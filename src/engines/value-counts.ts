import { MOST_TEXTS, MOST_VALUES } from '../core/dataset/value-limits.ts'
import type { IndexCounts, TextCounts } from '../core/planner/language/reading.ts'
import { entry } from '../privacy/must.ts'

/*
 * Collectors of the rows of a result that counts values. Each checks every row, so that no result of a database can be
 * misread.
 */

/** The largest integer up to which doubles are exact. */
const LARGEST_INTEGER = 2 ** 53

const FIRST_CAPACITY = 1_024

/** Collects rows of one result, in their order. */
export interface Collector<Row extends readonly unknown[], Counts> {
  /** @throws RangeError for a row that the result cannot have, and for too many rows. */
  add(...row: Row): void
  /** Returns the counts of all rows; nothing can be added afterwards. */
  finish(): Counts
}

/**
 * Collects rows of an index and its count, whose indexes increase.
 * @param capacity the expected number of rows
 */
export function collectIndexCounts(
  capacity = FIRST_CAPACITY,
): Collector<[index: number | null, count: number | null], IndexCounts> {
  const { add, finish } = collectCellCounts(1, capacity)
  return { add: (index, count) => add(0, index, count), finish: () => entry(finish(), 0) }
}

/**
 * Collects rows of a cell, an index and its count, in the order of the cells and of the indexes in each.
 * @param cells the number of cells
 * @param capacity the expected number of rows
 */
export function collectCellCounts(
  cells: number,
  capacity = FIRST_CAPACITY,
): Collector<[cell: number | null, index: number | null, count: number | null], readonly IndexCounts[]> {
  const [indexes, counts] = [createNumbers(capacity), createNumbers(capacity)]
  const ends = new Array<number>(cells).fill(0)
  let [lastCell, lastIndex] = [0, -Infinity]
  return {
    add: (cell, index, count) => {
      requireWithin(indexes.length() + 1, MOST_VALUES)
      const place = requireInteger(cell, lastCell)
      const next = requireInteger(index, -LARGEST_INTEGER)
      if (place >= cells || (place === lastCell && next <= lastIndex))
        throw new RangeError('the cells or their indexes do not increase')
      indexes.push(next)
      counts.push(requireInteger(count, 1))
      ends[place] = indexes.length()
      lastCell = place
      lastIndex = next
    },
    finish: () => {
      let start = 0
      return ends.map((end) => {
        const from = start
        start = Math.max(start, end)
        return { indexes: indexes.slice(from, start), counts: counts.slice(from, start) }
      })
    },
  }
}

/** Collects rows of a text and its count. */
export function collectTextCounts(): Collector<[text: string | null, count: number | null], TextCounts> {
  const texts: string[] = []
  const counts = createNumbers(FIRST_CAPACITY)
  return {
    add: (text, count) => {
      requireWithin(texts.length + 1, MOST_TEXTS)
      if (text === null) throw new RangeError('a result is not a text')
      texts.push(text)
      counts.push(requireInteger(count, 1))
    },
    finish: () => ({ texts, counts: counts.slice() }),
  }
}

/** @throws RangeError if a result has too many rows. */
export function requireWithin(values: number, most: number): void {
  if (values > most) throw new RangeError('the result is too large')
}

/** A list of numbers that grows. */
function createNumbers(capacity: number) {
  let numbers = new Float64Array(capacity)
  let length = 0
  return {
    length: () => length,
    push: (value: number) => {
      if (length === numbers.length) {
        const larger = new Float64Array(2 * length + 1)
        larger.set(numbers)
        numbers = larger
      }
      numbers[length] = value
      length += 1
    },
    slice: (from = 0, to = length) => numbers.slice(from, to),
  }
}

function requireInteger(value: number | null, least: number): number {
  if (value !== null && Number.isInteger(value) && value >= least && value <= LARGEST_INTEGER) return value
  throw new RangeError('a result is not an integer')
}

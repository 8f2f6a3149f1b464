import { MOST_TEXTS, MOST_VALUES } from '../core/dataset/value-limits.ts'
import type { IndexCounts, TextCounts } from '../core/planner/language/reading.ts'
import { entry } from '../privacy/must.ts'

/*
 * Collectors of the rows of a result that counts values. Each checks every row, so that no result of a database can be
 * misread.
 */

/** The largest integer up to which doubles are exact. */
const LARGEST_INTEGER = 2 ** 53

/** Collects the rows of one result, in their order. Integers are numbers or texts. */
export interface Collector<Collected> {
  /**
   * Adds a row, whose array may be used again.
   * @throws RangeError for a row that the result cannot have, and for too many rows.
   */
  add(row: readonly unknown[]): void
  /** Returns what was collected; nothing can be added afterwards. */
  finish(): Collected
}

/** Collects rows of an index and its count, whose indexes increase. */
export function collectIndexCounts(): Collector<IndexCounts> {
  const { put, finish } = createCellCounts(1)
  return {
    add: (row) => {
      requireWidth(row, 2)
      put(0, row[0], row[1])
    },
    finish: () => entry(finish(), 0),
  }
}

/**
 * Collects rows of a cell, an index and its count, in the order of the cells and of the indexes in each.
 * @param cells the number of cells
 */
export function collectCellCounts(cells: number): Collector<readonly IndexCounts[]> {
  const { put, finish } = createCellCounts(cells)
  return {
    add: (row) => {
      requireWidth(row, 3)
      put(row[0], row[1], row[2])
    },
    finish,
  }
}

function createCellCounts(cells: number) {
  const [indexes, counts] = [createNumbers(), createNumbers()]
  const ends = new Array<number>(cells).fill(0)
  let [lastCell, lastIndex] = [0, -Infinity]
  return {
    put: (cell: unknown, index: unknown, count: unknown): void => {
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
    finish: (): readonly IndexCounts[] => {
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
export function collectTextCounts(): Collector<TextCounts> {
  const texts: string[] = []
  const counts = createNumbers()
  return {
    add: (row) => {
      requireWidth(row, 2)
      requireWithin(texts.length + 1, MOST_TEXTS)
      const [text, count] = row
      if (typeof text !== 'string') throw new RangeError('a result is not a text')
      texts.push(text)
      counts.push(requireInteger(count, 1))
    },
    finish: () => ({ texts, counts: counts.slice() }),
  }
}

/**
 * Collects rows as they are, and reads them at the end.
 * @param most the largest number of rows
 */
export function collectRows<Result>(
  most: number,
  read: (rows: readonly (readonly unknown[])[]) => Result,
): Collector<Result> {
  const rows: (readonly unknown[])[] = []
  return {
    add: (row) => {
      requireWithin(rows.length + 1, most)
      rows.push([...row])
    },
    finish: () => read(rows),
  }
}

function requireWithin(rows: number, most: number): void {
  if (rows > most) throw new RangeError('the result is too large')
}

function requireWidth(row: readonly unknown[], width: number): void {
  if (row.length !== width) throw new RangeError('a result has another number of columns')
}

/** A list of numbers that grows. */
function createNumbers() {
  let numbers = new Float64Array(1_024)
  let length = 0
  return {
    length: () => length,
    push: (value: number) => {
      if (length === numbers.length) {
        const larger = new Float64Array(2 * length)
        larger.set(numbers)
        numbers = larger
      }
      numbers[length] = value
      length += 1
    },
    slice: (from = 0, to = length) => numbers.slice(from, to),
  }
}

function requireInteger(value: unknown, least: number): number {
  const number = typeof value === 'string' ? Number(value) : value
  if (typeof number === 'number' && Number.isInteger(number) && number >= least && number <= LARGEST_INTEGER)
    return number
  throw new RangeError('a result is not an integer')
}

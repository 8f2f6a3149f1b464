import type { Aggregate, Statistic } from '../core/planner/language/aggregate.ts'
import type { CellIntegers } from '../core/planner/language/reading.ts'
import { entry, must } from '../privacy/must.ts'
import type { PrintedSharedScan, SharedAggregate } from './printing/shared-scan.ts'

/** The number of result columns of each statistic. */
const RESULT_COLUMNS = {
  count: 1,
  'count-people': 1,
  'affine-count': 2,
  'affine-sum': 2,
  'affine-square-sum': 3,
  'affine-product-sum': 4,
  'count-distinct': 1,
  'count-distinct-values': 1,
} as const satisfies Record<Statistic['kind'], number>

/**
 * Computes the integers of an aggregate from the result of its statement.
 *
 * @param cells the number of cells
 * @param rows the rows of the result, in any order, as `printAggregate` describes them
 * @throws RangeError for any other rows.
 */
export function readAggregate(
  aggregate: Aggregate,
  cells: number,
  rows: readonly (readonly unknown[])[],
): CellIntegers {
  const grouped = aggregate.groupBy.length > 0
  return combineCells(
    aggregate,
    cells,
    rows.map((row) => {
      const values = row.map(readInteger)
      return grouped ? { cell: Number(values[0]), values: values.slice(1) } : { cell: 0, values }
    }),
  )
}

/** The result columns of all statistics in one cell. */
interface CellColumns {
  readonly cell: number
  readonly values: readonly bigint[]
}

function combineCells(aggregate: Aggregate, cells: number, columns: Iterable<CellColumns>): CellIntegers {
  const statistics = aggregate.statistics.map(() => new Array<bigint>(cells).fill(0n))
  for (const { cell, values } of columns) {
    if (!(cell >= 0 && cell < cells)) throw new RangeError('the result has a cell outside the aggregate')
    let position = 0
    for (const [index, statistic] of aggregate.statistics.entries()) {
      const end = position + RESULT_COLUMNS[statistic.kind]
      if (end > values.length) throw new RangeError('a column is missing in the result')
      entry(statistics, index)[cell] = combine(statistic, values.slice(position, end))
      position = end
    }
    if (position !== values.length) throw new RangeError('the result has too many columns')
  }
  return statistics
}

/**
 * Computes the integers of each aggregate of a shared scan, in their order.
 *
 * @param rows the rows of the result, in any order, as `printSharedScan` describes them
 * @throws RangeError for any other rows.
 */
export function readSharedScan(
  aggregates: readonly Aggregate[],
  { measures, aggregates: shared }: PrintedSharedScan,
  rows: readonly (readonly unknown[])[],
): readonly CellIntegers[] {
  const groups = rows.map((row) => ({ row, integers: row.slice(0, measures).map(readInteger) }))
  return aggregates.map((aggregate, index) => {
    const positions = shared[index]
    if (positions === undefined) throw new RangeError('an aggregate is missing in the result')
    return combineCells(aggregate, positions.cells, addUpGroups(positions, groups))
  })
}

/** A row of the result of a shared scan, and its measures. */
interface Group {
  readonly row: readonly unknown[]
  readonly integers: readonly bigint[]
}

/** Adds up the groups of each cell. */
function addUpGroups({ cell, columns }: SharedAggregate, groups: readonly Group[]): readonly CellColumns[] {
  const sums = new Map<number, bigint[]>()
  for (const { row, integers } of groups) {
    const number = cell === undefined ? 0 : row[cell]
    if (number === null) continue
    if (typeof number !== 'number') throw new RangeError('a result is not the number of a cell')
    const values = sums.get(number) ?? columns.map(() => 0n)
    sums.set(number, values)
    for (const [place, { measure, condition }] of columns.entries()) {
      const integer = integers[measure]
      if (integer === undefined) throw new RangeError('a column is missing in the result')
      if (condition === undefined || requireBoolean(row[condition]))
        values[place] = must(values[place], 'a sum') + integer
    }
  }
  return Array.from(sums, ([number, values]) => ({ cell: number, values }))
}

function requireBoolean(value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw new RangeError('a result is not a condition')
}

const INTEGER_TEXT = /^-?\d{1,38}$/

function readInteger(value: unknown): bigint {
  if (typeof value !== 'string' || !INTEGER_TEXT.test(value))
    throw new RangeError('a result is not an integer')
  return BigInt(value)
}

/**
 * Applies factor and offset. In SQL a large factor could overflow, which would be an error that depends on data.
 * @param values the result columns of the statistic
 */
function combine(statistic: Statistic, values: readonly bigint[]): bigint {
  const value = (place: number) => entry(values, place)
  switch (statistic.kind) {
    case 'count':
    case 'count-people':
    case 'count-distinct':
    case 'count-distinct-values':
      return value(0)
    case 'affine-count':
    case 'affine-sum': {
      const { factor, offset } = statistic
      return factor * value(0) + offset * value(1)
    }
    case 'affine-square-sum': {
      const { factor, offset } = statistic
      return factor ** 2n * value(0) + 2n * factor * offset * value(1) + offset ** 2n * value(2)
    }
    case 'affine-product-sum': {
      const [one, other] = statistic.terms
      return (
        one.factor * other.factor * value(0) +
        one.factor * other.offset * value(1) +
        other.factor * one.offset * value(2) +
        one.offset * other.offset * value(3)
      )
    }
  }
}

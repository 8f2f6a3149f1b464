import type { Dataset } from '../catalog/dataset.ts'
import type { Aggregate, ValueCounting } from '../planner/aggregate.ts'
import type { Dialect } from './dialect.ts'
import { printGroupKey } from './printing/group-keys.ts'
import { printPredicate } from './printing/predicates.ts'
import { GRID, type PrintedStatement, type Printer, printColumn } from './printing/printer.ts'
import { printStatistic, summedColumn } from './printing/statistics.ts'

/**
 * An aggregate as a statement, whose result `readAggregate` reads. Each row of the result holds, all as text: the number of the cell, if there are group
 * keys; then for each statistic its columns. A count has one column. An affine sum has the sum of the indexes and the
 * number of rows that have one. An affine count has the number of rows that satisfy its condition, and that of all
 * rows. A sum of squares has the sum of the squared indexes before the two of a sum. A sum of products has the sum of the
 * products of two indexes, the sum of each, and the number of rows that have both.
 */
export interface PrintedAggregate extends PrintedStatement {
  /** The number of cells; cells without rows are not in the result. */
  readonly cells: number
}

/** The largest number of cells: cell numbers are computed in 32 bits at worst. */
const LARGEST_CELL_COUNT = 2 ** 31 - 1

/**
 * Prints an aggregate. Names come from the dataset's columns, values from the aggregate.
 * @throws RangeError for an aggregate that does not fit the dataset, which planning excludes.
 */
export function printAggregate(aggregate: Aggregate, dataset: Dataset, dialect: Dialect): PrintedAggregate {
  const printer: Printer = { dataset, dialect, parameters: [] }
  const keys = aggregate.groupBy.map((key) => printGroupKey(printer, key))
  const cells = keys.reduce((product, key) => product * key.cells, 1)
  if (cells > LARGEST_CELL_COUNT) throw new RangeError('the aggregate has too many cells')

  const conditions = keys.flatMap(({ membership }) => membership ?? [])
  if (aggregate.where !== undefined) conditions.push(printPredicate(printer, aggregate.where))
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`

  const statistics = aggregate.statistics.flatMap((statistic) => printStatistic(printer, statistic))
  const from = `FROM ${dialect.relation(dataset)}${where}`
  const [first, ...others] = keys
  if (first === undefined) return finish(`SELECT ${statistics.join(', ')} ${from}`)
  const cell = others.reduce((number, key) => `(${number} * ${key.cells} + ${key.cell})`, first.cell)
  return finish(`SELECT ${[`CAST(${cell} AS VARCHAR)`, ...statistics].join(', ')} ${from} GROUP BY ${cell}`)

  function finish(sql: string): PrintedAggregate {
    return { sql, parameters: printer.parameters, cells }
  }
}

/**
 * Prints how often each index of a column on a grid occurs. Each row of the result is an index and its count, in the order
 * of the indexes.
 *
 * @param limit the largest number of rows in the result
 * @throws RangeError for a counting that does not fit the dataset, which planning excludes.
 */
export function printIndexCounting(
  counting: ValueCounting,
  dataset: Dataset,
  dialect: Dialect,
  limit: number,
): PrintedStatement {
  const printer: Printer = { dataset, dialect, parameters: [] }
  const column = printColumn(printer, summedColumn(counting), GRID)
  const sql = printValueCounting(printer, counting, column, dialect.countedInteger(column))
  return { sql: `${sql} ORDER BY ${column} LIMIT ${limit}`, parameters: printer.parameters }
}

/**
 * Prints how often each text of a free-text column occurs. Each row of the result is a text and its count.
 *
 * @param limit the largest number of rows in the result
 * @throws RangeError for a counting that does not fit the dataset, which planning excludes.
 */
export function printTextCounting(
  counting: ValueCounting,
  dataset: Dataset,
  dialect: Dialect,
  limit: number,
): PrintedStatement {
  const printer: Printer = { dataset, dialect, parameters: [] }
  const column = printColumn(printer, summedColumn(counting), ['string'])
  const sql = printValueCounting(printer, counting, column, dialect.countedText(column))
  return { sql: `${sql} LIMIT ${limit}`, parameters: printer.parameters }
}

function printValueCounting(
  printer: Printer,
  { where }: ValueCounting,
  column: string,
  value: string,
): string {
  const conditions = [`${column} IS NOT NULL`]
  if (where !== undefined) conditions.push(printPredicate(printer, where))
  const { dataset, dialect } = printer
  const from = `FROM ${dialect.relation(dataset)} WHERE ${conditions.join(' AND ')}`
  return `SELECT ${value}, ${dialect.countedInteger('count(*)')} ${from} GROUP BY ${column}`
}

import type { Dataset } from '../core/dataset/dataset.ts'
import {
  type Aggregate,
  type CellCounting,
  countsRowsOfPeople,
  type GroupKey,
  type PersonValue,
  type Predicate,
  type ValueCounting,
} from '../core/planner/language/aggregate.ts'
import { must } from '../privacy/must.ts'
import type { Dialect } from './dialect.ts'
import {
  isConstantColumn,
  isConstantKey,
  isConstantPredicate,
  isPresentInWholePeople,
  keepsWholePeople,
  PERSON,
  type PrintedRows,
  printBoundedRows,
  type Unbounded,
} from './printing/bounding.ts'
import { printDatasetRows } from './printing/derived.ts'
import { OWN_ROWS, type PrintedKey } from './printing/group-keys.ts'
import { printPersonExpression } from './printing/people.ts'
import { printPresent } from './printing/predicates.ts'
import {
  columnOf,
  createPrinter,
  GRID,
  type PrintedStatement,
  type Printer,
  printColumn,
} from './printing/printer.ts'
import { printStatistics } from './printing/results.ts'
import { printIndexed } from './printing/statistics.ts'
import { printCells, printWhere } from './printing/table.ts'

/**
 * Aggregate as a statement, whose result `readAggregate` reads. Each row of the result holds, all as text: the number
 * of the cell, if there are group keys; then for each statistic its columns. A count has one column. An affine sum has
 * the sum of the indexes and the number of rows (or people) that have one. An affine count has the number of rows that
 * satisfy its condition, and that of all rows. A sum of squares has the sum of the squared indexes before the two of a
 * sum. A sum of products has the sum of the products of two indexes, the sum of each, and the number of rows that have
 * both.
 */
export interface PrintedAggregate extends PrintedStatement {
  /** The number of cells; cells without rows are not in the result. */
  readonly cells: number
}

/**
 * Prints an aggregate. Names come from the dataset's columns, values from the aggregate.
 * @throws RangeError for an aggregate that does not fit the dataset, which planning excludes.
 */
export function printAggregate(aggregate: Aggregate, dataset: Dataset, dialect: Dialect): PrintedAggregate {
  const printer = createPrinter(dataset, dialect, aggregate)
  if (countsRowsOfPeople(aggregate)) return printPeopleByRows(printer, aggregate)
  const presenceOnly = aggregate.statistics.every(
    (statistic) =>
      statistic.kind === 'count-people' && statistic.column === undefined && statistic.where === undefined,
  )
  const valuesEach = Math.min(...aggregate.statistics.map(valuesEachOf))
  const { rows, cells } = printTableRows(printer, aggregate, { presenceOnly, valuesEach })
  return { sql: printStatistics(printer, aggregate, rows), parameters: printer.parameters, cells }
}

/** Number of values of a person that a statistic keeps. */
function valuesEachOf(statistic: Aggregate['statistics'][number]): number {
  return statistic.kind === 'count-distinct-values' ? statistic.valuesEach : Number.POSITIVE_INFINITY
}

/**
 * Prints the number of people in each bin of the number of their rows, before anything bounds these.
 * @throws RangeError for an aggregate with another key or statistic, which planning excludes.
 */
function printPeopleByRows(printer: Printer, { groupBy, where, statistics }: Aggregate): PrintedAggregate {
  if (printer.dataset.privacyUnit.kind !== 'person') throw new RangeError('the dataset has no people')
  const [statistic] = statistics
  if (groupBy.length > 1 || statistics.length > 1 || statistic?.kind !== 'count-people')
    throw new RangeError('only people are counted by the number of their rows')
  const { conditions, cell, cells } = printCells(printer, groupBy, where)
  const condition = conditions.map(({ sql }) => ` WHERE ${sql}`).join('')
  const rows = `${printDatasetRows(printer, { extent: 'plausible' })}${condition}`
  const people = `(SELECT count(*) AS ${OWN_ROWS} FROM ${rows} GROUP BY ${PERSON}) AS sotto_people`
  const sql = `SELECT CAST(${cell} AS VARCHAR), CAST(count(*) AS VARCHAR) FROM ${people} GROUP BY ${cell}`
  return { sql, parameters: printer.parameters, cells }
}

/**
 * Prints the bounded rows of a table's cells.
 * @param presentColumn a column that must not be NULL
 */
function printTableRows(
  printer: Printer,
  { groupBy, where, bounding }: Pick<Aggregate, 'groupBy' | 'where' | 'bounding'>,
  facts: Pick<Unbounded, 'presenceOnly' | 'valuesEach'> & { readonly presentColumn?: string },
): { readonly rows: PrintedRows; readonly cells: number } {
  const { dataset } = printer
  const { presenceOnly, presentColumn, valuesEach } = facts
  const { conditions, cell, cells, keys } = printCells(printer, groupBy, where)
  const present = presentColumn === undefined ? [] : [printPresent(printer, presentColumn)]
  const rows = printBoundedRows(printer, bounding, {
    conditions: [...conditions, ...present],
    cell,
    cellsPerPerson: cellsPerPerson(groupBy, keys, dataset),
    wholePeople:
      isWhole(where, dataset) &&
      groupBy.every((key) => keepsWholePeople(key, dataset)) &&
      (presentColumn === undefined || isPresentInWholePeople(presentColumn, dataset)),
    presenceOnly,
    ...(valuesEach === undefined ? {} : { valuesEach }),
  })
  return { rows, cells }
}

/**
 * Prints how often each index of a column occurs in each cell of a table. Each row of the result is the number of a
 * cell, an index and its count, in the order of cells and indexes. Without keys all rows are in cell 0.
 *
 * @param limit the largest number of rows in the result
 * @throws RangeError for a counting that does not fit the dataset, which planning excludes.
 */
export function printCellCounting(
  counting: CellCounting,
  dataset: Dataset,
  dialect: Dialect,
  limit: number,
): PrintedAggregate {
  const printer = createPrinter(dataset, dialect, counting)
  const column = printGridIndex(printer, counting)
  const { rows, cells } = printTableRows(printer, counting, {
    presenceOnly: false,
    presentColumn: counting.column,
  })
  const columns = [rows.cell ?? '0', column, 'count(*)'].map((integer) => dialect.countedInteger(integer))
  const order = rows.cell === undefined ? column : `${rows.cell}, ${column}`
  const sql = `SELECT ${columns.join(', ')} FROM ${rows.from} GROUP BY ${order} ORDER BY ${order} LIMIT ${limit}`
  return { sql, parameters: printer.parameters, cells }
}

/**
 * Prints how often each index of a column on a grid occurs, or each value per person. Each row of the result is an
 * index and its count, in the order of the indexes.
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
  const printer = createPrinter(dataset, dialect, counting)
  const { column, from, counted } =
    counting.perPerson === undefined
      ? printCountedColumn(printer, counting, printGridIndex(printer, counting))
      : printCountedPeople(printer, counting)
  const sql = `SELECT ${dialect.countedInteger(column)}, ${dialect.countedInteger(counted)} FROM ${from} GROUP BY ${column}`
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
  const printer = createPrinter(dataset, dialect, counting)
  if (counting.perPerson !== undefined) throw new RangeError('a value per person is no text')
  const name = printColumn(printer, counting.column, ['string'])
  const { column, from, counted } = printCountedColumn(printer, counting, name)
  const sql = `SELECT ${dialect.countedText(column)}, ${dialect.countedInteger(counted)} FROM ${from} GROUP BY ${column}`
  return { sql: `${sql} LIMIT ${limit}`, parameters: printer.parameters }
}

/** Prints the index of a column on a grid, which may be clamped. */
function printGridIndex(
  printer: Printer,
  counting: Extract<ValueCounting, { readonly column: string }> | CellCounting,
): string {
  columnOf(printer, counting.column, GRID)
  return printIndexed(printer, counting).index
}

/** Values to count, as a column of a relation, and the aggregate function that counts them. */
interface CountedValues {
  readonly column: string
  readonly from: string
  readonly counted: string
}

/** Prints the values of a column; each is a cell. */
function printCountedColumn(
  printer: Printer,
  counting: Extract<ValueCounting, { readonly column: string }>,
  column: string,
): CountedValues {
  const { dataset } = printer
  const { where, bounding, people } = counting
  const rows = printBoundedRows(printer, bounding, {
    conditions: [printPresent(printer, counting.column), ...printWhere(printer, where)],
    cell: column,
    cellsPerPerson: isConstantColumn(counting.column, dataset) ? 1 : Number.POSITIVE_INFINITY,
    wholePeople: isWhole(where, dataset) && isPresentInWholePeople(counting.column, dataset),
    presenceOnly: people === true,
  })
  const counted = people === true && !rows.oneRowEach ? `count(DISTINCT ${PERSON})` : 'count(*)'
  return { column, from: rows.from, counted }
}

/** Largest magnitude of a value that is counted: counts of values are read as doubles. */
const LARGEST_COUNTED = 2n ** 53n

/** Prints one value for each person, from the person's rows in the one cell. */
function printCountedPeople(
  printer: Printer,
  { where, bounding, perPerson }: Extract<ValueCounting, { readonly perPerson: object }>,
): CountedValues {
  if (perPerson.lower < -LARGEST_COUNTED || perPerson.upper > LARGEST_COUNTED)
    throw new RangeError('the clamping bounds of counted values must be within 53 bits')
  const rows = printBoundedRows(printer, bounding, {
    conditions: printWhere(printer, where),
    cell: undefined,
    cellsPerPerson: 1,
    wholePeople: isWhole(where, printer.dataset),
    presenceOnly: false,
  })
  return { column: 'sotto_value', from: printPersonValues(printer, perPerson, rows), counted: 'count(*)' }
}

function printPersonValues(printer: Printer, perPerson: PersonValue, { from }: PrintedRows): string {
  const value = printPersonExpression(printer, perPerson)
  return `(SELECT ${value} AS sotto_value FROM ${from} GROUP BY ${PERSON}) AS sotto_people WHERE sotto_value IS NOT NULL`
}

function isWhole(where: Predicate | undefined, dataset: Dataset): boolean {
  return where === undefined || isConstantPredicate(where, dataset)
}

/** The largest number of cells in which one person can have rows. */
function cellsPerPerson(groupBy: readonly GroupKey[], keys: readonly PrintedKey[], dataset: Dataset): number {
  return groupBy.reduce(
    (product, key, place) =>
      isConstantKey(key, dataset) ? product : product * must(keys[place], 'a printed key').cells,
    1,
  )
}

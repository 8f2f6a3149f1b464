import type { Dataset } from '../../core/dataset/dataset.ts'
import { gridPoints } from '../../core/dataset/value-limits.ts'
import {
  type Aggregate,
  countsRowsOfPeople,
  type GroupKey,
  type Predicate,
  type Statistic,
} from '../../core/planner/language/aggregate.ts'
import { columnNamed } from '../../core/planner/language/columns.ts'
import { columnsOf } from '../../core/planner/language/formula.ts'
import { defined } from '../../privacy/defined.ts'
import { must } from '../../privacy/must.ts'
import { type Dialect, quoteIdentifier } from '../dialect.ts'
import { keepsAllRows, maxRowsOf } from './bounding.ts'
import { printDatasetRows } from './derived.ts'
import { printPredicate } from './predicates.ts'
import { ANY_TYPE, createPrinter, type PrintedStatement, type Printer, printColumn } from './printer.ts'
import {
  type Counted,
  isRowStatistic,
  printResult,
  printRowStatistic,
  type RowStatistic,
} from './statistics.ts'
import { printCells } from './table.ts'

/*
 * Several aggregates in one statement that reads the rows once. It groups the rows by the columns of all conditions and
 * keys, so that all rows of a group are in the same cells of each aggregate. The results of the statistics of additive
 * kinds are sums over groups. That costs little more than one aggregate. A statement with a condition for each aggregate
 * on each row would cost as much as the aggregates one by one.
 */

/** Largest number of groups: the product of the declared numbers of values of the columns. */
const MOST_GROUPS = 4_096

/**
 * Several aggregates as one statement, whose result `readSharedScan` reads. Each row of the result is a group of rows:
 * first the measures as text, then the numbers of cells and the conditions, at the positions that `aggregates` names.
 */
export interface PrintedSharedScan extends PrintedStatement {
  readonly measures: number
  readonly aggregates: readonly SharedAggregate[]
}

/** The positions of one aggregate in a row of the result. */
export interface SharedAggregate {
  /** The position of the number of the group's cell, which is NULL if its rows are in no cell; absent for the only cell. */
  readonly cell?: number
  readonly cells: number
  /** The columns of the statistics, in the order in which the aggregate's own statement has them. */
  readonly columns: readonly SharedColumn[]
}

/** A column that adds up a measure over the groups where a condition holds. */
export interface SharedColumn {
  readonly measure: number
  /** The position of the condition; absent if every group counts. */
  readonly condition?: number
}

/** A part of a statistic: what is added up, and the rows that count. */
interface Addend {
  readonly measure: string
  readonly where?: Predicate
}

/**
 * Returns the columns by which a scan must group the rows to compute an aggregate; `undefined` if the aggregate cannot share
 * a scan, because it bounds the rows of people, has a statistic that does not add up, or needs too many groups. The
 * result depends on public facts alone.
 */
export function scanColumns(aggregate: Aggregate, dataset: Dataset): ReadonlySet<string> | undefined {
  const { groupBy, where, statistics, bounding } = aggregate
  if (countsRowsOfPeople(aggregate)) return undefined
  if (!statistics.every((statistic) => isShareable(statistic, dataset))) return undefined
  if (!keepsAllRows(bounding, dataset, groupBy.length === 0)) return undefined
  const columnsIn = (predicate: Predicate | undefined) =>
    predicate === undefined ? [] : columnsOf(predicate)
  const columns = new Set([
    ...columnsIn(where),
    ...groupBy.flatMap(columnsOfKey),
    ...statistics.flatMap((statistic) => ('where' in statistic ? columnsIn(statistic.where) : [])),
  ])
  return groupCount(columns, dataset) <= MOST_GROUPS ? columns : undefined
}

function columnsOfKey(key: GroupKey): readonly string[] {
  switch (key.kind) {
    case 'predicate':
      return columnsOf(key.predicate)
    case 'rows-of-person':
      return []
    case 'category':
    case 'boolean':
    case 'bins':
      return [key.column]
  }
}

/**
 * Returns the number of integers that an aggregate consists of.
 * @throws RangeError for group keys that do not fit the dataset.
 */
export function integerCount({ groupBy, statistics }: Aggregate, dataset: Dataset, dialect: Dialect): number {
  const { cells } = printCells(createPrinter(dataset, dialect, groupBy), groupBy, undefined)
  return cells * statistics.length
}

/** The largest number of groups of rows that columns can distinguish, by their declarations. */
function groupCount(columns: Iterable<string>, dataset: Dataset): number {
  let groups = 1
  for (const name of columns) groups *= valueCount(name, dataset)
  return groups
}

const common = new WeakMap<Dataset, ReadonlySet<string>>()

/**
 * Returns the columns with the fewest values, as many as one scan can group the rows by. Aggregates that use no other
 * columns share a scan, whichever of these they use.
 */
export function commonColumns(dataset: Dataset): ReadonlySet<string> {
  const known = common.get(dataset)
  if (known !== undefined) return known
  const columns = new Set<string>()
  const sizes = dataset.columns.map(({ name }) => ({ name, size: valueCount(name, dataset) }))
  let groups = 1
  for (const { name, size } of sizes.toSorted((one, other) => one.size - other.size)) {
    groups *= size
    if (groups > MOST_GROUPS) break
    columns.add(name)
  }
  common.set(dataset, columns)
  return columns
}

/** The declared number of values of a column, and NULL; Infinity if the declaration does not limit it. */
function valueCount(name: string, dataset: Dataset): number {
  const column = columnNamed(dataset, name)
  switch (column?.type) {
    case 'category':
      return column.categories.length + 1
    case 'boolean':
      return 3
    case 'integer':
    case 'number':
    case 'date':
    case 'timestamp':
      return Number(gridPoints(column)) + 1
    default:
      return Number.POSITIVE_INFINITY
  }
}

/**
 * Prints aggregates as one statement. See decision 38.
 * @throws RangeError for an aggregate that does not fit the dataset, or that {@link scanColumns} excludes.
 */
export function printSharedScan(
  aggregates: readonly Aggregate[],
  dataset: Dataset,
  dialect: Dialect,
): PrintedSharedScan {
  const printer = createPrinter(dataset, dialect, aggregates)
  const groupedBy = new Set<string>()
  const measures: string[] = []
  const addends = aggregates.map((aggregate) => {
    const columns = scanColumns(aggregate, dataset)
    if (columns === undefined) throw new RangeError('the aggregate cannot share a scan')
    for (const column of columns) groupedBy.add(column)
    return aggregate.statistics.flatMap((statistic) => addendsOf(printer, statistic))
  })
  if (groupCount(groupedBy, dataset) > MOST_GROUPS) throw new RangeError('the scan has too many groups')
  for (const { measure } of addends.flat()) if (!measures.includes(measure)) measures.push(measure)

  const places: string[] = []
  const place = (sql: string) => measures.length + places.push(sql) - 1
  const shared = aggregates.map((aggregate, index): SharedAggregate => {
    const { conditions, cell, cells } = printCells(printer, aggregate.groupBy, aggregate.where)
    return {
      ...(cell === undefined && conditions.length === 0
        ? {}
        : {
            cell: place(
              printCell(
                conditions.map(({ sql }) => sql),
                cell,
              ),
            ),
          }),
      cells,
      columns: must(addends[index], 'the addends of an aggregate').map(({ measure, where }) => ({
        measure: measures.indexOf(measure),
        ...(where === undefined ? {} : { condition: place(`(${printPredicate(printer, where)}) IS TRUE`) }),
      })),
    }
  })
  return {
    sql: printGroups(printer, [...groupedBy], measures, places),
    parameters: printer.parameters,
    measures: measures.length,
    aggregates: shared,
  }
}

function printGroups(
  printer: Printer,
  groupedBy: readonly string[],
  measures: readonly string[],
  places: readonly string[],
): string {
  const keys = groupedBy.map((name) => printColumn(printer, name, ANY_TYPE))
  const names = measures.map((_, index) => quoteIdentifier(`sotto_measure${index}`))
  const columns = [...keys, ...measures.map((measure, index) => `${measure} AS ${names[index]}`)].join(', ')
  const grouping = keys.length === 0 ? '' : ` GROUP BY ${keys.join(', ')}`
  const groups = `(SELECT ${columns} FROM ${printDatasetRows(printer)}${grouping}) AS sotto_groups`
  return `SELECT ${[...names, ...places].join(', ')} FROM ${groups}`
}

function printCell(conditions: readonly string[], cell = '0'): string {
  const number = `CAST(${cell} AS INTEGER)`
  return conditions.length === 0 ? number : `CASE WHEN ${conditions.join(' AND ')} THEN ${number} END`
}

/** The statistics that a scan can compute: those whose columns add up. */
type ShareableStatistic = RowStatistic | (Counted & { readonly kind: 'count-people' })

function isShareable(statistic: Statistic, dataset: Dataset): statistic is ShareableStatistic {
  return isRowStatistic(statistic) || (statistic.kind === 'count-people' && maxRowsOf(dataset) === 1)
}

/** The addends of a statistic, one for each of its result columns. */
function addendsOf(printer: Printer, statistic: Statistic): readonly Addend[] {
  if (!isShareable(statistic, printer.dataset)) throw new RangeError('the statistic does not add up')
  switch (statistic.kind) {
    case 'count':
    case 'count-people': {
      const { column, where } = statistic
      const counted: RowStatistic = defined({ kind: 'count', column })
      return printMeasures(printer, counted).map((measure) => defined({ measure, where }))
    }
    case 'affine-count':
      return printMeasures(printer, { kind: 'count' }).flatMap((measure) => [
        { measure, where: statistic.where },
        { measure },
      ])
    case 'affine-sum':
    case 'affine-square-sum':
    case 'affine-product-sum':
      return printMeasures(printer, statistic).map((measure) => ({ measure }))
  }
}

/** Prints the result columns of a statistic without a condition. They have no parameters, so equal ones have equal texts. */
function printMeasures(printer: Printer, statistic: RowStatistic): readonly string[] {
  return printRowStatistic(printer, statistic).map(printResult)
}

import type { Aggregate, Bounding, Statistic } from '../../core/planner/language/aggregate.ts'
import { quoteIdentifier } from '../dialect.ts'
import { maxRowsOf, type PrintedRows, printFirstValues } from './bounding.ts'
import { type PeopleStatistic, printPeopleStatistics } from './people.ts'
import { type Printer, printColumn } from './printer.ts'
import {
  isRowStatistic,
  printDistinctCells,
  printPeople,
  printResult,
  printRowStatistic,
} from './statistics.ts'

/** Result columns of a statistic, as text, and the rows that they are computed from. */
interface PrintedStatistic {
  readonly rows: PrintedRows
  readonly columns: readonly string[]
}

/**
 * Prints the statistics of an aggregate over its bounded rows, as one statement.
 * @throws RangeError for a statistic that does not fit the dataset or the aggregate.
 */
export function printStatistics(printer: Printer, aggregate: Aggregate, rows: PrintedRows): string {
  const { statistics } = aggregate
  const people = needsTwoSteps(statistics, rows) ? statistics.filter(isPeopleStatistic) : []
  const twoSteps = people.length === 0 ? undefined : printPeopleStatistics(printer, people, rows)
  const places: readonly Statistic[] = people
  const printed = statistics.map((statistic): PrintedStatistic => {
    const place = places.indexOf(statistic)
    const columns = twoSteps?.results[place]
    return twoSteps === undefined || columns === undefined
      ? printFromRows(printer, statistic, aggregate, rows)
      : { rows: twoSteps.rows, columns }
  })
  const sources = new Set(printed.map((statistic) => statistic.rows))
  return sources.size === 1
    ? printSelect(printed[0]?.rows ?? rows, printed)
    : printJoin([...sources], printed)
}

/** True if some statistic needs one row for each person, or several would keep a set of people each. */
function needsTwoSteps(statistics: readonly Statistic[], { oneRowEach }: PrintedRows): boolean {
  if (statistics.some((statistic) => 'perPerson' in statistic && statistic.perPerson !== undefined))
    return true
  const sets = statistics.filter(
    (statistic) =>
      statistic.kind === 'count-people' && (statistic.column !== undefined || statistic.where !== undefined),
  )
  return !oneRowEach && sets.length > 1
}

function isPeopleStatistic(statistic: Statistic): statistic is PeopleStatistic {
  return statistic.kind !== 'count-distinct' && statistic.kind !== 'count-distinct-values'
}

function printFromRows(
  printer: Printer,
  statistic: Statistic,
  { bounding, groupBy }: Aggregate,
  rows: PrintedRows,
): PrintedStatistic {
  if (isRowStatistic(statistic))
    return { rows, columns: printRowStatistic(printer, statistic).map(printResult) }
  switch (statistic.kind) {
    case 'count':
    case 'count-people':
      return { rows, columns: [printPeople(printer, statistic, rows)] }
    case 'count-distinct':
      return { rows, columns: [printDistinctCells(printer, statistic)] }
    case 'count-distinct-values': {
      if (groupBy.length > 0) throw new RangeError('distinct values are counted in one cell only')
      const values = printColumn(printer, statistic.column, ['string'])
      return {
        rows: printValuesEach(printer, values, statistic.valuesEach, bounding, rows),
        columns: [printResult({ kind: 'count', sql: `count(DISTINCT ${values})` })],
      }
    }
    case 'affine-sum':
    case 'affine-square-sum':
      throw new RangeError('a value per person needs rows of people')
  }
}

/** Prints the rows of which each person has at most `valuesEach` values. */
function printValuesEach(
  printer: Printer,
  values: string,
  valuesEach: number,
  bounding: Bounding,
  rows: PrintedRows,
): PrintedRows {
  const rowsEach = bounding.kind === 'rows' ? bounding.rows : Number.POSITIVE_INFINITY
  if (valuesEach >= Math.min(rowsEach, maxRowsOf(printer.dataset))) return rows
  const present = `(SELECT * FROM ${rows.from}) AS sotto_bounded WHERE ${values} IS NOT NULL`
  return {
    from: printFirstValues(printer, present, values, valuesEach),
    cell: undefined,
    oneRowEach: false,
  }
}

/** Prints statistics of the same rows. */
function printSelect({ from, cell }: PrintedRows, statistics: readonly PrintedStatistic[]): string {
  const columns = statistics.flatMap((statistic) => statistic.columns)
  if (cell === undefined) return `SELECT ${columns.join(', ')} FROM ${from}`
  return `SELECT ${[printCell(cell), ...columns].join(', ')} FROM ${from} GROUP BY ${cell}`
}

/** Prints statistics of several relations. All of them have the same cells. */
function printJoin(sources: readonly PrintedRows[], statistics: readonly PrintedStatistic[]): string {
  const columns = statistics.flatMap(({ rows, columns }) => columns.map((sql) => ({ rows, sql })))
  const names = columns.map((_, place) => quoteIdentifier(`sotto_column${place}`))
  const grouped = sources.some(({ cell }) => cell !== undefined)
  const relations = sources.map((source, number) => {
    const own = columns.flatMap(({ rows, sql }, place) =>
      rows === source ? [`${sql} AS ${names[place]}`] : [],
    )
    const { from, cell } = source
    return cell === undefined
      ? `(SELECT ${own.join(', ')} FROM ${from}) AS sotto_source${number}`
      : `(SELECT ${[`${cell} AS ${CELL}`, ...own].join(', ')} FROM ${from} GROUP BY ${cell}) AS sotto_source${number}`
  })
  if (!grouped) return `SELECT ${names.join(', ')} FROM ${relations.join(' CROSS JOIN ')}`
  const [first, ...others] = relations
  const joined = [first, ...others.map((relation) => `${relation} USING (${CELL})`)].join(' JOIN ')
  return `SELECT ${[printCell(CELL), ...names].join(', ')} FROM ${joined}`
}

const CELL = quoteIdentifier('sotto_result_cell')

function printCell(cell: string): string {
  return `CAST(${cell} AS VARCHAR)`
}

import type { PersonValue, Statistic } from '../../core/planner/language/aggregate.ts'
import { quoteIdentifier } from '../dialect.ts'
import { largestMagnitude } from '../grid.ts'
import { PERSON, type PrintedRows } from './bounding.ts'
import {
  ANY_TYPE,
  columnOf,
  GRID,
  OUTERMOST_INDEX,
  type Printer,
  printColumn,
  printValue,
} from './printer.ts'
import {
  type AdditiveColumn,
  type IndexedColumn,
  isRowStatistic,
  printCounts,
  printIndexed,
  printResult,
  printRowStatistic,
  printSums,
  sumOfProducts,
} from './statistics.ts'

/*
 * Statistics that are computed in two steps: first one row for each person and cell, then the statistics of those rows.
 */

/** Statistic that can be computed in these two steps. */
export type PeopleStatistic = Exclude<Statistic, { kind: 'count-distinct' | 'count-distinct-values' }>

/** The printed columns of a relation with one row for each person and cell. */
interface PersonRows {
  readonly printer: Printer
  readonly columns: string[]
}

/** Prints a column of the relation, and returns its name. */
function define({ columns }: PersonRows, expression: string): string {
  const known = columns.indexOf(expression)
  const place = known === -1 ? columns.push(expression) - 1 : known
  return nameOf(place)
}

/** Result columns of statistics, and the relation that they are computed from. */
export interface PrintedPeople {
  readonly results: readonly (readonly string[])[]
  readonly rows: PrintedRows
}

/**
 * Prints statistics of people: counts of people, sums of one value for each person, and statistics of rows beside them.
 * @throws RangeError for a statistic that does not fit the dataset.
 */
export function printPeopleStatistics(
  printer: Printer,
  statistics: readonly PeopleStatistic[],
  { from, cell }: PrintedRows,
): PrintedPeople {
  const people: PersonRows = { printer, columns: [] }
  const results = statistics.map((statistic) => printStatistic(people, statistic))
  const values = people.columns.map((sql, place) => `${sql} AS ${nameOf(place)}`)
  const [cells, keys] = cell === undefined ? [[], [PERSON]] : [[`${cell} AS ${CELL}`], [cell, PERSON]]
  const selected = [...cells, PERSON, ...values].join(', ')
  return {
    results,
    rows: {
      from: `(SELECT ${selected} FROM ${from} GROUP BY ${keys.join(', ')}) AS sotto_people`,
      cell: cell === undefined ? undefined : CELL,
      oneRowEach: true,
    },
  }
}

function nameOf(place: number): string {
  return quoteIdentifier(`sotto_value${place}`)
}

const CELL = quoteIdentifier('sotto_people_cell')

function printStatistic(people: PersonRows, statistic: PeopleStatistic): readonly string[] {
  const { printer } = people
  if (isRowStatistic(statistic))
    return printRowStatistic(printer, statistic).map((column) => addUp(people, column))
  switch (statistic.kind) {
    case 'count':
    case 'count-people': {
      const condition = printCounts(printer, statistic)
      const counted = condition === undefined ? 'count(*)' : countOfPeople(people, condition)
      return [printResult({ kind: 'count', sql: counted })]
    }
    case 'affine-sum':
    case 'affine-square-sum': {
      if (statistic.perPerson === undefined) throw new RangeError('a sum needs a value per person')
      const value = printPersonValue(people, statistic.perPerson)
      const sums = printSums(printer, value.index)
      if (statistic.kind === 'affine-sum') return sums.map(printResult)
      const squares = sumOfProducts(printer, value, value)
      return [{ kind: 'sum', sql: squares } as const, ...sums].map(printResult)
    }
  }
}

function countOfPeople(people: PersonRows, condition: string): string {
  const { dialect } = people.printer
  return dialect.countIf(define(people, `bool_or(${condition})`))
}

function addUp(people: PersonRows, { sql }: AdditiveColumn): string {
  return printResult({ kind: 'sum', sql: people.printer.dialect.sum(define(people, sql)) })
}

/** Prints the name of a column with one value for each person. */
function printPersonValue(people: PersonRows, value: PersonValue): IndexedColumn {
  const { printer } = people
  const { lower, upper } = value
  return {
    index: define(people, printPersonExpression(printer, value)),
    nullable: true,
    largestMagnitude: largestMagnitude(lower, upper),
  }
}

/** Largest magnitude of a clamping bound: a person's total of 10^6 indexes of 53 bits. */
const LARGEST_CLAMP = 2n ** 73n

/**
 * Prints the value of one person, as an aggregate function of the person's rows.
 * @throws RangeError for a value that does not fit the dataset, or that is not clamped within 73 bits.
 */
export function printPersonExpression(printer: Printer, value: PersonValue): string {
  const { lower, upper } = value
  if (printer.dataset.privacyUnit.kind !== 'person') throw new RangeError('the dataset has no people')
  if (lower > upper || lower < -LARGEST_CLAMP || upper > LARGEST_CLAMP)
    throw new RangeError('a value per person needs clamping bounds')
  const index = printUnclamped(printer, value)
  const [least, most] = [printWide(printer, lower), printWide(printer, upper)]
  // Not least() and greatest(), which ignore NULL in some databases. A comparison with NULL leads to the last branch.
  const clamped = `CASE WHEN ${index} < ${least} THEN ${least} WHEN ${index} > ${most} THEN ${most} ELSE ${index} END`
  return fitsInBigInt(lower) && fitsInBigInt(upper) ? `CAST(${clamped} AS BIGINT)` : clamped
}

function fitsInBigInt(index: bigint): boolean {
  return index >= -OUTERMOST_INDEX && index <= OUTERMOST_INDEX
}

/** Prints an integer that may need more than 64 bits, as 2^32 times its upper part and the rest. */
function printWide(printer: Printer, index: bigint): string {
  if (fitsInBigInt(index)) return printValue(printer, index, 'bigint')
  const upper = printer.dialect.wide(printValue(printer, index >> 32n, 'bigint'))
  return `(${upper} * ${2n ** 32n} + ${printValue(printer, index & 0xffffffffn, 'bigint')})`
}

/** Prints an integer, or NULL for a person without a row that counts. */
function printUnclamped(printer: Printer, value: PersonValue): string {
  const { dialect } = printer
  switch (value.kind) {
    case 'count':
      return value.column === undefined
        ? 'count(*)'
        : `nullif(count(${printColumn(printer, value.column, ANY_TYPE)}), 0)`
    case 'sum':
      return dialect.sum(printIndexed(printer, value).index)
    case 'mean': {
      const { index } = printIndexed(printer, value)
      const lowest = printValue(printer, value.clamp?.lower ?? lowestIndex(printer, value.column), 'bigint')
      const [sum, count] = [dialect.sum(index), `count(${index})`]
      // Relative to the lowest index, so that neither operand of the quotient is negative. A sum has at most 10^6 terms
      // of 53 bits.
      const mean = dialect.wideQuotient(
        `(2 * (${sum} - ${count} * ${dialect.wide(lowest)}) + ${count})`,
        `(2 * nullif(${count}, 0))`,
      )
      return `(${lowest} + ${mean})`
    }
  }
}

function lowestIndex(printer: Printer, name: string): bigint {
  const column = columnOf(printer, name, [...GRID, 'boolean'])
  return column.type === 'boolean' ? 0n : column.lowerIndex
}

import type { Clamp, Predicate, Statistic } from '../../core/planner/language/aggregate.ts'
import { LARGEST_IN_64_BITS, largestMagnitude } from '../grid.ts'
import { PERSON, type PrintedRows } from './bounding.ts'
import { printGroupKey } from './group-keys.ts'
import { printPredicate } from './predicates.ts'
import {
  ANY_TYPE,
  booleanIndex,
  columnOf,
  GRID,
  OUTERMOST_INDEX,
  type Printer,
  printColumn,
  printValueOf,
} from './printer.ts'

/** The planner's LARGEST_SQUARED_INDEX: the sum of its square over any number of rows fits 128 bits. */
const LARGEST_INDEX_SQUARED_IN_128_BITS = 2n ** 45n

/** Aggregate function of rows whose results for parts of the rows add up to that for all. A sum of no row is NULL. */
export interface AdditiveColumn {
  readonly kind: 'count' | 'sum'
  readonly sql: string
}

/** Rows that are counted. */
export interface Counted {
  readonly column?: string
  readonly where?: Predicate
}

/** Statistic of rows whose result columns add up. */
export type RowStatistic =
  | (Counted & { readonly kind: 'count' })
  | (Extract<Statistic, { kind: 'affine-sum' | 'affine-square-sum' }> & { readonly column: string })
  | Extract<Statistic, { kind: 'affine-count' | 'affine-product-sum' }>

/** True for a statistic of rows whose result columns add up. */
export function isRowStatistic(statistic: Statistic): statistic is RowStatistic {
  switch (statistic.kind) {
    case 'count':
    case 'affine-count':
    case 'affine-product-sum':
      return true
    case 'affine-sum':
    case 'affine-square-sum':
      return statistic.column !== undefined
    case 'count-people':
    case 'count-distinct':
    case 'count-distinct-values':
      return false
  }
}

/** @throws RangeError for a statistic that does not fit the dataset. */
export function printRowStatistic(printer: Printer, statistic: RowStatistic): readonly AdditiveColumn[] {
  const { dialect } = printer
  switch (statistic.kind) {
    case 'count':
      return [count(printCount(printer, statistic))]
    case 'affine-count':
      return [count(dialect.countIf(printPredicate(printer, statistic.where))), count('count(*)')]
    case 'affine-sum': {
      const { index, nullable, largestMagnitude } = printIndexed(printer, statistic)
      return [sum(dialect.sum(index, largestMagnitude)), countOf(index, nullable, statistic.offset)]
    }
    case 'affine-square-sum': {
      const column = printIndexed(printer, statistic)
      const { offset } = statistic
      return [
        sum(sumOfProducts(printer, column, column)),
        offset === 0n ? NOT_READ : sum(dialect.sum(column.index, column.largestMagnitude)),
        countOf(column.index, column.nullable, offset),
      ]
    }
    case 'affine-product-sum': {
      const [one, other] = statistic.terms.map((term) => printIndexed(printer, term))
      if (one === undefined || other === undefined) throw new RangeError('a product has two terms')
      const [{ offset }, { offset: otherOffset }] = statistic.terms
      const oneOfBoth = indexWithOther(one, other)
      return [
        sum(sumOfProducts(printer, one, other)),
        otherOffset === 0n ? NOT_READ : sum(dialect.sum(oneOfBoth, one.largestMagnitude)),
        offset === 0n ? NOT_READ : sum(dialect.sum(indexWithOther(other, one), other.largestMagnitude)),
        countOf(oneOfBoth, one.nullable || other.nullable, offset * otherOffset),
      ]
    }
  }
}

/** Prints a column of a result, as text; 0 without rows. */
export function printResult({ kind, sql }: AdditiveColumn): string {
  return kind === 'count' ? `CAST(${sql} AS VARCHAR)` : `CAST(coalesce(${sql}, 0) AS VARCHAR)`
}

/**
 * Prints the number of people who have a row that counts.
 * @throws RangeError for a statistic that does not fit the dataset.
 */
export function printPeople(printer: Printer, statistic: Counted, { oneRowEach }: PrintedRows): string {
  if (oneRowEach) return printResult(count(printCount(printer, statistic)))
  const condition = printCounts(printer, statistic)
  return printResult(
    count(
      `count(DISTINCT ${condition === undefined ? PERSON : `CASE WHEN ${condition} THEN ${PERSON} END`})`,
    ),
  )
}

/** @throws RangeError for a statistic that does not fit the dataset. */
export function printDistinctCells(
  printer: Printer,
  { of }: Extract<Statistic, { kind: 'count-distinct' }>,
): string {
  const { membership, cell } = printGroupKey(printer, of)
  const cellOfMember = membership === undefined ? cell : `CASE WHEN ${membership.sql} THEN ${cell} END`
  return printResult(count(`count(DISTINCT ${cellOfMember})`))
}

/** Prints the condition under which a row counts; `undefined` if every row does. */
export function printCounts(printer: Printer, { column, where }: Counted): string | undefined {
  const conditions: string[] = []
  if (column !== undefined) conditions.push(`${printColumn(printer, column, ANY_TYPE)} IS NOT NULL`)
  if (where !== undefined) conditions.push(printPredicate(printer, where))
  return conditions.length === 0 ? undefined : conditions.join(' AND ')
}

function printCount(printer: Printer, statistic: Counted): string {
  const { column, where } = statistic
  if (where === undefined)
    return `count(${column === undefined ? '*' : printColumn(printer, column, ANY_TYPE)})`
  return printer.dialect.countIf(printCounts(printer, statistic) ?? 'true')
}

/** A result column that is multiplied by an offset of 0. */
const NOT_READ: AdditiveColumn = { kind: 'sum', sql: '0' }

/** Prints the number of indexes that are not NULL, for a statistic that adds an offset for each. */
function countOf(index: string, nullable: boolean, offset: bigint): AdditiveColumn {
  if (offset === 0n) return NOT_READ
  return count(nullable ? `count(${index})` : 'count(*)')
}

function count(sql: string): AdditiveColumn {
  return { kind: 'count', sql }
}

function sum(sql: string): AdditiveColumn {
  return { kind: 'sum', sql }
}

/** A column of indexes in a sum. */
export interface IndexedColumn {
  readonly index: string
  readonly nullable: boolean
  readonly largestMagnitude: bigint
}

/** @throws RangeError for a column that is neither on a grid nor boolean, and for a clamp of a boolean or of reversed bounds. */
export function printIndexed(
  printer: Printer,
  { column: name, clamp }: { readonly column: string; readonly clamp?: Clamp },
): IndexedColumn {
  const column = columnOf(printer, name, clamp === undefined ? [...GRID, 'boolean'] : GRID)
  const { nullable } = column
  const quoted = printValueOf(printer, column)
  if (column.type === 'boolean') return { index: booleanIndex(quoted), nullable, largestMagnitude: 1n }
  const { lower, upper } = clamp ?? { lower: column.lowerIndex, upper: column.upperIndex }
  const index = clamp === undefined ? quoted : printClamped(quoted, clamp)
  return { index, nullable, largestMagnitude: largestMagnitude(lower, upper) }
}

/**
 * Prints a column clamped to bounds, which are literals, so that two of the same are one expression. Not least() and
 * greatest(), which ignore NULL in some databases: a comparison with NULL leads to the last branch.
 */
function printClamped(column: string, { lower, upper }: Clamp): string {
  if (lower > upper || lower < -OUTERMOST_INDEX || upper > OUTERMOST_INDEX)
    throw new RangeError('a clamp needs bounds in their order')
  const [least, most] = [lower, upper].map((index) => `CAST(${index} AS BIGINT)`)
  return `CASE WHEN ${column} < ${least} THEN ${least} WHEN ${column} > ${most} THEN ${most} ELSE ${column} END`
}

/**
 * Prints the sum of the products of two columns.
 * @throws RangeError if a product could be too large to be added up.
 */
export function sumOfProducts({ dialect }: Printer, one: IndexedColumn, other: IndexedColumn): string {
  for (const { largestMagnitude } of [one, other])
    if (largestMagnitude > LARGEST_INDEX_SQUARED_IN_128_BITS)
      throw new RangeError('the indexes of a column are too large to be multiplied')
  const largestMagnitude = one.largestMagnitude * other.largestMagnitude
  const factor = (index: string) =>
    largestMagnitude > LARGEST_IN_64_BITS ? dialect.wide(index) : `CAST(${index} AS BIGINT)`
  return dialect.sum(`(${factor(one.index)} * ${factor(other.index)})`, largestMagnitude)
}

/** Prints the index of one column where the other is not NULL, and NULL elsewhere. */
function indexWithOther(one: IndexedColumn, other: IndexedColumn): string {
  return other.nullable ? `CASE WHEN ${other.index} IS NOT NULL THEN ${one.index} END` : one.index
}

/** Prints the sum of indexes and the number of those that are not NULL. */
export function printSums({ dialect }: Printer, index: string): readonly AdditiveColumn[] {
  return [sum(dialect.sum(index)), count(`count(${index})`)]
}

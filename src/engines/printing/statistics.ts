import type { Statistic, Summand } from '../../planner/aggregate.ts'
import { quoteIdentifier } from '../dialect.ts'
import { printGroupKey } from './group-keys.ts'
import { printPredicate } from './predicates.ts'
import { ANY_TYPE, columnOf, GRID, type Printer, printColumn } from './printer.ts'

/** The planner's LARGEST_SQUARED_INDEX: the sum of such squares over all rows of a disk fits 128 bits. */
const LARGEST_INDEX_SQUARED_IN_128_BITS = 2n ** 45n

/**
 * Prints the result columns of a statistic of rows, all as text.
 * @throws RangeError for a statistic that does not fit the dataset.
 */
export function printStatistic(printer: Printer, statistic: Statistic): readonly string[] {
  switch (statistic.kind) {
    case 'count-people':
    case 'count-distinct-values':
      throw new RangeError('this statistic cannot be computed yet')
    case 'count': {
      const counted = statistic.column === undefined ? '*' : printColumn(printer, statistic.column, ANY_TYPE)
      if (statistic.where === undefined) return [`CAST(count(${counted}) AS VARCHAR)`]
      const condition = printPredicate(printer, statistic.where)
      const counts = counted === '*' ? condition : `${counted} IS NOT NULL AND ${condition}`
      return [`CAST(${printer.dialect.countIf(counts)} AS VARCHAR)`]
    }
    case 'affine-count': {
      const condition = printPredicate(printer, statistic.where)
      return [`CAST(${printer.dialect.countIf(condition)} AS VARCHAR)`, 'CAST(count(*) AS VARCHAR)']
    }
    case 'affine-sum':
      return printSums(printer, printIndexed(printer, summedColumn(statistic)).index)
    case 'affine-square-sum': {
      const column = printIndexed(printer, summedColumn(statistic))
      return [printSum(printer, printProduct(printer, column, column)), ...printSums(printer, column.index)]
    }
    case 'affine-product-sum': {
      const [one, other] = statistic.terms.map(({ column }) => printIndexed(printer, column))
      if (one === undefined || other === undefined) throw new RangeError('a product has two terms')
      const oneOfBoth = indexWithOther(one, other)
      return [
        printSum(printer, printProduct(printer, one, other)),
        printSum(printer, oneOfBoth),
        printSum(printer, indexWithOther(other, one)),
        `CAST(count(${oneOfBoth}) AS VARCHAR)`,
      ]
    }
    case 'count-distinct': {
      const { membership, cell } = printGroupKey(printer, statistic.of)
      const cellOfMember = membership === undefined ? cell : `CASE WHEN ${membership} THEN ${cell} END`
      return [`CAST(count(DISTINCT ${cellOfMember}) AS VARCHAR)`]
    }
  }
}

/** @throws RangeError for a value per person. */
export function summedColumn({ column }: Summand): string {
  if (column === undefined) throw new RangeError('values per person cannot be computed yet')
  return column
}

/** A column of indexes in a sum. */
interface IndexedColumn {
  readonly index: string
  readonly nullable: boolean
  readonly largestMagnitude: bigint
}

function printIndexed(printer: Printer, name: string): IndexedColumn {
  const column = columnOf(printer, name, [...GRID, 'boolean'])
  const { nullable } = column
  const quoted = quoteIdentifier(column.name)
  if (column.type === 'boolean')
    return { index: printer.dialect.booleanIndex(quoted), nullable, largestMagnitude: 1n }
  const { lowerIndex, upperIndex } = column
  return { index: quoted, nullable, largestMagnitude: -lowerIndex > upperIndex ? -lowerIndex : upperIndex }
}

function printProduct({ dialect }: Printer, one: IndexedColumn, other: IndexedColumn): string {
  for (const { largestMagnitude } of [one, other])
    if (largestMagnitude > LARGEST_INDEX_SQUARED_IN_128_BITS)
      throw new RangeError('the indexes of a column are too large to be multiplied')
  return dialect.product(one.index, other.index, one.largestMagnitude * other.largestMagnitude)
}

/** Prints the index of one column where the other is not NULL, and NULL elsewhere. */
function indexWithOther(one: IndexedColumn, other: IndexedColumn): string {
  return other.nullable ? `CASE WHEN ${other.index} IS NOT NULL THEN ${one.index} END` : one.index
}

function printSums(printer: Printer, column: string): readonly string[] {
  return [printSum(printer, column), `CAST(count(${column}) AS VARCHAR)`]
}

function printSum({ dialect }: Printer, integers: string): string {
  return `CAST(coalesce(${dialect.sum(integers)}, 0) AS VARCHAR)`
}

import { type GroupKey, groupKeySize } from '../../core/planner/language/aggregate.ts'
import { must } from '../../privacy/must.ts'
import { greatestCommonDivisor } from '../../privacy/rational.ts'
import { quoteIdentifier } from '../dialect.ts'
import { type PrintedCondition, printPredicate, printPresent } from './predicates.ts'
import {
  booleanIndex,
  columnOf,
  GRID,
  OUTERMOST_INDEX,
  type Printer,
  printColumn,
  printValue,
  printValueOf,
} from './printer.ts'

/** The column with the number of a person's rows, where people are counted by it. */
export const OWN_ROWS = quoteIdentifier('sotto_own_rows')

/** A group key as SQL. */
export interface PrintedKey {
  /** A condition that is TRUE for the rows in one of the key's cells; absent where every row is in one. */
  readonly membership: PrintedCondition | undefined
  /** The number of the cell of such a row. */
  readonly cell: string
  readonly cells: number
}

/** @throws RangeError for a key that does not fit the dataset. */
export function printGroupKey(printer: Printer, key: GroupKey): PrintedKey {
  switch (key.kind) {
    case 'category': {
      const column = columnOf(printer, key.column, ['category'])
      if (column.categories.length !== key.size)
        throw new RangeError('a group key does not span the categories of its column')
      return printPlaces(printer, key, printValueOf(printer, column), key.size)
    }
    case 'boolean': {
      const column = printColumn(printer, key.column, ['boolean'])
      return printPlaces(printer, key, booleanIndex(column), 2)
    }
    case 'bins':
      return printBins(printer, key)
    case 'predicate': {
      const holds = printPredicate(printer, key.predicate)
      return { membership: undefined, cell: `CASE WHEN ${holds} THEN 1 ELSE 0 END`, cells: 2 }
    }
    case 'rows-of-person': {
      // A parameter that a statement binds must occur in it.
      const first = () => printValue(printer, must(key.edges[0], 'the first edge'), 'bigint')
      const cell = printCellOfBins(printer, key, OWN_ROWS, first)
      return { membership: undefined, cell, cells: groupKeySize(key) }
    }
  }
}

function printPlaces(
  printer: Printer,
  { column, nullCell }: { readonly column: string; readonly nullCell: boolean },
  index: string,
  size: number,
): PrintedKey {
  return nullCell
    ? { membership: undefined, cell: `coalesce(${index}, ${size})`, cells: size + 1 }
    : { membership: printPresent(printer, column), cell: index, cells: size }
}

function printBins(printer: Printer, key: Bins): PrintedKey {
  const column = printColumn(printer, key.column, GRID)
  const { edges, cycle, nullCell } = key
  const bins = edges.length - 1
  const cells = cycle?.length ?? bins
  const [lower, upper] = [edges[0], edges[bins]]
  if (
    lower === undefined ||
    upper === undefined ||
    bins < 1 ||
    lower < -OUTERMOST_INDEX ||
    upper > OUTERMOST_INDEX
  ) {
    throw new RangeError('a group key has no bins, or bins that are too far from 0')
  }
  if (cycle !== undefined && !isCycle(cycle)) throw new RangeError('a group key has no cells')
  const first = printValue(printer, lower, 'bigint')
  const within = `${column} >= ${first} AND ${column} < ${printValue(printer, upper, 'bigint')}`
  const cell = printCellOfBins(printer, key, column, () => first)
  const between = { kind: 'index-between', column: key.column, lower, upper: upper - 1n } as const
  const isNull = { kind: 'is-null', column: key.column } as const
  return nullCell
    ? {
        membership: {
          sql: `(${column} IS NULL OR (${within}))`,
          predicate: { kind: 'or', predicates: [isNull, between] },
        },
        cell: `CASE WHEN ${column} IS NULL THEN ${cells} ELSE ${cell} END`,
        cells: cells + 1,
      }
    : { membership: { sql: within, predicate: between }, cell, cells }
}

type Bins = Extract<GroupKey, { kind: 'bins' }>

/**
 * Prints the cell of a value that is in one of the bins: a quotient, an entry of a table, or the result of a search.
 */
function printCellOfBins(
  printer: Printer,
  { edges, cycle }: Pick<Bins, 'edges' | 'cycle'>,
  column: string,
  printFirst: () => string,
): string {
  const { dialect } = printer
  const widths = edges.slice(1).map((edge, index) => edge - (edges[index] ?? edge))
  if (widths.some((width) => width <= 0n)) throw new RangeError('the edges of bins must increase')
  // Every bin is a whole number of parts of this width.
  const part = widths.reduce(greatestCommonDivisor, 0n)
  const partOf = () => {
    const distance = `(${column} - ${printFirst()})`
    return part === 1n ? distance : dialect.quotient(distance, printValue(printer, part, 'bigint'))
  }
  const parts = widths.map((width) => width / part)
  // The number of a bin is not negative, so that the sign of remainders does not matter.
  if (parts.every((each) => each === 1n))
    return cycle === undefined ? partOf() : `((${partOf()} + ${cycle.first}) % ${cycle.length})`
  const cellOf = (bin: number) => (cycle === undefined ? bin : (bin + cycle.first) % cycle.length)
  const count = parts.reduce((sum, each) => sum + each, 0n)
  if (dialect.element !== undefined && widths.length >= LEAST_BINS_IN_TABLE && count <= LARGEST_TABLE) {
    const cells = parts.flatMap((each, bin) => Array<number>(Number(each)).fill(cellOf(bin)))
    return dialect.element(cells, partOf())
  }
  const inner = edges.slice(1, -1)
  const bin =
    dialect.edgesBelow !== undefined && widths.length >= LEAST_BINS_IN_TABLE
      ? dialect.edgesBelow(column, inner)
      : printBinSearch(
          column,
          inner.map((edge) => printValue(printer, edge, 'bigint')),
        )
  return cycle === undefined ? bin : `((${bin} + ${cycle.first}) % ${cycle.length})`
}

/** A search among fewer bins takes no longer than looking the bin up. */
const LEAST_BINS_IN_TABLE = 16

/** Largest number of entries of a table of cells, which is part of the statement: 50 years of days. */
const LARGEST_TABLE = 18_300n

function isCycle({ length, first }: { readonly length: number; readonly first: number }): boolean {
  return Number.isInteger(length) && length >= 1 && Number.isInteger(first) && first >= 0 && first < length
}

/** Prints a binary search among edges. @param entryOf prints the entry of a bin; default: its number */
export function printBinSearch(
  column: string,
  innerEdges: readonly string[],
  entryOf: (bin: number) => string = String,
  firstBin = 0,
): string {
  const middle = innerEdges.length >> 1
  const edge = innerEdges[middle]
  if (edge === undefined) return entryOf(firstBin)
  const below = printBinSearch(column, innerEdges.slice(0, middle), entryOf, firstBin)
  const above = printBinSearch(column, innerEdges.slice(middle + 1), entryOf, firstBin + middle + 1)
  return `CASE WHEN ${column} < ${edge} THEN ${below} ELSE ${above} END`
}

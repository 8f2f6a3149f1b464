import type { GroupKey } from '../../planner/aggregate.ts'
import { quoteIdentifier } from '../dialect.ts'
import { printPredicate } from './predicates.ts'
import { columnOf, GRID, OUTERMOST_INDEX, type Printer, printColumn, printValue } from './printer.ts'

/** A group key as SQL. */
export interface PrintedKey {
  /** A condition that is TRUE for the rows in one of the key's cells; absent where every row is in one. */
  readonly membership: string | undefined
  /** The number of the cell of such a row. */
  readonly cell: string
  readonly cells: number
}

/** @throws RangeError for a key that does not fit the dataset. */
export function printGroupKey(printer: Printer, key: GroupKey): PrintedKey {
  switch (key.kind) {
    case 'category': {
      const { name, categories } = columnOf(printer, key.column, ['category'])
      if (categories.length !== key.size)
        throw new RangeError('a group key does not span the categories of its column')
      const column = quoteIdentifier(name)
      return printPlaces(column, column, key.size, key.nullCell)
    }
    case 'boolean': {
      const column = printColumn(printer, key.column, ['boolean'])
      return printPlaces(column, printer.dialect.booleanIndex(column), 2, key.nullCell)
    }
    case 'bins':
      return printBins(printer, key)
    case 'predicate': {
      const holds = printPredicate(printer, key.predicate)
      return { membership: undefined, cell: `CASE WHEN ${holds} THEN 1 ELSE 0 END`, cells: 2 }
    }
  }
}

function printPlaces(column: string, index: string, size: number, nullCell: boolean): PrintedKey {
  return nullCell
    ? { membership: undefined, cell: `coalesce(${index}, ${size})`, cells: size + 1 }
    : { membership: `${column} IS NOT NULL`, cell: index, cells: size }
}

function printBins(printer: Printer, key: Extract<GroupKey, { kind: 'bins' }>): PrintedKey {
  const column = printColumn(printer, key.column, GRID)
  const { edges, cycle, nullCell } = key
  const bins = edges.length - 1
  const cells = cycle?.length ?? bins
  const [lower, upper, width] = [edges[0], edges[bins], regularWidth(edges)]
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
  const bin =
    width === undefined
      ? printBinSearch(
          column,
          edges.slice(1, -1).map((edge) => printValue(printer, edge, 'bigint')),
        )
      : printer.dialect.quotient(`(${column} - ${first})`, printValue(printer, width, 'bigint'))
  // The number of a bin is not negative, so that the sign of remainders does not matter.
  const cell = cycle === undefined ? bin : `((${bin} + ${cycle.first}) % ${cycle.length})`
  return nullCell
    ? {
        membership: `(${column} IS NULL OR (${within}))`,
        cell: `CASE WHEN ${column} IS NULL THEN ${cells} ELSE ${cell} END`,
        cells: cells + 1,
      }
    : { membership: within, cell, cells }
}

function isCycle({ length, first }: { readonly length: number; readonly first: number }): boolean {
  return Number.isInteger(length) && length >= 1 && Number.isInteger(first) && first >= 0 && first < length
}

/**
 * Returns the common width of all bins, if they have one: division by it is much faster than a search.
 * @throws RangeError for edges that do not increase.
 */
function regularWidth(edges: readonly bigint[]): bigint | undefined {
  const widths = new Set(edges.slice(1).map((edge, index) => edge - (edges[index] ?? edge)))
  for (const width of widths) if (width <= 0n) throw new RangeError('the edges of bins must increase')
  const [width] = widths
  return widths.size === 1 ? width : undefined
}

/** Prints a binary search for the bin, given the inner edges. */
function printBinSearch(column: string, innerEdges: readonly string[], firstBin = 0): string {
  const middle = innerEdges.length >> 1
  const edge = innerEdges[middle]
  if (edge === undefined) return String(firstBin)
  const below = printBinSearch(column, innerEdges.slice(0, middle), firstBin)
  const above = printBinSearch(column, innerEdges.slice(middle + 1), firstBin + middle + 1)
  return `CASE WHEN ${column} < ${edge} THEN ${below} ELSE ${above} END`
}

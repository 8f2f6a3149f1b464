import { type Column, columnNamed, type Dataset } from '../catalog/dataset.ts'
import type {
  Aggregate,
  GroupKey,
  Predicate,
  Statistic,
  Summand,
  ValueCounting,
} from '../planner/aggregate.ts'
import { type Dialect, quoteIdentifier, type SqlValue, type SqlValueType } from './dialect.ts'

/** A statement and the values of its parameters. */
export interface PrintedStatement {
  readonly sql: string
  readonly parameters: readonly SqlValue[]
}

/**
 * An aggregate as a statement, whose result `readAggregate` reads. Each row of the result holds, all as text: the number of the cell, if there are group
 * keys; then for each statistic its columns. A count has one column. An affine sum has the sum of the indexes and the
 * number of rows that have one. A sum of squares has the sum of the squared indexes before those two. A sum of products
 * has the sum of the products of two indexes, the sum of each, and the number of rows that have both.
 */
export interface PrintedAggregate extends PrintedStatement {
  /** The number of cells; cells without rows are not in the result. */
  readonly cells: number
}

/** The largest number of cells: cell numbers are computed in 32 bits at worst. */
const LARGEST_CELL_COUNT = 2 ** 31 - 1

/** An index beyond every stored one, far from the limits of 64-bit arithmetic. */
const OUTERMOST_INDEX = 2n ** 60n

/** The planner's LARGEST_SQUARED_INDEX: the sum of such squares over all rows of a disk fits 128 bits. */
const LARGEST_INDEX_SQUARED_IN_128_BITS = 2n ** 45n

/** The state of printing one statement. */
interface Printer {
  readonly dataset: Dataset
  readonly dialect: Dialect
  readonly parameters: SqlValue[]
}

interface PrintedKey {
  /** A condition that is TRUE for the rows in one of the key's cells; absent where every row is in one. */
  readonly membership: string | undefined
  /** The number of the cell of such a row. */
  readonly cell: string
  readonly cells: number
}

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

/** @throws RangeError unless the dataset has a column of that name and of one of these types. */
function columnOf<Type extends Column['type']>(
  { dataset }: Printer,
  name: string,
  types: readonly Type[],
): Extract<Column, { type: Type }> {
  const isOfType = (column: Column): column is Extract<Column, { type: Type }> =>
    types.some((type) => type === column.type)
  const column = columnNamed(dataset, name)
  if (column === undefined) throw new RangeError('the aggregate uses a column that the dataset does not have')
  if (!isOfType(column)) throw new RangeError('the aggregate does not fit the type of a column')
  return column
}

function printColumn(printer: Printer, name: string, types: readonly Column['type'][]): string {
  return quoteIdentifier(columnOf(printer, name, types).name)
}

const GRID = ['integer', 'number', 'date', 'timestamp'] as const
const ANY_TYPE = [...GRID, 'boolean', 'category', 'string'] as const

function printValue({ dialect, parameters }: Printer, value: SqlValue, type: SqlValueType): string {
  return dialect.value(value, type, (bound) => parameters.push(bound))
}

/** Prints an index to compare with; all indexes beyond every stored one compare the same. */
function printIndex(printer: Printer, index: bigint): string {
  if (index > OUTERMOST_INDEX) return printValue(printer, OUTERMOST_INDEX, 'bigint')
  if (index < -OUTERMOST_INDEX) return printValue(printer, -OUTERMOST_INDEX, 'bigint')
  return printValue(printer, index, 'bigint')
}

function printStatistic(printer: Printer, statistic: Statistic): readonly string[] {
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

function summedColumn({ column }: Summand): string {
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

function printGroupKey(printer: Printer, key: GroupKey): PrintedKey {
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

/**
 * Prints a condition that is TRUE for exactly the rows for which the predicate holds, and FALSE or NULL for the others.
 * AND and OR preserve this. NOT goes through IS NOT TRUE, so that comparisons need no treatment of NULL.
 */
function printPredicate(printer: Printer, predicate: Predicate): string {
  switch (predicate.kind) {
    case 'and':
    case 'or': {
      const operands = predicate.predicates.map((operand) => printPredicate(printer, operand))
      if (operands.length === 0) return predicate.kind === 'and' ? 'true' : 'false'
      return `(${operands.join(predicate.kind === 'and' ? ' AND ' : ' OR ')})`
    }
    case 'not':
      return printer.dialect.isNotTrue(printPredicate(printer, predicate.predicate))
    case 'is-null':
      return `(${printColumn(printer, predicate.column, ANY_TYPE)} IS NULL)`
    case 'index-between':
      return printBetween(printer, predicate)
    case 'index-in': {
      const column = printColumn(printer, predicate.column, GRID)
      return printMembership(
        column,
        predicate.indexes.map((index) => printIndex(printer, index)),
      )
    }
    case 'category-in': {
      const column = printColumn(printer, predicate.column, ['category'])
      return printMembership(
        column,
        predicate.indexes.map((index) => printValue(printer, categoryIndex(index), 'integer')),
      )
    }
    case 'boolean-is':
      return `(${printColumn(printer, predicate.column, ['boolean'])} = ${printValue(printer, predicate.value, 'boolean')})`
    case 'string-in': {
      const column = printColumn(printer, predicate.column, ['string'])
      return printMembership(
        column,
        predicate.values.map((value) => printValue(printer, value, 'text')),
      )
    }
  }
}

function printBetween(printer: Printer, predicate: Extract<Predicate, { kind: 'index-between' }>): string {
  const column = printColumn(printer, predicate.column, GRID)
  const { lower, upper } = predicate
  if (lower === undefined && upper === undefined) return `(${column} IS NOT NULL)`
  if (upper === undefined) return `(${column} >= ${printIndex(printer, lower ?? 0n)})`
  if (lower === undefined) return `(${column} <= ${printIndex(printer, upper)})`
  return `(${column} BETWEEN ${printIndex(printer, lower)} AND ${printIndex(printer, upper)})`
}

function printMembership(column: string, values: readonly string[]): string {
  return values.length === 0 ? 'false' : `(${column} IN (${values.join(', ')}))`
}

function categoryIndex(index: number): bigint {
  if (!Number.isInteger(index) || index < 0 || index >= 2 ** 31)
    throw new RangeError('a category must have an index')
  return BigInt(index)
}

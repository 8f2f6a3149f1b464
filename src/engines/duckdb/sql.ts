import { type Column, columnNamed, type Dataset, type NumericColumn } from '../../catalog/dataset.ts'
import type { Aggregate, GroupKey, Predicate, Statistic, ValueCounting } from '../../planner/aggregate.ts'
import { quoteIdentifier, ROWS_TABLE } from './instance.ts'

/** A value that a statement's parameter stands for. */
export type Parameter = bigint | string | boolean

/** A statement and the values of its parameters. */
export interface PrintedStatement {
  readonly sql: string
  readonly parameters: readonly Parameter[]
}

/**
 * An aggregate as a statement. Each row of its answer is the cell's number, where there are group keys, then for
 * each statistic its columns ({@link ANSWER_COLUMNS}): one for what is counted; for an affine sum the sum of the indexes
 * and the count of the rows that have one; for a sum of squares the sum of the indexes' squares before those two. Every
 * column is text.
 */
export interface PrintedAggregate extends PrintedStatement {
  /** How many cells there are; cells without rows are not in the answer. */
  readonly cells: number
}

/** Cell numbers are computed in 32 bits at worst. */
const LARGEST_CELL_COUNT = 2 ** 31 - 1

/** Beyond every stored index, yet far from where the arithmetic of 64 bits ends. */
const OUTERMOST_INDEX = 2n ** 60n

/** Up to here the square of an index fits 64 bits, which is what DuckDB multiplies fastest. */
const LARGEST_INDEX_SQUARED_IN_64_BITS = 2n ** 31n

/** The planner's LARGEST_SQUARED_INDEX: squares up to here, over more rows than a disk holds, add up in 128 bits. */
const LARGEST_INDEX_SQUARED_IN_128_BITS = 2n ** 45n

const ANSWER_COLUMNS = {
  count: 1,
  'affine-sum': 2,
  'affine-square-sum': 3,
  'count-distinct': 1,
} as const satisfies Record<Statistic['kind'], number>

interface Printer {
  readonly dataset: Dataset
  readonly parameters: Parameter[]
}

interface PrintedKey {
  /** True of the rows that are in one of the key's cells. */
  readonly membership: string | undefined
  /** For those rows, the number of the cell. */
  readonly cell: string
  readonly cells: number
}

/**
 * Print an aggregate over an ingested file. Values are only ever bound, so that aggregates of one shape share one text
 * and with it one prepared statement; names come from the dataset's columns.
 *
 * @throws RangeError where the aggregate does not fit the dataset, which planning excludes.
 */
export function printAggregate(aggregate: Aggregate, dataset: Dataset): PrintedAggregate {
  const printer: Printer = { dataset, parameters: [] }
  const keys = aggregate.groupBy.map((key) => printGroupKey(printer, key))
  const cells = keys.reduce((product, key) => product * key.cells, 1)
  if (cells > LARGEST_CELL_COUNT) throw new RangeError('the aggregate has too many cells')

  const conditions = keys.flatMap(({ membership }) => membership ?? [])
  if (aggregate.where !== undefined) conditions.push(printPredicate(printer, aggregate.where))
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`

  const statistics = aggregate.statistics.flatMap((statistic) => printStatistic(printer, statistic))
  const from = `FROM ${quoteIdentifier(ROWS_TABLE)}${where}`
  const [first, ...others] = keys
  if (first === undefined) return finish(`SELECT ${statistics.join(', ')} ${from}`)
  const cell = others.reduce((number, key) => `(${number} * ${key.cells} + ${key.cell})`, first.cell)
  return finish(`SELECT ${[`CAST(${cell} AS VARCHAR)`, ...statistics].join(', ')} ${from} GROUP BY ${cell}`)

  function finish(sql: string): PrintedAggregate {
    return { sql, parameters: printer.parameters, cells }
  }
}

/**
 * Print how often each index of a numeric column occurs. Each row of the answer is an index and its count, both DOUBLEs
 * (which such integers are exactly), the indexes increasing.
 *
 * @param limit how many rows the answer may have at most
 * @throws RangeError where the counting does not fit the dataset, which planning excludes.
 */
export function printIndexCounting(
  counting: ValueCounting,
  dataset: Dataset,
  limit: number,
): PrintedStatement {
  const printer: Printer = { dataset, parameters: [] }
  const column = printColumn(printer, counting.column, NUMERIC)
  const sql = printValueCounting(printer, counting, column, `CAST(${column} AS DOUBLE)`)
  return { sql: `${sql} ORDER BY ${column} LIMIT ${limit}`, parameters: printer.parameters }
}

/**
 * Print how often each text of a free-text column occurs. Each row of the answer is a text and its count, a DOUBLE.
 *
 * @param limit how many rows the answer may have at most
 * @throws RangeError where the counting does not fit the dataset, which planning excludes.
 */
export function printTextCounting(
  counting: ValueCounting,
  dataset: Dataset,
  limit: number,
): PrintedStatement {
  const printer: Printer = { dataset, parameters: [] }
  const column = printColumn(printer, counting.column, ['string'])
  // What decodes the answer takes a leading U+FEFF for a byte order mark and drops it, so it gets one more to drop.
  const mark = 'chr(65279)'
  const text = `CASE WHEN starts_with(${column}, ${mark}) THEN ${mark} || ${column} ELSE ${column} END`
  const sql = printValueCounting(printer, counting, column, text)
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
  const from = `FROM ${quoteIdentifier(ROWS_TABLE)} WHERE ${conditions.join(' AND ')}`
  return `SELECT ${value}, CAST(count(*) AS DOUBLE) ${from} GROUP BY ${column}`
}

/** The integers of an aggregate from the rows that answer its statement, in any order. */
export function readAggregate(
  aggregate: Aggregate,
  cells: number,
  rows: readonly (readonly unknown[])[],
): readonly (readonly bigint[])[] {
  const statistics = aggregate.statistics.map(() => new Array<bigint>(cells).fill(0n))
  for (const row of rows) {
    const values = row.map(readInteger)
    const grouped = aggregate.groupBy.length > 0
    const cell = grouped ? Number(values[0]) : 0
    if (!(cell >= 0 && cell < cells)) throw new RangeError('a cell outside the aggregate')
    let position = grouped ? 1 : 0
    for (const [index, statistic] of aggregate.statistics.entries()) {
      const value = combine(statistic, values, position)
      const target = statistics[index]
      if (value === undefined || target === undefined)
        throw new RangeError('a column is missing in the answer')
      target[cell] = value
      position += ANSWER_COLUMNS[statistic.kind]
    }
    if (position !== values.length) throw new RangeError('a column too many in the answer')
  }
  return statistics
}

const INTEGER_TEXT = /^-?\d{1,38}$/

function readInteger(value: unknown): bigint {
  if (typeof value !== 'string' || !INTEGER_TEXT.test(value)) throw new RangeError('the answer is no integer')
  return BigInt(value)
}

/** Done here rather than in SQL, where a large factor could overflow, and an overflow would be an error that data cause. */
function combine(statistic: Statistic, values: readonly bigint[], position: number): bigint | undefined {
  switch (statistic.kind) {
    case 'count':
    case 'count-distinct':
      return values[position]
    case 'affine-sum': {
      const { factor, offset } = statistic
      const [sum, count] = [values[position], values[position + 1]]
      return sum === undefined || count === undefined ? undefined : factor * sum + offset * count
    }
    case 'affine-square-sum': {
      const { factor, offset } = statistic
      const [squares, sum, count] = [values[position], values[position + 1], values[position + 2]]
      return squares === undefined || sum === undefined || count === undefined
        ? undefined
        : factor ** 2n * squares + 2n * factor * offset * sum + offset ** 2n * count
    }
  }
}

/** The dataset's column of that name, where it is of one of these types. */
function columnOf<Type extends Column['type']>(
  { dataset }: Printer,
  name: string,
  types: readonly Type[],
): Extract<Column, { type: Type }> {
  const isOfType = (column: Column): column is Extract<Column, { type: Type }> =>
    types.some((type) => type === column.type)
  const column = columnNamed(dataset, name)
  if (column === undefined)
    throw new RangeError('the aggregate names a column that the dataset does not have')
  if (!isOfType(column)) throw new RangeError('the aggregate does not fit the type of a column')
  return column
}

function printColumn(printer: Printer, name: string, types: readonly Column['type'][]): string {
  return quoteIdentifier(columnOf(printer, name, types).name)
}

const NUMERIC = ['integer', 'number'] as const
const ANY_TYPE = ['integer', 'number', 'boolean', 'category', 'string'] as const

/** The type is spelled out, because DuckDB does not always find it out. */
function bind(
  { parameters }: Printer,
  value: Parameter,
  type: 'BIGINT' | 'INTEGER' | 'BOOLEAN' | 'VARCHAR',
): string {
  parameters.push(value)
  return `$${parameters.length}::${type}`
}

/** What lies further out than every stored index compares the same wherever it lies. */
function bindIndex(printer: Printer, index: bigint): string {
  if (index > OUTERMOST_INDEX) return bind(printer, OUTERMOST_INDEX, 'BIGINT')
  if (index < -OUTERMOST_INDEX) return bind(printer, -OUTERMOST_INDEX, 'BIGINT')
  return bind(printer, index, 'BIGINT')
}

function printStatistic(printer: Printer, statistic: Statistic): readonly string[] {
  switch (statistic.kind) {
    case 'count': {
      const counted = statistic.column === undefined ? '*' : printColumn(printer, statistic.column, ANY_TYPE)
      if (statistic.where === undefined) return [`CAST(count(${counted}) AS VARCHAR)`]
      const condition = printPredicate(printer, statistic.where)
      const counts = counted === '*' ? condition : `${counted} IS NOT NULL AND ${condition}`
      // count(*) FILTER (WHERE ...) says the same, but a thousand of those take a hundred times as long.
      return [`CAST(coalesce(count_if(${counts}), 0) AS VARCHAR)`]
    }
    case 'affine-sum':
      return printSums(printColumn(printer, statistic.column, NUMERIC))
    case 'affine-square-sum': {
      const column = columnOf(printer, statistic.column, NUMERIC)
      const name = quoteIdentifier(column.name)
      return [`CAST(coalesce(sum(${printSquare(column)}), 0) AS VARCHAR)`, ...printSums(name)]
    }
    case 'count-distinct': {
      const { membership, cell } = printGroupKey(printer, statistic.of)
      const cellOfMember = membership === undefined ? cell : `CASE WHEN ${membership} THEN ${cell} END`
      return [`CAST(count(DISTINCT ${cellOfMember}) AS VARCHAR)`]
    }
  }
}

/** The sum of BIGINTs is a HUGEINT, which no number of rows that a disk could hold overflows. */
function printSums(column: string): readonly string[] {
  return [`CAST(coalesce(sum(${column}), 0) AS VARCHAR)`, `CAST(count(${column}) AS VARCHAR)`]
}

function printSquare(column: NumericColumn): string {
  const bound = -column.lowerIndex > column.upperIndex ? -column.lowerIndex : column.upperIndex
  if (bound > LARGEST_INDEX_SQUARED_IN_128_BITS)
    throw new RangeError('the indexes of a column are too large to be squared')
  const name = quoteIdentifier(column.name)
  const factor = bound > LARGEST_INDEX_SQUARED_IN_64_BITS ? `CAST(${name} AS HUGEINT)` : name
  return `${factor} * ${factor}`
}

function printGroupKey(printer: Printer, key: GroupKey): PrintedKey {
  switch (key.kind) {
    case 'category': {
      const { name, categories } = columnOf(printer, key.column, ['category'])
      if (categories.length !== key.size)
        throw new RangeError('a group key does not span the categories of its column')
      const column = quoteIdentifier(name)
      return printIndexed(column, column, key.size, key.nullCell)
    }
    case 'boolean': {
      const column = printColumn(printer, key.column, ['boolean'])
      return printIndexed(column, `CAST(${column} AS INTEGER)`, 2, key.nullCell)
    }
    case 'bins':
      return printBins(printer, key)
    case 'predicate': {
      const holds = printPredicate(printer, key.predicate)
      return { membership: undefined, cell: `CASE WHEN ${holds} THEN 1 ELSE 0 END`, cells: 2 }
    }
  }
}

function printIndexed(column: string, index: string, size: number, nullCell: boolean): PrintedKey {
  return nullCell
    ? { membership: undefined, cell: `coalesce(${index}, ${size})`, cells: size + 1 }
    : { membership: `${column} IS NOT NULL`, cell: index, cells: size }
}

function printBins(printer: Printer, key: Extract<GroupKey, { kind: 'bins' }>): PrintedKey {
  const column = printColumn(printer, key.column, NUMERIC)
  const { edges, nullCell } = key
  const bins = edges.length - 1
  const [lower, upper, width] = [edges[0], edges[bins], regularWidth(edges)]
  if (
    lower === undefined ||
    upper === undefined ||
    bins < 1 ||
    lower < -OUTERMOST_INDEX ||
    upper > OUTERMOST_INDEX
  ) {
    throw new RangeError('a group key has no bins within reach')
  }
  const first = bind(printer, lower, 'BIGINT')
  const within = `${column} >= ${first} AND ${column} < ${bind(printer, upper, 'BIGINT')}`
  const bin =
    width === undefined
      ? printBinSearch(
          column,
          edges.slice(1, -1).map((edge) => bind(printer, edge, 'BIGINT')),
        )
      : `((${column} - ${first}) // ${bind(printer, width, 'BIGINT')})`
  return nullCell
    ? {
        membership: `(${column} IS NULL OR (${within}))`,
        cell: `CASE WHEN ${column} IS NULL THEN ${bins} ELSE ${bin} END`,
        cells: bins + 1,
      }
    : { membership: within, cell: bin, cells: bins }
}

/**
 * The common width of all bins, where they have one: dividing by it is much faster than searching.
 * @throws RangeError where the edges do not increase.
 */
function regularWidth(edges: readonly bigint[]): bigint | undefined {
  const widths = new Set(edges.slice(1).map((edge, index) => edge - (edges[index] ?? edge)))
  for (const width of widths) if (width <= 0n) throw new RangeError('the edges of bins increase')
  const [width] = widths
  return widths.size === 1 ? width : undefined
}

/** The bin among those that inner edges divide, by halving: each row takes part in few comparisons. */
function printBinSearch(column: string, innerEdges: readonly string[], firstBin = 0): string {
  const middle = innerEdges.length >> 1
  const edge = innerEdges[middle]
  if (edge === undefined) return String(firstBin)
  const below = printBinSearch(column, innerEdges.slice(0, middle), firstBin)
  const above = printBinSearch(column, innerEdges.slice(middle + 1), firstBin + middle + 1)
  return `CASE WHEN ${column} < ${edge} THEN ${below} ELSE ${above} END`
}

/**
 * An expression that is TRUE of just the rows the predicate holds for; of others it is FALSE or NULL. AND and OR keep
 * that so, and NOT goes through IS NOT TRUE, so that no other comparison pays for being two-valued.
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
      return `(${printPredicate(printer, predicate.predicate)} IS NOT TRUE)`
    case 'is-null':
      return `(${printColumn(printer, predicate.column, ANY_TYPE)} IS NULL)`
    case 'index-between':
      return printBetween(printer, predicate)
    case 'index-in': {
      const column = printColumn(printer, predicate.column, NUMERIC)
      return printMembership(
        column,
        predicate.indexes.map((index) => bindIndex(printer, index)),
      )
    }
    case 'category-in': {
      const column = printColumn(printer, predicate.column, ['category'])
      return printMembership(
        column,
        predicate.indexes.map((index) => bind(printer, categoryIndex(index), 'INTEGER')),
      )
    }
    case 'boolean-is':
      return `(${printColumn(printer, predicate.column, ['boolean'])} = ${bind(printer, predicate.value, 'BOOLEAN')})`
    case 'string-in': {
      const column = printColumn(printer, predicate.column, ['string'])
      return printMembership(
        column,
        predicate.values.map((value) => bind(printer, value, 'VARCHAR')),
      )
    }
  }
}

function printBetween(printer: Printer, predicate: Extract<Predicate, { kind: 'index-between' }>): string {
  const column = printColumn(printer, predicate.column, NUMERIC)
  const { lower, upper } = predicate
  if (lower === undefined && upper === undefined) return `(${column} IS NOT NULL)`
  if (upper === undefined) return `(${column} >= ${bindIndex(printer, lower ?? 0n)})`
  if (lower === undefined) return `(${column} <= ${bindIndex(printer, upper)})`
  return `(${column} BETWEEN ${bindIndex(printer, lower)} AND ${bindIndex(printer, upper)})`
}

function printMembership(column: string, values: readonly string[]): string {
  return values.length === 0 ? 'false' : `(${column} IN (${values.join(', ')}))`
}

function categoryIndex(index: number): bigint {
  if (!Number.isInteger(index) || index < 0 || index >= 2 ** 31)
    throw new RangeError('a category has an index')
  return BigInt(index)
}

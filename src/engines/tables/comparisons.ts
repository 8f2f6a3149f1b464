import type { Column, DateColumn, NumericColumn, TableColumn } from '../../core/dataset/dataset.ts'
import type { Predicate } from '../../core/planner/language/aggregate.ts'
import { must } from '../../privacy/must.ts'
import { divideRoundingUp } from '../../privacy/rational.ts'
import { ONE_NANO } from '../grid.ts'

/** A value of a table's column, as SQL. */
export interface Source {
  readonly sql: string
  /** True if the database guarantees that it is never NULL. */
  readonly notNull: boolean
}

/** The exact comparisons that a database has with the values of one type. No value makes them fail. */
export interface Comparisons {
  /** Comparisons with numbers. Absent for values that are not ordered as their indexes are. */
  readonly order?: Order
  /** Prints a condition for the values that are exactly one of some texts; `undefined` if it would be too long. */
  among?(texts: readonly string[]): string | undefined
  /** True if the values are booleans. */
  readonly areBooleans?: true
}

/** Comparisons of values with numbers. */
export type Order =
  /** Numbers, of which each is a whole number of units. The literal is that of a number of units. */
  | {
      readonly kind: 'units'
      readonly unitsPerOne: bigint
      readonly largest: bigint
      readonly literal: (units: bigint) => string
    }
  /** Numbers of any size. The literal is that of a decimal number. */
  | { readonly kind: 'decimals'; readonly literal: (decimal: string) => string }
  /** Dates, as an expression. The literal is that of a number of days since 1970-01-01. */
  | { readonly kind: 'days'; readonly date: string; readonly literal: (days: bigint) => string }

/** A predicate that compares the values of one column. */
export type ComparisonOf = Exclude<Predicate, { readonly kind: 'and' | 'or' | 'not' | 'is-null' }>

/** More single indexes are found faster from the stored value. */
const MOST_INDEXES = 8

/**
 * Prints a condition on the value in the table, for exactly the values that fit and whose stored value satisfies a
 * predicate. It may also hold for values that do not fit. No value makes it fail. The condition saves the computation of
 * the stored value, and the database can use an index or the statistics of a file.
 *
 * @returns `undefined` if there is no such condition that is exact
 */
export function printComparison(
  column: Column,
  source: Source & Pick<TableColumn, 'type'>,
  predicate: ComparisonOf,
  comparisons: Comparisons,
): string | undefined {
  switch (predicate.kind) {
    case 'index-between':
      return compareIndexes(column, source, comparisons, predicate)
    case 'index-in': {
      if (predicate.indexes.length > MOST_INDEXES) return undefined
      const each = predicate.indexes.map((index) =>
        compareIndexes(column, source, comparisons, { lower: index, upper: index }),
      )
      if (each.includes(undefined)) return undefined
      return each.length === 0 ? 'FALSE' : `(${each.join(' OR ')})`
    }
    case 'category-in': {
      if (column.type !== 'category') return undefined
      const { categories } = column
      return comparisons.among?.(predicate.indexes.map((index) => must(categories[index], 'a category')))
    }
    case 'boolean-is':
      if (comparisons.areBooleans !== true) return undefined
      return predicate.value ? source.sql : `(NOT ${source.sql})`
    // Texts of analysts may be parameters of the statement.
    case 'string-in':
      return undefined
  }
}

interface Limits {
  readonly lower?: bigint
  readonly upper?: bigint
}

/**
 * Prints bounds on the source for those on its index. With the step s, the index of x is floor(x / s + 1/2), clamped to
 * the declared bounds. A limit at or below the lowest declared index holds for every value, and one above the highest
 * for none; the upper limit likewise. For any other limit L clamping does not matter, and as L is an integer,
 * floor(x / s + 1/2) >= L if and only if x >= (2L - 1) s / 2. An index of at most U is one that is not at least U + 1.
 */
function compareIndexes(
  column: Column,
  source: Source,
  { order }: Comparisons,
  { lower, upper }: Limits,
): string | undefined {
  if (order === undefined) return undefined
  const compare = comparisonOf(column, source, order)
  if (compare === undefined) return undefined
  const { lowerIndex, upperIndex } = column as NumericColumn | DateColumn
  if ((lower !== undefined && lower > upperIndex) || (upper !== undefined && upper < lowerIndex))
    return 'FALSE'
  const conditions = [
    ...(lower === undefined || lower <= lowerIndex ? [] : [compare('>=', lower)]),
    ...(upper === undefined || upper >= upperIndex ? [] : [compare('<', upper + 1n)]),
  ]
  if (conditions.length > 0) return `(${conditions.join(' AND ')})`
  return source.notNull ? 'TRUE' : `(${source.sql} IS NOT NULL)`
}

/** Compares a value with the lower edge of an index. */
type Comparison = (operator: '>=' | '<', index: bigint) => string

function comparisonOf(column: Column, source: Source, order: Order): Comparison | undefined {
  switch (column.type) {
    case 'integer':
    case 'number':
      return order.kind === 'days' ? undefined : compareNumber(column, source, order)
    case 'date': {
      if (order.kind !== 'days') return undefined
      const step = column.stepNano / ONE_NANO
      // A whole number of days is at least an edge if it is at least the next whole number.
      return (operator, index) =>
        `${order.date} ${operator} ${order.literal(divideRoundingUp((2n * index - 1n) * step, 2n))}`
    }
    // Seconds are rounded and belong to a time zone, texts have no order, and a condition on booleans needs no bounds.
    case 'timestamp':
    case 'boolean':
    case 'category':
    case 'string':
    case 'identifier':
      return undefined
  }
}

function compareNumber(
  { stepNano }: NumericColumn,
  { sql }: Source,
  order: Exclude<Order, { readonly kind: 'days' }>,
): Comparison {
  // Twice the lower edge of an index, in nanos.
  const edge = (index: bigint) => (2n * index - 1n) * stepNano
  if (order.kind === 'decimals')
    return (operator, index) => `${sql} ${operator} ${order.literal(halfNanos(edge(index)))}`
  const { unitsPerOne, largest, literal } = order
  return (operator, index) => {
    const least = divideRoundingUp(edge(index) * unitsPerOne, 2n * ONE_NANO)
    if (least > largest) return operator === '<' ? `(${sql} IS NOT NULL)` : 'FALSE'
    if (least < -largest) return operator === '<' ? 'FALSE' : `(${sql} IS NOT NULL)`
    return `${sql} ${operator} ${literal(least)}`
  }
}

/** A number of half nanos as a decimal. */
function halfNanos(count: bigint): string {
  const digits = (5n * (count < 0n ? -count : count)).toString().padStart(11, '0')
  return `${count < 0n ? '-' : ''}${digits.slice(0, -10)}.${digits.slice(-10)}`
}

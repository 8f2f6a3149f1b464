import type { Column, DateColumn, NumericColumn, TableColumn } from '../../../catalog/dataset.ts'
import { divideRoundingUp } from '../../../privacy/rational.ts'
import type { ComparisonOf } from '../../tables/relation.ts'
import { int8 } from './literals.ts'
import { type Source, type SourceType, sourceTypeOf } from './source.ts'
import { dateAt, dateOf } from './temporal.ts'
import { compareText } from './text.ts'

const NANO = 10n ** 9n
const LARGEST_INT8 = 2n ** 63n - 1n

/** More single indexes are found faster from the stored value. */
const MOST_INDEXES = 8

/**
 * Prints a condition on the value in the table, for exactly the values that fit and whose stored value satisfies a
 * predicate. It may also hold for values that do not fit. No value makes it fail. The condition saves the computation of
 * the stored value, and can use an index.
 *
 * @returns `undefined` if there is no such condition that is exact
 */
export function compareSource(
  column: Column,
  { type, notNull, sql }: TableColumn & { readonly sql: string },
  predicate: ComparisonOf,
): string | undefined {
  const sourceType = sourceTypeOf(type)
  if (sourceType === undefined) return undefined
  const source = { sql, notNull }
  switch (predicate.kind) {
    case 'index-between':
      return compareIndexes(column, source, sourceType, predicate)
    case 'index-in': {
      if (predicate.indexes.length > MOST_INDEXES) return undefined
      const each = predicate.indexes.map((index) =>
        compareIndexes(column, source, sourceType, { lower: index, upper: index }),
      )
      if (each.includes(undefined)) return undefined
      return each.length === 0 ? 'FALSE' : `(${each.join(' OR ')})`
    }
    case 'category-in': {
      if (column.type !== 'category') return undefined
      const texts = predicate.indexes.flatMap((index) => column.categories[index] ?? [])
      return compareText(source, sourceType, texts)
    }
    case 'boolean-is':
      if (sourceType.kind !== 'boolean') return undefined
      return predicate.value ? sql : `(NOT ${sql})`
    // Texts are parameters of the statement.
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
  type: SourceType,
  { lower, upper }: Limits,
): string | undefined {
  const compare = comparisonOf(column, source, type)
  if (compare === undefined) return undefined
  const { lowerIndex, upperIndex } = column as GridColumnWithEdges
  if ((lower !== undefined && lower > upperIndex) || (upper !== undefined && upper < lowerIndex))
    return 'FALSE'
  const conditions = [
    ...(lower === undefined || lower <= lowerIndex ? [] : [compare('>=', lower)]),
    ...(upper === undefined || upper >= upperIndex ? [] : [compare('<', upper + 1n)]),
  ]
  if (conditions.length > 0) return `(${conditions.join(' AND ')})`
  return source.notNull ? 'TRUE' : `(${source.sql} IS NOT NULL)`
}

type GridColumnWithEdges = NumericColumn | DateColumn

/** Compares a value with the lower edge of an index. */
type Comparison = (operator: '>=' | '<', index: bigint) => string

function comparisonOf(column: Column, source: Source, type: SourceType): Comparison | undefined {
  switch (column.type) {
    case 'integer':
    case 'number':
      return compareNumber(column, source, type)
    case 'date': {
      const date = dateOf(source, type.kind)
      if (date === undefined) return undefined
      const step = column.stepNano / NANO
      // A whole number of days is at least an edge if it is at least the next whole number.
      return (operator, index) =>
        `${date} ${operator} ${dateAt(divideRoundingUp((2n * index - 1n) * step, 2n))}`
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
  { kind }: SourceType,
): Comparison | undefined {
  // Twice the lower edge of an index, in nanos.
  const edge = (index: bigint) => (2n * index - 1n) * stepNano
  // Floating-point numbers are compared as their shortest decimals, which only the conversion to text computes.
  if (kind === 'numeric') return (operator, index) => `${sql} ${operator} ${halfNanos(edge(index))}`
  if (kind !== 'integer') return undefined
  return (operator, index) => {
    const least = divideRoundingUp(edge(index), 2n * NANO)
    if (least > LARGEST_INT8) return operator === '<' ? `(${sql} IS NOT NULL)` : 'FALSE'
    if (least < -LARGEST_INT8) return operator === '<' ? 'FALSE' : `(${sql} IS NOT NULL)`
    return `${sql} ${operator} ${int8(least)}`
  }
}

/** A number of half nanos as a decimal. */
function halfNanos(count: bigint): string {
  const digits = (5n * (count < 0n ? -count : count)).toString().padStart(11, '0')
  return `'${count < 0n ? '-' : ''}${digits.slice(0, -10)}.${digits.slice(-10)}'::numeric`
}

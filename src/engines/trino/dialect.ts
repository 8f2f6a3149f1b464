import { type SqlValue, type SqlValueType, standardSql } from '../dialect.ts'
import { createEncoder } from '../tables/encoder.ts'
import type { TableDialect } from '../tables/table-dialect.ts'
import { bigint, edgesBelow, integer, text } from './encodings/literals.ts'
import { decimalOrder, encodeNumber, printWideQuotient } from './encodings/numeric.ts'
import { sourceTypeOf } from './encodings/source.ts'
import { dateAt, dateOf, encodeDate, encodeTimestamp } from './encodings/temporal.ts'
import { among, encodeCategory, textOf } from './encodings/text.ts'

/** NULL becomes NULL: unlike those of other databases, `least` and `greatest` of Trino are NULL if an argument is. */
const encoder = createEncoder({
  typeOf: sourceTypeOf,
  ...{
    encodeNumber,
    encodeDate,
    encodeTimestamp,
    encodeCategory,
    among,
    textOf,
    dateOf,
    dateAt,
    decimalOrder,
  },
  literal: text,
  integer: bigint,
})

/** The largest integers whose sum is computed in 64 bits, which is faster than decimals; see below for its limit. */
const LARGEST_SUMMED_IN_64_BITS = 2n ** 26n

/**
 * Trino's SQL over a table that is read in place. Statements have no parameters: integers are printed, and texts as the
 * hexadecimal digits of their bytes.
 *
 * The overflow of a sum would be an error. A sum of integers within 2^26 is a bigint, which overflows only with more than
 * 10^11 rows, all of them at the outermost bound. Every other sum is DECIMAL(38, 0). An index is within 2^53, so that a sum
 * of fewer than 2^63 indexes is below 10^35. A sum of squares or products of indexes within 2^45 overflows 38 digits only
 * with more than 8 * 10^10 rows, all of them at the outermost bound.
 */
export const trinoDialect: TableDialect = {
  ...standardSql,
  value: printValue,
  countIf: (condition) => `count_if(${condition})`,
  sum: (integers, largestMagnitude) =>
    largestMagnitude !== undefined && largestMagnitude <= LARGEST_SUMMED_IN_64_BITS
      ? `sum(${integers})`
      : `sum(CAST(${integers} AS DECIMAL(38, 0)))`,
  wideQuotient: printWideQuotient,
  // One constant. A position below the list is that of a row outside of it, and must not be an error.
  element: (integers, position) =>
    `element_at(CAST(JSON '[${integers.join(',')}]' AS ARRAY(INTEGER)), greatest(${position}, 0) + 1)`,
  edgesBelow,
  join: printJoined,
  isNotTrue: (condition) => `(NOT coalesce(${condition}, FALSE))`,
  countedInteger: (counted) => `CAST(${counted} AS DOUBLE)`,
  md5Order: (digested) => [`md5(to_utf8(${digested}))`],
  // The division fails, whatever the optimizer makes of it.
  failUnless: (condition) => `(1 / IF(${condition}, 1, 0) = 1)`,
  ...encoder,
  literal: text,
}

function printValue(value: SqlValue, type: SqlValueType): string {
  switch (typeof value) {
    case 'boolean':
      return value ? 'TRUE' : 'FALSE'
    case 'bigint':
      return type === 'integer' ? integer(value) : bigint(value)
    case 'string':
      return text(value)
  }
}

/** Largest size of conditions, in characters, that are compiled as one method of the Java virtual machine. */
const LARGEST_METHOD = 4_000

/**
 * Joins conditions in parts, each of them in a lambda of its own. Trino compiles a lambda into a method of its own, and a
 * condition that is too large for one method would fail.
 */
function printJoined(conditions: readonly string[], operator: 'AND' | 'OR'): string {
  const joined = (part: readonly string[]) => `(${part.join(` ${operator} `)})`
  const parts: string[][] = []
  let size = LARGEST_METHOD
  for (const condition of conditions) {
    size += condition.length
    if (size > LARGEST_METHOD) {
      parts.push([])
      size = condition.length
    }
    parts.at(-1)?.push(condition)
  }
  if (parts.length <= 1) return joined(conditions)
  return joined(parts.map((part) => `any_match(ARRAY[0], sotto_part -> ${joined(part)})`))
}

import { standardSql } from '../dialect.ts'
import { createEncoder } from '../tables/encoder.ts'
import type { TableDialect } from '../tables/table-dialect.ts'
import { int4, int8, quoteLiteral, textLiteral } from './encodings/literals.ts'
import { encodeNumber, isNumber } from './encodings/numeric.ts'
import { sourceTypeOf } from './encodings/source.ts'
import { dateAt, dateOf, encodeDate, encodeTimestamp } from './encodings/temporal.ts'
import { among, encodeCategory, textOf } from './encodings/text.ts'

/**
 * PostgreSQL evaluates the branches of a CASE in their order where they depend on the row, so that a branch can rely on the
 * conditions before it.
 */
const encoder = createEncoder({
  typeOf: sourceTypeOf,
  ...{ encodeNumber, encodeDate, encodeTimestamp, encodeCategory, among, textOf, isNumber, dateOf, dateAt },
  literal: quoteLiteral,
  integer: int8,
  decimalOrder: () => ({ kind: 'decimals', literal: (decimal) => `'${decimal}'::numeric` }),
})

/**
 * Prints PostgreSQL's SQL over a table that is read in place. Texts are bound. Integers are printed as literals with a
 * type, because a statement has at most 65,535 parameters. The sum of bigints is numeric, which no number of rows
 * overflows.
 */
export const postgresDialect: TableDialect = {
  ...standardSql,
  value: (value, type, bind) => {
    if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE'
    if (typeof value === 'bigint') return type === 'integer' ? int4(value) : int8(value)
    // No text of a database contains U+0000, and the server rejects it as a value. A comparison with NULL is never TRUE.
    return value.includes('\0') ? 'NULL::text' : `$${bind(value)}::text`
  },
  wide: (integer) => `CAST(${integer} AS NUMERIC)`,
  wideQuotient: (dividend, divisor) => `div(${dividend}, ${divisor})`,
  // The mask keeps positions beyond the list within 32 bits and does not change the others.
  element: (integers, position) =>
    `(CAST('{${integers.join(',')}}' AS INTEGER[]))[CAST(${position} & ${maskOf(integers.length)} AS INTEGER) + 1]`,
  countedInteger: (integer) => `CAST(${integer} AS BIGINT)`,
  // UUIDs are ordered as their hexadecimal digits are, whatever the collation, and take half the memory of the text.
  md5Order: (text) => [`CAST(md5(${text}) AS UUID)`],
  ...encoder,
  literal: textLiteral,
}

/** The smallest mask of lower bits that holds every position of a list. */
function maskOf(length: number): number {
  return 2 ** Math.ceil(Math.log2(length)) - 1
}

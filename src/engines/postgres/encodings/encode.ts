import type { Column, TableColumn } from '../../../core/dataset/dataset.ts'
import type { EncodedValue } from '../../tables/table-dialect.ts'
import { encodeNumber } from './numeric.ts'
import { sourceTypeOf } from './source.ts'
import { encodeDate, encodeTimestamp } from './temporal.ts'
import { encodeBoolean, encodeCategory, encodeIdentifier, encodeText } from './text.ts'

/**
 * Prints how a value of a table's column becomes a stored value, by the same rules as in ingestion. Every expression is
 * total: no value makes it fail. PostgreSQL evaluates the branches of a CASE in their order where they depend on the
 * row, so that a branch can rely on the conditions before it.
 *
 * @returns `undefined` if the types do not fit
 */
export function encodeValue(
  column: Column,
  { type, notNull, sql }: TableColumn & { readonly sql: string },
): EncodedValue | undefined {
  const sourceType = sourceTypeOf(type)
  if (sourceType === undefined) return undefined
  const source = { sql, notNull }
  switch (column.type) {
    case 'integer':
    case 'number':
      return encodeNumber(column, source, sourceType)
    case 'date':
      return encodeDate(column, source, sourceType)
    case 'timestamp':
      return encodeTimestamp(column, source, sourceType)
    case 'boolean':
      return encodeBoolean(source, sourceType)
    case 'category':
      return encodeCategory(column, source, sourceType)
    case 'string':
      return encodeText(source, sourceType)
    case 'identifier':
      return encodeIdentifier(source, sourceType)
  }
}

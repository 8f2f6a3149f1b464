import type { Column, TableColumn } from '../../../core/dataset/dataset.ts'
import type { EncodedValue } from '../../tables/table-dialect.ts'
import { encodeNumber } from './numeric.ts'
import { sourceTypeOf } from './source.ts'
import { encodeDate, encodeTimestamp } from './temporal.ts'
import { encodeBoolean, encodeCategory, encodeIdentifier, encodeText } from './text.ts'

/**
 * Prints how a value of a table's column becomes a stored value, by the same rules as in ingestion. Every expression is
 * total: no value makes it fail. NULL becomes NULL: unlike those of other databases, `least` and `greatest` of Trino are
 * NULL if an argument is.
 *
 * @returns `undefined` if the types do not fit
 */
export function encodeValue(
  column: Column,
  { type, sql }: Pick<TableColumn, 'type'> & { readonly sql: string },
): EncodedValue | undefined {
  const sourceType = sourceTypeOf(type)
  if (sourceType === undefined) return undefined
  switch (column.type) {
    case 'integer':
    case 'number':
      return encodeNumber(column, sql, sourceType)
    case 'date':
      return encodeDate(column, sql, sourceType)
    case 'timestamp':
      return encodeTimestamp(column, sql, sourceType)
    case 'boolean':
      return encodeBoolean(sql, sourceType)
    case 'category':
      return encodeCategory(column, sql, sourceType)
    case 'string':
      return encodeText(sql, sourceType)
    case 'identifier':
      return encodeIdentifier(sql, sourceType)
  }
}

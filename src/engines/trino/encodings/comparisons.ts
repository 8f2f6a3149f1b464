import type { TableColumn } from '../../../core/dataset/dataset.ts'
import type { Comparisons } from '../../tables/comparisons.ts'
import { bigint } from './literals.ts'
import { decimal } from './numeric.ts'
import { sourceTypeOf } from './source.ts'
import { dateAt, dateOf } from './temporal.ts'
import { compareText } from './text.ts'

const LARGEST_BIGINT = 2n ** 63n - 1n

/** Returns the exact comparisons with the values of a column that Trino reads; none for a type that is not supported. */
export function comparisonsOf({
  sql,
  type: typeName,
}: Pick<TableColumn, 'type'> & { readonly sql: string }): Comparisons {
  const type = sourceTypeOf(typeName)
  if (type === undefined) return {}
  const among = (texts: readonly string[]) => compareText(sql, type, texts)
  switch (type.kind) {
    case 'integer':
      return { order: { kind: 'units', unitsPerOne: 1n, largest: LARGEST_BIGINT, literal: bigint }, among }
    case 'decimal':
      // A constant of another type could have no common type with the column, which would be an error.
      return {
        order: {
          kind: 'units',
          unitsPerOne: 10n ** BigInt(type.scale),
          largest: 10n ** BigInt(type.precision) - 1n,
          literal: (units) => decimal(units, type),
        },
      }
    // Floating-point numbers are compared as their shortest decimals, which only the conversion to text computes.
    case 'float':
      return {}
    case 'date':
    case 'timestamp':
    case 'timestamptz': {
      const date = dateOf(sql, type.kind)
      return date === undefined ? {} : { order: { kind: 'days', date, literal: dateAt } }
    }
    case 'boolean':
      return { areBooleans: true, among }
    case 'text':
    case 'char':
    case 'uuid':
      return { among }
  }
}

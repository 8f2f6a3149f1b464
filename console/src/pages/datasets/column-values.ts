import type { components } from 'sotto-client'
import { formatExact } from '../../format/number.ts'

export type Column = components['schemas']['Dataset']['columns'][number]

/** Describes the values that a column may have, as they were declared. */
export function valuesOf(column: Column): string {
  switch (column.type) {
    case 'integer':
      return `${formatExact(column.lower)} to ${formatExact(column.upper)}`
    case 'number':
      return `${formatExact(column.lower)} to ${formatExact(column.upper)} in steps of ${formatExact(column.step)}`
    case 'date':
    case 'timestamp':
      return `${column.lower} to ${column.upper}`
    case 'boolean':
      return 'true or false'
    case 'category':
      return column.categories.join(', ')
    case 'string':
      return 'any text'
    case 'identifier':
      return 'identifies a person; cannot be queried'
  }
}

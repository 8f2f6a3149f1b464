import type { TableColumn } from '../../../core/dataset/dataset.ts'
import type { Comparisons, Source } from '../../tables/comparisons.ts'
import { int8 } from './literals.ts'
import { sourceTypeOf } from './source.ts'
import { dateAt, dateOf } from './temporal.ts'
import { compareText } from './text.ts'

const LARGEST_INT8 = 2n ** 63n - 1n

/** Returns the exact comparisons with the values of a column of PostgreSQL; none for a type that is not supported. */
export function comparisonsOf(source: Source & Pick<TableColumn, 'type'>): Comparisons {
  const type = sourceTypeOf(source.type)
  switch (type?.kind) {
    case undefined:
      return {}
    case 'integer':
      return {
        order: { kind: 'units', unitsPerOne: 1n, largest: LARGEST_INT8, literal: int8 },
        among: (texts) => compareText(source, type, texts),
      }
    case 'numeric':
      return { order: { kind: 'decimals', literal: (decimal) => `'${decimal}'::numeric` } }
    // Floating-point numbers are compared as their shortest decimals, which only the conversion to text computes.
    case 'float':
      return {}
    case 'date':
    case 'timestamp':
    case 'timestamptz': {
      const date = dateOf(source, type.kind)
      return date === undefined ? {} : { order: { kind: 'days', date, literal: dateAt } }
    }
    case 'boolean':
      return { areBooleans: true, among: (texts) => compareText(source, type, texts) }
    case 'text':
    case 'enum':
    case 'uuid':
      return { among: (texts) => compareText(source, type, texts) }
  }
}

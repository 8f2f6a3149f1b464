import type { Column, TableColumn } from '../../../catalog/dataset.ts'
import { type Comparisons, printComparison, type Source } from '../../tables/comparisons.ts'
import type { ComparisonOf } from '../../tables/relation.ts'
import { int8 } from './literals.ts'
import { type SourceType, sourceTypeOf } from './source.ts'
import { dateAt, dateOf } from './temporal.ts'
import { compareText } from './text.ts'

const LARGEST_INT8 = 2n ** 63n - 1n

/** Prints a comparison with the value in a table of PostgreSQL, as {@link printComparison} does. */
export function compareSource(
  column: Column,
  source: TableColumn & { readonly sql: string },
  predicate: ComparisonOf,
): string | undefined {
  const type = sourceTypeOf(source.type)
  return type === undefined
    ? undefined
    : printComparison(column, source, predicate, comparisonsOf(source, type))
}

function comparisonsOf(source: Source, type: SourceType): Comparisons {
  switch (type.kind) {
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

import type { z } from 'zod'
import type { dataset as shown } from '../../../schemas/datasets/dataset.ts'
import { numberFromDecimal } from '../../privacy/decimal.ts'
import { entry } from '../../privacy/must.ts'
import { type Dataset, isNumeric, isTemporal, type QueryableColumn } from './dataset.ts'
import type { DatasetDeclaration } from './declaration.ts'
import { valueOfIndex } from './grid-value.ts'

/** A derived column as documents show it. */
export type DerivedFacts = NonNullable<z.output<typeof shown>['derived']>[number]

/** Returns the derived columns of a declaration with the facts that follow from their expressions. */
export function derivedFacts(
  { derived }: Pick<DatasetDeclaration, 'derived'>,
  { derived: columns = [] }: Pick<Dataset, 'derived'>,
): DerivedFacts[] | undefined {
  return derived?.map((declared, position) => {
    return { ...declared, ...factsOf(entry(columns, position)) }
  })
}

/** Returns the facts of a column that an expression computes, as documents show them. */
export function factsOf(column: QueryableColumn) {
  const { nullable, constantPerPerson } = column
  return { nullable, ...(constantPerPerson ? { constantPerPerson } : {}), ...valuesOf(column) }
}

/** The type of a derived column and its values. */
function valuesOf(column: QueryableColumn) {
  if (isNumeric(column)) return { type: column.type, ...gridOf(column, Number) }
  if (isTemporal(column)) return { type: column.type, ...gridOf(column, String) }
  if (column.type === 'category') return { type: column.type, categories: column.categories }
  if (column.type === 'boolean') return { type: column.type }
  throw new RangeError('no expression has texts as values')
}

function gridOf<Value>(
  column: Extract<QueryableColumn, { stepNano: bigint }>,
  read: (value: number | string) => Value,
) {
  return {
    lower: read(valueOfIndex(column, column.lowerIndex)),
    upper: read(valueOfIndex(column, column.upperIndex)),
    step: numberFromDecimal(column.stepNano, 9),
  }
}

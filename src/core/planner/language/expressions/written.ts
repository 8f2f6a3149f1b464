import { decimalFromNumber, formatDecimal } from '../../../../privacy/decimal.ts'
import { must } from '../../../../privacy/must.ts'
import { isGrid, type QueryableColumn } from '../../../dataset/dataset.ts'
import { valueOfIndex } from '../../../dataset/grid-value.ts'
import type { Predicate } from '../aggregate.ts'
import type { Comparison } from '../formula.ts'
import { columnText } from './linear.ts'
import { ExpressionError, writtenText } from './parse.ts'

/** Writes a constant in an expression. */
export function writtenLiteral(value: number | string | boolean): string {
  if (typeof value === 'string') return writtenText(value)
  if (typeof value === 'boolean') return String(value)
  return formatDecimal(must(decimalFromNumber(value, 9), 'a number with at most 9 fractional digits'), 9)
}

/** Writes a predicate in an expression, with the operands of `and` and `or` in one order. */
export function writtenPredicate(predicate: Predicate, find: (name: string) => QueryableColumn): string {
  const value = (column: QueryableColumn, index: bigint) => {
    const literal = isGrid(column) ? valueOfIndex(column, index) : String(index)
    // It is read again as a number of JSON.
    if (typeof literal === 'number' && isGrid(column))
      if (decimalFromNumber(literal, 9) !== index * column.stepNano)
        throw new ExpressionError(`must not compare ${column.name} with values of more than 15 digits`)
    return writtenLiteral(literal)
  }
  switch (predicate.kind) {
    case 'and':
    case 'or': {
      const operands = [...new Set(predicate.predicates.map((each) => writtenPredicate(each, find)))].sort()
      if (operands.length === 0) return String(predicate.kind === 'and')
      return operands.length === 1 ? operands.join() : `(${operands.join(` ${predicate.kind} `)})`
    }
    case 'not':
      return `not (${writtenPredicate(predicate.predicate, find)})`
    default: {
      const column = find(predicate.column)
      return writtenComparison(predicate, column, (index) => value(column, index))
    }
  }
}

function writtenComparison(
  predicate: Comparison,
  column: QueryableColumn,
  valueAt: (index: bigint) => string,
): string {
  const text = columnText(column)
  const among = (values: readonly string[]) => {
    const [only, ...others] = [...new Set(values)].sort()
    if (only === undefined) return 'false'
    return others.length === 0 ? `${text} = ${only}` : `${text} in (${[only, ...others].join(', ')})`
  }
  switch (predicate.kind) {
    case 'is-null':
      return `${text} is null`
    case 'index-between': {
      const { lower, upper } = predicate
      // One step beyond the bounds may be no value that can be written.
      if (isGrid(column) && upper !== undefined && upper < column.lowerIndex)
        return `${text} < ${valueAt(column.lowerIndex)}`
      if (isGrid(column) && lower !== undefined && lower > column.upperIndex)
        return `${text} > ${valueAt(column.upperIndex)}`
      if (lower === undefined)
        return upper === undefined ? `not (${text} is null)` : `${text} <= ${valueAt(upper)}`
      return upper === undefined
        ? `${text} >= ${valueAt(lower)}`
        : `${text} between ${valueAt(lower)} and ${valueAt(upper)}`
    }
    case 'index-in':
      return among(predicate.indexes.map(valueAt))
    case 'category-in': {
      if (column.type !== 'category') throw new RangeError('a category needs a column of categories')
      return among(
        predicate.indexes.map((index) => writtenText(must(column.categories[index], 'a category'))),
      )
    }
    case 'boolean-is':
      return `${text} = ${predicate.value}`
    case 'string-in':
      return among(predicate.values.map(writtenText))
  }
}

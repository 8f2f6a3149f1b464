import type { Predicate } from '../../core/planner/language/aggregate.ts'
import { ANY_TYPE, GRID, type Printer, printColumn, printIndex, printValue } from './printer.ts'

/** A condition as SQL, and the predicate that it was printed from. */
export interface PrintedCondition {
  readonly sql: string
  readonly predicate: Predicate
}

/** Prints the condition that a column of any type is not NULL. */
export function printPresent(printer: Printer, column: string): PrintedCondition {
  return {
    sql: `${printColumn(printer, column, ANY_TYPE)} IS NOT NULL`,
    predicate: { kind: 'not', predicate: { kind: 'is-null', column } },
  }
}

/**
 * Prints a condition that is TRUE for exactly the rows for which the predicate holds, and FALSE or NULL for the others.
 * AND and OR preserve this. NOT goes through IS NOT TRUE, so that comparisons need no treatment of NULL.
 */
export function printPredicate(printer: Printer, predicate: Predicate): string {
  switch (predicate.kind) {
    case 'and':
    case 'or': {
      const operands = predicate.predicates.map((operand) => printPredicate(printer, operand))
      if (operands.length === 0) return predicate.kind === 'and' ? 'true' : 'false'
      const operator = predicate.kind === 'and' ? 'AND' : 'OR'
      return printer.dialect.join?.(operands, operator) ?? `(${operands.join(` ${operator} `)})`
    }
    case 'not':
      return printer.dialect.isNotTrue(printPredicate(printer, predicate.predicate))
    case 'is-null':
      return `(${printColumn(printer, predicate.column, ANY_TYPE)} IS NULL)`
    case 'index-between':
      return printBetween(printer, predicate)
    case 'index-in': {
      const column = printColumn(printer, predicate.column, GRID)
      return printMembership(
        column,
        predicate.indexes.map((index) => printIndex(printer, index)),
      )
    }
    case 'category-in': {
      const column = printColumn(printer, predicate.column, ['category'])
      return printMembership(
        column,
        predicate.indexes.map((index) => printValue(printer, categoryIndex(index), 'integer')),
      )
    }
    case 'boolean-is':
      return `(${printColumn(printer, predicate.column, ['boolean'])} = ${printValue(printer, predicate.value, 'boolean')})`
    case 'string-in': {
      const column = printColumn(printer, predicate.column, ['string'])
      return printMembership(
        column,
        predicate.values.map((value) => printValue(printer, value, 'text')),
      )
    }
  }
}

function printBetween(printer: Printer, predicate: Extract<Predicate, { kind: 'index-between' }>): string {
  const column = printColumn(printer, predicate.column, GRID)
  const { lower, upper } = predicate
  if (lower === undefined)
    return upper === undefined ? `(${column} IS NOT NULL)` : `(${column} <= ${printIndex(printer, upper)})`
  if (upper === undefined) return `(${column} >= ${printIndex(printer, lower)})`
  return `(${column} BETWEEN ${printIndex(printer, lower)} AND ${printIndex(printer, upper)})`
}

function printMembership(column: string, values: readonly string[]): string {
  return values.length === 0 ? 'false' : `(${column} IN (${values.join(', ')}))`
}

function categoryIndex(index: number): bigint {
  if (!Number.isInteger(index) || index < 0 || index >= 2 ** 31)
    throw new RangeError('a category must have an index')
  return BigInt(index)
}

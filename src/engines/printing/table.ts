import type { GroupKey, Predicate } from '../../core/planner/language/aggregate.ts'
import { type PrintedKey, printGroupKey } from './group-keys.ts'
import { type PrintedCondition, printPredicate } from './predicates.ts'
import type { Printer } from './printer.ts'

/** Largest number of cells: cell numbers are computed in 32 bits at worst. */
const LARGEST_CELL_COUNT = 2 ** 31 - 1

/** The cells of a table as SQL. */
export interface PrintedCells {
  /** Conditions that are all TRUE for the rows in one of the cells, and for no other row. */
  readonly conditions: readonly PrintedCondition[]
  /** The number of the cell of such a row; absent where there is one cell only. */
  readonly cell: string | undefined
  readonly cells: number
  readonly keys: readonly PrintedKey[]
}

/**
 * Prints the cells of group keys, and the conditions under which a row is in one of them.
 * @throws RangeError for keys or a condition that do not fit the dataset, and for too many cells.
 */
export function printCells(
  printer: Printer,
  groupBy: readonly GroupKey[],
  where: Predicate | undefined,
): PrintedCells {
  const keys = groupBy.map((key) => printGroupKey(printer, key))
  const cells = keys.reduce((product, key) => product * key.cells, 1)
  if (cells > LARGEST_CELL_COUNT) throw new RangeError('the aggregate has too many cells')
  const [first, ...others] = keys
  return {
    conditions: [...keys.flatMap(({ membership }) => membership ?? []), ...printWhere(printer, where)],
    cell:
      first === undefined
        ? undefined
        : others.reduce((number, key) => `(${number} * ${key.cells} + ${key.cell})`, first.cell),
    cells,
    keys,
  }
}

/** Prints a condition, if there is one. */
export function printWhere(printer: Printer, where: Predicate | undefined): readonly PrintedCondition[] {
  return where === undefined ? [] : [{ sql: printPredicate(printer, where), predicate: where }]
}

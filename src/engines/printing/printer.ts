import type { Column, Dataset, QueryableColumn } from '../../core/dataset/dataset.ts'
import { columnNamed } from '../../core/planner/language/columns.ts'
import { inputsOf } from '../../core/planner/language/formula.ts'
import { type Bind, type Dialect, quoteIdentifier, type SqlValue, type SqlValueType } from '../dialect.ts'

/** A statement and the values of its parameters. */
export interface PrintedStatement {
  readonly sql: string
  readonly parameters: readonly SqlValue[]
}

/** Prints a statement and collects the values that it binds. */
export function printBound(print: (bind: Bind) => string): PrintedStatement {
  const parameters: SqlValue[] = []
  return { sql: print((value) => parameters.push(value)), parameters }
}

/** The state of printing one statement. */
export interface Printer {
  readonly dataset: Dataset
  readonly dialect: Dialect
  readonly parameters: SqlValue[]
  /** The derived columns that the statement uses, each after those from which it is computed. */
  readonly derived: readonly QueryableColumn[]
}

/** @param asked what the statement computes, in the language of aggregates, where the field `column` names a column */
export function createPrinter(dataset: Dataset, dialect: Dialect, asked: unknown): Printer {
  const derived: QueryableColumn[] = []
  const add = (name: string): void => {
    const column = columnNamed(dataset, name)
    if (column?.formula === undefined || derived.some((known) => known.name === column.name)) return
    inputsOf(column.formula).forEach(add)
    derived.push(column)
  }
  const addAll = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    if ('column' in value && typeof value.column === 'string') add(value.column)
    Object.values(value).forEach(addAll)
  }
  addAll(asked)
  return { dataset, dialect, parameters: [], derived }
}

/** An index beyond every stored one, far from the limits of 64-bit arithmetic. */
export const OUTERMOST_INDEX = 2n ** 60n

/** @throws RangeError unless the dataset has a column of that name and of one of these types. */
export function columnOf<Type extends Column['type']>(
  { dataset }: Pick<Printer, 'dataset'>,
  name: string,
  types: readonly Type[],
): Extract<QueryableColumn, { type: Type }> {
  const isOfType = (column: QueryableColumn): column is Extract<QueryableColumn, { type: Type }> =>
    types.some((type) => type === column.type)
  const column = columnNamed(dataset, name)
  if (column === undefined) throw new RangeError('the aggregate uses a column that the dataset does not have')
  if (!isOfType(column)) throw new RangeError('the aggregate does not fit the type of a column')
  return column
}

/** Prints the value of a column in the rows that {@link createPrinter} prepares; otherwise as {@link columnOf}. */
export function printColumn(printer: Printer, name: string, types: readonly Column['type'][]): string {
  return printValueOf(printer, columnOf(printer, name, types))
}

/** Prints the value of a column of the dataset. */
export function printValueOf({ derived }: Printer, { name, formula }: QueryableColumn): string {
  if (formula === undefined) return quoteIdentifier(name)
  const place = derived.findIndex((column) => column.name === name)
  if (place === -1) throw new RangeError('the statement does not compute a derived column that it uses')
  return quoteIdentifier(`sotto_derived${place}`)
}

/** A boolean as 0 or 1. */
export function booleanIndex(column: string): string {
  return `CAST(${column} AS INTEGER)`
}

/** Types whose values are grid indexes. */
export const GRID = ['integer', 'number', 'date', 'timestamp'] as const
/** Types of all columns that queries can use. */
export const ANY_TYPE = [...GRID, 'boolean', 'category', 'string'] as const

/** Prints a value of the aggregate, as a parameter or a literal. */
export function printValue({ dialect, parameters }: Printer, value: SqlValue, type: SqlValueType): string {
  return dialect.value(value, type, (bound) => parameters.push(bound))
}

/** Prints an index to compare with; all indexes beyond every stored one compare the same. */
export function printIndex(printer: Printer, index: bigint): string {
  if (index > OUTERMOST_INDEX) return printValue(printer, OUTERMOST_INDEX, 'bigint')
  if (index < -OUTERMOST_INDEX) return printValue(printer, -OUTERMOST_INDEX, 'bigint')
  return printValue(printer, index, 'bigint')
}

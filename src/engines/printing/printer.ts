import { type Column, columnNamed, type Dataset } from '../../core/dataset/dataset.ts'
import {
  type Dialect,
  quoteIdentifier,
  type RelationNeeds,
  type SqlValue,
  type SqlValueType,
} from '../dialect.ts'

/** A statement and the values of its parameters. */
export interface PrintedStatement {
  readonly sql: string
  readonly parameters: readonly SqlValue[]
}

/** The state of printing one statement. */
export interface Printer {
  readonly dataset: Dataset
  readonly dialect: Dialect
  readonly parameters: SqlValue[]
}

/** An index beyond every stored one, far from the limits of 64-bit arithmetic. */
export const OUTERMOST_INDEX = 2n ** 60n

/** @throws RangeError unless the dataset has a column of that name and of one of these types. */
export function columnOf<Type extends Column['type']>(
  { dataset }: Printer,
  name: string,
  types: readonly Type[],
): Extract<Column, { type: Type }> {
  const isOfType = (column: Column): column is Extract<Column, { type: Type }> =>
    types.some((type) => type === column.type)
  const column = columnNamed(dataset, name)
  if (column === undefined) throw new RangeError('the aggregate uses a column that the dataset does not have')
  if (!isOfType(column)) throw new RangeError('the aggregate does not fit the type of a column')
  return column
}

/** Prints the name of a column; otherwise as {@link columnOf}. */
export function printColumn(printer: Printer, name: string, types: readonly Column['type'][]): string {
  return quoteIdentifier(columnOf(printer, name, types).name)
}

/** Types whose values are grid indexes. */
export const GRID = ['integer', 'number', 'date', 'timestamp'] as const
/** Types of all columns that queries can use. */
export const ANY_TYPE = [...GRID, 'boolean', 'category', 'string'] as const

/** Prints a value of the aggregate, as a parameter or a literal. */
export function printValue({ dialect, parameters }: Printer, value: SqlValue, type: SqlValueType): string {
  return dialect.value(value, type, (bound) => parameters.push(bound))
}

/** Prints the relation of the dataset's rows. */
export function printDatasetRows({ dataset, dialect, parameters }: Printer, needs?: RelationNeeds): string {
  return dialect.relation(dataset, (bound) => parameters.push(bound), needs)
}

/** Prints an index to compare with; all indexes beyond every stored one compare the same. */
export function printIndex(printer: Printer, index: bigint): string {
  if (index > OUTERMOST_INDEX) return printValue(printer, OUTERMOST_INDEX, 'bigint')
  if (index < -OUTERMOST_INDEX) return printValue(printer, -OUTERMOST_INDEX, 'bigint')
  return printValue(printer, index, 'bigint')
}

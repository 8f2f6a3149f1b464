import type { DuckDBType, DuckDBValue } from '@duckdb/node-api'
import type { GridColumn } from '../../../core/dataset/dataset.ts'

/** A column of the source as SQL sees it. */
export interface SourceColumn {
  /** Position of the declared column. Every name that an encoding defines ends with it, so that names are unique. */
  readonly position: number
  /** The SQL name of the source's values. */
  readonly name: string
  /** DuckDB's name of their type, such as `BIGINT`; always `VARCHAR` in CSV. */
  readonly type: string
  /** Decimal separator of numbers in texts; a dot if absent. */
  readonly decimal?: '.' | ','
}

/**
 * The SQL that turns the values of one source column into stored values. All of it consists of total functions: every
 * value is either stored or invalid, and no value makes a statement fail.
 */
export interface Encoding {
  /**
   * Expressions with names, computed layer by layer: an expression may use the source's name and the names of earlier
   * layers, not those of its own.
   */
  readonly layers: readonly Layer[]
  /** The value to store; NULL for NULL and for a value that does not fit the declaration. It may use every name. */
  readonly stored: string
  /** A statement to run once before the expressions are used, such as one that creates a type. */
  readonly preparation?: Statement
}

/** A statement and its parameters. */
export interface Statement {
  readonly sql: string
  readonly parameters: Readonly<Record<string, Parameter>>
}

/** Expressions by their names. */
export type Layer = Readonly<Record<string, string>>

/** A value that is bound to a statement, with its type. */
export interface Parameter {
  readonly value: DuckDBValue
  readonly type: DuckDBType
}

/**
 * The source's value as text. DuckDB writes integers and decimals in full, and floating point numbers as the shortest
 * decimal that reads back as the same number.
 */
export function textOf({ name, type }: SourceColumn): string {
  if (type === 'VARCHAR') return name
  const text = `TRY_CAST(${name} AS VARCHAR)`
  const first = FIRST_PRINTABLE[type]
  return first === undefined
    ? text
    : `CASE WHEN ${name} >= ${first} OR NOT isfinite(${name}) THEN ${text} END`
}

/** The source's value as the text of a number with a decimal dot; NULL for a text with a dot that is no decimal separator. */
export function numberTextOf(source: SourceColumn): string {
  const text = textOf(source)
  if (source.decimal !== ',' || source.type !== 'VARCHAR') return text
  return `CASE WHEN NOT contains(${text}, '.') THEN replace(${text}, ',', '.') END`
}

/**
 * The first values of types that Parquet extends further than DuckDB can print: even TRY_CAST fails for values before
 * them.
 */
const FIRST_PRINTABLE: Readonly<Record<string, string>> = {
  TIMESTAMP: "TIMESTAMP '290309-12-22 (BC) 00:00:00'",
  TIMESTAMP_NS: "TIMESTAMP_NS '1677-09-22 00:00:00'",
}

/** A text without the white space around it. */
export function trimmed(text: string): string {
  return `trim(${text}, ' ' || chr(9) || chr(10) || chr(13))`
}

/** The index of an integer in units of which a step has this many: floor(value / step + 1/2) within the bounds. */
export function indexOf(column: GridColumn, value: string, step: bigint): string {
  const [lower, upper] = [column.lowerIndex * step, column.upperIndex * step]
  // Counted from the lower bound, no number is negative, so that integer division is the floor.
  const steps = `(2 * (${within(value, lower, upper)} - (${lower})) + ${step}) // ${2n * step}`
  return `CAST(${column.lowerIndex} + ${steps} AS BIGINT)`
}

/** A value clamped to a range; NULL stays NULL, which `least` and `greatest` would ignore. */
export function within(value: string, lower: bigint, upper: bigint): string {
  return `CASE WHEN ${value} < ${lower} THEN ${lower} WHEN ${value} > ${upper} THEN ${upper} ELSE ${value} END`
}

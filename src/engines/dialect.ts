import type { Dataset } from '../core/dataset/dataset.ts'
import type { Predicate } from '../core/planner/language/aggregate.ts'

/** A value in a statement. */
export type SqlValue = bigint | string | boolean

/** The type of a value: 64-bit integer, 32-bit integer, boolean or text. */
export type SqlValueType = 'bigint' | 'integer' | 'boolean' | 'text'

/** Adds a parameter to a statement and returns its number, counted from 1. */
export type Bind = (value: SqlValue) => number

/** A relation of the rows that satisfy some of several conditions. */
export interface SelectedRows {
  readonly relation: string
  /** Positions of the conditions that are still to be checked. */
  readonly remaining: readonly number[]
}

/** Requirements of a statement on the relation of a dataset of people. */
export interface RelationNeeds {
  /** `plausible` adds the rows that `maxRows` leaves out, up to one more than `plausibleRows` of a person. */
  readonly extent?: 'plausible'
  /**
   * Number of rows up to which a person's rows may have their ranks in any order, because the statement keeps all of them.
   * Ordering them costs most of the time of a statement over a live table. Default: 1.
   */
  readonly unorderedUpTo?: number
}

/**
 * The SQL of one database, as far as it differs from {@link standardSql} or cannot be standard. Every expression that a
 * dialect prints must be exact, and total: no value in the data may make it fail.
 */
export interface Dialect {
  /**
   * The relation to select from: a row for each row of the dataset, and under each declared name a column of stored
   * values (64-bit grid indexes, 32-bit category indexes, booleans, texts).
   */
  relation(dataset: Dataset, bind: Bind, needs?: RelationNeeds): string
  /**
   * The relation of the rows for which all of several conditions hold, except those that it leaves to be checked.
   * Absent, or `undefined`, if the relation checks no conditions.
   */
  selectRows?(dataset: Dataset, conditions: readonly Predicate[]): SelectedRows | undefined
  /** A value of a statement, as a parameter or as a literal that cannot be misread. */
  value(value: SqlValue, type: SqlValueType, bind: Bind): string
  /** The number of rows for which a condition is TRUE; 0 without rows. */
  countIf(condition: string): string
  /** A 64-bit integer in the type of sums. */
  wide(integer: string): string
  /**
   * The exact sum of 64-bit or 128-bit integers; NULL without rows.
   * @param largestMagnitude no integer exceeds it; if it is absent, it is unknown
   */
  sum(integers: string, largestMagnitude?: bigint): string
  /** The integer part of the quotient of two 64-bit integers, neither of which is negative. */
  quotient(dividend: string, divisor: string): string
  /** The integer part of the quotient of two integers in the type of sums, neither of which is negative. */
  wideQuotient(dividend: string, divisor: string): string
  /**
   * The integer at a position, counted from 0, in a list of constants; any value or NULL for a position beyond the
   * list. Absent if the database has no fast way to look one up.
   */
  element?(integers: readonly number[], position: string): string
  /**
   * The number of edges that an integer is not below. Absent if the database takes a nested search of any size.
   * @param edges increasing constants
   */
  edgesBelow?(integer: string, edges: readonly bigint[]): string
  /** Conditions joined by an operator. Absent if the database takes any number of them. */
  join?(conditions: readonly string[], operator: 'AND' | 'OR'): string
  /** TRUE where a condition is FALSE or NULL, FALSE where it is TRUE. */
  isNotTrue(condition: string): string
  /** An integer within 2^53 as the type in which counts of values are read. */
  countedInteger(integer: string): string
  /** A text as the type in which counts of values are read. */
  countedText(column: string): string
}

/** The parts of a dialect that standard SQL prescribes. */
export const standardSql = {
  countIf: (condition) => `count(*) FILTER (WHERE ${condition})`,
  wide: (integer) => `CAST(${integer} AS DECIMAL(38, 0))`,
  sum: (integers: string) => `sum(${integers})`,
  quotient: (dividend, divisor) => `(${dividend} / ${divisor})`,
  isNotTrue: (condition) => `(${condition} IS NOT TRUE)`,
  countedInteger: (integer) => `CAST(${integer} AS DOUBLE PRECISION)`,
  countedText: (column) => column,
} as const satisfies Partial<Dialect>

/** A name as a quoted identifier of standard SQL. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

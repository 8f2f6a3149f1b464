import type { ValueCounts } from '../../mechanisms/selection/quantile.ts'
import type { Aggregate, CellCounting, ValueCounting } from './aggregate.ts'

/* What plans read from the data, as data: an engine has a method for each kind of reading. */

/** The method of an engine that reads data, and what it is asked for. */
export type Reading =
  | { readonly method: 'aggregate'; readonly aggregate: Aggregate }
  | { readonly method: 'countIndexes' | 'countTexts'; readonly counting: ValueCounting }
  | { readonly method: 'countIndexesInCells'; readonly counting: CellCounting }

/** Exact integers of an aggregate: one array per statistic, one integer per cell, in grid units. */
export type CellIntegers = readonly (readonly bigint[])[]

/** Two arrays of the same length, of exact integers within 2^53: each value and the number of rows or people that have it. */
export type IndexCounts = ValueCounts

/** Two arrays of the same length: each text and the number of rows (an exact integer) that have it. */
export interface TextCounts {
  readonly texts: readonly string[]
  readonly counts: Float64Array
}

/** The results of readings by method, each list in the order of the readings. */
export interface ReadingResults {
  readonly aggregate: readonly CellIntegers[]
  readonly countIndexes: readonly IndexCounts[]
  readonly countIndexesInCells: readonly (readonly IndexCounts[])[]
  readonly countTexts: readonly TextCounts[]
}

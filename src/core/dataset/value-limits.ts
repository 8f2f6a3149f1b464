import { type Dataset, type GridColumn, isGenerated, type Selectable } from './dataset.ts'

/*
 * Limits on the distinct values that one query reads into memory. They follow from declarations that ingestion has
 * checked over the whole column. A condition only leaves rows out, so no query can exceed them afterwards, and whether
 * a query succeeds does not depend on the data.
 */

/** Largest number of grid points of a column that quantiles accept without a declaration. */
export const MOST_UNDECLARED_VALUES = 2 ** 20

/**
 * Largest number of distinct values that one query reads: the largest `maxValues` of a rankable column, and the limit for
 * values per person and for the values in all groups together. The arrays of a quantile take up to 96 bytes for each
 * value, 400 MB in all.
 */
export const MOST_VALUES = 2 ** 22

/** Limits of a selectable column that declares none. */
export const DEFAULT_SELECTABLE: Selectable = { maxValues: 100_000, maxLength: 200 }

/** Largest number of texts of a selectable column. */
export const MOST_TEXTS = 1_000_000

/** Largest number of characters of one text of a selectable column, which is that of a text in a condition. */
export const LONGEST_TEXT = 1_000

/** Largest number of characters of all texts of a selectable column together. In memory each takes up to four bytes. */
export const MOST_CHARACTERS = 2 ** 25

/** Returns the public limit on the number of stored rows; Infinity if there is none. */
export function mostRows({ source, rows, people, privacyUnit }: Dataset): number {
  const ofSource = isGenerated(source) ? source.rows : Number.POSITIVE_INFINITY
  if (privacyUnit.kind === 'row') return Math.min(ofSource, rows ?? ofSource)
  return Math.min(ofSource, people === undefined ? ofSource : people * privacyUnit.maxRows)
}

/** Returns the public limit on the number of people; Infinity if there is none. */
export function mostPeople(dataset: Dataset): number {
  const { source, people } = dataset
  const ofSource = source.kind === 'visits' ? source.people : mostRows(dataset)
  return Math.min(ofSource, people ?? ofSource)
}

/** Returns the number of points of a grid. */
export function gridPoints({
  lowerIndex,
  upperIndex,
}: Pick<GridColumn, 'lowerIndex' | 'upperIndex'>): bigint {
  return upperIndex - lowerIndex + 1n
}

/**
 * Returns the largest number of distinct values that a column can have, by public facts alone; `undefined` if they do
 * not limit it enough for quantiles. See decision 33.
 */
export function mostDistinctValues(column: GridColumn, dataset: Dataset): number | undefined {
  const declared = column.rankable?.maxValues
  const most = Math.min(Number(gridPoints(column)), mostRows(dataset), declared ?? Number.POSITIVE_INFINITY)
  return most <= MOST_UNDECLARED_VALUES || declared !== undefined ? most : undefined
}

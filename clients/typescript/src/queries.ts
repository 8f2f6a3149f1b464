import type { ColumnName, Grouping, Where } from './columns.ts'
import type { Decimal } from './decimal.ts'
import {
  type Counted,
  type NoisyOptions,
  type Options,
  type PerPerson,
  query,
  type SupposableOptions,
} from './query.ts'

/* One function for each kind of query. `dataset.count(...)` and the like take the same parameters. */

/** Counts rows, or people. */
export const count = (options: NoisyOptions & Counted = {}) => query('count', {}, options)

/** Sums a numeric column. NULL counts as 0. */
export const sum = (column: ColumnName, options: NoisyOptions = {}) => query('sum', { column }, options)

/** Averages a column of numbers, dates or timestamps, or one value per person. NULL is ignored. */
export const mean = (column: ColumnName, options: SupposableOptions & PerPerson = {}) =>
  query('mean', { column }, options)

/** Computes the population variance of a numeric column. */
export const variance = (column: ColumnName, options: SupposableOptions = {}) =>
  query('variance', { column }, options)

/** Computes the population standard deviation of a numeric column. */
export const standardDeviation = (column: ColumnName, options: SupposableOptions = {}) =>
  query('standardDeviation', { column }, options)

/** Computes the population covariance of two columns. */
export const covariance = (column: ColumnName, other: ColumnName, options: SupposableOptions = {}) =>
  query('covariance', { columns: [column, other] }, options)

/** Computes the Pearson correlation of two columns. */
export const correlation = (column: ColumnName, other: ColumnName, options: NoisyOptions = {}) =>
  query('correlation', { columns: [column, other] }, options)

/** Explains a column by others, by least squares with an intercept. */
export const linearRegression = (
  outcome: ColumnName,
  predictors: readonly ColumnName[],
  options: NoisyOptions & { readonly ridge?: Decimal } = {},
) => query('linearRegression', { outcome, predictors }, options)

/** Computes the share of rows that satisfy `of`, among those that satisfy `where`. */
export const proportion = (of: Where, options: SupposableOptions = {}) => query('proportion', { of }, options)

/** Counts the declared categories, bins or periods that occur, or the values of a selectable text column. */
export const countDistinct = (column: Grouping, options: NoisyOptions = {}) =>
  query('countDistinct', { column }, options)

/** Counts rows or people in each category, bin or period of a column. */
export const histogram = (column: Grouping, options: NoisyOptions & Counted = {}) =>
  query('histogram', { column }, options)

/** Counts rows or people in each cell of two or more columns. */
export const contingency = (columns: readonly Grouping[], options: NoisyOptions & Counted = {}) =>
  query('contingency', { columns }, options)

/** Finds the groups with the largest noisy counts, with these counts. */
export const topGroups = (
  keys: readonly Grouping[],
  options: NoisyOptions & Counted & { readonly k?: number } = {},
) => query('topGroups', { keys }, options)

/** Finds the category, bin or period of a column, or the named condition, that has the most rows or people. */
export const noisyMax = (
  candidates: { readonly column: Grouping } | { readonly predicates: Readonly<Record<string, Where>> },
  options: Options &
    Counted & {
      readonly k?: number
      readonly gap?: boolean
      readonly noise?: 'laplace' | 'exponential' | 'gumbel'
    } = {},
) => {
  const named =
    'column' in candidates
      ? candidates
      : { predicates: Object.entries(candidates.predicates).map(([name, where]) => ({ name, where })) }
  return query('noisyMax', { candidates: named }, options)
}

/** Finds the median of a column, or of one value per person. */
export const median = (column: ColumnName, options: Options & PerPerson = {}) =>
  query('median', { column }, options)

/** Finds one or more percentiles of a column, or of one value per person. `p` is in per cent. */
export const percentile = (
  column: ColumnName,
  p: Decimal | readonly Decimal[],
  options: Options & PerPerson = {},
) => query('percentile', { column, p }, options)

/** Finds a low quantile of a column: the true minimum belongs to one person and cannot be released. */
export const minimum = (column: ColumnName, options: Options & PerPerson = {}) =>
  query('minimum', { column }, options)

/** Finds a high quantile of a column: the true maximum belongs to one person and cannot be released. */
export const maximum = (column: ColumnName, options: Options & PerPerson = {}) =>
  query('maximum', { column }, options)

/** Finds the frequent values of a selectable text column, and their noisy counts if asked. */
export const keySelection = (
  column: ColumnName,
  options: Options & { readonly delta: Decimal; readonly counts?: boolean },
) => query('keySelection', { column }, options)

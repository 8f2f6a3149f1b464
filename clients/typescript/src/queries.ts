// Generated from schemas/answers/query.ts and src/core/planner/kinds by `npm run generate`. Do not edit.

import type { ColumnName, Grouping, Where } from './columns.ts'
import type { Decimal } from './decimal.ts'
import {
  type Candidates,
  type Clamp,
  type Counted,
  candidatesOf,
  type NoisyOptions,
  type Options,
  type PerPerson,
  query,
  type SupposableOptions,
} from './query.ts'

/* One function for each kind of query. `dataset.count(...)` and the like take the same parameters. */

/** Number of rows or of people. */
export const count = (options: NoisyOptions & Counted = {}) => query('count', {}, options)

/** Number of rows or of people in each category, bin or period of a column. */
export const histogram = (column: Grouping, options: NoisyOptions & Counted = {}) =>
  query('histogram', { column }, options)

/**
 * Finds a `clamp` for a next sum or mean. Number of rows in each band of a column between powers of two (of
 * steps from the lower bound, for dates and timestamps), and clamps that follow from these counts: each with
 * the noise that it leaves, what it cuts off, and the share of rows beyond it. NULL values are ignored.
 */
export const bounds = (column: ColumnName, options: NoisyOptions & { readonly nextEpsilon?: Decimal } = {}) =>
  query('bounds', { column }, options)

/** Number of rows or of people in each cell of the full cross product of two or more columns. */
export const contingency = (columns: readonly Grouping[], options: NoisyOptions & Counted = {}) =>
  query('contingency', { columns }, options)

/**
 * Numbers of rows in all tables of some number of columns, such as every pair, at one price. The service
 * measures the tables that say most, and estimates every table from all measurements: the tables agree with
 * each other, and all cells of a table have one half-width. Where people have several rows, `contribution`
 * with one row counts people.
 */
export const marginals = (
  columns: readonly Grouping[],
  ways: Decimal | readonly Decimal[],
  options: Options & {
    readonly weights?: Decimal | readonly Decimal[]
    readonly rho?: Decimal
    readonly delta?: Decimal
    readonly objective?: 'total' | 'largest'
  } = {},
) => query('marginals', { columns, ways }, options)

/**
 * Number of rows or of people up to each edge, period or value of an ordered column. The difference of two
 * counts is the count between them. All follow from measurements that halve the column again and again: for
 * many cells their errors are far smaller than those of the cells of a histogram, added up. Rows without a
 * value, or outside of the edges, are in no count. With a delta the noise is Gaussian, otherwise Laplace.
 */
export const cumulativeCounts = (
  column: Grouping,
  options: Options &
    Counted & {
      readonly p?: Decimal | readonly Decimal[]
      readonly ranges?: readonly Clamp[]
      readonly delta?: Decimal
    } = {},
) => query('cumulativeCounts', { column }, options)

/** Mean of a column of numbers, dates or timestamps, or of one value per person. NULL values are ignored. */
export const mean = (
  column: ColumnName,
  options: SupposableOptions & PerPerson & { readonly clamp?: Clamp } = {},
) => query('mean', { column }, options)

/** Sum of a numeric column. NULL counts as 0. */
export const sum = (column: ColumnName, options: NoisyOptions & { readonly clamp?: Clamp } = {}) =>
  query('sum', { column }, options)

/**
 * Median of a column of numbers, dates or timestamps, or of one value per person; a grid point. NULL values
 * are ignored.
 */
export const median = (column: ColumnName, options: Options & PerPerson & { readonly clamp?: Clamp } = {}) =>
  query('median', { column }, options)

/**
 * One or more percentiles of a column of numbers, dates or timestamps, or of one value per person; grid
 * points. The epsilon is divided among them.
 */
export const percentile = (
  column: ColumnName,
  p: Decimal | readonly Decimal[],
  options: Options & PerPerson & { readonly clamp?: Clamp } = {},
) => query('percentile', { column, p }, options)

/**
 * Extreme quantile of a column of numbers, dates or timestamps, or of one value per person. The true minimum
 * or maximum belongs to one row or person and cannot be released. The answer states the rank from the end
 * that it targets.
 */
export const minimum = (column: ColumnName, options: Options & PerPerson & { readonly clamp?: Clamp } = {}) =>
  query('minimum', { column }, options)

/**
 * Extreme quantile of a column of numbers, dates or timestamps, or of one value per person. The true minimum
 * or maximum belongs to one row or person and cannot be released. The answer states the rank from the end
 * that it targets.
 */
export const maximum = (column: ColumnName, options: Options & PerPerson & { readonly clamp?: Clamp } = {}) =>
  query('maximum', { column }, options)

/** Share of rows that satisfy the predicate `of`. */
export const proportion = (of: Where, options: SupposableOptions = {}) => query('proportion', { of }, options)

/** Population variance of a numeric column. NULL values are ignored. */
export const variance = (column: ColumnName, options: SupposableOptions & { readonly clamp?: Clamp } = {}) =>
  query('variance', { column }, options)

/** Population standard deviation of a numeric column. NULL values are ignored. */
export const standardDeviation = (
  column: ColumnName,
  options: SupposableOptions & { readonly clamp?: Clamp } = {},
) => query('standardDeviation', { column }, options)

/**
 * Population covariance of two columns. Rows where one of them is NULL are ignored. `supposed` takes `rows`
 * only.
 */
export const covariance = (
  column: ColumnName,
  other: ColumnName,
  options: SupposableOptions & { readonly clamp?: Readonly<Record<string, Clamp>> } = {},
) => query('covariance', { columns: [column, other] }, options)

/**
 * Pearson correlation of two columns, between -1 and 1. Rows where one of them is NULL are ignored. If a
 * noisy variance is not positive, the value is 0 and its half-width 1. Its accuracy depends on the data, so
 * `accuracy` is not supported.
 */
export const correlation = (
  column: ColumnName,
  other: ColumnName,
  options: NoisyOptions & { readonly clamp?: Readonly<Record<string, Clamp>> } = {},
) => query('correlation', { columns: [column, other] }, options)

/**
 * Linear regression by least squares, from noisy sums of products. Rows where the outcome or a predictor is
 * NULL are ignored. The half-widths hold for all coefficients together, and include the bias of the ridge.
 */
export const linearRegression = (
  outcome: ColumnName,
  predictors: readonly ColumnName[],
  options: NoisyOptions & { readonly ridge?: Decimal; readonly clamp?: Readonly<Record<string, Clamp>> } = {},
) => query('linearRegression', { outcome, predictors }, options)

/**
 * The groups with the largest noisy counts, largest first, with these counts. One noisy count of each
 * declared group pays for both. The half-width holds for all groups together, selected or not.
 */
export const topGroups = (
  keys: readonly Grouping[],
  options: NoisyOptions & Counted & { readonly k?: number } = {},
) => query('topGroups', { keys }, options)

/** Candidate with the most rows or people, without its count (report noisy max). */
export const noisyMax = (
  candidates: Candidates,
  options: Options &
    Counted & {
      readonly k?: number
      readonly gap?: boolean
      readonly noise?: 'laplace' | 'exponential' | 'gumbel'
    } = {},
) => query('noisyMax', { candidates: candidatesOf(candidates) }, options)

/**
 * Number of declared categories, bins or periods of a column that occur, or of values of a free-text column
 * that is declared as `selectable` (only under add-remove neighbours; each person contributes as many values
 * as `contribution` allows). NULL is not counted.
 */
export const countDistinct = (column: Grouping, options: NoisyOptions = {}) =>
  query('countDistinct', { column }, options)

/**
 * Common values of a free-text column that is declared as `selectable` (private key selection). Values of few
 * people do not appear. Where people have several rows, each person counts once for each value, and
 * `contribution` bounds the number of values of one person.
 */
export const keySelection = (
  column: ColumnName,
  options: Options & { readonly delta: Decimal; readonly counts?: boolean },
) => query('keySelection', { column }, options)

/**
 * Number of people by the number of their rows that satisfy `where`, also of those rows that `maxRows` leaves
 * out of every other answer. Cells are `1`, `2`, `3`, `4 to 5`, `6 to 7` and so on, two for each power of
 * two, divided after `maxRows`, up to `plausibleRows`. A person is in one cell. The answer recommends `rows`
 * for the `contribution` of a next question. Only for datasets whose privacy unit is a person.
 */
export const contributionProfile = (options: NoisyOptions & { readonly nextEpsilon?: Decimal } = {}) =>
  query('contributionProfile', {}, options)

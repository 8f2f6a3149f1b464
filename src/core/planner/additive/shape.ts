import type { Query } from '../../../../schemas/answers/query.ts'
import type { PersonUnit } from '../../../privacy/neighbours.ts'
import {
  type Dataset,
  type GridColumn,
  isTemporal,
  type NumericColumn,
  type TemporalColumn,
} from '../../dataset/dataset.ts'
import { type GridValue, shownValue } from '../../dataset/grid-value.ts'
import type { Measurement } from '../../mechanisms/measurement.ts'
import type { ClampFacts } from '../kinds/bounds/candidates.ts'
import type { Aggregate, Bounding, GroupKey, Predicate, Statistic } from '../language/aggregate.ts'
import type { Grouping } from '../language/grouping.ts'
import type { MeasuredColumn } from '../language/measured-column.ts'
import type { CellIntegers } from '../language/reading.ts'
import type { NoisyRelease, PlanFacts, PlanLimits } from '../plans/plan-kind.ts'

/* The shape of plans that add noise to sums and counts: their estimates, and the statistics that these are made from. */

/** Queries that are answered by adding noise to sums and counts. */
export type AdditiveQuery = Extract<Query, { postprocess: unknown }>

/**
 * A sum over rows: a public number, or a noisy statistic, given by its place among the statistics, times a scale. The
 * count of rows is such a sum, and so is the sum of the squares of a boolean column, which is the count.
 */
export type Moment =
  | { readonly kind: 'public'; readonly value: number }
  | { readonly kind: 'noisy'; readonly statistic: number; readonly scale: number }

/** Sums from which a covariance is computed. */
export interface PairMoments {
  readonly products: Moment
  readonly sum: Moment
  readonly otherSum: Moment
  readonly rows: Moment
}

/** Sums from which the coefficients of a regression are computed. */
export interface Regression {
  readonly outcome: MeasuredColumn
  readonly predictors: readonly MeasuredColumn[]
  /** The symmetric matrix A, row by row: the number of rows, sums and products. */
  readonly gram: readonly (readonly Moment[])[]
  /** The vector b. */
  readonly products: readonly Moment[]
  /** Number added to each sum of squares; chosen from the noise if absent. */
  readonly ridge?: number
}

/** One number of an answer and the noisy statistics it is made from, each given by its place among the statistics. */
export type Estimate =
  | {
      readonly kind: 'count'
      readonly statistic: number
      /** Number of values, one in each cell, whose half-widths hold together; 1 if absent. */
      readonly together?: number
    }
  /** At most as many values as are declared; absent for free text. */
  | { readonly kind: 'count-distinct'; readonly statistic: number; readonly declared?: number }
  | { readonly kind: 'sum'; readonly column: NumericColumn; readonly statistic: number }
  /** From the sum about the middle of the range, or about 0, and the number of rows. */
  | {
      readonly kind: 'sum-from-middle' | 'mean'
      readonly column: GridColumn
      readonly sum: number
      readonly rows: Moment
      readonly about?: 'zero'
    }
  /** From the sum and the sum of squares about the middle of the range. */
  | {
      readonly kind: 'variance' | 'standard-deviation'
      readonly column: NumericColumn
      readonly squares: number
      readonly sum: number
      readonly rows: Moment
    }
  /** From sums about the middles of the ranges, over the rows where neither column is NULL. */
  | {
      readonly kind: 'covariance'
      readonly columns: readonly [MeasuredColumn, MeasuredColumn]
      readonly moments: PairMoments
    }
  /** From the same sums and the sums of squares of both columns. */
  | {
      readonly kind: 'correlation'
      readonly columns: readonly [MeasuredColumn, MeasuredColumn]
      readonly moments: PairMoments
      readonly squares: readonly [Moment, Moment]
    }
  /** The intercept of a regression (place 0) or the coefficient of a predictor. */
  | {
      readonly kind: 'coefficient'
      readonly columns: readonly MeasuredColumn[]
      readonly regression: Regression
      readonly place: number
    }
  /** Share of a public number of rows. */
  | { readonly kind: 'proportion'; readonly statistic: number; readonly rows: number }
  /** Share from a count about the middle and the number of rows. */
  | { readonly kind: 'share'; readonly sum: number; readonly rows: Moment }
  /** Share from two cells of one count: rows that do not satisfy the predicate, then rows that do. */
  | { readonly kind: 'proportion-of-cells'; readonly statistic: number }

/** The columns whose values an estimate is about. */
export function columnsOf(estimate: Estimate): readonly MeasuredColumn[] {
  if ('column' in estimate) return [estimate.column]
  return 'columns' in estimate ? estimate.columns : []
}

/** Returns the type of the dates or timestamps that an estimate is; `undefined` for an estimate that is a number. */
export function temporalType(estimate: Estimate): TemporalColumn['type'] | undefined {
  return estimate.kind === 'mean' && isTemporal(estimate.column) ? estimate.column.type : undefined
}

/** Shows a number as an answer does: as a text, if the estimate is a date or a timestamp. */
export function shown(estimate: Estimate, value: number): GridValue {
  const type = temporalType(estimate)
  return type === undefined ? value : shownValue(type, value)
}

/** What the bounds on a contribution that follow from a profile are made from, besides its noisy counts. */
export interface ContributionFacts {
  readonly unit: PersonUnit
  /** Bounds `rows`, and how far one person then moves a count of rows. */
  readonly candidates: readonly { readonly rows: number; readonly moved: number }[]
  /** Epsilon of the count that is to be asked next. */
  readonly nextEpsilon: number
}

/** How an answer shows its estimates. */
export type Shown =
  /** As one value. */
  | { readonly kind: 'value' }
  /** As one value in each cell, of all cells or of those with the largest values; with what follows from them. */
  | {
      readonly kind: 'cells'
      readonly largest?: number
      readonly clamps?: ClampFacts
      readonly contributions?: ContributionFacts
    }
  /** By their names: several in each cell, or the coefficients of a regression. */
  | { readonly kind: 'groups' | 'coefficients'; readonly names: readonly string[] }

/** The names of the estimates of one cell; none for a single one. */
export function namesOf(shown: Shown): readonly string[] {
  return 'names' in shown ? shown.names : []
}

/** The aggregate of a query, and how its answer is made from that. */
export interface AdditiveShape {
  readonly aggregate: Aggregate
  /** Bounds on what each person contributes, as answers state them. */
  readonly bounding: Bounding
  /** Groupings that span the cells of the answer; without any, there is one cell. */
  readonly groupings: readonly Grouping[]
  /** Estimates of each cell of the answer. */
  readonly estimates: readonly Estimate[]
  readonly shown: Shown
  /** True if every statistic is a whole number in the unit that people read; geometric noise is then offered. */
  readonly wholeNumbers: boolean
}

/** Source of the statistics that estimates are made from. */
export interface Sources {
  readonly dataset: Dataset
  readonly groupings: readonly Grouping[]
  readonly bounding: Bounding
  /** The query's own condition on rows. */
  readonly where: Predicate | undefined
  /** True if every row of the dataset is in the one cell; a public number of rows is then that of the cell. */
  readonly everyRow: boolean
  /** Adds a statistic to the aggregate unless it is there already, and returns its place. */
  readonly place: (statistic: Statistic) => number
  /** Excludes the rows that satisfy a predicate from all statistics. */
  readonly exclude: (predicate: Predicate) => void
}

/** How sums and counts answer one kind of question. */
export interface AdditiveParts<Asked extends AdditiveQuery> {
  /**
   * Plans the estimates of each cell, and the statistics that they are made from.
   * @throws Refusal `query-does-not-fit` for a query that does not fit the dataset.
   */
  readonly estimates: (query: Asked, sources: Sources) => readonly Estimate[]
  /** Plans the groupings that span the cells of the answer. Default: none, and the answer is one cell. */
  readonly groupings?: (query: Asked, dataset: Dataset, limits: PlanLimits) => readonly Grouping[]
  /** How the answer shows the estimates. Default: as one value, or as one in each cell. */
  readonly shown?: (query: Asked) => Shown
  /** Further keys of the aggregate, whose cells the estimates combine. */
  readonly keys?: (query: Asked, estimates: readonly Estimate[], dataset: Dataset) => readonly GroupKey[]
  /** Bounding that the statistic applies itself, if it does. */
  readonly ownBounding?: (query: Asked, dataset: Dataset) => Bounding | undefined
  /** True if each person has a total that can be clamped. Default: false. */
  readonly hasTotals?: (query: Asked) => boolean
}

/** Plan that adds noise to sums and counts, from which the answer's numbers are made. */
export interface AdditivePlan extends PlanFacts {
  readonly kind: 'additive'
  readonly query: AdditiveQuery
  readonly aggregate: Aggregate
  /** One for each of the aggregate's statistics. */
  readonly measurements: readonly Measurement[]
  readonly groupings: readonly Grouping[]
  readonly estimates: readonly Estimate[]
  readonly shown: Shown
}

/** The integers of the statistics. */
export interface AdditiveExact {
  readonly kind: 'additive'
  readonly integers: CellIntegers
}

/** The noisy statistics, with one integer per cell. */
export type AdditiveRelease = NoisyRelease<'additive'>

import type { Query } from '../../schemas/query.ts'
import type { Dataset, NumericColumn } from '../catalog/dataset.ts'
import type { KeyCountMeasurement, KeyPresenceMeasurement } from '../mechanisms/key-selection.ts'
import type { Measurement } from '../mechanisms/measurement.ts'
import type { NoisyMaxMeasurement } from '../mechanisms/noisy-max.ts'
import type { QuantileMeasurement } from '../mechanisms/quantile.ts'
import type { PrivacyLoss, RhoPico } from '../privacy/loss.ts'
import type { AdditiveQuery, Estimate } from './additive.ts'
import type { Aggregate, ValueCounting } from './aggregate.ts'
import type { CellLabel, Grouping } from './grouping.ts'

/** Everything that is decided about a query before any data is read: it depends on public facts only. */
export type Plan = AdditivePlan | NoisyMaxPlan | QuantilePlan | KeySelectionPlan

/** What every plan holds. */
export interface PlanFacts {
  readonly dataset: Dataset
  /** The price in epsilon and delta. */
  readonly loss: PrivacyLoss
  /** The price in zero-concentrated differential privacy, rounded up; left out where the mechanism has none. */
  readonly rho?: RhoPico
  /** That of every half-width stated. */
  readonly confidence: number
}

/** Sums and counts, noise, and what people read from them. */
export interface AdditivePlan extends PlanFacts {
  readonly kind: 'additive'
  readonly query: AdditiveQuery
  readonly aggregate: Aggregate
  /** One for each of the aggregate's statistics. */
  readonly measurements: readonly Measurement[]
  readonly groupings: readonly Grouping[]
  readonly estimates: readonly Estimate[]
}

export type NoisyMaxQuery = Extract<Query, { kind: 'noisyMax' }>
export type QuantileQuery = Extract<Query, { kind: 'median' | 'percentile' | 'minimum' | 'maximum' }>
export type KeySelectionQuery = Extract<Query, { kind: 'keySelection' }>

/** The best of declared candidates by their counts: one cell each, or one statistic each. */
export interface NoisyMaxPlan extends PlanFacts {
  readonly kind: 'noisy-max'
  readonly query: NoisyMaxQuery
  readonly aggregate: Aggregate
  readonly measurement: NoisyMaxMeasurement
  /** What the candidates are called, in the order of their counts. */
  readonly candidates: readonly CellLabel[]
}

/** Grid points of one column by their ranks. */
export interface QuantilePlan extends PlanFacts {
  readonly kind: 'quantile'
  readonly query: QuantileQuery
  readonly counting: ValueCounting
  readonly column: NumericColumn
  readonly measurements: readonly QuantileMeasurement[]
}

/** The common values of a column whose values nobody declared. */
export interface KeySelectionPlan extends PlanFacts {
  readonly kind: 'key-selection'
  readonly query: KeySelectionQuery
  readonly counting: ValueCounting
  readonly measurement: KeyCountMeasurement | KeyPresenceMeasurement
  /** More keys than this are cut off: those with the lowest noisy counts, or the last ones. */
  readonly maxKeys: number
  /** So are those for which so many characters have no room. */
  readonly maxCharacters: number
}

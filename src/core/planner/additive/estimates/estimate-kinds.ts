import { entry } from '../../../../privacy/must.ts'
import type { OfKind } from '../../kinds/of-kind.ts'
import { type AdditivePlan, type Estimate, type Moment, type Regression, temporalType } from '../shape.ts'
import { correlationEstimator, covarianceEstimator } from './covariance.ts'
import { type ColumnRange, columnRange, type Estimator, rangeAboutZero } from './estimator.ts'
import { meanEstimator, shareEstimator } from './mean.ts'
import { proportionEstimator, proportionOfCellsEstimator } from './proportion.ts'
import { regressionEstimators } from './regression.ts'
import { measuredEstimator, sumFromMiddleEstimator } from './sum.ts'
import { standardDeviationEstimator, varianceEstimator } from './variance.ts'

type EstimateName = Estimate['kind']
type Estimates = { readonly [Kind in EstimateName]: OfKind<Estimate, Kind> }
type EstimateOf<Kind extends EstimateName> = { [K in Kind]: Estimates[K] & { readonly kind: K } }[Kind]

/** The estimators of the coefficients of each regression. */
type Solved = Map<Regression, readonly Estimator[]>

/** An exact statistic, in the estimated cell or in another one. */
type IntegerAt = (statistic: number, cell?: number) => number

/** Contract of one kind of estimate. */
interface EstimateKind<Kind extends EstimateName> {
  readonly estimator: (plan: AdditivePlan, estimate: EstimateOf<Kind>, solved: Solved) => Estimator
  /** True if the true value is a whole number. Default: false. */
  readonly isWhole?: (estimate: EstimateOf<Kind>) => boolean
  /** The reason why it may be negative; `undefined` if it cannot be, which is the default. */
  readonly mayBeNegative?: (estimate: EstimateOf<Kind>) => string | undefined
  /** Present if its half-width depends on more of the data than the number of rows. */
  readonly unforeseeable?: true
  /** True if its error is that of a single noisy sum or count. Default: false. */
  readonly isLinear?: (estimate: EstimateOf<Kind>) => boolean
  /** The number of rows that it covers, if its accuracy depends on that. */
  readonly rows?: (estimate: EstimateOf<Kind>, integerAt: IntegerAt) => number
}

function rangeOfMean({ about, column }: EstimateOf<'mean'>): ColumnRange {
  const range = columnRange(column)
  return about === 'zero' ? rangeAboutZero(range) : range
}

function exactRows({ rows }: { readonly rows: Moment }, integerAt: IntegerAt): number {
  return rows.kind === 'public' ? rows.value : integerAt(rows.statistic)
}

function below0({ column }: EstimateOf<'sum' | 'sum-from-middle' | 'mean'>): string | undefined {
  return column.lowerIndex < 0n ? `${column.name} may be below 0` : undefined
}

const always = () => true

/** Everything that is known about each kind of estimate. */
const estimateKinds: { readonly [Kind in EstimateName]: EstimateKind<Kind> } = {
  count: { estimator: measuredEstimator, isWhole: always, isLinear: always },
  'count-distinct': { estimator: measuredEstimator, isWhole: always, isLinear: always },
  sum: {
    estimator: measuredEstimator,
    isWhole: ({ column }) => column.type === 'integer',
    isLinear: always,
    mayBeNegative: below0,
  },
  'sum-from-middle': {
    estimator: sumFromMiddleEstimator,
    isWhole: ({ column }) => column.type === 'integer',
    mayBeNegative: below0,
  },
  mean: {
    estimator: (plan, estimate) => meanEstimator(plan, estimate, rangeOfMean(estimate)),
    isLinear: ({ rows }) => rows.kind === 'public',
    mayBeNegative: below0,
    rows: exactRows,
  },
  variance: { estimator: varianceEstimator, rows: exactRows },
  'standard-deviation': { estimator: standardDeviationEstimator, rows: exactRows },
  covariance: {
    estimator: covarianceEstimator,
    mayBeNegative: () => 'a covariance may be negative',
    rows: ({ moments }, integerAt) => exactRows(moments, integerAt),
  },
  correlation: {
    estimator: correlationEstimator,
    mayBeNegative: () => 'a correlation may be negative',
    unforeseeable: true,
    rows: ({ moments }, integerAt) => exactRows(moments, integerAt),
  },
  // The estimators of one regression share its solution.
  coefficient: {
    estimator(plan, { regression, place }, solved) {
      const estimators = solved.get(regression) ?? regressionEstimators(plan, regression)
      solved.set(regression, estimators)
      return entry(estimators, place)
    },
    mayBeNegative: () => 'a coefficient may be negative',
    unforeseeable: true,
  },
  proportion: { estimator: proportionEstimator, isLinear: always, rows: ({ rows }) => rows },
  share: { estimator: shareEstimator, rows: exactRows },
  'proportion-of-cells': {
    estimator: proportionOfCellsEstimator,
    rows: ({ statistic }, integerAt) => integerAt(statistic, 0) + integerAt(statistic, 1),
  },
}

/** Returns the estimators of a plan's estimates. */
export function estimatorsOf(plan: AdditivePlan): readonly Estimator[] {
  const solved: Solved = new Map()
  return plan.estimates.map((estimate) => estimatorOf(plan, estimate, solved))
}

function estimatorOf<Kind extends EstimateName>(
  plan: AdditivePlan,
  estimate: EstimateOf<Kind>,
  solved: Solved,
): Estimator {
  return estimateKinds[estimate.kind].estimator(plan, estimate, solved)
}

/** True for estimates whose true value is a whole number. */
export function isWhole<Kind extends EstimateName>(estimate: EstimateOf<Kind>): boolean {
  return estimateKinds[estimate.kind].isWhole?.(estimate) === true
}

/** Returns the reason why an estimate may be negative; `undefined` if it cannot be, and for dates and timestamps. */
export function mayBeNegative<Kind extends EstimateName>(estimate: EstimateOf<Kind>): string | undefined {
  if (temporalType(estimate) !== undefined) return undefined
  return estimateKinds[estimate.kind].mayBeNegative?.(estimate)
}

/**
 * True if the half-width of an estimate follows from the number of rows, so that it can be known before the release.
 */
export function isForeseeable({ kind }: Estimate): boolean {
  return estimateKinds[kind].unforeseeable === undefined
}

/** True if the error of an estimate is that of a single noisy sum or count, so that its expected size is known. */
export function isLinear<Kind extends EstimateName>(estimate: EstimateOf<Kind>): boolean {
  return estimateKinds[estimate.kind].isLinear?.(estimate) === true
}

/** The exact number of rows of an estimate; `undefined` if its accuracy does not depend on it. */
export function exactRowsOf<Kind extends EstimateName>(
  estimate: EstimateOf<Kind>,
  integerAt: IntegerAt,
): number | undefined {
  return estimateKinds[estimate.kind].rows?.(estimate, integerAt)
}

import { defined } from '../../../../privacy/defined.ts'
import { entry } from '../../../../privacy/must.ts'
import type { WeightedNoise } from '../../../mechanisms/noise/weighted-noise.ts'
import type { OfKind } from '../../kinds/of-kind.ts'
import { type AdditivePlan, type Estimate, type Moment, type Regression, temporalType } from '../shape.ts'
import { correlationEstimator, covarianceEstimator } from './covariance.ts'
import { type ColumnRange, columnRange, type Estimator, type Range } from './estimator.ts'
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
  /** Bounds of its true value that follow from the declaration; in the unit of the value, or in days or seconds. */
  readonly range: (estimate: EstimateOf<Kind>) => Range
  /** Present if its half-width depends on more of the data than the number of rows. */
  readonly unforeseeable?: true
  /** The number of rows that it covers, if its accuracy depends on that. */
  readonly rows?: (estimate: EstimateOf<Kind>, integerAt: IntegerAt) => number
}

function rangeOfMean({ about, column }: EstimateOf<'mean'>): ColumnRange {
  const range = columnRange(column)
  if (about === undefined) return range
  // No value is farther from 0.
  return { ...range, middle: 0, halfRange: Math.max(-range.lower, range.upper) }
}

function exactRows({ rows }: { readonly rows: Moment }, integerAt: IntegerAt): number {
  return rows.kind === 'public' ? rows.value : integerAt(rows.statistic)
}

/** A sum over any number of rows has the sign that all values have. */
function rangeOfSum({ column }: EstimateOf<'sum' | 'sum-from-middle'>): Range {
  return { ...(column.lowerIndex >= 0n && { lower: 0 }), ...(column.upperIndex <= 0n && { upper: 0 }) }
}

function rangeOfProducts({ columns: [one, other] }: EstimateOf<'covariance'>): Range {
  const largest = columnRange(one).halfRange * columnRange(other).halfRange
  return { lower: -largest, upper: largest }
}

const always = () => true
const aCount = (): Range => ({ lower: 0 })
const aShare = (): Range => ({ lower: 0, upper: 1 })

/** Everything that is known about each kind of estimate. */
const estimateKinds: { readonly [Kind in EstimateName]: EstimateKind<Kind> } = {
  count: { estimator: measuredEstimator, range: aCount, isWhole: always },
  'count-distinct': {
    estimator: measuredEstimator,
    range: ({ declared }) => defined({ lower: 0, upper: declared }),
    isWhole: always,
  },
  sum: {
    estimator: measuredEstimator,
    isWhole: ({ column }) => column.type === 'integer',
    range: rangeOfSum,
  },
  'sum-from-middle': {
    estimator: sumFromMiddleEstimator,
    isWhole: ({ column }) => column.type === 'integer',
    range: rangeOfSum,
  },
  mean: {
    estimator: (plan, estimate) => meanEstimator(plan, estimate, rangeOfMean(estimate)),
    range: (estimate) => rangeOfMean(estimate),
    rows: exactRows,
  },
  variance: {
    estimator: varianceEstimator,
    range: ({ column }) => ({ lower: 0, upper: columnRange(column).halfRange ** 2 }),
    rows: exactRows,
  },
  'standard-deviation': {
    estimator: standardDeviationEstimator,
    range: ({ column }) => ({ lower: 0, upper: columnRange(column).halfRange }),
    rows: exactRows,
  },
  covariance: {
    estimator: covarianceEstimator,
    range: rangeOfProducts,
    rows: ({ moments }, integerAt) => exactRows(moments, integerAt),
  },
  correlation: {
    estimator: correlationEstimator,
    range: () => ({ lower: -1, upper: 1 }),
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
    range: () => ({}),
    unforeseeable: true,
  },
  proportion: { estimator: proportionEstimator, range: aShare, rows: ({ rows }) => rows },
  share: { estimator: shareEstimator, range: aShare, rows: exactRows },
  'proportion-of-cells': {
    estimator: proportionOfCellsEstimator,
    range: aShare,
    rows: ({ statistic }, integerAt) => integerAt(statistic, 0) + integerAt(statistic, 1),
  },
}

/** Returns the estimators of a plan's estimates. */
export function estimatorsOf(plan: AdditivePlan): readonly Estimator[] {
  const solved: Solved = new Map()
  return plan.estimates.map((estimate) => estimatorOf(plan, estimate, solved))
}

/**
 * Returns the errors of a plan's estimates in each cell, as sums of noises; `undefined` for an estimate whose error is no such
 * sum. Those of different cells are independent.
 */
export function errorsOf(plan: AdditivePlan): readonly (readonly WeightedNoise[] | undefined)[] {
  return estimatorsOf(plan).map(({ error }) => error)
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

/** Bounds of the true value of an estimate; in the unit of the value, or in days or seconds since 1970. */
export function rangeOf<Kind extends EstimateName>(estimate: EstimateOf<Kind>): Range {
  return estimateKinds[estimate.kind].range(estimate)
}

/** The reason why an estimate may be negative; `undefined` if it cannot be, and for dates and timestamps. */
export function mayBeNegative(estimate: Estimate): string | undefined {
  const { lower = Number.NEGATIVE_INFINITY } = rangeOf(estimate)
  if (temporalType(estimate) !== undefined || lower >= 0) return undefined
  return 'column' in estimate
    ? `${estimate.column.name} may be below 0`
    : `a ${estimate.kind} may be negative`
}

/**
 * True if the half-width of an estimate follows from the number of rows, so that it can be known before the release.
 */
export function isForeseeable({ kind }: Estimate): boolean {
  return estimateKinds[kind].unforeseeable === undefined
}

/** The exact number of rows of an estimate; `undefined` if its accuracy does not depend on it. */
export function exactRowsOf<Kind extends EstimateName>(
  estimate: EstimateOf<Kind>,
  integerAt: IntegerAt,
): number | undefined {
  return estimateKinds[estimate.kind].rows?.(estimate, integerAt)
}

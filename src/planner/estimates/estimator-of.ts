import type { Estimate } from '../additive.ts'
import type { AdditivePlan } from '../kinds/additive.ts'
import { correlationEstimator, covarianceEstimator } from './covariance.ts'
import { type ColumnRange, columnRange, type Estimator, rangeAboutZero } from './estimator.ts'
import { meanEstimator, shareEstimator } from './mean.ts'
import { proportionEstimator, proportionOfCellsEstimator } from './proportion.ts'
import { type Regression, regressionEstimators } from './regression.ts'
import { measuredEstimator, sumFromMiddleEstimator } from './sum.ts'
import { standardDeviationEstimator, varianceEstimator } from './variance.ts'

/** Returns the estimators of a plan's estimates. Those of one regression share its solution. */
export function estimatorsOf(plan: AdditivePlan): readonly Estimator[] {
  const solved = new Map<Regression, readonly Estimator[]>()
  return plan.estimates.map((estimate) => {
    if (estimate.kind !== 'coefficient') return estimatorOf(plan, estimate)
    const { regression, place } = estimate
    const estimators = solved.get(regression) ?? regressionEstimators(plan, regression)
    solved.set(regression, estimators)
    const estimator = estimators[place]
    if (estimator === undefined) throw new RangeError('the regression has no such coefficient')
    return estimator
  })
}

function rangeOfMean({
  about,
  column,
}: Extract<Estimate, { kind: 'sum-from-middle' | 'mean' }>): ColumnRange {
  const range = columnRange(column)
  return about === 'zero' ? rangeAboutZero(range) : range
}

function estimatorOf(plan: AdditivePlan, estimate: Exclude<Estimate, { kind: 'coefficient' }>): Estimator {
  switch (estimate.kind) {
    case 'count':
    case 'count-distinct':
    case 'sum':
      return measuredEstimator(plan, estimate)
    case 'sum-from-middle':
      return sumFromMiddleEstimator(plan, estimate)
    case 'proportion':
      return proportionEstimator(plan, estimate)
    case 'proportion-of-cells':
      return proportionOfCellsEstimator(plan, estimate)
    case 'mean':
      return meanEstimator(plan, estimate, rangeOfMean(estimate))
    case 'share':
      return shareEstimator(plan, estimate)
    case 'variance':
      return varianceEstimator(plan, estimate)
    case 'standard-deviation':
      return standardDeviationEstimator(plan, estimate)
    case 'covariance':
      return covarianceEstimator(plan, estimate)
    case 'correlation':
      return correlationEstimator(plan, estimate)
  }
}

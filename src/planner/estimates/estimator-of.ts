import type { Estimate } from '../additive.ts'
import type { AdditivePlan } from '../kinds/additive.ts'
import { correlationEstimator, covarianceEstimator } from './covariance.ts'
import type { Estimator } from './estimator.ts'
import { meanEstimator } from './mean.ts'
import { proportionEstimator, proportionOfCellsEstimator } from './proportion.ts'
import { measuredEstimator, sumFromMiddleEstimator } from './sum.ts'
import { standardDeviationEstimator, varianceEstimator } from './variance.ts'

/** Returns the estimator of an estimate of a plan. */
export function estimatorOf(plan: AdditivePlan, estimate: Estimate): Estimator {
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
      return meanEstimator(plan, estimate)
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

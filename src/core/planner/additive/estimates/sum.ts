import { expectedAbsoluteBound, halfWidthBound } from '../../../mechanisms/noise/combined-noise.ts'
import type { AdditivePlan, Estimate } from '../shape.ts'
import { columnRange, type Estimator, rowsNoise } from './estimator.ts'
import { momentReleased } from './moments.ts'
import { errorAt, noiseAt } from './noisy-statistic.ts'

/** Estimates a count or a sum that is measured directly. Its error is one noise. */
export function measuredEstimator(
  plan: AdditivePlan,
  { statistic, together = 1 }: { readonly statistic: number; readonly together?: number },
): Estimator {
  const error = errorAt(plan, statistic, 1 - (1 - plan.confidence) / together)
  return {
    foreseen: () => error,
    released: (numberAt) => ({ value: numberAt(statistic), ...error }),
    error: [{ noise: noiseAt(plan, statistic), weight: 1 }],
  }
}

/**
 * Estimates a sum as S + c N, from the sum S about the middle c of the column's range and the count N. Its error is
 * exactly e_S + c e_N for any data.
 */
export function sumFromMiddleEstimator(
  plan: AdditivePlan,
  { column, sum, rows }: Extract<Estimate, { kind: 'sum-from-middle' | 'mean' }>,
): Estimator {
  const { middle } = columnRange(column)
  const count = rowsNoise(plan, rows)
  const combination = [
    { noise: noiseAt(plan, sum), weight: 1 },
    ...(count === undefined ? [] : [{ noise: count, weight: middle }]),
  ]
  const error = {
    halfWidth: halfWidthBound(1 - plan.confidence)(combination),
    expectedAbsoluteError: expectedAbsoluteBound(combination),
  }
  return {
    foreseen: () => error,
    released: (numberAt) => ({ value: numberAt(sum) + middle * momentReleased(rows, numberAt), ...error }),
    error: combination,
  }
}

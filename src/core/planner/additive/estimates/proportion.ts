import { expectedAbsoluteBound, halfWidthBound, tailBound } from '../../../mechanisms/noise/combined-noise.ts'
import type { WeightedNoise } from '../../../mechanisms/noise/weighted-noise.ts'
import type { ErrorReport } from '../../report-kinds.ts'
import type { AdditivePlan } from '../shape.ts'
import { type Estimator, leastHalfWidth, within } from './estimator.ts'
import { errorAt, noiseAt } from './noisy-statistic.ts'

/** Estimates the share of a public number of rows N: a noisy count divided by N. Its error is e / N. */
export function proportionEstimator(
  plan: AdditivePlan,
  { statistic, rows }: { readonly statistic: number; readonly rows: number },
): Estimator {
  const count = errorAt(plan, statistic, plan.confidence)
  const error: ErrorReport = {
    halfWidth: Math.min(1, count.halfWidth / rows),
    expectedAbsoluteError: Math.min(1, count.expectedAbsoluteError / rows),
  }
  return {
    foreseen: () => error,
    released: (numberAt) => ({ value: within(numberAt(statistic) / rows, 0, 1), ...error }),
  }
}

/**
 * Estimates the share p = A / N of a private number of rows N = A + B, from the noisy counts A' of the rows that
 * satisfy the predicate and B' of the others. With e and f their errors,
 *
 *   (p' - p) N' = (1 - p) e - p f        N' = A' + B'
 *
 * Before the release p' - p > h means (1 - p - h) e - (p + h) f > h N, unless N' is below 1. The weights have a sum of
 * absolute values of 1, so no p makes that more probable than e > h N. After the release |p' - p| is at most the half-width
 * of (1 - p) e - p f divided by N', for the p in the interval that is farthest from 1 / 2.
 */
export function proportionOfCellsEstimator(
  plan: AdditivePlan,
  { statistic }: { readonly statistic: number },
): Estimator {
  const noise = noiseAt(plan, statistic)
  const alpha = 1 - plan.confidence
  const halfWidthAt = halfWidthBound(alpha)
  const combination = (share: number): readonly WeightedNoise[] => [
    { noise, weight: 1 - share },
    { noise, weight: share },
  ]
  return {
    foreseen: ({ rows }) => {
      if (rows === undefined) return undefined
      const both = [
        { noise, weight: 1 },
        { noise, weight: 1 },
      ]
      const fewRows = tailBound(both, rows - 1)
      const failure = (h: number) => fewRows + 2 * tailBound(combination(0), h * rows)
      return {
        halfWidth: leastHalfWidth(1, alpha, failure),
        expectedAbsoluteError: Math.min(1, expectedAbsoluteBound(combination(0)) / rows),
      }
    },
    released: (numberAt) => {
      const [holding, others] = [numberAt(statistic, 1), numberAt(statistic, 0)]
      const rows = holding + others
      const value = within(holding / Math.max(1, rows), 0, 1)
      const widest = Math.max(value, 1 - value)
      if (rows < 1) return { value, halfWidth: widest, expectedAbsoluteError: widest }
      let halfWidth = widest
      for (let pass = 0; pass < 2; pass += 1) {
        const farthest = Math.min(1, Math.max(value, 1 - value) + halfWidth)
        halfWidth = Math.min(widest, halfWidthAt(combination(farthest)) / rows)
      }
      const expectedAbsoluteError = Math.min(widest, expectedAbsoluteBound(combination(value)) / rows)
      return { value, halfWidth, expectedAbsoluteError }
    },
  }
}

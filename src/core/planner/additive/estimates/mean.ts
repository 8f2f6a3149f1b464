import { expectedAbsoluteBound, halfWidthBound, tailBound } from '../../../mechanisms/noise/combined-noise.ts'
import type { WeightedNoise } from '../../../mechanisms/noise/weighted-noise.ts'
import type { AdditivePlan, Estimate } from '../shape.ts'
import {
  type ColumnRange,
  type Estimator,
  isBelow,
  leastHalfWidth,
  rowsForeseen,
  rowsNoise,
  within,
} from './estimator.ts'
import { momentReleased } from './moments.ts'
import { noiseAt } from './noisy-statistic.ts'

/**
 * Estimates the mean from a noisy sum S' about the middle of the range and the number of rows, which is public or a
 * noisy count N'. With m the true mean about the middle, and e_S and e_N the errors of S' and N',
 *
 *   (m' - m) N' = e_S - m e_N
 *
 * Before the release m' - m > h means e_S - (m + h) e_N > h N, and m - m' > h means -e_S + (m - h) e_N > h N, unless
 * N' is below 1. Neither happens beyond the bounds, so that |m + h| and |m - h| are at most half the range. After the
 * release |m' - m| is at most the half-width of e_S - m e_N divided by N', for the m in the interval that is farthest
 * from 0 (Fieller's method).
 */
export function meanEstimator(
  plan: AdditivePlan,
  { sum, rows }: Pick<Extract<Estimate, { kind: 'share' }>, 'sum' | 'rows'>,
  { lower, middle, upper, halfRange }: ColumnRange,
): Estimator {
  const alpha = 1 - plan.confidence
  const halfWidthAt = halfWidthBound(alpha)
  const sumNoise = noiseAt(plan, sum)
  const countNoise = rowsNoise(plan, rows)
  /** e_S + weight e_N. */
  const combination = (weight: number): readonly WeightedNoise[] => [
    { noise: sumNoise, weight: 1 },
    ...(countNoise === undefined ? [] : [{ noise: countNoise, weight }]),
  ]
  return {
    foreseen: (supposed) => {
      const count = rowsForeseen(rows, supposed)
      if (count === undefined) return undefined
      const fewRows = countNoise === undefined ? 0 : tailBound([{ noise: countNoise, weight: 1 }], count - 1)
      const exceeds = (weight: number, h: number) => tailBound(combination(weight), h * count)
      const mean = supposed.mean === undefined ? undefined : supposed.mean - middle
      const failure = (h: number) => {
        if (mean === undefined) return fewRows + 2 * exceeds(halfRange, h)
        const tooLarge = isBelow(h, halfRange - mean) ? exceeds(mean + h, h) : 0
        const tooSmall = isBelow(h, mean + halfRange) ? exceeds(mean - h, h) : 0
        return fewRows + tooLarge + tooSmall
      }
      return {
        halfWidth: leastHalfWidth(2 * halfRange, alpha, failure),
        expectedAbsoluteError: Math.min(
          2 * halfRange,
          expectedAbsoluteBound(combination(mean ?? halfRange)) / count,
        ),
      }
    },
    released: (numberAt) => {
      const count = momentReleased(rows, numberAt)
      const value = within(middle + numberAt(sum) / Math.max(1, count), lower, upper)
      const widest = Math.max(value - lower, upper - value)
      if (count < 1) return { value, halfWidth: widest, expectedAbsoluteError: widest }
      const mean = value - middle
      let halfWidth = widest
      for (let pass = 0; pass < 2; pass += 1) {
        const farthest = Math.min(halfRange, Math.abs(mean) + halfWidth)
        halfWidth = Math.min(widest, halfWidthAt(combination(farthest)) / count)
      }
      const expectedAbsoluteError = Math.min(widest, expectedAbsoluteBound(combination(mean)) / count)
      return { value, halfWidth, expectedAbsoluteError }
    },
  }
}

/** Estimates a share: the mean of a number that is 0 or 1. Suppositions about a mean are not about it. */
export function shareEstimator(
  plan: AdditivePlan,
  estimate: Extract<Estimate, { kind: 'share' }>,
): Estimator {
  const mean = meanEstimator(plan, estimate, { lower: 0, middle: 0.5, upper: 1, halfRange: 0.5 })
  return {
    foreseen: ({ rows }) => mean.foreseen(rows === undefined ? {} : { rows }),
    released: mean.released,
  }
}

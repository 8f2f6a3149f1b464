import { expectedAbsoluteBound, halfWidthBound } from '../../../mechanisms/noise/combined-noise.ts'
import type { WeightedNoise } from '../../../mechanisms/noise/weighted-noise.ts'
import type { AdditivePlan, Moment } from '../shape.ts'
import type { NumberAt } from './estimator.ts'
import { noiseAt } from './noisy-statistic.ts'

/*
 * Sums over rows of columns that are centred at the middle of their range and scaled to lie between -1 and 1, and
 * bounds on linear combinations of their errors. In this unit every entry of a sum has a magnitude of at most 1.
 */

/** Returns the released value of a moment. */
export function momentReleased(moment: Moment, numberAt: NumberAt): number {
  return moment.kind === 'public' ? moment.value : numberAt(moment.statistic) * moment.scale
}

/** A moment whose error is part of a linear combination, with an upper bound of the magnitude of its weight. */
export interface WeightedMoment {
  readonly moment: Moment
  readonly weight: number
}

/**
 * Returns the noise of a linear combination of the errors of moments. Weights of the same statistic are added up, which
 * bounds their sum whatever their signs are.
 */
export function noiseOfMoments(
  plan: AdditivePlan,
  combination: readonly WeightedMoment[],
): readonly WeightedNoise[] {
  const weighted = combination.flatMap(({ moment, weight }) =>
    moment.kind === 'public'
      ? []
      : [{ statistic: moment.statistic, weight: Math.abs(weight) * moment.scale }],
  )
  const weights = Map.groupBy(weighted, ({ statistic }) => statistic)
  return Array.from(weights, ([statistic, each]) => ({
    noise: noiseAt(plan, statistic),
    weight: each.reduce((sum, { weight }) => sum + weight, 0),
  }))
}

/** Returns a function that bounds the error of a combination but for a probability of `alpha`. */
export function momentsHalfWidth(
  plan: AdditivePlan,
  alpha: number,
): (combination: readonly WeightedMoment[]) => number {
  const halfWidthOf = halfWidthBound(alpha)
  return (combination) => halfWidthOf(noiseOfMoments(plan, combination))
}

/** Returns an upper bound of the expected absolute error of a combination. */
export function momentsExpectedError(plan: AdditivePlan, combination: readonly WeightedMoment[]): number {
  return expectedAbsoluteBound(noiseOfMoments(plan, combination))
}

import { discreteLaplaceMass } from '../../../../src/core/mechanisms/samplers/discrete-laplace.ts'
import type { KeyCountMeasurement } from '../../../../src/core/mechanisms/selection/key-selection.ts'
import * as quantile from '../../../../src/core/mechanisms/selection/quantile.ts'
import type { SparseVectorMeasurement } from '../../../../src/core/mechanisms/selection/sparse-vector.ts'
import { entry } from '../../../../src/privacy/must.ts'
import { exponentialMasses } from '../../../../src/studies/evaluation/selection-masses.ts'

/** Probability that a key of `count` people is released with this noisy count. */
export function keyCountMass(
  { scale, threshold }: KeyCountMeasurement,
  count: number,
  noisyCount: bigint,
): number {
  return count === 0 || noisyCount < threshold ? 0 : discreteLaplaceMass(noisyCount - BigInt(count), scale)
}

/**
 * Probability, over both noises, that a question whose value lies `distance` output units above the threshold is answered
 * "above" with this gap, in output units.
 *
 * With p = exp(-1 / a), q = exp(-1 / b) for scales a <= b, the difference of the noises is n with probability
 * tanh(1 / (2 a)) tanh(1 / (2 b)) ((p^m + q^m) p q / (1 - p q) + (q^(m + 1) - p^(m + 1)) / (q - p)), m = |n|.
 */
export function sparseVectorMass(
  { thresholdScale, questionScale }: SparseVectorMeasurement,
  distance: bigint,
  gap: bigint,
): number {
  if (gap < 0n) return 0
  const [threshold, question] = [Number(thresholdScale), Number(questionScale)]
  const [a, b] = threshold < question ? [threshold, question] : [question, threshold]
  const m = Math.abs(Number(gap - distance))
  const slower = Math.exp(-m / b)
  const sum = 1 / a + 1 / b
  // The quotient of the two differences, without cancellation where a and b are close; m + 1 where they are equal.
  const inverse = (b - a) / (a * b)
  const inner = inverse === 0 ? m + 1 : Math.expm1(-(m + 1) * inverse) / Math.expm1(-inverse)
  const outer = ((1 + Math.exp(-m * inverse)) * Math.exp(-sum)) / -Math.expm1(-sum)
  return Math.tanh(0.5 / a) * Math.tanh(0.5 / b) * slower * (outer + inner)
}

/**
 * Probability of a grid point.
 * @param module the mechanism, or a changed copy of it
 * @throws RangeError as {@link quantile.selectQuantile}.
 */
export function quantileMass(
  measurement: quantile.QuantileMeasurement,
  values: quantile.ValueCounts,
  index: bigint,
  module: Pick<typeof quantile, 'intervals'> = quantile,
): number {
  if (index < measurement.lowerIndex || index > measurement.upperIndex) return 0
  const { offsets, points, distances } = module.intervals(measurement, values)
  const masses = exponentialMasses(distances, points, measurement.exponent)
  const offset = Number(index - measurement.lowerIndex)
  const interval = offsets.findLastIndex((first) => first <= offset)
  return entry(masses, interval) / entry(points, interval)
}

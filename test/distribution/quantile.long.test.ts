import { expect, test } from 'vitest'
import { systemEntropy } from '../../src/core/mechanisms/samplers/entropy.ts'
import {
  calibrateQuantile,
  maximumScore,
  minimumScore,
  percentileScore,
  selectQuantile,
} from '../../src/core/mechanisms/selection/quantile.ts'
import { type EpsilonNano, epsilonNano } from '../../src/privacy/loss.ts'
import { quantileMass } from '../core/mechanisms/selection/masses.ts'
import { kolmogorovTail } from './goodness-of-fit.ts'

/*
 * Compares quantiles drawn by the production code with their stated distribution. Under the true distribution a test
 * fails less than once in 1e20 runs. It must detect an epsilon that is off by 30%.
 */
const SIGNIFICANCE = 1e-20
const SAMPLES = 20_000
const LOWER = -10n
const UPPER = 29n

const source = systemEntropy()
const values = {
  indexes: Float64Array.from([-8, -3, 0, 1, 2, 7, 15, 16, 28]),
  counts: Float64Array.from([1, 2, 1, 4, 1, 2, 1, 1, 2]),
}

test.each([
  ['the median', percentileScore(1n, 2n), 1n, 800_000_000n],
  ['the 90th percentile', percentileScore(9n, 10n), 9n, 800_000_000n],
  ['the minimum', minimumScore(3n), 1n, 500_000_000n],
  ['the maximum', maximumScore(6n), 1n, 1_500_000_000n],
])(
  '%s follows its distribution, and differs from that of another epsilon',
  (_, score, sensitivity, epsilon) => {
    const measure = (asked: EpsilonNano) =>
      calibrateQuantile({ score, sensitivity, lowerIndex: LOWER, upperIndex: UPPER }, asked)
    const measurement = measure(epsilonNano(epsilon))
    const samples = Array.from({ length: SAMPLES }, () => selectQuantile(measurement, values, source))
    const tail = (claimed: ReturnType<typeof measure>) => {
      const cumulative: number[] = []
      for (let index = LOWER; index <= UPPER; index += 1n)
        cumulative.push((cumulative.at(-1) ?? 0) + quantileMass(claimed, values, index))
      return kolmogorovTail(samples, (value) => cumulative[value - Number(LOWER)] ?? 0)
    }
    expect(tail(measurement)).toBeGreaterThan(SIGNIFICANCE)
    expect(tail(measure(epsilonNano((epsilon * 13n) / 10n)))).toBeLessThan(SIGNIFICANCE)
    expect(tail(measure(epsilonNano((epsilon * 10n) / 13n)))).toBeLessThan(SIGNIFICANCE)
  },
)

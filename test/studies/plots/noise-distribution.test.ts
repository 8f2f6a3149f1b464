import { describe, expect, test } from 'vitest'
import { deltaAtto, epsilonNano } from '../../../src/privacy/loss.ts'
import { measurementOf } from '../../../src/studies/plots/compare.ts'
import { noiseDistribution } from '../../../src/studies/plots/noise-distribution.ts'

const measured = (mechanism: Parameters<typeof measurementOf>[0], epsilon: number) =>
  measurementOf(mechanism, {
    loss: {
      epsilonNano: epsilonNano(BigInt(epsilon * 1e9)),
      deltaAtto: deltaAtto(mechanism.endsWith('gaussian') ? 10n ** 14n : 0n),
    },
    statistics: 1,
    contribution: 1n,
    fractionDigits: 0,
    wholeNumbers: true,
    confidence: 0.95,
  })

describe('the distribution of noise, for a plot', () => {
  test('geometric noise: every whole number, with (1 - q) / (1 + q) q^|noise|', () => {
    const { discrete, points } = noiseDistribution(measured('geometric', 0.5))
    const q = Math.exp(-0.5)
    expect(discrete).toBe(true)
    expect(points.map(({ noise }) => noise)).toEqual(
      points.map((_, index) => index - (points.length - 1) / 2),
    )
    for (const { noise, probability } of points)
      expect(probability).toBeCloseTo(((1 - q) / (1 + q)) * q ** Math.abs(noise), 12)
    const total = points.reduce((sum, { probability }) => sum + probability, 0)
    expect(total).toBeGreaterThan(0.9999 - 1e-9)
    expect(total).toBeLessThanOrEqual(1)
  })

  test.each([
    ['laplace', (x: number) => 0.25 * Math.exp(-Math.abs(x) / 2)],
    [
      'analytic-gaussian',
      (x: number, sigma: number) =>
        Math.exp((-x * x) / (2 * sigma * sigma)) / (sigma * Math.sqrt(2 * Math.PI)),
    ],
  ] as const)('%s noise: its density at evenly spaced points', (mechanism, density) => {
    const measurement = measured(mechanism, 0.5)
    const { noise: distribution, fractionBits } = measurement
    const sigma =
      distribution.kind === 'discrete-gaussian' ? Number(distribution.sigma) / 2 ** fractionBits : 0
    const { discrete, points } = noiseDistribution(measurement)
    expect(discrete).toBe(false)
    expect(points).toHaveLength(401)
    for (const { noise, probability } of points) expect(probability).toBeCloseTo(density(noise, sigma), 9)
    const step = (points[1]?.noise ?? 0) - (points[0]?.noise ?? 0)
    const area = points.reduce((sum, { probability }) => sum + probability * step, 0)
    expect(area).toBeGreaterThan(0.999)
    expect(area).toBeLessThan(1.001)
  })

  test('noise that is nearly always 0 has at least its neighbours beside it', () => {
    const { points } = noiseDistribution(measured('geometric', 50))
    expect(points.map(({ noise }) => noise)).toEqual([-1, 0, 1])
    expect(points[1]?.probability).toBeCloseTo(1, 12)
  })
})

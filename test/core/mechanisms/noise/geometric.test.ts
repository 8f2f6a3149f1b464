import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Measurement } from '../../../../src/core/mechanisms/measurement.ts'
import {
  calibrateGeometric,
  geometricParameter,
  laplaceAccuracy,
  laplacePrivacyMap,
} from '../../../../src/core/mechanisms/noise/geometric.ts'
import { discreteLaplaceMass } from '../../../../src/core/mechanisms/samplers/discrete-laplace.ts'
import { epsilonNano } from '../../../../src/privacy/loss.ts'
import { rational } from '../../../../src/privacy/rational.ts'
import { anyEpsilon, anySensitivity, scalarSensitivity } from '../support.ts'

function scaleOf({ noise }: Measurement) {
  if (noise.kind !== 'discrete-laplace') throw new Error('not discrete Laplace noise')
  return noise.scale
}

describe('calibration', () => {
  it('is exact: scale = L1 / epsilon', () => {
    expect(calibrateGeometric(scalarSensitivity(2n), epsilonNano(300_000_000n))).toEqual({
      mechanism: 'geometric',
      sensitivity: scalarSensitivity(2n),
      fractionBits: 0,
      noise: { kind: 'discrete-laplace', scale: { numerator: 20n, denominator: 3n } },
      loss: { epsilonNano: 300_000_000n, deltaAtto: 0n },
    })
  })

  it('costs exactly the requested loss, over the whole domain', () => {
    fc.assert(
      fc.property(anySensitivity, anyEpsilon, (sensitivity, epsilon) => {
        const measurement = calibrateGeometric(sensitivity, epsilon)
        const { numerator, denominator } = scaleOf(measurement)
        expect(numerator * epsilon).toBe(sensitivity.l1 * 1_000_000_000n * denominator)
        expect(laplacePrivacyMap(measurement, sensitivity)).toEqual(measurement.loss)
      }),
    )
  })

  it('refuses a sensitivity or an epsilon of 0, and inconsistent norms', () => {
    const epsilon = epsilonNano(1n)
    expect(() => calibrateGeometric(scalarSensitivity(0n), epsilon)).toThrow(RangeError)
    expect(() => calibrateGeometric(scalarSensitivity(1n), epsilonNano(0n))).toThrow(RangeError)
    for (const sensitivity of [
      { l0: 1n, l1: 1n, l2Squared: 4n, lInfinity: 2n },
      { l0: 2n, l1: 2n, l2Squared: 1n, lInfinity: 1n },
      { l0: 1n, l1: 3n, l2Squared: 3n, lInfinity: 3n },
      { l0: 2n, l1: 3n, l2Squared: 3n, lInfinity: 1n },
    ])
      expect(() => calibrateGeometric(sensitivity, epsilon)).toThrow(RangeError)
  })
})

describe('the parameter p', () => {
  it('is 1 - exp(-epsilon / L1), also where that is small', () => {
    const measurement = calibrateGeometric(scalarSensitivity(2n), epsilonNano(300_000_000n))
    expect(geometricParameter(scaleOf(measurement))).toBeCloseTo(1 - Math.exp(-0.15), 15)
    expect(geometricParameter(rational(10n ** 18n, 1n))).toBe(1e-18)
  })

  it('makes the noise as the difference of two geometric draws', () => {
    const scale = rational(5n, 2n)
    const p = geometricParameter(scale)
    const draws = Array.from({ length: 400 }, (_, failures) => p * (1 - p) ** failures)
    for (let difference = 0; difference <= 12; difference += 1) {
      const mass = draws.reduce((sum, each, place) => sum + each * (draws[place + difference] ?? 0), 0)
      expect(mass).toBeCloseTo(discreteLaplaceMass(BigInt(difference), scale), 12)
    }
  })
})

describe('the privacy map', () => {
  const measurement = calibrateGeometric(scalarSensitivity(3n), epsilonNano(1_000_000_000n))

  it('scales with the sensitivity and rounds up', () => {
    expect(laplacePrivacyMap(measurement, scalarSensitivity(1n)).epsilonNano).toBe(333_333_334n)
    expect(laplacePrivacyMap(measurement, scalarSensitivity(6n)).epsilonNano).toBe(2_000_000_000n)
    expect(laplacePrivacyMap(measurement, scalarSensitivity(0n)).epsilonNano).toBe(0n)
  })

  it('holds for the distribution itself: no probability falls by more than exp(epsilon) between neighbours', () => {
    const scale = scaleOf(measurement)
    for (let value = -20n; value <= 20n; value += 1n) {
      const ratio = discreteLaplaceMass(value, scale) / discreteLaplaceMass(value - 3n, scale)
      expect(ratio).toBeLessThanOrEqual(Math.E * (1 + 1e-14))
    }
  })

  it('refuses other noise', () => {
    const other: Measurement = { ...measurement, noise: { kind: 'discrete-gaussian', sigma: 1n << 40n } }
    expect(() => laplacePrivacyMap(other, measurement.sensitivity)).toThrow(RangeError)
    expect(() => laplaceAccuracy(other, 0.95)).toThrow(RangeError)
  })
})

describe('accuracy', () => {
  const withScale = (numerator: bigint, denominator: bigint): Measurement => ({
    ...calibrateGeometric(scalarSensitivity(1n), epsilonNano(1n)),
    noise: { kind: 'discrete-laplace', scale: rational(numerator, denominator) },
  })

  it.each([
    [1n, 1n],
    [2n, 1n],
    [10n, 3n],
    [1n, 4n],
    [25n, 1n],
    [1n, 1000n],
  ])('of scale %d/%d agrees with sums over the distribution', (numerator, denominator) => {
    const scale = rational(numerator, denominator)
    const mass = (value: number) => discreteLaplaceMass(BigInt(value), scale)
    let [within, halfWidth] = [mass(0), 0]
    let [absolute, square] = [0, 0]
    const confidence = 0.95
    for (let value = 1; value < 2000; value += 1) {
      if (within < confidence) {
        within += 2 * mass(value)
        halfWidth = value
      }
      absolute += 2 * value * mass(value)
      square += 2 * value * value * mass(value)
    }
    const accuracy = laplaceAccuracy(withScale(numerator, denominator), confidence)
    expect(accuracy.halfWidth).toBe(halfWidth)
    expect(accuracy.expectedAbsoluteError).toBeCloseTo(absolute, 10)
    expect(accuracy.standardDeviation).toBeCloseTo(Math.sqrt(square), 10)
  })

  it('has the published variances and half-width', () => {
    // Computed: the variance 2 q / (1 - q)^2 with q = exp(-1 / scale).
    expect(laplaceAccuracy(withScale(1n, 1n), 0.95).standardDeviation ** 2).toBeCloseTo(
      1.8413471884155845,
      13,
    )
    expect(laplaceAccuracy(withScale(2n, 1n), 0.95).standardDeviation ** 2).toBeCloseTo(7.835396178065528, 13)
    // OpenDP accuracy/mod.rs gives 6.4296049398676592 as the a with P(|X| >= a) = 0.05: the largest error below is 6.
    expect(laplaceAccuracy(withScale(2n, 1n), 0.95).halfWidth).toBe(6)
  })

  it.each([0, 1, -1, Number.NaN])('refuses a confidence of %d', (confidence) => {
    expect(() => laplaceAccuracy(withScale(1n, 1n), confidence)).toThrow(RangeError)
  })
})

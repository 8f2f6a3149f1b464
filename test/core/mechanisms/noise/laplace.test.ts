import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { laplaceAccuracy, laplacePrivacyMap } from '../../../../src/core/mechanisms/noise/geometric.ts'
import { calibrateLaplace } from '../../../../src/core/mechanisms/noise/laplace.ts'
import { epsilonNano } from '../../../../src/privacy/loss.ts'
import { anyEpsilon, anySensitivity, scalarSensitivity } from '../support.ts'

describe('calibration', () => {
  it('puts a scale of L1 / epsilon on a grid 2^40 times finer', () => {
    expect(calibrateLaplace(scalarSensitivity(1n), epsilonNano(1_000_000_000n))).toEqual({
      mechanism: 'laplace',
      sensitivity: scalarSensitivity(1n),
      fractionBits: 40,
      noise: { kind: 'discrete-laplace', scale: { numerator: 1n << 40n, denominator: 1n } },
      loss: { epsilonNano: 1_000_000_000n, deltaAtto: 0n },
    })
  })

  it('never adds too little noise, and hardly more than necessary, over the whole domain', () => {
    fc.assert(
      fc.property(anySensitivity, anyEpsilon, (sensitivity, epsilon) => {
        const measurement = calibrateLaplace(sensitivity, epsilon)
        const { noise, fractionBits } = measurement
        if (noise.kind !== 'discrete-laplace') throw new Error('not discrete Laplace noise')
        const { numerator: scale, denominator } = noise.scale
        const exact = sensitivity.l1 * 1_000_000_000n * 2n ** BigInt(fractionBits)
        expect(denominator).toBe(1n)
        expect(scale * epsilon >= exact && (scale - 1n) * epsilon < exact).toBe(true)
        expect(scale >= 1n << 40n).toBe(true)
        expect(fractionBits === 0 || scale <= 1n << 41n).toBe(true)
        expect(laplacePrivacyMap(measurement, sensitivity)).toEqual(measurement.loss)
      }),
    )
  })

  it('takes its grid from L1 and epsilon alone', () => {
    const epsilon = epsilonNano(123_456_789n)
    const [one, other] = [
      { l0: 8n, l1: 8n, l2Squared: 8n, lInfinity: 1n },
      { l0: 1n, l1: 8n, l2Squared: 64n, lInfinity: 8n },
    ].map((sensitivity) => calibrateLaplace(sensitivity, epsilon))
    expect(other?.fractionBits).toBe(one?.fractionBits)
    expect(other?.noise).toEqual(one?.noise)
  })

  it('refuses a sensitivity or an epsilon of 0', () => {
    expect(() => calibrateLaplace(scalarSensitivity(0n), epsilonNano(1n))).toThrow(RangeError)
    expect(() => calibrateLaplace(scalarSensitivity(1n), epsilonNano(0n))).toThrow(RangeError)
  })
})

describe('accuracy', () => {
  it.each([
    [1n, 1_000_000_000n],
    [7n, 30_000_000n],
    [1n << 50n, 1n],
  ])(
    'of L1 %d and epsilon %d e-9 is the closed form of the continuous distribution, rounded up',
    (l1, epsilon) => {
      const scale = (Number(l1) * 1e9) / Number(epsilon)
      const measurement = calibrateLaplace(scalarSensitivity(l1), epsilonNano(epsilon))
      // The half-width b ln(1 / alpha) at alpha = 0.5 and b = 1 is 0.6931471805599453.
      for (const confidence of [0.5, 0.9, 0.95, 0.999]) {
        const accuracy = laplaceAccuracy(measurement, confidence)
        const halfWidth = scale * Math.log(1 / (1 - confidence))
        // The two distributions differ by up to half an output unit.
        expect(accuracy.halfWidth / halfWidth).toBeGreaterThan(1 - 2e-12)
        expect(accuracy.halfWidth / halfWidth).toBeLessThan(1 + 4e-12)
        expect(accuracy.expectedAbsoluteError / scale).toBeCloseTo(1, 11)
        expect(accuracy.standardDeviation / scale).toBeCloseTo(Math.SQRT2, 11)
      }
    },
  )
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  analyticGaussianRatio,
  classicGaussianRatio,
  gaussianDelta,
  gaussianDeltaUpperBound,
} from '../../src/privacy/gaussian-calibration.ts'
import { epsilonNano } from '../../src/privacy/loss.ts'

function relativeError(actual: number, expected: number): number {
  return Math.abs(actual / expected - 1)
}

describe('the delta of Gaussian noise', () => {
  // google/differential-privacy, dp_accounting pld/privacy_loss_mechanism_test.py: sigma = 1, sensitivity 1.
  it.each([
    [-2, 0.86749642],
    [-1, 0.67881797],
    [0, 0.38292492],
    [1, 0.12693674],
    [2, 0.020923636],
  ])('at epsilon %d equals the value of dp_accounting', (epsilon, delta) => {
    expect(relativeError(gaussianDelta(1, epsilon), delta)).toBeLessThan(3e-8)
  })

  // Computed with 60 digits from theorem 8 of Balle and Wang 2018, at exactly these doubles.
  it.each(references())('at ratio %d and epsilon %d is %d', (ratio, epsilon, delta) => {
    expect(relativeError(gaussianDelta(ratio, epsilon), delta)).toBeLessThan(1e-12)
  })

  it('has a safe upper bound that is hardly larger', () => {
    for (const [ratio, epsilon, delta] of references()) {
      if (epsilon < 0) continue
      const count = epsilonNano(BigInt(Math.round(epsilon * 1e9)))
      const sigma = BigInt(Math.round(ratio * 2 ** 60))
      const bound = gaussianDeltaUpperBound(Number(sigma) / 2 ** 60, count)
      expect(bound).toBeGreaterThan(delta)
      expect(bound).toBeLessThan(delta * (1 + 1e-7) + 1e-25)
    }
  })

  it('refuses an invalid ratio or epsilon', () => {
    for (const ratio of [0, -1, Number.NaN]) expect(() => gaussianDelta(ratio, 1)).toThrow(RangeError)
    for (const epsilon of [Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => gaussianDelta(1, epsilon)).toThrow(RangeError)
  })
})

describe('the analytic calibration', () => {
  // Computed (Balle and Wang 2018, arXiv 1805.06530); google/differential-privacy numerical-mechanisms_test.cc has
  // 3.42578125 for the first, at an overshoot of 1e-3.
  it.each([
    [1.0986122886681098, 1e-5, 3.4246623979089508],
    [1, 1e-5, 3.730631634815942],
    [1, 1e-6, 4.224678889326835],
    [0.5, 1e-5, 7.031826675582491],
    [10, 1e-6, 0.541086831818366],
  ])('for epsilon %d and delta %d equals the published sigma', (epsilon, delta, sigma) => {
    expect(relativeError(analyticGaussianRatio(epsilon, delta), sigma)).toBeLessThan(1e-14)
  })

  it('achieves the delta, with hardly more noise than necessary, over the whole domain', () => {
    fc.assert(
      fc.property(
        fc.double({ min: -9, max: 3, noNaN: true }),
        fc.double({ min: -18, max: -0.0005, noNaN: true }),
        (e, d) => {
          const [epsilon, delta] = [10 ** e, 10 ** d]
          const ratio = analyticGaussianRatio(epsilon, delta)
          expect(gaussianDelta(ratio, epsilon)).toBeLessThanOrEqual(delta)
          expect(gaussianDelta(ratio * (1 - 1e-9), epsilon)).toBeGreaterThan(delta)
        },
      ),
      { numRuns: 1000 },
    )
  })

  it.each([
    [0, 1e-6],
    [-1, 1e-6],
    [Number.POSITIVE_INFINITY, 1e-6],
    [1, 0],
    [1, 1],
    [1, Number.NaN],
  ])('refuses epsilon %d with delta %d', (epsilon, delta) => {
    expect(() => analyticGaussianRatio(epsilon, delta)).toThrow(RangeError)
    expect(() => classicGaussianRatio(epsilon, delta)).toThrow(RangeError)
  })
})

describe('the classic calibration', () => {
  it('is the formula of Dwork and Roth', () => {
    expect(relativeError(classicGaussianRatio(1, 1e-5), 4.844805262605389)).toBeLessThan(1e-14)
  })

  it('refuses an epsilon above 1, where its noise is too small', () => {
    expect(() => classicGaussianRatio(1 + Number.EPSILON, 1e-5)).toThrow(RangeError)
    // Value of the formula at epsilon 10 and delta 1e-6; the analytic sigma there is 0.541086831818366.
    expect(gaussianDelta(0.52988, 10)).toBeGreaterThan(1e-6)
  })

  it('is never less than the analytic one', () => {
    fc.assert(
      fc.property(
        fc.double({ min: -9, max: 0, noNaN: true }),
        fc.double({ min: -18, max: -0.0005, noNaN: true }),
        (e, d) => {
          const [epsilon, delta] = [10 ** e, 10 ** d]
          expect(classicGaussianRatio(epsilon, delta)).toBeGreaterThan(analyticGaussianRatio(epsilon, delta))
        },
      ),
    )
  })
})

function references(): readonly (readonly [number, number, number])[] {
  return [
    [1, -20, 0.9999999979388464],
    [0.25, -1, 0.9730385871040951],
    [1, 0, 0.38292492254802624],
    [1000, 0, 0.0003989422637788383],
    [0.125, 10, 0.9953451327380725],
    [0.03125, 1000, 5.56474408401967e-53],
    [0.02734375, 1000, 5.307648610323203e-20],
    [0.5, 10, 9.940202816118153e-6],
    [0.53125, 10, 1.759565052159532e-6],
    [1, 1, 0.12693673750664394],
    [1.25, 8, 3.0182900262136893e-23],
    [2, 4, 2.706033802956907e-16],
    [2.0625, 4, 3.2505033569266726e-17],
    [4.25, 1, 8.836709893072483e-7],
    [8.5, 1, 2.1035356164848182e-19],
    [16, 0.5, 6.056331267976813e-18],
    [100, 0.03125, 2.4789456230217142e-6],
    [4096, 0.001953125, 1.845126772896598e-20],
    [5412217956, 1e-9, 1.0000000047214324e-18],
    [9000000000, 1e-9, 1.3608657571731921e-30],
    [0.15625, 1e-9, 0.9986257241234812],
    [100000, 1e-9, 3.988922825939279e-6],
    [1.03125, 8.5, 6.264692070555297e-18],
    [1.0625, 9.5, 2.792634287814156e-23],
    [0.96875, 9.5, 1.934304296090984e-19],
    [0.984375, 10.25, 4.4843684931471106e-23],
  ]
}

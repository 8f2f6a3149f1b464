import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Measurement } from '../../../../src/core/mechanisms/measurement.ts'
import {
  calibrateGaussian,
  calibrateGaussianJointly,
  gaussianAccuracy,
  gaussianPrivacyMap,
  jointGaussianPrivacyMap,
} from '../../../../src/core/mechanisms/noise/gaussian.ts'
import { discreteGaussianMass } from '../../../../src/core/mechanisms/samplers/discrete-gaussian.ts'
import { analyticGaussianRatio, gaussianDelta } from '../../../../src/privacy/gaussian-calibration.ts'
import { deltaAtto, deltaNumber, epsilonNano, epsilonNumber } from '../../../../src/privacy/loss.ts'
import { Refusal } from '../../../../src/privacy/refusal.ts'
import { anyDelta, anyEpsilon, anySensitivity, integersOfEverySize, scalarSensitivity } from '../support.ts'

const ONE = epsilonNano(1_000_000_000n)
const TEN_TO_MINUS_5 = deltaAtto(10_000_000_000_000n)

function sigmaOf({ noise, fractionBits }: Measurement): { units: bigint; gridUnits: number } {
  if (noise.kind !== 'discrete-gaussian') throw new Error('not discrete Gaussian noise')
  return { units: noise.sigma, gridUnits: Number(noise.sigma) / 2 ** fractionBits }
}

describe('calibration', () => {
  it('has the analytic sigma, or slightly more', () => {
    const { gridUnits } = sigmaOf(calibrateGaussian(scalarSensitivity(1n), ONE, TEN_TO_MINUS_5, 'analytic'))
    // Computed (Balle and Wang 2018, arXiv 1805.06530): sigma for epsilon 1, delta 1e-5, sensitivity 1.
    expect(gridUnits / 3.730631634815942).toBeGreaterThan(1)
    expect(gridUnits / 3.730631634815942).toBeLessThan(1 + 1e-7)
  })

  it('has the classic sigma on request', () => {
    const { gridUnits } = sigmaOf(calibrateGaussian(scalarSensitivity(2n), ONE, TEN_TO_MINUS_5, 'classic'))
    expect(gridUnits / (2 * Math.sqrt(2 * Math.log(1.25e5)))).toBeGreaterThan(1)
    expect(gridUnits / (2 * Math.sqrt(2 * Math.log(1.25e5)))).toBeLessThan(1 + 1e-7)
  })

  it('never adds too little noise, and hardly more than necessary, over the whole domain', () => {
    fc.assert(
      fc.property(anySensitivity, anyEpsilon, anyDelta, (sensitivity, epsilon, delta) => {
        const measurement = calibrateGaussian(sensitivity, epsilon, delta, 'analytic')
        const { units, gridUnits } = sigmaOf(measurement)
        expect(units >= 1n << 40n).toBe(true)
        expect(measurement.fractionBits === 0 || units <= 1n << 41n).toBe(true)
        const ratio = gridUnits / Math.sqrt(Number(sensitivity.l2Squared))
        const least = analyticGaussianRatio(epsilonNumber(epsilon), deltaNumber(delta))
        expect(ratio / least).toBeGreaterThan(1)
        // The margins are 1e-8 of delta and, with the grid, 1e-22; near 1, a relative change of delta is a large one of
        // 1 - delta.
        const margin = (1e-8 + 1e-22 / deltaNumber(delta)) / (1 - deltaNumber(delta))
        expect(ratio / least).toBeLessThan(1 + 2 * margin)
        const verified = gaussianPrivacyMap(measurement, sensitivity)
        expect(verified.epsilonNano).toBe(epsilon)
        expect(verified.deltaAtto <= delta).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  it('succeeds at the corners of the domain', () => {
    for (const epsilon of [1n, 1_000_000n, 1_000_000_000n, 30_000_000_000n, 1_000_000_000_000n])
      for (const delta of [1n, 2n, 1_000_000_000n, 5n * 10n ** 17n, 999n * 10n ** 15n])
        for (const distance of [1n, 1n << 20n, 1n << 55n]) {
          const sensitivity = scalarSensitivity(distance)
          const measurement = calibrateGaussian(
            sensitivity,
            epsilonNano(epsilon),
            deltaAtto(delta),
            'analytic',
          )
          expect(gaussianPrivacyMap(measurement, sensitivity).deltaAtto <= delta).toBe(true)
        }
  })

  it('verifies the classic formula wherever it applies', () => {
    fc.assert(
      fc.property(
        anySensitivity,
        anyEpsilon.filter((epsilon) => epsilon <= ONE),
        anyDelta,
        (sensitivity, epsilon, delta) => {
          const measurement = calibrateGaussian(sensitivity, epsilon, delta, 'classic')
          expect(gaussianPrivacyMap(measurement, sensitivity).deltaAtto <= delta).toBe(true)
        },
      ),
    )
  })

  it('refuses a delta of 0, and the classic formula above epsilon 1, with an explanation', () => {
    const refused = (epsilon: bigint, delta: bigint, calibration: 'classic' | 'analytic') => {
      try {
        calibrateGaussian(scalarSensitivity(1n), epsilonNano(epsilon), deltaAtto(delta), calibration)
      } catch (reason) {
        return reason instanceof Refusal ? { code: reason.code, field: reason.errors[0]?.field } : reason
      }
      return undefined
    }
    expect(refused(1n, 0n, 'analytic')).toEqual({ code: 'mechanism-not-applicable', field: 'delta' })
    expect(refused(ONE + 1n, 1n, 'classic')).toEqual({
      code: 'mechanism-not-applicable',
      field: 'calibration',
    })
    expect(refused(ONE, 1n, 'classic')).toBeUndefined()
    expect(refused(ONE + 1n, 1n, 'analytic')).toBeUndefined()
  })

  it('refuses a sensitivity or an epsilon of 0, and a delta of 1', () => {
    const one = scalarSensitivity(1n)
    for (const attempt of [
      () => calibrateGaussian(scalarSensitivity(0n), ONE, TEN_TO_MINUS_5, 'analytic'),
      () => calibrateGaussian(one, epsilonNano(0n), TEN_TO_MINUS_5, 'analytic'),
      () => calibrateGaussian(one, ONE, deltaAtto(10n ** 18n), 'analytic'),
    ])
      expect(attempt).toThrow(RangeError)
  })
})

describe('the privacy map', () => {
  const measurement = calibrateGaussian(scalarSensitivity(10n), ONE, TEN_TO_MINUS_5, 'analytic')

  it('gives the delta of any sensitivity at the epsilon of the measurement', () => {
    const map = (distance: bigint) => gaussianPrivacyMap(measurement, scalarSensitivity(distance))
    expect(map(0n)).toEqual({ epsilonNano: 0n, deltaAtto: 0n })
    expect(map(1n)).toEqual({ epsilonNano: ONE, deltaAtto: 1n })
    for (const distance of [5n, 10n, 20n, 100n]) {
      const delta = gaussianDelta(sigmaOf(measurement).gridUnits / Number(distance), 1)
      expect(deltaNumber(map(distance).deltaAtto)).toBeGreaterThan(delta)
      expect(deltaNumber(map(distance).deltaAtto)).toBeLessThan(delta * (1 + 2e-9) + 2e-18)
    }
    expect(map(1n << 60n).deltaAtto).toBe(10n ** 18n)
  })

  it('refuses other noise', () => {
    const scale = { numerator: 1n, denominator: 1n }
    const other: Measurement = { ...measurement, noise: { kind: 'discrete-laplace', scale } }
    expect(() => gaussianPrivacyMap(other, measurement.sensitivity)).toThrow(RangeError)
    expect(() => gaussianAccuracy(other, 0.95)).toThrow(RangeError)
  })
})

describe('the bound on what the grid can add', () => {
  /** Canonne, Kamath, Steinke 2020, theorem 7, for one entry that moves by `distance`. */
  function discreteDelta(sigmaSquared: number, distance: number, epsilon: number): number {
    const tail = (above: number) => {
      let sum = 0
      for (let value = Math.floor(above) + 40 * Math.ceil(Math.sqrt(sigmaSquared)); value > above; value -= 1)
        sum += discreteGaussianMass(BigInt(value), { numerator: BigInt(sigmaSquared), denominator: 1n })
      return sum
    }
    const center = (epsilon * sigmaSquared) / distance
    return tail(center - distance / 2) - Math.exp(epsilon) * tail(center + distance / 2)
  }

  /** The claim of src/core/mechanisms/noise/gaussian.md, with `entries` the number of entries that move. */
  function provedBound(sigma: number, distance: number, epsilon: number, entries: number): number {
    const grid = Math.expm1(distance ** 2 / (24 * sigma ** 4)) + entries / (24 * sigma ** 2)
    return Math.exp(entries / (8 * sigma ** 2)) * (gaussianDelta(sigma / distance, epsilon) + grid)
  }

  it('compares with the exact delta, which has the published figures', () => {
    expect(discreteDelta(1, 1, 1)).toBeCloseTo(0.1413513394056219, 14)
    expect(discreteDelta(4, 1, 1)).toBeCloseTo(0.007248776845952578, 14)
  })

  it('holds for one entry, at sigmas small enough to see the difference', () => {
    for (const sigma of [1, 2, 5, 20, 100])
      for (const distance of [1, 2, 3, 10, 50, 200])
        for (const epsilon of [0.01, 0.1, 1, 3, 10]) {
          const exact = discreteDelta(sigma * sigma, distance, epsilon)
          expect(exact).toBeLessThanOrEqual(provedBound(sigma, distance, epsilon, 1) + 1e-12)
        }
  })

  it.each([
    [1, -1],
    [2, 2],
    [3, 2],
    [7, 1],
  ])('holds for two entries that move by %d and %d', (first, second) => {
    for (const sigma of [1, 2, 3, 6]) {
      const reach = 12 * sigma
      const mass = (value: number) =>
        discreteGaussianMass(BigInt(value), { numerator: BigInt(sigma * sigma), denominator: 1n })
      for (const epsilon of [0.1, 1, 3]) {
        let exact = 0
        for (let y = -reach; y <= reach; y += 1)
          for (let z = -reach; z <= reach; z += 1)
            exact += Math.max(0, mass(y) * mass(z) - Math.exp(epsilon) * mass(y - first) * mass(z - second))
        expect(exact).toBeLessThanOrEqual(provedBound(sigma, Math.hypot(first, second), epsilon, 2) + 1e-12)
      }
    }
  })
})

describe('accuracy', () => {
  const measurement = calibrateGaussian(scalarSensitivity(3n), ONE, TEN_TO_MINUS_5, 'analytic')
  const { gridUnits: sigma } = sigmaOf(measurement)

  // Two-sided quantiles of the standard normal distribution.
  it.each([
    [0.5, 0.674489750196082],
    [0.9, 1.644853626951473],
    [0.95, 1.959963984540054],
    [0.99, 2.575829303548901],
    [1 - 2 ** -20, 4.900964207963193],
  ])('at confidence %d is %d sigma, rounded up', (confidence, z) => {
    const { halfWidth, ...rest } = gaussianAccuracy(measurement, confidence)
    expect(halfWidth / sigma).toBeGreaterThanOrEqual(z)
    expect(halfWidth / sigma).toBeLessThan(z * (1 + 1e-10))
    expect(rest).toEqual({
      confidence,
      expectedAbsoluteError: sigma * Math.sqrt(2 / Math.PI),
      standardDeviation: sigma,
    })
  })

  it.each([0, 1, -1, Number.NaN])('refuses a confidence of %d', (confidence) => {
    expect(() => gaussianAccuracy(measurement, confidence)).toThrow(RangeError)
  })
})

describe('vectors that are released together', () => {
  const epsilon = epsilonNano(500_000_000n)
  const delta = deltaAtto(10n ** 12n)

  it('cost what one vector costs, with sigmas that grow with the square root of their number', () => {
    fc.assert(
      fc.property(fc.array(anySensitivity, { minLength: 1, maxLength: 9 }), (sensitivities) => {
        const together = calibrateGaussianJointly(sensitivities, epsilon, delta, 'analytic')
        expect(jointGaussianPrivacyMap(together, epsilon).deltaAtto).toBeLessThanOrEqual(delta)
        for (const [index, sensitivity] of sensitivities.entries()) {
          const alone = calibrateGaussian(sensitivity, epsilon, delta, 'analytic')
          const growth = inGridUnits(together[index]) / inGridUnits(alone)
          expect(growth).toBeCloseTo(Math.sqrt(sensitivities.length), 9)
        }
      }),
      { numRuns: 200 },
    )
  })

  it('are calibrated within the requested delta, down to the least delta', () => {
    const vectors = fc.array(fc.oneof(anySensitivity, wideSensitivity), { minLength: 1, maxLength: 24 })
    const leastDelta = fc.bigInt(1n, 100n).map(deltaAtto)
    fc.assert(
      fc.property(vectors, anyEpsilon, fc.oneof(anyDelta, leastDelta), (sensitivities, epsilon, delta) => {
        const together = calibrateGaussianJointly(sensitivities, epsilon, delta, 'analytic')
        expect(jointGaussianPrivacyMap(together, epsilon).deltaAtto).toBeLessThanOrEqual(delta)
        if (epsilon > ONE) return
        const classic = calibrateGaussianJointly(sensitivities, epsilon, delta, 'classic')
        expect(jointGaussianPrivacyMap(classic, epsilon).deltaAtto).toBeLessThanOrEqual(delta)
      }),
      { numRuns: 1000 },
    )
  })

  it('would cost more with a little less noise on any one of them', () => {
    const sensitivities = [1n, 1600n, 1n << 40n].map(scalarSensitivity)
    const together = calibrateGaussianJointly(sensitivities, epsilon, delta, 'analytic')
    for (const lessNoisy of together.keys()) {
      const changed = together.map((measurement, index) =>
        index === lessNoisy && measurement.noise.kind === 'discrete-gaussian'
          ? {
              ...measurement,
              noise: { ...measurement.noise, sigma: (measurement.noise.sigma * 999n) / 1000n },
            }
          : measurement,
      )
      expect(jointGaussianPrivacyMap(changed, epsilon).deltaAtto).toBeGreaterThan(delta)
    }
  })

  it('cost the delta of the continuous distribution at the length of the change, each entry in its own sigma', () => {
    const together = [1n, 30n, 7n].map((distance, index) =>
      calibrateGaussian(
        scalarSensitivity(distance),
        epsilonNano(BigInt(index + 1) * 10n ** 9n),
        delta,
        'analytic',
      ),
    )
    const distance = Math.hypot(...[1, 30, 7].map((moved, index) => moved / inGridUnits(together[index])))
    const stated = Number(jointGaussianPrivacyMap(together, epsilon).deltaAtto) / 1e18
    expect(stated / gaussianDelta(1 / distance, 0.5)).toBeCloseTo(1, 6)
    expect(stated).toBeGreaterThan(gaussianDelta(1 / distance, 0.5))
  })

  it.each([
    [1, 3, 1, 2],
    [2, 5, -1, 3],
    [6, 1, 4, 1],
  ])('two entries of sigmas %d and %d that move by %d and %d stay within the proved bound', (s, t, d, e) => {
    const mass = (value: number, sigma: number) =>
      discreteGaussianMass(BigInt(value), { numerator: BigInt(sigma * sigma), denominator: 1n })
    for (const epsilon of [0.1, 1, 3]) {
      let exact = 0
      for (let y = -12 * s; y <= 12 * s; y += 1)
        for (let z = -12 * t; z <= 12 * t; z += 1)
          exact += Math.max(0, mass(y, s) * mass(z, t) - Math.exp(epsilon) * mass(y - d, s) * mass(z - e, t))
      const curvature = 1 / s ** 2 + 1 / t ** 2
      const distance = Math.hypot(d / s, e / t)
      const grid = Math.expm1(distance ** 2 / Math.min(s, t) ** 2 / 24) + curvature / 24
      const bound = Math.exp(curvature / 8) * (gaussianDelta(1 / distance, epsilon) + grid)
      expect(exact).toBeGreaterThan(0)
      expect(exact).toBeLessThanOrEqual(bound + 1e-12)
    }
  })

  /** Any of many entries may move, as in a vector of large sums. The grid then has its largest share of delta. */
  const wideSensitivity = fc
    .tuple(
      fc.integer({ min: 1, max: 54 }),
      integersOfEverySize(24).map((entries) => Number(entries)),
    )
    .map(([bits, entries]) => ({
      l0: BigInt(entries),
      l1: BigInt(entries) << BigInt(bits),
      l2Squared: BigInt(entries) << BigInt(2 * bits),
      lInfinity: 1n << BigInt(bits),
    }))

  function inGridUnits(measurement: Measurement | undefined): number {
    if (measurement === undefined) throw new Error('a measurement for each sensitivity')
    return sigmaOf(measurement).gridUnits
  }
})

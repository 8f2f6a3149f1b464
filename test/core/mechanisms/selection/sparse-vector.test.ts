import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { discreteLaplaceMass } from '../../../../src/core/mechanisms/samplers/discrete-laplace.ts'
import { systemEntropy } from '../../../../src/core/mechanisms/samplers/entropy.ts'
import {
  calibrateSparseVector,
  compareWithThreshold,
  drawThresholdNoise,
  type SparseVectorMeasurement,
  type SparseVectorShape,
  sparseVectorGapAccuracy,
  sparseVectorMargin,
  sparseVectorPrivacyMap,
  sparseVectorRho,
  sparseVectorShares,
} from '../../../../src/core/mechanisms/selection/sparse-vector.ts'
import { epsilonNano, NO_LOSS } from '../../../../src/privacy/loss.ts'
import { pureRho } from '../../../../src/privacy/zero-concentrated.ts'
import { anyEpsilon } from '../support.ts'
import { sparseVectorMass } from './masses.ts'
import {
  bind,
  COARSE,
  counts,
  departureOf,
  importCopy,
  largestLoss,
  scenarios,
} from './sparse-vector-distributions.ts'

const ONE = epsilonNano(1_000_000_000n)
const anyShape: fc.Arbitrary<SparseVectorShape> = fc.record({
  positives: fc.integer({ min: 1, max: 100 }),
  sensitivity: fc.oneof(fc.constant(1n), fc.bigInt(1n, 1n << 55n)),
  monotonic: fc.boolean(),
})

describe('calibration', () => {
  it('spends the whole epsilon and no more, on a grid 2^40 times finer than the noise', () => {
    fc.assert(
      fc.property(
        anyShape,
        anyEpsilon.filter((epsilon) => epsilon >= 2n),
        (shape, epsilon) => {
          const measurement = calibrateSparseVector(shape, epsilon)
          const { fractionBits, thresholdScale, questionScale } = measurement
          const smaller = thresholdScale < questionScale ? thresholdScale : questionScale
          expect(smaller >= 1n << 40n).toBe(true)
          expect(fractionBits === 0 || smaller <= 1n << 41n).toBe(true)
          expect(sparseVectorPrivacyMap(measurement)).toEqual({ epsilonNano: epsilon, deltaAtto: 0n })
          const { threshold, questions } = sparseVectorShares(measurement)
          expect(threshold >= 1n && questions >= 1n && threshold + questions === epsilon).toBe(true)
        },
      ),
    )
  })

  // 1 : (k c)^(2/3), k = 2 or 1: Lyu, Su, Li 2017, section 4.
  it.each([
    [1, true, 1],
    [8, true, 4],
    [27, true, 9],
    [1, false, 2 ** (2 / 3)],
    [4, false, 4],
    [32, false, 16],
  ])(
    'divides epsilon between threshold and questions: c = %d, monotonic %s',
    (positives, monotonic, ratio) => {
      const measurement = calibrateSparseVector(counts(positives, monotonic), ONE)
      const { threshold, questions } = sparseVectorShares(measurement)
      expect(Number(questions) / Number(threshold)).toBeCloseTo(ratio, 6)
      const unit = 2 ** measurement.fractionBits
      expect(Number(measurement.thresholdScale) / unit).toBeCloseTo(1 + ratio, 6)
      const factor = (monotonic ? 1 : 2) * positives
      expect(Number(measurement.questionScale) / unit).toBeCloseTo((factor * (1 + ratio)) / ratio, 6)
    },
  )

  it.each([
    ['no positives', { ...counts(1, true), positives: 0 }, ONE],
    ['a fraction of positives', { ...counts(1, true), positives: 1.5 }, ONE],
    ['a sensitivity of 0', { ...counts(1, true), sensitivity: 0n }, ONE],
    ['an epsilon that cannot be divided in two', counts(1, true), epsilonNano(1n)],
  ])('refuses %s', (_, shape, epsilon) => {
    expect(() => calibrateSparseVector(shape, epsilon)).toThrow(RangeError)
  })
})

describe('the privacy map', () => {
  const measurement: SparseVectorMeasurement = {
    ...counts(3, false),
    fractionBits: 1,
    thresholdScale: 7n,
    questionScale: 5n,
    loss: NO_LOSS,
  }

  it('is D / A + k c D / B, rounded up to 1e-9', () => {
    // 2/7 + 2 * 3 * 2/5 and 2/7 + 3 * 2/5.
    expect(sparseVectorPrivacyMap(measurement).epsilonNano).toBe(2_685_714_286n)
    expect(sparseVectorPrivacyMap({ ...measurement, monotonic: true }).epsilonNano).toBe(1_485_714_286n)
  })

  it('has the rho of any mechanism of its epsilon', () => {
    expect(sparseVectorRho(measurement)).toBe(pureRho(epsilonNano(2_685_714_286n)))
  })

  it('refuses scales of 0', () => {
    expect(() => sparseVectorPrivacyMap({ ...measurement, thresholdScale: 0n })).toThrow(RangeError)
    expect(() => sparseVectorPrivacyMap({ ...measurement, questionScale: 0n })).toThrow(RangeError)
  })
})

it('answers nothing once the positives are used up', () => {
  const measurement = calibrateSparseVector(counts(2, true), ONE)
  const question = { threshold: 0n, thresholdNoise: 0n, value: 1_000_000n }
  const ask = (positivesFound: number) =>
    compareWithThreshold(measurement, { ...question, positivesFound }, systemEntropy())
  expect(ask(1).above).toBe(true)
  for (const positivesFound of [2, 3, Number.NaN]) expect(() => ask(positivesFound)).toThrow(RangeError)
})

it('returns the gap to the noisy threshold, in output units, and nothing about a value below', () => {
  const measurement = calibrateSparseVector(counts(1, true), epsilonNano(1_000_000_000_000n))
  const source = systemEntropy()
  const thresholdNoise = drawThresholdNoise(measurement, source)
  const ask = (value: bigint) =>
    compareWithThreshold(measurement, { threshold: 100n, thresholdNoise, positivesFound: 0, value }, source)
  // Noise of a scale of 1/500 of a row.
  const above = ask(103n)
  expect(above.above && Math.abs(Number(above.gap) / 2 ** measurement.fractionBits - 3)).toBeLessThan(0.5)
  expect(ask(97n)).toEqual({ above: false })
})

/** Tails of the difference of two discrete Laplace noises, by summing its distribution. */
function differenceTail(a: number, b: number, beyond: number): number {
  const reach = 60 * Math.max(a, b)
  let tail = 0
  for (let n = beyond + 1; n <= reach; n += 1) tail += 2 * differenceMass(a, b, n)
  return tail
}

function differenceMass(a: number, b: number, n: number): number {
  const measurement = { thresholdScale: BigInt(a), questionScale: BigInt(b) } as SparseVectorMeasurement
  return sparseVectorMass(measurement, 0n, BigInt(n))
}

describe.each([
  [1, 1],
  [3, 3],
  [2, 5],
  [7, 3],
  [40, 41],
])('with scales %d and %d', (a, b) => {
  const measurement: SparseVectorMeasurement = {
    ...counts(1, true),
    fractionBits: 2,
    thresholdScale: BigInt(a),
    questionScale: BigInt(b),
    loss: NO_LOSS,
  }

  it('the mass is that of the convolution', () => {
    const mass = (value: number, scale: number) =>
      discreteLaplaceMass(BigInt(value), { numerator: BigInt(scale), denominator: 1n })
    for (const n of [0, 1, 2, 9, 50]) {
      let sum = 0
      for (let j = -2_000; j <= 2_000; j += 1) sum += mass(j, a) * mass(n - j, b)
      expect(differenceMass(a, b, n) / sum).toBeCloseTo(1, 10)
    }
    expect(sparseVectorMass(measurement, -4n, 3n)).toBe(differenceMass(a, b, 7))
    expect(sparseVectorMass(measurement, 4n, -1n)).toBe(0)
  })

  it.each([0.5, 0.95, 0.999])(
    'half-width and margin hold at confidence %d and are at most three units too wide',
    (confidence) => {
      const alpha = 1 - confidence
      const halfWidth = sparseVectorGapAccuracy(measurement, confidence).halfWidth * 4
      expect(Number.isInteger(halfWidth)).toBe(true)
      expect(differenceTail(a, b, halfWidth)).toBeLessThanOrEqual(alpha)
      expect(differenceTail(a, b, halfWidth - 4)).toBeGreaterThan(alpha)
      for (const questions of [1, 10, 1_000]) {
        const margin = sparseVectorMargin(measurement, confidence, questions) * 4
        // A right answer at a distance beyond the margin: the difference of the noises is at most the margin on that side.
        expect((questions * differenceTail(a, b, margin)) / 2).toBeLessThanOrEqual(alpha)
        if (questions > 1) expect((questions * differenceTail(a, b, margin - 4)) / 2).toBeGreaterThan(alpha)
      }
    },
  )

  it('the expected error is that of the distribution', () => {
    let mean = 0
    for (let n = 1; n <= 60 * Math.max(a, b); n += 1) mean += 2 * n * differenceMass(a, b, n)
    const { expectedAbsoluteError } = sparseVectorGapAccuracy(measurement, 0.95)
    expect(Math.abs(expectedAbsoluteError * 4 - mean)).toBeLessThan(0.5)
  })
})

it('on the grid that is used, the half-width is that of continuous noise', () => {
  const measurement = calibrateSparseVector(counts(1, true), ONE)
  // Two noises of scale 2 rows: (1 + t / 4) exp(-t / 2) = 0.05 at t = 2 * 3.8897201698674...
  const { halfWidth } = sparseVectorGapAccuracy(measurement, 0.95)
  expect((1 + halfWidth / 4) * Math.exp(-halfWidth / 2)).toBeCloseTo(0.05, 10)
  expect(() => sparseVectorGapAccuracy(measurement, 1)).toThrow(RangeError)
  expect(() => sparseVectorMargin(measurement, 0.95, 0)).toThrow(RangeError)
  expect(() => sparseVectorMargin(measurement, 0, 1)).toThrow(RangeError)
})

it('the margin grows with the logarithm of the number of questions, as in Dwork and Roth, and stays below theirs', () => {
  // Theorem 3.26 with c positives: 8 c (ln k + ln(2 c / beta)) / epsilon.
  for (const positives of [1, 5]) {
    const measurement = calibrateSparseVector(counts(positives, false), ONE)
    const theirs = (questions: number) =>
      8 * positives * (Math.log(questions) + Math.log((2 * positives) / 0.05))
    const margins = [10, 100, 1_000, 10_000].map((questions) =>
      sparseVectorMargin(measurement, 0.95, questions),
    )
    margins.forEach((margin, index) => {
      expect(margin).toBeLessThan(theirs(10 ** (index + 1)))
    })
    const steps = margins.slice(1).map((margin, index) => margin - (margins[index] ?? 0))
    const scale = Number(measurement.questionScale) / 2 ** measurement.fractionBits
    for (const step of steps) expect(step / (scale * Math.log(10))).toBeCloseTo(1, 0)
  }
})

describe('the distribution of whole sequences', () => {
  it('loses at most the price, nearly all of it at worst, and is the distribution that the formula states', async () => {
    const copy = await importCopy([COARSE])
    for (const scenario of scenarios) {
      const { measurement, distribution, price } = bind(copy, scenario)
      expect(price).toBeGreaterThan(1)
      for (const each of scenario.pairs) expect(largestLoss(distribution, each)).toBeLessThanOrEqual(price)
      expect(largestLoss(distribution, scenario.tight)).toBeGreaterThan(0.9 * price)
      expect(departureOf(distribution, measurement)).toBeLessThan(1e-6)
    }
  })
})

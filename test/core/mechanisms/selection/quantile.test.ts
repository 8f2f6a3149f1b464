import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { systemEntropy } from '../../../../src/core/mechanisms/samplers/entropy.ts'
import {
  exponentialPrivacyMap,
  exponentialRho,
} from '../../../../src/core/mechanisms/selection/exponential.ts'
import * as quantile from '../../../../src/core/mechanisms/selection/quantile.ts'
import {
  calibrateQuantile,
  extremeRank,
  maximumScore,
  minimumScore,
  percentileScore,
  quantileHalfWidth,
  type RankScore,
  rankDistance,
  selectQuantile,
  type ValueCounts,
} from '../../../../src/core/mechanisms/selection/quantile.ts'
import { epsilonNano } from '../../../../src/privacy/loss.ts'
import type { Neighbours } from '../../../../src/privacy/neighbours.ts'
import { numberFromRational } from '../../../../src/privacy/rational.ts'
import { scriptedSource } from '../scripted-source.ts'
import { anyEpsilon } from '../support.ts'
import { quantileMass } from './masses.ts'
import {
  ALWAYS_BIG,
  type BranchSource,
  DATASETS,
  departure,
  distributionOf,
  gridMeasurement,
  group,
  importQuantile,
  LOWER,
  largestDeparture,
  largestLoss,
  largestLossOfPeople,
  NEIGHBOURS,
  naiveDistribution,
  ONE,
  type Quantile,
  sensitivityOf,
  share,
  tightLoss,
  UPPER,
  values,
  WANTED,
} from './quantile-distributions.ts'

const median = percentileScore(1n, 2n)

const measure = (
  score: RankScore,
  lowerIndex: bigint,
  upperIndex: bigint,
  { neighbours = 'add-remove' as Neighbours, epsilon = ONE } = {},
) =>
  calibrateQuantile({ score, sensitivity: sensitivityOf(score, neighbours), lowerIndex, upperIndex }, epsilon)

describe('scores', () => {
  it('have the published distances', () => {
    // OpenDP, quantile_score_candidates/test.rs: data 0..99, median. It weighs rows at a candidate 0; here they count
    // as suits the candidate, so its figure is ours for the other rows.
    const published = [
      [20, 59],
      [33, 33],
      [40, 19],
      [50, 1],
      [72, 45],
      [100, 100],
    ] as const
    for (const [candidate, score] of published) {
      const below = BigInt(Math.min(candidate, 100))
      const equal = candidate < 100 ? 1n : 0n
      const above = 100n - below - equal
      expect(rankDistance(median, below, 0n, above)).toBe(BigInt(score))
      expect(rankDistance(median, below, equal, above)).toBe(BigInt(score) - equal)
    }
  })

  it('are in lowest terms, with the wanted rank', () => {
    expect(median).toEqual({ below: 1n, above: -1n, target: 0n })
    expect(percentileScore(95n, 100n)).toEqual({ below: 1n, above: -19n, target: 0n })
    expect(percentileScore(0n, 4n)).toEqual({ below: 1n, above: 0n, target: 0n })
    expect(percentileScore(4n, 4n)).toEqual({ below: 0n, above: -1n, target: 0n })
    expect(minimumScore(3n)).toEqual({ below: 1n, above: 0n, target: 3n })
    expect(maximumScore(3n)).toEqual({ below: 0n, above: -1n, target: -3n })
  })

  it('refuse a share outside 0 to 1 and a rank below 1', () => {
    for (const [numerator, denominator] of [
      [-1n, 2n],
      [3n, 2n],
      [0n, 0n],
    ] as const)
      expect(() => percentileScore(numerator, denominator)).toThrow(RangeError)
    expect(() => minimumScore(0n)).toThrow(RangeError)
    expect(() => maximumScore(0n)).toThrow(RangeError)
  })

  it('give 0 to the quantile itself, ties or not', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 0, max: 20 }),
        (rows, denominator, part) => {
          const numerator = part % (denominator + 1)
          const score = percentileScore(BigInt(numerator), BigInt(denominator))
          const sorted = rows.toSorted((a, b) => a - b)
          const rank = Math.max(1, Math.ceil((numerator * rows.length) / denominator))
          const quantile = sorted[rank - 1] ?? Number.NaN
          const count = (holds: (row: number) => boolean) => BigInt(rows.filter(holds).length)
          const distance = rankDistance(
            score,
            count((row) => row < quantile),
            count((row) => row === quantile),
            count((row) => row > quantile),
          )
          expect(distance).toBe(0n)
        },
      ),
    )
  })
})

describe('calibration', () => {
  it('is exact: exponent = epsilon / (2 sensitivity)', () => {
    const measurement = measure(median, -5n, 5n, { epsilon: epsilonNano(300_000_000n) })
    expect(measurement).toMatchObject({
      score: median,
      sensitivity: 1n,
      lowerIndex: -5n,
      upperIndex: 5n,
      exponent: { numerator: 3n, denominator: 20n },
      loss: { epsilonNano: 300_000_000n, deltaAtto: 0n },
    })
  })

  it('costs the requested loss, over the whole domain', () => {
    const shares = fc.tuple(fc.bigInt(0n, 1_000_000n), fc.constantFrom(...NEIGHBOURS), anyEpsilon)
    fc.assert(
      fc.property(shares, ([part, neighbours, epsilon]) => {
        const measurement = measure(percentileScore(part, 1_000_000n), 0n, 1n, { neighbours, epsilon })
        expect(exponentialPrivacyMap(measurement)).toEqual(measurement.loss)
      }),
    )
  })

  it('costs more for replaced rows if it was calibrated for one row more or fewer', () => {
    const measurement = measure(median, 0n, 9n)
    const replaced = { sensitivity: 2n, monotonic: false }
    expect(exponentialPrivacyMap({ ...measurement, ...replaced }).epsilonNano).toBe(2_000_000_000n)
    // Of a bounded range, computed with 60 digits.
    expect(exponentialRho(measurement)).toBe(123_301_561_483n)
    expect(exponentialRho({ ...measurement, ...replaced })).toBe(474_474_647_071n)
  })

  it('refuses an epsilon of 0, a score that does not rise, and a grid beyond the range of doubles', () => {
    expect(() => measure(median, 0n, 1n, { epsilon: epsilonNano(0n) })).toThrow(RangeError)
    expect(() => measure({ below: 1n, above: 1n, target: 0n }, 0n, 1n)).toThrow(RangeError)
    const grid = { lowerIndex: 0n, upperIndex: 1n }
    expect(() => calibrateQuantile({ score: median, sensitivity: 0n, ...grid }, ONE)).toThrow(RangeError)
    expect(() => measure(median, 1n, 0n)).toThrow(RangeError)
    expect(() => measure(median, 0n, 2n ** 53n)).toThrow(RangeError)
    expect(() => measure(median, -1n, 2n ** 53n - 1n)).toThrow(RangeError)
    expect(() => measure(median, 2n ** 53n, 2n ** 53n + 1n)).toThrow(RangeError)
    expect(() => measure(median, -(2n ** 53n) - 1n, 0n)).toThrow(RangeError)
    expect(measure(median, 1n, 2n ** 53n).upperIndex).toBe(2n ** 53n)
  })
})

describe('a selection', () => {
  const measurement = measure(median, 0n, 9n)

  it.each([
    ['below the grid', [-1, 3], [1, 1]],
    ['above the grid', [3, 10], [1, 1]],
    ['twice the same', [3, 3], [1, 1]],
    ['falling', [4, 3], [1, 1]],
    ['between grid points', [2.5], [1]],
    ['not a number', [Number.NaN], [1]],
    ['no rows', [3], [0]],
    ['part of a row', [3], [0.5]],
    ['rows that are not a number', [3], [Number.NaN]],
    ['more rows than a double counts', [3, 4], [2 ** 53 - 1, 1]],
    ['rows without an index', [3], [1, 1]],
    ['an index without rows', [3, 4], [1]],
  ])('refuses invalid values without describing them: %s', (_, indexes, counts) => {
    const message = 'a quantile needs increasing grid indexes and the rows at each'
    expect(() => selectQuantile(measurement, values(indexes, counts), scriptedSource([]))).toThrow(
      new RangeError(message),
    )
    expect(() => quantileMass(measurement, values(indexes, counts), 3n)).toThrow(new RangeError(message))
  })

  it('without rows is uniform over the grid', () => {
    for (let index = -1n; index <= 10n; index += 1n)
      expect(quantileMass(measurement, values([], []), index)).toBe(index < 0n || index > 9n ? 0 : 0.1)
  })

  it('reaches both ends of the largest grid', () => {
    const ends = measure(median, 1n, 2n ** 53n)
    const data = values([1, 2 ** 53], [1, 1])
    const total = [1n, 2n, 2n ** 53n - 1n, 2n ** 53n].map((index) => quantileMass(ends, data, index))
    for (const mass of total) expect(mass * 2 ** 53).toBeCloseTo(1, 10)
  })

  it('of a million distinct values has the rank it should', () => {
    const count = 1_000_000
    const large = measure(median, -(10n ** 12n), 10n ** 12n)
    const data: ValueCounts = {
      indexes: Float64Array.from({ length: count }, (_, index) => (index - count / 2) * 1000),
      counts: new Float64Array(count).fill(1),
    }
    const halfWidth = quantileHalfWidth(large, 1 - 1e-15)
    const rank = Number(selectQuantile(large, data, systemEntropy())) / 1000 + count / 2
    expect(Math.abs(rank - count / 2)).toBeLessThanOrEqual(halfWidth + 1)
  })
})

describe('the distribution', () => {
  let copy: Quantile
  beforeAll(async () => {
    copy = await importQuantile()
  })

  it('is that of a walk over all grid points', async () => {
    expect(largestDeparture(copy)).toBeLessThan(1e-12)
    expect(largestDeparture(await importQuantile(ALWAYS_BIG))).toBeLessThan(1e-12)
  })

  it('is that of a walk over all grid points, for random rows, shares and epsilons', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: LOWER, max: UPPER }), { maxLength: 30 }),
        fc.integer({ min: 1, max: 1000 }),
        fc.integer({ min: 0, max: 1000 }),
        fc.constantFrom(...NEIGHBOURS),
        fc.bigInt(1_000_000n, 10_000_000_000n),
        (rows, denominator, part, neighbours, epsilon) => {
          const wanted = share(part % (denominator + 1), denominator)
          const measurement = gridMeasurement(copy, wanted, neighbours, epsilonNano(epsilon))
          // The weights are in lowest terms: the naive distance is longer by this factor.
          const { below, above } = measurement.score
          const scaled = (numberFromRational(measurement.exponent) * Number(below - above)) / denominator
          const naive = naiveDistribution(rows, wanted, scaled)
          expect(departure(distributionOf(copy, measurement, group(rows)), naive)).toBeLessThan(1e-11)
          for (const [point, mass] of naive)
            expect(Math.abs(quantileMass(measurement, group(rows), point) - mass)).toBeLessThan(1e-11)
        },
      ),
      { numRuns: 300 },
    )
  })

  it.each(NEIGHBOURS)('loses at most epsilon between all small %s neighbours', (neighbours) => {
    expect(largestLoss(copy, neighbours)).toBeLessThanOrEqual(1 + 1e-12)
  })

  it.each(NEIGHBOURS)(
    'loses at most epsilon between %s neighbours that differ in a person with two rows',
    (neighbours) => {
      const loss = largestLossOfPeople(copy, neighbours)
      expect(loss).toBeLessThanOrEqual(1 + 1e-12)
      // Twice as much as noise for one row of each person would allow.
      expect(loss).toBeGreaterThan(0.6)
    },
  )

  it.each(NEIGHBOURS)('loses nearly all of epsilon for some %s neighbours', (neighbours) => {
    const loss = tightLoss(copy, neighbours)
    expect(loss).toBeLessThanOrEqual(1 + 1e-12)
    expect(loss).toBeGreaterThan(0.999)
  })
})

describe('distances', () => {
  /** Distances that the choice is given. */
  function distancesOf(copy: Quantile, score: RankScore, data: ValueCounts): readonly number[] {
    let given: readonly number[] = []
    const source: BranchSource = {
      below: () => 0,
      belowBig: () => 0n,
      choose: (distances) => {
        given = [...distances]
        return 0
      },
    }
    copy.selectQuantile(measure(score, 0n, 4n), data, source)
    return given
  }

  it.each([
    ['in doubles', [2 ** 31, 2 ** 31 - 1], percentileScore(999_999n, 1_000_000n)],
    ['in big integers', [2 ** 52, 2 ** 51 + 1], percentileScore(999_999n, 1_000_000n)],
    ['in big integers, with odd weights', [2 ** 52, 2 ** 51 + 1], percentileScore(1n, 3n)],
    ['of weights beyond doubles', [1, 2], percentileScore(1n, 2n ** 2000n)],
    ['of ranks beyond doubles', [1, 2], minimumScore(2n ** 60n)],
  ])('are exact up to 2^53 and stay there, %s', async (_, counts, score) => {
    const copy = await importQuantile()
    const [first = 0, second = 0] = counts
    const [a, b] = [BigInt(first), BigInt(second)]
    const exact = [
      rankDistance(score, 0n, 0n, a + b),
      rankDistance(score, 0n, a, b),
      rankDistance(score, a, 0n, b),
      rankDistance(score, a, b, 0n),
      rankDistance(score, a + b, 0n, 0n),
    ]
    const capped = exact.map((distance) => Number(distance > 2n ** 53n ? 2n ** 53n : distance))
    expect(distancesOf(copy, score, values([1, 3], counts))).toEqual(capped)
  })

  it('of weights beyond doubles are none without rows', async () => {
    const copy = await importQuantile()
    expect(distancesOf(copy, percentileScore(1n, 2n ** 2000n), values([], []))).toEqual([0])
  })
})

describe('accuracy', () => {
  it('covers the rank with the confidence stated, for every small dataset', () => {
    for (const wanted of WANTED)
      for (const epsilon of [300_000_000n, 1_000_000_000n, 5_000_000_000n])
        for (const confidence of [0.5, 0.95]) {
          const measurement = gridMeasurement(quantile, wanted, 'add-remove', epsilonNano(epsilon))
          const halfWidth = quantileHalfWidth(measurement, confidence)
          const { below, above } = measurement.score
          for (const rows of DATASETS.filter(({ length }) => length > 1)) {
            let within = 0
            for (let point = LOWER; point <= UPPER; point += 1) {
              const count = (holds: (row: number) => boolean) => rows.filter(holds).length
              const distance = wanted.distance(
                count((row) => row < point),
                count((row) => row === point),
                count((row) => row > point),
              )
              if (distance <= halfWidth * Number(below - above) + 1e-9)
                within += quantileMass(measurement, group(rows), BigInt(point))
            }
            expect(within).toBeGreaterThanOrEqual(confidence - 1e-12)
          }
        }
  })

  it('is in rows, and independent of the notation of the share', () => {
    const halves = measure(percentileScore(50n, 100n), 0n, 999_999n)
    expect(quantileHalfWidth(halves, 0.95)).toBe(quantileHalfWidth(measure(median, 0n, 999_999n), 0.95))
    // By hand: exp(-d / 2) 999999 * 19 <= 1 from d = 34 on; 33 units are 16.5 rows where a row below weighs 2 more.
    expect(quantileHalfWidth(halves, 0.95)).toBe(33 / 2)
  })

  it('refuses an invalid confidence', () => {
    for (const confidence of [0, 1, Number.NaN]) {
      expect(() => quantileHalfWidth(measure(median, 0n, 9n), confidence)).toThrow(RangeError)
      expect(() => extremeRank(10n, 1n, ONE, confidence)).toThrow(RangeError)
    }
  })
})

describe('an extreme', () => {
  const confidence = 0.9
  const points = BigInt(UPPER - LOWER + 1)
  const rank = extremeRank(points, 1n, ONE, confidence)

  /** The probability that a minimum of this rank has a row at or below it, or a maximum one at or above. */
  function reached(rankWanted: bigint, row: number, extreme: 'minimum' | 'maximum'): number {
    const score = extreme === 'minimum' ? minimumScore(rankWanted) : maximumScore(rankWanted)
    const measurement = measure(score, BigInt(LOWER), BigInt(UPPER))
    let probability = 0
    for (let point = LOWER; point <= UPPER; point += 1)
      if (extreme === 'minimum' ? point >= row : point <= row)
        probability += quantileMass(measurement, values([row], [Number(rank)]), BigInt(point))
    return probability
  }

  it('has a row beyond it with the confidence, wherever the rows are, and no smaller rank would do', () => {
    expect(rank).toBeGreaterThan(1n)
    for (let row = LOWER; row <= UPPER; row += 1) {
      expect(reached(rank, row, 'minimum')).toBeGreaterThanOrEqual(confidence)
      expect(reached(rank, row, 'maximum')).toBeGreaterThanOrEqual(confidence)
    }
    expect(reached(rank - 1n, UPPER, 'minimum')).toBeLessThan(confidence)
    expect(reached(rank - 1n, LOWER, 'maximum')).toBeLessThan(confidence)
  })

  it('asks for more rows the larger the grid, the smaller epsilon, the greater the confidence', () => {
    expect(extremeRank(1n, 1n, ONE, 0.999)).toBe(1n)
    expect(extremeRank(1_000_000n, 1n, ONE, 0.95)).toBe(34n)
    expect(extremeRank(2n ** 53n, 1n, ONE, 0.95)).toBe(80n)
    expect(extremeRank(1_000_000n, 1n, epsilonNano(100_000_000n), 0.95)).toBe(336n)
    expect(extremeRank(1_000_000n, 1n, ONE, 0.999)).toBe(42n)
  })
})

import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import * as quantile from '../../src/mechanisms/quantile.ts'
import {
  calibrateQuantile,
  extremeRank,
  maximumScore,
  minimumScore,
  percentileScore,
  type QuantileMeasurement,
  quantileAccuracy,
  quantileMass,
  quantilePrivacyMap,
  quantileRho,
  type RankScore,
  rankDistance,
  selectQuantile,
  type ValueCounts,
} from '../../src/mechanisms/quantile.ts'
import { systemEntropy } from '../../src/mechanisms/samplers/entropy.ts'
import type { UniformSource } from '../../src/mechanisms/samplers/uniform-source.ts'
import { epsilonNano, ONE_EPSILON_NANO } from '../../src/privacy/loss.ts'
import type { Neighbours } from '../../src/privacy/neighbours.ts'
import { numberFromRational, type Rational } from '../../src/privacy/rational.ts'
import { pureRho } from '../../src/privacy/zero-concentrated.ts'
import { importMechanism, type Mutation } from './mutated-source.ts'
import { scriptedSource } from './scripted-source.ts'
import { anyEpsilon } from './support.ts'

const NEIGHBOURS = ['add-remove', 'change-one'] as const
const ONE = epsilonNano(ONE_EPSILON_NANO)
const median = percentileScore(1n, 2n)

const measure = (
  score: RankScore,
  lowerIndex: bigint,
  upperIndex: bigint,
  { neighbours = 'add-remove' as Neighbours, epsilon = ONE } = {},
) =>
  calibrateQuantile({ score, sensitivity: sensitivityOf(score, neighbours), lowerIndex, upperIndex }, epsilon)

/** The weight of the row that is added or removed, or the difference of two weights if a row is replaced. */
function sensitivityOf({ below, above }: RankScore, neighbours: Neighbours): bigint {
  const [a, b] = [below, above].map((weight) => (weight < 0n ? -weight : weight))
  if (a === undefined || b === undefined) throw new Error('a score has two weights')
  if (neighbours === 'change-one') return a + b
  return a > b ? a : b
}

/** The grouped form of rows listed one by one. */
function group(rows: readonly number[]): ValueCounts {
  const distinct = [...new Set(rows)].sort((a, b) => a - b)
  return {
    indexes: Float64Array.from(distinct),
    counts: Float64Array.from(distinct, (value) => rows.filter((row) => row === value).length),
  }
}

const values = (indexes: readonly number[], counts: readonly number[]): ValueCounts => ({
  indexes: Float64Array.from(indexes),
  counts: Float64Array.from(counts),
})

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
      mechanism: 'exponential',
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
        expect(quantilePrivacyMap(measurement)).toEqual(measurement.loss)
        expect(quantilePrivacyMap(measurement, measurement)).toEqual(measurement.loss)
      }),
    )
  })

  it('costs more for replaced rows if it was calibrated for one row more or fewer', () => {
    const measurement = measure(median, 0n, 9n)
    const replaced = { sensitivity: 2n, monotonic: false }
    expect(quantilePrivacyMap(measurement, replaced).epsilonNano).toBe(2_000_000_000n)
    // epsilon^2 / 8.
    expect(quantileRho(measurement)).toBe(125_000_000_000n)
    expect(quantileRho(measurement, replaced)).toBe(500_000_000_000n)
    // epsilon tanh(epsilon / 2) at 10, of which 10^2 / 8 is more.
    const expensive = measure(median, 0n, 9n, { epsilon: epsilonNano(10_000_000_000n) })
    expect(quantileRho(expensive)).toBe(pureRho(epsilonNano(10_000_000_000n)))
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
    const { halfWidth } = quantileAccuracy(large, 1 - 1e-15)
    const rank = Number(selectQuantile(large, data, systemEntropy())) / 1000 + count / 2
    expect(Math.abs(rank - count / 2)).toBeLessThanOrEqual(halfWidth + 1)
  })
})

/*
 * The distribution of the real source, with the choice among intervals (whose distribution has tests of its own) replaced by a branch that
 * comes with its probability.
 */
type Quantile = typeof quantile

interface BranchSource extends UniformSource {
  choose(distances: Float64Array, multiplicities: Float64Array, exponent: Rational): number
}

const BRANCH_INSTEAD_OF_CHOICE = `
export * from './exponential-as-it-is.ts'
export const chooseExponentially = (distances, multiplicities, exponent, source) =>
  source.choose(distances, multiplicities, exponent)
`
const importQuantile = (...changes: readonly Mutation[]) =>
  importMechanism<Quantile>('quantile', changes, { exponential: BRANCH_INSTEAD_OF_CHOICE })

/** Sends small numbers through the path of large ones. */
const ALWAYS_BIG = { find: '> BigInt(LARGEST_DISTANCE))\n', replace: '> -1n)\n' }

/** The probability of each grid point drawn. */
function distributionOf(
  module: Quantile,
  measurement: QuantileMeasurement,
  data: ValueCounts,
): ReadonlyMap<bigint, number> {
  const distribution = new Map<bigint, number>()
  let weights: readonly number[] = [1]
  for (let chosen = 0; chosen < weights.length; chosen += 1) {
    let size = 1
    for (let within = 0; within < size; within += 1) {
      const below = (bound: number) => {
        size = bound
        return within
      }
      const source: BranchSource = {
        below,
        belowBig: (bound) => BigInt(below(Number(bound))),
        choose: (distances, multiplicities, exponent) => {
          weights = Array.from(
            distances,
            (distance, index) =>
              (multiplicities[index] ?? 0) * Math.exp(-numberFromRational(exponent) * distance),
          )
          return chosen
        },
      }
      const index = module.selectQuantile(measurement, data, source)
      const total = weights.reduce((sum, weight) => sum + weight, 0)
      distribution.set(index, (distribution.get(index) ?? 0) + (weights[chosen] ?? 0) / total / size)
    }
  }
  return distribution
}

/** A quantile, with its distance written without weights. */
interface Wanted {
  readonly name: string
  readonly score: (module: Quantile) => RankScore
  readonly distance: (below: number, equal: number, above: number) => number
}

const share = (numerator: number, denominator: number): Wanted => ({
  name: `${numerator}/${denominator}`,
  score: (module) => module.percentileScore(BigInt(numerator), BigInt(denominator)),
  distance: (below, equal, above) => {
    const wanted = numerator * (below + equal + above)
    return Math.max(0, denominator * below - wanted, wanted - denominator * (below + equal))
  },
})

const WANTED: readonly Wanted[] = [
  share(1, 2),
  share(9, 10),
  share(1, 4),
  share(0, 1),
  share(1, 1),
  {
    name: 'minimum of rank 2',
    score: (module) => module.minimumScore(2n),
    distance: (below, equal) => Math.max(0, below - 2, 2 - below - equal),
  },
  {
    name: 'maximum of rank 2',
    score: (module) => module.maximumScore(2n),
    distance: (_, equal, above) => Math.max(0, above - 2, 2 - above - equal),
  },
]

const LOWER = -2
const UPPER = 4

/** The same distribution, point by point from the rows themselves. */
function naiveDistribution(
  rows: readonly number[],
  wanted: Wanted,
  exponent: number,
): ReadonlyMap<bigint, number> {
  const weights = new Map<bigint, number>()
  let total = 0
  for (let point = LOWER; point <= UPPER; point += 1) {
    const count = (holds: (row: number) => boolean) => rows.filter(holds).length
    const distance = wanted.distance(
      count((row) => row < point),
      count((row) => row === point),
      count((row) => row > point),
    )
    const weight = Math.exp(-exponent * distance)
    weights.set(BigInt(point), weight)
    total += weight
  }
  return new Map([...weights].map(([point, weight]) => [point, weight / total]))
}

/** The largest difference between two distributions on the grid; draws outside the grid count as well. */
function departure(a: ReadonlyMap<bigint, number>, b: ReadonlyMap<bigint, number>): number {
  const points = new Set([...a.keys(), ...b.keys()])
  return Math.max(...[...points].map((point) => Math.abs((a.get(point) ?? 0) - (b.get(point) ?? 0))))
}

function gridMeasurement(module: Quantile, wanted: Wanted, neighbours: Neighbours, epsilon = ONE) {
  const score = wanted.score(module)
  const sensitivity = sensitivityOf(score, neighbours)
  const grid = { lowerIndex: BigInt(LOWER), upperIndex: BigInt(UPPER) }
  return module.calibrateQuantile({ score, sensitivity, ...grid }, epsilon)
}

/** Datasets with ties, gaps, rows at both ends, and none. */
const DATASETS: readonly (readonly number[])[] = [
  [],
  [0],
  [-2],
  [4],
  [-2, 4],
  [1, 1, 1],
  [-2, -2, 0, 4],
  [0, 1, 1, 3, 3, 3],
  [-2, -1, 0, 1, 2, 3, 4],
  [2, 2, 2, 2, 3, 4, 4, 4, 4, 4, 4],
]

/** Every dataset of up to `rows` rows on the points 0 to 3. */
function smallDatasets(rows: number): readonly (readonly number[])[] {
  if (rows === 0) return [[]]
  const smaller = smallDatasets(rows - 1)
  const longest = smaller.filter((dataset) => dataset.length === rows - 1)
  return [
    ...smaller,
    ...longest.flatMap((dataset) =>
      [0, 1, 2, 3].filter((row) => row >= (dataset.at(-1) ?? 0)).map((row) => [...dataset, row]),
    ),
  ]
}

const SMALL = smallDatasets(4)

function areNeighbours(a: readonly number[], b: readonly number[], neighbours: Neighbours): boolean {
  const moved = [0, 1, 2, 3].reduce((sum, point) => {
    const count = (rows: readonly number[]) => rows.filter((row) => row === point).length
    return sum + Math.abs(count(a) - count(b))
  }, 0)
  return neighbours === 'add-remove' ? moved === 1 : moved === 2 && a.length === b.length
}

/** The largest privacy loss between any two small neighbours, over epsilon. */
function largestLoss(module: Quantile, neighbours: Neighbours): number {
  let largest = 0
  for (const wanted of WANTED) {
    const measurement = gridMeasurement(module, wanted, neighbours)
    const distributions = SMALL.map((rows) => distributionOf(module, measurement, group(rows)))
    for (const [first, a] of distributions.entries())
      for (const [second, b] of distributions.entries())
        if (areNeighbours(SMALL[first] ?? [], SMALL[second] ?? [], neighbours))
          for (const [point, mass] of a) largest = Math.max(largest, Math.log(mass / (b.get(point) ?? 0)))
  }
  return largest
}

/**
 * Neighbours between which nearly all of epsilon is lost: nearly all mass is on points that lose as much as possible,
 * and the examined point gains as much as possible.
 */
function tightLoss(module: Quantile, neighbours: Neighbours): number {
  const [score, before, after, point]: [RankScore, ValueCounts, ValueCounts, bigint] =
    neighbours === 'add-remove'
      ? [
          module.percentileScore(9n, 10n),
          values([0, 999_998], [9, 1]),
          values([0, 999_998, 1_000_000], [9, 1, 1]),
          999_999n,
        ]
      : [
          module.percentileScore(1n, 2n),
          values([0, 999_998], [1, 1]),
          values([999_998, 1_000_000], [1, 1]),
          999_999n,
        ]
  const sensitivity = sensitivityOf(score, neighbours)
  const setting = { score, sensitivity, lowerIndex: 0n, upperIndex: 1_000_000n }
  const measurement = module.calibrateQuantile(setting, ONE)
  return Math.log(
    module.quantileMass(measurement, after, point) / module.quantileMass(measurement, before, point),
  )
}

/** The largest departure from the naive distribution, at an exponent that the naive side computes itself. */
function largestDeparture(module: Quantile): number {
  let largest = 0
  for (const wanted of WANTED)
    for (const neighbours of NEIGHBOURS) {
      const measurement = gridMeasurement(module, wanted, neighbours)
      const { below, above } = wanted.score(module)
      const [a, b] = [Math.abs(Number(below)), Math.abs(Number(above))]
      const exponent = 1 / (2 * (neighbours === 'add-remove' ? Math.max(a, b) : a + b))
      for (const rows of DATASETS) {
        const distribution = distributionOf(module, measurement, group(rows))
        largest = Math.max(largest, departure(distribution, naiveDistribution(rows, wanted, exponent)))
      }
    }
  return largest
}

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
          const { halfWidth } = quantileAccuracy(measurement, confidence)
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
    expect(quantileAccuracy(halves, 0.95)).toEqual(quantileAccuracy(measure(median, 0n, 999_999n), 0.95))
    // By hand: exp(-d / 2) 999999 * 19 <= 1 from d = 34 on; 33 units are 16.5 rows where a row below weighs 2 more.
    expect(quantileAccuracy(halves, 0.95).halfWidth).toBe(33 / 2)
  })

  it('refuses an invalid confidence', () => {
    for (const confidence of [0, 1, Number.NaN]) {
      expect(() => quantileAccuracy(measure(median, 0n, 9n), confidence)).toThrow(RangeError)
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

describe('every mutant breaks the distribution or the guarantee', () => {
  it.each([
    [
      'a row at the point weighs as one above, in doubles',
      'return Math.max(0, least, -most)',
      'return Math.abs(least)',
    ],
    ['rows at the point not among those below the next', 'rowsBelow += rowsEqual', ''],
    [
      'the points above the last value left out',
      'append(Number(upperIndex - lowerIndex + 1n), 0)',
      'if (length === 0) append(Number(upperIndex - lowerIndex + 1n), 0)',
    ],
    [
      'the upper end left out',
      'append(Number(upperIndex - lowerIndex + 1n), 0)',
      'append(Number(upperIndex - lowerIndex), 0)',
    ],
    ['a value counted as its own gap', 'append(offset, 0)', ''],
    [
      'an interval one point too long',
      'points[length] = end - covered',
      'points[length] = end - covered + 1',
    ],
    ['always the first point of an interval', '+ BigInt(source.below(length))', ''],
    ['offsets from zero', 'return measurement.lowerIndex + BigInt(offset)', 'return BigInt(offset)'],
    [
      'the share of the rows above',
      'below: share.denominator - share.numerator, above: -share.numerator',
      'below: share.numerator, above: share.numerator - share.denominator',
    ],
    [
      'a minimum from above',
      'return { below: 1n, above: 0n, target: rank }',
      'return { below: 0n, above: -1n, target: -rank }',
    ],
    ['a maximum of the next rank', 'target: -rank', 'target: -rank - 1n'],
    ['the target left out, in doubles', 'above * (rows - atOrBelow) - target', 'above * (rows - atOrBelow)'],
  ])('%s', async (_, find, replace) => {
    expect(largestDeparture(await importQuantile({ find, replace }))).toBeGreaterThan(1e-3)
  })

  it.each([
    [
      'a row at the point weighs as one above',
      'if (least > 0n) return least',
      'return least < 0n ? -least : least',
    ],
    ['no point above the quantile is too far', 'if (least > 0n) return least', ''],
    ['rows above counted with those at the point', 'BigInt(rows) - below - equal', 'BigInt(rows) - below'],
    ['the target left out', 'above * rowsAbove - target', 'above * rowsAbove'],
  ])('%s, in big integers', async (_, find, replace) => {
    expect(largestDeparture(await importQuantile(ALWAYS_BIG, { find, replace }))).toBeGreaterThan(1e-3)
  })

  it('scores taken for monotonic loses more than epsilon', async () => {
    const [find, replace] = ['monotonic: false, outcomes }', 'monotonic: true, outcomes }']
    const copy = await importQuantile({ find, replace })
    expect(Math.max(...NEIGHBOURS.map((neighbours) => tightLoss(copy, neighbours)))).toBeGreaterThan(1.05)
  })
})

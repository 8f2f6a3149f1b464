import type { UniformSource } from '../../../../src/core/mechanisms/samplers/uniform-source.ts'
import type * as quantile from '../../../../src/core/mechanisms/selection/quantile.ts'
import type {
  QuantileMeasurement,
  RankScore,
  ValueCounts,
} from '../../../../src/core/mechanisms/selection/quantile.ts'
import { epsilonNano, ONE_EPSILON_NANO } from '../../../../src/privacy/loss.ts'
import type { Neighbours } from '../../../../src/privacy/neighbours.ts'
import { numberFromRational, type Rational } from '../../../../src/privacy/rational.ts'
import { importMechanism, type Mutation } from '../mutated-source.ts'
import { quantileMass } from './masses.ts'

/*
 * The exact distribution of a quantile, from copies of the actual source. The choice among intervals is a branch with
 * its probability (it has exact tests of its own).
 */

export const NEIGHBOURS = ['add-remove', 'change-one'] as const
export const ONE = epsilonNano(ONE_EPSILON_NANO)
/** The weight of the row that is added or removed, or the difference of two weights if a row is replaced. */
export function sensitivityOf({ below, above }: RankScore, neighbours: Neighbours): bigint {
  const [a, b] = [below, above].map((weight) => (weight < 0n ? -weight : weight))
  if (a === undefined || b === undefined) throw new Error('a score has two weights')
  if (neighbours === 'change-one') return a + b
  return a > b ? a : b
}

/** The grouped form of rows listed one by one. */
export function group(rows: readonly number[]): ValueCounts {
  const distinct = [...new Set(rows)].sort((a, b) => a - b)
  return {
    indexes: Float64Array.from(distinct),
    counts: Float64Array.from(distinct, (value) => rows.filter((row) => row === value).length),
  }
}

export const values = (indexes: readonly number[], counts: readonly number[]): ValueCounts => ({
  indexes: Float64Array.from(indexes),
  counts: Float64Array.from(counts),
})

export type Quantile = typeof quantile

export interface BranchSource extends UniformSource {
  choose(distances: Float64Array, multiplicities: Float64Array, exponent: Rational): number
}

const BRANCH_INSTEAD_OF_CHOICE = `
export * from './exponential-as-it-is.ts'
export const exponentialAttempt = (distances, multiplicities, exponent, source) => () =>
  source.choose(distances, multiplicities, exponent)
`
export const importQuantile = (...changes: readonly Mutation[]) =>
  importMechanism<Quantile>('selection/quantile', changes, {
    'selection/exponential': BRANCH_INSTEAD_OF_CHOICE,
  })

/** Sends small numbers through the path of large ones. */
export const ALWAYS_BIG = { find: '> BigInt(LARGEST_DISTANCE))\n', replace: '> -1n)\n' }

/** The probability of each grid point drawn. */
export function distributionOf(
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

export const share = (numerator: number, denominator: number): Wanted => ({
  name: `${numerator}/${denominator}`,
  score: (module) => module.percentileScore(BigInt(numerator), BigInt(denominator)),
  distance: (below, equal, above) => {
    const wanted = numerator * (below + equal + above)
    return Math.max(0, denominator * below - wanted, wanted - denominator * (below + equal))
  },
})

export const WANTED: readonly Wanted[] = [
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

export const LOWER = -2
export const UPPER = 4

/** The same distribution, point by point from the rows themselves. */
export function naiveDistribution(
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
export function departure(a: ReadonlyMap<bigint, number>, b: ReadonlyMap<bigint, number>): number {
  const points = new Set([...a.keys(), ...b.keys()])
  return Math.max(...[...points].map((point) => Math.abs((a.get(point) ?? 0) - (b.get(point) ?? 0))))
}

export function gridMeasurement(module: Quantile, wanted: Wanted, neighbours: Neighbours, epsilon = ONE) {
  const score = wanted.score(module)
  const sensitivity = sensitivityOf(score, neighbours)
  const grid = { lowerIndex: BigInt(LOWER), upperIndex: BigInt(UPPER) }
  return module.calibrateQuantile({ score, sensitivity, ...grid }, epsilon)
}

/** Datasets with ties, gaps, rows at both ends, and none. */
export const DATASETS: readonly (readonly number[])[] = [
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
export function largestLoss(module: Quantile, neighbours: Neighbours): number {
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

/** Rows of one person that {@link largestLossOfPeople} considers. */
const ROWS_EACH = 2

/** Sets of rows with the rows of one person removed, one of each kind, the empty set of rows included. */
function withoutPerson(rows: readonly number[]): ReadonlySet<string> {
  let left = new Set([JSON.stringify(rows)])
  for (let removed = 0; removed < ROWS_EACH; removed += 1) {
    const fewer = [...left].flatMap((text) => {
      const own: number[] = JSON.parse(text)
      return own.map((_, place) => JSON.stringify(own.toSpliced(place, 1)))
    })
    left = new Set([...left, ...fewer])
  }
  return left
}

/**
 * The largest privacy loss between any two small datasets that differ in a person with up to two rows, over epsilon. A
 * person may be replaced by one with fewer rows.
 */
export function largestLossOfPeople(module: Quantile, neighbours: Neighbours): number {
  let largest = 0
  const remainders = SMALL.map(withoutPerson)
  for (const wanted of WANTED) {
    const score = wanted.score(module)
    const sensitivity = BigInt(ROWS_EACH) * sensitivityOf(score, neighbours)
    const grid = { lowerIndex: BigInt(LOWER), upperIndex: BigInt(UPPER) }
    const measurement = module.calibrateQuantile({ score, sensitivity, ...grid }, ONE)
    const distributions = SMALL.map((rows) => distributionOf(module, measurement, group(rows)))
    for (const [first, a] of distributions.entries())
      for (const [second, b] of distributions.entries()) {
        const areNeighbours =
          neighbours === 'add-remove'
            ? remainders[first]?.has(JSON.stringify(SMALL[second]))
            : !remainders[first]?.isDisjointFrom(remainders[second] ?? new Set())
        if (areNeighbours !== true) continue
        for (const [point, mass] of a) {
          const loss = Math.log(mass / (b.get(point) ?? 0))
          largest = Math.max(largest, Math.abs(loss))
        }
      }
  }
  return largest
}

/**
 * Neighbours between which nearly all of epsilon is lost: nearly all mass is on points that lose as much as possible,
 * and the examined point gains as much as possible.
 */
export function tightLoss(module: Quantile, neighbours: Neighbours): number {
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
    quantileMass(measurement, after, point, module) / quantileMass(measurement, before, point, module),
  )
}

/** The largest departure from the naive distribution, at an exponent that the naive side computes itself. */
export function largestDeparture(module: Quantile): number {
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

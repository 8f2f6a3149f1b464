import { discreteLaplaceMass } from '../../../../src/core/mechanisms/samplers/discrete-laplace.ts'
import type { UniformSource } from '../../../../src/core/mechanisms/samplers/uniform-source.ts'
import type * as keySelection from '../../../../src/core/mechanisms/selection/key-selection.ts'
import {
  type DeltaAtto,
  deltaAtto,
  deltaNumber,
  epsilonNano,
  epsilonNumber,
} from '../../../../src/privacy/loss.ts'
import type { Neighbours } from '../../../../src/privacy/neighbours.ts'
import { numberFromRational, type Rational } from '../../../../src/privacy/rational.ts'
import { importMechanism, type Mutation } from '../mutated-source.ts'
import { enumerateTapes } from '../samplers/enumerated-tape.ts'
import { personOfKeys, ROW_OF_ONE_VALUE } from '../support.ts'

/*
 * The exact distribution of a release of keys, from copies of the actual source. Each value of the noise is a branch
 * with its probability (the sampler has exact tests of its own), and coins are drawn two bits at a time.
 */

export type KeySelection = typeof keySelection

export const NEIGHBOURS = ['add-remove', 'change-one'] as const
export const epsilon = (value: number) => epsilonNano(BigInt(Math.round(value * 1e9)))
export const delta = (value: number) => deltaAtto(BigInt(Math.round(value * 1e9)) * 1_000_000_000n)

interface NoiseSource extends UniformSource {
  noise(scale: Rational): bigint
}

const BRANCH_INSTEAD_OF_SAMPLER = `
export * from './discrete-laplace-as-it-is.ts'
export const discreteLaplaceSampler = (scale, source) => () => source.noise(scale)
`
const FEW_BITS = { find: 'const BITS_AT_A_TIME = 32', replace: 'const BITS_AT_A_TIME = 2' }
/** The verification of the calibration, which is removed so that a mutant must be caught by its distribution. */
export const UNVERIFIED = ['keyCounts', 'keyPresence'].map((kind) => ({
  find: `requireWithin(${kind}PrivacyMap(measurement), measurement.loss)`,
  replace: '',
}))

export const importKeySelection = (...changes: readonly Mutation[]) =>
  importMechanism<KeySelection>('selection/key-selection', [FEW_BITS, ...changes], {
    'samplers/discrete-laplace': BRANCH_INSTEAD_OF_SAMPLER,
  })

type Distribution = ReadonlyMap<string, number>

/** Beyond it lies less than 1e-8 of the noise of scale 2, the largest used here. */
const REACH = 40

/** The joint distribution of the outcomes of keys with these counts; a count of 0 is a key that does not occur. */
export function countDistribution(
  module: KeySelection,
  measurement: keySelection.KeyCountMeasurement,
  counts: readonly number[],
): Distribution {
  const distribution = new Map<string, number>()
  const noises: number[] = []
  for (;;) {
    let [drawn, weight] = [0, 1]
    const none = (): never => {
      throw new Error('the sampler was replaced')
    }
    const source: NoiseSource = {
      below: none,
      belowBig: none,
      noise: (scale) => {
        if (drawn === noises.length) noises.push(-REACH)
        const noise = BigInt(noises[drawn] ?? 0)
        drawn += 1
        weight *= discreteLaplaceMass(noise, scale)
        return noise
      },
    }
    const kept = module.releaseKeyCounts(measurement, counts, source)
    const outcome = kept.map(({ key, noisyCount }) => `${key}: ${noisyCount}`).join(', ')
    distribution.set(outcome, (distribution.get(outcome) ?? 0) + weight)
    while (noises.at(-1) === REACH) noises.pop()
    const last = noises.pop()
    if (last === undefined) return distribution
    noises.push(last + 1)
  }
}

/** The distribution of the set of kept keys for these counts, over the explored tapes. */
function presenceDistribution(
  module: KeySelection,
  measurement: keySelection.KeyPresenceMeasurement,
  counts: readonly number[],
): { readonly masses: Distribution; readonly unexplored: number } {
  return enumerateTapes(
    (tape) => module.keyPresenceSampler(measurement, counts)(tape).join(', '),
    2 ** (counts.length > 1 ? -12 : -16),
  )
}

/** Desfontaines and others 2020, theorem 1, as the recursion that it solves. */
export function recursion(exponent: Rational, deltaOfKey: Rational): (count: number) => number {
  const [x, d] = [Math.exp(numberFromRational(exponent)), numberFromRational(deltaOfKey)]
  const known = [0]
  return (count) => {
    for (let n = known.length; n <= count; n += 1) {
      const previous = known[n - 1] ?? 0
      known.push(Math.min(x * previous + d, 1 - (1 - previous - d) / x, 1))
    }
    return known[count] ?? Number.NaN
  }
}

/**
 * The smallest delta for which these two distributions are (epsilon, delta)-indistinguishable, from the first to the
 * second.
 */
function hockeyStick(first: Distribution, second: Distribution, lost: number): number {
  let excess = 0
  for (const [outcome, mass] of first)
    excess += Math.max(0, mass - Math.exp(lost) * (second.get(outcome) ?? 0))
  return excess
}

/** The first delta is slightly above the cost of its threshold, the second slightly below the cost of a smaller one. */
export const SETTINGS = [
  { asked: epsilon(1), allowed: delta(0.0364) },
  { asked: epsilon(1.5), allowed: delta(0.18) },
  { asked: epsilon(2), allowed: delta(0.001) },
] as const

/** Counts of two keys, before and after one row is added, removed, or moved from the second key to the first. */
function* neighbouringCounts(neighbours: Neighbours, most: number): Generator<readonly [number[], number[]]> {
  for (let first = 0; first <= most; first += 1) {
    if (neighbours === 'add-remove') yield [[first], [first + 1]]
    else
      for (let second = 1; second <= most; second += 1)
        yield [
          [first, second],
          [first + 1, second - 1],
        ]
  }
}

/** The largest smallest delta over all neighbours, divided by the allowed delta: at most 1 if the guarantee holds. */
function largestExcess(
  neighbours: Neighbours,
  most: number,
  distribution: (counts: readonly number[]) => Distribution,
  { asked, allowed }: { readonly asked: ReturnType<typeof epsilon>; readonly allowed: DeltaAtto },
): number {
  let largest = 0
  const lost = epsilonNumber(asked)
  for (const [before, after] of neighbouringCounts(neighbours, most)) {
    const [a, b] = [distribution(before), distribution(after)]
    largest = Math.max(largest, hockeyStick(a, b, lost), hockeyStick(b, a, lost))
  }
  return largest / deltaNumber(allowed)
}

/** The distribution of two experiments that do not depend on each other. */
function product(a: Distribution, b: Distribution): Distribution {
  const distribution = new Map<string, number>()
  for (const [first, massFirst] of a)
    for (const [second, massSecond] of b) distribution.set(`${first} | ${second}`, massFirst * massSecond)
  return distribution
}

/** From the distribution of each key; another test shows that keys are independent. */
function excessOver(
  neighbours: Neighbours,
  most: number,
  distributionOfKey: (count: number) => Distribution,
  setting: (typeof SETTINGS)[number],
): number {
  const distributions = Array.from({ length: most + 2 }, (_, count) => distributionOfKey(count))
  const distribution = ([first = 0, second]: readonly number[]) => {
    const [a, b] = [distributions[first] ?? new Map(), distributions[second ?? -1]]
    return b === undefined ? a : product(a, b)
  }
  return largestExcess(neighbours, most, distribution, setting)
}

export function presenceExcess(module: KeySelection, neighbours: Neighbours): number {
  return Math.max(
    ...SETTINGS.map((setting) => {
      const measurement = module.calibrateKeyPresence(
        ROW_OF_ONE_VALUE[neighbours],
        setting.asked,
        setting.allowed,
      )
      const distributionOfKey = (count: number): Distribution => {
        const kept = module.keepProbability(measurement, count)
        return new Map([
          ['kept', kept],
          ['not kept', 1 - kept],
        ])
      }
      return excessOver(neighbours, Number(measurement.crossover) * 2 + 2, distributionOfKey, setting)
    }),
  )
}

export function countsExcess(
  module: KeySelection,
  neighbours: Neighbours,
  settings: readonly (typeof SETTINGS)[number][] = SETTINGS,
): number {
  return Math.max(
    ...settings.map((setting) => {
      const measurement = module.calibrateKeyCounts(
        ROW_OF_ONE_VALUE[neighbours],
        setting.asked,
        setting.allowed,
      )
      const distributionOfKey = (count: number) => countDistribution(module, measurement, [count])
      return excessOver(neighbours, neighbours === 'add-remove' ? 12 : 3, distributionOfKey, setting)
    }),
  )
}

/** Sets of at most `most` of the first `keys` keys, as one person may have. */
function setsOfKeys(keys: number, most: number): readonly (readonly number[])[] {
  const sets = Array.from({ length: 2 ** keys }, (_, set) =>
    Array.from({ length: keys }, (_unused, key) => key).filter((key) => ((set >> key) & 1) === 1),
  )
  return sets.filter((set) => set.length <= most)
}

/**
 * Counts of people before and after one person with up to `most` keys is added, removed or replaced, among up to two
 * other such people: for each pair of neighbours the keys whose count changes. The other keys have the same
 * distribution.
 */
function changesByPeople(neighbours: Neighbours, most: number): readonly (readonly [number, number][])[] {
  const keys = neighbours === 'add-remove' ? most : 2 * most
  const sets = setsOfKeys(keys, most)
  const changes = new Map<string, readonly [number, number][]>()
  for (const first of sets)
    for (const second of sets)
      for (const before of sets)
        for (const after of neighbours === 'add-remove' ? [[]] : sets) {
          const pairs = Array.from({ length: keys }, (_, key): [number, number] => {
            const others = [first, second].filter((set) => set.includes(key)).length
            return [others + (before.includes(key) ? 1 : 0), others + (after.includes(key) ? 1 : 0)]
          })
          const changed = pairs
            .filter(([here, there]) => here !== there)
            .sort((a, b) => a[0] - b[0] || a[1] - b[1])
          changes.set(JSON.stringify(changed), changed)
        }
  return [...changes.values()]
}

/** Outcomes of smaller probability are not followed further, and count fully. */
const NEGLIGIBLE = 1e-11

/** The smallest delta at this epsilon between two products of distributions, from the first to the second. */
function excessOfProduct(
  factors: readonly (readonly [Distribution, Distribution])[],
  lost: number,
  first = 1,
  second = 1,
): number {
  const [factor, ...others] = factors
  if (factor === undefined) return Math.max(0, first - Math.exp(lost) * second)
  if (first < NEGLIGIBLE) return first
  // Where nothing of the second is left, the rest of the first is excess.
  if (second === 0) return first
  let excess = 0
  for (const [outcome, mass] of factor[0])
    excess += excessOfProduct(others, lost, first * mass, second * (factor[1].get(outcome) ?? 0))
  return excess
}

/** The largest delta that tiny datasets of people with several keys cost at the epsilon asked, and the prices. */
export function peopleExcess(
  module: KeySelection,
  kind: 'counts' | 'presence',
  neighbours: Neighbours,
  keys: number,
): { readonly excess: number; readonly spent: number; readonly allowed: number } {
  // Noise of scale 1/2: a larger one has too many outcomes of four to six keys.
  const sensitivity = personOfKeys(BigInt(keys))[neighbours]
  const [asked, allowed] = [epsilon(2 * Number(sensitivity.l1)), delta(0.02)]
  const counts = module.calibrateKeyCounts(sensitivity, asked, allowed)
  const presence = module.calibrateKeyPresence(sensitivity, asked, allowed)
  const distributionOf = (count: number): Distribution => {
    if (kind === 'counts') return countDistribution(module, counts, [count])
    const kept = module.keepProbability(presence, count)
    return new Map([
      ['kept', kept],
      ['not kept', 1 - kept],
    ])
  }
  const distributions = [0, 1, 2, 3].map(distributionOf)
  const known = (count: number) => distributions[count] ?? new Map<string, number>()
  const excesses = changesByPeople(neighbours, keys).flatMap((changes) => {
    const forwards = changes.map(([here, there]) => [known(here), known(there)] as const)
    const backwards = changes.map(([here, there]) => [known(there), known(here)] as const)
    return [forwards, backwards].map((factors) => excessOfProduct(factors, epsilonNumber(asked)))
  })
  const price =
    kind === 'counts' ? module.keyCountsPrivacyMap(counts) : module.keyPresencePrivacyMap(presence)
  return { excess: Math.max(...excesses), spent: deltaNumber(price.deltaAtto), allowed: deltaNumber(allowed) }
}

/**
 * The largest difference of the distribution of noisy counts from the formula, with the threshold found by adding
 * masses up.
 */
export function countsDeparture(module: KeySelection): number {
  let largest = 0
  for (const neighbours of NEIGHBOURS)
    for (const { asked, allowed } of SETTINGS) {
      const measurement = module.calibrateKeyCounts(ROW_OF_ONE_VALUE[neighbours], asked, allowed)
      const scale = {
        numerator: neighbours === 'add-remove' ? 1_000_000_000n : 2_000_000_000n,
        denominator: asked,
      }
      let [threshold, tail] = [REACH, 0]
      while (threshold > 1) {
        tail += discreteLaplaceMass(BigInt(threshold - 2), scale)
        if (tail > deltaNumber(allowed)) break
        threshold -= 1
      }
      const formula = (count: number) =>
        Array.from({ length: 2 * REACH + 1 }, (_, index) => index - REACH)
          .filter((noise) => count > 0 && count + noise >= threshold)
          .map((noise) => [count + noise, discreteLaplaceMass(BigInt(noise), scale)] as const)
      for (const counts of [[1], [5], [0], [3, 4], [0, 2]]) {
        const distribution = countDistribution(module, measurement, counts)
        counts.forEach((count, key) => {
          // Each key by itself, and two together as the product.
          for (const [noisy, mass] of formula(count)) {
            const alone = sumOver(distribution, (outcome) => outcome.split(', ').includes(`${key}: ${noisy}`))
            largest = Math.max(largest, Math.abs(alone - mass))
          }
          const ever = sumOver(distribution, (outcome) =>
            outcome.split(', ').some((part) => part.startsWith(`${key}:`)),
          )
          const kept = formula(count).reduce((sum, [, mass]) => sum + mass, 0)
          largest = Math.max(largest, Math.abs(ever - kept))
        })
        const [first = 0, second = 0] = counts
        if (counts.length === 2)
          for (const [a, massA] of formula(first))
            for (const [b, massB] of formula(second))
              largest = Math.max(
                largest,
                Math.abs((distribution.get(`0: ${a}, 1: ${b}`) ?? 0) - massA * massB),
              )
      }
    }
  return largest
}

function sumOver(distribution: Distribution, holds: (outcome: string) => boolean): number {
  return [...distribution].reduce((sum, [outcome, mass]) => (holds(outcome) ? sum + mass : sum), 0)
}

/** Departure of the distribution of kept keys from the recursion, beyond the unexplored mass. */
export function presenceDeparture(module: KeySelection): number {
  let largest = 0
  for (const neighbours of NEIGHBOURS)
    for (const { asked, allowed } of SETTINGS) {
      const measurement = module.calibrateKeyPresence(ROW_OF_ONE_VALUE[neighbours], asked, allowed)
      const keys = neighbours === 'add-remove' ? 1n : 2n
      const keep = recursion(
        { numerator: asked, denominator: keys * 1_000_000_000n },
        { numerator: allowed, denominator: keys * 10n ** 18n },
      )
      const most = Number(measurement.crossover) * 2 + 2
      const single = Array.from({ length: most + 1 }, (_, count) => [count])
      for (const counts of [...single, [2, 3]]) {
        const { masses, unexplored } = presenceDistribution(module, measurement, counts)
        for (let subset = 0; subset < 2 ** counts.length; subset += 1) {
          const isKept = (key: number) => ((subset >> key) & 1) === 1
          const outcome = [...counts.keys()].filter(isKept).join(', ')
          const truth = counts.reduce(
            (product, count, key) => product * (isKept(key) ? keep(count) : 1 - keep(count)),
            1,
          )
          const mass = masses.get(outcome) ?? 0
          largest = Math.max(largest, mass - truth, truth - mass - unexplored)
        }
      }
    }
  return largest
}

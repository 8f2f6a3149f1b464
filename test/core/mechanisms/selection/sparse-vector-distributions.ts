import { discreteLaplaceMass } from '../../../../src/core/mechanisms/samplers/discrete-laplace.ts'
import type { UniformSource } from '../../../../src/core/mechanisms/samplers/uniform-source.ts'
import type {
  SparseVectorMeasurement,
  SparseVectorShape,
} from '../../../../src/core/mechanisms/selection/sparse-vector.ts'
import { epsilonNano } from '../../../../src/privacy/loss.ts'
import { importMechanism, type Mutation } from '../mutated-source.ts'
import { sparseVectorMass } from './masses.ts'

/*
 * The exact distribution of whole sequences of answers, from copies of the actual source. Each value of the noise is a
 * branch with its probability (the sampler has exact tests of its own), and the grid is so coarse that all outcomes are
 * enumerated.
 */

export const counts = (positives: number, monotonic: boolean): SparseVectorShape => ({
  positives,
  sensitivity: 1n,
  monotonic,
})
type Mechanism = typeof import('../../../../src/core/mechanisms/selection/sparse-vector.ts')

/** A source from which the copies' sampler draws whole noise values. */
interface NoiseTape extends UniformSource {
  noise(scale: bigint): bigint
}

const MASSES_INSTEAD_OF_SAMPLER = `
export const discreteLaplaceSampler = (scale, source) => () => {
  if (scale.denominator !== 1n) throw new RangeError('scales are whole')
  return source.noise(scale.numerator)
}
`
/** Scales of 2 output units or more instead of 2^40. */
export const COARSE = {
  find: 'fineFractionBits(thresholdNano, thresholdEpsilonNano), fineFractionBits(questionNano, questionEpsilonNano)',
  replace:
    '0, fineFractionBits(thresholdNano, thresholdEpsilonNano) - 39, fineFractionBits(questionNano, questionEpsilonNano) - 39',
}

export const importCopy = (mutations: readonly Mutation[]): Promise<Mechanism> =>
  importMechanism('selection/sparse-vector', mutations, {
    'samplers/discrete-laplace': MASSES_INSTEAD_OF_SAMPLER,
  })

/** Number of scales beyond which noise is ignored: less than 1e-9 of its mass. */
const REACH = 22

const masses = new Map<bigint, readonly (readonly [noise: bigint, mass: number])[]>()
function noiseDistribution(scale: bigint) {
  const known = masses.get(scale)
  if (known !== undefined) return known
  const reach = BigInt(REACH) * scale
  const distribution = Array.from({ length: Number(2n * reach + 1n) }, (_, index) => {
    const noise = BigInt(index) - reach
    return [noise, discreteLaplaceMass(noise, { numerator: scale, denominator: 1n })] as const
  })
  masses.set(scale, distribution)
  return distribution
}

/**
 * The probability of each outcome of an experiment that draws noise. The ignored mass is missing from the total of 1.
 */
function enumerateNoise(experiment: (tape: NoiseTape) => string): ReadonlyMap<string, number> {
  const outcomes = new Map<string, number>()
  const choices: number[] = []
  for (;;) {
    let position = 0
    let weight = 1
    const sizes: number[] = []
    const none = (): never => {
      throw new Error('the sampler was replaced')
    }
    const outcome = experiment({
      below: none,
      belowBig: none,
      noise(scale) {
        const distribution = noiseDistribution(scale)
        if (position === choices.length) choices.push(0)
        const [noise, mass] = distribution[choices[position] ?? 0] ?? [0n, 0]
        sizes.push(distribution.length)
        position += 1
        weight *= mass
        return noise
      },
    })
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + weight)
    for (;;) {
      const last = choices.pop()
      if (last === undefined) return outcomes
      if (last + 1 < (sizes[choices.length] ?? 0)) {
        choices.push(last + 1)
        break
      }
    }
  }
}

/** Threshold noises with their probabilities, and the distribution of an answer given one of them. */
interface Distribution {
  readonly thresholdNoises: readonly bigint[]
  readonly weights: readonly number[]
  /** For each outcome, its probability given each threshold noise; `undefined`: the sequence has ended. */
  answers(value: bigint, positivesFound: number): ReadonlyMap<string, readonly number[]> | undefined
}

const THRESHOLD = 10n

function distributionOf(mechanism: Mechanism, measurement: SparseVectorMeasurement): Distribution {
  const drawn = enumerateNoise((tape) => String(mechanism.drawThresholdNoise(measurement, tape)))
  const thresholdNoises = [...drawn.keys()].map(BigInt)
  const known = new Map<string, ReadonlyMap<string, readonly number[]> | undefined>()
  const answers = (value: bigint, positivesFound: number) => {
    const outcomes = new Map<string, number[]>()
    for (const [index, thresholdNoise] of thresholdNoises.entries()) {
      const question = { threshold: THRESHOLD, thresholdNoise, positivesFound, value }
      const given = enumerateNoise((tape) => {
        try {
          const answer = mechanism.compareWithThreshold(measurement, question, tape)
          return `${answer.above} ${'gap' in answer ? answer.gap : ''}`
        } catch {
          return 'ended'
        }
      })
      if (given.has('ended')) return undefined
      for (const [outcome, mass] of given) {
        const row = outcomes.get(outcome) ?? thresholdNoises.map(() => 0)
        row[index] = mass
        outcomes.set(outcome, row)
      }
    }
    return outcomes
  }
  return {
    thresholdNoises,
    weights: [...drawn.values()],
    answers(value, positivesFound) {
      const key = `${value} ${positivesFound}`
      if (!known.has(key)) known.set(key, answers(value, positivesFound))
      return known.get(key)
    },
  }
}

/** The values that a sequence of questions has on each of two neighbours. */
interface Neighbours {
  readonly values: readonly bigint[]
  readonly neighbours: readonly bigint[]
}

/** Largest probability of a sequence that was left out. */
const GIVEN_UP = 1e-8
/** Rarer transcripts are not examined: on both sides they are below this. */
const RARE = 1e-7

/** The examined part of all transcripts: answers below, with or without a gap, and answers with these gaps. */
const FOLLOWED = ['', -3, -1, 0, 1, 2, 5, 12].flatMap((gap) => [`true ${gap}`, `false ${gap}`])

/**
 * The largest privacy loss that a transcript shows for certain: the logarithm of its probability on one side over the
 * most that it can be on the other.
 */
export function largestLoss(distribution: Distribution, { values, neighbours }: Neighbours): number {
  let largest = 0
  const total = (row: readonly number[]) => row.reduce((sum, mass) => sum + mass, 0)
  const look = (one: readonly number[], other: readonly number[]) => {
    const [p, q] = [total(one), total(other)]
    largest = Math.max(largest, Math.log(p / (q + GIVEN_UP)), Math.log(q / (p + GIVEN_UP)))
  }
  const times = (row: readonly number[], given: readonly number[] | undefined) =>
    row.map((mass, index) => mass * (given?.[index] ?? 0))
  const walk = (question: number, found: number, one: readonly number[], other: readonly number[]) => {
    if (total(one) < RARE && total(other) < RARE) return
    const [value, neighbour] = [values[question], neighbours[question]]
    const [answers, answersOfNeighbour] =
      value === undefined || neighbour === undefined
        ? []
        : [distribution.answers(value, found), distribution.answers(neighbour, found)]
    if (answers === undefined || answersOfNeighbour === undefined) return look(one, other)
    for (const outcome of FOLLOWED) {
      if (!answers.has(outcome) && !answersOfNeighbour.has(outcome)) continue
      const positives = found + (outcome.startsWith('true') ? 1 : 0)
      walk(
        question + 1,
        positives,
        times(one, answers.get(outcome)),
        times(other, answersOfNeighbour.get(outcome)),
      )
    }
  }
  walk(0, 0, distribution.weights, distribution.weights)
  return largest
}

interface Scenario {
  readonly shape: SparseVectorShape
  readonly epsilonNano: bigint
  /** The sequence on which nearly all of epsilon is lost. */
  readonly tight: Neighbours
  readonly pairs: readonly Neighbours[]
}

/** `times` questions of one value, and how far each moves. */
const repeat = (times: number, value: bigint, move: bigint): readonly (readonly [bigint, bigint])[] =>
  Array.from({ length: times }, () => [value, move] as const)
const pair = (...questions: readonly (readonly [bigint, bigint])[]): Neighbours => ({
  values: questions.map(([value]) => value),
  neighbours: questions.map(([value, move]) => value + move),
})

function movesOf(monotonic: boolean, length: number): readonly (readonly bigint[])[] {
  const all = (moves: readonly bigint[]): readonly (readonly bigint[])[] =>
    Array.from({ length }).reduce<readonly (readonly bigint[])[]>(
      (lists) => lists.flatMap((list) => moves.map((move) => [...list, move])),
      [[]],
    )
  return monotonic ? [...all([0n, 1n]), ...all([0n, -1n])] : all([-1n, 0n, 1n])
}

const ofRows: readonly Scenario[] = [1, 2].flatMap((positives) =>
  [true, false].map((monotonic): Scenario => {
    const down = monotonic ? 0n : -1n
    // Many unlikely answers below push the threshold up; each answer above then needs its own noise to be high.
    const tight = pair(...repeat(6, 14n, 1n), ...repeat(positives, 10n, down), [10n, down])
    const sequences = [
      [10n, 10n, 10n],
      [12n, 8n, 11n],
    ]
    return {
      shape: counts(positives, monotonic),
      epsilonNano: 1_700_000_000n,
      tight,
      pairs: [
        tight,
        // Answers below cost nothing, however many there are.
        pair(...repeat(7, 12n, 1n)),
        pair(...repeat(7, 12n, -1n), [9n, monotonic ? -1n : 1n]),
        // The threshold's noise could not cover these if answers below revealed their gaps.
        pair(...[0n, 1n, 0n, 1n, 0n, 1n].map((move) => [10n, move] as const)),
        ...sequences.flatMap((values) =>
          movesOf(monotonic, values.length).map((moves) => ({
            values,
            neighbours: values.map((value, index) => value + (moves[index] ?? 0n)),
          })),
        ),
      ],
    }
  }),
)

/** The same with values as far from the threshold, and moves as large, as people with `rows` rows each make them. */
function ofPeople({ shape, epsilonNano: epsilon, tight, pairs }: Scenario, rows: bigint): Scenario {
  const scaled = (values: readonly bigint[]) => values.map((value) => THRESHOLD + rows * (value - THRESHOLD))
  const ofPeoplePair = ({ values, neighbours }: Neighbours): Neighbours => ({
    values: scaled(values),
    neighbours: scaled(neighbours),
  })
  return {
    shape: { ...shape, sensitivity: rows },
    epsilonNano: epsilon,
    tight: ofPeoplePair(tight),
    pairs: pairs.map(ofPeoplePair),
  }
}

export const scenarios: readonly Scenario[] = [
  ...ofRows,
  ...ofRows.filter(({ shape }) => shape.positives === 1).map((scenario) => ofPeople(scenario, 3n)),
]

export function bind(mechanism: Mechanism, { shape, epsilonNano: epsilon }: Scenario) {
  const measurement = mechanism.calibrateSparseVector(shape, epsilonNano(epsilon))
  return {
    measurement,
    distribution: distributionOf(mechanism, measurement),
    price: Number(mechanism.sparseVectorPrivacyMap(measurement).epsilonNano) / 1e9,
  }
}

/** Difference between the distribution of one answer and the formula. */
export function departureOf(distribution: Distribution, measurement: SparseVectorMeasurement): number {
  let largest = 0
  for (const value of [7n, 10n, 11n]) {
    const distance = (value - THRESHOLD) << BigInt(measurement.fractionBits)
    const answers = distribution.answers(value, 0) ?? new Map<string, readonly number[]>()
    const seen = (gap: number) =>
      (answers.get(`true ${gap}`) ?? []).reduce(
        (sum, mass, index) => sum + mass * (distribution.weights[index] ?? 0),
        0,
      )
    for (let gap = 0; gap <= 40; gap += 1) {
      const expected = sparseVectorMass(measurement, distance, BigInt(gap))
      largest = Math.max(largest, Math.abs(seen(gap) - expected))
    }
  }
  return largest
}

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { discreteLaplaceMass } from '../../src/mechanisms/samplers/discrete-laplace.ts'
import { systemEntropy } from '../../src/mechanisms/samplers/entropy.ts'
import type { UniformSource } from '../../src/mechanisms/samplers/uniform-source.ts'
import {
  calibrateSparseVector,
  compareWithThreshold,
  drawThresholdNoise,
  type SparseVectorMeasurement,
  type SparseVectorShape,
  sparseVectorGapAccuracy,
  sparseVectorMargin,
  sparseVectorMass,
  sparseVectorPrivacyMap,
  sparseVectorShares,
  sparseVectorZeroConcentratedMap,
} from '../../src/mechanisms/sparse-vector.ts'
import { epsilonNano, NO_LOSS } from '../../src/privacy/loss.ts'
import { pureRho } from '../../src/privacy/zero-concentrated.ts'
import { importMechanism, type Mutation } from './mutated-source.ts'
import { anyEpsilon } from './support.ts'

const ONE = epsilonNano(1_000_000_000n)
const counts = (positives: number, monotonic: boolean): SparseVectorShape => ({
  positives,
  sensitivity: 1n,
  monotonic,
})
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
    expect(sparseVectorZeroConcentratedMap(measurement)).toBe(pureRho(epsilonNano(2_685_714_286n)))
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

  it('expected error and standard deviation are those of the distribution', () => {
    let [mean, square] = [0, 0]
    for (let n = 1; n <= 60 * Math.max(a, b); n += 1) {
      mean += 2 * n * differenceMass(a, b, n)
      square += 2 * n * n * differenceMass(a, b, n)
    }
    const { expectedAbsoluteError, standardDeviation } = sparseVectorGapAccuracy(measurement, 0.95)
    expect(Math.abs(expectedAbsoluteError * 4 - mean)).toBeLessThan(0.5)
    expect((standardDeviation * 4) / Math.sqrt(square)).toBeCloseTo(1, 9)
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

/*
 * From here on: the distribution of whole sequences of answers, from copies of the actual source. Their sampler is
 * replaced by its distribution, which test/mechanisms/exact-distributions.ts proves, with a branch for each draw. Their
 * grid is so coarse that all outcomes can be explored.
 */

type Mechanism = typeof import('../../src/mechanisms/sparse-vector.ts')

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
const COARSE = { find: '1n << 40n', replace: '2n' }

const importCopy = (mutations: readonly Mutation[]): Promise<Mechanism> =>
  importMechanism('sparse-vector', mutations, { 'samplers/discrete-laplace': MASSES_INSTEAD_OF_SAMPLER })

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
function largestLoss(distribution: Distribution, { values, neighbours }: Neighbours): number {
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

const scenarios: readonly Scenario[] = [1, 2].flatMap((positives) =>
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

function bind(mechanism: Mechanism, { shape, epsilonNano: epsilon }: Scenario) {
  const measurement = mechanism.calibrateSparseVector(shape, epsilonNano(epsilon))
  return {
    measurement,
    distribution: distributionOf(mechanism, measurement),
    price: Number(mechanism.sparseVectorPrivacyMap(measurement).epsilonNano) / 1e9,
  }
}

/** Difference between the distribution of one answer and the formula. */
function departureOf(distribution: Distribution, measurement: SparseVectorMeasurement): number {
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

  const GAP = 'const gap = distance + questionNoise - thresholdNoise'
  const QUESTION_NOISE = 'discreteLaplaceSampler(rational(measurement.questionScale, 1n), source)()'

  it.each([
    [
      'question noise that does not grow with the positives',
      '* BigInt(positives) * sensitivity',
      '* sensitivity',
    ],
    ['the halved scale for questions that are not monotonic', '(monotonic ? 1n : 2n)', '1n'],
    ['the halved scale for the wrong questions', 'monotonic ? 1n : 2n', 'monotonic ? 2n : 1n'],
    ['no noise on the questions', QUESTION_NOISE, '0n'],
    ['no noise on the threshold', GAP, 'const gap = distance + questionNoise'],
    [
      'fresh noise of the threshold for each question',
      GAP,
      'const gap = distance + questionNoise - drawThresholdNoise(measurement, source)',
    ],
    [
      'the noisy value released in place of the gap',
      '? { above: true, gap }',
      '? { above: true, gap: gap + thresholdNoise }',
    ],
    ['the gap released for answers below', ': { above: false }', ': { above: false, gap }'],
    [
      'continuing after the last positive',
      'positivesFound < measurement.positives',
      'positivesFound <= measurement.positives',
    ],
    [
      "question noise of the threshold's scale",
      'rational(measurement.questionScale, 1n)',
      'rational(measurement.thresholdScale, 1n)',
    ],
    [
      'the value not brought onto the grid of the noise',
      GAP,
      'const gap = distance * 2n + questionNoise - thresholdNoise',
    ],
    ['half of the noise on the questions', GAP, 'const gap = distance + questionNoise / 2n - thresholdNoise'],
  ])('%s costs more than the price', async (_, find, replace) => {
    const copy = await importCopy([COARSE, { find, replace }])
    const tooDear = scenarios.some((scenario) => {
      const { distribution, price } = bind(copy, scenario)
      return scenario.pairs.some((each) => largestLoss(distribution, each) > price * 1.001)
    })
    expect(tooDear).toBe(true)
  })

  it.each([
    [
      "threshold noise of the question's scale",
      'rational(measurement.thresholdScale, 1n)',
      'rational(measurement.questionScale, 1n)',
    ],
    ['below where the value is above', 'gap >= 0n ?', 'gap < 0n ?'],
    ['above only where the gap is not 0', 'gap >= 0n ?', 'gap > 0n ?'],
    ['the value without the threshold', '(value - threshold) <<', 'value <<'],
    ['the threshold without the value', '(value - threshold) <<', '(threshold - value) <<'],
    ['another gap than was compared', '{ above: true, gap }', '{ above: true, gap: gap + 1n }'],
  ])("%s is another distribution than the formula's", async (_, find, replace) => {
    const copy = await importCopy([COARSE, { find, replace }])
    const departures = scenarios.map((scenario) => {
      const { distribution, measurement } = bind(copy, scenario)
      return departureOf(distribution, measurement)
    })
    expect(Math.max(...departures)).toBeGreaterThan(1e-3)
  })

  it.each([
    ['a scale rounded down', 'thresholdScale: divideRoundingUp(', 'thresholdScale: -1n + divideRoundingUp('],
    [
      'the whole epsilon for each noise',
      'const questionEpsilonNano = epsilonNano - thresholdEpsilonNano',
      'const questionEpsilonNano = epsilonNano',
    ],
    [
      'a grid that only one scale has',
      'questionScale: divideRoundingUp(questionNano << BigInt(fractionBits)',
      'questionScale: divideRoundingUp(questionNano',
    ],
  ])("%s fails the calibration's own verification", async (_, find, replace) => {
    const copy = await importCopy([{ find, replace }])
    expect(() =>
      scenarios.map(({ shape, epsilonNano: epsilon }) =>
        copy.calibrateSparseVector(shape, epsilonNano(epsilon)),
      ),
    ).toThrow('verification')
  })
})

import { discreteLaplaceMass } from '../../../../src/core/mechanisms/samplers/discrete-laplace.ts'
import type { NoisyMaxSetting, Selected } from '../../../../src/core/mechanisms/selection/noisy-max.ts'
import { epsilonNano, NO_LOSS } from '../../../../src/privacy/loss.ts'
import { numberFromRational, type Rational, rational } from '../../../../src/privacy/rational.ts'
import {
  exponentialMasses,
  permuteAndFlipMasses,
} from '../../../../src/studies/evaluation/selection-masses.ts'
import type { Samplers } from '../sampler-copy.ts'
import { type Enumeration, enumerateTapes } from '../samplers/enumerated-tape.ts'
import { acceptedOf, departure, type ExactDistribution, UNEXPLORED } from '../samplers/exact-distributions.ts'

/** Identifies an outcome: the candidates in order, each with its gap if there is one. */
export function outcomeOf(selected: readonly Selected[]): string {
  return selected
    .map(({ candidate, gap }) => (gap === undefined ? `${candidate}` : `${candidate}+${gap}`))
    .join(' ')
}

/** Every exact distribution of the selection mechanisms, and the privacy of their calibrations. */
export const SELECTION_DISTRIBUTIONS: readonly ExactDistribution[] = [
  ...[rational(0n, 1n), rational(1n, 2n), rational(1n, 1n), rational(5n, 2n), rational(7n, 3n)].map(
    coinDistribution,
  ),
  boundsDistribution(),
  permuteAndFlipDistribution([1n, -1n], rational(1n, 1n)),
  permuteAndFlipDistribution([0n, 1n, 2n], rational(1n, 1n)),
  permuteAndFlipDistribution([3n, 0n, 3n, 0n], rational(1n, 2n)),
  permuteAndFlipDistribution([0n, 1n, 3n, 2n], rational(5n, 3n)),
  permuteAndFlipDistribution([2n ** 60n, 2n ** 60n - 1n, 0n], rational(1n, 1n)),
  ...[1, 2, 3].map((k) => noisyOrderDistribution(k, false)),
  ...[1, 2].map((k) => noisyOrderDistribution(k, true)),
  fractionBitsDistribution(),
  permuteAndFlipRoundsDistribution(),
  scoreAttemptDistribution([0n, 1n, 1n, -2n], [1, 1, 1, 1], rational(1n, 2n)),
  scoreAttemptDistribution([2n ** 60n, 2n ** 60n - 1n, 0n, 2n ** 61n], [1, 1, 1, 0], rational(2n, 1n)),
  ...(['gumbel', 'exponential', 'laplace'] as const).flatMap((noise) =>
    [1, 2].flatMap((k) =>
      [true, false].map((monotonic) =>
        privacyDistribution({ noise, k, monotonic, gap: noise === 'laplace' }),
      ),
    ),
  ),
  // A person with several rows moves a count by more than 1.
  ...(['gumbel', 'exponential', 'laplace'] as const).flatMap((noise) =>
    [true, false].map((monotonic) =>
      privacyDistribution({ noise, k: 1, monotonic, gap: noise === 'laplace', sensitivity: 2n }),
    ),
  ),
  // Whole levels; a tail beyond the first bits; levels of several distances; shared distances; multiplicities of 0.
  exponentialDistribution([0, 1, 2], [1, 1, 1], rational(1n, 1n)),
  exponentialDistribution([0, 4, 9], [1, 3, 2], rational(1n, 1n), [4]),
  exponentialDistribution([2, 3, 5, 9, 4], [1, 2, 0, 3, 1], rational(1n, 3n)),
  exponentialDistribution([7, 8, 7, 1, 12], [1, 2, 2, 0, 5], rational(2n, 3n)),
  exponentialDistribution([2 ** 53, 2 ** 53 - 1, 0], [3, 1, 0], rational(3n, 2n)),
  gumbelRoundsDistribution(),
  noisyMaxNoise(),
  severalDistribution([0n, 1n, 1n], rational(1n, 1n), 0),
  severalDistribution([0n, 1n, 1n], rational(1n, 1n), 1),
  severalDistribution([-(2n ** 60n), 1n, 1n], rational(1n, 1n), 0),
]

function coinDistribution(x: Rational): ExactDistribution {
  const probability = Math.exp(-numberFromRational(x))
  return {
    name: `bernoulliExpUnbounded of ${x.numerator}/${x.denominator}`,
    violation: ({ unboundedCoin }) =>
      departure(
        enumerateTapes(
          (tape) => unboundedCoin.bernoulliExpUnbounded(x.numerator, x.denominator, tape),
          1e-11,
        ),
        (outcome) => (outcome ? probability : 1 - probability),
        [true, false],
      ),
  }
}

/**
 * Against fractions between which exp(-x) lies: two partial sums of its series, next to each other, in exact
 * arithmetic.
 */
function boundsDistribution(): ExactDistribution {
  return {
    name: 'the bounds of the exponential',
    violation: ({ bounds }) => {
      for (const bits of [0, 1, 4, 8, 53, 128])
        for (const [n, d] of [
          [0n, 1n],
          [1n, 10n ** 9n],
          [1n, 3n],
          [1n, 1n],
          [7n, 5n],
          [2n, 1n],
          [31n, 4n],
          [10n ** 17n + 1n, 10n ** 16n],
          [10n ** 30n, 1n],
        ] as const) {
          const { lower, upper } = bounds.exponentialBounds({ numerator: n, denominator: d }, bits)
          const what = `exp(-${n}/${d}) in ${bits} bits, ${lower} to ${upper},`
          if (upper - lower > 2n) return `${what} is loose`
          if (n > 100n * d) {
            if (lower !== 0n || upper !== 1n) return `${what} is not next to nothing`
            continue
          }
          const [below, above] = partialSums(n, d, 200n)
          const scale = 1n << BigInt(bits)
          if (lower * above.denominator > above.numerator * scale) return `${what} is too large`
          if (upper * below.denominator < below.numerator * scale) return `${what} is too small`
        }
      return undefined
    },
  }
}

/** The sums of (-n / d)^k / k! up to an odd and the following even order, beyond which the terms fall. */
function partialSums(n: bigint, d: bigint, order: bigint): [Rational, Rational] {
  let [sum, term, denominator, below] = [1n, 1n, 1n, 1n]
  for (let k = 1n; k <= order; k += 1n) {
    sum *= d * k
    term *= -n
    denominator *= d * k
    sum += term
    below = k === order - 1n ? sum * d * order : below
  }
  return [
    { numerator: below, denominator },
    { numerator: sum, denominator },
  ]
}

/** With few bits at a time, so that every uniform number can be tried, and is refined often. */
function exponentialDistribution(
  distances: readonly number[],
  multiplicities: readonly number[],
  exponent: Rational,
  bitsAtATime = [4, 8],
): ExactDistribution {
  return {
    name: `the exponential mechanism on ${distances} times ${multiplicities} at ${exponent.numerator}/${exponent.denominator}`,
    violation: ({ exponential }) => {
      const masses = exponentialMasses(distances, multiplicities, exponent)
      for (const bits of bitsAtATime) {
        const attempts = enumerateTapes(
          (tape) => exponential.exponentialAttempt(distances, multiplicities, exponent, tape, bits)(),
          1e-9,
        )
        const sentence = departure(
          acceptedOf(attempts),
          (index) => masses[index] ?? 0,
          distances.map((_, index) => index),
        )
        if (sentence !== undefined) return `with ${bits} bits, ${sentence}`
      }
      return undefined
    },
  }
}

function scoreAttemptDistribution(
  scores: readonly bigint[],
  available: readonly number[],
  exponent: Rational,
): ExactDistribution {
  const masses = massesOfScores(scores, available, exponent)
  return {
    name: `the exponential mechanism by rejection on ${scores}`,
    violation: ({ exponential }) =>
      departure(
        acceptedOf(
          enumerateTapes((tape) => exponential.scoreAttempt(scores, available, exponent, tape)(), 1e-11),
        ),
        (index) => masses[index] ?? 0,
        scores.keys(),
      ),
  }
}

function massesOfScores(
  scores: readonly bigint[],
  available: readonly number[],
  exponent: Rational,
): readonly number[] {
  const left = scores.filter((_, index) => available[index] === 1)
  const best = left.reduce((a, b) => (a > b ? a : b))
  const distances = scores.map((score) => (score > best ? 0 : Number(best - score)))
  return Array.from(
    exponentialMasses(
      distances.map((distance) => Math.min(distance, 2 ** 53)),
      available,
      exponent,
    ),
  )
}

/** Two choices, the second among the candidates that the first left, after this many attempts at each. */
function severalDistribution(
  scores: readonly bigint[],
  exponent: Rational,
  attempts: number,
): ExactDistribution {
  const far = scores.some((score) => score < -(2n ** 53n))
  return {
    name: `two choices of the exponential mechanism from ${scores} after ${attempts} attempts`,
    violation: ({ exponential }) => {
      const sentence = departure(
        enumerateTapes(
          (tape) => exponential.chooseByScores(scores, 2, exponent, tape, 4, attempts).join(' '),
          far ? 1e-6 : 1e-10,
        ),
        (outcome) => twoRounds(scores, outcome, (all, available) => massesOfScores(all, available, exponent)),
        [],
      )
      // By rejection, a second choice takes many attempts: a few in a hundred remain untried.
      return far && sentence?.endsWith(UNEXPLORED) ? undefined : sentence
    },
  }
}

/** The probability of `i j`: first i among all, then j among the rest. */
function twoRounds(
  scores: readonly bigint[],
  outcome: string,
  massesOf: (scores: readonly bigint[], available: readonly number[]) => readonly number[],
): number {
  const [first = -1, second = -1] = outcome.split(' ').map(Number)
  const rest = scores.map((_, index) => (index === first ? 0 : 1))
  const all = scores.map(() => 1)
  return (massesOf(scores, all)[first] ?? 0) * (massesOf(scores, rest)[second] ?? 0)
}

function permuteAndFlipDistribution(scores: readonly bigint[], exponent: Rational): ExactDistribution {
  const masses = permuteAndFlipMasses(scores, exponent)
  return {
    name: `permute-and-flip on ${scores} at ${exponent.numerator}/${exponent.denominator}`,
    violation: ({ permuteAndFlip }) =>
      departure(
        enumerateTapes((tape) => permuteAndFlip.permuteAndFlip(scores, exponent, tape), 1e-11),
        (index) => masses[index] ?? 0,
        scores.keys(),
      ),
  }
}

/** Every vector of small noise, so every pattern of ties, against the definition of the order and of the gap. */
function noisyOrderDistribution(k: number, gap: boolean): ExactDistribution {
  return {
    name: `the ${k} best of 4 ${gap ? 'with gaps' : 'without gaps'}`,
    violation: ({ noisyMax }) => {
      const setting = { fractionBits: 0, k, gap }
      for (const noise of vectors(4, [-2n, -1n, 0n, 1n, 2n])) {
        const found = outcomeOf(noisyMax.selectWithNoise(setting, [0n, 1n, 0n, -1n], inOrder(noise)))
        const noisy = noise.map((value, index) => value + ([0n, 1n, 0n, -1n][index] ?? 0n))
        const wanted = outcomeOf(bestByDefinition(noisy, k, gap))
        if (found !== wanted) return `${noisy} gives ${found} instead of ${wanted}`
      }
      return undefined
    },
  }
}

/** A gap is the amount by which a candidate could be lower and still be ahead of the next. */
function bestByDefinition(noisy: readonly bigint[], k: number, gap: boolean): Selected[] {
  const ahead = (a: number, b: number, less = 0n) => {
    const difference = (noisy[a] ?? 0n) - less - (noisy[b] ?? 0n)
    return difference > 0n || (difference === 0n && a < b)
  }
  const order = [...noisy.keys()].sort((a, b) => (ahead(a, b) ? -1 : 1))
  return order.slice(0, k).map((candidate, rank) => {
    if (!gap) return { candidate }
    let slack = 0n
    while (ahead(candidate, order[rank + 1] ?? -1, slack + 1n)) slack += 1n
    return { candidate, gap: slack }
  })
}

function* vectors(length: number, values: readonly bigint[]): Generator<readonly bigint[]> {
  if (length === 0) yield []
  else for (const rest of vectors(length - 1, values)) for (const value of values) yield [...rest, value]
}

/** All vectors of integers whose absolute values add up to at most `radius`. */
function* vectorsWithin(length: number, radius: bigint): Generator<readonly bigint[]> {
  if (length === 0) yield []
  else
    for (let value = -radius; value <= radius; value += 1n)
      for (const rest of vectorsWithin(length - 1, radius - (value < 0n ? -value : value)))
        yield [value, ...rest]
}

function inOrder(values: readonly bigint[]): () => bigint {
  let index = -1
  return () => {
    index += 1
    const value = values[index]
    if (value === undefined) throw new Error('more noise was drawn than there are candidates')
    return value
  }
}

function fractionBitsDistribution(): ExactDistribution {
  return {
    name: 'scores and gaps on a finer grid',
    violation: ({ noisyMax }) => {
      const cases = [
        [[3n, 2n], '0+8'],
        [[2n, 3n], '1+7'],
        [[2n, 2n], '0+0'],
      ] as const
      for (const [scores, wanted] of cases) {
        const found = outcomeOf(
          noisyMax.selectWithNoise({ fractionBits: 3, k: 1, gap: true }, scores, () => 0n),
        )
        if (found !== wanted) return `${scores} gives ${found} instead of ${wanted}`
      }
      return undefined
    },
  }
}

/** Report noisy max with Laplace noise as a whole, sampler and all, between two candidates. */
function noisyMaxNoise(): ExactDistribution {
  const scale = rational(1n, 1n)
  const scores = [1n, 0n] as const
  const mass = (noise: bigint) => discreteLaplaceMass(noise, scale)
  const probability = (outcome: string) => {
    const [candidate = 0n, gap = 0n] = outcome.split('+').map(BigInt)
    const handicap = candidate === 1n ? 1n : 0n
    const [own, rival] = candidate === 0n ? scores : [scores[1], scores[0]]
    let sum = 0
    for (let value = -60n; value <= 60n; value += 1n)
      sum += mass(value - own) * mass(value - gap - handicap - rival)
    return sum
  }
  return {
    name: 'report noisy max with discrete Laplace noise',
    violation: ({ noisyMax }) =>
      departure(
        enumerateTapes(
          (tape) =>
            outcomeOf(
              noisyMax.selectNoisyMax(
                { ...measurementOf({ noise: 'laplace', k: 1, gap: true, candidates: 2 }), scale },
                scores,
                tape,
              ),
            ),
          1e-10,
        ),
        probability,
        [],
      ),
  }
}

function measurementOf(setting: Pick<NoisyMaxSetting, 'noise' | 'k' | 'gap' | 'candidates'>) {
  return {
    ...setting,
    mechanism: 'noisy-max' as const,
    sensitivity: 1n,
    monotonic: true,
    fractionBits: 0,
    scale: rational(1n, 1n),
    loss: NO_LOSS,
  }
}

function permuteAndFlipRoundsDistribution(): ExactDistribution {
  const scores = [0n, 1n, 1n, -1n]
  const scale = rational(3n, 2n)
  const massesOf = (all: readonly bigint[], available: readonly number[]) => {
    const left = [...all.keys()].filter((index) => available[index] === 1)
    const masses = permuteAndFlipMasses(
      left.map((index) => all[index] ?? 0n),
      rational(scale.denominator, scale.numerator),
    )
    return all.map((_, index) => masses[left.indexOf(index)] ?? 0)
  }
  return {
    name: 'report noisy max with exponential noise, the best two',
    violation: ({ noisyMax }) =>
      departure(
        enumerateTapes(
          (tape) =>
            outcomeOf(
              noisyMax.selectNoisyMax(
                { ...measurementOf({ noise: 'exponential', k: 2, gap: false, candidates: 4 }), scale },
                scores,
                tape,
              ),
            ),
          1e-11,
        ),
        (outcome) => twoRounds(scores, outcome, massesOf),
        [],
      ),
  }
}

function gumbelRoundsDistribution(): ExactDistribution {
  const scores = [4n, 3n, 4n]
  const scale = rational(5n, 6n)
  const exponent = rational(scale.denominator, scale.numerator)
  return {
    name: 'report noisy max with Gumbel noise, the best two',
    violation: ({ noisyMax }) => {
      const setting = { noise: 'gumbel', k: 2, gap: false, candidates: 3 } as const
      const sentence = departure(
        enumerateTapes(
          (tape) => outcomeOf(noisyMax.selectNoisyMax({ ...measurementOf(setting), scale }, scores, tape)),
          1e-9,
        ),
        (outcome) => twoRounds(scores, outcome, (all, available) => massesOfScores(all, available, exponent)),
        [],
      )
      // The attempts after the first dozen: less than one in a thousand.
      return sentence?.endsWith(UNEXPLORED) ? undefined : sentence
    },
  }
}

/**
 * Checks the claim of a calibration on the distributions themselves: between neighbours, ties among their scores, no
 * outcome's probability changes by more than exp(epsilon), and that of some outcome changes by nearly that factor.
 */
function privacyDistribution(
  setting: Pick<NoisyMaxSetting, 'noise' | 'k' | 'gap' | 'monotonic'> & { readonly sensitivity?: bigint },
): ExactDistribution {
  const { noise, k, monotonic, sensitivity = 1n } = setting
  const epsilon = 2 * k * (monotonic ? 1 : 2) * Number(sensitivity)
  const up = monotonic ? 0n : -1n
  // With more than half of the candidates selected, moving the others costs less. So four, and few of their neighbours.
  const [scores, moves] =
    noise === 'laplace' && k === 2
      ? [
          [0n, 0n, 0n, 0n],
          [
            [up, 1n, 1n, up],
            [1n, up, 0n, 1n],
            [1n, 1n, up, up],
          ],
        ]
      : [
          [noise === 'laplace' ? 0n : 2n * sensitivity, 0n, 0n],
          [...vectors(3, monotonic ? [0n, sensitivity] : [-sensitivity, 0n, sensitivity])],
        ]
  return {
    name: `the price of the ${k} best with ${noise} noise, ${monotonic ? 'monotonic' : 'general'}, sensitivity ${sensitivity}`,
    violation: (samplers) => {
      const candidates = scores.length
      const distributionOf = distributionOfScores(samplers, { ...setting, sensitivity, candidates }, epsilon)
      const from = distributionOf(scores)
      let most = 0
      for (const move of moves) {
        const to = distributionOf(scores.map((score, index) => score + (move[index] ?? 0n)))
        for (const [one, other] of [
          [from, to],
          [to, from],
        ] as const)
          for (const [outcome, mass] of one.masses) {
            const otherAtMost = (other.masses.get(outcome) ?? 0) + other.unexplored
            if (mass > Math.exp(epsilon) * otherAtMost * (1 + 1e-9))
              return `${outcome} falls from ${mass} to ${otherAtMost} at ${move}`
            most = Math.max(most, Math.log(mass / otherAtMost))
          }
      }
      return most > 0.9 * epsilon ? undefined : `only ${most} of ${epsilon} is used`
    },
  }
}

function distributionOfScores(
  { noisyMax }: Samplers,
  setting: NoisyMaxSetting,
  epsilon: number,
): (scores: readonly bigint[]) => Enumeration<string> {
  const measurement = noisyMax.calibrateNoisyMax(setting, epsilonNano(BigInt(epsilon) * 1_000_000_000n))
  const { scale, fractionBits, k } = measurement
  switch (setting.noise) {
    case 'laplace':
      return (scores) => {
        // The calibrated noise, on the scores' own grid: the coarsest grid, on which every other outcome is a tie.
        const coarse = rational(scale.numerator, scale.denominator << BigInt(fractionBits))
        const masses = new Map<string, number>()
        let explored = 0
        for (const noise of vectorsWithin(scores.length, 12n)) {
          const mass = noise.reduce((product, value) => product * discreteLaplaceMass(value, coarse), 1)
          const outcome = outcomeOf(
            noisyMax.selectWithNoise({ ...measurement, fractionBits: 0 }, scores, inOrder(noise)),
          )
          masses.set(outcome, (masses.get(outcome) ?? 0) + mass)
          explored += mass
        }
        return { masses, unexplored: Math.max(0, 1 - explored) }
      }
    case 'exponential':
      return (scores) =>
        enumerateTapes((tape) => outcomeOf(noisyMax.selectNoisyMax(measurement, scores, tape)), 1e-12)
    case 'gumbel':
      return (scores) => {
        const exponent = rational(scale.denominator, scale.numerator)
        const massesOf = (all: readonly bigint[], available: readonly number[]) =>
          massesOfScores(all, available, exponent)
        const masses = new Map<string, number>()
        for (const first of scores.keys())
          if (k === 1) masses.set(`${first}`, massesOf(scores, [1, 1, 1])[first] ?? 0)
          else
            for (const second of scores.keys())
              if (second !== first)
                masses.set(`${first} ${second}`, twoRounds(scores, `${first} ${second}`, massesOf))
        return { masses, unexplored: 0 }
      }
  }
}

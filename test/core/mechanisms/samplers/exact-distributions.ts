import { discreteGaussianMass } from '../../../../src/core/mechanisms/samplers/discrete-gaussian.ts'
import { discreteLaplaceMass } from '../../../../src/core/mechanisms/samplers/discrete-laplace.ts'
import type { UniformSource } from '../../../../src/core/mechanisms/samplers/uniform-source.ts'
import type { Rational } from '../../../../src/privacy/rational.ts'
import type { Samplers } from '../sampler-copy.ts'
import { type EnumeratedTape, type Enumeration, enumerateTapes } from './enumerated-tape.ts'

/** A distribution that a sampler must follow exactly. */
export interface ExactDistribution {
  readonly name: string
  /** Describes the first departure from the distribution; `undefined` if there is none. */
  readonly violation: (samplers: Samplers) => string | undefined
}

/** Probabilities are sums of doubles, each a product of divisions by small integers; they are off by less than this. */
const ROUNDING = 1e-12

/** Power of the test: a departure below this is not detected. That of every mutant is far above. */
const MOST_UNEXPLORED = 1e-6

/** Ends the message of an inconclusive walk, which is not a departure. */
export const UNEXPLORED = 'left unexplored'

const INTEGERS_AROUND_ZERO = Array.from({ length: 61 }, (_, index) => BigInt(index - 30))

/** Exact distributions of all samplers. */
export const EXACT_DISTRIBUTIONS: readonly ExactDistribution[] = [
  ...[2, 3, 5, 7, 8, 9, 13, 16, 17, 31, 33, 100, 255, 256].map(uniformDistribution),
  ...[7n, 200n, 257n, 300n, 1000n, 4095n, 4096n].map(uniformBigDistribution),
  sharedWordDistribution('coins of one word', 4, [2, 2, 2, 2, 2, 2]),
  sharedWordDistribution('small bounds of one word', 8, [2, 3, 2]),
  sharedWordDistribution('small and large bounds in turn', 4, [2, 10, 2]),
  unsignedWordDistribution(),
  coinDistribution('bernoulliExpOfOne', Math.exp(-1), ({ coins }, source) => coins.bernoulliExpOfOne(source)),
  coinDistribution('bernoulliExpOfHalf', Math.exp(-0.5), ({ coins }, source) =>
    coins.bernoulliExpOfHalf(source),
  ),
  ...(
    [
      [0, 1],
      [1, 1],
      [1, 2],
      [1, 3],
      [2, 3],
      [1, 4],
      [3, 4],
    ] as const
  ).flatMap(([numerator, denominator]) => coinDistributions(numerator, denominator)),
  ...(
    [
      [1, 1],
      [2, 1],
      [3, 1],
      [3, 2],
      [1, 2],
      [2, 3],
    ] as const
  ).flatMap(([t, s]) => laplaceDistributions(t, s)),
  ...[1, 2, 3].map(gaussianDistribution),
  ...(
    [
      [1, 2, 1],
      [1, 1, 2],
      [1, 3, 1],
      [1, 4, 1],
    ] as const
  ).map(([n, d, t]) => gaussianOfSquareDistribution(n, d, t)),
]

/** Words of 4 bits, so that all can be enumerated. A bound takes part of a word, one word or two. */
function uniformDistribution(bound: number): ExactDistribution {
  return {
    name: `below(${bound}) from words of 4 bits`,
    violation: ({ uniform }) =>
      nonUniformity(
        bound,
        (tape) => uniform.uniformFromWords({ next: () => tape.below(16) }, 4).below(bound),
        16 ** -4,
      ),
  }
}

function uniformBigDistribution(bound: bigint): ExactDistribution {
  return {
    name: `belowBig(${bound}) from words of 4 bits`,
    violation: ({ uniform }) =>
      nonUniformity(
        Number(bound),
        (tape) => Number(uniform.uniformFromWords({ next: () => tape.below(16) }, 4).belowBig(bound)),
        16 ** -4,
      ),
  }
}

/** Several draws that may come from one word: jointly uniform, so no bit is used twice. */
function sharedWordDistribution(
  name: string,
  wordBits: number,
  bounds: readonly number[],
): ExactDistribution {
  return {
    name,
    violation: ({ uniform }) =>
      nonUniformity(
        bounds.reduce((product, bound) => product * bound, 1),
        (tape) => {
          const source = uniform.uniformFromWords({ next: () => tape.below(2 ** wordBits) }, wordBits)
          return bounds.reduce((index, bound) => index * bound + source.below(bound), 0)
        },
        2 ** (-4 * Math.min(wordBits, 5)),
      ),
  }
}

/** With whole words of 32 bits, where a sign bit could matter: the largest words give the largest integers. */
function unsignedWordDistribution(): ExactDistribution {
  return {
    name: 'words of 32 bits are unsigned',
    violation: ({ uniform }) => {
      for (const bits of [1n, 8n, 31n, 32n, 40n, 53n, 64n, 90n]) {
        let words = 0
        const next = () => {
          words += 1
          if (words > 100) throw new Error('all ones are rejected')
          return 0xffff_ffff
        }
        const source = uniform.uniformFromWords({ next })
        const bound = 1n << bits
        try {
          if (source.belowBig(bound) !== bound - 1n) return `all ones are not the largest below 2^${bits}`
          if (bits <= 53n && BigInt(source.below(Number(bound))) !== bound - 1n)
            return `all ones are not the largest below 2^${bits}`
        } catch (reason) {
          return String(reason)
        }
      }
      return undefined
    },
  }
}

/**
 * With rejection there are too many tapes to explore all, but it treats all integers alike: at any depth at which the
 * walk ends, they must have *equal* probabilities.
 */
function nonUniformity(
  bound: number,
  experiment: (tape: EnumeratedTape) => number,
  smallestWeight: number,
): string | undefined {
  const { masses, unexplored } = enumerateTapes(experiment, smallestWeight)
  const expected = (1 - unexplored) / bound
  for (let value = 0; value < bound; value += 1) {
    const mass = masses.get(value) ?? 0
    if (mass === 0 || Math.abs(mass - expected) > ROUNDING)
      return `${value} has ${mass} instead of ${expected}`
  }
  return masses.size === bound ? undefined : 'there are outcomes outside the bound'
}

function coinDistributions(numerator: number, denominator: number): ExactDistribution[] {
  const x = numerator / denominator
  const [bigNumerator, bigDenominator] = [BigInt(numerator), BigInt(denominator)]
  const fraction = `${numerator}/${denominator}`
  const distributions = [
    coinDistribution(`bernoulliExp of ${fraction}`, Math.exp(-x), ({ coins }, source) =>
      coins.bernoulliExp(numerator, denominator, source),
    ),
    coinDistribution(`bernoulliExpBig of ${fraction}`, Math.exp(-x), ({ coins }, source) =>
      coins.bernoulliExpBig(bigNumerator, bigDenominator, source),
    ),
  ]
  // Two draws for every step: the tapes of 3/4 are too many.
  if (numerator === 3) return distributions
  return [
    ...distributions,
    coinDistribution(`bernoulliExpOfHalfSquare of ${fraction}`, Math.exp((-x * x) / 2), ({ coins }, source) =>
      coins.bernoulliExpOfHalfSquare(numerator, denominator, source),
    ),
  ]
}

function coinDistribution(
  name: string,
  probability: number,
  coin: (samplers: Samplers, source: UniformSource) => boolean,
): ExactDistribution {
  return {
    name,
    violation: (samplers) =>
      departure(
        enumerateTapes((tape) => coin(samplers, tape), 1e-11),
        (outcome) => (outcome ? probability : 1 - probability),
        [true, false],
      ),
  }
}

function laplaceDistributions(t: number, s: number): ExactDistribution[] {
  const [bigT, bigS] = [BigInt(t), BigInt(s)]
  const mass = (value: bigint) => discreteLaplaceMass(value, { numerator: bigT, denominator: bigS })
  return [
    attemptDistribution(`discrete Laplace of scale ${t}/${s}, in doubles`, mass, ({ laplace }, tape) =>
      laplace.laplaceAttemptInDoubles(t, s, tape),
    ),
    attemptDistribution(`discrete Laplace of scale ${t}/${s}, in big integers`, mass, ({ laplace }, tape) =>
      laplace.laplaceAttemptInBigInts(bigT, bigS, tape),
    ),
  ]
}

function gaussianDistribution(sigma: number): ExactDistribution {
  const square: Rational = { numerator: BigInt(sigma) ** 2n, denominator: 1n }
  return attemptDistribution(
    `discrete Gaussian of sigma ${sigma}, in doubles`,
    (value) => discreteGaussianMass(value, square),
    ({ gaussian }, tape) => gaussian.gaussianAttemptInDoubles(sigma, tape),
  )
}

function gaussianOfSquareDistribution(n: number, d: number, t: number): ExactDistribution {
  const square: Rational = { numerator: BigInt(n), denominator: BigInt(d) }
  return attemptDistribution(
    `discrete Gaussian of sigma^2 ${n}/${d}, in big integers`,
    (value) => discreteGaussianMass(value, square),
    ({ gaussian }, tape) => gaussian.gaussianAttemptInBigInts(square, BigInt(t), tape),
  )
}

/** The distribution of an accepted attempt. */
function attemptDistribution(
  name: string,
  mass: (value: bigint) => number,
  attempt: (samplers: Samplers, tape: EnumeratedTape) => bigint | undefined,
): ExactDistribution {
  return {
    name,
    violation: (samplers) =>
      departure(
        acceptedOf(enumerateTapes((tape) => attempt(samplers, tape), 1e-10)),
        mass,
        INTEGERS_AROUND_ZERO,
      ),
  }
}

/** The enumeration of repeating an attempt until it is accepted. */
export function acceptedOf<T>({ masses, unexplored }: Enumeration<T | undefined>): Enumeration<T> {
  // Unexplored attempts may be accepted or not. If all of them are counted as accepted, no mass is overstated.
  const accepted = 1 - (masses.get(undefined) ?? 0)
  const conditional = new Map<T, number>()
  for (const [value, mass] of masses) if (value !== undefined) conditional.set(value, mass / accepted)
  return { masses: conditional, unexplored: unexplored / accepted }
}

/**
 * Checks that no outcome exceeds its probability, that none falls short by more than the unexplored mass, and that this
 * mass is small.
 */
export function departure<T>(
  { masses, unexplored }: Enumeration<T>,
  probability: (outcome: T) => number,
  outcomes: Iterable<T>,
): string | undefined {
  for (const outcome of new Set([...outcomes, ...masses.keys()])) {
    const mass = masses.get(outcome) ?? 0
    const truth = probability(outcome)
    if (mass > truth + ROUNDING) return `${outcome} has ${mass}, above ${truth}`
    if (truth - mass > unexplored + ROUNDING) return `${outcome} has ${mass}, below ${truth}`
  }
  return unexplored > MOST_UNEXPLORED ? `${unexplored} is ${UNEXPLORED}` : undefined
}

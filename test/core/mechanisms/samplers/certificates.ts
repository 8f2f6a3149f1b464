import type { UniformSource } from '../../../../src/core/mechanisms/samplers/uniform-source.ts'
import { type Rational, rational } from '../../../../src/privacy/rational.ts'
import { changedTexts, type SourceChange, withChangedSource } from '../../../mutants/changed-source.ts'
import { fileWith, sourceFile, sourceText } from '../../../mutants/source-places.ts'
import {
  complement,
  contains,
  exponential,
  fraction,
  gaussianMasses,
  type Interval,
  laplaceMass,
} from './closed-forms.ts'
import { CERTAIN, type EnumeratedTape, type ExactEnumeration, enumerateExactly } from './enumerated-tape.ts'

/*
 * Certificates of the samplers. The decision tree of a sampler is expanded as far as its branches have a probability of
 * at least 2^-bits. That gives, in integers, a lower and an upper bound of the probability of each outcome, and the closed
 * form must lie between them. Trees are nested: a uniform integer is expanded over words of 4 bits; above it, a draw is one
 * branch with as many sides as its bound, and a coin within another sampler is one branch with its certified bounds. In
 * the coins, a comparison of a draw is one branch with two sides.
 */

/** The modules that certificates examine. */
export interface CertifiedSamplers {
  readonly uniform: typeof import('../../../../src/core/mechanisms/samplers/uniform-integers.ts')
  /** As they are written, for a tape with a branch for each draw. */
  readonly plainCoins: typeof import('../../../../src/core/mechanisms/samplers/bernoulli.ts')
  /** With a branch for each comparison. */
  readonly coins: typeof import('../../../../src/core/mechanisms/samplers/bernoulli.ts')
  /** These flip each coin as one branch. */
  readonly unboundedCoin: typeof import('../../../../src/core/mechanisms/samplers/bernoulli-unbounded.ts')
  readonly laplace: typeof import('../../../../src/core/mechanisms/samplers/discrete-laplace.ts')
  readonly gaussian: typeof import('../../../../src/core/mechanisms/samplers/discrete-gaussian.ts')
}

const COINS = 'core/mechanisms/samplers/bernoulli.ts'

/**
 * Imports the samplers with these changes.
 * @throws Error unless the text of each change occurs exactly once
 */
export function importCertified(changes: readonly SourceChange[]): Promise<CertifiedSamplers> {
  const file = sourceFile(COINS)
  const ofCoins = changes.filter(({ find, file: name }) => fileWith(find, name) === file)
  const coins = changedTexts(ofCoins).get(file) ?? sourceText(file)
  return withChangedSource(
    changes.filter((change) => !ofCoins.includes(change)),
    { [COINS]: withBranches(coins) },
    async (load) => {
      const branching = await load<{ readonly ofBranches: CertifiedSamplers['coins'] }>(COINS)
      return {
        uniform: await load('core/mechanisms/samplers/uniform-integers.ts'),
        plainCoins: await plainCoins(ofCoins),
        coins: branching.ofBranches,
        unboundedCoin: await load('core/mechanisms/samplers/bernoulli-unbounded.ts'),
        laplace: await load('core/mechanisms/samplers/discrete-laplace.ts'),
        gaussian: await load('core/mechanisms/samplers/discrete-gaussian.ts'),
      }
    },
  )
}

function plainCoins(changes: readonly SourceChange[]): Promise<CertifiedSamplers['coins']> {
  return withChangedSource(changes, {}, (load) => load(COINS))
}

/** The comparison of a draw, such as `source.below(coin) === 0`. */
const COMPARISON = /source\.below(?:Big)?\(([^()]+)\) (<=|<|===|>=|>) (\w+)/g

/** The text of the coins with a branch for each comparison; what it exports flips the whole coin as one branch. */
function withBranches(text: string): string {
  const names = [...text.matchAll(/^export function (\w+)/gm)].map(([, name = '']) => name)
  return `${text
    .replaceAll(/^export function/gm, 'function')
    .replaceAll(COMPARISON, "source.compare($1, '$2', $3)")}
export const ofBranches = { ${names.join(', ')} }
const flipped = (name) => (...args) => {
  const source = args.pop()
  return source.flip(name + ' ' + args.join('/'), (own) => ofBranches[name](...args, own))
}
${names.map((name) => `const flipped_${name} = flipped('${name}')`).join('\n')}
export { ${names.map((name) => `flipped_${name} as ${name}`).join(', ')} }
`
}

/** One certificate: bounds of the probabilities of all outcomes, and their closed forms. */
export interface Certificate {
  readonly name: string
  /** All bounds must be at most 2^-tightness apart. */
  readonly tightness: number
  /** True for those that take little time, which `npm test` checks. */
  readonly quick: boolean
  readonly examine: (samplers: CertifiedSamplers) => Examination
}

/** What an expansion shows: outcomes, the bounds of their probabilities, and the closed forms. */
type Examination = readonly {
  readonly outcome: string
  readonly bounds: Interval
  readonly form: Interval
}[]

/** Describes what contradicts a certificate; `undefined` if nothing does. */
export function violationOf(certificate: Certificate, samplers: CertifiedSamplers): string | undefined {
  const examination = certificate.examine(samplers)
  const wrong = examination.find(({ bounds, form }) => !contains(bounds, form))
  if (wrong !== undefined)
    return `${certificate.name}: the probability of ${wrong.outcome} is not the closed form`
  return tightnessOf(examination) < certificate.tightness
    ? `${certificate.name}: the bounds are too wide`
    : undefined
}

/** The largest b for which all bounds are at most 2^-b apart. */
function tightnessOf(examination: Examination): number {
  const widest = examination.reduce((most, { bounds }) => {
    const width = bounds.upper - bounds.lower
    return width > most ? width : most
  }, 0n)
  return CERTAIN.toString(2).length - 1 - (widest === 0n ? 0 : widest.toString(2).length)
}

function examine<T>(
  { masses, unexplored }: ExactEnumeration<T>,
  form: (outcome: T) => Interval,
  outcomes: readonly T[],
): Examination {
  return [...new Set([...outcomes, ...masses.keys()])].map((outcome) => {
    const lower = masses.get(outcome) ?? 0n
    return { outcome: String(outcome), bounds: { lower, upper: lower + unexplored }, form: form(outcome) }
  })
}

/** The bounds among accepted attempts: all that is unexplored may be rejected, or this outcome. */
function examineAccepted(
  { masses, unexplored }: ExactEnumeration<bigint | undefined>,
  form: (outcome: bigint) => Interval,
  outcomes: readonly bigint[],
): Examination {
  const most = CERTAIN - (masses.get(undefined) ?? 0n)
  const found = [...masses.keys()].filter((value) => value !== undefined)
  return [...new Set([...outcomes, ...found])].map((outcome) => {
    const mass = masses.get(outcome) ?? 0n
    return {
      outcome: String(outcome),
      bounds: {
        lower: (mass * CERTAIN) / most,
        upper: ((mass + unexplored) * CERTAIN) / most + 1n,
      },
      form: form(outcome),
    }
  })
}

const WORD_BITS = 4

/** Runs an experiment with uniform integers from words of 4 bits. A bound takes a part of a word, one word or more. */
function fromWords<T>(
  { uniform }: CertifiedSamplers,
  bits: number,
  experiment: (source: UniformSource) => T,
): ExactEnumeration<T> {
  return enumerateExactly(
    (tape) => experiment(uniform.uniformFromWords({ next: () => tape.below(2 ** WORD_BITS) }, WORD_BITS)),
    bits,
  )
}

/** The tapes that end within the bits: what does not is rejected. */
function endedIn({ masses, unexplored }: ExactEnumeration<bigint>): ExactEnumeration<bigint | undefined> {
  return { masses: new Map<bigint | undefined, bigint>([...masses, [undefined, unexplored]]), unexplored: 0n }
}

/**
 * All integers below a bound are equally likely, also among the tapes that end within the bits, which is exact. The words
 * that are rejected are all branches of their own; where they are many, few bits are affordable, and the bounds are wide.
 */
function uniform(bound: bigint, bits: number, tightness: number, quick = true): Certificate {
  return {
    name: `uniform below ${bound}`,
    tightness,
    quick,
    examine: (samplers) => {
      const below = (source: UniformSource) =>
        bound > 16n * 16n ? source.belowBig(bound) : BigInt(source.below(Number(bound)))
      const all = Array.from({ length: Number(bound) }, (_, value) => BigInt(value))
      const form = (value: bigint) => fraction(value >= 0n && value < bound ? 1n : 0n, bound)
      const expansion = fromWords(samplers, bits, below)
      return [...examine(expansion, form, all), ...examineAccepted(endedIn(expansion), form, all)]
    },
  }
}

/** Draws that share words are independent: all combinations are equally likely. */
function uniformTogether(bounds: readonly number[], bits: number, tightness: number): Certificate {
  const combinations = bounds.reduce((product, bound) => product * bound, 1)
  return {
    name: `uniform below ${bounds.join(', ')} in turn`,
    tightness,
    quick: true,
    examine: (samplers) => {
      const together = (source: UniformSource) =>
        bounds.reduce((index, bound) => index * bound + source.below(bound), 0)
      const all = Array.from({ length: combinations }, (_, value) => BigInt(value))
      const form = () => fraction(1n, BigInt(combinations))
      const expansion = fromWords(samplers, bits, (source) => BigInt(together(source)))
      return [...examine(expansion, form, all), ...examineAccepted(endedIn(expansion), form, all)]
    },
  }
}

/** A coin of a rational probability, which the samplers flip as a comparison of a uniform integer. */
function bernoulli(numerator: number, denominator: number, bits: number, tightness: number): Certificate {
  return {
    name: `Bernoulli ${numerator}/${denominator}`,
    tightness,
    quick: true,
    examine: (samplers) => {
      const flip = (source: UniformSource) => source.below(denominator) < numerator
      const form = (side: boolean) =>
        fraction(BigInt(side ? numerator : denominator - numerator), BigInt(denominator))
      return examine(fromWords(samplers, bits, flip), form, [true, false])
    },
  }
}

type Flip = (samplers: CertifiedSamplers, tape: EnumeratedTape) => boolean

function coin(name: string, exponent: Rational, bits: number, flip: Flip, tightness = bits - 4): Certificate {
  const probability = exponential(exponent)
  return {
    name,
    tightness,
    quick: true,
    examine: (samplers) =>
      examine(
        enumerateExactly((tape) => flip(samplers, tape), bits),
        (side) => (side ? probability : complement(probability)),
        [true, false],
      ),
  }
}

/** The coins of exp(-a / b), in doubles and in big integers, and of exp(-(a / b)^2 / 2). */
function coinsOf(a: bigint, b: bigint): Certificate[] {
  const [numerator, denominator] = [Number(a), Number(b)]
  const big = coin(`exp(-${a}/${b}), in big integers`, rational(a, b), 120, ({ coins }, tape) =>
    coins.bernoulliExpBig(a, b, tape),
  )
  if (b > 2n ** 53n) return [big]
  return [
    big,
    coin(`exp(-${a}/${b})`, rational(a, b), 120, ({ coins }, tape) =>
      coins.bernoulliExp(numerator, denominator, tape),
    ),
    coin(`exp(-(${a}/${b})^2 / 2)`, rational(a * a, 2n * b * b), 120, ({ coins }, tape) =>
      coins.bernoulliExpOfHalfSquare(numerator, denominator, tape),
    ),
  ]
}

/** The same coins with a branch for each draw, so that nothing rests on the branches of comparisons. */
function plainCoin(a: number, b: number, bits: number, tightness: number): Certificate {
  return coin(
    `exp(-${a}/${b}), draw by draw`,
    rational(BigInt(a), BigInt(b)),
    bits,
    ({ plainCoins }, tape) => plainCoins.bernoulliExp(a, b, tape),
    tightness,
  )
}

/** From words to the coin: the whole of it in one tree. */
function coinFromWords(a: number, b: number, bits: number, tightness: number): Certificate {
  const probability = exponential(rational(BigInt(a), BigInt(b)))
  return {
    name: `exp(-${a}/${b}), word by word`,
    tightness,
    quick: true,
    examine: (samplers) =>
      examine(
        fromWords(samplers, bits, (source) => samplers.plainCoins.bernoulliExp(a, b, source)),
        (side) => (side ? probability : complement(probability)),
        [true, false],
      ),
  }
}

function unbounded(a: bigint, b: bigint): Certificate {
  return coin(
    `exp(-${a}/${b}), of any size`,
    rational(a, b),
    120,
    ({ unboundedCoin }, tape) => unboundedCoin.bernoulliExpUnbounded(a, b, tape),
    110,
  )
}

/** Outcomes that must be examined although a wrong sampler might never return them. */
function around(reach: number): bigint[] {
  return Array.from({ length: 2 * reach + 1 }, (_, index) => BigInt(index - reach))
}

function laplace(t: bigint, s: bigint, bits: number, quick = true): Certificate[] {
  const form = (value: bigint) => laplaceMass(value, { numerator: t, denominator: s })
  // Beyond this, a mass is below 2^-29.
  const outcomes = around(Number((20n * t) / s))
  const certificate = (
    name: string,
    attempt: (samplers: CertifiedSamplers, tape: EnumeratedTape) => bigint | undefined,
  ): Certificate => ({
    name: `discrete Laplace of scale ${t}/${s}, ${name}`,
    tightness: bits - 10,
    quick,
    examine: (samplers) =>
      examineAccepted(
        enumerateExactly((tape) => attempt(samplers, tape), bits),
        form,
        outcomes,
      ),
  })
  return [
    certificate('in doubles', (samplers, tape) =>
      samplers.laplace.laplaceAttemptInDoubles(Number(t), Number(s), tape),
    ),
    certificate('in big integers', (samplers, tape) => samplers.laplace.laplaceAttemptInBigInts(t, s, tape)),
  ]
}

function gaussian(
  name: string,
  square: Rational,
  bits: number,
  quick: boolean,
  attempt: (samplers: CertifiedSamplers, tape: EnumeratedTape) => bigint | undefined,
): Certificate {
  // Beyond 6 sigma, a mass is below 2^-25.
  const reach = Math.ceil(6 * Math.sqrt(Number(square.numerator) / Number(square.denominator)))
  return {
    name,
    tightness: bits - 14,
    quick,
    examine: (samplers) =>
      examineAccepted(
        enumerateExactly((tape) => attempt(samplers, tape), bits),
        gaussianMasses(square),
        around(reach),
      ),
  }
}

function gaussianOfSigma(sigma: bigint, bits: number, quick = true): Certificate {
  return gaussian(
    `discrete Gaussian of sigma ${sigma}, in doubles`,
    { numerator: sigma * sigma, denominator: 1n },
    bits,
    quick,
    (samplers, tape) => samplers.gaussian.gaussianAttemptInDoubles(Number(sigma), tape),
  )
}

function gaussianOfSquare(n: bigint, d: bigint, t: bigint, bits: number, quick = true): Certificate {
  const square = { numerator: n, denominator: d }
  return gaussian(
    `discrete Gaussian of sigma^2 ${n}/${d}, in big integers`,
    square,
    bits,
    quick,
    (samplers, tape) => samplers.gaussian.gaussianAttemptInBigInts(square, t, tape),
  )
}

const UNIT = rational(1n, 1n)

/** A sampler with its restarts. */
function whole(
  name: string,
  form: (value: bigint) => Interval,
  bits: number,
  tightness: number,
  sampler: (samplers: CertifiedSamplers, tape: EnumeratedTape) => () => bigint,
): Certificate {
  return {
    name: `${name}, restarts and all`,
    tightness,
    quick: true,
    examine: (samplers) =>
      examine(
        enumerateExactly((tape) => sampler(samplers, tape)(), bits),
        form,
        around(3),
      ),
  }
}

/** All certificates. */
export const CERTIFICATES: readonly Certificate[] = [
  ...[2n, 4n, 8n, 16n, 256n, 4096n].map((bound) => uniform(bound, 40, 191)),
  ...[15n, 255n].map((bound) => uniform(bound, 40, 31)),
  ...[3n, 7n, 13n, 14n, 31n, 4095n].map((bound) => uniform(bound, 20, 9)),
  ...[5n, 9n, 100n, 1000n].map((bound) => uniform(bound, 16, 1)),
  ...[3n, 13n, 14n, 31n].map((bound) => uniform(bound, 28, 14, false)),
  ...[5n, 9n, 17n, 100n, 257n].map((bound) => uniform(bound, 20, 1, false)),
  uniformTogether([2, 2, 2, 2, 2, 2], 40, 191),
  uniformTogether([2, 3, 2], 20, 15),
  uniformTogether([2, 10, 2], 16, 4),
  uniformTogether([4, 16, 2, 16], 40, 191),
  bernoulli(1, 3, 28, 27),
  bernoulli(7, 16, 40, 191),
  bernoulli(5, 15, 40, 39),
  coin('exp(-1)', rational(1n, 1n), 120, ({ coins }, tape) => coins.bernoulliExpOfOne(tape)),
  coin('exp(-1/2)', rational(1n, 2n), 120, ({ coins }, tape) => coins.bernoulliExpOfHalf(tape)),
  ...(
    [
      [0n, 1n],
      [1n, 1n],
      [1n, 2n],
      [2n, 3n],
      [7n, 8n],
      [99n, 100n],
      [1n, 1000n],
      [123_456_789n, 1n << 30n],
      [(1n << 53n) - 1n, 1n << 53n],
      [10n ** 20n, 3n * 10n ** 20n + 1n],
    ] as const
  ).flatMap(([a, b]) => coinsOf(a, b)),
  plainCoin(1, 3, 60, 56),
  plainCoin(1, 2, 40, 38),
  plainCoin(2, 3, 40, 26),
  coinFromWords(1, 16, 28, 20),
  coinFromWords(1, 4, 28, 15),
  coinFromWords(1, 2, 28, 12),
  ...(
    [
      [0n, 1n],
      [5n, 2n],
      [17n, 3n],
      [100n, 7n],
      [3n * 10n ** 20n, 10n ** 20n + 7n],
    ] as const
  ).map(([a, b]) => unbounded(a, b)),
  ...(
    [
      [1n, 1n],
      [2n, 1n],
      [3n, 2n],
      [1n, 3n],
      [10n, 3n],
    ] as const
  ).flatMap(([t, s]) => laplace(t, s, 80)),
  ...(
    [
      [100n, 7n],
      [50n, 1n],
      [99n, 100n],
    ] as const
  ).flatMap(([t, s]) => laplace(t, s, 100, false)),
  ...[1n, 2n, 3n, 7n].map((sigma) => gaussianOfSigma(sigma, 60)),
  ...[5n, 20n, 50n].map((sigma) => gaussianOfSigma(sigma, 80, false)),
  gaussianOfSquare(1n, 2n, 1n, 60),
  gaussianOfSquare(4n, 1n, 3n, 60),
  gaussianOfSquare(100n, 7n, 4n, 60),
  gaussianOfSquare(25n, 1n, 6n, 60),
  // The result is exact for every t.
  gaussianOfSquare(25n, 1n, 2n, 80, false),
  gaussianOfSquare(1n, 9n, 1n, 80, false),
  gaussianOfSquare(2500n, 3n, 29n, 80, false),
  whole(
    'discrete Laplace of scale 1',
    (value) => laplaceMass(value, UNIT),
    40,
    33,
    ({ laplace }, tape) => laplace.discreteLaplaceSampler(UNIT, tape),
  ),
]

import { numberFromRational, type Rational } from '../../../privacy/rational.ts'
import {
  bernoulliExp,
  bernoulliExpBig,
  bernoulliExpOfHalf,
  bernoulliExpOfHalfSquare,
  bernoulliExpOfOne,
} from './bernoulli.ts'
import { laplaceAttemptInBigInts } from './discrete-laplace.ts'
import { type UniformSource, untilAccepted } from './uniform-source.ts'

/*
 * The discrete Gaussian distribution on the integers: P(y) proportional to exp(-y^2 / (2 sigma^2)).
 *
 * There are two exact samplers, which share no step but the coins; tests compare them. A whole sigma up to 2^53, as in
 * production, uses the fast one, which never forms a product and therefore stays within exact doubles.
 *
 * An attempt returns `undefined` if it is rejected, and otherwise y with a probability proportional to P(y).
 */

/**
 * Creates an exact sampler of the discrete Gaussian distribution with a whole sigma, in the unit of the result. Draws are
 * independent.
 * @throws RangeError for a sigma below 1.
 */
export function discreteGaussianSampler(sigma: bigint, source: UniformSource): () => bigint {
  if (sigma < 1n) throw new RangeError('the sigma of noise must be at least 1')
  if (sigma > Number.MAX_SAFE_INTEGER)
    return discreteGaussianSamplerOfSquare({ numerator: sigma * sigma, denominator: 1n }, source)
  const exactSigma = Number(sigma)
  return untilAccepted(() => gaussianAttemptInDoubles(exactSigma, source))
}

/**
 * Karney 2016, "Sampling Exactly from the Normal Distribution" (arXiv 1303.6257), with an integer for the fraction. For
 * the magnitude x = sigma * v + u, u in [0, sigma),
 *
 *   exp(-x^2 / (2 sigma^2)) = exp(-1/2)^v * exp(-1/2)^(v (v - 1)) * exp(-u / sigma)^v * exp(-(u / sigma)^2 / 2)
 *
 * v is proposed by counting successes of the first factor, and u uniformly. Each other factor is a coin that must
 * succeed. The sign is a fair coin; a negative zero is rejected, because zero must count once.
 */
export function gaussianAttemptInDoubles(sigma: number, source: UniformSource): bigint | undefined {
  let v = 0
  while (bernoulliExpOfHalf(source)) v += 1
  for (let coin = 0; coin < v * (v - 1); coin += 1) if (!bernoulliExpOfHalf(source)) return undefined
  const u = source.below(sigma)
  for (let coin = 0; coin < v; coin += 1) if (!bernoulliExp(u, sigma, source)) return undefined
  if (!bernoulliExpOfHalfSquare(u, sigma, source)) return undefined
  const negative = source.below(2) === 1
  if (negative && v === 0 && u === 0) return undefined
  const x = u + sigma * v
  const magnitude =
    x <= Number.MAX_SAFE_INTEGER
      ? BigInt(x)
      : // Extremely rare, but the distribution has no largest value.
        BigInt(u) + BigInt(sigma) * BigInt(v)
  return negative ? -magnitude : magnitude
}

/**
 * {@link discreteGaussianSampler} for any rational sigma^2, in big integers.
 * @throws RangeError for a sigma^2 of 0.
 */
export function discreteGaussianSamplerOfSquare(sigmaSquared: Rational, source: UniformSource): () => bigint {
  if (sigmaSquared.numerator < 1n) throw new RangeError('the sigma of noise must be above 0')
  const t = integerSquareRoot(sigmaSquared.numerator / sigmaSquared.denominator) + 1n
  return untilAccepted(() => gaussianAttemptInBigInts(sigmaSquared, t, source))
}

/**
 * Canonne, Kamath, Steinke 2020 (arXiv 2004.00010), algorithm 3. With sigma^2 = n / d, a discrete Laplace y of scale t is
 * accepted with probability
 *
 *   exp(-(|y| - sigma^2 / t)^2 / (2 sigma^2)) = exp(-(|y| t d - n)^2 / (2 n d t^2))
 *
 * The result is exact for every t; floor(sigma) + 1 rejects least.
 */
export function gaussianAttemptInBigInts(
  { numerator: n, denominator: d }: Rational,
  t: bigint,
  source: UniformSource,
): bigint | undefined {
  const candidate = laplaceAttemptInBigInts(t, 1n, source)
  if (candidate === undefined) return undefined
  const distance = (candidate < 0n ? -candidate : candidate) * t * d - n
  const denominator = 2n * n * d * t * t
  let exponent = distance * distance
  for (; exponent > denominator; exponent -= denominator) if (!bernoulliExpOfOne(source)) return undefined
  return bernoulliExpBig(exponent, denominator, source) ? candidate : undefined
}

/** Floor of the square root, by Newton's iteration from above, which falls until it reaches the floor. */
function integerSquareRoot(square: bigint): bigint {
  if (square < 2n) return square
  let root = 1n << BigInt((square.toString(2).length + 1) >>> 1)
  for (;;) {
    const next = (root + square / root) >> 1n
    if (next >= root) return root
    root = next
  }
}

/** Probability of `value`, to within a few roundings of a double. */
export function discreteGaussianMass(value: bigint, sigmaSquared: Rational): number {
  return (
    Math.exp((-0.5 * Number(value * value)) / numberFromRational(sigmaSquared)) /
    discreteGaussianNormalizer(sigmaSquared)
  )
}

/** Sum of exp(-y^2 / (2 sigma^2)) over all integers y. */
function discreteGaussianNormalizer(sigmaSquared: Rational): number {
  const variance = numberFromRational(sigmaSquared)
  // Poisson summation: the sum is the integral times 1 + 2 exp(-2 pi^2 sigma^2) + ..., here 1 + 1e-34.
  if (variance >= 4) return Math.sqrt(2 * Math.PI * variance)
  let tail = 0
  for (let y = 20; y >= 1; y -= 1) tail += Math.exp((-0.5 * y * y) / variance)
  return 1 + 2 * tail
}

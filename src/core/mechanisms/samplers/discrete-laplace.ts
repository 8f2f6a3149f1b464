import { numberFromRational, type Rational } from '../../../privacy/rational.ts'
import { bernoulliExp, bernoulliExpBig, bernoulliExpOfOne } from './bernoulli.ts'
import { type UniformSource, untilAccepted } from './uniform-source.ts'

/*
 * The discrete Laplace distribution on the integers, also called two-sided geometric: P(y) proportional to exp(-|y| /
 * scale).
 *
 * The sampler is algorithm 2 of Canonne, Kamath, Steinke 2020 (arXiv 2004.00010). With scale = t / s it draws x >= 0
 * with P(x) proportional to exp(-x / t), as x = u + t * v: u in [0, t) by rejection with acceptance exp(-u / t), and v
 * by counting successes of probability exp(-1). Then floor(x / s) is proportional to exp(-m / (t / s)), and a fair coin
 * is the sign. Zero has two signs but must count once, so a negative zero is rejected.
 *
 * An attempt returns `undefined` if it is rejected, and otherwise y with a probability proportional to P(y).
 */

/**
 * Creates an exact sampler of the discrete Laplace distribution, with the scale in the unit of the result. Draws are
 * independent.
 * @throws RangeError for a scale of 0.
 */
export function discreteLaplaceSampler(scale: Rational, source: UniformSource): () => bigint {
  if (scale.numerator < 1n) throw new RangeError('the scale of noise must be above 0')
  const { numerator: t, denominator: s } = scale
  if (t > Number.MAX_SAFE_INTEGER || s > Number.MAX_SAFE_INTEGER)
    return untilAccepted(() => laplaceAttemptInBigInts(t, s, source))
  const [exactT, exactS] = [Number(t), Number(s)]
  return untilAccepted(() => laplaceAttemptInDoubles(exactT, exactS, source))
}

/** One attempt for a scale whose numerator and denominator are exact doubles. */
export function laplaceAttemptInDoubles(t: number, s: number, source: UniformSource): bigint | undefined {
  const u = source.below(t)
  if (!bernoulliExp(u, t, source)) return undefined
  let v = 0
  while (bernoulliExpOfOne(source)) v += 1
  const negative = source.below(2) === 1
  const x = u + t * v
  const magnitude =
    x <= Number.MAX_SAFE_INTEGER
      ? BigInt(s === 1 ? x : (x - (x % s)) / s)
      : // Extremely rare, but the distribution has no largest value.
        (BigInt(u) + BigInt(t) * BigInt(v)) / BigInt(s)
  if (negative && magnitude === 0n) return undefined
  return negative ? -magnitude : magnitude
}

/** One attempt for a scale of any size. */
export function laplaceAttemptInBigInts(t: bigint, s: bigint, source: UniformSource): bigint | undefined {
  const u = source.belowBig(t)
  if (!bernoulliExpBig(u, t, source)) return undefined
  let v = 0n
  while (bernoulliExpOfOne(source)) v += 1n
  const negative = source.below(2) === 1
  const magnitude = (u + t * v) / s
  if (negative && magnitude === 0n) return undefined
  return negative ? -magnitude : magnitude
}

/** Probability of `value`: tanh(1 / (2 scale)) exp(-|value| / scale), to within a few roundings of a double. */
export function discreteLaplaceMass(value: bigint, scale: Rational): number {
  const magnitude = value < 0n ? -value : value
  return Math.tanh(0.5 / numberFromRational(scale)) * Math.exp(-Number(magnitude) / numberFromRational(scale))
}

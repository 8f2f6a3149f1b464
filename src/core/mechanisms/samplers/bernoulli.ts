import type { UniformSource } from './uniform-source.ts'

/*
 * Coins that succeed with an exponential probability, exactly, from uniform integers alone: algorithm 1 of Canonne,
 * Kamath, Steinke 2020, "The Discrete Gaussian for Differential Privacy" (arXiv 2004.00010), for x in [0, 1].
 *
 * Flip, for k = 1, 2, 3, ..., a coin of probability x / k until one fails, and answer whether that k is odd. P(the first
 * k succeed) = x^k / k!, so P(odd) = 1 - x + x^2 / 2! - x^3 / 3! + ... = exp(-x).
 *
 * The coin of probability x / k is flipped as several independent coins that must all succeed: one for 1 / k and one for
 * each factor of x. The product of their denominators may exceed 2^53, beyond which doubles are not exact integers.
 */

/**
 * Returns true with probability exp(-numerator / denominator), exactly.
 * @param numerator a whole number from 0 to `denominator`.
 * @param denominator a whole number from 1 to 2^53.
 */
export function bernoulliExp(numerator: number, denominator: number, source: UniformSource): boolean {
  return firstFailureIsOdd(1, numerator, denominator, source)
}

/** Flips coins from number `k` on and returns true if the first to fail has an odd number. */
function firstFailureIsOdd(
  k: number,
  numerator: number,
  denominator: number,
  source: UniformSource,
): boolean {
  let coin = k
  while (source.below(coin) === 0 && source.below(denominator) < numerator) coin += 1
  return coin % 2 === 1
}

/**
 * Returns true with probability exp(-1), exactly. One draw stands for the first five coins, whose outcomes are 5! = 120
 * equally likely cases: in 1 all succeed, in 40 + 4 the first to fail is the third or the fifth.
 */
export function bernoulliExpOfOne(source: UniformSource): boolean {
  const cases = source.below(120)
  return cases === 0 ? firstFailureIsOdd(6, 1, 1, source) : cases <= 44
}

/**
 * Returns true with probability exp(-1/2), exactly. One draw stands for the first five coins, whose outcomes are 2^5 *
 * 5! = 3840 equally likely cases: in 1 all succeed, in 1920 + 400 + 9 the first to fail is the first, the third or the
 * fifth.
 */
export function bernoulliExpOfHalf(source: UniformSource): boolean {
  const cases = source.below(3840)
  return cases === 0 ? firstFailureIsOdd(6, 1, 2, source) : cases <= 2329
}

/** {@link bernoulliExp} for integers of any size. */
export function bernoulliExpBig(numerator: bigint, denominator: bigint, source: UniformSource): boolean {
  let k = 1
  while (source.below(k) === 0 && source.belowBig(denominator) < numerator) k += 1
  return k % 2 === 1
}

/**
 * Returns true with probability exp(-(numerator / denominator)^2 / 2), exactly.
 * @param numerator a whole number from 0 to `denominator`.
 * @param denominator a whole number from 1 to 2^53.
 */
export function bernoulliExpOfHalfSquare(
  numerator: number,
  denominator: number,
  source: UniformSource,
): boolean {
  let k = 1
  while (
    source.below(k) === 0 &&
    source.below(2) === 0 &&
    source.below(denominator) < numerator &&
    source.below(denominator) < numerator
  )
    k += 1
  return k % 2 === 1
}

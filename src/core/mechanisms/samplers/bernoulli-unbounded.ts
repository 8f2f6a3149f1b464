import { bernoulliExp, bernoulliExpBig, bernoulliExpOfOne } from './bernoulli.ts'
import type { UniformSource } from './uniform-source.ts'

/**
 * Returns true with probability exp(-numerator / denominator), exactly, for a fraction of any size. One coin of
 * probability exp(-1) for each whole unit and one coin for the rest must all succeed.
 * @param numerator at least 0.
 * @param denominator at least 1.
 */
export function bernoulliExpUnbounded(
  numerator: bigint,
  denominator: bigint,
  source: UniformSource,
): boolean {
  for (let whole = numerator / denominator; whole > 0n; whole -= 1n)
    if (!bernoulliExpOfOne(source)) return false
  const rest = numerator % denominator
  return denominator <= Number.MAX_SAFE_INTEGER
    ? bernoulliExp(Number(rest), Number(denominator), source)
    : bernoulliExpBig(rest, denominator, source)
}

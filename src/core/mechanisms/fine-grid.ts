/** Least scale of noise on a fine grid, in output units. Rounding it up costs at most a factor of 1 + 1e-12. */
const SMALLEST_SCALE = 2 ** 40

/** Smallest number of fraction bits for which a scale, the quotient in grid units, is 2^40 output units or more. */
export function fineFractionBits(dividend: bigint, divisor: bigint, leastScale = SMALLEST_SCALE): number {
  let fractionBits = 0
  while (dividend << BigInt(fractionBits) < BigInt(leastScale) * divisor) fractionBits += 1
  return fractionBits
}

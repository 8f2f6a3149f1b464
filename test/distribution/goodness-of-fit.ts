import erfcx from '@stdlib/math-base-special-erfcx'

/**
 * Upper bound on the probability that independent samples of a distribution deviate at least this much from it,
 * measured by the largest distance between the two cumulative functions: 2 exp(-2 n distance^2) (Massart 1990, also
 * for discrete distributions).
 */
export function kolmogorovTail(samples: readonly bigint[], cumulative: (value: number) => number): number {
  const sorted = samples.map(Number).sort((a, b) => a - b)
  const count = sorted.length
  let [distance, below] = [0, 0]
  sorted.forEach((value, index) => {
    // All samples of one value are counted at once.
    if (value === sorted[index + 1]) return
    const atMost = (index + 1) / count
    // The largest distances occur at a drawn value and at the integer before it.
    distance = Math.max(
      distance,
      Math.abs(atMost - cumulative(value)),
      Math.abs(below - cumulative(value - 1)),
    )
    below = atMost
  })
  return 2 * Math.exp(-2 * count * distance ** 2)
}

/**
 * Upper bound on the probability that counts of equally likely cells deviate at least this much from equality: the
 * Chernoff bound of Pearson's chi-square statistic x with k degrees of freedom, (x / k * exp(1 - x / k))^(k / 2).
 */
export function chiSquareTail(counts: readonly number[]): number {
  const expected = counts.reduce((sum, count) => sum + count, 0) / counts.length
  const statistic = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
  const freedom = counts.length - 1
  const excess = statistic / freedom
  return excess <= 1 ? 1 : (excess * Math.exp(1 - excess)) ** (freedom / 2)
}

/** P(Y <= value) of the discrete Laplace distribution, at an integer. */
export function laplaceCumulative(value: number, scale: number): number {
  // P(Y > y) = q^(y + 1) / (1 + q) for y >= 0, with q = exp(-1 / scale); and P(Y <= -y) = P(Y > y - 1).
  const tail = (above: number) => Math.exp(-(above + 1) / scale) / (1 + Math.exp(-1 / scale))
  return value >= 0 ? 1 - tail(value) : tail(-value - 1)
}

/**
 * P(Y <= value) of the discrete Gaussian distribution, at an integer: the continuous one half a unit further, which
 * is within 0.01 for a sigma of 1 or more.
 */
export function normalCumulative(value: number, sigma: number): number {
  const distance = Math.abs(value + 0.5) / sigma
  const tail = 0.5 * Math.exp(-0.5 * distance ** 2) * erfcx(distance * Math.SQRT1_2)
  return value + 0.5 >= 0 ? 1 - tail : tail
}

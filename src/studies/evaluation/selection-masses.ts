import { bestScore } from '../../core/mechanisms/selection/exponential.ts'
import type { NoisyMaxMeasurement } from '../../core/mechanisms/selection/noisy-max.ts'
import { entry } from '../../privacy/must.ts'
import { numberFromRational, type Rational, rational } from '../../privacy/rational.ts'

/* Probabilities of selections, in doubles. Samplers do not use them. */

/**
 * Probability of each candidate to be the best after noise, to within 1e-9, for few candidates. Laplace noise is
 * treated as continuous, from which a grid of 2^-40 scales differs by less than that.
 * @throws RangeError for a measurement that releases more than one candidate.
 */
export function noisyMaxMasses(measurement: NoisyMaxMeasurement, scores: readonly bigint[]): number[] {
  const { k, noise, scale, fractionBits } = measurement
  if (k !== 1) throw new RangeError('probabilities are available for one selected candidate only')
  const exponent = rational(scale.denominator, scale.numerator)
  switch (noise) {
    case 'exponential':
      return permuteAndFlipMasses(scores, exponent)
    case 'gumbel': {
      const best = bestScore(scores)
      const distances = scores.map((score) => Number(best - score))
      return Array.from(exponentialMasses(distances, new Float64Array(scores.length).fill(1), exponent))
    }
    case 'laplace': {
      const best = bestScore(scores)
      const perUnit = 2 ** fractionBits / numberFromRational(scale)
      return laplaceMaxMasses(scores.map((score) => -Number(best - score) * perUnit))
    }
  }
}

/**
 * P(i) is the integral of the density of candidate i times the distribution functions of all others. These are smooth
 * between the centers, where Simpson's rule is applied, up to where the density falls below e^-45.
 * @param centers in scales, the largest 0.
 */
function laplaceMaxMasses(centers: readonly number[]): number[] {
  const [reach, width] = [45, 1 / 64]
  const masses = centers.map(() => 0)
  const add = (x: number, weight: number) => {
    const below = centers.map((center) => laplaceDistribution(x - center))
    for (const [candidate, center] of centers.entries()) {
      const others = below.reduce(
        (product, value, other) => (other === candidate ? product : product * value),
        1,
      )
      masses[candidate] = entry(masses, candidate) + (weight / 2) * Math.exp(-Math.abs(x - center)) * others
    }
  }
  const ends = [...new Set([-reach, ...centers.filter((center) => center > -reach), reach])].sort(
    (a, b) => a - b,
  )
  for (const [index, end] of ends.entries()) {
    const start = ends[index - 1]
    if (start === undefined) continue
    const steps = Math.ceil((end - start) / width)
    const step = (end - start) / steps
    for (let part = 0; part < steps; part += 1) {
      const left = start + part * step
      add(left, step / 6)
      add(left + step / 2, (4 * step) / 6)
      add(left + step, step / 6)
    }
  }
  return masses
}

function laplaceDistribution(x: number): number {
  return x < 0 ? Math.exp(x) / 2 : 1 - Math.exp(-x) / 2
}

/** Probability of each entry, to within a few roundings of a double. */
export function exponentialMasses(
  distances: ArrayLike<number>,
  multiplicities: ArrayLike<number>,
  exponent: Rational,
): Float64Array {
  const smallest = Array.from(distances)
    .filter((_, index) => entry(multiplicities, index) > 0)
    .reduce((least, distance) => Math.min(least, distance))
  const perUnit = numberFromRational(exponent)
  const weights = Float64Array.from(
    { length: distances.length },
    (_, index) =>
      entry(multiplicities, index) * Math.exp(-perUnit * Math.max(0, entry(distances, index) - smallest)),
  )
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return weights.map((weight) => weight / total)
}

/**
 * Probability of each candidate, to within rounding. For few candidates only: the time grows with the cube of their
 * number.
 *
 * Before a candidate of success probability p, a set of k of the n - 1 others is visited with probability
 * 1 / (n C(n - 1, k)), and all of it fails. So P = p / n * (sum over k of the mean, over all sets of k others, of the
 * product of their failure probabilities); no term is negative, so nothing cancels.
 */
export function permuteAndFlipMasses(scores: readonly bigint[], exponent: Rational): number[] {
  const best = bestScore(scores)
  const perUnit = numberFromRational(exponent)
  const failures = scores.map((score) => -Math.expm1(-perUnit * Number(best - score)))
  return failures.map((failure, candidate) => {
    // The mean over all sets of k among the others seen so far, by k.
    let means = [1]
    failures.forEach((other, index) => {
      if (index === candidate) return
      const seen = means.length
      // No set has fewer than no members, or more than all.
      const before = [0, ...means]
      const at = [...means, 0]
      means = Array.from(
        { length: seen + 1 },
        (_, k) => (entry(at, k) * (seen - k) + entry(before, k) * other * k) / seen,
      )
    })
    const sum = means.reduce((total, mean) => total + mean, 0)
    return ((1 - failure) * sum) / scores.length
  })
}

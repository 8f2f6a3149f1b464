import type { Measurement } from '../../../src/core/mechanisms/measurement.ts'
import type { Plan } from '../../../src/core/planner/plans/plan-kinds.ts'
import { numberFromRational, type Rational } from '../../../src/privacy/rational.ts'
import type { Distribution } from '../distributions.ts'
import { massAt, type Piecewise, sumOverIntegers } from '../integer-sums.ts'

/**
 * The Rényi divergence of an order above 1 of two distributions of one plan's release, ln(sum of P^order Q^(1 - order))
 * / (order - 1); if not all outcomes are examined, a lower bound, because no term is negative.
 */
export function renyiDivergence(plan: Plan, one: Distribution, other: Distribution, order: number): number {
  if (
    (plan.kind === 'additive' || plan.kind === 'marginals' || plan.kind === 'cumulative') &&
    one.kind === 'noise' &&
    other.kind === 'noise'
  )
    return divergenceOfNoise(plan.measurements, one.integers, other.integers, order)
  if (plan.kind === 'groups' && one.kind === 'groups' && other.kind === 'groups')
    return one.parts.reduce(
      (sum, part, index) =>
        sum + renyiDivergenceOfOutcomes(part, other.parts[index] ?? [], order, one.alike[index]),
      divergenceOfNoise(plan.sums?.measurements ?? [], one.integers, other.integers, order),
    )
  if (one.kind === 'outcomes' && other.kind === 'outcomes')
    // The sum over independent parts.
    return one.parts.reduce(
      (sum, part, index) => sum + renyiDivergenceOfOutcomes(part, other.parts[index] ?? [], order, one.alike),
      0,
    )
  throw new Error('there is no divergence of these distributions')
}

/**
 * The same, from the logarithms of the probabilities of every outcome in two distributions.
 * @param alike number of equal outcomes of each, if not one.
 */
export function renyiDivergenceOfOutcomes(
  one: readonly number[],
  other: readonly number[],
  order: number,
  alike?: readonly number[],
): number {
  const logarithms = one.map(
    (logMass, outcome) =>
      Math.log(alike?.[outcome] ?? 1) + order * logMass + (1 - order) * (other[outcome] ?? Number.NaN),
  )
  const largest = Math.max(...logarithms)
  const sum = logarithms.reduce((total, logarithm) => total + Math.exp(logarithm - largest), 0)
  return (largest + Math.log(sum)) / (order - 1)
}

/** Every entry has independent noise, so their divergences add up. */
function divergenceOfNoise(
  measurements: readonly Measurement[],
  one: readonly (readonly bigint[])[],
  other: readonly (readonly bigint[])[],
  order: number,
): number {
  let sum = 0
  for (const [statistic, { noise, fractionBits }] of measurements.entries())
    for (const [cell, value] of (one[statistic] ?? []).entries()) {
      const shift = (value - (other[statistic]?.[cell] ?? 0n)) << BigInt(fractionBits)
      if (shift === 0n) continue
      sum +=
        noise.kind === 'discrete-laplace'
          ? laplaceDivergence(noise.scale, shift, order)
          : // Of two discrete Gaussian distributions a whole number apart, at whole orders; slightly less at others.
            order * (Number(shift) ** 2 / (2 * Number(noise.sigma) ** 2))
    }
  return sum
}

const laplaceDivergences = new Map<string, number>()

/** Divergence of two discrete Laplace distributions this far apart, by the sum over all integers. */
function laplaceDivergence(scale: Rational, shift: bigint, order: number): number {
  const name = `${scale.numerator}/${scale.denominator} ${shift} ${order}`
  const known = laplaceDivergences.get(name)
  if (known !== undefined) return known
  const normalization = Math.tanh(0.5 / numberFromRational(scale))
  const sum = sumOverIntegers([
    toThePower(massAt(shift, scale), order),
    toThePower(massAt(0n, scale), 1 - order),
  ])
  const divergence = Math.log(normalization * sum) / (order - 1)
  laplaceDivergences.set(name, divergence)
  return divergence
}

/** A power of a distribution of one exponential on each side, without its normalization. */
function toThePower({ corner, below, from }: Piecewise, exponent: number): Piecewise {
  const power = (terms: Piecewise['below']) =>
    terms.map(({ rate }) => ({ coefficient: 1, rate: rate * exponent }))
  return { corner, below: power(below), from: power(from) }
}

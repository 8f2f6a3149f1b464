import { type EpsilonNano, ONE_EPSILON_NANO, ONE_RHO_PICO, type RhoPico, rhoPico } from './loss.ts'
import { divideRoundingUp, numberFromRational, type Rational, rational } from './rational.ts'
import type { Sensitivity } from './sensitivity.ts'

/*
 * Zero-concentrated differential privacy (zCDP): a mechanism is rho-zCDP if the Rényi divergence of every order alpha
 * above 1 between its outputs on neighbours is at most rho * alpha. Source: Bun and Steinke 2016, "Concentrated
 * Differential Privacy: Simplifications, Extensions, and Lower Bounds" (arXiv 1605.02065). Every rho here is rounded up
 * to 1e-12. Proofs, on the integers: src/privacy/zero-concentrated.md.
 */

/**
 * Bound on the floating-point errors of a rho from {@link entryRho}, relative to its epsilon: 64 roundings of a
 * double. Fewer than 30 occur.
 */
const ROUNDING = 2 ** -47

/**
 * Least rho of discrete Laplace noise on every entry of an integer vector, rounded up.
 *
 * For one entry that moves by D, with epsilon = D / scale and x = 1 / scale, the least rho is the Kullback-Leibler
 * divergence epsilon - x / sinh(x) (1 - exp(-epsilon)) (src/privacy/zero-concentrated.md; Harrison and Manurangsi
 * 2025, arXiv 2510.25746, also state tight bounds for this distribution). It is convex in D, so of all vectors within
 * L1 and L-infinity the worst has as many entries of L-infinity as L1 allows, and one entry for the rest. It is below
 * the epsilon, L1 / scale.
 *
 * @param scale in the unit of the sensitivity, above 0.
 * @throws RangeError for a scale of 0, or an L-infinity of 0 under an L1 above 0.
 */
export function discreteLaplaceRho(
  scale: Rational,
  { l1, lInfinity }: Pick<Sensitivity, 'l1' | 'lInfinity'>,
): RhoPico {
  if (l1 === 0n) return rhoPico(0n)
  const epsilonOf = (distance: bigint) =>
    numberFromRational(rational(distance * scale.denominator, scale.numerator))
  const reciprocal = epsilonOf(1n)
  const rho =
    Number(l1 / lInfinity) * entryRho(epsilonOf(lInfinity), reciprocal) +
    entryRho(epsilonOf(l1 % lInfinity), reciprocal)
  const safe = BigInt(Math.ceil((rho + epsilonOf(l1) * ROUNDING) * Number(ONE_RHO_PICO)))
  // The allowance for rounding must not raise the result above the epsilon, which it approaches for large epsilon.
  return lesser(safe, divideRoundingUp(l1 * scale.denominator * ONE_RHO_PICO, scale.numerator))
}

/** Rho of an entry that moves by `epsilon` scales, with a unit of `reciprocal` scales; at most epsilon. */
function entryRho(epsilon: number, reciprocal: number): number {
  return epsilon + (reciprocal / Math.sinh(reciprocal)) * Math.expm1(-epsilon)
}

/**
 * Rho of discrete Gaussian noise on every entry of an integer vector: L2^2 / (2 sigma^2), exact, rounded up. Source:
 * Canonne, Kamath, Steinke 2020, "The Discrete Gaussian for Differential Privacy" (arXiv 2004.00010), theorem 4 and
 * its multivariate form. It holds for integer shifts and every sigma.
 *
 * @param sigma in the unit of the sensitivity.
 * @throws RangeError for a sigma below 1.
 */
export function discreteGaussianRho(sigma: bigint, { l2Squared }: Pick<Sensitivity, 'l2Squared'>): RhoPico {
  if (sigma < 1n) throw new RangeError('sigma must be at least 1')
  return rhoPico(divideRoundingUp(l2Squared * ONE_RHO_PICO, 2n * sigma * sigma))
}

/**
 * Rho that covers every mechanism of this pure epsilon whose neighbours are joined by `steps` steps, each of an equal
 * part of the epsilon, rounded up: that of discrete Laplace noise of this epsilon on a grid with as many units, which is
 * the least for all such mechanisms. A single step is any mechanism: epsilon tanh(epsilon / 2). For many steps it
 * approaches epsilon + exp(-epsilon) - 1. Proof: src/privacy/zero-concentrated.md, claim 4.
 *
 * @param rounds number of mechanisms together, each at an equal part of the epsilon; at least 1.
 * @param steps at least 1.
 */
export function pureRho(epsilonNano: EpsilonNano, rounds = 1n, steps = 1n): RhoPico {
  if (epsilonNano === 0n) return rhoPico(0n)
  const units = { l1: rounds * steps, lInfinity: steps }
  return discreteLaplaceRho(rational(units.l1 * ONE_EPSILON_NANO, epsilonNano), units)
}

/**
 * Least rho that covers every mechanism whose privacy losses between two neighbours lie in an interval of length epsilon
 * ("epsilon-bounded range", as for the exponential mechanism), rounded up: x - 1 - ln(x), x = epsilon / (exp(epsilon) -
 * 1). It is below epsilon^2 / 8, which it approaches for small epsilon (Cesar and Rogers 2021, "Bounding, Concentrating,
 * and Truncating", arXiv 2004.07223, lemma 3.4), and which is exact and so is charged where rounding would exceed it.
 * Proof: src/privacy/zero-concentrated.md, claim 5; Harrison and Manurangsi 2025 (arXiv 2510.25746) also state a tight
 * bound for bounded range.
 *
 * @param rounds number of mechanisms together, each at an equal part of the epsilon; at least 1.
 */
export function boundedRangeRho(epsilonNano: EpsilonNano, rounds = 1n): RhoPico {
  if (epsilonNano === 0n) return rhoPico(0n)
  const square = epsilonNano * epsilonNano * ONE_RHO_PICO
  const ofSquare = divideRoundingUp(square, 8n * ONE_EPSILON_NANO * ONE_EPSILON_NANO * rounds)
  const epsilon = numberFromRational(rational(epsilonNano, rounds * ONE_EPSILON_NANO))
  // -ln(x), without overflow for large epsilon.
  const logarithm = epsilon + Math.log(-Math.expm1(-epsilon) / epsilon)
  const rho = logarithm + Math.expm1(-logarithm) + epsilon * ROUNDING
  return lesser(BigInt(Math.ceil(Number(rounds) * rho * Number(ONE_RHO_PICO))), ofSquare)
}

function lesser(a: bigint, b: bigint): RhoPico {
  return rhoPico(a < b ? a : b)
}

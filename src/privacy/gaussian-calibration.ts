import erfcx from '@stdlib/math-base-special-erfcx'
import { type EpsilonNano, epsilonNumber } from './loss.ts'

/*
 * Relation between Gaussian noise and (epsilon, delta). Only the ratio of sigma to the L2 sensitivity matters, so all
 * functions here use that ratio. Source: Balle and Wang 2018, "Improving the Gaussian Mechanism for Differential
 * Privacy: Analytical Calibration and Optimal Denoising" (arXiv 1805.06530), theorem 8.
 */

/** Limit on Taylor terms, far above the need of any argument: the loop ends when a term no longer contributes. */
const TAYLOR_TERMS = 100

/**
 * Far above the rounding errors of {@link gaussianDelta} and of its arguments, and far below what would noticeably
 * increase noise.
 */
const RELATIVE_SLACK = 1e-9

/** A delta below this has an unknown relative error; the unit of delta is 1e-18. */
const ABSOLUTE_SLACK = 1e-26

/**
 * Smallest delta for which Gaussian noise is (epsilon, delta)-differentially private, to a relative error below 1e-11
 * if delta is above 1e-26.
 *
 * With a = epsilon * ratio - 1 / (2 ratio) and b = epsilon * ratio + 1 / (2 ratio), theorem 8 is
 *
 *   delta = P(N > a) - exp(epsilon) P(N > b) = phi(a) (m(a) - m(b))
 *
 * where N is standard normal, phi its density and m(x) = P(N > x) / phi(x) its Mills ratio, because exp(epsilon)
 * phi(b) = phi(a). In this form nothing overflows. The remaining cancellation is treated case by case.
 *
 * @param ratio sigma / L2 sensitivity, above 0.
 * @param epsilon any finite number.
 */
export function gaussianDelta(ratio: number, epsilon: number): number {
  if (!(ratio > 0) || !Number.isFinite(epsilon))
    throw new RangeError('the ratio must be above 0 and epsilon finite')
  const center = epsilon * ratio
  const halfWidth = 0.5 / ratio
  const a = center - halfWidth
  const b = center + halfWidth
  if (halfWidth < 0.5 && Math.abs(center) < 16) return normalDensity(a) * millsDifference(center, halfWidth)
  if (a >= 0) return normalDensity(a) * (millsRatio(a) - millsRatio(b))
  // Below zero m(a) would overflow, so use P(N > a) = 1 - P(N > -a). The same applies to a negative b, if epsilon is
  // negative.
  if (b >= 0) return 1 - normalDensity(a) * (millsRatio(-a) + millsRatio(b))
  return -Math.expm1(epsilon) - normalDensity(a) * (millsRatio(-a) - millsRatio(-b))
}

/**
 * An upper bound of the delta: {@link gaussianDelta} with every floating-point error on the safe side.
 *
 * @param ratio sigma / L2 sensitivity, above 0, within a few roundings of a double of the exact value.
 */
export function gaussianDeltaUpperBound(ratio: number, epsilon: EpsilonNano): number {
  const delta = gaussianDelta(ratio, epsilonNumber(epsilon))
  return Math.min(1, delta * (1 + RELATIVE_SLACK) + ABSOLUTE_SLACK)
}

/**
 * Analytic calibration (Balle and Wang 2018, algorithm 1): the smallest sigma / L2 sensitivity whose {@link
 * gaussianDelta} at `epsilon` is at most `delta`, by bisection down to neighbouring doubles.
 *
 * @throws RangeError for an epsilon or a delta of 0 or less, or a delta of 1 or more.
 */
export function analyticGaussianRatio(epsilon: number, delta: number): number {
  checkTarget(epsilon, delta)
  // Delta falls as the ratio grows. Invariant: delta(tooSmall) > delta >= delta(enough).
  let enough = 1
  while (gaussianDelta(enough, epsilon) > delta) enough *= 2
  while (gaussianDelta(enough / 2, epsilon) <= delta) enough /= 2
  let tooSmall = enough / 2
  for (;;) {
    const middle = tooSmall + (enough - tooSmall) / 2
    if (middle === tooSmall || middle === enough) return enough
    if (gaussianDelta(middle, epsilon) <= delta) enough = middle
    else tooSmall = middle
  }
}

/**
 * Classic calibration: sigma / L2 sensitivity = sqrt(2 ln(1.25 / delta)) / epsilon (Dwork and Roth 2014, "The
 * Algorithmic Foundations of Differential Privacy", theorem A.1).
 *
 * @throws RangeError as {@link analyticGaussianRatio}, and for an epsilon above 1, where it adds too little noise.
 */
export function classicGaussianRatio(epsilon: number, delta: number): number {
  checkTarget(epsilon, delta)
  if (epsilon > 1) throw new RangeError('the classic calibration holds only for an epsilon of at most 1')
  return Math.sqrt(2 * Math.log(1.25 / delta)) / epsilon
}

function checkTarget(epsilon: number, delta: number): void {
  if (!(epsilon > 0 && Number.isFinite(epsilon))) throw new RangeError('epsilon must be above 0')
  if (!(delta > 0 && delta < 1)) throw new RangeError('delta must lie strictly between 0 and 1')
}

/**
 * m(center - halfWidth) - m(center + halfWidth) without cancellation: the odd Taylor terms around the center, from
 * the recurrence of the derivatives that m' = x m - 1 implies, m^(k+1) = x m^(k) + k m^(k-1).
 */
function millsDifference(center: number, halfWidth: number): number {
  let previous = millsRatio(center)
  let derivative = center * previous - 1
  let power = halfWidth
  let difference = 0
  for (let k = 1; k < TAYLOR_TERMS; k += 1) {
    const term = derivative * power
    if (k % 2 === 1) difference -= 2 * term
    if (Math.abs(term) < Number.EPSILON * 1e-3 * difference) break
    ;[previous, derivative] = [derivative, center * derivative + k * previous]
    power *= halfWidth / (k + 1)
  }
  return difference
}

function millsRatio(x: number): number {
  return Math.sqrt(Math.PI / 2) * erfcx(x * Math.SQRT1_2)
}

function normalDensity(x: number): number {
  return Math.exp(-0.5 * x * x) / Math.sqrt(2 * Math.PI)
}

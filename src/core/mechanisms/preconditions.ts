import type { EpsilonNano } from '../../privacy/loss.ts'
import type { Sensitivity } from '../../privacy/sensitivity.ts'

/**
 * Checks a sensitivity: it is above zero, and its figures can belong to one set of integer vectors (each entry |d| is
 * at most the sum of all |d|, which is at most the sum of all d^2, and at most L0 times the largest |d|). This detects
 * an L2 in place of its square, an L0 that is too small, and a sensitivity of 0, for which there would be no noise.
 * @throws RangeError
 */
export function requireSensitivity({ l0, l1, l2Squared, lInfinity }: Sensitivity): void {
  if (lInfinity < 1n) throw new RangeError('a mechanism needs a sensitivity of at least one grid unit')
  if (lInfinity > l1 || l1 > l2Squared || l1 > l0 * lInfinity || lInfinity * lInfinity > l2Squared)
    throw new RangeError('the norms of a sensitivity are inconsistent')
}

/** @throws RangeError for an epsilon of 0. */
export function requireEpsilon(epsilonNano: EpsilonNano): void {
  if (epsilonNano < 1n) throw new RangeError('a mechanism needs an epsilon above 0')
}

/** @throws RangeError for a confidence that is not strictly between 0 and 1. */
export function requireConfidence(confidence: number): void {
  if (!(confidence > 0 && confidence < 1))
    throw new RangeError('a confidence must lie strictly between 0 and 1')
}

/**
 * Verifies a calibration: its loss by the privacy map, which is computed independently of the calibration, is at most
 * the requested loss.
 * @throws Error
 */
export function requireWithin(
  spent: { readonly epsilonNano: bigint; readonly deltaAtto: bigint },
  allowed: { readonly epsilonNano: bigint; readonly deltaAtto: bigint },
): void {
  if (spent.epsilonNano > allowed.epsilonNano || spent.deltaAtto > allowed.deltaAtto)
    throw new Error('a calibration failed its verification: the noise would cost more than the loss allowed')
}

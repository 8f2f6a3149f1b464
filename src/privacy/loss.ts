import { decimalFromNumber, numberFromDecimal } from './decimal.ts'
import type { Neighbours } from './neighbours.ts'
import { refuseField } from './refusal.ts'

declare const unit: unique symbol

/** Epsilon as an exact integer number of 1e-9. */
export type EpsilonNano = bigint & { readonly [unit]: 'epsilon nano' }

/** Delta as an exact integer number of 1e-18. */
export type DeltaAtto = bigint & { readonly [unit]: 'delta atto' }

/** Rho of zero-concentrated differential privacy (zCDP), as an exact integer number of 1e-12. */
export type RhoPico = bigint & { readonly [unit]: 'rho pico' }

/** Exact privacy loss (epsilon, delta) of a release or a budget. */
export interface PrivacyLoss {
  readonly epsilonNano: EpsilonNano
  readonly deltaAtto: DeltaAtto
}

export const EPSILON_FRACTION_DIGITS = 9
export const DELTA_FRACTION_DIGITS = 18
export const RHO_FRACTION_DIGITS = 12

/** Epsilon 1, in nano-epsilons. */
export const ONE_EPSILON_NANO = 1_000_000_000n
/** Delta 1, in units of 1e-18. */
export const ONE_DELTA_ATTO = 1_000_000_000_000_000_000n
/** Rho 1, in units of 1e-12. */
export const ONE_RHO_PICO = 1_000_000_000_000n

/** Largest epsilon of one query. Beyond it there is no meaningful privacy. */
export const MAX_QUERY_EPSILON = 1_000

/** Default confidence of a stated half-width. */
export const DEFAULT_CONFIDENCE = 0.95

/** Largest epsilon of a budget. Its number of nano-epsilons is still an exact double. */
export const MAX_BUDGET_EPSILON = 1_000_000

/** Zero loss. */
export const NO_LOSS: PrivacyLoss = { epsilonNano: 0n as EpsilonNano, deltaAtto: 0n as DeltaAtto }

/**
 * Brands a number of nano-epsilons.
 * @throws RangeError below 0.
 */
export function epsilonNano(count: bigint): EpsilonNano {
  if (count < 0n) throw new RangeError('epsilon must not be negative')
  return count as EpsilonNano
}

/**
 * Brands a number of 1e-18 of delta.
 * @throws RangeError below 0 or above 1.
 */
export function deltaAtto(count: bigint): DeltaAtto {
  if (count < 0n || count > ONE_DELTA_ATTO) throw new RangeError('delta must lie between 0 and 1')
  return count as DeltaAtto
}

/**
 * Brands a number of 1e-12 of rho.
 * @throws RangeError below 0.
 */
export function rhoPico(count: bigint): RhoPico {
  if (count < 0n) throw new RangeError('rho must not be negative')
  return count as RhoPico
}

/**
 * Converts a number on the wire to an exact epsilon: above 0, at most `largest`, at most 9 fractional digits.
 * @throws Refusal naming `field`; it never rounds.
 */
export function epsilonFromWire(value: number, field: string, largest = MAX_QUERY_EPSILON): EpsilonNano {
  if (!(value > 0)) throw refuseField('invalid-request', field, 'must be greater than 0')
  if (value > largest) throw refuseField('invalid-request', field, `must be at most ${largest}`)
  return epsilonNano(exactCount(value, field, EPSILON_FRACTION_DIGITS))
}

/**
 * Converts a number on the wire to an exact delta: at least 0, below 1, at most 18 fractional digits.
 * @throws Refusal naming `field`; it never rounds.
 */
export function deltaFromWire(value: number, field: string): DeltaAtto {
  if (!(value >= 0 && value < 1))
    throw refuseField('invalid-request', field, 'must be at least 0 and below 1')
  return deltaAtto(exactCount(value, field, DELTA_FRACTION_DIGITS))
}

/**
 * Converts a number on the wire to an exact rho: above 0, at most that of an epsilon, at most 12 fractional digits.
 * @throws Refusal naming `field`; it never rounds.
 */
export function rhoFromWire(value: number, field: string): RhoPico {
  if (!(value > 0)) throw refuseField('invalid-request', field, 'must be greater than 0')
  if (value > MAX_QUERY_EPSILON)
    throw refuseField('invalid-request', field, `must be at most ${MAX_QUERY_EPSILON}`)
  return rhoPico(exactCount(value, field, RHO_FRACTION_DIGITS))
}

function exactCount(value: number, field: string, fractionDigits: number): bigint {
  const count = decimalFromNumber(value, fractionDigits)
  if (count !== undefined) return count
  const rule = `must have at most ${fractionDigits} fractional digits; values are never rounded`
  throw refuseField('invalid-request', field, rule)
}

/** Adds losses exactly (basic composition). Delta saturates at 1, where it guarantees nothing. */
export function addLoss(a: PrivacyLoss, b: PrivacyLoss): PrivacyLoss {
  const delta = a.deltaAtto + b.deltaAtto
  return {
    epsilonNano: epsilonNano(a.epsilonNano + b.epsilonNano),
    deltaAtto: deltaAtto(delta > ONE_DELTA_ATTO ? ONE_DELTA_ATTO : delta),
  }
}

/**
 * Subtracts `part` from `whole`, exactly.
 * @throws RangeError if `part` is larger in epsilon or in delta.
 */
export function subtractLoss(whole: PrivacyLoss, part: PrivacyLoss): PrivacyLoss {
  return {
    epsilonNano: epsilonNano(whole.epsilonNano - part.epsilonNano),
    deltaAtto: deltaAtto(whole.deltaAtto - part.deltaAtto),
  }
}

/** Tests if `part` is at most `whole`, in epsilon and in delta. */
export function coversLoss(whole: PrivacyLoss, part: PrivacyLoss): boolean {
  return part.epsilonNano <= whole.epsilonNano && part.deltaAtto <= whole.deltaAtto
}

/** True if both losses are the same. */
export function isSameLoss(one: PrivacyLoss, other: PrivacyLoss): boolean {
  return one.epsilonNano === other.epsilonNano && one.deltaAtto === other.deltaAtto
}

/** Epsilon as a number for display. */
export function epsilonNumber(value: EpsilonNano): number {
  return numberFromDecimal(value, EPSILON_FRACTION_DIGITS)
}

/** Delta as a number for display. */
export function deltaNumber(value: DeltaAtto): number {
  return numberFromDecimal(value, DELTA_FRACTION_DIGITS)
}

/** Rho as a number for display. */
export function rhoNumber(value: RhoPico): number {
  return numberFromDecimal(value, RHO_FRACTION_DIGITS)
}

/** A loss as a pair of numbers for display. */
export function lossNumbers(loss: PrivacyLoss): { epsilon: number; delta: number } {
  return { epsilon: epsilonNumber(loss.epsilonNano), delta: deltaNumber(loss.deltaAtto) }
}

/**
 * Converts a loss between neighbours to the loss between datasets that are two steps apart: (2 epsilon, (1 +
 * e^epsilon) delta), rounded up. Group privacy; Dwork and Roth 2014, theorem 2.2, and for delta Vadhan 2017, lemma
 * 2.2.
 */
export function lossOfTwoSteps({ epsilonNano: epsilon, deltaAtto: delta }: PrivacyLoss): PrivacyLoss {
  const doubled = epsilonNano(2n * epsilon)
  if (delta === 0n) return { epsilonNano: doubled, deltaAtto: delta }
  // Exceeds the rounding errors of two doubles and a power.
  const second = Number(delta) * Math.exp(epsilonNumber(epsilon)) * (1 + 1e-12)
  const whole = second < Number(ONE_DELTA_ATTO) ? delta + BigInt(Math.ceil(second)) : ONE_DELTA_ATTO
  return { epsilonNano: doubled, deltaAtto: deltaAtto(whole > ONE_DELTA_ATTO ? ONE_DELTA_ATTO : whole) }
}

/**
 * Upper bound of the loss between datasets that differ by one replaced privacy unit, from the loss between neighbours.
 */
export function lossOfReplacement(loss: PrivacyLoss, neighbours: Neighbours): PrivacyLoss {
  switch (neighbours) {
    case 'add-remove':
      return lossOfTwoSteps(loss)
    case 'change-one':
      return loss
  }
}

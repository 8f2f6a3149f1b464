import {
  addLoss,
  coversLoss,
  type DeltaAtto,
  type EpsilonNano,
  lossNumbers,
  NO_LOSS,
  type PrivacyLoss,
  type RhoPico,
  rhoNumber,
  rhoPico,
  subtractLoss,
} from './loss.ts'
import { epsilonOfRho, rhoBoughtBy } from './zcdp-conversion.ts'

/**
 * Accounting of a dataset's budget: `basic` adds up epsilon and delta; `zcdp` adds up the rho of zero-concentrated
 * differential privacy, of which a granted (epsilon, delta) buys a fixed amount.
 */
export type Accounting = 'basic' | 'zcdp'

/** Exact amount of a budget or a charge, in the units of the dataset's accounting. */
export type Amount =
  | { readonly accounting: 'basic'; readonly epsilonNano: EpsilonNano; readonly deltaAtto: DeltaAtto }
  | { readonly accounting: 'zcdp'; readonly rhoPico: RhoPico }

/** Zero, in the units of an accounting. */
export function noAmount(accounting: Accounting): Amount {
  switch (accounting) {
    case 'basic':
      return { accounting, ...NO_LOSS }
    case 'zcdp':
      return { accounting, rhoPico: rhoPico(0n) }
  }
}

/** Amount that a granted (epsilon, delta) buys, rounded down. See decision 14. */
export function amountBoughtBy(accounting: Accounting, granted: PrivacyLoss): Amount {
  switch (accounting) {
    case 'basic':
      return { accounting, epsilonNano: granted.epsilonNano, deltaAtto: granted.deltaAtto }
    case 'zcdp':
      return { accounting, rhoPico: rhoBoughtBy(granted) }
  }
}

/**
 * Adds two losses exactly (sequential composition). Delta saturates at 1.
 * @throws RangeError if the two have different accountings.
 */
export function addAmounts(a: Amount, b: Amount): Amount {
  if (a.accounting === 'zcdp' && b.accounting === 'zcdp')
    return { accounting: 'zcdp', rhoPico: rhoPico(a.rhoPico + b.rhoPico) }
  if (a.accounting === 'basic' && b.accounting === 'basic') return { accounting: 'basic', ...addLoss(a, b) }
  throw mixed()
}

/**
 * Subtracts `part` from `whole`, exactly.
 * @throws RangeError if `part` is larger or has another accounting.
 */
export function subtractAmounts(whole: Amount, part: Amount): Amount {
  if (whole.accounting === 'zcdp' && part.accounting === 'zcdp')
    return { accounting: 'zcdp', rhoPico: rhoPico(whole.rhoPico - part.rhoPico) }
  if (whole.accounting === 'basic' && part.accounting === 'basic')
    return { accounting: 'basic', ...subtractLoss(whole, part) }
  throw mixed()
}

/**
 * Tests if `part` is at most `whole`, in each unit.
 * @throws RangeError if the two have different accountings.
 */
export function coversAmount(whole: Amount, part: Amount): boolean {
  if (whole.accounting === 'zcdp' && part.accounting === 'zcdp') return part.rhoPico <= whole.rhoPico
  if (whole.accounting === 'basic' && part.accounting === 'basic') return coversLoss(whole, part)
  throw mixed()
}

/** Tests if two amounts are equal, to the last unit. */
export function isSameAmount(a: Amount, b: Amount): boolean {
  return a.accounting === b.accounting && coversAmount(a, b) && coversAmount(b, a)
}

/** (epsilon, delta) that an amount guarantees; for rho, at the given delta. */
export function lossOfAmount(amount: Amount, deltaAtto: DeltaAtto): PrivacyLoss {
  switch (amount.accounting) {
    case 'basic':
      return { epsilonNano: amount.epsilonNano, deltaAtto: amount.deltaAtto }
    case 'zcdp':
      return { epsilonNano: epsilonOfRho(amount.rhoPico, deltaAtto), deltaAtto }
  }
}

/** An amount as numbers for display. */
export function amountNumbers(amount: Amount): { epsilon: number; delta: number } | { rho: number } {
  switch (amount.accounting) {
    case 'basic':
      return lossNumbers(amount)
    case 'zcdp':
      return { rho: rhoNumber(amount.rhoPico) }
  }
}

function mixed(): RangeError {
  return new RangeError('amounts of different accountings cannot be compared')
}

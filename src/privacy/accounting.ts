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
 * How a dataset's budget is counted: `basic` adds up epsilon and delta; `zcdp` adds up the rho of zero-concentrated
 * differential privacy, of which a granted (epsilon, delta) buys a fixed amount.
 */
export type Accounting = 'basic' | 'zcdp'

/** What a budget holds or a charge takes, exact, in the units of the dataset's accounting. */
export type Amount =
  | { readonly accounting: 'basic'; readonly epsilonNano: EpsilonNano; readonly deltaAtto: DeltaAtto }
  | { readonly accounting: 'zcdp'; readonly rhoPico: RhoPico }

/** Nothing, in the units of an accounting. */
export function noAmount(accounting: Accounting): Amount {
  switch (accounting) {
    case 'basic':
      return { accounting, ...NO_LOSS }
    case 'zcdp':
      return { accounting, rhoPico: rhoPico(0n) }
  }
}

/** What a granted (epsilon, delta) amounts to, rounded down. */
export function amountBoughtBy(accounting: Accounting, granted: PrivacyLoss): Amount {
  switch (accounting) {
    case 'basic':
      return { accounting, epsilonNano: granted.epsilonNano, deltaAtto: granted.deltaAtto }
    case 'zcdp':
      return { accounting, rhoPico: rhoBoughtBy(granted) }
  }
}

/**
 * Losses of one after the other add up, exactly; delta saturates at 1.
 * @throws RangeError where the two are counted differently.
 */
export function addAmounts(a: Amount, b: Amount): Amount {
  if (a.accounting === 'zcdp' && b.accounting === 'zcdp')
    return { accounting: 'zcdp', rhoPico: rhoPico(a.rhoPico + b.rhoPico) }
  if (a.accounting === 'basic' && b.accounting === 'basic') return { accounting: 'basic', ...addLoss(a, b) }
  throw mixed()
}

/**
 * What is left of `whole` after `part`, exactly.
 * @throws RangeError where `part` is larger, or counted differently.
 */
export function subtractAmounts(whole: Amount, part: Amount): Amount {
  if (whole.accounting === 'zcdp' && part.accounting === 'zcdp')
    return { accounting: 'zcdp', rhoPico: rhoPico(whole.rhoPico - part.rhoPico) }
  if (whole.accounting === 'basic' && part.accounting === 'basic')
    return { accounting: 'basic', ...subtractLoss(whole, part) }
  throw mixed()
}

/**
 * Whether `part` is at most `whole`, in each unit.
 * @throws RangeError where the two are counted differently.
 */
export function coversAmount(whole: Amount, part: Amount): boolean {
  if (whole.accounting === 'zcdp' && part.accounting === 'zcdp') return part.rhoPico <= whole.rhoPico
  if (whole.accounting === 'basic' && part.accounting === 'basic') return coversLoss(whole, part)
  throw mixed()
}

/** Whether two amounts are the same, to the last unit. */
export function isSameAmount(a: Amount, b: Amount): boolean {
  return a.accounting === b.accounting && coversAmount(a, b) && coversAmount(b, a)
}

/** The (epsilon, delta) that an amount promises; of rho, at that delta. */
export function lossOfAmount(amount: Amount, deltaAtto: DeltaAtto): PrivacyLoss {
  switch (amount.accounting) {
    case 'basic':
      return { epsilonNano: amount.epsilonNano, deltaAtto: amount.deltaAtto }
    case 'zcdp':
      return { epsilonNano: epsilonOfRho(amount.rhoPico, deltaAtto), deltaAtto }
  }
}

/** An amount as the numbers people read. */
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

import type { Accounting, Amount } from '../privacy/accounting.ts'
import type { PrivacyLoss, RhoPico } from '../privacy/loss.ts'
import { refuseField } from '../privacy/refusal.ts'

/**
 * What is charged for a release, in the units that the dataset's budget is counted in.
 * @throws Refusal `unsupported-under-zcdp` for what has no price in rho, where that is what is counted.
 */
export function priceOf(
  { loss, rho }: { readonly loss: PrivacyLoss; readonly rho?: RhoPico },
  accounting: Accounting,
): Amount {
  switch (accounting) {
    case 'basic':
      return { accounting, epsilonNano: loss.epsilonNano, deltaAtto: loss.deltaAtto }
    case 'zcdp': {
      if (rho !== undefined) return { accounting, rhoPico: rho }
      const rule = 'must be one with a price in rho, which this dataset counts its budget in (zcdp)'
      throw refuseField('unsupported-under-zcdp', 'kind', rule)
    }
  }
}

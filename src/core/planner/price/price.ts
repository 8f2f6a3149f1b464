import type { Accounting, Amount } from '../../../privacy/accounting.ts'
import { lossOfReplacement, type PrivacyLoss, type RhoPico } from '../../../privacy/loss.ts'
import { refuseField } from '../../../privacy/refusal.ts'
import type { PlanFacts } from '../plans/plan-kind.ts'

/**
 * Price of a release, in the units of the dataset's budget.
 * @throws Refusal `unsupported-under-zcdp` for a release without a price in rho where budgets are
 * counted in rho.
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
      const rule = 'must be supported under zcdp accounting, which this dataset uses'
      throw refuseField('unsupported-under-zcdp', 'kind', rule)
    }
  }
}

/** Loss between datasets that differ by one privacy unit replaced, as one removed and one added. */
export function replacementLossInTwoSteps({ dataset, loss }: PlanFacts): PrivacyLoss {
  return lossOfReplacement(loss, dataset.neighbours)
}

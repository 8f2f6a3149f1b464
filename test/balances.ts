import type { Balances } from '../src/answers/documents/costs.ts'
import type { Budget } from '../src/ledger/contract/budgets.ts'
import { amountBoughtBy, amountNumbers, noAmount } from '../src/privacy/accounting.ts'
import { NO_LOSS, type PrivacyLoss } from '../src/privacy/loss.ts'

/** The balances of a budget of which an analyst without an allotment has spent nothing. */
export function untouched(granted: PrivacyLoss = NO_LOSS): Balances {
  return balancesOf({ granted, cap: amountBoughtBy('basic', granted), spent: noAmount('basic') })
}

/** The balances of a budget and of an analyst who has no allotment and has spent nothing. */
export function balancesOf(budget: Budget): Balances {
  const nothing = noAmount(budget.cap.accounting)
  return { budget, analyst: { principal: 'analyst', spent: nothing, spentOnShared: nothing } }
}

/** A ledger without any charge, for previews. */
export const nothingPaid = {
  ledger: {
    requests: async () => new Map<string, string>(),
    releases: async () => ({ releases: [] }),
    unansweredRequests: async () => new Map<string, string>(),
  },
}

/** The epsilon spent of a budget that adds up epsilon and delta. */
export function epsilonSpent({ spent }: Budget): number {
  return epsilonOf(amountNumbers(spent))
}

/** The epsilon of an amount that is counted in epsilon and delta. */
export function epsilonOf(amount: { readonly epsilon: number } | { readonly rho: number }): number {
  if (!('epsilon' in amount)) throw new Error('the amount is counted in rho')
  return amount.epsilon
}

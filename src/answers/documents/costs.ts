import type { AnalystSpending, Budget } from '../../ledger/contract/budgets.ts'
import type { EventReference } from '../../ledger/contract/chain.ts'
import type { Charge } from '../../ledger/contract/charges.ts'
import type { HeadSigner } from '../../ledger/signature.ts'
import {
  type Amount,
  amountNumbers,
  coversAmount,
  noAmount,
  subtractAmounts,
} from '../../privacy/accounting.ts'
import { defined } from '../../privacy/defined.ts'
import { lossNumbers } from '../../privacy/loss.ts'
import { endOf, type Repeat } from '../identity.ts'

/** Budget as shown in a response. */
export function describeBudget({ cap, spent }: Pick<Budget, 'cap' | 'spent'>) {
  return {
    cap: amountNumbers(cap),
    spent: amountNumbers(spent),
    remaining: amountNumbers(subtractAmounts(cap, spent)),
  }
}

/** Allotment of an analyst as shown in a response; an empty object without an allotment. */
export function describeAllotment({ allotment, spent }: AnalystSpending) {
  return allotment === undefined ? {} : { allotment: describeBudget({ cap: allotment.limit, spent }) }
}

/** Spending and allotment of an analyst as shown in a response. */
export function describeSpending({ principal, allotment, spent, spentOnShared }: AnalystSpending) {
  return {
    analyst: principal,
    spent: amountNumbers(spent),
    spentOnShared: amountNumbers(spentOnShared),
    ...(allotment === undefined
      ? {}
      : {
          allotment: {
            granted: lossNumbers(allotment.granted),
            ...describeBudget({ cap: allotment.limit, spent }),
          },
        }),
  }
}

/** Cost of a debit, the remaining budget, and the ledger event that records the debit. */
export function describeDebit(
  { signer }: { readonly signer?: HeadSigner },
  dataset: string,
  price: Amount,
  { budget, analyst, event }: Charge,
) {
  return {
    cost: amountNumbers(price),
    budget: describeBudget(budget),
    ...describeAllotment(analyst),
    receipt: describeReceipt(signer, dataset, event),
  }
}

/**
 * Returns the document of a replay: the stored one, with a cost of zero, and the original cost as `price`. The stored
 * bytes are not changed, because the ledger holds their hash.
 * @param show shows the release as the repeated request asks for it
 */
export function describeReplay(stored: string, show = (document: object) => document): string {
  const document = JSON.parse(stored)
  const { cost }: { readonly cost: Readonly<Record<string, number>> } = document
  const nothing = Object.fromEntries(Object.keys(cost).map((unit) => [unit, 0]))
  return JSON.stringify(show({ ...document, cost: nothing, price: cost }))
}

/** Reference to an event in a dataset's chain, signed if the service has a signing key. */
export function describeReceipt(signer: HeadSigner | undefined, dataset: string, event: EventReference) {
  const { sequence, hash } = event
  return defined({ sequence, hash, signature: signer?.sign({ dataset, sequence, hash }) })
}

/** Balances that a price is compared with. */
export interface Balances {
  readonly budget: Budget
  readonly analyst: AnalystSpending
}

/** Price of a request beside the present balances. */
export function describePrice(price: Amount, { budget, analyst }: Balances) {
  return { cost: amountNumbers(price), budget: describeBudget(budget), ...describeAllotment(analyst) }
}

/**
 * Price of a request before it is made, and whether the budget and the allotment cover it now.
 * @param cost what it costs now. Default: the price, or nothing for a repeat
 */
export function describeOffer(
  price: Amount,
  { paid, period }: Repeat,
  { budget, analyst }: Balances,
  cost = paid ? noAmount(price.accounting) : price,
) {
  const limit = analyst.allotment?.limit ?? budget.cap
  return defined({
    ...describePrice(cost, { budget, analyst }),
    paid,
    price: amountNumbers(price),
    affordable:
      coversAmount(subtractAmounts(budget.cap, budget.spent), cost) &&
      coversAmount(leftOf(limit, analyst), cost),
    replaysUntil: endOf(period),
  })
}

/** Amount that an analyst may still spend under a limit, ignoring the dataset's cap. */
export function leftOf(limit: Amount, { spent }: AnalystSpending): Amount {
  return coversAmount(limit, spent) ? subtractAmounts(limit, spent) : noAmount(limit.accounting)
}

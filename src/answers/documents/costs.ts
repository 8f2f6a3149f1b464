import {
  type AnalystSpending,
  type Budget,
  type Balances as LevelBalances,
  populationId,
} from '../../ledger/contract/budgets.ts'
import type { EventReference } from '../../ledger/contract/chain.ts'
import type { Charge, PopulationDebit } from '../../ledger/contract/charges.ts'
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
  { event, ...balances }: Charge,
) {
  const { population } = balances
  const made = population?.event && describeReceipt(signer, population.account, population.event)
  return {
    ...describePrice(price, balances),
    ...(population && { population: defined({ ...describePopulation(population), receipt: made }) }),
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

/** Balances of a population, with the name of its account. */
export type PopulationBalances = Omit<PopulationDebit, 'event'>

/** Balances that a price is compared with: those of the dataset and of its population, if it belongs to one. */
export interface Balances extends LevelBalances {
  readonly population?: PopulationBalances
}

/** Balances of a population as shown in a response. */
export function describePopulation({ account, budget, analyst }: PopulationBalances) {
  return { id: populationId(account), budget: describeBudget(budget), ...describeAllotment(analyst) }
}

/** Price of a request beside the present balances. */
export function describePrice(price: Amount, { budget, analyst, population }: Balances) {
  return {
    cost: amountNumbers(price),
    budget: describeBudget(budget),
    ...describeAllotment(analyst),
    ...(population && { population: describePopulation(population) }),
  }
}

/**
 * Price of a request before it is made, and whether the budget and the allotment cover it now.
 * @param cost what it costs now. Default: the price, or nothing for a repeat
 */
export function describeOffer(
  price: Amount,
  { paid, period }: Repeat,
  balances: Balances,
  cost = paid ? noAmount(price.accounting) : price,
) {
  const { population } = balances
  return defined({
    ...describePrice(cost, balances),
    paid,
    price: amountNumbers(price),
    affordable: isCovered(cost, balances) && (population === undefined || isCovered(cost, population)),
    replaysUntil: endOf(period),
  })
}

/** True if the budget and the allotment cover a cost now. */
export function isCovered(cost: Amount, { budget, analyst }: LevelBalances): boolean {
  const limit = analyst.allotment?.limit ?? budget.cap
  return (
    coversAmount(subtractAmounts(budget.cap, budget.spent), cost) &&
    coversAmount(leftOf(limit, analyst), cost)
  )
}

/** Amount that an analyst may still spend under a limit, ignoring the dataset's cap. */
export function leftOf(limit: Amount, { spent }: AnalystSpending): Amount {
  return coversAmount(limit, spent) ? subtractAmounts(limit, spent) : noAmount(limit.accounting)
}

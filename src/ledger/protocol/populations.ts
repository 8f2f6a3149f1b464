import {
  addAmounts,
  coversAmount,
  isSameAmount,
  noAmount,
  subtractAmounts,
} from '../../privacy/accounting.ts'
import { isPopulationAccount, type JoinOutcome, type JoinRefusal } from '../contract/budgets.ts'
import type { ChainHead } from '../contract/chain.ts'
import type { PopulationDebit } from '../contract/charges.ts'
import { eventAmount } from '../event.ts'
import { expectDataset, expectText } from '../range.ts'
import { appendWithAct } from './acts.ts'
import { analystOf, analystsOf, appendEvent, type Batch, setAnalyst } from './batch.ts'
import { type Account, type AnalystAccount, expectRow, spendingOf } from './rows.ts'

/*
 * A population is an account beside those of its datasets, with a budget, allotments and a chain of its own. What a dataset
 * spends is spent there too, in the same transaction, so that the population has spent what its datasets have spent together.
 * See decision 67.
 */

/** Decides {@link Ledger.joinPopulation}. */
export function joinPopulation(
  batch: Batch,
  dataset: string,
  population: string,
  principal: string,
): JoinOutcome {
  expectDataset(dataset)
  expectText({ principal })
  const account = batch.accounts.get(dataset)
  if (account === undefined) return { kind: 'no-budget' }
  const refusal = joinRefusal(batch, account, population)
  if (refusal !== undefined) return refusal
  join(batch, account, population, principal)
  return { kind: 'joined' }
}

/** The reason against letting a dataset join a population, or continue in it. */
export function joinRefusal(
  batch: Batch,
  { dataset, budget }: Pick<Account, 'dataset' | 'budget'>,
  population: string,
): JoinRefusal | undefined {
  expectText({ population })
  if (!isPopulationAccount(population)) throw new RangeError(`${population} is not a population`)
  if (budget.population === population) return undefined
  const refuse = (because: JoinRefusal['because'], facts: Partial<JoinRefusal> = {}): JoinRefusal => ({
    kind: 'join-refused',
    because,
    ...facts,
  })
  if (budget.population !== undefined) return refuse('other-population', { budget })
  const into = batch.accounts.get(population)
  if (into === undefined) return refuse('unknown-population')
  const { cap, granted, spent } = into.budget
  const facts = { budget: into.budget }
  if (cap.accounting !== budget.cap.accounting) return refuse('accounting', facts)
  if (granted.deltaAtto !== budget.granted.deltaAtto) return refuse('delta', facts)
  if (!coversAmount(subtractAmounts(cap, spent), budget.spent)) return refuse('budget', facts)
  const over = analystsOf(batch, dataset).find((each) => {
    const before = analystOf(batch, into, each.principal)
    return !coversAmount(before.allotment?.limit ?? cap, addAmounts(before.spent, each.spent))
  })
  return over === undefined ? undefined : refuse('allotment', { ...facts, analyst: over.principal })
}

/** Lets a dataset join a population, which {@link joinRefusal} allows, and counts what it has spent. */
export function join(batch: Batch, account: Account, population: string, principal: string): void {
  const { dataset, budget } = account
  if (budget.population === population) return
  batch.accounts.set(dataset, { ...account, budget: { ...budget, population } })
  const event = appendEvent(batch, dataset, { kind: 'joined', principal, population })
  const member: ChainHead = { dataset, ...event }
  appendWithAct(batch, population, { kind: 'joined', principal, member }, 'population-joined')
  for (const each of analystsOf(batch, dataset)) carry(batch, { population, member, principal, each })
}

/** Counts what an analyst has spent on a dataset that joins a population. */
function carry(
  batch: Batch,
  {
    population,
    member,
    principal,
    each: { principal: analyst, spent, spentOnShared },
  }: {
    readonly population: string
    readonly member: ChainHead
    readonly principal: string
    readonly each: AnalystAccount
  },
): void {
  const nothing = noAmount(spent.accounting)
  if (isSameAmount(spent, nothing)) return
  const into = expectRow(batch.accounts.get(population))
  spend(batch, into, analystOf(batch, into, analyst), { spent, spentOnShared })
  appendEvent(batch, population, {
    kind: 'carried',
    principal,
    member,
    analyst,
    loss: eventAmount(spent),
    ...(!isSameAmount(spentOnShared, nothing) && { spentOnShared: eventAmount(spentOnShared) }),
  })
}

/** Adds to the spending of an analyst, and of the account what was not spent on shared releases. */
export function spend(
  batch: Batch,
  account: Account,
  analyst: AnalystAccount,
  { spent, spentOnShared }: Pick<AnalystAccount, 'spent' | 'spentOnShared'>,
): void {
  setAnalyst(batch, {
    ...analyst,
    spent: addAmounts(analyst.spent, spent),
    spentOnShared: addAmounts(analyst.spentOnShared, spentOnShared),
  })
  const paid = subtractAmounts(spent, spentOnShared)
  const budget = { ...account.budget, spent: addAmounts(account.budget.spent, paid) }
  batch.accounts.set(account.dataset, { ...account, budget })
}

/** The account of the population that a dataset belongs to, and an analyst's account on it. */
export function populationOf(
  batch: Batch,
  { budget: { population } }: Account,
  principal: string,
): { readonly account: Account; readonly analyst: AnalystAccount } | undefined {
  if (population === undefined) return undefined
  const account = expectRow(batch.accounts.get(population))
  return { account, analyst: analystOf(batch, account, principal) }
}

/** The balances of the population of a dataset, for the outcome of a charge. */
export function populationBalances(
  batch: Batch,
  account: Account,
  principal: string,
): Pick<PopulationDebit, 'account' | 'budget' | 'analyst'> | undefined {
  const found = populationOf(batch, account, principal)
  return (
    found && {
      account: found.account.dataset,
      budget: found.account.budget,
      analyst: spendingOf(found.analyst),
    }
  )
}

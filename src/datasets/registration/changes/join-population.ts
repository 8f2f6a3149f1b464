import type { CatalogEntry } from '../../../core/dataset/entry.ts'
import {
  type Budget,
  type Budgets,
  type JoinRefusal,
  populationAccount,
  populationId,
} from '../../../ledger/contract/budgets.ts'
import type { Chain } from '../../../ledger/contract/chain.ts'
import { openedFor } from '../../../ledger/event.ts'
import { amountNumbers, coversAmount, subtractAmounts } from '../../../privacy/accounting.ts'
import { deltaNumber } from '../../../privacy/loss.ts'
import type { Neighbours } from '../../../privacy/neighbours.ts'
import { Refusal, type RefusalFacts, refuseField, unknownDataset } from '../../../privacy/refusal.ts'
import type { RegistryContext } from '../context.ts'
import type { CheckedRegistration } from './registration.ts'

/**
 * Requires that a registration fits its population, before its rows are read. The ledger decides again when it joins.
 * @param opened the budget that the id has
 * @throws Refusal `population-does-not-fit` naming the declaration that differs
 */
export async function requirePopulation(
  ledger: Budgets & Chain,
  { declaration, granted }: Pick<CheckedRegistration, 'declaration' | 'granted'>,
  opened: Budget | undefined,
): Promise<void> {
  const { id, population, accounting, neighbours, privacyUnit } = declaration
  if (population === undefined) return
  const account = populationAccount(population)
  if (opened?.population === account) return
  const into = await ledger.budget(account)
  const refused = (because: JoinRefusal['because']) =>
    refusedJoin({ kind: 'join-refused', because, ...(into && { budget: into }) }, id)
  if (into === undefined) throw refused('unknown-population')
  if (into.cap.accounting !== accounting) throw refused('accounting')
  if (into.granted.deltaAtto !== granted.deltaAtto) throw refused('delta')
  await requirePeople(ledger, account, { neighbours, unit: privacyUnit.kind })
  const left = subtractAmounts(into.cap, into.spent)
  if (opened !== undefined && !coversAmount(left, opened.spent)) throw refused('budget')
}

/**
 * Lets a dataset join a population, registered or withdrawn. What it has spent is counted there.
 * @throws Refusal `unknown-dataset` without a budget, `population-does-not-fit` with the declaration that differs
 */
export async function joinPopulation(
  { catalog, ledger, alone }: RegistryContext,
  id: string,
  population: string,
  principal: string,
): Promise<void> {
  await alone(async (requireAlone) => {
    if ((await ledger.budget(id)) === undefined) throw unknownDataset(id)
    const account = populationAccount(population)
    const { neighbours = 'add-remove', privacyUnit } = await openedFor(ledger, id)
    await requirePeople(ledger, account, { neighbours, unit: privacyUnit === undefined ? 'row' : 'person' })
    const outcome = await ledger.joinPopulation(id, account, principal)
    if (outcome.kind === 'no-budget') throw unknownDataset(id)
    if (outcome.kind === 'join-refused') throw refusedJoin(outcome, id)
    const entry = catalog.get(id)
    await requireAlone()
    if (entry !== undefined) await catalog.add(inPopulation(entry, population))
  })
}

function inPopulation(entry: CatalogEntry, population: string): CatalogEntry {
  return { ...entry, declaration: { ...entry.declaration, population } }
}

/** @throws Refusal unless the charges of a dataset protect whom those of the population do. */
async function requirePeople(
  ledger: Chain,
  account: string,
  { neighbours, unit }: { readonly neighbours: Neighbours; readonly unit: 'person' | 'row' },
): Promise<void> {
  const population = populationId(account)
  if (neighbours !== 'add-remove')
    throw doesNotFit('neighbours', 'must be add-remove, the neighbours of every population')
  const { privacyUnit } = await openedFor(ledger, account)
  const expected = privacyUnit === undefined ? 'row' : 'person'
  if (unit !== expected)
    throw doesNotFit(
      'privacyUnit.kind',
      `must be ${expected}, the privacy unit of the population ${population}`,
    )
}

/** Converts the reason against joining a population. */
export function refusedJoin({ because, budget, analyst }: JoinRefusal, id: string): Refusal {
  const facts = budget && { cap: amountNumbers(budget.cap), spent: amountNumbers(budget.spent) }
  switch (because) {
    case 'unknown-population':
      return doesNotFit('population', 'must be the id of a population')
    case 'other-population':
      return doesNotFit(
        'population',
        `must be ${populationId(budget?.population ?? '')}, to which ${id} belongs for ever`,
      )
    case 'accounting':
      return doesNotFit('accounting', `must be ${budget?.cap.accounting}, the accounting of the population`)
    case 'delta': {
      const delta = budget === undefined ? 0 : deltaNumber(budget.granted.deltaAtto)
      return doesNotFit('budget.delta', `must be ${delta}, the delta of the population`)
    }
    case 'budget':
      return doesNotFit('population', `must have left what ${id} has spent`, facts)
    case 'allotment':
      return doesNotFit('population', `must allow ${analyst} what they have spent on ${id}`)
  }
}

function doesNotFit(field: string, rule: string, facts?: RefusalFacts): Refusal {
  return new Refusal('population-does-not-fit', `${field}: ${rule}`, [{ field, rule }], facts)
}

/** Refusal of another delta for a population or one of its datasets. */
export function fixedDelta(): Refusal {
  return refuseField(
    'invalid-request',
    'delta',
    'must stay as it is: a population and its datasets have one delta',
  )
}

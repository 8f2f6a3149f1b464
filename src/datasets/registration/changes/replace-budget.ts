import type { CatalogEntry } from '../../../core/dataset/entry.ts'
import type { Budget } from '../../../ledger/contract/budgets.ts'
import { amountNumbers } from '../../../privacy/accounting.ts'
import { Refusal, unknownDataset } from '../../../privacy/refusal.ts'
import type { RegistryContext } from '../context.ts'
import { fixedDelta } from './join-population.ts'
import { grantedBy } from './registration.ts'

/** The cap that takes the place of a wrong one. */
export interface BudgetReplacement {
  readonly budget: CatalogEntry['budget']
  readonly reason: string
}

/**
 * Replaces the cap of an id from which nothing was spent, registered or not.
 * @throws Refusal `unknown-dataset` without a budget, `budget-spent` once something was spent
 */
export async function replaceBudget(
  { catalog, ledger, alone }: RegistryContext,
  id: string,
  { budget, reason }: BudgetReplacement,
  principal: string,
): Promise<Budget> {
  return alone(async (requireAlone) => {
    const before = await ledger.budget(id)
    if (before === undefined) throw unknownDataset(id)
    const granted = grantedBy(budget, before.cap.accounting, '')
    if (before.population !== undefined && granted.deltaAtto !== before.granted.deltaAtto) throw fixedDelta()
    const outcome = await ledger.replaceCap(id, granted, principal, reason)
    if (outcome.kind === 'no-budget') throw unknownDataset(id)
    if (outcome.kind === 'spent') throw alreadySpent(id, outcome.budget)
    // The same registration with the right cap then changes nothing.
    const entry = catalog.get(id)
    await requireAlone()
    if (entry !== undefined) await catalog.add({ ...entry, budget })
    return outcome.budget
  })
}

function alreadySpent(id: string, { cap, spent }: Budget): Refusal {
  return new Refusal(
    'budget-spent',
    `Something was spent from the budget of ${id}, so that its cap cannot be replaced. A grant can raise it.`,
    [],
    { cap: amountNumbers(cap), spent: amountNumbers(spent) },
  )
}

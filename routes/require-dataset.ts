import type { Catalog, CatalogEntry } from '../src/catalog/catalog.ts'
import type { AnalystSpending, Budget, Ledger } from '../src/ledger/ledger.ts'
import { Refusal } from '../src/privacy/refusal.ts'

/**
 * The catalog's entry of that id.
 * @throws Refusal `unknown-dataset`
 */
export function requireDataset(catalog: Catalog, id: string): CatalogEntry {
  const entry = catalog.get(id)
  if (entry === undefined)
    throw new Refusal('unknown-dataset', `There is no dataset ${id}; GET /v1/datasets lists them.`)
  return entry
}

/**
 * What the ledger was asked for about a dataset, where that ever had a budget.
 * @throws Refusal `unknown-dataset`
 */
export function requireOpened<Found>(found: Found | undefined, id: string): Found {
  if (found === undefined) throw unknownBudget(id)
  return found
}

/** The refusal of a dataset that never had a budget. */
export function unknownBudget(id: string): Refusal {
  return new Refusal('unknown-dataset', `There never was a dataset ${id}.`)
}

/**
 * A dataset's budget, and what one principal has spent of it.
 * @throws Refusal `unknown-dataset`
 */
export async function requireBalances(
  ledger: Ledger,
  id: string,
  principal: string,
): Promise<{ readonly budget: Budget; readonly analyst: AnalystSpending }> {
  const [budget, analyst] = await Promise.all([ledger.budget(id), ledger.analystSpending(id, principal)])
  if (budget === undefined || analyst === undefined) throw unknownBudget(id)
  return { budget, analyst }
}

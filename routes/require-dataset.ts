import type { Catalog, CatalogEntry } from '../src/catalog/catalog.ts'
import type { AnalystSpending, Budget, Ledger } from '../src/ledger/ledger.ts'
import { Refusal } from '../src/privacy/refusal.ts'

/**
 * Returns the catalog's entry for an id.
 * @throws Refusal `unknown-dataset`
 */
export function requireDataset(catalog: Catalog, id: string): CatalogEntry {
  const entry = catalog.get(id)
  if (entry === undefined)
    throw new Refusal(
      'unknown-dataset',
      `No dataset ${id} is registered. GET /v1/datasets lists all datasets.`,
    )
  return entry
}

/**
 * Returns a result of the ledger, unless it is absent because the dataset never had a budget.
 * @throws Refusal `unknown-dataset`
 */
export function requireOpened<Found>(found: Found | undefined, id: string): Found {
  if (found === undefined) throw unknownBudget(id)
  return found
}

/** Creates the refusal for a dataset that never had a budget. */
export function unknownBudget(id: string): Refusal {
  return new Refusal('unknown-dataset', `No dataset ${id} was ever registered.`)
}

/**
 * Returns the budget of a dataset and the spending of a principal.
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

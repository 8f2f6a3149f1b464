import type { Catalog, CatalogEntry } from '../src/catalog/catalog.ts'
import type { Budget } from '../src/ledger/ledger.ts'
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
 * A budget that the ledger was asked for, where it has one.
 * @throws Refusal `unknown-dataset`
 */
export function requireBudget(found: Budget | undefined, id: string): Budget {
  if (found === undefined) throw new Refusal('unknown-dataset', `There never was a dataset ${id}.`)
  return found
}

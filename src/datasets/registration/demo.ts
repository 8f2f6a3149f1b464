import type { Budgets } from '../../ledger/contract/budgets.ts'
import type { Chain } from '../../ledger/contract/chain.ts'
import { openedFor } from '../../ledger/event.ts'
import { lossNumbers } from '../../privacy/loss.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Registry } from './registry.ts'
import { populationColumns } from './sources/population.ts'

/** The registration of the demo dataset, as a custodian would send it. */
export const censusRegistration = {
  id: 'census',
  title: 'A made-up census of 100,000 people',
  source: { kind: 'population', rows: 100_000, seed: 'sotto census' },
  columns: populationColumns,
  privacyUnit: { kind: 'row' },
  neighbours: 'add-remove',
  budget: { epsilon: 10, delta: 1e-5 },
  synthetic: true,
  accounting: 'basic',
  sharing: false,
  timing: 'off',
  failureLimit: 3,
  queryLimits: {},
} as const

/** Registers the demo dataset, unless it is registered or was withdrawn. An existing budget is not changed. */
export async function registerDemo(
  registry: Registry,
  catalog: Catalog,
  ledger: Budgets & Chain,
): Promise<void> {
  const { id } = censusRegistration
  if (catalog.get(id) !== undefined || catalog.wasRemoved(id)) return
  const before = await ledger.budget(id)
  const budget = before === undefined ? censusRegistration.budget : lossNumbers(before.granted)
  const accounting = before?.cap.accounting ?? censusRegistration.accounting
  const opened = await openedFor(ledger, id)
  // The budget of a lost catalog. It may have been spent on real data, so the demo must not use it.
  if (before !== undefined && opened.synthetic !== true) return
  const neighbours = opened.neighbours ?? censusRegistration.neighbours
  await registry.register({ ...censusRegistration, accounting, neighbours, budget }, { principal: 'sotto' })
}

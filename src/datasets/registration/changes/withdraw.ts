import { unknownDataset } from '../../../privacy/refusal.ts'
import type { RegistryContext } from '../context.ts'

/**
 * Withdraws a dataset, then waits for the queries that were accepted before, and deletes its ingested rows. The id keeps its
 * budget and its spending.
 * @throws Refusal `unknown-dataset`
 */
export async function withdraw(
  { catalog, ledger, retirement, alone }: RegistryContext,
  id: string,
  principal: string,
): Promise<void> {
  const dataset = await alone(async (requireAlone) => {
    const entry = catalog.get(id)
    if (entry === undefined) throw unknownDataset(id)
    const { version } = entry.dataset
    await ledger.recordAct({ kind: 'dataset-withdrawn', principal, subject: id, facts: { version } })
    await requireAlone()
    await catalog.remove(id)
    return entry.dataset
  })
  await retirement.close(dataset)
}

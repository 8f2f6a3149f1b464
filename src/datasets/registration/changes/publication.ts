import type { Dataset } from '../../../core/dataset/dataset.ts'
import { declareDataset } from '../../../core/dataset/declaration.ts'
import type { CatalogEntry } from '../../../core/dataset/entry.ts'
import { defined } from '../../../privacy/defined.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { datasetOf } from '../../catalog/entry-file.ts'
import type { Workspace } from '../../catalog/workspace.ts'
import type { RegistryDependencies } from '../context.ts'

/** Facts of a version that was ingested, before it has its number. */
export type IngestedVersion = Omit<CatalogEntry, 'dataset' | 'registeredAt' | 'versions'> & {
  /** The entry that the version replaces, if the dataset is registered. */
  readonly replaces?: CatalogEntry
}

/**
 * Publishes an ingested version, or leaves nothing of it. Only the holder of exclusive access may call it.
 * @param record records the version in the ledger, before it is visible
 * @param requireAlone as for `Ledger.exclusively`
 */
export async function publish(
  { catalog, engine, ledger }: Pick<RegistryDependencies, 'catalog' | 'engine' | 'ledger'>,
  workspace: Workspace,
  ingested: IngestedVersion,
  record: (version: string) => Promise<void>,
  requireAlone: () => Promise<void>,
): Promise<CatalogEntry> {
  const { id } = ingested.declaration
  // The ledger may outlive the catalog: a question must not be answered by a release about another version.
  const version = String(Math.max(catalog.lastVersion(id), await ledger.lastDatasetVersion(id)) + 1)
  const entry = entryOf(ingested, version)
  const { dataset } = entry
  let mayBePublished = false
  try {
    // The files of the version are replaced, and another process could have published it meanwhile.
    await requireAlone()
    await catalog.adopt(workspace, dataset)
    await engine.open(entry)
    await record(version)
    await requireAlone()
    mayBePublished = true
    await catalog.add(entry)
    return entry
  } catch (error) {
    await engine.closeDataset(dataset)
    // An entry that may have been written needs its rows.
    if (!mayBePublished) await discardOrForget(catalog, dataset, requireAlone)
    throw error
  }
}

/**
 * Removes the files of a version that was not published. Without exclusive access they may belong to a version with the same
 * number, which another process has published. If not, the next version or the next start removes them.
 */
async function discardOrForget(
  catalog: Catalog,
  dataset: Dataset,
  requireAlone: () => Promise<void>,
): Promise<void> {
  const isAlone = await requireAlone().then(
    () => true,
    () => false,
  )
  if (isAlone) await catalog.discard(dataset)
  else catalog.forget(dataset)
}

function entryOf({ replaces, ...ingested }: IngestedVersion, version: string): CatalogEntry {
  const { declaration, ingestion } = ingested
  const before = replaces?.versions ?? []
  const units = ingestion.people ?? ingestion.rowsStored
  const { rows, people } = declareDataset(declaration, version, units)
  const publishedAt = new Date().toISOString()
  const versions = [...before, defined({ version, publishedAt, rows, people })]
  const registeredAt = replaces?.registeredAt ?? publishedAt
  return { ...ingested, dataset: datasetOf(declaration, versions, units), registeredAt, versions }
}

import type { Catalog, CatalogEntry } from '../catalog/catalog.ts'
import type { Column, Dataset, FileLayout } from '../catalog/dataset.ts'
import type { DatasetDeclaration } from '../catalog/declaration.ts'
import { datasetOf } from '../catalog/entry-file.ts'
import { keyedUnit } from '../catalog/person-key.ts'
import type { Workspace } from '../catalog/workspace.ts'
import { type Ingestion, ingest } from '../engines/duckdb/ingest.ts'
import type { DatasetEngine } from '../engines/routing.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { Refusal } from '../privacy/refusal.ts'

/** Dependencies of publication. */
export interface PublicationDependencies {
  readonly catalog: Catalog
  readonly engine: DatasetEngine
  readonly ledger: Ledger
}

/** Rows to ingest: a copied source and its declaration. */
export interface RowsToIngest {
  readonly declaration: Pick<DatasetDeclaration, 'privacyUnit' | 'neighbours'>
  readonly columns: readonly Column[]
  readonly layout: FileLayout
}

/**
 * Ingests the copied source of a workspace, with a new key for the rows of people.
 * @returns exact numbers for the custodian
 * @throws Refusal for a source that does not fit; the reason of the signal once it is aborted.
 */
export async function ingestInto(
  { sourceFile, rowsFile, personKeyFile }: Workspace,
  { declaration, columns, layout: { format, csv } }: RowsToIngest,
  { signal, bounds, onProgress }: Pick<Ingestion, 'signal' | 'bounds' | 'onProgress'>,
): Promise<NonNullable<CatalogEntry['ingestion']>> {
  const privacyUnit = await keyedUnit(declaration.privacyUnit, personKeyFile)
  const ingestion = await ingest({
    sourcePath: sourceFile,
    format,
    csv,
    columns,
    privacyUnit,
    targetPath: rowsFile,
    signal,
    bounds,
    onProgress,
  })
  requireRow(declaration, ingestion)
  return ingestion
}

/** @throws Refusal `source-does-not-fit` for a dataset without rows under `change-one` neighbours. */
export function requireRow(
  { neighbours }: Pick<DatasetDeclaration, 'neighbours'>,
  { rowsStored }: NonNullable<CatalogEntry['ingestion']>,
): void {
  if (neighbours !== 'change-one' || rowsStored > 0) return
  const detail = 'With change-one neighbours a dataset needs at least one row.'
  throw new Refusal('source-does-not-fit', detail, [{ field: 'source', rule: 'must have at least one row' }])
}

/** Returns the number of the next version of an id. */
async function nextVersion(
  { catalog, ledger }: Pick<PublicationDependencies, 'catalog' | 'ledger'>,
  id: string,
): Promise<string> {
  // The ledger may outlive the catalog: a question must not be answered by a release about another version.
  return String(Math.max(catalog.lastVersion(id), await ledger.lastDatasetVersion(id)) + 1)
}

/** Facts of a version that was ingested, before it has its number. */
export type IngestedVersion = Omit<CatalogEntry, 'dataset' | 'registeredAt' | 'versions' | 'ingestion'> &
  Required<Pick<CatalogEntry, 'ingestion'>> & {
    /** The entry that the version replaces, if the dataset is registered. */
    readonly replaces?: CatalogEntry
  }

/**
 * Publishes an ingested version, or leaves nothing of it. Only the holder of exclusive access may call it.
 * @param record records the version in the ledger, before it is visible
 * @param requireAlone as for `Ledger.exclusively`
 */
export async function publish(
  { catalog, engine, ledger }: PublicationDependencies,
  workspace: Workspace,
  ingested: IngestedVersion,
  record: (version: string) => Promise<void>,
  requireAlone: () => Promise<void>,
): Promise<CatalogEntry> {
  const version = await nextVersion({ catalog, ledger }, ingested.declaration.id)
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
  const dataset = datasetOf(declaration, version, units, before[0]?.version)
  const { rows, people } = dataset
  const publishedAt = new Date().toISOString()
  const published = {
    ...{ version, publishedAt },
    ...(rows === undefined ? {} : { rows }),
    ...(people === undefined ? {} : { people }),
  }
  const registeredAt = replaces?.registeredAt ?? publishedAt
  return { ...ingested, dataset, registeredAt, versions: [...before, published] }
}

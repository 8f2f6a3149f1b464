import { existsSync } from 'node:fs'
import { type Dataset, type DatasetVersion, isLive, versionKey } from '../../core/dataset/dataset.ts'
import type { CatalogEntry } from '../../core/dataset/entry.ts'
import { Refusal } from '../../privacy/refusal.ts'
import type { Catalog } from './catalog.ts'

/** The versions whose ingested rows are on another replica, if replicas share a catalog and no volume. */
export interface AbsentRows {
  /** Opens an entry for queries, or notes that its rows are not here. */
  open(entry: CatalogEntry): Promise<void>
  /**
   * Requires the rows of a version, before anything is charged.
   * @throws Refusal `unavailable` if they are not here.
   */
  require(dataset: DatasetVersion): void
}

/**
 * Creates the note of absent rows.
 * @param open opens an entry whose rows are here, or that has none of its own
 * @param onAbsent receives each dataset whose rows are not here
 */
export function createAbsentRows(
  { rowsFile }: Pick<Catalog, 'rowsFile'>,
  open: (entry: CatalogEntry) => Promise<void>,
  onAbsent: (dataset: Dataset) => void,
): AbsentRows {
  const absent = new Map<string, CatalogEntry>()
  const openLate = (entry: CatalogEntry): void => {
    open(entry).then(
      () => absent.delete(versionKey(entry.dataset)),
      // The next request tries again.
      () => undefined,
    )
  }
  return {
    async open(entry) {
      const { dataset } = entry
      if (isLive(dataset) || existsSync(rowsFile(dataset))) return open(entry)
      absent.set(versionKey(dataset), entry)
      onAbsent(dataset)
    },
    require(dataset) {
      const entry = absent.get(versionKey(dataset))
      if (entry === undefined) return
      // A shared volume may show the file later than the database shows the entry.
      if (existsSync(rowsFile(dataset))) openLate(entry)
      throw new Refusal(
        'unavailable',
        `The rows of ${dataset.id} are a file that this replica does not have. Nothing was charged. Ask the replica that ` +
          'registered the dataset, or let the operator give all replicas one volume.',
        [],
        { retryAfterSeconds: 5 },
      )
    },
  }
}

import type { CatalogEntry } from './catalog.ts'
import type { Dataset, DatasetVersion } from './dataset.ts'
import type { RemovedEntry } from './entry-file.ts'

/** The place of the catalog's entries and of the keys of people. Writes are durable when a call resolves. */
export interface EntryStore {
  /** Returns the ids of all entries, each with a text that changes whenever the entry is written. */
  stamps(): Promise<ReadonlyMap<string, string>>
  /**
   * Reads an entry; `undefined` if there is none.
   * @throws Error for a damaged entry.
   */
  read(id: string): Promise<CatalogEntry | RemovedEntry | undefined>
  /** Writes an entry atomically: readers see the one before or the new one. */
  write(id: string, entry: CatalogEntry | RemovedEntry): Promise<void>
  /** Stores the key of a version, which a file contains. The file may be moved. */
  adoptPersonKey(dataset: Dataset, file: string): Promise<void>
  /** Reads the key of a version as it was stored. */
  readPersonKey(dataset: DatasetVersion): Promise<string>
  removePersonKey(dataset: DatasetVersion): Promise<void>
  /** Removes the keys of all versions of an id but some. */
  removeOtherPersonKeys(id: string, versions: readonly string[]): Promise<void>
}

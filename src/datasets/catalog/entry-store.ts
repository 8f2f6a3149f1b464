import type { Dataset, DatasetVersion } from '../../core/dataset/dataset.ts'
import type { CatalogEntry, RemovedEntry } from '../../core/dataset/entry.ts'

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
  /**
   * Takes over the key of a version, which a file contains and which is kept once the entry of the version is written. The
   * file may be moved.
   */
  adoptPersonKey(dataset: Dataset, file: string): Promise<void>
  /** Reads the key of a version that was published or taken over. */
  readPersonKey(dataset: DatasetVersion): Promise<string>
  /** Forgets a key that was taken over, if another process may have published the version. */
  forgetPersonKey(dataset: DatasetVersion): void
  removePersonKey(dataset: DatasetVersion): Promise<void>
  /** Removes the keys of all versions of an id but some. */
  removeOtherPersonKeys(id: string, versions: readonly string[]): Promise<void>
}

import { mkdir, readdir, rm, rmdir } from 'node:fs/promises'
import path from 'node:path'
import { publishFile, synchronise } from '../files/durable-file.ts'
import { type Dataset, isGenerated, isLive, type TableColumn } from './dataset.ts'
import type { DatasetDeclaration } from './declaration.ts'
import { ENTRY_FILE, entryStamp, isMissing, type RemovedEntry, readEntry, writeEntry } from './entry-file.ts'
import { createWorkspace, isWorkspace, type Workspace } from './workspace.ts'

/** A registered dataset: its declaration and derived facts. */
export interface CatalogEntry {
  readonly declaration: DatasetDeclaration
  /** Budget of the id's first registration. The ledger knows the present budget. */
  readonly budget: { readonly epsilon: number; readonly delta: number }
  readonly dataset: Dataset
  /** ISO 8601, UTC. */
  readonly registeredAt: string
  /** All versions of this registration, the present one last. */
  readonly versions: readonly PublishedVersion[]
  /** SHA-256 of the source, hexadecimal. Private, because it would confirm a guess of the whole file. */
  readonly sourceDigest: string
  /**
   * The columns that the table of a live dataset had at registration, for the declared columns and in their order. Absent
   * for other sources.
   */
  readonly tableColumns?: readonly TableColumn[]
  /** Exact numbers about the source, for the custodian only. Absent if an earlier release ingested it. */
  readonly ingestion?: IngestionCounts
}

/** Public facts of a version. */
export interface PublishedVersion {
  readonly version: string
  /** ISO 8601, UTC. */
  readonly publishedAt: string
  /** As in {@link Dataset}: public only under `change-one`. */
  readonly rows?: number
  readonly people?: number
}

/** Exact numbers about the ingestion of a source. They are not protected by noise, so only custodians may see them. */
export interface IngestionCounts {
  /** Rows of the source. */
  readonly rowsRead: number
  /** Rows left out because an identifier is missing. */
  readonly rowsWithoutIdentifier: number
  /** Rows left out because their person has more than `maxRows`. */
  readonly rowsBeyondMaxRows: number
  /** Rows that queries read. */
  readonly rowsStored: number
  /** People with stored rows. Absent if each row is a person. */
  readonly people?: number
  /**
   * The number of values of each declared column that did not fit its declaration. In rows left out for a missing
   * identifier, the other values are not counted.
   */
  readonly invalidValues: readonly InvalidValues[]
}

/** The values of a declared column that did not fit its declaration. */
export interface InvalidValues {
  readonly column: string
  readonly values: number
  /** The values by the rule that they broke. Absent if an earlier release counted them. */
  readonly misfits?: readonly Misfits[]
}

/** The values of a column that broke one rule. */
export interface Misfits {
  readonly rule:
    | 'missing'
    | 'not-a-number'
    | 'not-a-whole-number'
    | 'not-a-date'
    | 'not-a-timestamp'
    | 'not-a-boolean'
    | 'not-a-category'
    | 'not-a-text'
  readonly values: number
  /**
   * Unit of the places: lines of a CSV file, counted from its first; records of a CSV file below its header, if records
   * are not lines because values have line breaks or lines are blank; rows of a Parquet file. All are counted from 1. Absent
   * for tables, as are the places.
   */
  readonly unit?: 'line' | 'record' | 'row'
  /** Places of the first values, five at most. */
  readonly first?: readonly number[]
}

/** Registry of datasets' public facts: one folder per dataset. Changes are durable before a call resolves. */
export interface Catalog {
  get(id: string): CatalogEntry | undefined
  /** Returns all entries in the order of their ids. */
  list(): readonly CatalogEntry[]
  /** Returns the ids of all registrations, removed or not. */
  ids(): readonly string[]
  /**
   * Publishes an entry, which replaces an entry of the same id atomically. The rows of the version that it replaces are kept
   * until they are discarded; those of all others are removed.
   */
  add(entry: CatalogEntry): Promise<void>
  /**
   * Removes an entry and its ingested rows. The ledger keeps its budget, and no later registration gets its version.
   */
  remove(id: string): Promise<void>
  /** Returns true if an id was registered and removed again. */
  wasRemoved(id: string): boolean
  /** Returns the number of an id's last registration, removed or not; 0 if there was none. */
  lastVersion(id: string): number
  /**
   * Returns facts that an id's last registration declared, removed or not. They are missing if there was none, or if an
   * earlier release removed it.
   */
  lastDeclared(id: string): LastDeclared
  /**
   * Returns the sources of all registrations, removed or not, as far as they are known. Sources that the service generates
   * are not among them.
   */
  registeredSources(): readonly RegisteredSource[]
  /**
   * Reads changes that other processes made to the folder. A dataset becomes visible only after its rows are open,
   * and is hidden before they are closed. A failed step is retried at the next call.
   */
  refresh(rows: RowsOpener): Promise<void>
  /**
   * Creates a folder for the files of one ingestion.
   * @param timeLimitMs time after which the ingestion is stopped
   */
  workspace(timeLimitMs: number): Promise<Workspace>
  /** Moves the ingested rows and the key of a workspace to their place as a version of a dataset, durably. */
  adopt(workspace: Workspace, dataset: Dataset): Promise<void>
  /** Removes the rows and the key of a version that is not, or no longer, in the catalog. */
  discard(dataset: Dataset): Promise<void>
  /** Returns the path of the ingested rows of one version of a dataset. */
  rowsFile(dataset: Pick<Dataset, 'id' | 'version'>): string
  /** Returns the path of the key that chose the rows of one version of a dataset, if people are its privacy units. */
  personKeyFile(dataset: Pick<Dataset, 'id' | 'version'>): string
}

/** Facts that the last registration of an id declared. */
export type LastDeclared = Partial<Pick<DatasetDeclaration, 'neighbours' | 'synthetic'>>

/** A source that was registered under an id. */
export interface RegisteredSource {
  readonly dataset: string
  /** SHA-256, hexadecimal. Private, as in {@link CatalogEntry}. */
  readonly digest: string
  readonly synthetic: boolean
}

/** Opens and closes one version of a dataset for queries. */
export interface RowsOpener {
  open(entry: CatalogEntry): Promise<void>
  closeDataset(dataset: Dataset): Promise<void>
}

/**
 * Opens the catalog in a folder and creates the folder if necessary.
 * @param shared true if other processes may use the folder; then nothing is cleaned up
 */
export async function openCatalog(
  directory: string,
  { shared = false }: { readonly shared?: boolean } = {},
): Promise<Catalog> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const folderOf = (id: string) => path.join(directory, id)
  const entries = new Map<string, CatalogEntry>()
  const removed = new Map<string, RemovedEntry>()
  const take = (id: string, found: CatalogEntry | RemovedEntry): void => {
    entries.delete(id)
    removed.delete(id)
    if ('state' in found) removed.set(id, found)
    else entries.set(id, found)
  }

  const idsOnDisk = async () => (await readdir(directory)).filter((name) => !isWorkspace(name))
  if (!shared) await removeWorkspaces(directory)
  for (const id of await idsOnDisk()) {
    const found = await readEntry(folderOf(id))
    if (found !== undefined) take(id, found)
    if (!shared) await cleanUp(folderOf(id), found)
  }

  /** Stamps of the entry files that were read. An unchanged file is not read again. */
  const lastStamps = new Map<string, string>()

  const refreshOne = async (id: string, rows: RowsOpener): Promise<void> => {
    const stamp = await entryStamp(folderOf(id))
    if (lastStamps.get(id) === stamp) return
    const found = await readEntry(folderOf(id))
    if (found === undefined) return
    const before = entries.get(id)?.dataset
    const after = 'state' in found ? undefined : found
    const isNewVersion = before?.version !== after?.dataset.version
    if (isNewVersion && after !== undefined) await rows.open(after)
    take(id, found)
    if (isNewVersion && before !== undefined) await rows.closeDataset(before)
    lastStamps.set(id, stamp)
  }

  return {
    get: (id) => entries.get(id),
    list: () => [...entries.values()].sort((a, b) => (a.dataset.id < b.dataset.id ? -1 : 1)),
    ids: () => [...entries.keys(), ...removed.keys()],
    rowsFile: (dataset) => path.join(folderOf(dataset.id), rowsFileName(dataset)),
    personKeyFile: (dataset) => path.join(folderOf(dataset.id), personKeyFileName(dataset)),
    wasRemoved: (id) => removed.has(id),
    lastVersion: (id) => Number(entries.get(id)?.dataset.version ?? removed.get(id)?.version ?? 0),
    lastDeclared: (id) => entries.get(id)?.dataset ?? removed.get(id) ?? {},
    registeredSources: () => [
      ...[...entries.values()].flatMap(registeredSourceOf),
      ...[...removed].flatMap(([dataset, { sourceDigest: digest, synthetic }]) =>
        digest === undefined || synthetic === undefined ? [] : [{ dataset, digest, synthetic }],
      ),
    ],
    async refresh(rows) {
      const attempts = (await idsOnDisk()).map((id) => refreshOne(id, rows))
      for (const attempt of await Promise.allSettled(attempts)) {
        // A folder without an entry belongs to a registration that is being published or was refused.
        if (attempt.status === 'rejected' && !isMissing(attempt.reason)) throw attempt.reason
      }
    },
    workspace: (timeLimitMs) => createWorkspace(directory, timeLimitMs),
    async adopt({ rowsFile, personKeyFile }, dataset) {
      const folder = folderOf(dataset.id)
      await mkdir(folder, { recursive: true, mode: 0o700 })
      if (dataset.privacyUnit.kind === 'person')
        await publishFile(personKeyFile, path.join(folder, personKeyFileName(dataset)))
      if (!isLive(dataset)) await publishFile(rowsFile, path.join(folder, rowsFileName(dataset)))
    },
    async discard(dataset) {
      const folder = folderOf(dataset.id)
      for (const name of [rowsFileName(dataset), personKeyFileName(dataset)])
        await rm(path.join(folder, name), { force: true })
      // Succeeds only for an empty folder: that of a refused registration under an id that was never registered.
      await rmdir(folder).catch(() => undefined)
    },
    async add(entry) {
      const { id } = entry.dataset
      const before = entries.get(id)
      await mkdir(folderOf(id), { recursive: true, mode: 0o700 })
      await writeEntry(folderOf(id), entry)
      await synchronise(directory)
      take(id, entry)
      // The entry is published. What remains is removed with the next version, at the withdrawal or the next start.
      await cleanUp(folderOf(id), entry, before).catch(() => undefined)
    },
    async remove(id) {
      const entry = entries.get(id)
      if (entry === undefined) return
      const { version, neighbours, synthetic } = entry.dataset
      const [source] = registeredSourceOf(entry)
      const left: RemovedEntry = {
        ...{ state: 'removed', version, neighbours, synthetic },
        ...(source === undefined ? {} : { sourceDigest: source.digest }),
      }
      // First, so that no query is charged for rows that are about to be removed.
      take(id, left)
      await writeEntry(folderOf(id), left)
      await cleanUp(folderOf(id), left)
    },
  }
}

function registeredSourceOf({ dataset, sourceDigest }: CatalogEntry): readonly RegisteredSource[] {
  const { id, source, synthetic } = dataset
  return isGenerated(source) ? [] : [{ dataset: id, digest: sourceDigest, synthetic }]
}

/** Name of the file of ingested rows of one version of a dataset. */
export function rowsFileName({ version }: Pick<Dataset, 'version'>): string {
  return `${version}.duckdb`
}

/** Name of the file of the key that chose the rows of one version of a dataset. */
export function personKeyFileName({ version }: Pick<Dataset, 'version'>): string {
  return `${version}.person-key`
}

/** Removes the files of ingestions that a crash has interrupted. No other process may use the folder. */
async function removeWorkspaces(directory: string): Promise<void> {
  for (const name of (await readdir(directory)).filter(isWorkspace))
    await rm(path.join(directory, name), { recursive: true })
}

/** Removes the files of interrupted registrations and removals, because rows without an entry must not be kept. */
async function cleanUp(
  folder: string,
  entry: CatalogEntry | RemovedEntry | undefined,
  before?: CatalogEntry,
): Promise<void> {
  if (entry === undefined) return rm(folder, { recursive: true })
  const kept = [ENTRY_FILE]
  for (const each of [entry, before]) {
    if (each !== undefined && !('state' in each))
      kept.push(rowsFileName(each.dataset), personKeyFileName(each.dataset))
  }
  for (const name of await readdir(folder)) {
    if (!kept.includes(name)) await rm(path.join(folder, name), { recursive: true })
  }
}

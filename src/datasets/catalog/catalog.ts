import { existsSync } from 'node:fs'
import { mkdir, readdir, rm, rmdir } from 'node:fs/promises'
import path from 'node:path'
import { type Dataset, isGenerated, isLive, type KeyedPrivacyUnit } from '../../core/dataset/dataset.ts'
import type { CatalogEntry, RemovedEntry } from '../../core/dataset/entry.ts'
import { populationAccount } from '../../ledger/contract/budgets.ts'
import type { Chain } from '../../ledger/contract/chain.ts'
import type { SourceRow } from '../../ledger/protocol/rows.ts'
import { publishFile } from '../../platform/files/durable-file.ts'
import { defined } from '../../privacy/defined.ts'
import { ENTRY_FILE, isMissing } from './entry-file.ts'
import { openEntryFolder } from './entry-folder.ts'
import type { EntryStore } from './entry-store.ts'
import { withKey } from './person-key.ts'
import { personKeyFileName, rowsFileName } from './version-files.ts'
import { createWorkspace, isWorkspace, type Workspace } from './workspace.ts'

/** Registry of datasets' public facts. Changes are durable before a call resolves. */
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
   * Returns the sources of all registrations, removed or not. Sources that the service generates
   * are not among them.
   */
  registeredSources(): readonly SourceRow[]
  /**
   * Reads changes that other processes made. A dataset becomes visible only after its rows are open,
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
  /** Forgets a version that was adopted, and that another process may have published instead. Its files stay. */
  forget(dataset: Dataset): void
  /** Returns the path of the ingested rows of one version of a dataset. */
  rowsFile(dataset: Pick<Dataset, 'id' | 'version'>): string
  /**
   * Returns the privacy unit of one version of a dataset, for people with the key that was created at its publication.
   * @throws Error for a key that cannot be read.
   */
  keyedUnit(dataset: Dataset): Promise<KeyedPrivacyUnit>
}

/** Opens and closes one version of a dataset for queries. */
export interface RowsOpener {
  open(entry: CatalogEntry): Promise<void>
  closeDataset(dataset: Dataset): Promise<void>
}

/** Options of a catalog. */
export interface CatalogOptions {
  /** True if other processes may use the folder or the entries; then nothing is cleaned up. */
  readonly shared?: boolean
  /** The entries and the keys of people. Default: those in the folder. */
  readonly entries?: EntryStore
}

/**
 * Requires the folder of a catalog whose entries are in it, unless the ledger is new as well. A folder that was deleted or not
 * restored would otherwise look like a first start.
 * @throws Error that says how to go on.
 */
export async function requireCatalogFolder(
  directory: string,
  ledger: Pick<Chain, 'datasets'>,
): Promise<void> {
  if (existsSync(directory)) return
  const known = await ledger.datasets()
  if (known.length === 0) return
  throw new Error(
    `the catalog ${directory} is missing, but the ledger has budgets of ${known.slice(0, 5).join(', ')}` +
      `${known.length > 5 ? ` and ${known.length - 5} others` : ''}. Restore the folder from a backup of the data folder. To ` +
      'register the datasets again under their budgets, create an empty folder in its place',
  )
}

/**
 * Opens the catalog and creates its folder, which contains the ingested rows, if necessary.
 * @throws Error for a damaged entry; DocumentsFault if the entries' database does not respond.
 */
export async function openCatalog(directory: string, options: CatalogOptions = {}): Promise<Catalog> {
  const { shared = false, entries: store = openEntryFolder(directory) } = options
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const folderOf = (id: string) => path.join(directory, id)
  /** True if the process that withdraws a dataset or replaces a version may have no access to this folder. */
  const isLocal = options.entries !== undefined
  const entries = new Map<string, CatalogEntry>()
  const removed = new Map<string, RemovedEntry>()
  const take = (id: string, found: CatalogEntry | RemovedEntry): void => {
    entries.delete(id)
    removed.delete(id)
    if ('state' in found) removed.set(id, found)
    else entries.set(id, found)
  }

  if (!shared) await removeUnfinished(directory, store)
  for (const id of (await store.stamps()).keys()) {
    const found = await store.read(id)
    if (found === undefined) continue
    take(id, found)
    if (!shared) await cleanUp(folderOf(id), found)
    else if (isLocal) await removeOldRows(folderOf(id), found)
  }

  /** Stamps of the entries that were read. An unchanged entry is not read again. */
  const lastStamps = new Map<string, string>()

  const refreshOne = async (id: string, stamp: string, rows: RowsOpener): Promise<void> => {
    if (lastStamps.get(id) === stamp) return
    const found = await store.read(id)
    if (found === undefined) return
    const before = entries.get(id)?.dataset
    const after = 'state' in found ? undefined : found
    const isNewVersion = before?.version !== after?.dataset.version
    if (isNewVersion && after !== undefined) await rows.open(after)
    take(id, found)
    if (isNewVersion && before !== undefined) await rows.closeDataset(before)
    if (isLocal) await removeOldRows(folderOf(id), found)
    lastStamps.set(id, stamp)
  }

  return {
    get: (id) => entries.get(id),
    list: () => [...entries.values()].sort((a, b) => (a.dataset.id < b.dataset.id ? -1 : 1)),
    ids: () => [...entries.keys(), ...removed.keys()],
    rowsFile: (dataset) => path.join(folderOf(dataset.id), rowsFileName(dataset)),
    keyedUnit: async (dataset) =>
      dataset.privacyUnit.kind === 'row'
        ? dataset.privacyUnit
        : withKey(dataset.privacyUnit, await store.readPersonKey(dataset)),
    wasRemoved: (id) => removed.has(id),
    lastVersion: (id) => Number(entries.get(id)?.dataset.version ?? removed.get(id)?.version ?? 0),
    registeredSources: () => [
      ...[...entries.values()].flatMap(registeredSourcesOf),
      ...[...removed].flatMap(([dataset, { peopleDigests, synthetic }]) =>
        peopleDigests.map((digest) => ({ dataset, digest, synthetic })),
      ),
    ],
    async refresh(rows) {
      const stamps = [...(await store.stamps())]
      const attempts = await Promise.allSettled(stamps.map(([id, stamp]) => refreshOne(id, stamp, rows)))
      for (const attempt of attempts) if (attempt.status === 'rejected') throw attempt.reason
    },
    workspace: (timeLimitMs) => createWorkspace(directory, timeLimitMs),
    async adopt({ rowsFile, personKeyFile }, dataset) {
      const folder = folderOf(dataset.id)
      if (dataset.privacyUnit.kind === 'person') await store.adoptPersonKey(dataset, personKeyFile)
      if (isLive(dataset)) return
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await publishFile(rowsFile, path.join(folder, rowsFileName(dataset)))
    },
    async discard(dataset) {
      const folder = folderOf(dataset.id)
      await rm(path.join(folder, rowsFileName(dataset)), { force: true })
      await store.removePersonKey(dataset)
      // Succeeds only for an empty folder: that of a refused registration under an id that was never registered.
      await rmdir(folder).catch(() => undefined)
    },
    forget: store.forgetPersonKey,
    async add(entry) {
      const { id } = entry.dataset
      const before = entries.get(id)
      await store.write(id, entry)
      take(id, entry)
      // The entry is published. What remains is removed with the next version, at the withdrawal or the next start.
      await cleanUp(folderOf(id), entry, before)
        .then(() => store.removeOtherPersonKeys(id, versionsOf(entry, before)))
        .catch(() => undefined)
    },
    async remove(id) {
      const entry = entries.get(id)
      if (entry === undefined) return
      const { version, synthetic } = entry.dataset
      const peopleDigests = registeredSourcesOf(entry).map(({ digest }) => digest)
      const left: RemovedEntry = { state: 'removed', version, synthetic, peopleDigests }
      // First, so that no query is charged for rows that are about to be removed.
      take(id, left)
      await store.write(id, left).catch((error: unknown) => {
        // It may have been written or not, which the next refresh finds out.
        lastStamps.delete(id)
        throw error
      })
      await cleanUp(folderOf(id), left)
      await store.removeOtherPersonKeys(id, [])
    },
  }
}

function registeredSourcesOf({ dataset, declaration, peopleDigests }: CatalogEntry): readonly SourceRow[] {
  const { id, source, synthetic } = dataset
  const population = declaration.population && populationAccount(declaration.population)
  const facts = defined({ dataset: id, synthetic, population })
  return isGenerated(source) ? [] : peopleDigests.map((digest) => ({ ...facts, digest }))
}

/**
 * Removes what a crash has interrupted: workspaces, and the folders of registrations without an entry. No other process may
 * use the folder.
 */
async function removeUnfinished(directory: string, store: EntryStore): Promise<void> {
  const stamps = await store.stamps()
  for (const name of await readdir(directory)) {
    if (isWorkspace(name) || !stamps.has(name)) await rm(path.join(directory, name), { recursive: true })
  }
}

function versionsOf(entry: CatalogEntry, before: CatalogEntry | undefined): readonly string[] {
  return [entry, before].flatMap((each) => (each === undefined ? [] : [each.dataset.version]))
}

/** Removes the files of interrupted registrations and removals, because rows without an entry must not be kept. */
async function cleanUp(
  folder: string,
  entry: CatalogEntry | RemovedEntry,
  before?: CatalogEntry,
): Promise<void> {
  const kept = [ENTRY_FILE]
  for (const each of [entry, before]) {
    if (each !== undefined && !('state' in each))
      kept.push(rowsFileName(each.dataset), personKeyFileName(each.dataset))
  }
  for (const name of await namesIn(folder)) {
    if (!kept.includes(name)) await rm(path.join(folder, name), { recursive: true })
  }
}

/** Removes the rows of a withdrawn dataset, or of versions before the one that was replaced last. */
async function removeOldRows(folder: string, entry: CatalogEntry | RemovedEntry): Promise<void> {
  const newest = 'state' in entry ? Number(entry.version) : Number(entry.versions.at(-2)?.version ?? 0) - 1
  for (const name of await namesIn(folder)) {
    const version = Number(/^(\d+)\.duckdb$/.exec(name)?.[1])
    if (version <= newest) await rm(path.join(folder, name), { force: true })
  }
}

/** Returns the names in a folder; none if it does not exist, as for a live table whose entry is elsewhere. */
async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

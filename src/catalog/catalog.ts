import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { synchronise, writePrivately } from '../files/durable-file.ts'
import type { Neighbours } from '../privacy/neighbours.ts'
import type { Dataset, Source } from './dataset.ts'
import { type DatasetDeclaration, declareDataset } from './declaration.ts'

/** A registered dataset: its declaration and derived facts. */
export interface CatalogEntry {
  readonly declaration: DatasetDeclaration
  /** Budget of the id's first registration. The ledger knows the present budget. */
  readonly budget: { readonly epsilon: number; readonly delta: number }
  readonly dataset: Dataset
  /** ISO 8601, UTC. */
  readonly registeredAt: string
  /** SHA-256 of the source, hexadecimal. Private, because it would confirm a guess of the whole file. */
  readonly sourceDigest: string
}

/** Registry of datasets' public facts: one folder per dataset. Changes are durable before a call resolves. */
export interface Catalog {
  get(id: string): CatalogEntry | undefined
  /** Returns all entries in the order of their ids. */
  list(): readonly CatalogEntry[]
  /** Publishes an entry. It replaces an entry of the same id. */
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
   * Returns the neighbours that an id's last registration declared, removed or not; `undefined` if there was none, or
   * if an earlier release removed it.
   */
  lastNeighbours(id: string): Neighbours | undefined
  /**
   * Reads changes that other processes made to the folder. A dataset becomes visible only after its rows are open,
   * and is hidden before they are closed. A failed step is retried at the next call.
   */
  refresh(rows: RowsOpener): Promise<void>
  /** Returns the path of the ingested rows of one version of a dataset. */
  rowsFile(dataset: Pick<Dataset, 'id' | 'version'>): string
}

/** Opens and closes the ingested rows of one version of a dataset. */
export interface RowsOpener {
  open(dataset: Dataset): Promise<void>
  closeDataset(dataset: Dataset): Promise<void>
}

/**
 * Stored form of an entry: the declaration as it was made and the facts that do not follow from it, or a note of its
 * removal.
 */
type StoredEntry =
  | {
      readonly state: 'registered'
      readonly declaration: StoredDeclaration
      readonly budget: CatalogEntry['budget']
      readonly version: string
      readonly rows?: number
      readonly registeredAt: string
      readonly sourceDigest: string
    }
  | Removed

/** A declaration of this or an earlier release. The first release had only files, one accounting and no sharing. */
type StoredDeclaration = Omit<DatasetDeclaration, 'source' | 'accounting' | 'sharing'> &
  Partial<Pick<DatasetDeclaration, 'accounting' | 'sharing'>> & {
    readonly source: Source | Omit<Extract<Source, { kind: 'file' }>, 'kind'>
  }

/** Facts of a removed registration that its remaining budget depends on. */
interface Removed {
  readonly state: 'removed'
  readonly version: string
  /** Absent if an earlier release removed the dataset. */
  readonly neighbours?: Neighbours
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
  const entryFile = (id: string) => path.join(folderOf(id), ENTRY_FILE)
  const rowsFile: Catalog['rowsFile'] = ({ id, version }) => path.join(folderOf(id), `${version}.duckdb`)
  const entries = new Map<string, CatalogEntry>()
  const removed = new Map<string, Removed>()

  /** Removes the rows of an interrupted registration or removal, because rows without an entry must not be kept. */
  const removeAllBut = async (id: string, kept: readonly string[]) => {
    for (const name of await readdir(folderOf(id))) {
      if (!kept.includes(name)) await rm(path.join(folderOf(id), name), { recursive: true })
    }
  }

  /** @throws Error unless the text is a valid entry. */
  const parseEntry = (id: string, text: string): CatalogEntry | Removed => {
    const stored = JSON.parse(text) as StoredEntry
    if (!['registered', 'removed'].includes(stored.state) || !/^[1-9]\d*$/.test(stored.version)) {
      throw new Error(`${entryFile(id)} is damaged: it has no known state or no valid version`)
    }
    if (stored.state === 'removed') return stored
    const { budget, version, rows, registeredAt, sourceDigest } = stored
    const { source } = stored.declaration
    const declaration: DatasetDeclaration = {
      accounting: 'basic',
      sharing: false,
      ...stored.declaration,
      source: 'kind' in source ? source : { kind: 'file', ...source },
    }
    return {
      declaration,
      budget,
      dataset: declareDataset(declaration, version, rows),
      registeredAt,
      sourceDigest,
    }
  }

  const take = (id: string, found: ReturnType<typeof parseEntry>): void => {
    if ('state' in found) {
      removed.set(id, found)
      entries.delete(id)
    } else {
      entries.set(id, found)
      removed.delete(id)
    }
  }

  for (const id of await readdir(directory)) {
    const text = await readEntry(entryFile(id))
    if (text === undefined) {
      if (!shared) await rm(folderOf(id), { recursive: true })
      continue
    }
    const found = parseEntry(id, text)
    take(id, found)
    if (shared) continue
    const rows = 'state' in found ? [] : [path.basename(rowsFile({ id, version: found.dataset.version }))]
    await removeAllBut(id, [ENTRY_FILE, ...rows])
  }

  /** Modification times of the entry files that were read. An unchanged file is not read again. */
  const looked = new Map<string, string>()

  async function refreshOne(id: string, rows: RowsOpener): Promise<void> {
    const { mtimeNs, ino } = await stat(entryFile(id), { bigint: true })
    const stamp = `${ino} ${mtimeNs}`
    if (looked.get(id) === stamp) return
    const text = await readEntry(entryFile(id))
    if (text === undefined) return
    const found = parseEntry(id, text)
    const before = entries.get(id)?.dataset
    const after = 'state' in found ? undefined : found.dataset
    if (before?.version !== after?.version) {
      if (after !== undefined) await rows.open(after)
      take(id, found)
      if (before !== undefined) await rows.closeDataset(before)
    }
    looked.set(id, stamp)
  }

  return {
    get: (id) => entries.get(id),
    list: () => [...entries.values()].sort((a, b) => (a.dataset.id < b.dataset.id ? -1 : 1)),
    rowsFile,
    wasRemoved: (id) => removed.has(id),
    lastVersion: (id) => Number(entries.get(id)?.dataset.version ?? removed.get(id)?.version ?? 0),
    lastNeighbours: (id) => (entries.get(id)?.dataset ?? removed.get(id))?.neighbours,
    async refresh(rows) {
      const attempts = (await readdir(directory)).map((id) => refreshOne(id, rows))
      for (const attempt of await Promise.allSettled(attempts)) {
        // A folder without an entry belongs to a registration that is running or was refused.
        if (attempt.status === 'rejected' && !isMissing(attempt.reason)) throw attempt.reason
      }
    },
    async add(entry) {
      const { id, version, rows } = entry.dataset
      const { declaration, budget, registeredAt, sourceDigest } = entry
      await mkdir(folderOf(id), { recursive: true, mode: 0o700 })
      await writeEntry(entryFile(id), {
        state: 'registered',
        declaration,
        budget,
        version,
        registeredAt,
        sourceDigest,
        ...(rows === undefined ? {} : { rows }),
      })
      await synchronise(directory)
      removed.delete(id)
      entries.set(id, entry)
    },
    async remove(id) {
      const dataset = entries.get(id)?.dataset
      if (dataset === undefined) return
      const { version, neighbours } = dataset
      const left = { state: 'removed', version, neighbours } as const
      // First, so that no query is charged for rows that are about to be removed.
      entries.delete(id)
      removed.set(id, left)
      await writeEntry(entryFile(id), left)
      await removeAllBut(id, [ENTRY_FILE])
    },
  }
}

const ENTRY_FILE = 'dataset.json'

function writeEntry(file: string, entry: StoredEntry): Promise<void> {
  return writePrivately(file, `${JSON.stringify(entry, null, 2)}\n`)
}

async function readEntry(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

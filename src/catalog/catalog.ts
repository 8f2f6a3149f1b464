import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { synchronise, writePrivately } from '../durable-file.ts'
import type { Dataset } from './dataset.ts'
import { type DatasetDeclaration, declareDataset } from './declaration.ts'

/** A registered dataset: what was declared, and what follows from it. */
export interface CatalogEntry {
  readonly declaration: DatasetDeclaration
  readonly dataset: Dataset
  /** ISO 8601, UTC. */
  readonly registeredAt: string
}

/** The registry of datasets' public facts: one folder per dataset, durable before a call resolves. */
export interface Catalog {
  get(id: string): CatalogEntry | undefined
  /** All entries in the order of their ids. */
  list(): readonly CatalogEntry[]
  /** Publish an entry. An entry of the same id is replaced. */
  add(entry: CatalogEntry): Promise<void>
  /** Forget an entry and its ingested rows. The ledger keeps its budget. */
  remove(id: string): Promise<void>
  /** Where the ingested rows of one version of a dataset live. */
  rowsFile(dataset: Pick<Dataset, 'id' | 'version'>): string
}

/** What is written: the declaration as it was made, and the facts that do not follow from it. */
interface StoredEntry {
  readonly declaration: DatasetDeclaration
  readonly version: string
  readonly rows?: number
  readonly registeredAt: string
}

/** Open the catalog in a folder, which is made where it is missing. */
export async function openCatalog(directory: string): Promise<Catalog> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const folderOf = (id: string) => path.join(directory, id)
  const entryFile = (id: string) => path.join(folderOf(id), 'dataset.json')
  const entries = new Map<string, CatalogEntry>()

  for (const id of await readdir(directory)) {
    const text = await readEntry(entryFile(id))
    if (text === undefined) {
      // A registration or a withdrawal that was cut off: rows that nobody may ask about are not kept.
      await rm(folderOf(id), { recursive: true })
      continue
    }
    const stored = JSON.parse(text) as StoredEntry
    entries.set(id, {
      declaration: stored.declaration,
      dataset: declareDataset(stored.declaration, stored.version, stored.rows),
      registeredAt: stored.registeredAt,
    })
  }

  return {
    get: (id) => entries.get(id),
    list: () => [...entries.values()].sort((a, b) => (a.dataset.id < b.dataset.id ? -1 : 1)),
    rowsFile: ({ id, version }) => path.join(folderOf(id), `${version}.duckdb`),
    async add(entry) {
      const { id, version, rows } = entry.dataset
      const { declaration, registeredAt } = entry
      const stored: StoredEntry = {
        declaration,
        version,
        registeredAt,
        ...(rows === undefined ? {} : { rows }),
      }
      await mkdir(folderOf(id), { recursive: true, mode: 0o700 })
      await writePrivately(entryFile(id), `${JSON.stringify(stored, null, 2)}\n`)
      await synchronise(directory)
      entries.set(id, entry)
    },
    async remove(id) {
      entries.delete(id)
      await rm(entryFile(id), { force: true })
      await synchronise(folderOf(id))
      await rm(folderOf(id), { recursive: true, force: true })
    },
  }
}

async function readEntry(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

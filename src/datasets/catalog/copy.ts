import { copyFile, mkdir, readdir } from 'node:fs/promises'
import path from 'node:path'
import { isLive } from '../../core/dataset/dataset.ts'
import type { Documents } from '../../ledger/documents/documents.ts'
import { synchronise } from '../../platform/files/durable-file.ts'
import { openEntryDocuments } from './entry-documents.ts'
import { ENTRY_FILE, entryStamp, entryText, isMissing, readEntry } from './entry-file.ts'
import { openEntryFolder } from './entry-folder.ts'
import { isRowsFileName, personKeyFileName, rowsFileName } from './version-files.ts'
import { isWorkspace } from './workspace.ts'

/** A catalog that cannot be copied, and why. */
export class CatalogCopyError extends Error {}

/**
 * Copies the entries of a folder and the keys of people into a database. Ingested rows stay in the folder. An interrupted
 * copy is completed by a repeated call.
 * @returns the ids of the entries
 * @throws CatalogCopyError if the database has another entry of an id; DocumentsFault.
 */
export async function copyEntries(folder: string, documents: Documents): Promise<readonly string[]> {
  const [from, to] = [openEntryFolder(folder), openEntryDocuments(documents)]
  const ids: string[] = []
  for (const id of (await from.stamps()).keys()) {
    const entry = await from.read(id)
    if (entry === undefined) continue
    ids.push(id)
    const existing = await to.read(id)
    if (existing === undefined) {
      if (!('state' in entry) && entry.dataset.privacyUnit.kind === 'person')
        await to.adoptPersonKey(entry.dataset, path.join(folder, id, personKeyFileName(entry.dataset)))
      await to.write(id, entry)
    } else if (entryText(existing) !== entryText(entry))
      throw new CatalogCopyError(`the database has another entry of ${id}`)
  }
  return ids
}

/**
 * Copies the ingested rows of a folder whose entries are in a database, while a service may use it.
 * @param from the folder of a catalog
 * @param to a new folder
 */
export async function copyRows(from: string, to: string): Promise<void> {
  await mkdir(to, { mode: 0o700 })
  for (const id of (await readdir(from)).filter((name) => !isWorkspace(name))) {
    await mkdir(path.join(to, id), { mode: 0o700 })
    for (const name of (await readdir(path.join(from, id))).filter(isRowsFileName))
      await copyFile(path.join(from, id, name), path.join(to, id, name)).catch((error: unknown) => {
        // The rows of an earlier version may be removed meanwhile.
        if (!isMissing(error)) throw error
      })
    for (const name of await readdir(path.join(to, id))) await synchronise(path.join(to, id, name))
    await synchronise(path.join(to, id))
  }
  await synchronise(to)
}

/**
 * Copies a catalog, durably, with the ingested rows and keys of every registered dataset, while a service may use it. The
 * copy of each dataset is that of one moment.
 * @param from the folder of a catalog
 * @param to a new folder
 * @throws Error if a dataset is registered or withdrawn faster than it can be copied.
 */
export async function copyCatalog(from: string, to: string): Promise<void> {
  await mkdir(to, { mode: 0o700 })
  for (const id of (await readdir(from)).filter((name) => !isWorkspace(name)))
    await copyDataset(path.join(from, id), path.join(to, id))
  await synchronise(to)
}

const ATTEMPTS = 5

async function copyDataset(from: string, to: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const before = await entryStamp(from)
      await copyFiles(from, to)
      if ((await entryStamp(from)) === before) return
    } catch (error) {
      // A folder without an entry belongs to a registration that is running or was refused.
      if (!isMissing(error)) throw error
      if ((await entryStamp(from).catch(() => undefined)) === undefined) return
    }
    if (attempt === ATTEMPTS) throw new Error(`${from} changes while it is copied; repeat the command`)
  }
}

/** Copies the entry of a dataset last, because a start removes everything that no entry names. */
async function copyFiles(from: string, to: string): Promise<void> {
  const entry = await readEntry(from)
  if (entry === undefined) return
  await mkdir(to, { recursive: true, mode: 0o700 })
  const isRegistered = !('state' in entry)
  const names = isRegistered && !isLive(entry.dataset) ? [rowsFileName(entry.dataset)] : []
  if (isRegistered && entry.dataset.privacyUnit.kind === 'person')
    names.push(personKeyFileName(entry.dataset))
  for (const name of [...names, ENTRY_FILE]) {
    await copyFile(path.join(from, name), path.join(to, name))
    await synchronise(path.join(to, name))
  }
  await synchronise(to)
}

import { copyFile, mkdir, readdir } from 'node:fs/promises'
import path from 'node:path'
import { synchronise } from '../files/durable-file.ts'
import { personKeyFileName, rowsFileName } from './catalog.ts'
import { isLive } from './dataset.ts'
import { ENTRY_FILE, entryStamp, isMissing, readEntry } from './entry-file.ts'
import { isWorkspace } from './workspace.ts'

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

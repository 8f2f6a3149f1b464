import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { publishFile, synchronise, writePrivately } from '../../platform/files/durable-file.ts'
import { ENTRY_FILE, entryStamp, entryText, isMissing, readEntry } from './entry-file.ts'
import type { EntryStore } from './entry-store.ts'
import { personKeyFileName } from './version-files.ts'
import { isWorkspace } from './workspace.ts'

/** Entries and keys in a folder, with a folder for each dataset beside its ingested rows. */
export function openEntryFolder(directory: string): EntryStore {
  const folderOf = (id: string) => path.join(directory, id)
  const keyFile = (dataset: { readonly id: string; readonly version: string }) =>
    path.join(folderOf(dataset.id), personKeyFileName(dataset))
  return {
    async stamps() {
      const names = (await readdir(directory)).filter((name) => !isWorkspace(name))
      const stamps = await Promise.all(
        names.map(async (id) => [id, await entryStamp(folderOf(id)).catch(undefinedIfMissing)] as const),
      )
      // A folder without an entry belongs to a registration that is being published or was refused.
      return new Map(stamps.flatMap(([id, stamp]) => (stamp === undefined ? [] : [[id, stamp] as const])))
    },
    read: (id) => readEntry(folderOf(id)),
    async write(id, entry) {
      await mkdir(folderOf(id), { recursive: true, mode: 0o700 })
      await writePrivately(path.join(folderOf(id), ENTRY_FILE), entryText(entry))
      await synchronise(directory)
    },
    async adoptPersonKey(dataset, file) {
      await mkdir(folderOf(dataset.id), { recursive: true, mode: 0o700 })
      await publishFile(file, keyFile(dataset))
    },
    readPersonKey: (dataset) => readFile(keyFile(dataset), 'utf8'),
    // The file may be that of the process that published the version.
    forgetPersonKey: () => undefined,
    removePersonKey: (dataset) => rm(keyFile(dataset), { force: true }),
    // The catalog removes all files of other versions from the folder.
    removeOtherPersonKeys: async () => undefined,
  }
}

function undefinedIfMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error
}

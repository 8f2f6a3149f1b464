import { randomUUID } from 'node:crypto'
import { mkdir, open, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { codeOf } from './private-file.ts'

/**
 * Creates a folder, readable by its owner alone, with those above it, and proves that a file can be written to it.
 *
 * The folders are created one by one: `mkdir` with `recursive` never returns below some file systems, such as `/proc`.
 * @throws Error from the file system for the first step that fails.
 */
export async function createWritableFolder(folder: string): Promise<void> {
  await createFolder(path.resolve(folder))
  const probe = path.join(folder, `.probe-${randomUUID()}`)
  const handle = await open(probe, 'wx', 0o600)
  await handle.close()
  await rm(probe)
}

/**
 * Creates the data folder.
 * @throws Error that names the variable, if it cannot be created or written to.
 */
export async function createDataFolder(folder: string): Promise<void> {
  try {
    await createWritableFolder(folder)
  } catch (error) {
    throw new Error(`SOTTO_DATA_DIR: must be a folder that can be created and written to${codeOf(error)}`)
  }
}

async function createFolder(folder: string): Promise<void> {
  const status = await stat(folder).catch(() => undefined)
  if (status?.isDirectory()) return
  const parent = path.dirname(folder)
  if (parent !== folder) await createFolder(parent)
  try {
    await mkdir(folder, { mode: 0o700 })
  } catch (error) {
    // Another process may have created it meanwhile.
    const isThere = await stat(folder).then(
      (found) => found.isDirectory(),
      () => false,
    )
    if (!isThere) throw error
  }
}

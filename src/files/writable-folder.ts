import { randomUUID } from 'node:crypto'
import { mkdir, open, rm, stat } from 'node:fs/promises'
import path from 'node:path'

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

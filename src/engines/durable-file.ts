import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Give a finished file its name: from then on it is there whole, a loss of power notwithstanding, or not at all. */
export async function publishFile(partialPath: string, path: string): Promise<void> {
  await synchronise(partialPath)
  await rename(partialPath, path)
  await synchronise(dirname(path))
}

async function synchronise(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

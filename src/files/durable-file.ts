import { open, rename } from 'node:fs/promises'
import path from 'node:path'

/** Give a finished file its name: from then on it is there whole, a loss of power notwithstanding, or not at all. */
export async function publishFile(partialFile: string, file: string): Promise<void> {
  await synchronise(partialFile)
  await rename(partialFile, file)
  await synchronise(path.dirname(file))
}

/** Write a text that its owner alone may read; whoever reads the file sees the old text or the new one, whole. */
export async function writePrivately(file: string, text: string): Promise<void> {
  const partialFile = `${file}.partial`
  const handle = await open(partialFile, 'w', 0o600)
  try {
    // The mode above holds for a new file only.
    await handle.chmod(0o600)
    await handle.writeFile(text)
  } finally {
    await handle.close()
  }
  await publishFile(partialFile, file)
}

/** Make what a file or a folder holds survive a loss of power. */
export async function synchronise(fileOrFolder: string): Promise<void> {
  const handle = await open(fileOrFolder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

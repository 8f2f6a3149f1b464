import { createHash } from 'node:crypto'
import { open, rename } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** Renames a finished file to its name: after a loss of power the file exists there completely or not at all. */
export async function publishFile(partialFile: string, file: string): Promise<void> {
  await synchronise(partialFile)
  await rename(partialFile, file)
  await synchronise(path.dirname(file))
}

/** Writes a text that only its owner may read; readers see the old text or the new one, never a mixture. */
export async function writePrivately(file: string, text: string): Promise<void> {
  const partialFile = `${file}.partial`
  const handle = await open(partialFile, 'w', 0o600)
  try {
    // The mode above applies to new files only.
    await handle.chmod(0o600)
    await handle.writeFile(text)
  } finally {
    await handle.close()
  }
  await publishFile(partialFile, file)
}

/**
 * Writes chunks to a file that only its owner may read. The file is neither durable nor complete before this resolves.
 * @param signal stops the writing
 * @returns the SHA-256 of the bytes, hexadecimal.
 * @throws the reason of the signal once it is aborted.
 */
export async function writeDigested(
  chunks: AsyncIterable<Buffer> | Iterable<string>,
  file: string,
  signal?: AbortSignal,
): Promise<string> {
  const hash = createHash('sha256')
  // A stream that opens the file itself could create it after this has failed and the caller has removed it.
  const handle = await open(file, 'w', 0o600)
  try {
    await pipeline(
      Readable.from(chunks, { objectMode: true }),
      async function* (read: AsyncIterable<Buffer | string>) {
        for await (const chunk of read) {
          signal?.throwIfAborted()
          hash.update(chunk)
          yield chunk
        }
      },
      handle.createWriteStream(),
    )
  } finally {
    await handle.close()
  }
  return hash.digest('hex')
}

/** Makes the contents of a file or a folder survive a loss of power. */
export async function synchronise(fileOrFolder: string): Promise<void> {
  const handle = await open(fileOrFolder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

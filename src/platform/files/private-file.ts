import { type FileHandle, open } from 'node:fs/promises'

/** A file with a secret cannot be used. The message is a rule, without the name of the file. */
export class PrivateFileError extends Error {}

/** Larger files are not secrets. */
const MOST_BYTES = 1_000_000

/**
 * Reads a text file that only its owner and its group may access. A group may read it, because Kubernetes mounts secrets
 * for a group.
 * @throws PrivateFileError
 */
export async function readPrivateFile(file: string): Promise<string> {
  let handle: FileHandle
  try {
    handle = await open(file, 'r')
  } catch (error) {
    throw new PrivateFileError(`must be a file that can be read${codeOf(error)}`)
  }
  try {
    const status = await handle.stat()
    if (!status.isFile() || status.size > MOST_BYTES)
      throw new PrivateFileError('must be a file of at most 1 MB')
    if ((status.mode & 0o027) !== 0)
      throw new PrivateFileError(
        'must be accessible to its owner only, and readable to its group at most (chmod 600)',
      )
    return await handle.readFile('utf8')
  } catch (error) {
    throw error instanceof PrivateFileError
      ? error
      : new PrivateFileError(`must be a file that can be read${codeOf(error)}`)
  } finally {
    await handle.close()
  }
}

/** The code of an error in brackets, to end a sentence with; empty if it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? ` (${error.code})` : ''
}

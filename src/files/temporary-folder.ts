import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'

/**
 * Creates a folder for this process alone.
 * @param shared true if other processes may use the data folder; otherwise existing folders were left by a process
 * that crashed, and are removed
 */
export async function createTemporaryFolder(dataDirectory: string, shared: boolean): Promise<string> {
  const parent = path.join(dataDirectory, 'temporary')
  if (!shared) await rm(parent, { recursive: true, force: true })
  await mkdir(parent, { recursive: true, mode: 0o700 })
  return mkdtemp(path.join(parent, 'process-'))
}

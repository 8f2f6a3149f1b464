import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'

/**
 * Creates a temporary folder for this process.
 * @param shared true if other processes may use the data folder; otherwise existing temporary folders are those of a
 * crashed process, and are removed
 */
export async function createTemporaryFolder(dataDirectory: string, shared: boolean): Promise<string> {
  const parent = path.join(dataDirectory, 'temporary')
  if (!shared) await rm(parent, { recursive: true, force: true })
  await mkdir(parent, { recursive: true, mode: 0o700 })
  return mkdtemp(path.join(parent, 'process-'))
}

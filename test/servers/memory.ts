import { statfsSync } from 'node:fs'

/** The file system that Linux keeps in memory, if it has this number of bytes left. Files there do not wait for a disk. */
export function folderInMemory(bytes: number): string | undefined {
  const folder = '/dev/shm'
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize > bytes ? folder : undefined
  } catch {
    return undefined
  }
}

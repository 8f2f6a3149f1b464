import { statfs } from 'node:fs/promises'

/** The free space on the volumes of some folders. */
export interface FreeSpace {
  /** Returns the free bytes of the fullest volume. */
  bytes(): Promise<number>
  /** True while every volume has the required free space. */
  isSufficient(): Promise<boolean>
  /** The free space that every volume must have. */
  readonly requiredBytes: number
}

/** Reads the free space on the volumes of folders, which must exist. */
export function watchFreeSpace(folders: readonly string[], requiredBytes: number): FreeSpace {
  const bytes = async (): Promise<number> => {
    const volumes = await Promise.all(folders.map((folder) => statfs(folder)))
    // `bavail` excludes blocks that only the superuser may use.
    return Math.min(...volumes.map(({ bavail, bsize }) => bavail * bsize))
  }
  return { bytes, isSufficient: async () => (await bytes()) >= requiredBytes, requiredBytes }
}

import { randomUUID } from 'node:crypto'
import { mkdir, readdir, rm } from 'node:fs/promises'
import path from 'node:path'

/** A folder for the files of one ingestion under way. Its name is unique, so that ingestions do not disturb each other. */
export interface Workspace {
  /** The file of ingested rows. */
  readonly rowsFile: string
  /** The file of the key that chooses the rows of people, where people are the privacy units. */
  readonly personKeyFile: string
  /** The copy of the source. */
  readonly sourceFile: string
  /** Removes the folder with everything in it. */
  remove(): Promise<void>
}

/** Start of the names of workspaces. Ids of datasets begin with a letter. */
const PREFIX = '.ingestion-'

/** Time after its deadline for which an ingestion may still be stopping. */
const GRACE_MS = 3_600_000

/**
 * Creates a workspace in the folder of a catalog.
 * @param timeLimitMs time after which the ingestion is stopped. The name of the folder contains the deadline, so that
 * any process can remove the workspaces of crashed ones.
 */
export async function createWorkspace(directory: string, timeLimitMs: number): Promise<Workspace> {
  await removeAbandonedWorkspaces(directory)
  const folder = path.join(directory, `${PREFIX}${Date.now() + timeLimitMs}-${randomUUID()}`)
  await mkdir(folder, { mode: 0o700 })
  return {
    rowsFile: path.join(folder, 'rows.duckdb'),
    personKeyFile: path.join(folder, 'person-key'),
    sourceFile: path.join(folder, 'source'),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** Removes the workspaces whose ingestion must have ended: their process has crashed. */
async function removeAbandonedWorkspaces(directory: string): Promise<void> {
  for (const name of (await readdir(directory)).filter(isWorkspace)) {
    const [deadline] = name.slice(PREFIX.length).split('-')
    if (Number(deadline) + GRACE_MS < Date.now())
      await rm(path.join(directory, name), { recursive: true, force: true })
  }
}

/** True for the name of a workspace in the folder of a catalog. */
export function isWorkspace(name: string): boolean {
  return name.startsWith(PREFIX)
}

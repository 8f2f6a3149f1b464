import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

/*
 * The programs in Go that check the files of `deploy/`: `chart` renders the Helm chart with Helm's own packages, and
 * `compose` loads a compose file with the parser of Docker Compose. `node test/deploy/install-programs.ts` builds them.
 */

/** Folder of the Go module. */
export const PROGRAM_SOURCES = path.resolve(import.meta.dirname, 'programs')

/** Folder of the built programs. Its name depends on the sources, so that no test uses outdated programs. */
export const PROGRAM_FOLDER = path.resolve(
  import.meta.dirname,
  `../../node_modules/.cache/deploy-programs-${digestOf(PROGRAM_SOURCES)}`,
)

/** Returns why the programs cannot be used; `undefined` if they can. */
export function programsObstacle(): string | undefined {
  return existsSync(PROGRAM_FOLDER)
    ? undefined
    : 'its programs are not built; npm run deploy-programs builds them, and needs Go'
}

function digestOf(folder: string): string {
  const hash = createHash('sha256')
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
  for (const file of files.sort()) hash.update(readFileSync(file))
  return hash.digest('hex').slice(0, 16)
}

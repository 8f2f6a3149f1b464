import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'

const PROJECT = new URL('../../', import.meta.url)

/** One textual change to a source file; `find` must occur exactly once. */
export interface SourceChange {
  readonly find: string
  readonly replace: string
}

/**
 * Import a copy of one of the room's source files with these changes.
 *
 * @param standIns texts of files that take the place of others; what they replace is beside them as `<name>-as-it-is.ts`.
 * @throws Error where the text to change does not occur exactly once.
 */
export async function importMechanism<Module>(
  name: string,
  changes: readonly SourceChange[] = [],
  standIns: Readonly<Record<string, string>> = {},
): Promise<Module> {
  // Within the project, where dependencies resolve; git, the linter and the compiler look past this folder.
  const parent = new URL('coverage/', PROJECT)
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(fileURLToPath(new URL(`${name}-`, parent)))
  const file = (of: string) => `${folder}/mechanisms/${of}.ts`
  try {
    for (const room of ['mechanisms', 'privacy'])
      cpSync(new URL(`src/${room}/`, PROJECT), `${folder}/${room}`, { recursive: true })
    for (const { find, replace } of changes) {
      const [before, after, ...more] = readFileSync(file(name), 'utf8').split(find)
      if (before === undefined || after === undefined || more.length > 0)
        throw new Error(`${name}.ts must have exactly one "${find}"`)
      writeFileSync(file(name), before + replace + after)
    }
    for (const [replaced, text] of Object.entries(standIns)) {
      renameSync(file(replaced), file(`${replaced}-as-it-is`))
      writeFileSync(file(replaced), text)
    }
    return await import(/* @vite-ignore */ pathToFileURL(file(name)).href)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

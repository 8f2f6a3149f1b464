import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'

const PROJECT = new URL('../', import.meta.url)
const COPIED = [
  ...['planner', 'mechanisms', 'catalog', 'ledger', 'privacy', 'risk', 'plots', 'evaluation'],
  'answers',
]

/** One textual change to a source file below src/; `find` must occur exactly once. */
export interface SourceChange {
  /** Such as `mechanisms/quantile.ts`. */
  readonly file: string
  readonly find: string
  readonly replace: string
}

/** Imports a module of the copy, by its path below src/. */
export type Load = <Module>(file: string) => Promise<Module>

/**
 * Copy the actual source of the pure rooms, the ledger and what evaluations need, with these changes, and import from the copy.
 *
 * @param standIns texts of files that take the place of others, by path; what they replace is beside them as
 * `<name>-as-it-is.ts`.
 * @throws Error where a text to change does not occur exactly once.
 */
export async function withSourceCopy<Result>(
  changes: readonly SourceChange[],
  standIns: Readonly<Record<string, string>>,
  use: (load: Load) => Promise<Result>,
): Promise<Result> {
  // Within the project, where dependencies resolve; git, the linter and the compiler look past this folder.
  const parent = new URL('coverage/', PROJECT)
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(fileURLToPath(new URL('source-', parent)))
  const pathOf = (file: string) => `${folder}/${file}`
  try {
    for (const part of COPIED) cpSync(new URL(`src/${part}`, PROJECT), pathOf(part), { recursive: true })
    for (const { file, find, replace } of changes) {
      const [before, after, ...more] = readFileSync(pathOf(file), 'utf8').split(find)
      if (before === undefined || after === undefined || more.length > 0)
        throw new Error(`${file} must have exactly one "${find}"`)
      writeFileSync(pathOf(file), before + replace + after)
    }
    for (const [file, text] of Object.entries(standIns)) {
      renameSync(pathOf(file), pathOf(file.replace(/\.ts$/, '-as-it-is.ts')))
      writeFileSync(pathOf(file), text)
    }
    return await use((file) => import(/* @vite-ignore */ pathToFileURL(pathOf(file)).href))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

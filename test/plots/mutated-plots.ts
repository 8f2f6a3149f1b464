import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Plot, Theme } from '../../src/plots/plot.ts'

const PROJECT = new URL('../../', import.meta.url)

/** One textual change to a file of the room; `find` must occur exactly once. */
export interface Mutation {
  readonly file: string
  readonly find: string
  readonly replace: string
}

/**
 * Draw with a copy of the room's source that has this change.
 *
 * @throws Error where the text to change does not occur exactly once
 */
export async function drawMutated(
  { file, find, replace }: Mutation,
  plot: Plot,
  theme: Theme,
): Promise<string> {
  // Within the project, where dependencies resolve; git, the linter and the compiler look past this folder.
  const parent = new URL('coverage/', PROJECT)
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(fileURLToPath(new URL('plots-', parent)))
  try {
    cpSync(new URL('src/plots/', PROJECT), folder, { recursive: true })
    const [before, after, ...more] = readFileSync(`${folder}/${file}`, 'utf8').split(find)
    if (before === undefined || after === undefined || more.length > 0)
      throw new Error(`${file} must have exactly one "${find}"`)
    writeFileSync(`${folder}/${file}`, before + replace + after)
    const { drawPlot } = (await import(
      /* @vite-ignore */ pathToFileURL(`${folder}/draw.ts`).href
    )) as typeof import('../../src/plots/draw.ts')
    return await drawPlot(plot, theme)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

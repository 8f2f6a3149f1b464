import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const ROOT = path.resolve(import.meta.dirname, '../..')
const PAGES = ['console/dist/index.html', 'guide/dist/index.html']

/** Builds the console and the guide before the tests that open them, unless they are newer than every file that they may contain. */
export default async function buildPagesForRun(): Promise<void> {
  if (await areBuilt().catch(() => false)) return
  await Promise.all([run('npm', ['run', 'build', '--workspace', 'console']), run('npm', ['run', 'guide'])])
}

async function areBuilt(): Promise<boolean> {
  const listed = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
  })
  const files = listed.stdout.split('\0').filter((file) => file !== '' && !file.startsWith('test/'))
  return Math.min(...(await changesOf(PAGES))) > Math.max(...(await changesOf(files)))
}

/** When the files were written or moved to their places. Rejects if one is missing. */
function changesOf(files: readonly string[]): Promise<readonly number[]> {
  return Promise.all(files.map(async (file) => (await stat(path.join(ROOT, file))).ctimeMs))
}

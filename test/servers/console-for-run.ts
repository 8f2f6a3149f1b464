import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Builds the console and the guide before the tests that open them, so that they never see an older build. */
export default async function buildPagesForRun(): Promise<void> {
  const run = promisify(execFile)
  await Promise.all([run('npm', ['run', 'build', '--workspace', 'console']), run('npm', ['run', 'guide'])])
}

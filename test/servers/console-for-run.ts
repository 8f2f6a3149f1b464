import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Builds the console before the tests that open it, so that they never see an older build. */
export default async function buildConsoleForRun(): Promise<void> {
  await promisify(execFile)('npm', ['run', 'build', '--workspace', 'console'])
}

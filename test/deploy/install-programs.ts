import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { PROGRAM_FOLDER, PROGRAM_SOURCES } from './programs.ts'

/*
 * Builds the programs that check the files of `deploy/`: `node test/deploy/install-programs.ts`. Go fetches its modules
 * through the module proxy, checks them against `go.sum`, and keeps them. Does nothing if the programs are built.
 */

/** Without optimisation and debug information: Helm compiles in a third of the time. */
const FLAGS = ['-gcflags=all=-N -l', '-ldflags=-s -w']

function install(): string | undefined {
  const unfinished = `${PROGRAM_FOLDER}.unfinished`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true })
  const { status, error } = spawnSync('go', ['build', ...FLAGS, '-o', `${unfinished}${path.sep}`, './...'], {
    cwd: PROGRAM_SOURCES,
    // An older Go fetches the version that go.mod names.
    env: { ...process.env, GOTOOLCHAIN: 'auto', GOFLAGS: '-mod=readonly', CGO_ENABLED: '0' },
    stdio: 'inherit',
  })
  if (error !== undefined) return 'Go is not installed'
  if (status !== 0) return `go build ended with ${status}`
  renameSync(unfinished, PROGRAM_FOLDER)
  return undefined
}

const obstacle = existsSync(PROGRAM_FOLDER) ? undefined : install()
if (obstacle !== undefined) {
  console.log(`Tests of the Helm chart and of the compose file are skipped: ${obstacle}.`)
  process.exitCode = 1
}

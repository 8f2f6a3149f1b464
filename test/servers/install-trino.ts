import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { TRINO_FOLDER, TRINO_VERSION, trinoObstacle } from './trino-server.ts'

/*
 * Installs Trino for the tests: `node test/servers/install-trino.ts`. Maven fetches the packages from the repositories that it is
 * configured to use, and keeps them in its local repository. Does nothing if Trino is installed.
 */

const UNPACK = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack'
const PLUGINS = ['memory', 'tpch', 'iceberg']

function unpack(artifact: string, folder: string): void {
  const { status, error } = spawnSync(
    'mvn',
    ['--quiet', '--batch-mode', UNPACK, `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`],
    // The plugin writes files of its own into the current folder.
    { cwd: mkdtempSync(path.join(tmpdir(), 'sotto-maven-')), stdio: 'inherit' },
  )
  if (status !== 0) throw new Error(`${artifact} was not installed`, { cause: error })
}

function install(): void {
  const unfinished = `${TRINO_FOLDER}.unfinished`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(path.join(unfinished, 'plugin'), { recursive: true })
  unpack(`io.trino:trino-server-core:${TRINO_VERSION}:tar.gz`, unfinished)
  renameSync(path.join(unfinished, `trino-server-core-${TRINO_VERSION}/lib`), path.join(unfinished, 'lib'))
  for (const plugin of PLUGINS)
    unpack(`io.trino:trino-${plugin}:${TRINO_VERSION}:zip`, path.join(unfinished, 'plugin'))
  renameSync(unfinished, TRINO_FOLDER)
}

/** Says in one line that the tests will be skipped, and why. */
function giveUp(reason: string): void {
  console.log(`Tests that need Trino are skipped: ${reason}.`)
  process.exitCode = 1
}

const obstacle = trinoObstacle()
if (obstacle === 'Trino is not installed') {
  try {
    install()
  } catch (error) {
    giveUp(error instanceof Error ? error.message : String(error))
  }
} else if (obstacle !== undefined) giveUp(obstacle)

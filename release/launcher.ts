#!/usr/bin/env node
/** The command line of the packed service. It runs on an old Node as well, to say that it is too old. */

/** The first Node whose SQLite the ledger accepts. */
const LEAST = '24.15'

/** Systems for which npm has Node in a package that needs no install script. */
const PACKAGED = ['linux-x64', 'linux-arm64', 'win32-x64']

function isSufficient(version: string): boolean {
  return version.localeCompare(LEAST, 'en', { numeric: true }) >= 0
}

if (isSufficient(process.versions.node)) {
  await import('../src/commands/sotto.ts')
} else {
  const system = `${process.platform}-${process.arch}`
  console.error(
    `Sotto needs Node ${LEAST} or newer, and this is Node ${process.versions.node}. Get it from https://nodejs.org.`,
  )
  if (PACKAGED.includes(system))
    console.error(
      `For this folder only: npm install node-${system.replace('win32', 'win')}@24, and then npx sotto.`,
    )
  process.exitCode = 2
}

#!/usr/bin/env node
/** The command line of the packed service. It runs on an old Node as well, to say that it is too old. */

const LEAST = 24

/** Systems for which npm has Node in a package that needs no install script. */
const PACKAGED = ['linux-x64', 'linux-arm64', 'win32-x64']

if (Number.parseInt(process.versions.node, 10) >= LEAST) {
  await import('../src/commands/sotto.ts')
} else {
  const system = `${process.platform}-${process.arch}`
  console.error(
    `Sotto needs Node ${LEAST} or newer, and this is Node ${process.versions.node}. Get it from https://nodejs.org.`,
  )
  if (PACKAGED.includes(system))
    console.error(
      `For this folder only: npm install node-${system.replace('win32', 'win')}@${LEAST}, and then npx sotto.`,
    )
  process.exitCode = 2
}

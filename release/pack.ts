/**
 * Packs what is published: `npm run pack [folder]`. Builds console and guide, and writes the service and the TypeScript client as
 * `.tgz`, the Python client as wheel and sdist, and the R package as source where R is installed. Needs PyPI, for hatchling, and no
 * other registry.
 */

import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ROOT, run } from './programs.ts'
import { stageService } from './stage.ts'

/** What builds the Python client. */
export const PYTHON_BUILDER = 'hatchling==1.33.0'

const LICENCE = path.join(ROOT, 'LICENSE')
const CLIENTS = ['clients/typescript', 'clients/python', 'clients/r']

/** Packs all parts into a folder. @returns the names of the files there */
export async function pack(folder: string): Promise<readonly string[]> {
  const work = await mkdtemp(path.join(tmpdir(), 'sotto-pack-'))
  await mkdir(folder, { recursive: true })
  const hasLicence = existsSync(LICENCE)
  try {
    if (hasLicence) for (const client of CLIENTS) await cp(LICENCE, path.join(ROOT, client, 'LICENSE'))
    await run('npm', ['run', 'build', '--workspace', 'console'])
    await run('npm', ['run', 'guide'])
    const staged = path.join(work, 'sotto')
    await stageService(staged, hasLicence)
    await run('npm', ['pack', '--pack-destination', folder], staged)
    await rm(path.join(ROOT, 'clients/typescript/dist'), { recursive: true, force: true })
    await run('npm', ['pack', '--workspace', 'clients/typescript', '--pack-destination', folder])
    await packPython(folder, work)
    await packR(folder)
    return (await readdir(folder)).sort()
  } finally {
    if (hasLicence) for (const client of CLIENTS) await rm(path.join(ROOT, client, 'LICENSE'))
    await rm(work, { recursive: true, force: true })
  }
}

async function packPython(folder: string, work: string): Promise<void> {
  const environment = path.join(work, 'python')
  await run('python3', ['-m', 'venv', environment])
  await run(path.join(environment, 'bin/pip'), ['install', '--quiet', '--no-compile', PYTHON_BUILDER])
  const client = path.join(ROOT, 'clients/python')
  await run(path.join(environment, 'bin/hatchling'), ['build', '--directory', folder], client)
}

async function packR(folder: string): Promise<void> {
  if ((await run('R', ['--version']).catch(() => '')) !== '')
    await run('R', ['CMD', 'build', path.join(ROOT, 'clients/r')], folder)
  else console.log('No R package was made. On a machine with R, one is.')
}

if (import.meta.main) {
  const folder = path.resolve(process.argv[2] ?? path.join(ROOT, 'dist'))
  for (const name of await pack(folder)) console.log(path.join(folder, name))
}

import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import path from 'node:path'
import { z } from 'zod'
import { ROOT } from './programs.ts'

/** Folders with code that runs in production. They keep their depth, because code finds its files by relative addresses. */
const CODE = ['src', 'routes', 'schemas', 'clients/typescript/src']

/** What is built or generated, and served as it is. */
const BUILT = ['console/dist', 'guide/dist', 'openapi.yaml']

const LAUNCHER = 'bin/sotto.js'

const manifest = z.looseObject({
  version: z.string(),
  description: z.string(),
  dependencies: z.record(z.string(), z.string()),
})

/**
 * Writes the package of the service into an empty folder: JavaScript, console and guide, and the exact versions of the packages
 * that it imports.
 * @param hasLicence true if the repository has a file LICENSE, which is then part of the package
 */
export async function stageService(folder: string, hasLicence: boolean): Promise<void> {
  for (const name of CODE) await stripFolder(name, folder)
  await strip('release/launcher.ts', path.join(folder, LAUNCHER))
  for (const name of BUILT) await cp(path.join(ROOT, name), path.join(folder, name), { recursive: true })
  await cp(path.join(ROOT, 'release/package.md'), path.join(folder, 'README.md'))
  if (hasLicence) await cp(path.join(ROOT, 'LICENSE'), path.join(folder, 'LICENSE'))
  await writeManifest(folder, hasLicence)
}

/** Strips types from all files below a folder. Pages and proofs stay in the repository. */
async function stripFolder(name: string, folder: string): Promise<void> {
  const files = await readdir(path.join(ROOT, name), { recursive: true, withFileTypes: true })
  for (const file of files) {
    const from = path.relative(ROOT, path.join(file.parentPath, file.name))
    const to = path.join(folder, from)
    if (!file.isFile() || from.endsWith('.md')) continue
    if (from.endsWith('.ts')) await strip(from, to.replace(/\.ts$/, '.js'))
    else await write(to, await readFile(path.join(ROOT, from)))
  }
}

/**
 * Strips types from one file. Lines and columns stay the same, so that traces of errors fit the source. Every relative address
 * that ends with `.ts` is that of a module or of a thread's entry.
 */
async function strip(from: string, to: string): Promise<void> {
  const source = await readFile(path.join(ROOT, from), 'utf8')
  await write(to, stripTypeScriptTypes(source).replaceAll(/(?<=(['"])\.\.?\/[^'"\n]*)\.ts(?=\1)/g, '.js'))
}

async function write(file: string, content: string | Buffer): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(file, content)
}

async function writeManifest(folder: string, hasLicence: boolean): Promise<void> {
  const text = await readFile(path.join(ROOT, 'package.json'), 'utf8')
  const { version, description, dependencies } = manifest.parse(JSON.parse(text))
  const packed = {
    ...{ name: 'sotto', version, description, type: 'module', bin: { sotto: LAUNCHER } },
    ...(hasLicence && { license: 'SEE LICENSE IN LICENSE' }),
    engines: { node: '>=24' },
    dependencies,
  }
  await write(path.join(folder, 'package.json'), `${JSON.stringify(packed, undefined, 2)}\n`)
}

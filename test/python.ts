import { execFile, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Folder of the Python client. */
export const PYTHON_CLIENT = path.resolve(import.meta.dirname, '../clients/python')

/** Names of Python, that of the machine's choice first. */
const PYTHONS = [
  'python3',
  'python3.14',
  'python3.13',
  'python3.12',
  'python3.11',
  'python3.10',
  '/usr/bin/python3',
]
const USABLE = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))'

/** Returns a Python that can create virtual environments and run the client; `undefined` if there is none. */
export function findPython(): string | undefined {
  return PYTHONS.find((name) => spawnSync(name, ['-c', USABLE]).status === 0)
}

/**
 * Makes a virtual environment with the source of the Python client, or takes the one that an earlier file or run made for the
 * same packages.
 *
 * @returns the folder of the environment's programs
 */
export async function pythonWithClient(python: string): Promise<string> {
  const packages = await readFile(path.join(PYTHON_CLIENT, 'pyproject.toml'))
  const digest = createHash('sha256').update(packages).digest('hex').slice(0, 16)
  const cache = path.resolve(import.meta.dirname, '../node_modules/.cache')
  const kept = path.join(cache, `python-client-${digest}`)
  if (!existsSync(kept)) {
    await mkdir(cache, { recursive: true })
    const made = await mkdtemp(`${kept}-`)
    await run(python, ['-m', 'venv', made])
    await run(path.join(made, 'bin/pip'), ['install', '--quiet', '--no-compile', '--editable', PYTHON_CLIENT])
    // Another file of the run may have been faster.
    await rename(made, kept).catch(() => rm(made, { recursive: true }))
  }
  return path.join(kept, 'bin')
}

/**
 * Builds the wheel of the Python client, and installs it into a new virtual environment below a folder. Pip keeps its
 * downloads between runs.
 *
 * @param extras of the client's packages, such as `[test]`
 * @returns the folder of the environment's programs
 */
export async function installPythonClient(python: string, folder: string, extras: string): Promise<string> {
  const programs = path.join(folder, 'environment/bin')
  const pip = path.join(programs, 'pip')
  await run(python, ['-m', 'venv', path.join(folder, 'environment')])
  await run(pip, ['wheel', '--quiet', '--no-deps', '--wheel-dir', folder, PYTHON_CLIENT])
  const [wheel = ''] = (await readdir(folder)).filter((name) => name.endsWith('.whl'))
  // Modules are compiled when they are imported, which few of them are.
  await run(pip, ['install', '--quiet', '--no-compile', `${path.join(folder, wheel)}${extras}`])
  return programs
}

/**
 * Installs a package from PyPI into a virtual environment of its own, unless an earlier run did.
 * @param packaged its name and version, such as `numpy==2.2.6`
 * @param others what it needs and does not name, or names too loosely
 * @returns the folder of the environment's programs
 */
export async function installPythonPackage(
  python: string,
  packaged: string,
  ...others: readonly string[]
): Promise<string> {
  const environment = path.resolve('node_modules/.cache', packaged.replace('==', '-'))
  const programs = path.join(environment, 'bin')
  if (existsSync(path.join(environment, INSTALLED))) return programs
  await rm(environment, { recursive: true, force: true })
  await mkdir(path.dirname(environment), { recursive: true })
  await run(python, ['-m', 'venv', environment])
  await run(path.join(programs, 'pip'), ['install', '--quiet', '--no-compile', packaged, ...others])
  await writeFile(path.join(environment, INSTALLED), '')
  return programs
}

/** A file that an environment has once its package is installed. */
const INSTALLED = 'installed'

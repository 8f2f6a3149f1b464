import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rename } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { must } from '../../../src/privacy/must.ts'
import { temporaryFolder } from '../../folders.ts'
import { installed } from '../../installed.ts'
import { findPython } from '../../python.ts'

const run = promisify(execFile)
const cache = path.resolve(import.meta.dirname, '../../../node_modules/.cache')
const python = findPython()

/** True if a Python is installed, for {@link pythonWithDrivers}. */
export const hasPython = python !== undefined

/** Returns a Python with drivers of PostgreSQL, which are installed once. */
export async function pythonWithDrivers(): Promise<string> {
  const environment = path.join(cache, 'postgresql-drivers-of-python')
  if (!existsSync(environment)) {
    const unfinished = `${environment}.${process.pid}`
    await mkdir(cache, { recursive: true })
    await run(must(python, 'Python'), ['-m', 'venv', unfinished])
    const packages = [
      'psycopg[binary]==3.3.9',
      'psycopg2-binary==2.9.11',
      'asyncpg==0.32.0',
      'sqlalchemy==2.1.9',
    ]
    await run(path.join(unfinished, 'bin/pip'), ['install', '--quiet', ...packages])
    await rename(unfinished, environment)
  }
  return path.join(environment, 'bin/python')
}

/** True if {@link pgjdbc} can be fetched and run. */
export const hasJava = installed('java') && installed('mvn')

/** Returns the file of pgjdbc, which is fetched once. */
export async function pgjdbc(): Promise<string> {
  const driver = path.join(cache, 'postgresql-42.7.4.jar')
  if (!existsSync(driver)) {
    const copy = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy'
    const artifact = '-Dartifact=org.postgresql:postgresql:42.7.4'
    await run('mvn', ['--quiet', '--batch-mode', copy, artifact, `-DoutputDirectory=${cache}`], {
      cwd: temporaryFolder(),
    })
  }
  return driver
}

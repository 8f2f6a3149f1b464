import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestService, type TestService } from '../e2e/service.ts'
import { findPython, installPythonClient, PYTHON_CLIENT } from '../python.ts'

const run = promisify(execFile)
const python = findPython()

const title = `the Python client${python === undefined ? ' (skipped: no Python 3.10 or newer with venv and pip)' : ''}`

describe.skipIf(python === undefined)(title, () => {
  let service: TestService
  let folder = ''
  let programs = ''
  /** Runs a program of the virtual environment in the folder of the client. Rejects with its output if it fails. */
  const inEnvironment = async (program: string, ...args: readonly string[]) => {
    const environment = {
      ...process.env,
      PYTHONDONTWRITEBYTECODE: '1',
      SOTTO_URL: service.url,
      SOTTO_KEY: service.keyOf('analyst'),
      SOTTO_CUSTODIAN_KEY: service.keyOf('custodian'),
      MYPY_CACHE_DIR: path.join(folder, 'mypy'),
      RUFF_CACHE_DIR: path.join(folder, 'ruff'),
    }
    const options = { cwd: PYTHON_CLIENT, env: environment, maxBuffer: 100_000_000 }
    return await run(path.join(programs, program), args, options).then(
      ({ stdout }) => stdout,
      ({ stdout, stderr }) => {
        throw new Error(`${program} ${args.join(' ')}:\n${stdout}${stderr}`)
      },
    )
  }

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'sotto-python-'))
    service = await startTestService({ SOTTO_DEMO: 'true' })
    programs = await installPythonClient(python ?? '', folder, '[test]')
  })
  afterAll(async () => {
    await service?.close()
    await rm(folder, { recursive: true, force: true })
  })

  test('has the form that ruff asks for', async () => {
    await inEnvironment('ruff', 'format', '--check', '.')
    await inEnvironment('ruff', 'check', '.')
  })

  test('has the types that mypy checks', async () => {
    expect(await inEnvironment('mypy', 'src', 'tests')).toContain('no issues found')
  })

  test('passes its tests against a live service, with the notebook and the code blocks of the documentation', async () => {
    const output = await inEnvironment('pytest', '-p', 'no:cacheprovider')
    expect(output).toMatch(/ [1-9]\d* passed/)
    expect(output).not.toMatch(/skipped|xfailed|deselected/)
  })
})

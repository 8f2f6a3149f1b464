import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Role } from '../../src/access/principal.ts'
import { installed } from '../installed.ts'
import { startTestService } from './service.ts'

/*
 * Schemathesis generates requests from openapi.yaml, valid and invalid ones. The service must answer none with a 5xx or
 * with anything that the document does not describe, and accept no invalid one.
 */

const run = promisify(execFile)
const VERSION = '4.32.5'
const ENVIRONMENT = path.resolve('node_modules/.cache', `schemathesis-${VERSION}`)
const PROGRAM = path.join(ENVIRONMENT, 'bin', 'schemathesis')

/** Installs Schemathesis in a virtual environment, unless an earlier run did. */
async function install(): Promise<void> {
  if (existsSync(PROGRAM)) return
  await rm(ENVIRONMENT, { recursive: true, force: true })
  await mkdir(path.dirname(ENVIRONMENT), { recursive: true })
  await run('python3', ['-m', 'venv', ENVIRONMENT])
  await run(path.join(ENVIRONMENT, 'bin', 'pip'), ['install', '--quiet', `schemathesis==${VERSION}`])
}

describe.skipIf(!installed('python3'))('generated requests', () => {
  beforeAll(install)

  test.each(['analyst', 'custodian'] as const)('as %s', async (role: Role) => {
    const service = await startTestService({ SOTTO_DEMO: 'true' })
    try {
      const { code, output } = await schemathesis(service.url, service.keyOf(role))
      expect(code, output).toBe(0)
      // Fewer operations than the document has would mean that some were not tested.
      const [, tested] = /Operations: +(\d+) selected/.exec(output) ?? []
      expect(Number(tested)).toBeGreaterThan(30)
      expect(output).toMatch(/\d{3,} generated/)
      // The key was valid to the end, so that the answers were not all 401.
      await service.as(role).get('/v1/datasets').expect(200)
    } finally {
      await service.close()
    }
  })
})

async function schemathesis(url: string, key: string): Promise<{ code: number; output: string }> {
  const args = ['--config-file', path.resolve('test/e2e/schemathesis.toml'), '--no-color', 'run']
  args.push(`${url}/openapi.yaml`, '--header', `Authorization: Bearer ${key}`)
  try {
    const { stdout } = await run(PROGRAM, args, { maxBuffer: 2 ** 28 })
    return { code: 0, output: stdout }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, output: `${stdout}\n${stderr}` }
  }
}

import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import type { OpenAPIV3_1 } from 'openapi-types'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import type { Role } from '../../../src/http/access/principal.ts'
import { must } from '../../../src/privacy/must.ts'
import { findPython, installPythonPackage } from '../../python.ts'
import { testService } from '../service.ts'

/*
 * Schemathesis generates requests from openapi.yaml, valid and invalid ones. The service must answer none with a 5xx or
 * with anything that the document does not describe, and accept no invalid one.
 */

type Operation = OpenAPIV3_1.OperationObject

const run = promisify(execFile)
const python = findPython()

describe.skipIf(python === undefined)('generated requests', () => {
  let program: string
  beforeAll(async () => {
    program = path.join(
      await installPythonPackage(must(python, 'Python'), 'schemathesis==4.32.5'),
      'schemathesis',
    )
  })

  const service = testService({ SOTTO_DEMO: 'true' })
  let operations: readonly Operation[]
  beforeAll(async () => {
    const document: { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> } = parse(
      await (await fetch(`${service.url}/openapi.yaml`)).text(),
    )
    operations = Object.values(document.paths).flatMap((item) => Object.values(item))
  })

  test('to all operations that an analyst may call', () =>
    expectSound('analyst', ({ security = [] }) => security.length === 0 || names(security, 'analyst')))

  test('to the others, and to those that answer a custodian, too, without reading a body', () =>
    expectSound(
      'custodian',
      ({ security = [], requestBody }) =>
        security.length > 0 &&
        (!names(security, 'analyst') || (names(security, 'custodian') && requestBody === undefined)),
    ))

  async function expectSound(role: Role, isTested: (operation: Operation) => boolean) {
    const ids = operations.filter(isTested).map(({ operationId = '' }) => operationId)
    const { code, output } = await schemathesis(program, service.url, service.keyOf(role), ids)
    expect(code, output).toBe(0)
    expect(Number(/Operations: +(\d+) selected/.exec(output)?.[1])).toBe(ids.length)
    expect(output).toMatch(/\d{3,} generated/)
    // The key was valid to the end, so that the answers were not all 401.
    await service.as(role).get('/v1/datasets').expect(200)
  }
})

/** True if a role may call an operation with this security. */
function names(security: OpenAPIV3_1.SecurityRequirementObject[], role: Role): boolean {
  return security.some((requirement) => `${role}Key` in requirement)
}

async function schemathesis(
  program: string,
  url: string,
  key: string,
  operationIds: readonly string[],
): Promise<{ code: number; output: string }> {
  const args = ['--config-file', path.resolve('test/e2e/http/schemathesis.toml'), '--no-color', 'run']
  args.push(`${url}/openapi.yaml`, '--header', `Authorization: Bearer ${key}`)
  args.push(...operationIds.flatMap((id) => ['--include-operation-id', id]))
  try {
    const { stdout } = await run(program, args, { maxBuffer: 2 ** 28 })
    return { code: 0, output: stdout }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, output: `${stdout}\n${stderr}` }
  }
}

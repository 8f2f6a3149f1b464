import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { draftYaml } from '../../src/commands/datasets/draft-yaml.ts'
import { printJson } from '../../src/commands/printing.ts'
import { connect, explainFailure } from '../../src/commands/service.ts'

/* What the command line shows of texts that others have chosen. */

afterEach(() => vi.unstubAllGlobals())

/** Replaces a function of the console, and returns what it was called with. */
function captured(name: 'log' | 'error'): readonly unknown[] {
  const calls: unknown[] = []
  vi.stubGlobal('console', { ...console, [name]: (text: unknown) => calls.push(text) })
  return calls
}

/** Clears the screen, sets the title of the window, in 7 and 8 bits, and reverses the direction of text. */
const HOSTILE = '\u001b[2J\u001b]0;title\u0007\u009b2J\u202e\u2066'

/** Characters other than line feeds that a terminal does not show. */
const INVISIBLE = /[^\P{C}\n]/u

describe('attack: control sequences for the terminal of a custodian', () => {
  test('in the names of columns and in values of an uploaded file', () => {
    const remark = { field: 'columns.0.lower', text: `smallest: ${HOSTILE}\r\nid: other` }
    const yaml = draftYaml({
      declaration: { id: 'visits', columns: [{ name: 'cost', lower: 'TODO' }] },
      warning: HOSTILE,
      questions: [remark],
      notes: [{ ...remark, field: 'columns.0' }],
      dataHints: [remark],
    })
    expect(yaml).not.toMatch(INVISIBLE)
    expect(yaml.split('\n').filter((line) => line.startsWith('id:'))).toEqual(['id: visits'])
  })

  test('in a problem document', async () => {
    const errors = [{ field: HOSTILE, rule: HOSTILE }]
    const problem = { code: HOSTILE, title: HOSTILE, detail: HOSTILE, errors }
    const server = createServer((_, response) =>
      response.writeHead(409, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem)),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const refused = await connect({ url }, { SOTTO_KEY: 'key' }).datasets().catch(explainFailure)
    server.close()
    expect(refused).toEqual({ exitCode: 1, message: expect.not.stringMatching(INVISIBLE) })
  })

  test('in JSON, which keeps its value', () => {
    const logged = captured('log')
    printJson({ title: HOSTILE })
    const printed = String(logged[0])
    expect(printed).not.toMatch(INVISIBLE)
    expect(JSON.parse(printed)).toEqual({ title: HOSTILE })
  })
})

test('a key that would travel unencrypted to another machine is warned of, and never shown', () => {
  const warnings = captured('error')
  for (const url of ['https://sotto.example', 'http://127.0.0.1:8080', 'http://localhost', 'http://[::1]:80'])
    connect({ url }, { SOTTO_KEY: 'secret-key' })
  expect(warnings).toEqual([])
  for (const url of ['http://sotto.example', 'http://127.0.0.1.example', 'http://192.0.2.1'])
    connect({ url }, { SOTTO_KEY: 'secret-key' })
  expect(warnings).toHaveLength(3)
  expect(warnings.join()).not.toContain('secret-key')
})

test('a key is read from a file that the environment names, unless the environment contains a key too', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sotto-key-'))
  const file = path.join(folder, 'custodian.key')
  writeFileSync(file, 'a key\n')
  expect(() => connect({}, { SOTTO_KEY_FILE: file })).toThrow('SOTTO_KEY_FILE: must hold one API key')
  writeFileSync(file, 'key\n')
  expect(() => connect({}, { SOTTO_KEY_FILE: file })).not.toThrow()
  expect(() => connect({}, { SOTTO_KEY_FILE: file, SOTTO_KEY: 'key' })).toThrow(
    'SOTTO_KEY_FILE: must not be set together with SOTTO_KEY',
  )
  rmSync(folder, { recursive: true })
})

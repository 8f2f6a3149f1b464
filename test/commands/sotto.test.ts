import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { exportLine } from '../../src/ledger/exported.ts'
import { chain, sampleHistory } from '../ledger/verification/sample-history.ts'
import { command, events, ledger, root, run, useCommandFolder, written } from './command-folder.ts'

useCommandFolder()

test('verify: a sound export, from a file and from standard input', async () => {
  const sound = await ledger('verify --export census.jsonl')
  expect(sound).toEqual({
    code: 0,
    errors: '',
    output: expect.stringMatching(
      `^census: ${events.length} events verified, spent rho 0\\.\\d+ of rho 0\\.\\d+, 0 of \\d+ requests verified, head ${events.at(-1)?.hash}\n$`,
    ),
  })
  expect(await ledger('verify --export - --dataset census', { input: written(events) })).toEqual(sound)
})

test('the package names the command, which runs by itself', async () => {
  const { bin } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))
  expect(path.resolve(root, bin.sotto)).toBe(command)
  const environment = { PATH: `${path.dirname(process.execPath)}:${process.env.PATH}` }
  expect(await run(command, ['--help'], { environment })).toMatchObject({ code: 0, errors: '' })
})

test('docs/ledger.md shows a valid event', async () => {
  const page = readFileSync(path.join(root, 'docs/ledger.md'), 'utf8')
  const shown = /```json\n([\s\S]*?)```/.exec(page)?.[1] ?? ''
  const [opened] = chain('census', sampleHistory('basic'))
  expect(shown).toBe(opened === undefined ? '' : exportLine(opened))
})

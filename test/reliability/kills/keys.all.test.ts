import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { COMMAND_LINE } from '../../../src/http/access/keys/key-changes.ts'
import { openKeyStore } from '../../../src/http/access/keys/keys.ts'
import { temporaryFolder } from '../../folders.ts'

const ROUNDS = 20
const sources = path.resolve(import.meta.dirname, '../../../src/http/access/keys')

/** Creates a key, rotates it, and deletes every third one; prints each change when it is acknowledged. */
const SCRIPT = `
import { openKeyStore } from '${sources}/keys.ts'
import { COMMAND_LINE } from '${sources}/key-changes.ts'
const [directory, prefix] = process.argv.slice(1)
const keys = openKeyStore(directory)
for (let number = 0; ; number += 1) {
  const { apiKey: { id }, text } = await keys.create({ name: prefix + number, role: 'analyst' }, COMMAND_LINE)
  console.log('valid ' + text)
  const rotated = await keys.rotate(id, 0, COMMAND_LINE)
  console.log('ended ' + text + '\\nvalid ' + rotated.text)
  if (number % 3 > 0) continue
  console.log('uncertain ' + rotated.text)
  await keys.delete(id, COMMAND_LINE)
  console.log('ended ' + rotated.text)
}`

let directory = ''
beforeEach(() => {
  directory = temporaryFolder()
})

test('a process that is killed while it changes keys loses no acknowledged change and leaves a readable file', async () => {
  const states = new Map<string, string>()
  for (let round = 0; round < ROUNDS; round += 1) {
    const prefix = `round-${round}-`
    const child = spawn(process.execPath, ['--input-type=module', '-e', SCRIPT, directory, prefix], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let printed = ''
    child.stdout.on('data', (part) => {
      printed += part
      // Killed at another point in each round, counted in changes and not in time.
      if (printed.split('\n').length > 5 + round) child.kill('SIGKILL')
    })
    await once(child, 'close')
    for (const line of printed.split('\n').slice(0, -1)) {
      const [state = '', text = ''] = line.split(' ')
      states.set(text, state)
    }
    // The last change of each key may have been under way; a rotation ends the text before it.
    const last = [...states.keys()].at(-1) ?? ''
    if (states.get(last) === 'valid') states.set(last, 'uncertain')
    const keys = openKeyStore(directory)
    for (const [text, state] of states)
      if (state !== 'uncertain')
        expect((await keys.authenticate(text)) === undefined, state).toBe(state === 'ended')
    await keys.create({ name: `${prefix}after`, role: 'auditor' }, COMMAND_LINE)
  }
  expect([...states.values()].filter((state) => state === 'valid').length).toBeGreaterThan(ROUNDS)
  expect([...states.values()].filter((state) => state === 'ended').length).toBeGreaterThan(ROUNDS)
})

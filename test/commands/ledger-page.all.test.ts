import { chmodSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { installed } from '../installed.ts'
import {
  command,
  events,
  folder,
  inFolder,
  read,
  root,
  run,
  useCommandFolder,
  write,
  written,
} from './command-folder.ts'

useCommandFolder()

/** The commands of a section of the page, without those that need a running service. */
function commandsOf(section: string): string {
  const page = readFileSync(path.join(root, 'docs/ledger.md'), 'utf8')
  const text = page.split(/^## /m).find((each) => each.startsWith(section)) ?? ''
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block]) => block).join('')
}

const tools =
  ['bash', 'jq', 'sha256sum'].every((program) => installed(program)) && installed('openssl', 'version')
test.skipIf(!tools)('the commands of docs/ledger.md do what the page states', async () => {
  const shell = async (script: string) => {
    // Runs it as npx does, from outside the project's folder.
    const npx = `npx() { shift; '${process.execPath}' '${command}' "$@"; }`
    const environment = { SOTTO_DATA_DIR: folder }
    return run('bash', ['--norc', '-euc', `${npx}\n${script}`], { environment })
  }
  write('ledger-signing.key', read('signing.key'))
  chmodSync(inFolder('ledger-signing.key'), 0o600)
  write('ledger-signing.key.pub', read('signing.key.pub'))
  const published = await shell(commandsOf('Sign and publish').replace(/^.*create-signing-key.*$/m, ''))
  expect(published.errors).toBe('')
  expect(published.output).toContain(`event ${events.length} of census: found, and signed`)
  const checked = await shell(commandsOf('Check a receipt'))
  expect(checked.output).toContain('event 3 of census: found, with the answer, and signed')

  const byHand = await shell(commandsOf('By hand'))
  expect(byHand.errors).toBe('')
  const paid = events[2]?.hash
  const digest = JSON.parse(events[3]?.canonical ?? '').answerHash
  expect(byHand.output.trim().split('\n')).toEqual([
    `${paid}  -`,
    paid,
    paid,
    paid,
    digest,
    `${digest}  answer.json`,
    'Signature Verified Successfully',
    'Signature Verified Successfully',
  ])
  write('census.jsonl', written(events.toSpliced(7, 1)))
  expect((await shell(commandsOf('By hand'))).code).not.toBe(0)
})

import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import type { ChainHead, StoredEvent } from '../../src/ledger/contract/chain.ts'
import { exportLine } from '../../src/ledger/exported.ts'
import { createSigningKey, readHeadSigner } from '../../src/ledger/signature.ts'
import { ENVIRONMENT } from '../environment.ts'
import { ANSWER, chain, SESSION_ANSWER, sampleHistory } from '../ledger/verification/sample-history.ts'

export const root = path.resolve(import.meta.dirname, '../..')
export const command = path.join(root, 'src/commands/sotto.ts')

/** The folder of the running test file. */
export let folder = ''
export const inFolder = (name: string) => path.join(folder, name)
export const write = (name: string, text: string | Uint8Array) => writeFileSync(inFolder(name), text)
export const read = (name: string) => readFileSync(inFolder(name), 'utf8')

interface Ended {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

/** Runs a program in the folder to its end. */
export function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return runIn(folder, program, args, options)
}

interface RunOptions {
  readonly input?: string
  readonly environment?: Record<string, string>
}

/** Runs a program in any folder to its end. */
export function runIn(
  directory: string,
  program: string,
  args: readonly string[],
  { input = '', environment = {} }: RunOptions = {},
): Promise<Ended> {
  const child = spawn(program, args, {
    cwd: directory,
    env: { ...ENVIRONMENT, HOME: process.env.HOME ?? '', ...environment },
  })
  let [output, errors] = ['', '']
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, output, errors }))
  })
}

export const sotto = (args: readonly string[], options?: RunOptions) =>
  run(process.execPath, [command, ...args], options)
export const ledger = (line: string, options?: RunOptions) => sotto(['ledger', ...line.split(' ')], options)

/** The events of the export, which hold an answer and the receipt for it. */
export let events: readonly StoredEvent[]
export const written = (stored: readonly StoredEvent[]) => stored.map(exportLine).join('')

/** Writes exports, heads and keys to a temporary folder before the tests of a file, and removes it afterwards. */
export function useCommandFolder(): void {
  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'sotto-command-'))
    await createSigningKey(inFolder('signing.key'))
    await createSigningKey(inFolder('other.key'))
    const signer = await readHeadSigner(inFolder('signing.key'))
    const signed = (head: ChainHead) => ({ ...head, signature: signer.sign(head) })

    const paidBy = chain('census', sampleHistory('zcdp'))[2]
    const { dataset: _, ...receipt } = signed({ dataset: 'census', sequence: 3, hash: paidBy?.hash ?? '' })
    const answer = JSON.stringify({ ...JSON.parse(ANSWER), note: 'é', receipt })
    write('answer.json', answer)
    write('altered.json', answer.replace('2531', '2532'))
    write('cut.json', answer.replace(/("hash":"[0-9a-f]{63})[0-9a-f]/, '$1'))
    const before = chain('census', sampleHistory('zcdp', { answer }))[14]
    const sessionAnswer = JSON.stringify({
      ...JSON.parse(SESSION_ANSWER),
      receipt: { sequence: 15, hash: before?.hash },
    })
    write('session-answer.json', sessionAnswer)
    events = chain('census', sampleHistory('zcdp', { answer, sessionAnswer }))

    write('census.jsonl', written(events))
    write('cut.jsonl', written(events.slice(0, -1)))
    write('forged.jsonl', written(events.toSpliced(7, 1)))
    const last = { dataset: 'census', sequence: events.length, hash: events.at(-1)?.hash ?? '' }
    write('head.json', `${JSON.stringify({ version: 1, ...signed(last) }, null, 2)}\n`)
    const { signature } = signed({ ...last, sequence: 1 })
    write('wrong-signature.json', JSON.stringify({ ...last, signature }))
    write('unsigned.json', JSON.stringify(last))
    const heads = events
      .slice(0, 3)
      .map(({ hash }, place) => signed({ dataset: 'census', sequence: place + 1, hash }))
    write('heads.jsonl', heads.map((head) => `${JSON.stringify(head)}\n`).join(''))
  })
  afterAll(() => rmSync(folder, { recursive: true }))
}

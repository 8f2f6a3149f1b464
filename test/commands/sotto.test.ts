import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { chargeId } from '../../src/ledger/charge-id.ts'
import { exportLine } from '../../src/ledger/exported.ts'
import type { StoredEvent } from '../../src/ledger/ledger.ts'
import { type ChainHead, createSigningKey, readHeadSigner } from '../../src/ledger/signature.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite/ledger.ts'
import { installed } from '../installed.ts'
import { ANSWER, chain, EVERY_KIND, everyKind, SESSION_ANSWER } from '../ledger/every-kind.ts'
import { loss, question } from '../ledger/support.ts'

const root = path.resolve(import.meta.dirname, '../..')
const command = path.join(root, 'src/commands/sotto.ts')

let folder = ''
const inFolder = (name: string) => path.join(folder, name)
const write = (name: string, text: string | Uint8Array) => writeFileSync(inFolder(name), text)
const read = (name: string) => readFileSync(inFolder(name), 'utf8')

interface Ended {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

/** Runs a program in the folder to its end. */
function run(
  program: string,
  args: readonly string[],
  { input = '', environment = {} }: { input?: string; environment?: Record<string, string> } = {},
): Promise<Ended> {
  const child = spawn(program, args, {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...environment },
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

type RunOptions = Parameters<typeof run>[2]
const sotto = (args: readonly string[], options?: RunOptions) =>
  run(process.execPath, [command, ...args], options)
const ledger = (line: string, options?: RunOptions) => sotto(['ledger', ...line.split(' ')], options)

let events: readonly StoredEvent[]
const written = (stored: readonly StoredEvent[]) => stored.map(exportLine).join('')

/** An answer with the receipt for it, and an export that holds both. */
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'sotto-command-'))
  await createSigningKey(inFolder('signing.key'))
  await createSigningKey(inFolder('other.key'))
  const signer = await readHeadSigner(inFolder('signing.key'))
  const signed = (head: ChainHead) => ({ ...head, signature: signer.sign(head) })

  const paidBy = chain('census', everyKind('zcdp'))[1]
  const { dataset: _, ...receipt } = signed({ dataset: 'census', sequence: 2, hash: paidBy?.hash ?? '' })
  const answer = JSON.stringify({ ...JSON.parse(ANSWER), note: 'é', receipt })
  write('answer.json', answer)
  write('altered.json', answer.replace('2531', '2532'))
  const before = chain('census', everyKind('zcdp', { answer }))[13]
  const sessionAnswer = JSON.stringify({
    ...JSON.parse(SESSION_ANSWER),
    receipt: { sequence: 14, hash: before?.hash },
  })
  write('session-answer.json', sessionAnswer)
  events = chain('census', everyKind('zcdp', { answer, sessionAnswer }))

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

describe('verify', () => {
  test('a sound export, from a file and from standard input', async () => {
    const sound = await ledger('verify --export census.jsonl')
    expect(sound).toEqual({
      code: 0,
      errors: '',
      output: expect.stringMatching(
        `^census: ${events.length} events fit, spent rho 0\\.\\d+ of rho 0\\.\\d+, head ${events.at(-1)?.hash}\n$`,
      ),
    })
    expect(await ledger('verify --export - --dataset census', { input: written(events) })).toEqual(sound)
  })

  test.each([
    ['--export forged.jsonl', 'census: event 8 does not fit: the event says that it is number 9'],
    [
      '--export census.jsonl --dataset survey',
      'survey: event 1 does not fit: the event is of another dataset',
    ],
    ['--export answer.json', 'line 1: the line is no {"event":…,"hash":"…"}'],
    ['--export cut.jsonl --head head.json', 'head.json: event 18 of census: event 18 is missing'],
    [
      '--export census.jsonl --head wrong-signature.json --public-key signing.key.pub',
      'event 18 of census: the signature is not that of the key',
    ],
    [
      '--export census.jsonl --head head.json --public-key other.key.pub',
      'the signature is not that of the key',
    ],
    ['--export census.jsonl --head unsigned.json --public-key signing.key.pub', 'it is not signed'],
    ['--export census.jsonl --receipt altered.json', 'event 3 records an answer of other bytes'],
    ['--export census.jsonl --head heads.jsonl --receipt altered.json', 'altered.json: event 2 of census'],
  ])('what does not fit is named, with exit code 1: %s', async (args, message) => {
    const { code, errors } = await ledger(`verify ${args}`)
    expect(errors).toContain(message)
    expect(code).toBe(1)
  })

  test.each([
    ['--head head.json --public-key signing.key.pub', 'head.json: event 18 of census: there, and signed'],
    ['--head unsigned.json', 'unsigned.json: event 18 of census: there; signature not checked'],
    ['--head heads.jsonl --public-key signing.key.pub', 'heads.jsonl: event 3 of census: there, and signed'],
    [
      '--receipt answer.json --public-key signing.key.pub',
      'answer.json: event 2 of census: there, with the answer, and signed',
    ],
    ['--receipt session-answer.json --dataset census', 'event 14 of census: there, with the answer;'],
    ['--receipt unsigned.json', 'unsigned.json: event 18 of census: there; signature'],
  ])('heads and receipts are found: %s', async (args, message) => {
    const { code, output, errors } = await ledger(`verify --export census.jsonl ${args}`)
    expect(errors).toBe('')
    expect(output).toContain(message)
    expect(code).toBe(0)
  })
})

test.each([
  ['ledger', 'usage: npx sotto ledger'],
  ['', 'usage: npx sotto ledger'],
  ['ledger verfy', 'usage: npx sotto ledger'],
  ['ledger verify --exprot x', "Unknown option '--exprot'"],
  ['ledger verify census.jsonl', 'census.jsonl'],
  ['ledger verify --export missing.jsonl', 'missing.jsonl'],
  ['ledger verify --export census.jsonl --head missing.json', 'missing.json'],
  ['ledger verify --export census.jsonl --head census.jsonl', 'census.jsonl: it names no dataset'],
  ['ledger verify --export census.jsonl --receipt session-answer.json', 'name it with --dataset'],
  ['ledger verify --export census.jsonl --head head.json --public-key head.json', 'must be the PEM'],
  ['ledger verify --export census.jsonl --public-key signing.key.pub', 'there is no --head and no --receipt'],
  ['ledger verify', 'there is no ledger at'],
  ['ledger sign --export census.jsonl', 'SOTTO_LEDGER_SIGNING_KEY: must name the key'],
  ['ledger create-signing-key', 'usage: npx sotto ledger'],
  ['ledger create-signing-key signing.key', 'it was left as it is'],
])('what cannot be done ends with exit code 2 and says why: %s', async (line, message) => {
  const { code, output, errors } = await sotto(line === '' ? [] : line.split(' '))
  expect(errors).toContain(message)
  expect(output).toBe('')
  expect(errors).not.toMatch(/\n\s+at /)
  expect(code).toBe(2)
})

test('help is no mistake', async () => {
  for (const args of [['--help'], ['ledger', 'verify', '--help']]) {
    const { code, output } = await sotto(args)
    expect(output).toContain('usage: npx sotto ledger')
    expect(code).toBe(0)
  }
})

test('sign signs what it has verified, and nothing else', async () => {
  const environment = { SOTTO_DATA_DIR: folder, SOTTO_LEDGER_SIGNING_KEY: 'signing.key' }
  const { code, output } = await ledger('sign --export census.jsonl', { environment })
  expect(code).toBe(0)
  expect(JSON.parse(output)).toEqual(JSON.parse(read('head.json')))
  const refused = await ledger('sign --export forged.jsonl --output never.json', { environment })
  expect(refused).toMatchObject({ code: 1, output: '' })
  expect(() => read('never.json')).toThrow('ENOENT')
  chmodSync(inFolder('other.key'), 0o644)
  const open = { ...environment, SOTTO_LEDGER_SIGNING_KEY: 'other.key' }
  expect(await ledger('sign --export census.jsonl', { environment: open })).toMatchObject({
    code: 2,
    errors: expect.stringContaining('must be readable by its owner alone'),
  })
})

describe('the live store', () => {
  let data = ''
  let environment: Record<string, string>
  beforeEach(async () => {
    data = mkdtempSync(inFolder('data-'))
    environment = { SOTTO_DATA_DIR: data, SOTTO_LEDGER_SIGNING_KEY: '../signing.key' }
    const store = await openSqliteLedger({ path: path.join(data, 'ledger.sqlite') })
    for (const dataset of ['census', 'survey'])
      await store.openBudget(
        dataset,
        { accounting: 'basic', neighbours: 'add-remove', granted: loss('1', '0.5') },
        'carol',
      )
    await store.charge(question('a', { datasetVersion: '1' }))
    await store.recordAnswer(chargeId('ada', 'a'), 1, 'first')
    await store.close()
  })

  test('is verified, exported and signed', async () => {
    const verified = await ledger('verify', { environment })
    expect(verified.errors).toBe('')
    expect(verified.output).toMatch(
      /^census: 3 events fit, spent epsilon 0.1 and delta 0 of epsilon 1 and delta 0.5, head \w{64}\nsurvey: 1 events fit, .*\n$/,
    )
    const printed = await ledger('export --dataset census', { environment })
    expect(printed).toMatchObject({ code: 0, errors: '' })
    const output = path.join(data, 'census.jsonl')
    expect(await ledger(`export --dataset census --output ${output}`, { environment })).toEqual({
      code: 0,
      output: '',
      errors: '',
    })
    expect(readFileSync(output, 'utf8')).toBe(printed.output)
    const heads = path.join(data, 'heads.jsonl')
    expect((await ledger(`sign --output ${heads}`, { environment })).code).toBe(0)
    const again = await ledger(`verify --head ${heads} --public-key signing.key.pub`, { environment })
    expect(again.output).toContain('event 3 of census: there, and signed')
    expect(again.output).toContain('event 1 of survey: there, and signed')
    expect(again.code).toBe(0)
    const fromExport = await ledger(`verify --export ${output} --head ${heads}`)
    expect(fromExport.errors).toContain('event 1 of survey: event 1 is missing')
    expect(fromExport.code).toBe(1)
  })

  test('needs a dataset that it has', async () => {
    for (const [line, message] of [
      ['export', 'name one of the datasets with --dataset: census, survey'],
      ['export --dataset never', 'there never was a dataset never'],
      ['verify --dataset never', 'there never was a dataset never'],
    ] as const) {
      const { code, errors } = await ledger(line, { environment })
      expect(errors).toContain(message)
      expect(code).toBe(2)
    }
    const wrong = { ...environment, SOTTO_LEDGER_URL: 'redis://x' }
    expect(await ledger('verify', { environment: wrong })).toMatchObject({
      code: 2,
      errors: expect.stringContaining('SOTTO_LEDGER_URL: '),
    })
  })

  test('in use by a service is left alone, and the way round it is named', async () => {
    const store = await openSqliteLedger({ path: path.join(data, 'ledger.sqlite') })
    try {
      const { code, errors } = await ledger('verify', { environment })
      expect(errors).toContain('GET /v1/datasets/{dataset}/ledger/export')
      expect(code).toBe(2)
    } finally {
      await store.close()
    }
  })

  test('a file that is no ledger is not sound', async () => {
    writeFileSync(
      path.join(data, 'ledger.sqlite'),
      'no database at all, and long enough to be read as one'.repeat(99),
    )
    expect(await ledger('verify', { environment })).toMatchObject({ code: 1, output: '' })
  })
})

test('the package names the command, which runs by itself', async () => {
  const { bin } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))
  expect(path.resolve(root, bin.sotto)).toBe(command)
  const environment = { PATH: `${path.dirname(process.execPath)}:${process.env.PATH}` }
  expect(await run(command, ['--help'], { environment })).toMatchObject({ code: 0, errors: '' })
})

/** The commands of a section of the page, without those that need a running service. */
function commandsOf(section: string): string {
  const page = readFileSync(path.join(root, 'docs/ledger.md'), 'utf8')
  const text = page.split(/^## /m).find((each) => each.startsWith(section)) ?? ''
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block]) => block).join('')
}

const tools = ['bash', 'jq', 'sha256sum'].every(installed) && spawnSync('openssl', ['version']).status === 0
test.skipIf(!tools)('the commands of docs/ledger.md do what it says', async () => {
  const shell = async (script: string) => {
    // As npx would run it, from another folder than the project's.
    const npx = `npx() { shift; '${process.execPath}' '${command}' "$@"; }`
    const environment = { SOTTO_DATA_DIR: folder }
    return run('bash', ['--norc', '-euc', `${npx}\n${script}`], { environment })
  }
  writeFileSync(inFolder('ledger-signing.key'), read('signing.key'), { mode: 0o600 })
  write('ledger-signing.key.pub', read('signing.key.pub'))
  const published = await shell(commandsOf('Sign and publish').replace(/^.*create-signing-key.*$/m, ''))
  expect(published.errors).toBe('')
  expect(published.output).toContain('event 18 of census: there, and signed')
  const checked = await shell(commandsOf('Check a receipt'))
  expect(checked.output).toContain('event 2 of census: there, with the answer, and signed')

  const byHand = await shell(commandsOf('By hand'))
  expect(byHand.errors).toBe('')
  const [third, paid] = [events[2]?.hash, events[1]?.hash]
  const digest = JSON.parse(events[2]?.canonical ?? '').answerHash
  expect(byHand.output.trim().split('\n')).toEqual([
    `${third}  -`,
    third,
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

test('the event that docs/ledger.md shows is one, and so is every kind of its table', async () => {
  const page = readFileSync(path.join(root, 'docs/ledger.md'), 'utf8')
  const shown = /```json\n([\s\S]*?)```/.exec(page)?.[1] ?? ''
  const [opened] = chain('census', everyKind('basic'))
  expect(shown).toBe(opened === undefined ? '' : exportLine(opened))
  const kinds = [...page.matchAll(/^\| `([a-z-]+)` +\|/gm)].map(([, kind]) => kind)
  expect(kinds.sort()).toEqual(EVERY_KIND.toSorted())
})

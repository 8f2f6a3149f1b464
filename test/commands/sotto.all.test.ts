import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { copySource } from '../../src/datasets/registration/sources/sources.ts'
import { openKeyStore } from '../../src/http/access/keys/keys.ts'
import { chargeId } from '../../src/ledger/canonical.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite/ledger.ts'
import { SOFTWARE_VERSION } from '../../src/platform/software-version.ts'
import { loss, question } from '../ledger/support.ts'
import { sampleHistory } from '../ledger/verification/sample-history.ts'
import { folder, inFolder, ledger, read, sotto, useCommandFolder } from './command-folder.ts'

/** Number of the last event of the sample history. */
const LAST = sampleHistory('zcdp').length

useCommandFolder()

describe('verify', () => {
  test.each([
    ['--export forged.jsonl', 'census: event 8 is not valid: the event has sequence 9'],
    [
      '--export census.jsonl --dataset survey',
      'survey: event 1 is not valid: the event belongs to another dataset',
    ],
    ['--export answer.json', 'line 1: the line is not {"event":…,"hash":"…"}'],
    ['--export cut.jsonl --head head.json', `head.json: event ${LAST} of census: event ${LAST} is missing`],
    [
      '--export census.jsonl --head wrong-signature.json --public-key signing.key.pub',
      `event ${LAST} of census: the signature does not match the key`,
    ],
    [
      '--export census.jsonl --head head.json --public-key other.key.pub',
      'the signature does not match the key',
    ],
    ['--export census.jsonl --head unsigned.json --public-key signing.key.pub', 'it is not signed'],
    ['--export census.jsonl --receipt altered.json', 'event 4 records another answer'],
    ['--export census.jsonl --receipt cut.json', 'cut.json: was changed: "hash" must be a SHA-256'],
    ['--export census.jsonl --head heads.jsonl --receipt altered.json', 'altered.json: event 3 of census'],
  ])('a failed check is reported with exit code 1: %s', async (args, message) => {
    const { code, errors } = await ledger(`verify ${args}`)
    expect(errors).toContain(message)
    expect(code).toBe(1)
  })

  test.each([
    [
      '--head head.json --public-key signing.key.pub',
      `head.json: event ${LAST} of census: found, and signed`,
    ],
    ['--head unsigned.json', `unsigned.json: event ${LAST} of census: found; signature not checked`],
    ['--head heads.jsonl --public-key signing.key.pub', 'heads.jsonl: event 3 of census: found, and signed'],
    [
      '--receipt answer.json --public-key signing.key.pub',
      'answer.json: event 3 of census: found, with the answer, and signed',
    ],
    ['--receipt session-answer.json --dataset census', 'event 15 of census: found, with the answer;'],
    ['--receipt unsigned.json', `unsigned.json: event ${LAST} of census: found; signature`],
  ])('heads and receipts are found: %s', async (args, message) => {
    const { code, output, errors } = await ledger(`verify --export census.jsonl ${args}`)
    expect(errors).toBe('')
    expect(output).toContain(message)
    expect(code).toBe(0)
  })
})

test.each([
  ['ledger', 'Usage: npx sotto ledger [options] [command]'],
  ['', 'Usage: npx sotto [options] [command]'],
  ['ledger verfy', "unknown command 'verfy'\n(Did you mean verify?)"],
  ['constructor', "unknown command 'constructor'"],
  ['ledger verify --exprot x', "unknown option '--exprot'\n(Did you mean --export?)"],
  ['ledger verify census.jsonl', 'too many arguments'],
  ['ledger verify --export missing.jsonl', 'missing.jsonl'],
  ['ledger verify --export census.jsonl --head missing.json', 'missing.json'],
  ['ledger verify --export census.jsonl --head census.jsonl', 'census.jsonl: is no head, receipt or answer'],
  ['ledger verify --export census.jsonl --receipt session-answer.json', 'name it with --dataset'],
  ['ledger verify --export census.jsonl --head head.json --public-key head.json', 'must be the PEM'],
  ['ledger verify --export census.jsonl --public-key signing.key.pub', 'needs a --head or a --receipt'],
  ['ledger verify', 'no ledger found at'],
  ['ledger copy missing', 'no ledger found at'],
  ['copy-catalog missing', 'SOTTO_LEDGER_URL: must name a PostgreSQL database'],
  ['ledger sign --export census.jsonl', 'SOTTO_LEDGER_SIGNING_KEY: must name the key'],
  ['ledger create-signing-key', "missing required argument 'file'"],
  ['ledger create-signing-key signing.key', 'nothing was written'],
  ['population', '--rows: '],
  ['population --rows 0 --seed s', '--rows: must be at least 1'],
  ['population --rows 1000001 --seed s', '--rows: must be at most 1000000'],
  ['population --rows 1e-3 --seed s', '--rows: '],
  ['population --rows many --seed s', '--rows: '],
  ['population --rows 10', '--seed: '],
  ['population --rows 10 --seed s --visits 9', '--visits: must be at least people'],
  ['population --rows x --seed s --visits 9', '--rows: '],
  ['population --rows 9 --seed s --visits 9', '--output: must be a folder'],
  ['population --rows 10 --seed s --columns 3', "unknown option '--columns'"],
  ['key owner ada', "unknown command 'owner'"],
  ['key analyst', "missing required argument 'name'"],
  ['key analyst Ada', '<name>: must be 1 to 63 lower-case letters'],
])(
  'a command that cannot be carried out ends with exit code 2 and states the reason: %s',
  async (line, message) => {
    const { code, output, errors } = await sotto(line === '' ? [] : line.split(' '))
    expect(errors).toContain(message)
    expect(output).toBe('')
    expect(errors).not.toMatch(/\n\s+at /)
    expect(code).toBe(2)
  },
)

test.each([
  ['--help', 'Usage: npx sotto [options] [command]'],
  ['--version', SOFTWARE_VERSION],
  ['start --help', 'SOTTO_PORT'],
  ['help', 'Commands that call a service:'],
  ['ledger --help', 'Usage: npx sotto ledger [options] [command]'],
  ['ledger verify --help', 'Usage: npx sotto ledger verify [options]'],
  ['help population', 'Usage: npx sotto population [options]'],
  ['ledger export -h', '--output <file>'],
  ['ledger copy --help', 'Usage: npx sotto ledger copy [options] <file>'],
  ['ledger sign --help', 'Usage: npx sotto ledger sign [options]'],
  ['ledger create-signing-key --help', 'Usage: npx sotto ledger create-signing-key [options] <file>'],
  ['population --help', '--rows <number>'],
  ['key --help', 'analyst [options] <name>'],
  ['key analyst --help', '--same-principal'],
  ['register --help', '--dry-run'],
  ['openapi --help', 'Usage: npx sotto openapi [options]'],
])('help is printed with exit code 0: %s', async (line, usage) => {
  const { code, output, errors } = await sotto(line.split(' '))
  expect(output).toContain(usage)
  expect(errors).toBe('')
  expect(code).toBe(0)
})

test('population writes the rows that a registration with the same size and seed holds', async () => {
  const printed = await sotto(['population', '--rows', '1200', '--seed', 'a seed'])
  expect(printed).toMatchObject({ code: 0, errors: '' })
  const copy = inFolder('population.copy')
  await copySource(
    { kind: 'population', rows: 1200, seed: 'a seed' },
    { dataDirectory: folder, copy, principal: 'a' },
  )
  expect(printed.output).toBe(readFileSync(copy, 'utf8'))
  const written = await sotto(['population', '--rows', '1200', '--seed', 'a seed', '--output', 'people.csv'])
  expect(written).toEqual({ code: 0, output: '', errors: '' })
  expect(read('people.csv')).toBe(printed.output)
})

test('key creates, lists, rotates and deletes keys that the key store knows', async () => {
  const environment = { SOTTO_DATA_DIR: inFolder('keys') }
  const key = (line: string) => sotto(['key', ...line.split(' ')], { environment })
  const store = openKeyStore(inFolder('keys'))
  const { code, output } = await key('auditor ada --datasets census,pupils --expires-at 2990-01-01T00:00:00Z')
  expect(code).toBe(0)
  const principal = { name: 'ada', role: 'auditor', key: 'ada.1', datasets: ['census', 'pupils'] }
  expect(await store.authenticate(output.trim())).toEqual(principal)
  expect(await key('analyst ada')).toMatchObject({
    code: 2,
    errors: expect.stringContaining('samePrincipal'),
  })
  expect((await key('list')).output).toBe(
    'ada.1\tauditor\tdatasets census,pupils\texpires 2990-01-01T00:00:00.000Z\n',
  )
  const rotated = await key('rotate ada.1 --overlap-seconds 0')
  expect(await store.authenticate(rotated.output.trim())).toEqual(principal)
  expect(await store.authenticate(output.trim())).toBeUndefined()
  expect(await key('delete ada.1')).toMatchObject({ code: 0, output: '' })
  expect(await store.authenticate(rotated.output.trim())).toBeUndefined()
  expect(await key('delete ada.1')).toMatchObject({
    code: 2,
    errors: expect.stringContaining('no key ada.1'),
  })
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
    errors: expect.stringContaining('must be accessible to its owner only'),
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
      /^census: 3 events verified, spent epsilon 0.1 and delta 0 of epsilon 1 and delta 0.5, 1 of 1 requests verified, head \w{64}\nsurvey: 1 events verified, .*\n$/,
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
    expect(again.output).toContain('event 3 of census: found, and signed')
    expect(again.output).toContain('event 1 of survey: found, and signed')
    expect(again.code).toBe(0)
    const fromExport = await ledger(`verify --export ${output} --head ${heads}`)
    expect(fromExport.errors).toContain('event 1 of survey: event 1 is missing')
    expect(fromExport.code).toBe(1)
  })

  test('needs a dataset that it has', async () => {
    for (const [line, message] of [
      ['export', 'name one of the datasets with --dataset: census, survey'],
      ['export --dataset never', 'the ledger has no dataset never'],
      ['verify --dataset never', 'the ledger has no dataset never'],
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

  test('in use by a service is not opened, and the message names the alternative', async () => {
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

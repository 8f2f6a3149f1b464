import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type Custody, openCustody } from '../../../src/ledger/custody/custody.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/ledger.ts'
import { chargeOf, question, summed } from '../support.ts'

/** Folders with a checkpoint and a ledger of 40 charges, of which the last ten are later than the checkpoint. */
let original = ''
let other = ''
let folder = ''
beforeAll(async () => {
  original = await preparedFolder()
  other = await preparedFolder()
})
afterAll(async () => {
  for (const each of [original, other]) await rm(each, { recursive: true })
})
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'sotto-checkpoint-'))
  await cp(original, folder, { recursive: true })
  onTestFinished(() => rm(folder, { recursive: true }))
})

const file = (name: string) => path.join(folder, name)
const openLedger = (directory: string) => openSqliteLedger({ path: path.join(directory, 'ledger.sqlite') })

async function preparedFolder(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'sotto-checkpoint-'))
  const custody = await open(directory)
  await custody.ledger.openBudget('census', summed('10'), 'carol')
  await charge(custody.ledger, 0, 30)
  await custody.close()
  const ledger = await openLedger(directory)
  await charge(ledger, 30, 40)
  // An answer and another attempt of charges that are earlier than the checkpoint.
  await ledger.recordAnswer(chargeOf(await ledger.charge(question('key 28'))).id, 2, 'late')
  await ledger.close()
  return directory
}

/** Charges questions, of which those with an odd number are not answered. */
async function charge(ledger: Ledger, from: number, to: number): Promise<void> {
  for (let place = from; place < to; place += 1) {
    const { id } = chargeOf(await ledger.charge(question(`key ${place}`, { leaseMs: 1 })))
    if (place % 2 === 1) await ledger.recordAnswer(id, 1, `answer ${place}`)
    else await ledger.recordFailure(id, 1)
  }
}

const lines: string[] = []
beforeEach(() => {
  lines.length = 0
})

/** Opens the custody of a ledger that counts as long. */
async function open(directory = folder): Promise<Custody> {
  const logger = pino({}, { write: (line: string) => lines.push(line) })
  const ledger = await openLedger(directory)
  try {
    return await openCustody(ledger, {
      ...{ dataDirectory: directory, datasets: [], registeredHere: [], logger },
      completeUpTo: 0,
    })
  } catch (error) {
    await ledger.close()
    throw error
  }
}

/** Runs SQL on the ledger without the triggers that keep its rows. */
function edit(sql: string): void {
  const database = new DatabaseSync(file('ledger.sqlite'))
  const triggers = database.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all()
  for (const { name } of triggers) database.exec(`DROP TRIGGER ${name}`)
  database.exec(sql)
  for (const { sql } of triggers) database.exec(String(sql))
  database.close()
}

async function completed({ extent }: Custody): Promise<void> {
  await expect.poll(extent).toBe('complete')
}

/** The extent of the verification before the start ended. */
function extentAtStart(): unknown {
  return JSON.parse(lines[0] ?? '{}').verification
}

test('a long ledger starts from its checkpoint, is verified completely, and gets a new checkpoint', async () => {
  const before = await readFile(file('checkpoint.json'), 'utf8')
  const custody = await open()
  expect(extentAtStart()).toBe('checkpoint')
  expect((await custody.ledger.charge(question('another'))).kind).toBe('charged')
  await completed(custody)
  await custody.close()
  expect(await readFile(file('checkpoint.json'), 'utf8')).not.toBe(before)
  const again = await open()
  expect(extentAtStart()).toBe('checkpoint')
  await again.close()
})

describe('everything is verified before the start, from', () => {
  test.each([
    ['no checkpoint', () => rm(file('checkpoint.json'))],
    ['no key', () => rm(file('checkpoint.key'))],
    ['another key', () => cp(path.join(other, 'checkpoint.key'), file('checkpoint.key'))],
    ['half a checkpoint', async () => truncate('checkpoint.json')],
    [
      'an edited checkpoint',
      async () => {
        const text = await readFile(file('checkpoint.json'), 'utf8')
        expect(text).toContain('"epsilonNano')
        await writeFile(file('checkpoint.json'), text.replace(/(spent.{40,80}?)(\d)(\d{8})/, '$10$3'))
        expect(await readFile(file('checkpoint.json'), 'utf8')).not.toBe(text)
      },
    ],
    [
      'the checkpoint of another ledger, with its key',
      async () => {
        for (const name of ['checkpoint.json', 'checkpoint.key']) await cp(path.join(other, name), file(name))
      },
    ],
    ['an interrupted write', () => writeFile(file('checkpoint.json'), '')],
  ])('%s', async (_what, change) => {
    await change()
    const custody = await open()
    expect(extentAtStart()).toBe('complete')
    await custody.close()
  })

  async function truncate(name: string): Promise<void> {
    const bytes = await readFile(file(name))
    await writeFile(file(name), bytes.subarray(0, bytes.length / 2))
  }
})

test('an interrupted write beside the checkpoint changes nothing', async () => {
  await writeFile(file('checkpoint.json.partial'), '{"mac"')
  const custody = await open()
  expect(extentAtStart()).toBe('checkpoint')
  await completed(custody)
  await custody.close()
})

describe('attack: edit the ledger', () => {
  test.each([
    ['the spent budget', 'UPDATE budgets SET spent_epsilon_nano = 100000000'],
    ['the spending of an analyst', 'UPDATE analysts SET spent_epsilon_nano = 100000000'],
    [
      'an event after the checkpoint',
      "UPDATE events SET canonical = replace(canonical, 'ada', 'bob') WHERE sequence = 70",
    ],
    ['the last events', 'DELETE FROM events WHERE sequence > 75'],
  ])('%s: the start is refused', async (_what, sql) => {
    edit(sql)
    await expect(open()).rejects.toThrow(/the ledger of the dataset census is damaged at event \d+|is older/)
  })

  test.each([
    [
      'an event before the checkpoint',
      "UPDATE events SET canonical = replace(canonical, 'ada', 'bob') WHERE sequence = 5",
    ],
    [
      'the answer of a charge before the checkpoint',
      "UPDATE releases SET answer = 'forged' WHERE charge = 2",
    ],
    [
      'a charge before the checkpoint',
      'DELETE FROM releases WHERE charge = 2; DELETE FROM charges WHERE number = 2',
    ],
    [
      'a charge without an event',
      `INSERT INTO charges SELECT 9999, 'f' || substr(id, 2), principal, idempotency_key, dataset,
        dataset_version, request_hash, request, loss_epsilon_nano, loss_delta_atto, loss_rho_pico, state, attempt,
        created_at_ms, leased_at_ms, lease_expires_at_ms, sharing, shared_from FROM charges WHERE number = 1`,
    ],
  ])(
    '%s: the background verification stops the service, and the next start is refused',
    async (_what, sql) => {
      edit(sql)
      const custody = await open()
      expect(extentAtStart()).toBe('checkpoint')
      await expect.poll(() => custody.ledger.healthy()).toBe(false)
      await expect(custody.ledger.charge(question('another'))).rejects.toMatchObject({ kind: 'stopped' })
      expect(custody.extent()).toBe('checkpoint')
      expect(lines.join()).toContain('the service has stopped answering')
      await custody.close()
      await expect(open()).rejects.toThrow('the ledger of the dataset census is damaged at event')
    },
  )
})

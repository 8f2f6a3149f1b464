import { copyFileSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { openLedger } from '../../src/ledger/open.ts'
import { countCharges, verifyLedger } from '../../src/ledger/verification.ts'
import { entry } from '../../src/privacy/must.ts'
import { describePostgres } from '../servers/postgres.ts'
import { queryPostgres } from '../servers/postgres-server.ts'
import { askPupils, makeServiceFolder, registerPupils, type ServiceFolder } from './service.ts'

/**
 * Changes that an attacker with write access to the store could make past its triggers after three answered questions,
 * with the first invalid event.
 */
const TAMPERING = [
  {
    what: 'a balance is lowered',
    sql: "UPDATE budgets SET spent_epsilon_nano = spent_epsilon_nano - 10000000 WHERE dataset = 'pupils'",
    event: 7,
  },
  {
    what: 'a cap is raised',
    sql: "UPDATE budgets SET cap_epsilon_nano = cap_epsilon_nano * 2 WHERE dataset = 'pupils'",
    event: 7,
  },
  {
    what: "an analyst's spending is lowered",
    sql: 'UPDATE analysts SET spent_epsilon_nano = 0',
    event: 7,
  },
  {
    what: 'an event is rewritten',
    sql: `UPDATE events SET canonical = replace(canonical, '"ada"', '"bob"')
      WHERE dataset = 'pupils' AND sequence = 4`,
    event: 4,
  },
  {
    what: 'an event is taken out',
    sql: "DELETE FROM events WHERE dataset = 'pupils' AND sequence = 3",
    event: 3,
  },
  {
    what: 'two events change places',
    sql: `UPDATE events SET sequence = 1000 WHERE dataset = 'pupils' AND sequence = 5;
      UPDATE events SET sequence = 5 WHERE dataset = 'pupils' AND sequence = 6;
      UPDATE events SET sequence = 6 WHERE dataset = 'pupils' AND sequence = 1000`,
    event: 5,
  },
  { what: 'a stored answer is rewritten', sql: "UPDATE releases SET answer = '{}'", event: 3 },
  { what: 'an answered charge is open again', sql: "UPDATE charges SET state = 'charged'", event: 3 },
  { what: 'a stored price is lowered', sql: 'UPDATE charges SET loss_epsilon_nano = 1', event: 3 },
  { what: 'charges are taken out', sql: 'DELETE FROM releases; DELETE FROM charges', event: 3 },
  {
    what: 'the end is cut off',
    sql: "DELETE FROM events WHERE dataset = 'pupils' AND sequence > 5",
    event: 6,
  },
]

/** Disables triggers, foreign keys and checks of PostgreSQL, as a superuser can. */
const PAST_EVERY_CHECK = `
  SET session_replication_role = replica; SET search_path = sotto;
  DO $$ DECLARE found record; BEGIN
    FOR found IN SELECT conname, conrelid::regclass AS of FROM pg_constraint
      WHERE contype = 'c' AND connamespace = 'sotto'::regnamespace
    LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', found.of, found.conname); END LOOP;
  END $$`

type Environment = Readonly<Record<string, string>>

async function folderWithThreeAnswers(environment: Environment): Promise<ServiceFolder> {
  const folder = await makeServiceFolder()
  const { url, stop } = await folder.start(environment)
  await registerPupils(folder, url, 1)
  for (const key of ['a', 'b', 'c']) expect((await askPupils(folder, url, 0.01, key)).status).toBe(200)
  expect(await stop('SIGTERM')).toBe(0)
  return folder
}

/**
 * Expects the verification of a start to find the first invalid event of a change, and for every fifth change the start to
 * end with code 1 and to name the dataset and the event.
 */
async function expectRefused(folder: ServiceFolder, url: string, place: number, environment: Environment) {
  const { what, event } = entry(TAMPERING, place)
  const ledger = await openLedger({ url })
  try {
    expect(await verifyLedger(ledger, 'pupils', await countCharges(ledger)), what).toMatchObject({
      kind: 'broken',
      sequence: event,
    })
  } finally {
    await ledger.close()
  }
  if (place % 5 !== 0) return
  await expect(folder.start(environment), what).rejects.toThrow(
    new RegExp(`ended with code 1.*the ledger of the dataset pupils is damaged at event ${event}: `, 's'),
  )
}

test('SQLite: a service does not start on a ledger that was tampered with, and names dataset and event', async () => {
  const folder = await folderWithThreeAnswers({})
  const ledger = path.join(folder.directory, 'ledger.sqlite')
  const asItWas = path.join(folder.directory, 'as-it-was')
  copyFileSync(ledger, asItWas)
  for (const [place, { sql }] of TAMPERING.entries()) {
    copyFileSync(asItWas, ledger)
    const database = new DatabaseSync(ledger)
    const triggers = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all()
    for (const { name } of triggers) database.exec(`DROP TRIGGER ${name}`)
    database.exec(sql)
    database.close()
    await expectRefused(folder, ledger, place, {})
  }
  copyFileSync(asItWas, ledger)
  const { stop } = await folder.start()
  expect(await stop('SIGTERM')).toBe(0)
})

describePostgres('PostgreSQL', (databases) => {
  test('a service does not start on a ledger that was tampered with, and names dataset and event', async () => {
    const asItWas = await databases.createDatabase()
    const folder = await folderWithThreeAnswers({ SOTTO_LEDGER_URL: asItWas })
    for (const [place, { sql }] of TAMPERING.entries()) {
      const database = `changed_${place}`
      const template = path.basename(new URL(asItWas).pathname)
      await queryPostgres(databases.url('postgres'), `CREATE DATABASE ${database} TEMPLATE ${template}`)
      await queryPostgres(databases.url(database), `${PAST_EVERY_CHECK}; ${sql}`)
      const url = databases.url(database)
      await expectRefused(folder, url, place, { SOTTO_LEDGER_URL: url })
    }
    const { stop } = await folder.start({ SOTTO_LEDGER_URL: asItWas })
    expect(await stop('SIGTERM')).toBe(0)
  })
})

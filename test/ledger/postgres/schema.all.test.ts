import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { inspect } from 'node:util'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openLedger } from '../../../src/ledger/open.ts'
import { useOnce } from '../../../src/ledger/postgres/connection.ts'
import { openPostgresLedger, type PostgresLedger } from '../../../src/ledger/postgres/ledger.ts'
import { writeArguments } from '../../../src/ledger/postgres/rows.ts'
import { MIGRATIONS, migratePostgres } from '../../../src/ledger/postgres/schema.ts'
import { type Batch, beginBatch, changesOf } from '../../../src/ledger/protocol/batch.ts'
import { openBudget } from '../../../src/ledger/protocol/budgets.ts'
import { charge, recordAnswer } from '../../../src/ledger/protocol/charges.ts'
import {
  type PostgresServer,
  postgresBinaries,
  startPostgresServer,
  startStandby,
} from '../../postgres-server.ts'
import { chargeOf, expectConsistentLedger, loss, question, summed, temporaryPath } from '../support.ts'

const SECRET = 'a-password-nobody-may-see'

let server: PostgresServer

/** The function with which the release of a schema version wrote a batch. */
function writeOf(version: number): string {
  if (version < 3) return 'write'
  return version < 6 ? 'write_batch' : 'write_changes'
}

/** The statement with which the release of a schema version wrote a batch. */
function writeBy(version: number): string {
  return `SELECT sotto.${writeOf(version)}(${Array.from({ length: 11 }, (_, place) => `$${place + 1}::json`)})`
}

/** Place of the new releases among the arguments of {@link writeBy}. */
const RELEASES = 7

const nothing = () => undefined
const NO_ROWS = {
  ...{ account: nothing, analyst: nothing, charge: nothing, answer: nothing, sharedRelease: nothing },
  ...{ session: nothing, sessionAnswer: nothing, sources: () => [] },
}

/** A batch that opens a budget and charges a question. */
function firstBatch(): Batch {
  const batch = beginBatch(NO_ROWS, Date.now())
  openBudget(batch, 'census', summed('1'), 'carol')
  charge(batch, question('a', { leaseMs: 60_000 }))
  return batch
}

/** Executes statements like a person with an SQL prompt. */
async function prompt(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new Client(url)
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

async function opened(url: string): Promise<PostgresLedger> {
  const ledger = await openPostgresLedger({ url })
  onTestFinished(() => ledger.close())
  return ledger
}

function fault(kind: string, message: string | RegExp) {
  return expect.objectContaining({ name: 'LedgerFault', kind, message: expect.stringMatching(message) })
}

function withPassword(url: string): string {
  return url.replace('@', `:${SECRET}@`)
}

describe.skipIf(postgresBinaries() === undefined)('a ledger in PostgreSQL', () => {
  beforeAll(async () => {
    server = await startPostgresServer()
  })
  afterAll(() => server?.remove())

  describe('the tables refuse', () => {
    let url: string

    beforeAll(async () => {
      url = await server.createDatabase()
      const ledger = await openPostgresLedger({ url })
      const source = { digest: '0a'.repeat(32), synthetic: false }
      await ledger.openBudget('census', { ...summed('1', '0.001'), source }, 'carol')
      await ledger.openBudget(
        'rho',
        { accounting: 'zcdp', neighbours: 'add-remove', granted: loss('1', '0.001') },
        'carol',
      )
      const shared = chargeOf(await ledger.charge(question('shared', { sharing: true })))
      await ledger.recordAnswer(shared.id, 1, 'an answer')
      const allotment = { dataset: 'census', analyst: 'ben', principal: 'carol', reason: 'a share' }
      await ledger.allot({ ...allotment, granted: loss('0.2') })
      const session = chargeOf(await ledger.charge(question('session')))
      const terms = { positives: 1, terms: 'terms', thresholdNoise: -5n }
      await ledger.openSession(session.id, 1, 'opening', terms)
      const asked = { session: session.id, idempotencyKey: 'first', requestHash: 'hash', request: '{}' }
      await ledger.recordSessionAnswer({ ...asked, question: 1, above: true, answer: 'yes' })
      await ledger.charge(question('under way'))
      await ledger.charge(question('dear', { price: { ...question('dear').price, ...loss('9') } }))
      await ledger.close()
    })

    const newBudget = (changes: Readonly<Record<string, string>>) => {
      const row = {
        dataset: "'new'",
        accounting: "'basic'",
        spent: '0',
        cap: '5',
        head_sequence: '0',
        ...changes,
      }
      return `INSERT INTO sotto.budgets
        VALUES (${row.dataset}, ${row.accounting}, ${row.cap}, 0, 0, ${row.spent}, 0, 0, ${row.head_sequence},
          repeat('0', 64))`
    }

    test.each([
      [
        'an overspent budget',
        `UPDATE sotto.budgets SET spent_epsilon_nano = cap_epsilon_nano + 1 WHERE dataset = 'census'`,
      ],
      [
        'an overspent delta',
        `UPDATE sotto.budgets SET spent_delta_atto = cap_delta_atto + 1 WHERE dataset = 'census'`,
      ],
      [
        'an overspent rho',
        `UPDATE sotto.budgets SET spent_rho_pico = cap_rho_pico + 1 WHERE dataset = 'census'`,
      ],
      [
        'an epsilon spent of a budget of rho',
        `UPDATE sotto.budgets SET spent_epsilon_nano = 1 WHERE dataset = 'rho'`,
      ],
      [
        'an integer beyond 64 bits',
        `UPDATE sotto.budgets SET spent_epsilon_nano = 9223372036854775807 + 1 WHERE dataset = 'census'`,
      ],
      [
        'a cap beyond the largest',
        `UPDATE sotto.budgets SET cap_epsilon_nano = 1000000000000001 WHERE dataset = 'census'`,
      ],
      [
        'a delta of one',
        `UPDATE sotto.budgets SET cap_delta_atto = 1000000000000000000 WHERE dataset = 'census'`,
      ],
      ['a lowered cap', `UPDATE sotto.budgets SET cap_epsilon_nano = 999999999 WHERE dataset = 'census'`],
      ['a lowered cap of rho', `UPDATE sotto.budgets SET cap_rho_pico = 1 WHERE dataset = 'rho'`],
      ['a refund', `UPDATE sotto.budgets SET spent_epsilon_nano = 0 WHERE dataset = 'census'`],
      ['another accounting', `UPDATE sotto.budgets SET accounting = 'zcdp' WHERE dataset = 'census'`],
      ['another name', `UPDATE sotto.budgets SET dataset = 'other' WHERE dataset = 'rho'`],
      [
        'a head that is no event',
        `UPDATE sotto.budgets SET head_hash = repeat('a', 64) WHERE dataset = 'census'`,
      ],
      [
        'a head before the last event',
        `UPDATE sotto.budgets SET head_sequence = head_sequence - 1 WHERE dataset = 'census'`,
      ],
      [
        'a budget of the administration',
        `UPDATE sotto.budgets SET cap_epsilon_nano = 1 WHERE dataset = '@administration'`,
      ],
      [
        'a charge to the administration',
        `INSERT INTO sotto.charges SELECT repeat('e', 32), principal, 'e', '@administration', '1', 'e', 'e',
        0, 0, 0, 'charged', 1, 0, 0, 0, false, NULL FROM sotto.charges LIMIT 1`,
      ],
      ['a failure without an event', `UPDATE sotto.budgets SET failures = 1 WHERE dataset = 'census'`],
      ['a suspension without failures', `UPDATE sotto.budgets SET suspended = true WHERE dataset = 'census'`],
      ['an event marked as a failure', 'UPDATE sotto.events SET counted = true'],
      ['a deleted budget', 'DELETE FROM sotto.budgets'],
      ['a truncated budget', 'TRUNCATE sotto.budgets CASCADE'],
      ['a second budget', newBudget({ dataset: "'census'" })],
      [
        'a replaced budget',
        `${newBudget({ dataset: "'rho'" })} ON CONFLICT (dataset) DO UPDATE SET cap_rho_pico = 0`,
      ],
      ['a budget that is overspent when it is opened', newBudget({ spent: '6' })],
      ['a budget without a name', newBudget({ dataset: "''" })],
      ['an unknown accounting', newBudget({ accounting: "'renyi'" })],
      [
        'an analyst beyond their allotment',
        `UPDATE sotto.analysts SET spent_epsilon_nano = 200000001
        WHERE principal = 'ben'`,
      ],
      [
        'an analyst whose spending decreases',
        `UPDATE sotto.analysts SET spent_epsilon_nano = 0 WHERE principal = 'ada'`,
      ],
      ['more shared than spent', 'UPDATE sotto.analysts SET shared_epsilon_nano = spent_epsilon_nano + 1'],
      ['half an allotment', 'UPDATE sotto.analysts SET granted_delta_atto = 0, limit_rho_pico = NULL'],
      ['forgotten bytes', 'UPDATE sotto.analysts SET stored_bytes = 0 WHERE stored_bytes > 0'],
      ['forgotten denials', 'UPDATE sotto.analysts SET denials = 0 WHERE denials > 0'],
      [
        'an answer with two texts',
        `INSERT INTO sotto.releases (charge, answer, deflated) SELECT id, 'an answer', '\\x00' FROM sotto.charges WHERE state = 'charged'`,
      ],
      [
        'an answer without a text',
        `INSERT INTO sotto.releases (charge, answer, deflated) SELECT id, NULL, NULL FROM sotto.charges WHERE state = 'charged'`,
      ],
      ['a deleted analyst', 'DELETE FROM sotto.analysts'],
      ['truncated analysts', 'TRUNCATE sotto.analysts'],
      [
        'an analyst of nothing',
        `INSERT INTO sotto.analysts VALUES ('none', 'eve', NULL, NULL, NULL, 0, 0, 0, 0, 0, 0)`,
      ],
      [
        'a charge of nothing',
        `INSERT INTO sotto.charges SELECT repeat('e', 32), principal, 'e', 'none', '1', 'e', 'e',
        0, 0, 0, 'charged', 1, 0, 0, 0, false, NULL FROM sotto.charges LIMIT 1`,
      ],
      ['another price', `UPDATE sotto.charges SET loss_epsilon_nano = 0 WHERE state = 'charged'`],
      ['another key', `UPDATE sotto.charges SET idempotency_key = 'x' WHERE state = 'charged'`],
      [
        'a denial after the debit',
        `UPDATE sotto.charges SET state = 'denied', attempt = 0 WHERE state = 'charged'`,
      ],
      ['an attempt before', `UPDATE sotto.charges SET attempt = 0 WHERE state = 'charged'`],
      [
        'an answered charge that loses its state',
        `UPDATE sotto.charges SET state = 'failed' WHERE state = 'answered'`,
      ],
      ['an unknown state', `UPDATE sotto.charges SET state = 'paid' WHERE state = 'charged'`],
      [
        'a lease that ends before it begins',
        `UPDATE sotto.charges SET lease_expires_at_ms = leased_at_ms - 1`,
      ],
      ['a deleted charge', 'DELETE FROM sotto.charges'],
      ['truncated charges', 'TRUNCATE sotto.charges CASCADE'],
      ['a changed event', `UPDATE sotto.events SET principal = 'eve'`],
      ['a deleted event', 'DELETE FROM sotto.events WHERE sequence = 1'],
      ['truncated events', 'TRUNCATE sotto.events'],
      [
        'an event with another hash',
        `INSERT INTO sotto.events
        VALUES ('census', (SELECT head_sequence + 1 FROM sotto.budgets WHERE dataset = 'census'), 'eve', '{}',
          repeat('0', 64))`,
      ],
      [
        'an event after a gap',
        `INSERT INTO sotto.events VALUES ('census', 1000, 'eve', 'x', encode(sha256('x'), 'hex'))`,
      ],
      [
        'two events with a gap between',
        `INSERT INTO sotto.events
        SELECT 'census', head_sequence + place, 'eve', 'x', encode(sha256('x'), 'hex')
        FROM sotto.budgets, unnest(ARRAY[1, 3]) AS place WHERE dataset = 'census'`,
      ],
      [
        'an event of nothing',
        `INSERT INTO sotto.events VALUES ('none', 1, 'eve', 'x', encode(sha256('x'), 'hex'))`,
      ],
      ['a changed answer', `UPDATE sotto.releases SET answer = 'another'`],
      [
        'a replaced answer',
        `INSERT INTO sotto.releases (charge, answer) SELECT charge, 'another' FROM sotto.releases
        ON CONFLICT (charge) DO UPDATE SET answer = 'another'`,
      ],
      ['a deleted answer', 'DELETE FROM sotto.releases'],
      ['truncated answers', 'TRUNCATE sotto.releases CASCADE'],
      ['another shared release', 'UPDATE sotto.shared_releases SET charge = charge'],
      ['a real source that becomes synthetic', 'UPDATE sotto.sources SET synthetic = true'],
      [
        'a real source that is synthetic, too',
        'INSERT INTO sotto.sources SELECT digest, dataset, true FROM sotto.sources',
      ],
      [
        'a synthetic source of an id with real data',
        "INSERT INTO sotto.sources SELECT replace(digest, 'a', 'b'), dataset, true FROM sotto.sources",
      ],
      ['a deleted source', 'DELETE FROM sotto.sources'],
      ['a deleted shared release', 'DELETE FROM sotto.shared_releases'],
      [
        'a session without a paid charge',
        `INSERT INTO sotto.sparse_vector_sessions
        SELECT id, 1, 'terms', 0 FROM sotto.charges WHERE state = 'charged'`,
      ],
      ['a session without end', 'UPDATE sotto.sparse_vector_sessions SET positives = 9'],
      ['a deleted session', 'DELETE FROM sotto.sparse_vector_sessions'],
      [
        'an answer after the last positive',
        `INSERT INTO sotto.sparse_vector_answers
        SELECT session, 2, 'second', 'hash', '{}', false, 'no' FROM sotto.sparse_vector_answers`,
      ],
      [
        'an answer that skips one',
        `INSERT INTO sotto.sparse_vector_answers
        SELECT session, 3, 'third', 'hash', '{}', false, 'no' FROM sotto.sparse_vector_answers`,
      ],
      ['a changed answer of a session', 'UPDATE sotto.sparse_vector_answers SET above = false'],
      ['a deleted answer of a session', 'DELETE FROM sotto.sparse_vector_answers'],
      ['truncated answers of a session', 'TRUNCATE sotto.sparse_vector_answers'],
      ['a second version of the schema', 'INSERT INTO sotto.schema_version VALUES (2)'],
    ])('%s', async (_what, sql) => {
      const tables =
        'budgets analysts charges events releases shared_releases sparse_vector_answers sources'.split(' ')
      const all = tables.map(
        (table) => `(SELECT json_agg(t ORDER BY t::text) FROM sotto.${table} t) AS ${table}`,
      )
      const before = await prompt(url, `SELECT ${all}`)
      await expect(prompt(url, sql)).rejects.toMatchObject({ code: expect.stringMatching(/^(22003|23...)$/) })
      expect(await prompt(url, `SELECT ${all}`)).toEqual(before)
    })

    test('and none of these statements has changed a row', async () => {
      await expectConsistentLedger(await opened(url))
    })
  })

  describe('a server that may lose acknowledged data is refused:', () => {
    test('a standby', async () => {
      const standby = await startStandby(server)
      onTestFinished(() => standby.remove())
      await expect(openPostgresLedger({ url: standby.url('postgres') })).rejects.toEqual(
        fault('unusable', /cannot be used: it is a standby$/),
      )
    })

    test.each([
      ['fsync', /fsync is off/],
      ['full_page_writes', /full_page_writes is off/],
    ])('%s = off, at the start and later', async (setting, message) => {
      const careless = await startPostgresServer()
      onTestFinished(() => careless.remove())
      const url = await careless.createDatabase()
      const set = async (value: string) => {
        await prompt(url, `ALTER SYSTEM SET ${setting} = ${value}`)
        await careless.restart()
      }
      const ledger = await opened(url)
      await set('off')
      await expect(openPostgresLedger({ url })).rejects.toEqual(fault('unusable', message))
      await expect(ledger.openBudget('census', summed('1'), 'carol')).rejects.toEqual(
        fault('unusable', message),
      )
      await expect(ledger.budget('census')).rejects.toEqual(fault('unusable', message))
      expect(await ledger.healthy()).toBe(false)
      await set('on')
      expect(await ledger.openBudget('census', summed('1'), 'carol')).toEqual({ kind: 'opened' })
    })

    test('an encoding that is not UTF-8', async () => {
      await prompt(server.url('postgres'), `CREATE DATABASE bytes ENCODING 'SQL_ASCII' TEMPLATE template0`)
      await expect(openPostgresLedger({ url: server.url('bytes') })).rejects.toEqual(
        fault('unusable', /its encoding is SQL_ASCII/),
      )
    })
  })

  describe('no message contains the password', () => {
    test('if the server refuses it', async () => {
      const locked = await startPostgresServer()
      onTestFinished(() => locked.remove())
      await prompt(locked.url('postgres'), `CREATE ROLE analyst LOGIN PASSWORD 'another'`)
      const rules = path.join(locked.folder, 'data', 'pg_hba.conf')
      writeFileSync(rules, `host all analyst 127.0.0.1/32 scram-sha-256\n${readFileSync(rules, 'utf8')}`)
      await prompt(locked.url('postgres'), 'SELECT pg_reload_conf()')
      const url = withPassword(locked.url('postgres').replace('postgres@', 'analyst@'))
      const refused = await openPostgresLedger({ url }).catch((error: unknown) => error)
      expect(refused).toEqual(fault('unusable', /password authentication failed for user "analyst"/))
      expect(inspect(refused, { depth: 9, showHidden: true })).not.toContain(SECRET)
    })

    test.each([
      ['there is no server', () => withPassword(server.url('test').replace(/:\d+\//, ':1/')), /ECONNREFUSED/],
      [
        'there is no database',
        () => withPassword(server.url('missing')),
        /database "missing" does not exist/,
      ],
      ['the URL is not valid', () => `postgres://ada:${SECRET}#@localhost/ledger`, /URL is not valid/],
      ['its escapes are wrong', () => `postgres://ada:${SECRET}%zz@localhost/ledger`, /cannot be opened/],
      ['a certificate is missing', () => `${withPassword(server.url('x'))}?sslrootcert=/none.pem`, /ENOENT/],
    ])('where %s', async (_where, url, message) => {
      const refused = await openLedger({ url: url() }).catch((error: unknown) => error)
      expect(refused).toEqual(fault('unusable', message))
      expect(inspect(refused, { depth: 9, showHidden: true })).not.toContain(SECRET)
    })

    test('if the server does not respond', async () => {
      const silent = createServer(() => {}).listen(0, '127.0.0.1')
      onTestFinished(() => void silent.close())
      await new Promise((resolve) => silent.once('listening', resolve))
      const address = silent.address()
      const port = typeof address === 'object' ? address?.port : undefined
      const url = `postgres://ada:${SECRET}@127.0.0.1:${port}/ledger`
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      onTestFinished(() => void vi.useRealTimers())
      const opening = openPostgresLedger({ url }).catch((error: unknown) => error)
      await vi.advanceTimersByTimeAsync(5_000)
      const refused = await opening
      expect(refused).toEqual(fault('unusable', /timeout/))
      expect(inspect(refused, { depth: 9, showHidden: true })).not.toContain(SECRET)
    })
  })

  describe('the schema', () => {
    const STEP = `ALTER TABLE sotto.budgets ADD COLUMN note text NOT NULL DEFAULT 'none'`
    const NEXT = [...MIGRATIONS, STEP]
    const versionOf = async (url: string) =>
      (await prompt(url, 'SELECT version FROM sotto.schema_version')).map(({ version }) => version)

    test('is created once when several replicas start together', async () => {
      const url = await server.createDatabase()
      const ledgers = await Promise.all(Array.from({ length: 8 }, () => opened(url)))
      expect(await versionOf(url)).toEqual([MIGRATIONS.length])
      const outcomes = await Promise.all(
        ledgers.map((each) => each.openBudget('census', summed('1'), 'carol')),
      )
      expect(outcomes.map(({ kind }) => kind).sort()).toEqual([
        'exists',
        ...Array(6).fill('exists'),
        'opened',
      ])
    })

    test('is migrated, and keeps its rows', async () => {
      const url = await server.createDatabase()
      const ledger = await opened(url)
      await ledger.openBudget('census', summed('1'), 'carol')
      await ledger.charge(question('a'))
      const before = await ledger.budget('census')
      await Promise.all(
        Array.from({ length: 3 }, () => useOnce(url, (client) => migratePostgres(client, NEXT))),
      )
      expect(await versionOf(url)).toEqual([NEXT.length])
      expect(await prompt(url, 'SELECT dataset, note FROM sotto.budgets')).toEqual([
        { dataset: 'census', note: 'none' },
      ])
      // A replica that had it open continues with its connections.
      expect(await ledger.budget('census')).toEqual(before)
      expect(chargeOf(await ledger.charge(question('b'))).event.sequence).toBe(3)
    })

    test.each(MIGRATIONS.keys().drop(1).toArray())(
      'of version %d is migrated and keeps its rows',
      async (version) => {
        const url = await server.createDatabase()
        await useOnce(url, async (client) => {
          await migratePostgres(client, MIGRATIONS.slice(0, version))
          // The release of that version wrote the same columns, without the newer ones.
          await client.query(writeBy(version), [...writeArguments(changesOf(firstBatch()))])
        })
        expect(await versionOf(url)).toEqual([version])
        const ledger = await opened(url)
        expect(await versionOf(url)).toEqual([MIGRATIONS.length])
        expect((await ledger.charge(question('a'))).kind).toBe('in-flight')
        expect(chargeOf(await ledger.charge(question('b'))).event.sequence).toBe(3)
        await expectConsistentLedger(ledger)
        const head = await ledger.head('census')
        for (const sequence of [2, 3, 5]) {
          const event = `INSERT INTO sotto.events
          VALUES ('census', ${sequence}, 'eve', 'x', encode(sha256('x'), 'hex'))`
          await expect(prompt(url, event)).rejects.toThrow(/an event follows the one before|duplicate key/)
        }
        expect(await ledger.head('census')).toEqual(head)
      },
    )

    test('lists the answers that replicas of the version before store before and after a migration', async () => {
      // Releases of this version have no facts by which they are listed.
      const version = 7
      const url = await server.createDatabase()
      const store = async (dataset: string, request: string) => {
        const batch = beginBatch(NO_ROWS, 1_234_567_890_123)
        openBudget(batch, dataset, summed('1'), 'carol')
        const { id } = chargeOf(charge(batch, question(dataset, { dataset, request })))
        recordAnswer(batch, id, 1, dataset)
        const written = writeArguments(changesOf(batch)).map((rows, place) =>
          place === RELEASES ? JSON.stringify([{ charge: id, answer: dataset }]) : rows,
        )
        await useOnce(url, async (client) => void (await client.query(writeBy(version), written)))
      }
      await useOnce(url, (client) => migratePostgres(client, MIGRATIONS.slice(0, version)))
      await store('before', '{"query":{"kind":"mean"}}')
      const ledger = await opened(url)
      await store('after', '{"query":{"kind":"mean"}}')
      await store('batch', '{"batch":[]}')
      await store('session', '{"sparseVector":{}}')
      await store('other', 'no JSON')
      const { releases } = await ledger.releases({ datasets: await ledger.datasets(), limit: 10 })
      const facts = releases.map(({ dataset, principal, kind, answer }) => [dataset, principal, kind, answer])
      expect(facts.toSorted()).toEqual([
        ['after', 'ada', 'mean', 'after'],
        ['batch', 'ada', 'batch', 'batch'],
        ['before', 'ada', 'mean', 'before'],
        ['other', 'ada', '', 'other'],
        ['session', 'ada', 'sparseVector', 'session'],
      ])
      // The time of the debit, rounded down to two minutes.
      expect(new Set(releases.map(({ answeredAtMs }) => answeredAtMs))).toEqual(new Set([1_234_567_800_000]))
    })

    test('is unchanged if a migration fails', async () => {
      const url = await server.createDatabase()
      await opened(url)
      const failing = [...NEXT, 'CREATE TABLE sotto.events ()']
      await expect(useOnce(url, (client) => migratePostgres(client, failing))).rejects.toThrow(
        'already exists',
      )
      expect(await versionOf(url)).toEqual([MIGRATIONS.length])
      const columns = `SELECT FROM information_schema.columns WHERE column_name = 'note'`
      expect(await prompt(url, columns)).toEqual([])
      await opened(url)
    })

    test('of a newer release is refused, at the start and by new connections', async () => {
      const url = await server.createDatabase()
      const ledger = await opened(url)
      await useOnce(url, (client) => migratePostgres(client, NEXT))
      const newer = fault(
        'unusable',
        `schema version ${NEXT.length}; this release supports up to ${MIGRATIONS.length}`,
      )
      await expect(openPostgresLedger({ url })).rejects.toEqual(newer)
      await prompt(
        url,
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()',
      )
      await expect(ledger.openBudget('census', summed('1'), 'carol')).rejects.toEqual(newer)
    })

    test('of another program is refused and not changed', async () => {
      const url = await server.createDatabase()
      await prompt(url, 'CREATE SCHEMA sotto; CREATE TABLE sotto.budgets (spent integer)')
      await expect(openPostgresLedger({ url })).rejects.toEqual(
        fault('unusable', /belongs to another program/),
      )
      expect(await prompt(url, 'SELECT FROM sotto.budgets')).toEqual([])
    })

    test('that an operator has created can be filled by a role without further rights', async () => {
      const url = await server.createDatabase()
      const database = path.basename(new URL(url).pathname)
      await prompt(
        url,
        `CREATE ROLE owner LOGIN; CREATE SCHEMA sotto AUTHORIZATION owner;
        CREATE ROLE service LOGIN; GRANT USAGE ON SCHEMA sotto TO service`,
      )
      const as = (role: string) => server.url(database).replace('postgres@', `${role}@`)
      await (await openPostgresLedger({ url: as('owner') })).close()
      await prompt(url, 'GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA sotto TO service')
      const ledger = await opened(as('service'))
      await ledger.openBudget('census', summed('1'), 'carol')
      chargeOf(await ledger.charge(question('a')))
      await expect(prompt(as('service'), 'ALTER TABLE sotto.events DISABLE TRIGGER ALL')).rejects.toThrow(
        'owner',
      )
    })
  })

  test('the request of a denied charge is stored once it is paid', async () => {
    const url = await server.createDatabase()
    const ledger = await opened(url)
    await ledger.openBudget('census', summed('1'), 'carol')
    const asked = question('a', {
      price: { ...question('a').price, ...loss('1.5') },
      request: '{"kind":"count"}',
    })
    const requests = () => prompt(url, 'SELECT state, request FROM sotto.charges')
    expect((await ledger.charge(asked)).kind).toBe('denied')
    expect(await requests()).toEqual([{ state: 'denied', request: '' }])
    await ledger.grant('census', loss('1'), 'carol', 'asked for')
    const { id } = chargeOf(await ledger.charge(asked))
    await ledger.recordFailure(id, 1)
    expect(await requests()).toEqual([{ state: 'failed', request: '{"kind":"count"}' }])
  })

  test('openLedger opens a ledger by its URL', async () => {
    const url = await server.createDatabase()
    for (const each of [url, url.replace('postgres://', 'postgresql://'), temporaryPath()]) {
      const ledger = await openLedger({ url: each })
      await ledger.openBudget('census', summed('1'), 'carol')
      expect(await ledger.datasets()).toEqual(['census'])
      await ledger.close()
    }
    expect(await prompt(url, 'SELECT dataset FROM sotto.budgets')).toEqual([{ dataset: 'census' }])
    await expect(openLedger({ url: 'ledger.sqlite' })).rejects.toEqual(fault('unusable', /must be absolute/))
  })
})

import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openLedger } from '../../../src/ledger/open.ts'
import { useOnce } from '../../../src/ledger/postgres/connection.ts'
import { openPostgresLedger, type PostgresLedger } from '../../../src/ledger/postgres/ledger.ts'
import { LEDGER_SCHEMA, prepareSchema } from '../../../src/ledger/postgres/schema.ts'
import { temporaryLedger } from '../../folders.ts'
import {
  type PostgresServer,
  postgresBinaries,
  queryPostgres,
  startPostgresServer,
  startStandby,
} from '../../servers/postgres-server.ts'
import { FILLED_TABLES, FILLING, REFUSED } from '../stores/refused-changes.ts'
import { chargeOf, expectConsistentLedger, loss, question, summed } from '../support.ts'

const SECRET = 'a-password-nobody-may-see'

let server: PostgresServer

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
      for (const { operation, args } of FILLING) await Reflect.apply(ledger[operation], ledger, args)
      await ledger.close()
    })

    const newBudget = (dataset: string, accounting = 'basic') =>
      `INSERT INTO budgets VALUES ('${dataset}', '${accounting}', 5, 0, 0, 0, 0, 0, 0, repeat('0', 64), 0, false)`
    const newCharge = (dataset: string) =>
      `INSERT INTO charges SELECT repeat('e', 32), principal, 'e', '${dataset}', '1', 'e', 'e',
        0, 0, 0, 'charged', 1, 0, 0, 0, false, NULL FROM charges LIMIT 1`
    const newRelease = (texts: string) =>
      `INSERT INTO releases SELECT id, ${texts}, dataset, principal, '', 0 FROM charges WHERE state = 'charged'`
    const newEvent = (dataset: string, sequence: string, hash = "encode(sha256('x'), 'hex')") =>
      `INSERT INTO events
        SELECT '${dataset}', ${sequence}, 'eve', 'x', ${hash} FROM budgets WHERE dataset = 'census'`

    test.each<[string, string]>([
      ...REFUSED,
      ['a charge to the administration', newCharge('@administration')],
      ['a truncated budget', 'TRUNCATE budgets CASCADE'],
      ['a second budget', newBudget('census')],
      ['a replaced budget', `${newBudget('in rho')} ON CONFLICT (dataset) DO UPDATE SET cap_rho_pico = 0`],
      ['a budget without a name', newBudget('')],
      ['a new budget of an unknown accounting', newBudget('new', 'renyi')],
      ['an answer with two texts', newRelease("'an answer', '\\x00'")],
      ['an answer without a text', newRelease('NULL, NULL')],
      ['truncated analysts', 'TRUNCATE sotto.analysts'],
      [
        'an analyst of nothing',
        `INSERT INTO analysts VALUES ('none', 'eve', NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0)`,
      ],
      ['a charge of nothing', newCharge('none')],
      ['truncated charges', 'TRUNCATE charges CASCADE'],
      ['truncated events', 'TRUNCATE events'],
      ['an event with another hash', newEvent('census', 'head_sequence + 1', "repeat('0', 64)")],
      ['an event after a gap', newEvent('census', '1000')],
      ['two events with a gap between', newEvent('census', 'head_sequence + unnest(ARRAY[1, 3])')],
      ['an event of nothing', newEvent('none', '1')],
      [
        'a replaced answer',
        `INSERT INTO releases (charge, answer, dataset, principal, kind, answered_at_ms)
        SELECT charge, 'another', dataset, principal, kind, 0 FROM releases ON CONFLICT (charge) DO UPDATE SET answer = 'another'`,
      ],
      ['truncated answers', 'TRUNCATE releases CASCADE'],
      [
        'a session without a paid charge',
        `INSERT INTO sparse_vector_sessions SELECT id, 1, 'terms', 0 FROM charges WHERE state = 'charged'`,
      ],
      ['truncated answers of a session', 'TRUNCATE sparse_vector_answers'],
      ['a second version of the schema', 'INSERT INTO schema_version VALUES (2)'],
    ])('%s', async (_what, sql) => {
      const all = Object.keys(FILLED_TABLES).map(
        (table) => `(SELECT json_agg(t ORDER BY t::text) FROM ${table} t) AS ${table}`,
      )
      const prompt = (statement: string) => queryPostgres(`${url}?options=-csearch_path%3Dsotto`, statement)
      const before = await prompt(`SELECT ${all}`)
      await expect(prompt(sql)).rejects.toMatchObject({ code: expect.stringMatching(/^(22003|23...)$/) })
      expect(await prompt(`SELECT ${all}`)).toEqual(before)
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
        await queryPostgres(url, `ALTER SYSTEM SET ${setting} = ${value}`)
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
      await queryPostgres(
        server.url('postgres'),
        `CREATE DATABASE bytes ENCODING 'SQL_ASCII' TEMPLATE template0`,
      )
      await expect(openPostgresLedger({ url: server.url('bytes') })).rejects.toEqual(
        fault('unusable', /its encoding is SQL_ASCII/),
      )
    })
  })

  describe('no message contains the password', () => {
    test('if the server refuses it', async () => {
      const locked = await startPostgresServer()
      onTestFinished(() => locked.remove())
      await queryPostgres(locked.url('postgres'), `CREATE ROLE analyst LOGIN PASSWORD 'another'`)
      const rules = path.join(locked.folder, 'data', 'pg_hba.conf')
      writeFileSync(rules, `host all analyst 127.0.0.1/32 scram-sha-256\n${readFileSync(rules, 'utf8')}`)
      await queryPostgres(locked.url('postgres'), 'SELECT pg_reload_conf()')
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
    const { version } = LEDGER_SCHEMA
    const NEXT = { ...LEDGER_SCHEMA, version: version + 1, steps: new Map([[version, STEP]]) }
    const versionOf = async (url: string) =>
      (await queryPostgres(url, 'SELECT version FROM sotto.schema_version')).map(({ version }) => version)

    test('is created once when several replicas start together', async () => {
      const url = await server.createDatabase()
      const ledgers = await Promise.all(Array.from({ length: 8 }, () => opened(url)))
      expect(await versionOf(url)).toEqual([version])
      const outcomes = await Promise.all(
        ledgers.map((each) => each.openBudget('census', summed('1'), 'carol')),
      )
      expect(outcomes.map(({ kind }) => kind).sort()).toEqual([
        'exists',
        ...Array(6).fill('exists'),
        'opened',
      ])
    })

    test('is brought to the next version by a step, and keeps its rows', async () => {
      const url = await server.createDatabase()
      const ledger = await opened(url)
      await ledger.openBudget('census', summed('1'), 'carol')
      await ledger.charge(question('a'))
      const before = await ledger.budget('census')
      await Promise.all(
        Array.from({ length: 3 }, () => useOnce(url, (client) => prepareSchema(client, NEXT))),
      )
      expect(await versionOf(url)).toEqual([NEXT.version])
      expect(await queryPostgres(url, 'SELECT dataset, note FROM sotto.budgets')).toEqual([
        { dataset: 'census', note: 'none' },
      ])
      // A replica that had it open continues with its connections.
      expect(await ledger.budget('census')).toEqual(before)
      expect(chargeOf(await ledger.charge(question('b'))).event.sequence).toBe(3)
    })

    test('is unchanged if a step fails', async () => {
      const url = await server.createDatabase()
      await opened(url)
      const steps = new Map([...NEXT.steps, [NEXT.version, 'CREATE TABLE sotto.events ()']])
      const failing = { ...NEXT, version: NEXT.version + 1, steps }
      await expect(useOnce(url, (client) => prepareSchema(client, failing))).rejects.toThrow('already exists')
      expect(await versionOf(url)).toEqual([version])
      const columns = `SELECT FROM information_schema.columns WHERE column_name = 'note'`
      expect(await queryPostgres(url, columns)).toEqual([])
      await opened(url)
    })

    test('of a newer release is refused, at the start and by new connections', async () => {
      const url = await server.createDatabase()
      const ledger = await opened(url)
      await useOnce(url, (client) => prepareSchema(client, NEXT))
      const newer = fault(
        'unusable',
        `schema version ${NEXT.version}; this release of Sotto uses version ${version} only`,
      )
      await expect(openPostgresLedger({ url })).rejects.toEqual(newer)
      await queryPostgres(
        url,
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()',
      )
      await expect(ledger.openBudget('census', summed('1'), 'carol')).rejects.toEqual(newer)
    })

    test('of an earlier version is refused and not changed', async () => {
      const url = await server.createDatabase()
      await opened(url)
      await queryPostgres(url, `UPDATE sotto.schema_version SET version = ${version - 1}`)
      await expect(openPostgresLedger({ url })).rejects.toEqual(
        fault(
          'unusable',
          `schema version ${version - 1}; this release of Sotto uses version ${version} only`,
        ),
      )
      expect(await versionOf(url)).toEqual([version - 1])
    })

    test('of another program is refused and not changed', async () => {
      const url = await server.createDatabase()
      await queryPostgres(url, 'CREATE SCHEMA sotto; CREATE TABLE sotto.budgets (spent integer)')
      await expect(openPostgresLedger({ url })).rejects.toEqual(
        fault('unusable', /belongs to another program/),
      )
      expect(await queryPostgres(url, 'SELECT FROM sotto.budgets')).toEqual([])
    })

    test('that an operator has created can be filled by a role without further rights', async () => {
      const url = await server.createDatabase()
      const database = path.basename(new URL(url).pathname)
      await queryPostgres(
        url,
        `CREATE ROLE owner LOGIN; CREATE SCHEMA sotto AUTHORIZATION owner;
        CREATE ROLE service LOGIN; GRANT USAGE ON SCHEMA sotto TO service`,
      )
      const as = (role: string) => server.url(database).replace('postgres@', `${role}@`)
      await (await openPostgresLedger({ url: as('owner') })).close()
      await queryPostgres(url, 'GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA sotto TO service')
      const ledger = await opened(as('service'))
      await ledger.openBudget('census', summed('1'), 'carol')
      chargeOf(await ledger.charge(question('a')))
      await expect(
        queryPostgres(as('service'), 'ALTER TABLE sotto.events DISABLE TRIGGER ALL'),
      ).rejects.toThrow('owner')
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
    const requests = () => queryPostgres(url, 'SELECT state, request FROM sotto.charges')
    expect((await ledger.charge(asked)).kind).toBe('denied')
    expect(await requests()).toEqual([{ state: 'denied', request: '' }])
    await ledger.grant('census', loss('1'), 'carol', 'asked for')
    const { id } = chargeOf(await ledger.charge(asked))
    await ledger.recordFailure(id, 1)
    expect(await requests()).toEqual([{ state: 'failed', request: '{"kind":"count"}' }])
  })

  test('openLedger opens a ledger by its URL', async () => {
    const url = await server.createDatabase()
    for (const each of [url, url.replace('postgres://', 'postgresql://'), temporaryLedger()]) {
      const ledger = await openLedger({ url: each })
      await ledger.openBudget('census', summed('1'), 'carol')
      expect(await ledger.datasets()).toEqual(['census'])
      await ledger.close()
    }
    expect(await queryPostgres(url, 'SELECT dataset FROM sotto.budgets')).toEqual([{ dataset: 'census' }])
    await expect(openLedger({ url: 'ledger.sqlite' })).rejects.toEqual(fault('unusable', /must be absolute/))
  })
})

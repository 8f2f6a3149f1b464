import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { COPIED_TABLES, copyLedger } from '../../src/ledger/copy.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { openSqliteDatabase } from '../../src/ledger/sqlite/database.ts'
import { startTestService, type TestService } from '../e2e/service.ts'
import { ENVIRONMENT } from '../environment.ts'
import { describePostgres } from '../servers/postgres.ts'
import { summed } from './support.ts'

const COUNT = { kind: 'count', epsilon: 0.25 }
/** Its answer is stored compressed. */
const TABLE = {
  kind: 'contingency',
  columns: ['Occupation', { column: 'Age', edges: Array.from({ length: 100 }, (_, age) => age) }],
  epsilon: 0.5,
}
const SESSION = { threshold: 20_000, positives: 2, epsilon: 0.5 }
const PUPILS = {
  id: 'pupils',
  title: 'Pupils',
  source: { kind: 'file', path: 'pupils.csv', format: 'csv' },
  columns: [{ name: 'year', type: 'integer', lower: 0, upper: 10 }],
  privacyUnit: { kind: 'row' },
  neighbours: 'add-remove',
  budget: { epsilon: 2, delta: 1e-6 },
  accounting: 'zcdp',
  sharing: true,
  synthetic: true,
}

const SOTTO = path.resolve(import.meta.dirname, '../../src/commands/sotto.ts')
/** Delays the commit of a transaction that opens budgets. */
const SLOW_COMMIT = `
  CREATE FUNCTION public.delay() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(600); RETURN NULL; END $$;
  CREATE CONSTRAINT TRIGGER slow_commit AFTER INSERT ON sotto.budgets
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.delay()`

describePostgres('a ledger that is copied from SQLite to PostgreSQL', (databases) => {
  /** A service with a SQLite ledger that has rows in every table. */
  async function startFilled(): Promise<TestService> {
    const service = await startTestService(
      { SOTTO_DEMO: 'true' },
      { files: { 'pupils.csv': 'year\n1\n2\n3\n' } },
    )
    onTestFinished(() => service.close())
    const [analyst, colleague] = [service.as('analyst'), service.asColleague()]
    const census = '/v1/datasets/census'
    await analyst.post(`${census}/queries`).send(COUNT).expect(200)
    await analyst.post(`${census}/queries`).send(TABLE).expect(200)
    await analyst
      .post(`${census}/queries`)
      .send({ ...COUNT, epsilon: 100 })
      .expect(403)
    const { body } = await analyst.post(`${census}/sparse-vector-sessions`).send(SESSION).expect(201)
    for (const age of [0, 100])
      await analyst
        .post(`/v1/sparse-vector-sessions/${body.id}/questions`)
        .send({ where: { column: 'Age', op: '>=', value: age } })
        .expect(200)
    await service.register(PUPILS).expect(201)
    for (const who of [analyst, colleague])
      await who
        .post('/v1/datasets/pupils/queries')
        .send({ ...COUNT, mechanism: 'geometric' })
        .expect(200)
    return service
  }

  const fileOf = (service: TestService) => path.join(service.dataDirectory, 'ledger.sqlite')

  async function look<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
    const client = new Client({ connectionString: url, application_name: 'test' })
    client.on('error', () => undefined)
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.end().catch(() => undefined)
    }
  }

  test('has the same rows in every table', async () => {
    const service = await startFilled()
    await service.stop()
    const url = await databases.createDatabase()
    const { earlier, heads } = await copyLedger({ path: fileOf(service), url })
    expect(earlier).toBe(false)
    expect(heads.map(({ dataset }) => dataset)).toEqual(['@administration', 'census', 'pupils'])

    const source = new DatabaseSync(fileOf(service), { readBigInts: true })
    const tables = source.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all()
    expect(COPIED_TABLES.map(([table]) => table).sort()).toEqual(tables.map(({ name }) => name))
    for (const [table, select] of COPIED_TABLES) {
      const rows = source.prepare(select).all().map(comparable).sort()
      const copied = await look(url, (client) => client.query(`SELECT * FROM sotto.${table}`))
      expect(rows.length, table).toBeGreaterThan(0)
      expect(copied.rows.map(comparable).sort(), table).toEqual(rows)
    }
    source.close()
  })

  test('continues on the copy: answers are replayed, sessions go on, balances stay, and the file is closed for services', async () => {
    const service = await startFilled()
    const before = (await service.as('analyst').get('/v1/datasets/census/budget').expect(200)).body
    const exported = await service.as('auditor').get('/v1/datasets/census/ledger/export').expect(200)
    await service.stop()
    const url = await databases.createDatabase()
    await copyLedger({ path: fileOf(service), url })
    await expect(openLedger({ url: fileOf(service) })).rejects.toThrow('was copied to PostgreSQL')
    await expect(service.restart()).rejects.toThrow('was copied to PostgreSQL')
    await service.restart({ SOTTO_LEDGER_URL: url })

    const analyst = service.as('analyst')
    for (const question of [COUNT, TABLE]) {
      const { body } = await analyst.post('/v1/datasets/census/queries').send(question).expect(200)
      expect(body.cost).toEqual({ epsilon: 0, delta: 0 })
    }
    expect((await analyst.get('/v1/datasets/census/budget').expect(200)).body).toEqual(before)
    const again = await service.as('auditor').get('/v1/datasets/census/ledger/export').expect(200)
    expect(again.text).toBe(exported.text)
    for (const dataset of ['census', 'pupils']) {
      const { body } = await service
        .as('auditor')
        .get(`/v1/datasets/${dataset}/ledger/verification`)
        .expect(200)
      expect(body).toMatchObject({ sound: true })
    }
    const { body } = await service.as('auditor').get('/v1/releases?kind=sparseVector').expect(200)
    const [session] = body.releases
    const asked = await analyst
      .post(`/v1/sparse-vector-sessions/${session.id}/questions`)
      .send({ where: { column: 'Age', op: '>=', value: 50 } })
      .expect(200)
    expect(asked.body.question).toBe(3)
  })

  test('is refused while a service uses either ledger, and where the database holds another ledger', async () => {
    const service = await startFilled()
    const url = await databases.createDatabase()
    await expect(copyLedger({ path: fileOf(service), url })).rejects.toMatchObject({ kind: 'in-use' })
    await service.stop()
    const other = await openLedger({ url })
    await other.datasets()
    await expect(copyLedger({ path: fileOf(service), url })).rejects.toMatchObject({ kind: 'in-use' })
    await other.openBudget('other', summed('1'), 'carol')
    await other.close()
    await expect(copyLedger({ path: fileOf(service), url })).rejects.toThrow('already holds a ledger')
    // Nothing was marked.
    openSqliteDatabase(fileOf(service)).close()
  })

  /** Starts the command, as an operator does. */
  function startCommand(service: TestService, url: string) {
    const file = path.join(service.dataDirectory, 'ledger-url')
    writeFileSync(file, `${url}\n`)
    const child = spawn(process.execPath, [SOTTO, 'ledger', 'copy', file], {
      env: { ...ENVIRONMENT, SOTTO_DATA_DIR: service.dataDirectory },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (output += part))
    const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, output }))
    return { child, ended }
  }

  /** Waits until the command waits for the server in a statement. */
  const waits = (url: string, statement: string) =>
    expect
      .poll(() =>
        look(url, async (client) => {
          const { rows } = await client.query(
            `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'sotto'
                 AND state = 'active' AND query LIKE $1 AND (wait_event_type = 'Lock' OR wait_event = 'PgSleep')`,
            [`${statement}%`],
          )
          return rows.length
        }),
      )
      .toBe(1)

  const endSessions = (url: string) =>
    look(url, (client) =>
      client.query(
        `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'sotto'`,
      ),
    )

  test('a command that is killed before the commit leaves the file in use, and can be repeated', async () => {
    const service = await startFilled()
    await service.stop()
    const url = await databases.createDatabase()
    await (await openLedger({ url })).close()
    await look(url, async (client) => {
      await client.query('BEGIN; LOCK TABLE sotto.releases IN ACCESS EXCLUSIVE MODE')
      const { child, ended } = startCommand(service, url)
      await waits(url, 'INSERT INTO sotto.releases')
      child.kill('SIGKILL')
      await ended
    })
    await endSessions(url)
    openSqliteDatabase(fileOf(service)).close()
    const { code, output } = await startCommand(service, url).ended
    expect(output).toContain('The ledger was copied and verified.')
    expect(code).toBe(0)
  })

  test.each(['the command is killed', 'the connection is lost'])(
    'if %s during the commit, neither ledger is used until the command is repeated',
    async (interruption) => {
      const service = await startFilled()
      await service.stop()
      const url = await databases.createDatabase()
      await (await openLedger({ url })).close()
      await look(url, (client) => client.query(SLOW_COMMIT))
      const { child, ended } = startCommand(service, url)
      await waits(url, 'COMMIT')
      if (interruption === 'the command is killed') child.kill('SIGKILL')
      await endSessions(url)
      expect((await ended).code).not.toBe(0)
      expect(() => openSqliteDatabase(fileOf(service))).toThrow('repeat "npx sotto ledger copy"')

      await look(url, (client) => client.query('DROP TRIGGER slow_commit ON sotto.budgets'))
      const repeated = await startCommand(service, url).ended
      expect(repeated.output).toContain('The ledger was copied and verified.')
      // An operator who is unsure may repeat it once more.
      const again = await startCommand(service, url).ended
      expect(again).toMatchObject({
        code: 0,
        output: expect.stringContaining('The ledger had been copied before.'),
      })
    },
  )

  test('a ledger that is not sound is not copied', async () => {
    const service = await startFilled()
    await service.stop()
    const source = new DatabaseSync(fileOf(service))
    source.exec(
      "DROP TRIGGER charges_keep_their_debit; UPDATE charges SET principal = 'eve' WHERE number = 1",
    )
    source.close()
    const url = await databases.createDatabase()
    await expect(copyLedger({ path: fileOf(service), url })).rejects.toThrow(
      'the ledger of census is not sound',
    )
    const budgets = await look(url, (client) => client.query('SELECT FROM sotto.budgets'))
    expect(budgets.rowCount).toBe(0)
    openSqliteDatabase(fileOf(service)).close()
  })
})

/** A row of either store with the same texts. */
function comparable(row: Readonly<Record<string, unknown>>): string {
  const texts = Object.entries(row).map(([name, value]) => [name, value === null ? null : textOf(value)])
  return JSON.stringify(texts.sort())
}

function textOf(value: unknown): string {
  if (Buffer.isBuffer(value)) return `\\x${value.toString('hex').toUpperCase()}`
  return String(typeof value === 'boolean' ? Number(value) : value)
}

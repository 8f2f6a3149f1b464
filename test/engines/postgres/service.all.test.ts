import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTestService, type TestService } from '../../e2e/service.ts'
import { describeOwnPostgres } from '../../servers/postgres.ts'
import { type StallingProxy, startStallingProxy } from '../../servers/stalling-proxy.ts'

const PATIENTS = 100
const VISITS = {
  title: 'Visits to a clinic',
  source: { kind: 'table', connection: 'warehouse', table: 'visits' },
  columns: [
    { name: 'patient', type: 'identifier' },
    { name: 'age', type: 'integer', lower: 0, upper: 110 },
  ],
  privacyUnit: { kind: 'person', column: 'patient', maxRows: 2 },
  neighbours: 'add-remove',
  timing: 'off',
  budget: { epsilon: 10_000, delta: 0 },
  failureLimit: 100,
  separateBudget: 'A test.',
}

/** Noise of scale 1/40 moves a count of people by 2 or more with a probability below 1e-34. */
const EPSILON = 40

describeOwnPostgres('the service over a table of PostgreSQL', {}, (own) => {
  let url: string
  let admin: Client
  let stalling: StallingProxy
  let service: TestService

  const connect = async () => {
    admin = new Client(url)
    admin.on('error', () => {})
    await admin.connect()
  }
  beforeAll(async () => {
    url = await own.server.createDatabase()
    await connect()
    // The rows of the view take as long as the table `pace` says.
    await admin.query(`CREATE ROLE reader LOGIN PASSWORD 'right'; CREATE TABLE pace AS SELECT 0 AS seconds;
      CREATE VIEW visits AS SELECT 'p' || i / 5 AS patient, 20 + i / 10 AS age
        FROM generate_series(0, ${5 * PATIENTS - 1}) AS rows(i), pg_sleep((SELECT seconds FROM pace));
      GRANT SELECT ON visits TO reader`)
    const access = path.join(own.server.folder, 'data', 'pg_hba.conf')
    await writeFile(access, `host all reader all scram-sha-256\n${await readFile(access, 'utf8')}`)
    await admin.query('SELECT pg_reload_conf()')
    stalling = await startStallingProxy(own.server.port)
    const connection = (statementTimeoutMs: number) => ({
      ...{ engine: 'postgres', host: '127.0.0.1', port: stalling.port, user: 'reader' },
      ...{ database: new URL(url).pathname.slice(1), passwordFile: 'reader.password' },
      limits: { statementTimeoutMs },
    })
    // Long enough for every fault to begin while the query is under way, and as long as the stalled network takes.
    const connections = { warehouse: connection(15_000), hasty: connection(3_000) }
    service = await startTestService(
      { SOTTO_CONNECTIONS: 'connections.json' },
      { files: { 'connections.json': JSON.stringify(connections), 'reader.password': 'right' } },
    )
  })
  afterAll(async () => {
    await service?.close()
    await stalling?.close()
    await admin?.end().catch(() => undefined)
  })

  const register = (id: string, changes: object = {}, signal?: AbortSignal) =>
    fetch(`${service.url}/v1/datasets`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.keyOf('custodian')}`, 'content-type': 'application/json' },
      body: JSON.stringify({ id, ...VISITS, ...changes }),
      ...(signal === undefined ? {} : { signal }),
    })
  const ask = (id: string, epsilon: number) => service.ask(id, { kind: 'count', of: 'people', epsilon })
  const spent = async (id: string): Promise<number> =>
    (await service.as('analyst').get(`/v1/datasets/${id}/budget`).expect(200)).body.spent.epsilon
  const setPace = (seconds: number) => admin.query('UPDATE pace SET seconds = $1', [seconds])
  /** Waits until the server runs as many statements that read the view, and returns the processes. */
  const reading = async (statements: number): Promise<readonly number[]> => {
    for (;;) {
      const { rows } = await admin.query<{ pid: number }>(
        "SELECT pid FROM pg_stat_activity WHERE usename = 'reader' AND state = 'active' AND wait_event = 'PgSleep'",
      )
      if (rows.length === statements) return rows.map(({ pid }) => pid)
      await sleep(10)
    }
  }

  it('answers each fault with one problem; the charge stands and the repeat is answered under it', async () => {
    expect((await register('faults')).status).toBe(201)
    const source = { ...VISITS.source, connection: 'hasty' }
    expect((await register('hasty', { source })).status).toBe(201)
    /** Each fault: how it begins, what happens while the query is under way, and how it ends. */
    const faults: readonly {
      readonly dataset?: string
      readonly before?: () => Promise<unknown>
      readonly during?: () => Promise<unknown>
      readonly after?: () => Promise<unknown>
      readonly status: 500 | 503
      readonly counted: boolean
    }[] = [
      {
        before: () => own.server.stop('fast'),
        after: () => own.server.start().then(connect),
        status: 503,
        counted: false,
      },
      {
        during: () => own.server.restart('fast'),
        after: connect,
        status: 503,
        counted: false,
      },
      {
        during: () => own.server.kill(),
        after: () => own.server.start().then(connect),
        status: 503,
        counted: true,
      },
      {
        during: async () => admin.query('SELECT pg_terminate_backend($1)', [(await reading(1))[0]]),
        status: 503,
        counted: true,
      },
      {
        during: async () => admin.query('SELECT pg_cancel_backend($1)', [(await reading(1))[0]]),
        status: 500,
        counted: true,
      },
      // The time limit ends it.
      { dataset: 'hasty', before: () => setPace(60), status: 500, counted: true },
      {
        during: async () => stalling.stall(),
        after: async () => stalling.resume(),
        status: 500,
        counted: true,
      },
      {
        before: async () => {
          await admin.query("ALTER ROLE reader PASSWORD 'other'")
          await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'")
        },
        after: () => writeFile(path.join(service.dataDirectory, 'reader.password'), 'other', { mode: 0o600 }),
        status: 503,
        counted: false,
      },
      {
        before: async () => {
          await admin.query('ALTER ROLE reader CONNECTION LIMIT 0')
          await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'")
        },
        after: () => admin.query('ALTER ROLE reader CONNECTION LIMIT -1'),
        status: 503,
        counted: false,
      },
    ]
    const problems = { 500: new Set<string>(), 503: new Set<string>() }
    const failures: Record<string, number> = {}
    for (const [i, { dataset = 'faults', before, during, after, status, counted }] of faults.entries()) {
      const epsilon = EPSILON + i
      const spentBefore = await spent(dataset)
      await before?.()
      if (during !== undefined) await setPace(60)
      const pending = ask(dataset, epsilon).expect(status).then()
      if (during !== undefined) await reading(1).then(during)
      const { requestId: _, chargeId, ...problem } = (await pending).body
      // A check that happened to come first has the question refused, and nothing is charged.
      if (chargeId !== undefined) problems[status].add(JSON.stringify(problem))
      expect(await spent(dataset)).toBe(spentBefore + (chargeId === undefined ? 0 : epsilon))
      await after?.()
      await setPace(0)
      failures[dataset] = (failures[dataset] ?? 0) + (counted ? 1 : 0)
      const state = await service.as('custodian').get(`/v1/datasets/${dataset}/suspension`).expect(200)
      expect(state.body, `fault ${i}`).toMatchObject({ suspended: false, failures: failures[dataset] })
      await expect.poll(async () => (await ask(dataset, epsilon)).status).toBe(200)
      const { body } = await ask(dataset, epsilon).expect(200)
      if (chargeId !== undefined) expect(body.id).toBe(chargeId)
      expect(Math.abs(body.result.value - PATIENTS)).toBeLessThan(2)
      expect(await spent(dataset)).toBe(spentBefore + epsilon)
    }
    expect(Object.values(problems).map(({ size }) => size)).toEqual([1, 1])
    expect([...problems[500], ...problems[503]].join()).not.toMatch(/warehouse|reader|patient|postgres/i)
    expect(service.logLines.join()).not.toMatch(/SELECT|patient_|password/)
  })

  it('cancels the statements of a dataset that is withdrawn', async () => {
    expect((await register('withdrawn')).status).toBe(201)
    await setPace(60)
    const failed = ask('withdrawn', EPSILON).expect(503).then()
    await reading(1)
    await service.as('custodian').delete('/v1/datasets/withdrawn').expect(204)
    await reading(0)
    expect((await failed).body).toMatchObject({ code: 'unavailable', chargeId: expect.any(String) })
    await setPace(0)
  })

  it.each(['live', 'snapshot'])(
    'lists the registration of a %s table, and cancels its statement when the client leaves',
    async (mode) => {
      await setPace(60)
      const client = new AbortController()
      const source = { ...VISITS.source, mode }
      const left = expect(register('left', { source }, client.signal)).rejects.toThrow()
      await reading(1)
      const { body } = await service.as('custodian').get('/v1/ingestions').expect(200)
      expect(body.ingestions).toMatchObject([{ dataset: 'left', kind: 'registration' }])
      client.abort()
      await left
      await reading(0)
      await setPace(0)
      await service.as('custodian').get('/v1/datasets/left').expect(404)
      await service.as('custodian').get('/v1/datasets/left/budget').expect(404)
    },
  )
})

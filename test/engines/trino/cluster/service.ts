import { writeFile } from 'node:fs/promises'
import { createServer, request as requestHttp, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type TestService } from '../../../e2e/service.ts'
import { type StallingProxy, startStallingProxy } from '../../../servers/stalling-proxy.ts'
import type { Trino } from '../../../servers/trino.ts'

/** An HTTP proxy that can answer every request with 401. */
interface RefusingProxy {
  readonly port: number
  refuses: boolean
  close(): void
}

async function startRefusingProxy(target: string): Promise<RefusingProxy> {
  const server: Server = createServer((incoming, outgoing) => {
    if (proxy.refuses) return void outgoing.writeHead(401).end()
    // The header `host` names the proxy, which thereby is in the addresses of all pages.
    const { method, url = '', headers } = incoming
    const sent = requestHttp(new URL(url, target), { method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 0, response.headers)
      response.pipe(outgoing)
    })
    sent.on('error', () => outgoing.destroy())
    incoming.pipe(sent)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const proxy = {
    port: (server.address() as AddressInfo).port,
    refuses: false,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
  return proxy
}

const VISITS = {
  id: 'visits',
  title: 'Visits to a clinic',
  source: { kind: 'table', connection: 'lake', table: 'clinic.visits' },
  columns: [
    { name: 'Patient', type: 'identifier' },
    { name: 'AGE', type: 'integer', lower: 0, upper: 110, constantPerPerson: true },
    { name: 'ward', type: 'category', categories: ['A', 'B'], nullable: true },
  ],
  privacyUnit: { kind: 'person', column: 'Patient', maxRows: 2 },
  neighbours: 'add-remove',
  timing: 'off',
  budget: { epsilon: 10_000, delta: 0 },
}

/** Noise of scale 1/40 moves a count of people by 2 or more with a probability below 1e-34. */
const PEOPLE = { kind: 'count', of: 'people', epsilon: 40 }

/** Tests a whole service over tables of the cluster. */
export function testService(trino: Trino): void {
  let refusing: RefusingProxy
  let stalling: StallingProxy
  let service: TestService
  const connections = (limits: object) => {
    const lake = {
      ...{ engine: 'trino', host: '127.0.0.1', port: stalling.port },
      ...{ user: 'sotto', catalog: 'iceberg', schema: 'clinic', limits },
    }
    return JSON.stringify({ lake, shore: lake })
  }
  beforeAll(async () => {
    await trino.query('CREATE SCHEMA iceberg.clinic')
    await trino.query(
      `CREATE TABLE iceberg.clinic.visits AS SELECT 'p' || CAST(i / 5 AS VARCHAR) AS patient,
         CAST(20 + i / 5 AS INTEGER) AS age, element_at(ARRAY['A', 'B', 'Z', NULL], i % 4 + 1) AS ward
       FROM UNNEST(sequence(0, 499)) AS rows(i)`,
    )
    refusing = await startRefusingProxy(trino.url)
    stalling = await startStallingProxy(refusing.port)
    service = await startTestService(
      { SOTTO_CONNECTIONS: 'connections.json' },
      { files: { 'connections.json': connections({}) } },
    )
  })
  afterAll(async () => {
    await service?.close()
    await stalling?.close()
    refusing?.close()
  })

  const register = (changes: object = {}) => service.register({ ...VISITS, ...changes })
  const people = async (id: string, epsilon: number) =>
    Math.round((await service.ask(id, { ...PEOPLE, epsilon }).expect(200)).body.result.value)
  const suspension = async (id: string) =>
    (await service.as('custodian').get(`/v1/datasets/${id}/suspension`).expect(200)).body
  const near = (value: number, expected: number) => expect(Math.abs(value - expected)).toBeLessThan(2)

  test('a live table is registered with its counts, and queries see rows that come later', async () => {
    const { body } = await register().expect(201)
    expect(body.source).toEqual({
      kind: 'table',
      connection: 'lake',
      table: 'clinic.visits',
      mode: 'live',
    })
    expect(body.ingestion).toEqual({
      rowsRead: 500,
      rowsWithoutIdentifier: 0,
      rowsBeyondMaxRows: 300,
      rowsStored: 200,
      people: 100,
      invalidValues: [
        { column: 'Patient', values: 0, misfits: [] },
        { column: 'AGE', values: 0, misfits: [] },
        { column: 'ward', values: 125, misfits: [{ rule: 'not-a-category', values: 125 }] },
      ],
      clampedValues: [{ column: 'AGE', values: 45 }],
    })
    near(await people('visits', 40), 100)
    const young = { column: 'AGE', op: '<', value: 30 }
    near((await service.ask('visits', { ...PEOPLE, where: young }).expect(200)).body.result.value, 10)
    await trino.query("INSERT INTO iceberg.clinic.visits VALUES ('q', 30, 'A'), ('r', 40, NULL)")
    near(await people('visits', 41), 102)
  })

  test('a snapshot keeps its rows until a new version', async () => {
    const { body } = await register({
      id: 'copied',
      source: { ...VISITS.source, mode: 'snapshot' },
      separateBudget: 'Approved by the board.',
    }).expect(201)
    expect(body.ingestion).toMatchObject({ rowsRead: 502, people: 102 })
    await trino.query("INSERT INTO iceberg.clinic.visits VALUES ('s', 50, 'B')")
    near(await people('copied', 40), 102)
    const { body: version } = await service
      .as('custodian')
      .post('/v1/datasets/copied/versions')
      .send({})
      .expect(201)
    expect(version.ingestion).toMatchObject({ rowsRead: 503, people: 103 })
    near(await people('copied', 41), 103)
    await service.as('custodian').delete('/v1/datasets/copied').expect(204)
  })

  test('a view over a registered table, and the table through another connection, need a reason', async () => {
    await trino.query('CREATE VIEW iceberg.clinic.everybody AS SELECT * FROM iceberg.clinic.visits')
    await trino.query(
      'CREATE VIEW iceberg.clinic.adults AS SELECT * FROM iceberg.clinic.everybody WHERE age > 17',
    )
    await trino.query('CREATE TABLE iceberg.clinic.others AS SELECT * FROM iceberg.clinic.visits')
    const shown = (connection: string, table: string) => ({
      ...{ id: `${connection}-${table}`, source: { kind: 'table', connection, table } },
    })
    for (const [connection, table] of [
      ['lake', 'adults'],
      ['shore', 'visits'],
      ['shore', 'adults'],
    ] as const) {
      const { body } = await register(shown(connection, table)).expect(409)
      expect(body).toMatchObject({ code: 'source-registered', errors: [{ field: 'separateBudget' }] })
    }
    await register(shown('shore', 'others')).expect(201)
    await register({ ...shown('lake', 'adults'), separateBudget: 'A test.' }).expect(201)
  })

  test('a login that is refused later, and a network that stalls, are one problem; the charge stands', async () => {
    const problems: unknown[] = []
    const failAndRepeat = async (epsilon: number, fail: () => Promise<void>, mend: () => Promise<void>) => {
      await fail()
      const failed = await service.ask('visits', { ...PEOPLE, epsilon }).expect(503)
      const { requestId: _, chargeId, ...problem } = failed.body
      // A check that happened to come first has the question refused, and nothing is charged.
      if (chargeId !== undefined) problems.push(problem)
      await mend()
      const again = () => service.ask('visits', { ...PEOPLE, epsilon })
      await expect.poll(async () => (await again()).status).toBe(200)
      const { body } = await again().expect(200)
      if (chargeId !== undefined) expect(body.id).toBe(chargeId)
      near(body.result.value, 103)
    }
    await failAndRepeat(
      50,
      async () => {
        refusing.refuses = true
      },
      async () => {
        refusing.refuses = false
      },
    )
    const restart = async (limits: object) => {
      await writeFile(path.join(service.dataDirectory, 'connections.json'), connections(limits))
      await service.restart()
    }
    await failAndRepeat(
      51,
      async () => {
        await restart({ statementTimeoutMs: 2_000 })
        stalling.stall()
      },
      async () => {
        stalling.resume()
        await restart({})
      },
    )
    expect(new Set(problems.map((problem) => JSON.stringify(problem))).size).toBeLessThanOrEqual(1)
    expect(JSON.stringify(problems)).not.toMatch(/lake|clinic|patient|trino/i)
    // Neither ran a statement.
    expect(await suspension('visits')).toMatchObject({ suspended: false, failures: 0 })
  })

  test('joined tables are checked for repeated keys by each query, whose failure counts', async () => {
    await trino.query(`CREATE TABLE iceberg.clinic.stays AS SELECT 'p' || CAST(i / 5 AS VARCHAR) AS patient, i % 3 AS ward
      FROM UNNEST(sequence(0, 499)) AS rows(i)`)
    await trino.query(`CREATE TABLE iceberg.clinic.patients AS SELECT 'p' || CAST(i / 2 AS VARCHAR) AS id, 1900 + i AS born
      FROM UNNEST(sequence(0, 99)) AS rows(i)`)
    await trino.query(
      'CREATE TABLE iceberg.clinic.wards AS SELECT i AS code, 10 * i AS beds FROM UNNEST(sequence(0, 1)) AS rows(i)',
    )
    const of = (name: string, mode: string) => ({ ...VISITS.source, table: `clinic.${name}`, mode })
    const stays = (id: string, mode: 'live' | 'snapshot') => ({
      ...{ id, title: 'Stays in wards', synthetic: true, leftOut: { epsilon: 0 } },
      source: {
        kind: 'joined',
        tables: { stays: of('stays', mode), patients: of('patients', mode), wards: of('wards', mode) },
        joins: [
          { from: 'stays.patient', to: 'patients.id' },
          { from: 'stays.ward', to: 'wards.code', public: true, dangling: 'drop' },
        ],
      },
      columns: [
        { name: 'patients.id', type: 'identifier' },
        { name: 'patients.born', type: 'integer', lower: 1900, upper: 2000 },
        { name: 'wards.beds', type: 'integer', lower: 0, upper: 100 },
      ],
      privacyUnit: { kind: 'person', column: 'patients.id', maxRows: 3 },
    })
    // Every patient has five stays, of which the third ward is unknown, and half of the patients are listed, each twice.
    const found = {
      rowsRead: 500,
      rowsStored: 150,
      people: 50,
      joins: [{ dangling: 250 }, { dangling: 166 }],
    }
    for (const mode of ['live', 'snapshot'] as const) {
      const { body } = await register(stays(`stays-${mode}`, mode)).expect(201)
      expect(body.ingestion).toMatchObject(found)
      near(await people(`stays-${mode}`, 40), 50)
      const asked = await service.ask(`stays-${mode}`, { kind: 'count', epsilon: 100 }).expect(200)
      near(asked.body.result.value, 150)
    }
    await trino.query('INSERT INTO iceberg.clinic.wards VALUES (1, 50)')
    const failed = await service.ask('stays-live', { ...PEOPLE, epsilon: 50 }).expect(500)
    expect(JSON.stringify(failed.body)).not.toMatch(/ward|division|zero/i)
    expect(await suspension('stays-live')).toMatchObject({ suspended: false, failures: 1 })
    expect((await register(stays('stays-again', 'snapshot')).expect(422)).body.errors).toEqual([
      {
        field: 'source.joins.1.to',
        rule: expect.stringContaining('several rows of wards have the same code'),
      },
    ])
  })

  test('a change of its columns suspends the dataset', async () => {
    await trino.query('ALTER TABLE iceberg.clinic.visits ALTER COLUMN age SET DATA TYPE bigint')
    const failed = await service.ask('visits', { ...PEOPLE, epsilon: 60 }).expect(500)
    expect(JSON.stringify(failed.body)).not.toMatch(/\bage\b|column|TableChanged/i)
    expect(await suspension('visits')).toMatchObject({ suspended: true, reason: 'table-changed' })
    expect((await service.ask('visits', { ...PEOPLE, epsilon: 61 }).expect(409)).body.code).toBe(
      'dataset-suspended',
    )
  })

  test('a table that is withdrawn is unknown', async () => {
    await service.as('custodian').delete('/v1/datasets/visits').expect(204)
    await service.ask('visits', PEOPLE).expect(404)
  })
}

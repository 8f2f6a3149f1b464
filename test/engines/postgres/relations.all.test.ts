import { Client } from 'pg'
import supertest from 'supertest'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createKey } from '../../api-key.ts'
import { startTestService, type TestService } from '../../e2e/service.ts'
import { describePostgres } from '../../servers/postgres.ts'

describePostgres('relations of PostgreSQL that show the same people', ({ createDatabase }) => {
  const admins: Client[] = []
  let service: TestService
  let limited: ReturnType<TestService['as']>
  beforeAll(async () => {
    const urls = [await createDatabase(), await createDatabase()].map((url) => new URL(url))
    for (const url of urls) admins.push(new Client(url.href))
    for (const admin of admins) {
      await admin.connect()
      await admin.query(`CREATE TABLE people (id text, age integer);
        CREATE TABLE copied AS SELECT * FROM people;
        CREATE VIEW named AS SELECT id, age FROM people; CREATE VIEW adults AS SELECT * FROM named WHERE age > 17;
        CREATE MATERIALIZED VIEW stored AS SELECT * FROM people;
        CREATE TABLE visits (id text, age integer, year integer) PARTITION BY LIST (year);
        CREATE TABLE visits_2024 PARTITION OF visits FOR VALUES IN (2024);
        CREATE TABLE visits_2025 PARTITION OF visits FOR VALUES IN (2025);
        CREATE VIEW recent AS SELECT * FROM visits_2025;
        CREATE TABLE staff (id text, age integer); CREATE TABLE donors (id text, age integer);
        CREATE TABLE both_kinds () INHERITS (staff, donors);
        CREATE VIEW changing AS SELECT 'x' AS id, 1 AS age`)
    }
    // A role that may only read, as the documentation creates it.
    await admins[0]?.query('CREATE ROLE shows_relations LOGIN')
    for (const admin of admins)
      await admin.query('GRANT SELECT ON ALL TABLES IN SCHEMA public TO shows_relations')
    const to = (url: URL | undefined, host: string) => ({
      ...{ engine: 'postgres', host, port: Number(url?.port), user: 'shows_relations' },
      ...{ database: url?.pathname.slice(1) },
    })
    const [here, elsewhere] = urls
    const connections = {
      warehouse: to(here, '127.0.0.1'),
      mirror: to(here, 'localhost'),
      other: to(elsewhere, '127.0.0.1'),
    }
    service = await startTestService(
      { SOTTO_CONNECTIONS: 'connections.json' },
      { files: { 'connections.json': JSON.stringify(connections) } },
    )
    const key = { name: 'limited', role: 'custodian', datasets: ['theirs'] } as const
    const authorization = `Bearer ${await createKey(service.dataDirectory, key)}`
    limited = supertest.agent(service.url).set({ authorization })
  })
  afterAll(async () => {
    await service?.close()
    await admins[0]?.query('DROP OWNED BY shows_relations')
    await admins[1]?.query('DROP OWNED BY shows_relations; DROP ROLE shows_relations')
    for (const admin of admins) await admin.end()
  })

  const shown = (table: string, changes: object = {}, connection = 'warehouse') => ({
    ...{
      id: `${connection}-${table.replaceAll('_', '-')}`,
      title: 'People',
      neighbours: 'add-remove',
      budget: { epsilon: 1 },
    },
    source: { kind: 'table', connection, table, mode: 'live' },
    columns: [
      { name: 'id', type: 'identifier' },
      { name: 'age', type: 'integer', lower: 0, upper: 110, nullable: true },
    ],
    privacyUnit: { kind: 'person', column: 'id', maxRows: 2 },
    ...changes,
  })
  const register = (body: object, path = '/v1/datasets') => service.as('custodian').post(path).send(body)
  const expectRefused = async (body: object) => {
    for (const path of ['/v1/datasets?dryRun=true', '/v1/datasets']) {
      const { body: refused } = await register(body, path).expect(409)
      expect(refused).toMatchObject({ code: 'source-registered', errors: [{ field: 'separateBudget' }] })
    }
  }

  it('need one population or a reason for a budget of their own', async () => {
    const population = { id: 'everybody', privacyUnit: 'person', budget: { epsilon: 5 } }
    await service.as('custodian').post('/v1/populations').send(population).expect(201)
    await register(shown('people', { population: 'everybody' })).expect(201)
    for (const name of ['named', 'adults', 'stored']) await expectRefused(shown(name))
    await expectRefused(shown('people', {}, 'mirror'))
    await expectRefused(shown('adults', { source: { ...shown('adults').source, mode: 'snapshot' } }))
    const joined = {
      source: {
        kind: 'joined',
        tables: { visits: shown('visits').source, people: shown('named').source },
        joins: [{ from: 'visits.id', to: 'people.id' }],
      },
      columns: [{ name: 'people.id', type: 'identifier' }],
      privacyUnit: { kind: 'person', column: 'people.id', maxRows: 2 },
    }
    await expectRefused(shown('joined', joined))

    await register(shown('adults', { population: 'everybody' })).expect(201)
    await register(shown('named', { separateBudget: 'The board approved it.' })).expect(201)
    const { body } = await service.as('auditor').get('/v1/datasets/warehouse-named/ledger').expect(200)
    expect(body.entries).toMatchObject([
      { kind: 'source-reused', reason: 'The board approved it.' },
      { kind: 'opened' },
    ])

    await register(shown('copied')).expect(201)
    await register(shown('people', {}, 'other')).expect(201)
  })

  it('are found where a table is part of another one', async () => {
    await register(shown('recent')).expect(201)
    for (const name of ['visits', 'visits_2024', 'visits_2025']) await expectRefused(shown(name))
    await register(shown('both_kinds')).expect(201)
    await expectRefused(shown('staff'))
    await register(shown('staff', { separateBudget: 'A test.' }, 'other')).expect(201)
    await expectRefused(shown('donors', {}, 'other'))
  })

  it('are told to a custodian for other datasets without their ids', async () => {
    const { body } = await limited
      .post('/v1/datasets')
      .send(shown('stored', { id: 'theirs' }))
      .expect(409)
    expect(body.errors[0].field).toBe('separateBudget')
    expect(JSON.stringify(body)).not.toMatch(/warehouse|everybody/)
  })

  it('are found again when a version is published', async () => {
    await register(shown('changing')).expect(201)
    await admins[0]?.query('CREATE OR REPLACE VIEW changing AS SELECT id, age FROM people')
    const columns = [{ name: 'id', type: 'identifier' }, shown('changing').columns[1]]
    const publish = (body: object) =>
      service.as('custodian').post('/v1/datasets/warehouse-changing/versions').send(body)
    const wider = [columns[0], { ...columns[1], upper: 120 }]
    for (const body of [{}, { columns: wider }])
      expect((await publish(body).expect(409)).body.code).toBe('source-registered')
    await publish({ separateBudget: 'A test.' }).expect(201)
    expect((await publish({}).expect(409)).body.code).toBe('nothing-to-publish')
  })
})

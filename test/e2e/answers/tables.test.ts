import { readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createFakeDatabase, type FakeDatabase, type Fault } from '../../engines/tables/fake-database.ts'
import { startTestService, type TestService } from '../service.ts'

const HOST = 'db.secret.example'
const CONNECTIONS = `
warehouse:
  engine: postgres
  host: ${HOST}
  user: secret-user
  password: secret-password
  database: clinic
  schema: main
`
const VISITS = {
  id: 'visits',
  title: 'Visits to a clinic',
  source: { kind: 'table', connection: 'warehouse', table: 'visits' },
  columns: [
    { name: 'patient', type: 'identifier' },
    { name: 'Age', type: 'integer', lower: 0, upper: 110, constantPerPerson: true },
    { name: 'ward', type: 'category', categories: ['A', 'B'], nullable: true },
  ],
  privacyUnit: { kind: 'person', column: 'patient', maxRows: 2 },
  neighbours: 'add-remove',
  timing: 'off',
  budget: { epsilon: 100, delta: 0 },
}
const COUNT = { kind: 'count', epsilon: 10 }

let service: TestService
let database: FakeDatabase

beforeAll(async () => {
  database = await createFakeDatabase()
  service = await startTestService(
    { SOTTO_CONNECTIONS: 'connections.yaml' },
    { parts: { tableEngines: () => database.engine }, files: { 'connections.yaml': CONNECTIONS } },
  )
})
afterAll(() => service.close())
beforeEach(async () => {
  database.fail(undefined)
  database.isReachable = true
  database.rule = undefined
  database.calls.length = 0
  await database.run(
    `CREATE OR REPLACE TABLE visits AS
     SELECT 'p' || (i // 5) AS patient, 20 + i // 5 AS age, ['A', 'B', 'Z', NULL][i % 4 + 1] AS ward
     FROM range(500) AS rows(i)`,
  )
})

const register = (changes: object = {}) => service.register({ ...VISITS, ...changes })
const withdraw = (id: string) => service.as('custodian').delete(`/v1/datasets/${id}`).expect(204)
/** Registers a table under another id and with another name, because a table has one budget. */
async function registerTable(id: string): Promise<void> {
  await database.run(`CREATE OR REPLACE TABLE "${id}" AS FROM visits`)
  await register({ id, source: { ...VISITS.source, table: id } }).expect(201)
}

test('a live table is registered with its counts, queried in its database, followed over a restart and withdrawn', async () => {
  const { body } = await register().expect(201)
  expect(body.source).toEqual({ kind: 'table', connection: 'warehouse', table: 'main.visits', mode: 'live' })
  expect(body.ingestion).toEqual({
    rowsRead: 500,
    rowsWithoutIdentifier: 0,
    rowsBeyondMaxRows: 300,
    rowsStored: 200,
    people: 100,
    invalidValues: [
      { column: 'patient', values: 0, misfits: [] },
      { column: 'Age', values: 0, misfits: [] },
      { column: 'ward', values: 125, misfits: [{ rule: 'not-a-category', values: 125 }] },
    ],
    clampedValues: [{ column: 'Age', values: 45 }],
  })
  expect(database.calls).toEqual(['inspect', 'open visits 1'])
  expect((await register().expect(200)).body.version).toBe('1')
  // Another spelling of its name is the same table.
  await register({ source: { ...VISITS.source, table: 'main.visits' } }).expect(200)

  const people = await service.ask('visits', { kind: 'count', of: 'people', epsilon: 20 }).expect(200)
  expect(Math.abs(people.body.result.value - 100)).toBeLessThan(10)
  await database.run("INSERT INTO visits SELECT 'q' || i, 30, 'A' FROM range(1000) AS more(i)")
  await service.restart()
  expect(database.calls.filter((call) => call.startsWith('open'))).toEqual(['open visits 1', 'open visits 1'])
  const more = await service.ask('visits', { kind: 'count', of: 'people', epsilon: 20.5 }).expect(200)
  expect(Math.abs(more.body.result.value - 1_100)).toBeLessThan(10)

  await withdraw('visits')
  expect(database.calls.at(-1)).toBe('close visits 1')
  await register().expect(201)
  await withdraw('visits')
})

test.each([
  [
    'an unknown connection',
    { source: { ...VISITS.source, connection: 'nowhere' } },
    'source-refused',
    'source.connection',
  ],
  ['an unknown table', { source: { ...VISITS.source, table: 'nothing' } }, 'source-refused', 'source.table'],
  [
    'a name that is too long',
    { source: { ...VISITS.source, table: 'x'.repeat(64) } },
    'source-refused',
    'source.table',
  ],
  ['a name with quotes', { source: { ...VISITS.source, table: 'a"b' } }, 'invalid-request', 'source.table'],
  [
    'a name of three parts',
    { source: { ...VISITS.source, table: 'a.b.c' } },
    'invalid-request',
    'source.table',
  ],
  ['a host', { source: { ...VISITS.source, host: 'localhost' } }, 'invalid-request', 'source.host'],
  ['change-one neighbours', { neighbours: 'change-one' }, 'invalid-request', 'neighbours'],
  [
    'a column that is missing',
    { columns: [...VISITS.columns, { name: 'weight', type: 'number', lower: 0, upper: 1, step: 1 }] },
    'source-does-not-fit',
    'columns.3.name',
  ],
  [
    'a column of another type',
    { columns: [VISITS.columns[0], { name: 'age', type: 'boolean' }] },
    'source-does-not-fit',
    'columns.1.type',
  ],
  [
    'misfits that the rule refuses',
    { columns: [VISITS.columns[0], { name: 'ward', type: 'category', categories: ['A', 'B'] }] },
    'source-does-not-fit',
    'columns.1.name',
  ],
  [
    'an identifier that repeats',
    { privacyUnit: { kind: 'row' }, columns: [VISITS.columns[0]] },
    'source-does-not-fit',
    'columns.0.name',
  ],
  [
    'more values than the limit',
    {
      columns: [
        VISITS.columns[0],
        { name: 'age', type: 'integer', lower: 0, upper: 110, rankable: { maxValues: 90 } },
      ],
    },
    'source-does-not-fit',
    'columns.1.rankable.maxValues',
  ],
])('a registration with %s is refused and leaves nothing behind', async (_, changes, code, field) => {
  const { body } = await register({ id: 'refused', ...changes }).expect(
    code === 'invalid-request' ? 400 : 422,
  )
  expect(body.code).toBe(code)
  expect(new Set(body.errors.map((error: { field: string }) => error.field))).toEqual(new Set([field]))
  await service.as('custodian').get('/v1/datasets/refused').expect(404)
  await service.as('custodian').get('/v1/datasets/refused/budget').expect(404)
})

test('misfits of a table are told by their rules, to its custodian only', async () => {
  await database.run(`CREATE OR REPLACE TABLE misfits AS FROM visits;
    UPDATE misfits SET patient = '' WHERE patient = 'p7'; UPDATE misfits SET age = NULL WHERE patient = 'p8'`)
  const [patient, age, ward] = VISITS.columns
  const strict = { id: 'misfits', source: { ...VISITS.source, table: 'misfits' } }
  const refusing = [patient, age, { ...ward, nullable: false }]
  const { body } = await register({ ...strict, columns: refusing }).expect(422)
  expect(body.errors).toEqual([
    {
      field: 'columns.0.name',
      rule: 'the source has 5 rows without this identifier; declare onInvalidValue "dropRow" to leave them out',
    },
    { field: 'columns.1.name', rule: 'the source has 5 values that are missing' },
    { field: 'columns.2.name', rule: 'the source has 125 values that are missing' },
    { field: 'columns.2.name', rule: 'the source has 125 values that are not declared categories' },
  ])
  const replacing = [
    { ...patient, onInvalidValue: 'dropRow' },
    { ...age, onInvalidValue: { replaceWith: 40 } },
    { ...ward, nullable: false, onInvalidValue: { replaceWith: 'A' } },
  ]
  const told = await register({ ...strict, columns: replacing }).expect(201)
  expect(told.body.ingestion).toMatchObject({ rowsRead: 500, rowsWithoutIdentifier: 5 })
  expect(told.body.ingestion.invalidValues).toEqual([
    { column: 'patient', values: 5, misfits: [{ rule: 'missing', values: 5 }] },
    { column: 'Age', values: 5, misfits: [{ rule: 'missing', values: 5 }] },
    // Of the 5 rows without identifier, which are left out, two have no ward and one has the ward Z.
    {
      column: 'ward',
      values: 247,
      misfits: [
        { rule: 'missing', values: 123 },
        { rule: 'not-a-category', values: 124 },
      ],
    },
  ])
  expect((await service.as('analyst').get('/v1/datasets/misfits').expect(200)).text).not.toMatch(
    /misfits":|124/,
  )
  expect(service.logLines.join()).not.toMatch(/not-a-category|12[345] values/)
  await withdraw('misfits')
})

test('a connection that breaks a rule for the table is refused with the rule', async () => {
  database.rule = 'its role may change this table'
  const { body } = await register({ id: 'refused' }).expect(422)
  expect(body.errors).toEqual([{ field: 'source.connection', rule: 'its role may change this table' }])
})

test('a database that cannot be reached refuses registrations as unavailable', async () => {
  database.fail('EngineUnavailable')
  expect((await register({ id: 'refused' }).expect(503)).body.code).toBe('unavailable')
  database.fail('EngineTimeout')
  expect((await register({ id: 'refused' }).expect(422)).body.code).toBe('source-unreadable')
})

test('a table has one budget, unless a reason for a second one is given', async () => {
  await registerTable('first')
  const second = { id: 'second', source: { ...VISITS.source, table: 'first' } }
  expect((await register(second).expect(409)).body.errors[0].field).toBe('separateBudget')
  await register({ ...second, separateBudget: 'Approved by the board.' }).expect(201)
})

test('every fault of a database is one constant problem; the charge stands and a repeat is answered under it', async () => {
  await registerTable('faults')
  const spent = async () =>
    (await service.as('analyst').get('/v1/datasets/faults/budget').expect(200)).body.spent.epsilon
  const failures = async () =>
    (await service.as('custodian').get('/v1/datasets/faults/suspension').expect(200)).body
  const problems: unknown[] = []
  const faults: readonly (readonly [Fault, number])[] = [
    ['EngineFailure', 1],
    ['EngineTimeout', 2],
  ]
  for (const [i, [fault, counted]] of faults.entries()) {
    const query = { ...COUNT, epsilon: 10 + i }
    const before = await spent()
    database.fail(fault)
    const failed = await service.ask('faults', query).expect(500)
    const { requestId: _, chargeId, ...problem } = failed.body
    problems.push(problem)
    expect(await spent()).toBe(before + query.epsilon)
    expect(await failures()).toMatchObject({ suspended: false, failures: counted })
    database.fail(undefined)
    const { body } = await service.ask('faults', query).expect(200)
    expect(body.id).toBe(chargeId)
    expect(await spent()).toBe(before + query.epsilon)
  }
  expect(
    new Set(problems.map((problem) => JSON.stringify(problem).replaceAll(/"[0-9a-f]{32}"/g, '""'))).size,
  ).toBe(1)
  expect(JSON.stringify(problems)).not.toMatch(/warehouse|visits|Timeout|Unavailable/)
})

test('an outage after the charge is told as such and not counted; new questions during it are refused and not charged', async () => {
  await registerTable('outage')
  const spent = async () =>
    (await service.as('analyst').get('/v1/datasets/outage/budget').expect(200)).body.spent.epsilon
  await service.ask('outage', { ...COUNT, epsilon: 9 }).expect(200)
  const failed = { ...COUNT, epsilon: 10 }
  database.fail('EngineUnavailable')
  const { body: problem, headers } = await service.ask('outage', failed).expect(503)
  expect(problem).toMatchObject({ code: 'unavailable', chargeId: expect.any(String) })
  expect(headers['retry-after']).toBe('10')
  expect(await spent()).toBe(19)
  database.isReachable = false
  // A statement that fails lets the service check the database.
  await service.ask('outage', failed).expect(503)
  await expect
    .poll(async () => (await service.as('analyst').get('/v1/datasets/outage').expect(200)).body.reachable)
    .toBe(false)
  // Neither a new question nor the repeat is charged, and what is answered is replayed.
  for (const query of [{ ...COUNT, epsilon: 11 }, failed]) {
    const { body } = await service.ask('outage', query).expect(503)
    expect(body).toMatchObject({
      code: 'unavailable',
      detail: expect.stringContaining('Nothing was charged'),
    })
  }
  expect((await service.ask('outage', { ...COUNT, epsilon: 9 }).expect(200)).body.cost.epsilon).toBe(0)
  expect(await spent()).toBe(19)
  database.fail(undefined)
  database.isReachable = true
  await expect.poll(async () => (await service.ask('outage', failed)).body.id).toBe(problem.chargeId)
  expect(await spent()).toBe(19)
  const seen = await service.as('custodian').get('/v1/datasets/outage/suspension').expect(200)
  expect(seen.body).toMatchObject({ suspended: false, failures: 0 })
})

test('a change of the columns suspends the dataset at once, with a reason that only its custodian sees', async () => {
  await registerTable('changed')
  const seen = async () =>
    (await service.as('custodian').get('/v1/datasets/changed/suspension').expect(200)).body
  // A column that is not declared may change.
  await database.run('ALTER TABLE changed ADD COLUMN note VARCHAR')
  await service.ask('changed', { ...COUNT, epsilon: 11 }).expect(200)
  await database.run('ALTER TABLE changed ALTER age TYPE BIGINT USING age + 0')
  await database.run('ALTER TABLE changed ALTER age TYPE VARCHAR')
  const failed = await service.ask('changed', COUNT).expect(500)
  expect(failed.body.code).toBe('query-failed')
  expect(JSON.stringify(failed.body)).not.toMatch(/age|TableChanged|column/i)
  expect(await seen()).toMatchObject({
    suspended: true,
    reason: 'table-changed',
    failures: 1,
    counted: [{ errorClass: 'TableChanged', release: failed.body.chargeId }],
  })
  const refused = await service.ask('changed', COUNT).expect(409)
  expect(refused.body.code).toBe('dataset-suspended')
  expect(JSON.stringify(refused.body)).not.toMatch(/table|column/i)

  // The columns are compared again after a resumption.
  const resume = () =>
    service.as('custodian').post('/v1/datasets/changed/resume').send({ reason: 'Restored.' }).expect(200)
  await resume()
  await service.ask('changed', COUNT).expect(500)
  expect(await seen()).toMatchObject({ suspended: true, failures: 1 })
  await database.run('CREATE OR REPLACE TABLE changed AS FROM visits')
  expect((await resume()).body).toMatchObject({ suspended: false, failures: 0 })
  expect((await service.ask('changed', COUNT).expect(200)).body.id).toBe(failed.body.chargeId)
})

const CHANGES: readonly (readonly [what: string, sql: string, table: object, message: RegExp])[] = [
  [
    'a missing column',
    'ALTER TABLE %t DROP COLUMN age',
    { state: 'changed', changes: [{ change: 'missing', column: 'age' }] },
    /the column "age" is gone.*Restore the columns.*withdraw the dataset and register it again without it/,
  ],
  [
    'another name',
    'ALTER TABLE %t RENAME age TO years',
    { state: 'changed', changes: [{ change: 'missing', column: 'age' }] },
    /the column "age" is gone/,
  ],
  [
    'another type',
    'ALTER TABLE %t ALTER age TYPE INTEGER',
    {
      state: 'changed',
      changes: [{ change: 'type', column: 'age', registered: 'bigint', present: 'integer' }],
    },
    /the type of the column "age" was bigint and is integer\. Restore the columns, or publish a new version/,
  ],
  [
    'a new and a lost constraint',
    'ALTER TABLE %t ALTER ward SET NOT NULL; ALTER TABLE %t ALTER patient DROP NOT NULL',
    {
      state: 'changed',
      changes: [
        { change: 'nullable', column: 'patient' },
        { change: 'not-null', column: 'ward' },
      ],
    },
    /the column "patient" may now be NULL; the column "ward" can no longer be NULL\. Restore/,
  ],
  ['a missing table', 'DROP TABLE %t', { state: 'missing', changes: [] }, /The table no longer exists/],
]

test.each(CHANGES)(
  'its custodian is told of %s and what to do, and no one else',
  async (_, sql, table, message) => {
    const id = `changed-${CHANGES.findIndex(([, each]) => each === sql)}`
    const create = `CREATE OR REPLACE TABLE "${id}" AS FROM visits WHERE ward IS NOT NULL;
    ALTER TABLE "${id}" ALTER patient SET NOT NULL`
    await database.run(create)
    await register({ id, source: { ...VISITS.source, table: id } }).expect(201)
    await database.run(sql.replaceAll('%t', `"${id}"`))
    const suspension = async (role: 'custodian' | 'auditor') =>
      (await service.as(role).get(`/v1/datasets/${id}/suspension`).expect(200)).body
    expect(await suspension('custodian')).toEqual({ suspended: false, failures: 0, counted: [] })
    const failed = await service.ask(id, COUNT).expect(500)
    const told = await suspension('custodian')
    expect(told).toMatchObject({ suspended: true, reason: 'table-changed', table })
    expect(told.message).toMatch(message)

    const { message: _message, table: _table, ...reason } = told
    expect(await suspension('auditor')).toEqual(reason)
    await service.as('analyst').get(`/v1/datasets/${id}/suspension`).expect(403)
    for (const [role, suspended] of [
      ['custodian', 'table-changed'],
      ['auditor', undefined],
      ['analyst', undefined],
    ] as const) {
      expect((await service.as(role).get(`/v1/datasets/${id}`).expect(200)).body.suspended).toBe(suspended)
      const { datasets } = (await service.as(role).get('/v1/datasets').expect(200)).body
      expect(datasets.find((listed: { id: string }) => listed.id === id).suspended).toBe(suspended)
    }
    const elsewhere = [
      failed.text,
      (await service.ask(id, COUNT).expect(409)).text,
      service.logLines.join(),
    ].join()
    expect(elsewhere).not.toMatch(/BIGINT|INTEGER|may now be NULL|is gone/)

    database.fail('EngineUnavailable')
    const unreachable = await suspension('custodian')
    expect(unreachable.table).toEqual({ state: 'unknown', changes: [] })
    expect(unreachable.message).toMatch(/cannot be asked at present/)
    database.fail(undefined)
    await database.run(create)
    const restored = await suspension('custodian')
    expect(restored.table).toEqual({ state: 'as-registered', changes: [] })
    expect(restored.message).toMatch(/Resume the dataset/)
    const resume = service.as('custodian').post(`/v1/datasets/${id}/resume`).send({ reason: 'Restored.' })
    expect((await resume.expect(200)).body).toEqual({ suspended: false, failures: 0, counted: [] })
    await service.ask(id, COUNT).expect(200)
    await withdraw(id)
  },
)

test('a change of the columns during a session suspends the dataset at once, and the question is answered later', async () => {
  await registerTable('session')
  const opened = await service
    .as('analyst')
    .post('/v1/datasets/session/sparse-vector-sessions')
    .send({ threshold: 10, positives: 1, epsilon: 10 })
    .expect(201)
  const question = () =>
    service
      .as('analyst')
      .post(`/v1/sparse-vector-sessions/${opened.body.id}/questions`)
      .send({ where: { column: 'ward', op: '=', value: 'A' } })
  await database.run('ALTER TABLE session ALTER age TYPE VARCHAR')
  expect((await question().expect(500)).body.code).toBe('question-failed')
  const seen = await service.as('custodian').get('/v1/datasets/session/suspension').expect(200)
  expect(seen.body).toMatchObject({ suspended: true, reason: 'table-changed', failures: 1 })
  expect((await question().expect(409)).body.code).toBe('dataset-suspended')
  await database.run('CREATE OR REPLACE TABLE session AS FROM visits')
  await service.as('custodian').post('/v1/datasets/session/resume').send({ reason: 'Restored.' }).expect(200)
  expect((await question().expect(200)).body.above).toBe(true)
})

test('custodians see which databases can be reached, but no hosts, users or secrets; the service stays ready', async () => {
  const { body, text } = await service.as('custodian').get('/v1/connections').expect(200)
  expect(body).toEqual({ connections: [{ name: 'warehouse', engine: 'postgres', reachable: true }] })
  expect(text).not.toMatch(/secret/)
  for (const role of ['analyst', 'auditor'] as const)
    await service.as(role).get('/v1/connections').expect(403)
  database.isReachable = false
  await service.restart()
  const ready = await fetch(`${service.url}/readyz`)
  expect(ready.status).toBe(200)
  expect(await ready.json()).toMatchObject({ connections: { configured: 1, unreachable: 1 } })
  for (const { body } of [
    await service.as('analyst').get('/v1/datasets/faults').expect(200),
    await service.as('analyst').get('/v1/datasets/first').expect(200),
  ])
    expect(body.reachable).toBe(false)
  expect(service.logLines.join()).toContain('the database of the connection cannot be reached')
  expect(service.logLines.join()).not.toMatch(/secret-|secret\.example/)
})

test('a dataset whose connection is no longer configured does not stop the start, and can be withdrawn', async () => {
  await registerTable('orphan')
  await writeFile(path.join(service.dataDirectory, 'empty.yaml'), '{}', { mode: 0o600 })
  await service.restart({ SOTTO_CONNECTIONS: 'empty.yaml' })
  expect(service.logLines.join()).toContain(
    'SOTTO_CONNECTIONS has no such connection: the dataset cannot be queried',
  )
  await service.ask('orphan', COUNT).expect(503)
  expect(
    (await service.as('custodian').get('/v1/datasets/orphan/suspension').expect(200)).body.failures,
  ).toBe(0)
  await withdraw('orphan')
  await service.restart()
})

test('a wrong file of connections stops the start with the variable, the connection and the field', async () => {
  const options = {
    parts: { tableEngines: () => database.engine },
    files: { 'connections.yaml': CONNECTIONS.replace('user:', 'usr:') },
  }
  await expect(startTestService({ SOTTO_CONNECTIONS: 'connections.yaml' }, options)).rejects.toThrow(
    'SOTTO_CONNECTIONS: warehouse.user: is required\nSOTTO_CONNECTIONS: warehouse.usr: is not a known field (did you mean "user"?)',
  )
})

test('a snapshot has the rows of one moment, as a live table has them, and a new version reads them again', async () => {
  await registerTable('now')
  database.batchRows = 7
  const source = { ...VISITS.source, table: 'now', mode: 'snapshot' }
  const snapshot = { id: 'then', source, neighbours: 'change-one', separateBudget: 'A test.' }
  const { body } = await register(snapshot).expect(201)
  expect(body).toMatchObject({
    people: 100,
    ingestion: { rowsRead: 500, rowsBeyondMaxRows: 300, rowsStored: 200, people: 100 },
  })
  expect(body.ingestion.invalidValues).toContainEqual({
    column: 'ward',
    values: 125,
    misfits: [{ rule: 'not-a-category', values: 125 }],
  })
  const people = { kind: 'count', of: 'people', epsilon: 20 }
  for (const id of ['now', 'then']) {
    const answer = await service.ask(id, people).expect(200)
    expect(Math.abs(answer.body.result.value - 100)).toBeLessThan(10)
  }

  await database.run("INSERT INTO now VALUES ('new', 50, 'A')")
  database.calls.length = 0
  const version = await service.as('custodian').post('/v1/datasets/then/versions').send({})
  expect(version.status).toBe(201)
  expect(version.body).toMatchObject({ version: '2', people: 101 })
  expect(database.calls).toContain('read')
  await withdraw('then')
})

test('a snapshot whose database fails is refused and leaves nothing behind', async () => {
  database.fail('EngineFailure')
  const { body } = await register({ id: 'broken', source: { ...VISITS.source, mode: 'snapshot' } }).expect(
    422,
  )
  expect(body.code).toBe('source-unreadable')
  expect(await readdir(path.join(service.dataDirectory, 'datasets'))).not.toContain('broken')
})

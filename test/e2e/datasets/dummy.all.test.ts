import { createHash } from 'node:crypto'
import { readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { answer, preview } from '../../../schemas/answers/answer.ts'
import { sqlAnswer } from '../../../schemas/answers/sql.ts'
import { dummyAnswer, dummyBatchAnswer } from '../../../schemas/datasets/dummy.ts'
import { populationCsv } from '../../../src/datasets/registration/sources/population.ts'
import { createFakeDatabase, type FakeDatabase } from '../../engines/tables/fake-database.ts'
import { startTestService, type TestService, wholeText } from '../service.ts'

const CONNECTIONS = `
warehouse:
  engine: postgres
  host: db.example
  user: sotto
  password: secret
  database: clinic
  schema: main
`
const COLUMNS = [
  { name: 'patient', type: 'identifier' },
  { name: 'Age', type: 'integer', lower: 0, upper: 110, constantPerPerson: true },
  { name: 'cost', type: 'number', lower: 0, upper: 1_000, step: 0.01, nullable: true },
  { name: 'ward', type: 'category', categories: ['A', 'B', 'C'], nullable: true },
  { name: 'emergency', type: 'boolean' },
  { name: 'diagnosis', type: 'string', selectable: true },
]
const VISITS = {
  title: 'Visits to a clinic',
  columns: COLUMNS,
  privacyUnit: { kind: 'person', column: 'patient', maxRows: 6 },
  neighbours: 'add-remove',
  timing: 'off',
  budget: { epsilon: 5, delta: 1e-5 },
}

let service: TestService
let database: FakeDatabase

beforeAll(async () => {
  database = await createFakeDatabase()
  await database.run(
    `CREATE TABLE visits AS SELECT 'p' || (i // 3) AS patient, 50 AS "Age", 7.5::DOUBLE AS cost,
       'A' AS ward, true AS emergency, 'flu' AS diagnosis FROM range(900) AS rows(i)`,
  )
  service = await startTestService(
    { SOTTO_DEMO: 'true', SOTTO_CONNECTIONS: 'connections.yaml' },
    { parts: { tableEngines: () => database.engine }, files: { 'connections.yaml': CONNECTIONS } },
  )
  await register('one', { source: await csv('one.csv', 30) })
  await register('two', { source: await csv('two.csv', 4_000), title: 'Other visits' })
  await register('live', { source: { kind: 'table', connection: 'warehouse', table: 'visits' } })
})
afterAll(() => service.close())

/** Writes a file with rows of made-up patients, and returns its source. */
async function csv(name: string, rows: number) {
  const lines = Array.from({ length: rows }, (_, i) => `p${i % 1_000},${i % 110},${i % 9},B,false,d${i % 7}`)
  await writeFile(
    path.join(service.dataDirectory, name),
    ['patient,Age,cost,ward,emergency,diagnosis', ...lines, ''].join('\n'),
  )
  return { kind: 'file', path: name, format: 'csv' }
}

const register = (id: string, changes: object) => service.register({ ...VISITS, id, ...changes }).expect(201)

const download = (id: string, query = '', role: Parameters<TestService['as']>[0] = 'analyst') =>
  service.as(role).get(`/v1/datasets/${id}/dummy${query}`)
const fileOf = async (id: string, query = '') =>
  (await download(id, query).buffer(true).parse(wholeText).expect(200)).body as string

const practise = (id: string, body: object, query = '') =>
  service.as('analyst').post(`/v1/datasets/${id}/queries?on=dummy${query}`).send(body)
const ask = (id: string, body: object) => service.ask(id, body)
const head = async (id: string) =>
  (await service.as('auditor').get(`/v1/datasets/${id}/ledger/head`).expect(200)).body

const COUNT = { kind: 'count', epsilon: 0.25 }

describe('the own rows of a made-up population', () => {
  const people = { kind: 'population', rows: 40, seed: 'forty, "quoted"' } as const
  const first = (rows: number) => [...populationCsv({ ...people, rows })].join('')
  beforeAll(async () => {
    await service
      .register({
        ...{ id: 'forty', title: 'Forty', source: people, privacyUnit: { kind: 'row' } },
        ...{ neighbours: 'change-one', budget: { epsilon: 1 } },
      })
      .expect(201)
  })

  test('are the first ones, in CSV as the command writes them', async () => {
    expect(await fileOf('forty', '?of=population&rows=10')).toBe(first(10))
    expect(await fileOf('forty', '?of=population')).toBe(first(40))
    expect(await fileOf('forty', '?rows=10')).not.toBe(first(10))
    const { headers } = await download('forty', '?of=population&rows=10', 'auditor').expect(200)
    expect(headers).toMatchObject({
      'sotto-dummy': 'true',
      'content-disposition': 'attachment; filename="forty-population.csv"',
    })
  })

  test('are the same in JSON', async () => {
    const rows = JSON.parse(await fileOf('forty', '?of=population&rows=10&format=json'))
    const [names = '', ...lines] = first(10).trimEnd().split('\n')
    const expected = lines.map((line) => {
      const [Sex, Age, Married, Earnings, Occupation] = line.split(',')
      return { Sex, Age: Number(Age), Married, Earnings: Number(Earnings), Occupation }
    })
    expect(names).toBe('Sex,Age,Married,Earnings,Occupation')
    expect(rows).toEqual(expected)
  })

  test.each([
    ['one', 'of=population', 'of'],
    ['live', 'of=population', 'of'],
    ['forty', 'of=population&seed=x', 'seed'],
    ['forty', 'of=people', 'of'],
  ])('%s: ?%s is refused', async (id, query, field) => {
    const { body } = await download(id, `?${query}`).expect(400)
    expect(body).toMatchObject({ code: 'invalid-request', errors: [{ field }] })
  })
})

describe('a file of made-up rows', () => {
  test('is marked in header and file name, in every format and for every role', async () => {
    const types = {
      csv: 'text/csv; charset=utf-8; header=present',
      json: 'application/json; charset=utf-8',
      parquet: 'application/vnd.apache.parquet',
    }
    for (const [format, type] of Object.entries(types))
      for (const role of ['analyst', 'custodian', 'auditor'] as const) {
        const { headers } = await download('one', `?format=${format}&rows=50`, role).expect(200)
        expect(headers).toMatchObject({
          'sotto-dummy': 'true',
          'content-disposition': `attachment; filename="one-dummy.${format}"`,
          'content-type': type,
          'cache-control': 'no-store',
        })
        expect(Number(headers['content-length'])).toBeGreaterThan(500)
      }
    const lines = (await fileOf('one')).split('\n')
    expect(lines.length).toBe(1_002)
    expect(lines[0]).toBe('patient,Age,cost,ward,emergency,diagnosis')
    expect(JSON.parse(await fileOf('one', '?format=json&rows=7')).length).toBe(7)
  })

  test('is the same for datasets with one declaration, whatever their rows, their source and their version', async () => {
    const sizes = ['', '?rows=333&seed=x', '?rows=20&format=json']
    const files = await Promise.all(sizes.map((size) => fileOf('one', size)))
    expect(new Set(files).size).toBe(3)
    const source = await csv('more.csv', 2_000)
    await service.as('custodian').post('/v1/datasets/two/versions').send({ source }).expect(201)
    for (const id of ['two', 'live'])
      expect(await Promise.all(sizes.map((size) => fileOf(id, size)))).toEqual(files)
    await service.restart()
    expect(await fileOf('one')).toBe(files[0])
  })

  test('can be registered as it is', async () => {
    await writeFile(path.join(service.dataDirectory, 'dummy.csv'), await fileOf('one', '?rows=500'))
    const source = { kind: 'file', path: 'dummy.csv', format: 'csv' }
    const { body } = await register('practice', { source, synthetic: true })
    expect(body.ingestion).toMatchObject({ rowsRead: 500, rowsStored: 500, rowsBeyondMaxRows: 0 })
    for (const { values } of body.ingestion.invalidValues) expect(values).toBe(0)
  })

  test.each([
    ['rows=0', 'rows'],
    ['rows=100001', 'rows'],
    ['rows=1e3', 'rows'],
    ['rows=5&rows=6', 'rows'],
    ['seed=', 'seed'],
    [`seed=${'s'.repeat(101)}`, 'seed'],
    ['format=xml', 'format'],
    ['version=1', 'version'],
  ])('?%s is refused', async (query, field) => {
    const { body } = await download('one', `?${query}`).expect(400)
    expect(body).toMatchObject({ code: 'invalid-request', errors: [{ field }] })
  })

  test('a request without a body of rows answers HEAD with the same headers', async () => {
    const { headers } = await service.as('analyst').head('/v1/datasets/one/dummy?rows=10').expect(200)
    expect(headers).toMatchObject({
      'sotto-dummy': 'true',
      'content-type': expect.stringContaining('text/csv'),
    })
  })
})

/** One query of each kind that `one` can answer. */
const QUERIES = [
  COUNT,
  { kind: 'count', of: 'people', epsilon: 0.25 },
  { kind: 'sum', column: 'cost', epsilon: 0.25 },
  { kind: 'mean', column: 'Age', accuracy: { halfWidth: 3 }, supposed: { rows: 1_000 } },
  { kind: 'proportion', of: { column: 'emergency', op: '=', value: true }, epsilon: 0.25 },
  { kind: 'histogram', column: { column: 'Age', edges: [0, 30, 60, 110] }, epsilon: 0.25 },
  { kind: 'contingency', columns: ['ward', 'emergency'], epsilon: 0.25, postprocess: { nonNegative: true } },
  {
    kind: 'groupBy',
    keys: ['ward'],
    statistics: [{ kind: 'count' }, { kind: 'median', column: 'Age' }],
    epsilon: 0.25,
  },
  { kind: 'linearRegression', outcome: 'cost', predictors: ['Age'], epsilon: 0.25 },
  { kind: 'median', column: 'Age', epsilon: 0.25 },
  { kind: 'minimum', column: 'cost', epsilon: 0.25 },
  { kind: 'noisyMax', candidates: { column: 'ward' }, epsilon: 0.25 },
  { kind: 'keySelection', column: 'diagnosis', epsilon: 1, delta: 1e-6 },
]

describe('an answer over made-up rows', () => {
  test('has the shape, the noise and the cost of a real one, and neither costs nor stores anything', async () => {
    const before = await head('one')
    const budget = (await service.as('analyst').get('/v1/datasets/one/budget').expect(200)).body
    for (const query of QUERIES) {
      const { body } = await practise('one', query).expect(200)
      const practised = dummyAnswer.parse(body)
      const foreseen = preview.parse(
        (await service.as('analyst').post('/v1/datasets/one/queries/preview').send(query).expect(200)).body,
      )
      const { dataset, datasetVersion, kind, noise, cost, contribution } = foreseen
      expect(practised).toMatchObject({ dummy: true, dataset, datasetVersion, kind, noise, cost })
      expect(practised.contribution).toEqual(contribution)
      expect(practised.budget.spent).toEqual(budget.spent)
      expect(body).not.toHaveProperty('receipt')
      const { id } = practised
      expect(id).toMatch(/^dummy-[0-9a-f]{32}$/)
      await service.as('analyst').get(`/v1/releases/${id}`).expect(400)
      await service
        .as('analyst')
        .get(`/v1/releases/${id.replace('dummy-', '')}`)
        .expect(404)
    }
    expect(await head('one')).toEqual(before)
    expect((await service.as('analyst').get('/v1/datasets/one/budget').expect(200)).body).toEqual(budget)
  })

  test('has the fields of a real one, except for the receipt and the id of what was measured', async () => {
    const fields = (body: object) =>
      Object.keys(body).filter((name) => !['receipt', 'measurement', 'dummy'].includes(name))
    await register('fields', { source: await csv('fields.csv', 50), budget: { epsilon: 100, delta: 1e-3 } })
    for (const query of QUERIES) {
      const [real, practised] = [
        await ask('fields', query).expect(200),
        await practise('fields', query).expect(200),
      ]
      expect(fields(practised.body), JSON.stringify(query)).toEqual(fields(real.body))
      expect(practised.body.question).toEqual(real.body.question)
    }
    const batch = (on: string) =>
      service
        .as('analyst')
        .post(`/v1/datasets/fields/queries/batch${on}`)
        .send({ queries: QUERIES.slice(0, 3) })
        .expect(200)
    const [real, practised] = [await batch(''), await batch('?on=dummy')]
    expect(fields(practised.body)).toEqual(fields(real.body))
    expect(fields(practised.body.answers[0])).toEqual(fields(real.body.answers[0]))
  })

  test('is close to the truth of the file with the same rows and seed', async () => {
    const records: { Age: number; ward: string | null }[] = JSON.parse(
      await fileOf('one', '?rows=20000&seed=truth&format=json'),
    )
    const query = {
      kind: 'groupBy',
      keys: ['ward'],
      statistics: [{ kind: 'count' }, { kind: 'mean', column: 'Age' }],
    }
    const { body } = await practise('one', { ...query, epsilon: 5 }, '&rows=20000&seed=truth').expect(200)
    expect(body.result.groups.length).toBe(4)
    for (const { key, values } of body.result.groups) {
      const own = records.filter(({ ward }) => ward === key.ward)
      const mean = own.reduce((sum, { Age }) => sum + Age, 0) / own.length
      expect(Math.abs(values.count.value - own.length)).toBeLessThan(4 * values.count.halfWidth)
      expect(Math.abs(values.mean_Age.value - mean)).toBeLessThan(4 * values.mean_Age.halfWidth)
    }
  })

  test('has fresh noise each time, and is no replay, whatever the Idempotency-Key', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        practise('one', { ...COUNT, epsilon: 0.01 })
          .set('idempotency-key', 'k')
          .expect(200),
      ),
    )
    expect(new Set(answers.map(({ body }) => body.result.value)).size).toBeGreaterThan(2)
    for (const { headers } of answers) expect(headers).not.toHaveProperty('idempotent-replayed')
  })

  test('attack: practice and real answers with one key and one query are never exchanged', async () => {
    const query = { ...COUNT, epsilon: 0.125 }
    const key = 'practice-and-real'
    const practised = await practise('one', query).set('idempotency-key', key).expect(200)
    const real = await ask('one', query).set('idempotency-key', key).expect(200)
    expect(answer.parse(real.body).cost).toEqual({ epsilon: 0.125, delta: 0 })
    expect(real.headers).not.toHaveProperty('idempotent-replayed')
    // 30 rows, each of another person, against 1,000.
    expect(real.body.result.value).toBeLessThan(500)
    expect(practised.body.result.value).toBeGreaterThan(500)
    const again = await practise('one', query).set('idempotency-key', key).expect(200)
    expect(again.body.result.value).toBeGreaterThan(500)
    expect(again.body.dummy).toBe(true)
    const replayed = await ask('one', query).set('idempotency-key', key).expect(200)
    expect(replayed.headers['idempotent-replayed']).toBe('true')
    expect(replayed.body.result).toEqual(real.body.result)
    expect(replayed.body).not.toHaveProperty('dummy')
  })

  test('attack: a live table is not read', async () => {
    database.calls.length = 0
    database.fail('EngineTimeout')
    await practise('live', COUNT).expect(200)
    await fileOf('live')
    database.fail(undefined)
    expect(database.calls).toEqual([])
  })

  test('a batch states the prices and the groups of a real one', async () => {
    const queries = ['A', 'B', 'C'].map((value) => ({ ...COUNT, where: { column: 'ward', op: '=', value } }))
    const { body } = await service
      .as('analyst')
      .post('/v1/datasets/two/queries/batch?on=dummy')
      .send({ queries })
      .expect(200)
    const foreseen = await service
      .as('analyst')
      .post('/v1/datasets/two/queries/batch/preview')
      .send({ queries })
      .expect(200)
    const { disjoint, sumOfPrices, cost } = foreseen.body
    expect(dummyBatchAnswer.parse(body)).toMatchObject({ dummy: true, disjoint, sumOfPrices, cost })
    expect(body.answers.map(({ result }: { result: { value: number } }) => result.value > 0)).toEqual([
      true,
      true,
      true,
    ])
  })

  test('is given where the budget does not suffice, and is refused where a real one would be refused for the query', async () => {
    await practise('one', { kind: 'count', epsilon: 1_000 }).expect(200)
    for (const query of [
      { kind: 'count', epsilon: 0 },
      { kind: 'sum', column: 'nothing', epsilon: 1 },
      { kind: 'sum', column: 'patient', epsilon: 1 },
      { kind: 'histogram', column: 'diagnosis', epsilon: 1 },
    ]) {
      const problem = ({ requestId: _, ...body }: Record<string, unknown>) => body
      const [practised, real] = [await practise('two', query), await ask('two', query)]
      expect(real.status).toBeGreaterThanOrEqual(400)
      expect(practised.status).toBe(real.status)
      expect(problem(practised.body)).toEqual(problem(real.body))
    }
  })

  test('where the number of people is public, it states the cost of the query over the dataset', async () => {
    const query = { kind: 'mean', column: 'Age', accuracy: { halfWidth: 1 } }
    const declared = {
      ...VISITS,
      columns: COLUMNS.slice(1, 2).map(({ constantPerPerson: _, ...column }) => column),
    }
    const source = await csv('public.csv', 3_000)
    await register('public', { ...declared, source, privacyUnit: { kind: 'row' }, neighbours: 'change-one' })
    const practised = dummyAnswer.parse((await practise('public', query).expect(200)).body)
    const { body } = await service
      .as('analyst')
      .post('/v1/datasets/public/queries/preview')
      .send(query)
      .expect(200)
    expect(practised.cost).toEqual(body.cost)
    expect(practised.accuracy.halfWidth).toBeLessThanOrEqual(1)
  })
})

test('costs are in the unit of the accounting, also where the number of people is public', async () => {
  const declared = { neighbours: 'change-one', accounting: 'zcdp', budget: { epsilon: 1, delta: 1e-6 } }
  await register('rho', { ...declared, source: await csv('rho.csv', 90) })
  for (const query of QUERIES.filter(({ kind }) => kind !== 'keySelection')) {
    const practised = dummyAnswer.parse((await practise('rho', query).expect(200)).body)
    const { body } = await service
      .as('analyst')
      .post('/v1/datasets/rho/queries/preview')
      .send(query)
      .expect(200)
    expect(practised.cost, JSON.stringify(query)).toEqual(body.cost)
    expect(practised.cost).toEqual({ rho: expect.any(Number) })
  }
})

test('a SQL statement is answered over made-up rows, and nothing is charged', async () => {
  const before = await head('two')
  const sql = 'SELECT ward, COUNT(*) AS visits, AVG("Age") FROM two GROUP BY ward ORDER BY visits DESC'
  const ask = (query: string) =>
    service.as('analyst').post(`/v1/datasets/two/sql${query}`).send({ sql, epsilon: 5 })
  const { body } = await ask('?on=dummy&rows=10000').expect(200)
  const { answer, rows } = sqlAnswer.parse(body)
  expect(answer).toMatchObject({ dummy: true, cost: { epsilon: 5, delta: 0 } })
  expect(rows.map(([ward]) => ward)).toEqual(['A', 'B', 'C', null])
  expect(rows.reduce((sum, [, visits]) => sum + Number(visits), 0)).toBeGreaterThan(9_000)
  for (const query of ['?on=Dummy', '?rows=10']) await ask(query).expect(400)
  expect(await head('two')).toEqual(before)
})

test('a suspended dataset can be practised on, with the answers of any other', async () => {
  const before = await fileOf('live')
  database.fail('EngineFailure')
  for (let failure = 0; failure < 3; failure += 1) await ask('live', COUNT).expect(500)
  database.fail(undefined)
  expect((await ask('live', { ...COUNT, epsilon: 0.5 })).body.code).toBe('dataset-suspended')
  const { body } = await practise('live', { ...COUNT, epsilon: 5 }).expect(200)
  expect(Math.abs(body.result.value - 1_000)).toBeLessThan(100)
  expect(await fileOf('live')).toBe(before)
})

test('a dataset without budget can be practised on, and a withdrawn one cannot', async () => {
  await register('leaving', { source: await csv('leaving.csv', 10), budget: { epsilon: 0.5 } })
  // The rest has measured what maxRows leaves out.
  await ask('leaving', { kind: 'count', epsilon: 0.495 }).expect(200)
  expect((await ask('leaving', COUNT)).body.code).toBe('budget-insufficient')
  await practise('leaving', COUNT).expect(200)
  const before = await fileOf('leaving')
  await service.as('custodian').delete('/v1/datasets/leaving').expect(204)
  expect((await practise('leaving', COUNT).expect(404)).body.code).toBe('unknown-dataset')
  expect((await download('leaving').expect(404)).body.code).toBe('unknown-dataset')
  // Another declaration under the same id makes other rows, and no rows of the table before are found.
  const columns = COLUMNS.map((column) => (column.name === 'Age' ? { ...column, upper: 20 } : column))
  await service
    .register({
      ...VISITS,
      columns,
      id: 'leaving',
      source: { kind: 'file', path: 'leaving.csv', format: 'csv' },
      budget: { epsilon: 0.5 },
    })
    .expect(201)
  expect(await fileOf('leaving')).not.toBe(before)
  const { body } = await practise('leaving', { kind: 'maximum', column: 'Age', epsilon: 5 }).expect(200)
  expect(body.result.value).toBeLessThanOrEqual(20)
})

test.each(['Dummy', 'real', 'dummy,dummy', ''])('on=%s is refused, and nothing is charged', async (on) => {
  const before = await head('two')
  for (const call of ['queries', 'queries/batch']) {
    const body = call === 'queries' ? COUNT : { queries: [COUNT] }
    const refused = await service
      .as('analyst')
      .post(`/v1/datasets/two/${call}?on=${on}`)
      .send(body)
      .expect(400)
    expect(refused.body.errors).toMatchObject([{ field: 'on' }])
    for (const parameter of ['rows=10', 'seed=x'])
      await service.as('analyst').post(`/v1/datasets/two/${call}?${parameter}`).send(body).expect(400)
  }
  expect(await head('two')).toEqual(before)
})

test('sessions cannot be practised, and none is opened and charged', async () => {
  const before = await head('two')
  const request = { threshold: 10, positives: 2, epsilon: 0.1 }
  const open = (query: string) =>
    service.as('analyst').post(`/v1/datasets/two/sparse-vector-sessions${query}`).send(request)
  const { body } = await open('?on=dummy').expect(400)
  expect(body.errors).toEqual([
    { field: 'on', rule: 'is not for sessions: only queries and batches can be practised' },
  ])
  expect(await head('two')).toEqual(before)
  const session = (await open('').expect(201)).body.id
  const question = { where: { column: 'Age', op: '>=', value: 30 } }
  await service
    .as('analyst')
    .post(`/v1/sparse-vector-sessions/${session}/questions?on=dummy`)
    .send(question)
    .expect(400)
})

test('only analysts practise, and a key for other datasets finds nothing', async () => {
  for (const role of ['custodian', 'auditor'] as const)
    await service.as(role).post('/v1/datasets/two/queries?on=dummy').send(COUNT).expect(403)
})

test('many requests at once are answered or refused, and leave a few tables behind', async () => {
  // One table or Parquet file is made at a time, and more tables than are kept.
  const practised = Array.from({ length: 8 }, (_, i) => practise('two', COUNT, `&rows=500&seed=s${i}`))
  const downloads = Array.from({ length: 4 }, (_, i) =>
    download('two', `?rows=1000&seed=s${i}&format=parquet`),
  )
  const statuses = (await Promise.all([...practised, ...downloads])).map(({ status }) => status)
  expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([])
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(4)
  const folders = await readdir(path.join(service.dataDirectory, 'temporary'))
  const left = () => readdir(path.join(service.dataDirectory, 'temporary', folders[0] ?? '', 'dummy'))
  await expect
    .poll(async () => (await left()).filter((name) => name !== 'engine').length)
    .toBeLessThanOrEqual(4)
  await service.restart()
  expect(
    createHash('sha256')
      .update(await fileOf('two'))
      .digest('hex'),
  ).toMatch(/^[0-9a-f]{64}$/)
})

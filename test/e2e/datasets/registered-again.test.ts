import { createHash } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import supertest from 'supertest'
import { beforeAll, describe, expect, test } from 'vitest'
import { testService, wholeText } from '../service.ts'

const service = testService()
const write = (name: string, text: string) => writeFile(path.join(service.dataDirectory, name), text)
beforeAll(async () => {
  await write('patients.csv', 'ill\ntrue\nfalse\ntrue\n')
  await write('copy.csv', 'ill\ntrue\nfalse\ntrue\n')
  await write('others.csv', 'ill\nfalse\n')
})

const patients = {
  id: 'patients',
  title: 'Patients',
  source: { kind: 'file', path: 'patients.csv', format: 'csv' },
  columns: [{ name: 'ill', type: 'boolean' }],
  privacyUnit: { kind: 'row' },
  neighbours: 'add-remove',
  budget: { epsilon: 10 },
}
const copied = { ...patients.source, path: 'copy.csv' }
const withdraw = (id: string) => service.as('custodian').delete(`/v1/datasets/${id}`).expect(204)
/** The true number of ill patients, which evaluations return for synthetic datasets only. */
const truthOf = (id: string) =>
  service
    .as('analyst')
    .post(`/v1/datasets/${id}/evaluations`)
    .send({
      query: { kind: 'count', where: { column: 'ill', op: '=', value: true }, epsilon: 1 },
      runs: 20,
    })

describe('attack: register real data again as synthetic and read the truth', () => {
  beforeAll(async () => {
    await service.register(patients).expect(201)
    expect((await truthOf('patients').expect(403)).body.code).toBe('not-synthetic')
    await withdraw('patients')
  })

  const attempts = async () => {
    const { body: sameId } = await service.register({ ...patients, synthetic: true }).expect(409)
    expect(sameId).toMatchObject({ code: 'budget-account-exists', errors: [{ field: 'synthetic' }] })
    const { body: otherFile } = await service
      .register({
        ...patients,
        source: { ...patients.source, path: 'others.csv' },
        synthetic: true,
      })
      .expect(409)
    expect(otherFile.code).toBe('budget-account-exists')
    for (const separateBudget of [undefined, 'for a demonstration']) {
      const { body } = await service
        .register({ ...patients, id: 'demo', source: copied, synthetic: true, separateBudget })
        .expect(409)
      expect(body).toMatchObject({ code: 'source-registered', errors: [{ field: 'synthetic' }] })
    }
    await truthOf('demo').expect(404)
    await truthOf('patients').expect(404)
  }

  test('after a withdrawal', attempts)

  test('after a restart', async () => {
    await service.restart()
    await attempts()
  })

  test('after the loss of the catalog', async () => {
    const loseCatalog = () => rm(path.join(service.dataDirectory, 'datasets'), { recursive: true })
    await service.stop()
    await loseCatalog()
    await mkdir(path.join(service.dataDirectory, 'datasets'))
    await service.restart()
    await attempts()
  })
})

test('attack: two budgets over one source of real data', async () => {
  await service.register({ ...patients, id: 'clinic', source: copied }).expect(409)
  const { body } = await service.register({ ...patients, id: 'clinic', source: copied }).expect(409)
  expect(body).toMatchObject({ code: 'source-registered', errors: [{ field: 'separateBudget' }] })
  await service.as('custodian').get('/v1/datasets/clinic/budget').expect(404)
  const separateBudget = 'the ethics committee of the clinic grants its own'
  const { body: registered } = await service
    .register({ ...patients, id: 'clinic', source: copied, separateBudget })
    .expect(201)
  expect(registered).not.toHaveProperty('separateBudget')
  const { body: ledger } = await service.as('auditor').get('/v1/datasets/clinic/ledger').expect(200)
  expect(ledger.entries).toMatchObject([
    { kind: 'source-reused', principal: 'custodian', reason: separateBudget },
    { kind: 'opened' },
  ])
  // The same id again, also without the reason.
  await withdraw('clinic')
  await service.register({ ...patients, id: 'clinic', source: copied }).expect(201)
})

test('attack: register real data beside a synthetic dataset that shows their truth', async () => {
  await writeFile(path.join(service.dataDirectory, 'shown.csv'), 'Age\n1\n2\n3\n')
  const source = { kind: 'file', path: 'shown.csv', format: 'csv' }
  const columns = [{ name: 'Age', type: 'integer', lower: 0, upper: 120 }]
  const shown = { ...patients, source, columns, id: 'shown' }
  await service.register({ ...shown, synthetic: true }).expect(201)
  const real = { ...shown, id: 'hidden', separateBudget: 'a mistake, to be corrected' }
  const { body } = await service.register(real).expect(409)
  expect(body).toMatchObject({ code: 'source-registered', errors: [{ field: 'source' }] })
  await withdraw('shown')
  await service.register(real).expect(201)
  await service.register({ ...shown, synthetic: true }).expect(409)
})

test('attack: a custodian limited to one dataset opens a second budget over the source of another', async () => {
  const { body } = await service
    .as('custodian')
    .post('/v1/keys')
    .send({ name: 'limited', role: 'custodian', datasets: ['ward'] })
    .expect(201)
  const separateBudget = 'a budget of our own'
  const { body: refused } = await supertest(service.url)
    .post('/v1/datasets')
    .set('authorization', `Bearer ${body.key}`)
    .send({ ...patients, id: 'ward', source: copied, separateBudget })
    .expect(403)
  expect(refused).toMatchObject({ code: 'forbidden', errors: [{ field: 'separateBudget' }] })
  await service.as('custodian').get('/v1/datasets/ward/budget').expect(404)
})

test('attack: confirm a guess of the file from what auditors and analysts see', async () => {
  const digest = createHash('sha256').update('ill\ntrue\nfalse\ntrue\n').digest('hex')
  for (const path of ['/v1/datasets', '/v1/datasets/clinic', '/v1/datasets/clinic/budget']) {
    for (const role of ['analyst', 'auditor'] as const) {
      const { text } = await service.as(role).get(path).expect(200)
      expect(text).not.toContain(digest)
    }
  }
  const { body } = await service
    .as('auditor')
    .get('/v1/datasets/clinic/ledger/export')
    .buffer(true)
    .parse(wholeText)
    .expect(200)
  expect(body).toContain('source-reused')
  expect(body).not.toContain(digest)
  // A salted or otherwise changed digest of the file would need a field of its own.
  const [opened] = body.split('\n')
  expect(Object.keys(JSON.parse(opened).event).sort()).toEqual([
    'at',
    'dataset',
    'kind',
    'loss',
    'neighbours',
    'previousHash',
    'principal',
    'salt',
    'sequence',
    'synthetic',
    'version',
  ])
})

test('synthetic data keep their budget to themselves', async () => {
  const madeUp = { ...patients, id: 'made-up', source: { ...copied, path: 'others.csv' }, synthetic: true }
  await service.register(madeUp).expect(201)
  await service.register({ ...madeUp, id: 'made-up-2' }).expect(201)
  await withdraw('made-up')
  const { body } = await service.register({ ...madeUp, synthetic: false }).expect(409)
  expect(body).toMatchObject({ code: 'budget-account-exists', errors: [{ field: 'synthetic' }] })
  await service.register(madeUp).expect(201)
})

import { expect, test } from 'vitest'
import { testService } from '../service.ts'

const service = testService()

const visits = {
  id: 'visits',
  title: 'Visits',
  source: { kind: 'population', rows: 200, seed: 'visits' },
  privacyUnit: { kind: 'row' },
  neighbours: 'add-remove',
  budget: { epsilon: 2, delta: 1e-6 },
  population: 'patients-north',
}
const drugs = { ...visits, id: 'drugs', source: { ...visits.source, seed: 'drugs' } }
const patients = { id: 'patients-north', privacyUnit: 'row', budget: { epsilon: 2, delta: 1e-6 } }
const count = (epsilon: number) => ({ kind: 'count', epsilon })
const custodian = () => service.as('custodian')
const create = (body: object) => custodian().post('/v1/populations').send(body)
const get = (what: string) => service.as('auditor').get(`/v1/${what}`)
const errorsOf = ({ body }: { body: { errors: readonly { field: string; rule: string }[] } }) => body.errors

test('datasets over one population spend one budget, in answers, previews, sessions and batches', async () => {
  expect(errorsOf(await service.register(visits).expect(409))).toEqual([
    { field: 'population', rule: 'must be the id of a population' },
  ])
  const { body: created, headers } = await create(patients).expect(201)
  expect(headers.location).toBe('/v1/populations/patients-north')
  const { budget: cap, ...facts } = patients
  expect(created).toMatchObject({ ...facts, neighbours: 'add-remove', cap, datasets: [] })
  await create(patients).expect(200)
  await create({ ...patients, privacyUnit: 'person' }).expect(409)
  for (const dataset of [visits, drugs]) {
    await service.register(dataset).expect(201)
    await service.register(dataset).expect(200)
  }
  expect((await get('datasets/visits').expect(200)).body.population).toBe('patients-north')

  const { body: answer } = await service.ask('visits', count(1)).expect(200)
  expect(answer.population).toEqual({
    id: 'patients-north',
    budget: {
      cap: { epsilon: 2, delta: 1e-6 },
      spent: { epsilon: 1, delta: 0 },
      remaining: { epsilon: 1, delta: 1e-6 },
    },
    receipt: { sequence: expect.any(Number), hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
  })
  const { body: head } = await get('populations/patients-north/ledger/head').expect(200)
  expect(head).toMatchObject({ dataset: '@population:patients-north', ...answer.population.receipt })

  const analyst = service.as('analyst')
  const { body: batch } = await analyst
    .post('/v1/datasets/drugs/queries/batch')
    .send({ queries: [count(0.5)] })
    .expect(200)
  expect(batch).toMatchObject({
    budget: { spent: { epsilon: 0.5 } },
    population: { budget: { spent: { epsilon: 1.5 } } },
  })
  const { body: preview } = await analyst
    .post('/v1/datasets/drugs/queries/preview')
    .send(count(0.6))
    .expect(200)
  expect(preview).toMatchObject({
    affordable: false,
    budget: { remaining: { epsilon: 1.5 } },
    population: { id: 'patients-north', budget: { remaining: { epsilon: 0.5 } } },
  })
  const { body: denied } = await service.ask('drugs', count(0.6)).expect(403)
  expect(denied).toMatchObject({
    code: 'budget-insufficient',
    level: 'population',
    remaining: { epsilon: 0.5 },
    errors: [
      {
        field: 'epsilon',
        rule: expect.stringMatching(/left in the budget of the population patients-north$/),
      },
    ],
  })
  const { body: session } = await analyst
    .post('/v1/datasets/visits/sparse-vector-sessions')
    .send({ threshold: 50, epsilon: 0.1, positives: 1 })
    .expect(201)
  expect(session.population.budget.spent).toEqual({ epsilon: 1.6, delta: 0 })

  const { body: population } = await get('populations/patients-north').expect(200)
  expect(population).toMatchObject({
    spent: { epsilon: 1.6 },
    datasets: [
      { dataset: 'drugs', spent: { epsilon: 0.5 } },
      { dataset: 'visits', spent: { epsilon: 1.1 } },
    ],
  })
  expect((await get('datasets/drugs/budget').expect(200)).body.population.budget.spent).toEqual(
    population.spent,
  )
  expect((await get('populations').expect(200)).body.populations).toMatchObject([{ id: 'patients-north' }])
})

test('an allotment and a grant on the population hold for all its datasets', async () => {
  const allotment = '/v1/populations/patients-north/analysts/colleague/allotment'
  const reason = 'a share'
  await custodian().put(allotment).send({ epsilon: 0.1, reason }).expect(200)
  const ask = (epsilon: number) =>
    service.asColleague().post('/v1/datasets/visits/queries').send(count(epsilon))
  const { body: denied } = await ask(0.2).expect(403)
  expect(denied).toMatchObject({ code: 'allotment-insufficient', level: 'population', cap: { epsilon: 0.1 } })
  const { body: answer } = await ask(0.05).expect(200)
  expect(answer.population.allotment.remaining).toEqual({ epsilon: 0.05, delta: 0 })
  const own = await service.asColleague().get('/v1/populations/patients-north/analysts').expect(200)
  expect(own.body.analysts).toMatchObject([{ analyst: 'colleague', spent: { epsilon: 0.05 } }])
  await custodian().delete(allotment).expect(200)
  const grants = '/v1/populations/patients-north/grants'
  const { body: raised } = await custodian().post(grants).send({ epsilon: 1, reason }).expect(200)
  expect(raised.cap).toEqual({ epsilon: 3, delta: 1e-6 })
  for (const path of [grants, '/v1/datasets/visits/grants'])
    expect(errorsOf(await custodian().post(path).send({ delta: 1e-7, reason }).expect(400))).toMatchObject([
      { field: 'delta' },
    ])
})

test('a dataset that differs is refused with the declaration that does', async () => {
  const refused = async (changes: object, status = 409) =>
    errorsOf(await service.register({ ...visits, id: 'other', ...changes }).expect(status)).map(
      ({ field }) => field,
    )
  expect(await refused({ population: 'nobody' })).toEqual(['population'])
  expect(await refused({ accounting: 'zcdp' })).toEqual(['accounting'])
  expect(await refused({ budget: { epsilon: 2 } })).toEqual(['budget.delta'])
  expect(await refused({ neighbours: 'change-one' })).toEqual(['neighbours'])
  await create({ id: 'people', privacyUnit: 'person', budget: patients.budget }).expect(201)
  expect(await refused({ population: 'people' })).toEqual(['privacyUnit.kind'])
})

test('a dataset moves in with all that it ever spent, and stays for ever', async () => {
  const lab = { ...visits, id: 'lab', source: { ...visits.source, seed: 'lab' }, population: undefined }
  await service.register(lab).expect(201)
  await service.ask('lab', count(1.9)).expect(200)
  const join = (dataset: string, population = 'patients-north') =>
    custodian().put(`/v1/populations/${population}/datasets/${dataset}`)
  expect(errorsOf(await join('lab').expect(409))).toEqual([
    { field: 'population', rule: 'must have left what lab has spent' },
  ])
  await custodian()
    .post('/v1/populations/patients-north/grants')
    .send({ epsilon: 5, reason: 'more' })
    .expect(200)
  const before = (await get('populations/patients-north')).body.spent.epsilon
  expect((await join('lab').expect(200)).body.spent.epsilon).toBeCloseTo(before + 1.9, 9)
  await join('lab').expect(200)
  await join('unknown').expect(404)
  await join('lab', 'nobody').expect(404)
  await join('lab', 'people').expect(409)
  expect((await get('datasets/lab')).body.population).toBe('patients-north')

  const spent = (await get('populations/patients-north')).body.spent
  await custodian().delete('/v1/datasets/lab').expect(204)
  await service.restart()
  expect(errorsOf(await service.register(lab).expect(409))).toMatchObject([{ field: 'population' }])
  await service.register({ ...lab, population: 'patients-north' }).expect(201)
  const source = { ...lab.source, seed: 'a year later' }
  await custodian().post('/v1/datasets/lab/versions').send({ source }).expect(201)
  expect((await get('populations/patients-north')).body.spent).toEqual(spent)
  const { body: answer } = await service.ask('lab', count(0.1)).expect(200)
  expect(answer.population.budget.spent.epsilon).toBeCloseTo(spent.epsilon + 0.1, 9)
})

test('what the service measures itself debits the population too', async () => {
  const population = { id: 'measured', privacyUnit: 'person', budget: { epsilon: 4, delta: 1e-6 } }
  await create(population).expect(201)
  const people = {
    ...{ id: 'stays', title: 'Stays', source: { kind: 'visits', people: 50, rows: 90, seed: 'stays' } },
    ...{ privacyUnit: { kind: 'person', column: 'patient_id', maxRows: 5 }, neighbours: 'add-remove' },
    ...{ budget: { epsilon: 4, delta: 1e-6 }, population: 'measured', leftOut: { epsilon: 0.25 } },
  }
  const { body } = await service.register(people)
  expect(body).toMatchObject({ id: 'stays', population: 'measured' })
  expect((await get('populations/measured')).body.spent).toEqual({ epsilon: 0.25, delta: 0 })
})

test('the chains of a population and its datasets are sound, and a limited key sees and changes only its own', async () => {
  for (const what of ['populations/patients-north', 'datasets/lab', 'datasets/visits'])
    expect((await get(`${what}/ledger/verification`).expect(200)).body).toMatchObject({ sound: true })
  const exported = await fetch(`${service.url}/v1/populations/patients-north/ledger/export`, {
    headers: { authorization: `Bearer ${service.keyOf('auditor')}` },
  })
  expect(await exported.text()).toContain('"member"')
  const { body: key } = await custodian()
    .post('/v1/keys')
    .send({ name: 'limited', role: 'custodian', datasets: ['lab', 'mine'] })
    .expect(201)
  const limited = () => service.as('custodian').set('authorization', `Bearer ${key.key}`)
  const { body: seen } = await limited().get('/v1/populations/patients-north').expect(200)
  expect(seen.datasets).toMatchObject([{ dataset: 'lab' }])
  await limited().get('/v1/populations/measured').expect(404)
  for (const what of ['ledger/export', 'analysts'])
    await limited().get(`/v1/populations/patients-north/${what}`).expect(403)
  const { body: list } = await limited().get('/v1/populations').expect(200)
  expect(list.populations).toMatchObject([{ id: 'patients-north' }])
  await limited()
    .post('/v1/datasets')
    .send({ ...visits, id: 'mine' })
    .expect(403)
  await limited().put('/v1/populations/patients-north/datasets/lab').expect(403)
  await limited()
    .post('/v1/populations')
    .send({ ...patients, id: 'mine' })
    .expect(403)
})

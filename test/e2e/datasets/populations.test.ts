import { expect, test } from 'vitest'
import { connect } from '../../../clients/typescript/src/client.ts'
import { count as counted } from '../../../clients/typescript/src/queries.ts'
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
  expect((await create(patients).expect(200)).body.cap).toEqual(raised.cap)
  await create({ ...patients, budget: { epsilon: 3, delta: 1e-6 } }).expect(409)
  for (const path of [grants, '/v1/datasets/visits/grants'])
    expect(errorsOf(await custodian().post(path).send({ delta: 1e-7, reason }).expect(400))).toMatchObject([
      { field: 'delta' },
    ])
})

test('batches about several datasets are charged to the population as their sum, all or none', async () => {
  const population = { ...patients, id: 'travellers' }
  await create(population).expect(201)
  for (const id of ['trips', 'hotels'])
    await service
      .register({ ...visits, id, source: { ...visits.source, seed: id }, population: 'travellers' })
      .expect(201)
  const both = (trips: number, hotels: number) => ({
    batches: [
      { dataset: 'trips', queries: [count(trips)] },
      { dataset: 'hotels', queries: [count(hotels)] },
    ],
  })
  const path = '/v1/populations/travellers/queries/batch'
  const ask = (body: object) => service.as('analyst').post(path).send(body)
  const preview = async (body: object) =>
    (await service.as('analyst').post(`${path}/preview`).send(body).expect(200)).body
  const spent = async () => {
    const { body } = await get('populations/travellers').expect(200)
    return [body.spent.epsilon, ...body.datasets.map((each: typeof body) => each.spent.epsilon)]
  }

  // Each fits into the population, as the larger one of them does.
  expect(await preview(both(1.2, 1))).toMatchObject({
    ...{ affordable: false, cost: { epsilon: 2.2 }, population: { budget: { remaining: { epsilon: 2 } } } },
    batches: [{ affordable: true, cost: { epsilon: 1.2 } }, { affordable: true }],
  })
  const { body: denied } = await ask(both(1.2, 1)).set('idempotency-key', 'k').expect(403)
  expect(denied).toMatchObject({
    ...{ code: 'budget-insufficient', level: 'population', price: { epsilon: 2.2 } },
    remaining: { epsilon: 2 },
  })
  expect(await spent()).toEqual([0, 0, 0])
  expect(errorsOf(await ask(both(3, 0.1)).expect(403))).toMatchObject([{ field: 'batches.0.epsilon' }])

  const { body: answer, headers } = await ask(both(0.5, 0.25)).expect(200)
  expect(headers['idempotent-replayed']).toBeUndefined()
  expect(answer).toMatchObject({
    ...{ population: 'travellers', cost: { epsilon: 0.75, delta: 0 } },
    batches: [
      { dataset: 'trips', cost: { epsilon: 0.5 }, receipt: {} },
      { dataset: 'hotels', population: { budget: { spent: { epsilon: 0.75 } }, receipt: {} } },
    ],
  })
  expect(await spent()).toEqual([0.75, 0.25, 0.5])
  // Each is also the answer to the batch about its dataset.
  const { body: alone } = await service
    .as('analyst')
    .post('/v1/datasets/trips/queries/batch')
    .send({ queries: [count(0.5)] })
    .expect(200)
  expect(alone.answers).toEqual(answer.batches[0].answers)
  const again = await ask(both(0.5, 0.25)).expect(200)
  expect(again.headers['idempotent-replayed']).toBe('true')
  expect(again.body).toMatchObject({ cost: { epsilon: 0 }, batches: [{ price: { epsilon: 0.5 } }, {}] })
  expect(await preview(both(0.5, 0.25))).toMatchObject({ paid: true, cost: { epsilon: 0 } })

  const client = connect(service.url, service.keyOf('analyst'))
  const replayed = await client.batch('travellers', {
    trips: [counted({ epsilon: 0.5 })],
    hotels: [counted({ epsilon: 0.25 })],
  })
  expect(replayed).toMatchObject({
    trips: { replayed: true, price: { epsilon: 0.5 } },
    hotels: { answers: [{}] },
  })

  // A chosen key belongs to the whole request, whatever a part of it has in common with another one.
  const keyed = (trips: number, hotels: number) => ask(both(trips, hotels)).set('idempotency-key', 'mine')
  await keyed(0.1, 0.1).expect(200)
  await keyed(0.1, 0.2).expect(422)
  expect((await keyed(0.1, 0.1).expect(200)).body.cost).toEqual({ epsilon: 0, delta: 0 })
  expect(await spent()).toEqual([0.95, 0.35, 0.6])

  for (const [body, status, fields] of [
    [{ batches: [{ dataset: 'visits', queries: [count(0.1)] }] }, 400, ['batches.0.dataset']],
    [{ batches: [{ dataset: 'unknown', queries: [count(0.1)] }] }, 404, undefined],
    [{ batches: [both(1, 1).batches[0], both(1, 1).batches[0]] }, 400, ['batches']],
  ] as const) {
    const refused = await ask(body).expect(status)
    expect(fields && errorsOf(refused).map(({ field }) => field)).toEqual(fields)
  }
  for (const what of ['populations/travellers', 'datasets/trips', 'datasets/hotels'])
    expect((await get(`${what}/ledger/verification`)).body).toMatchObject({ sound: true })
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
  for (const what of ['ledger/export', 'ledger/verification', 'analysts'])
    await limited().get(`/v1/populations/patients-north/${what}`).expect(403)
  const { body: list } = await limited().get('/v1/populations').expect(200)
  expect(list.populations).toMatchObject([{ id: 'patients-north' }])
  await limited()
    .post('/v1/datasets')
    .send({ ...visits, id: 'mine' })
    .expect(403)
  await limited().put('/v1/populations/patients-north/datasets/lab').expect(403)
  // Its own dataset is in the population for ever, and may be registered again.
  await limited().delete('/v1/datasets/lab').expect(204)
  const lab = { ...visits, id: 'lab', source: { ...visits.source, seed: 'lab' } }
  await limited()
    .post('/v1/datasets')
    .send({ ...lab, population: 'people' })
    .expect(403)
  await limited().post('/v1/datasets').send(lab).expect(201)
  const preview = (dataset: string) =>
    limited()
      .post('/v1/populations/patients-north/queries/batch/preview')
      .send({ batches: [{ dataset, queries: [count(0.1)] }] })
  await preview('lab').expect(200)
  expect((await preview('visits').expect(404)).body.code).toBe('unknown-dataset')
  await limited()
    .post('/v1/populations')
    .send({ ...patients, id: 'mine' })
    .expect(403)
})

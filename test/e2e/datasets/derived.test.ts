import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { testService } from '../service.ts'

const service = testService()

const derived = [
  { name: 'late', expression: 'arrived - due', description: 'Delay', unit: 'min' },
  { name: 'seen_on', expression: "date(local(seen, 'Asia/Tokyo'))" },
  { name: 'adult', expression: 'age >= 18' },
  { name: 'when', expression: "case when late > 0 then 'late' else 'in time' end" },
]
const flights = {
  id: 'flights',
  title: 'Flights',
  source: { kind: 'file', path: 'flights.csv', format: 'csv' },
  columns: [
    { name: 'person', type: 'identifier' },
    { name: 'arrived', type: 'integer', lower: 0, upper: 100 },
    { name: 'due', type: 'integer', lower: 0, upper: 60, nullable: true },
    { name: 'seen', type: 'timestamp', lower: '2024-01-01T00:00:00Z', upper: '2024-12-31T23:59:59Z' },
    { name: 'age', type: 'integer', lower: 0, upper: 120, constantPerPerson: true },
  ],
  derived,
  privacyUnit: { kind: 'person', column: 'person', maxRows: 4 },
  neighbours: 'add-remove',
  budget: { epsilon: 10_000 },
}
beforeAll(async () => {
  const rows = [
    'person,arrived,due,seen,age',
    'a,50,20,2024-05-01T20:00:00Z,30',
    'b,10,20,2024-05-02T08:00:00Z,9',
  ]
  await writeFile(path.join(service.dataDirectory, 'flights.csv'), `${rows.join('\n')}\n`)
  await service.register(flights).expect(201)
})

const facts = async () => (await service.as('analyst').get('/v1/datasets/flights').expect(200)).body
const publish = (body: object) => service.as('custodian').post('/v1/datasets/flights/versions').send(body)
/** Noise of scale 1/90 is 0 except with a probability below 1e-38. */
const asked = {
  kind: 'count',
  where: { column: 'late', op: '>', value: 20 },
  contribution: { rows: 1 },
  epsilon: 90,
  mechanism: 'geometric',
}
const ask = (key?: string) => {
  const request = service.as('analyst').post('/v1/datasets/flights/queries')
  return key === undefined ? request.send(asked) : request.set('idempotency-key', key).send(asked)
}

test('analysts see the facts that follow from expressions', async () => {
  expect((await facts()).derived).toEqual([
    { ...derived[0], type: 'integer', lower: -60, upper: 100, step: 1, nullable: true },
    { ...derived[1], type: 'date', lower: '2024-01-01', upper: '2025-01-01', step: 1, nullable: false },
    { ...derived[2], type: 'boolean', nullable: false, constantPerPerson: true },
    { ...derived[3], type: 'category', categories: ['late', 'in time'], nullable: false },
  ])
})

test('texts that are longer than a declared category may be are shown like others', async () => {
  const long = 'x'.repeat(201)
  const expression = `case when age >= 18 then '${long}' else 'young' end`
  const other = {
    ...flights,
    id: 'long-texts',
    derived: [{ name: 'd', expression }],
    separateBudget: 'A test.',
  }
  const { body } = await service.register(other).expect(201)
  expect(body.derived[0].categories).toEqual([long, 'young'])
  await service.as('analyst').get('/v1/datasets').expect(200)
})

test('their texts change like those of columns', async () => {
  const change = { columns: [{ name: 'late', unit: 'minutes', description: null }] }
  const { body } = await service.as('custodian').patch('/v1/datasets/flights').send(change).expect(200)
  expect(body.derived[0]).toMatchObject({ name: 'late', expression: 'arrived - due', unit: 'minutes' })
  expect(body.derived[0].description).toBeUndefined()
})

test('a version adds expressions and keeps those before', async () => {
  const other = [{ name: 'late', expression: 'due - arrived' }, ...derived.slice(1)]
  const refused = await publish({ derived: other }).expect(400)
  expect(refused.body.errors).toEqual([
    { field: 'derived.0.expression', rule: 'must be "arrived - due", as in the version before' },
  ])
  expect((await publish({ derived: derived.slice(1) }).expect(400)).body.errors[0].field).toBe(
    'derived.3.name',
  )
  const [{ name, expression }, ...others] = derived as [(typeof derived)[0], ...typeof derived]
  const { body } = await publish({
    derived: [{ name, expression }, ...others, { name: 'twice', expression: 'late * 2' }],
  }).expect(201)
  expect(body).toMatchObject({ version: '2', derived: [{ unit: 'minutes' }, {}, {}, {}, { upper: 200 }] })
  // The file is read again, under all expressions.
  await publish({}).expect(200)
})

test('attack: an answer about another definition is never replayed', async () => {
  const { body } = await ask().expect(200)
  expect(body.result.value).toBe(1)
  expect((await ask().expect(200)).body.id).toBe(body.id)
  await ask('chosen').expect(200)
  await service.as('custodian').delete('/v1/datasets/flights').expect(204)
  const other = [{ name: 'late', expression: 'due - arrived' }, ...derived.slice(1)]
  await service.register({ ...flights, derived: other }).expect(201)
  expect((await ask().expect(200)).body.result.value).toBe(0)
  expect((await ask('chosen')).body).toMatchObject({ code: 'idempotency-key-reused' })
})

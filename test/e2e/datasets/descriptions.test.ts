import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { testService } from '../service.ts'

const service = testService()
beforeAll(async () => {
  await writeFile(path.join(service.dataDirectory, 'staff.csv'), 'id,pay\na,1000\nb,2000\n')
  await service.register(staff).expect(201)
})

const staff = {
  id: 'staff',
  title: 'Stuff',
  source: { kind: 'file', path: 'staff.csv', format: 'csv' },
  columns: [
    { name: 'id', type: 'identifier' },
    { name: 'pay', type: 'integer', lower: 0, upper: 10_000, description: 'Pay' },
  ],
  privacyUnit: { kind: 'person', column: 'id', maxRows: 1 },
  neighbours: 'add-remove',
  budget: { epsilon: 1_000 },
}
const change = (body: object) => service.as('custodian').patch('/v1/datasets/staff').send(body)
const facts = async () => (await service.as('analyst').get('/v1/datasets/staff').expect(200)).body

test('the title, descriptions and units change, and nothing else does', async () => {
  const before = await facts()
  const count = { kind: 'count', of: 'people', epsilon: 90, mechanism: 'geometric' }
  const ask = () => service.ask('staff', count)
  const answered = await ask()
  expect(answered.status, JSON.stringify(answered.body)).toBe(200)
  const { body } = await change({
    title: 'Staff',
    description: 'Everybody who was paid in May.',
    columns: [
      { name: 'pay', description: null, unit: 'EUR' },
      { name: 'id', description: 'Number of the person' },
    ],
  }).expect(200)
  const [id, { description: _, ...pay }] = before.columns
  expect(body).toEqual({
    ...before,
    title: 'Staff',
    description: 'Everybody who was paid in May.',
    columns: [
      { ...id, description: 'Number of the person' },
      { ...pay, unit: 'EUR' },
    ],
  })
  expect(await facts()).toEqual(body)
  expect((await ask().expect(200)).headers['idempotent-replayed']).toBe('true')
  const { body: acts } = await service.as('auditor').get('/v1/administration/events').expect(200)
  expect(acts.events[0]).toMatchObject({
    kind: 'dataset-described',
    principal: 'custodian',
    subject: 'staff',
    facts: { version: '1', changed: ['title', 'description', 'columns'] },
  })
  await service.restart()
  expect(await facts()).toEqual(body)
})

test('the same texts again change nothing, and are not recorded', async () => {
  const before = await service.as('auditor').get('/v1/administration/head').expect(200)
  await change({ title: 'Staff', columns: [{ name: 'pay', unit: 'EUR' }] }).expect(200)
  expect((await service.as('auditor').get('/v1/administration/head').expect(200)).body).toEqual(before.body)
})

test('a new version keeps the texts', async () => {
  await writeFile(path.join(service.dataDirectory, 'staff.csv'), 'id,pay\na,1000\nc,3000\nd,1\n')
  const columns = [
    { name: 'id', type: 'identifier' },
    { name: 'pay', type: 'integer', lower: 0, upper: 20_000, description: 'Pay of a month' },
  ]
  const { body } = await service
    .as('custodian')
    .post('/v1/datasets/staff/versions')
    .send({ columns })
    .expect(201)
  expect(body).toMatchObject({
    title: 'Staff',
    columns: [{ description: 'Number of the person' }, { description: 'Pay of a month', unit: 'EUR' }],
  })
})

test.each([
  ['another declaration', { neighbours: 'change-one' }],
  ['a column that is not declared', { columns: [{ name: 'age', unit: 'years' }] }],
  ['a column twice', { columns: [{ name: 'pay' }, { name: 'pay' }] }],
  ['the unit of a column without numbers', { columns: [{ name: 'id', unit: 'EUR' }] }],
  ['another type of a column', { columns: [{ name: 'pay', type: 'number' }] }],
  ['no title', { title: '' }],
])('refuses %s', async (_name, body) => {
  const before = await facts()
  await change(body).expect(400)
  expect(await facts()).toEqual(before)
})

test('needs a custodian and a known dataset', async () => {
  await service.as('analyst').patch('/v1/datasets/staff').send({ title: 'Mine' }).expect(403)
  await service.as('custodian').patch('/v1/datasets/unknown').send({ title: 'Staff' }).expect(404)
})

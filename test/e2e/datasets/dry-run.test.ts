import { readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import supertest from 'supertest'
import { beforeAll, expect, test } from 'vitest'
import { createKey } from '../../api-key.ts'
import { testService } from '../service.ts'

const service = testService()
beforeAll(async () => {
  await writeFile(path.join(service.dataDirectory, 'ages.csv'), 'age,sex\n31,F\n32,M\nold,F\n')
})

const registration = {
  id: 'ages',
  title: 'Ages',
  source: { kind: 'file', path: 'ages.csv', format: 'csv' },
  columns: [
    { name: 'age', type: 'integer', lower: 0, upper: 120, nullable: true },
    { name: 'sex', type: 'category', categories: ['F', 'M'] },
  ],
  privacyUnit: { kind: 'row' },
  neighbours: 'add-remove',
  budget: { epsilon: 1 },
}
const tryOut = (changes: object = {}, agent = service.as('custodian')) =>
  agent.post('/v1/datasets?dryRun=true').send({ ...registration, ...changes })
const acts = async () => (await service.as('auditor').get('/v1/administration/events').expect(200)).body

test('a dry run checks the source and publishes and records nothing', async () => {
  const before = await acts()
  const { body } = await tryOut().expect(200)
  expect(body).toMatchObject({ dryRun: true, id: 'ages', ingestion: { rowsRead: 3, rowsStored: 3 } })
  expect(body.ingestion.invalidValues).toMatchObject([
    { column: 'age', values: 1 },
    { column: 'sex', values: 0 },
  ])
  expect(body.disclosureRisk).toMatchObject({ candidates: 2 })
  expect(await acts()).toEqual(before)
  await service.as('custodian').get('/v1/datasets/ages').expect(404)
  await service.as('custodian').get('/v1/datasets/ages/budget').expect(404)
  const files = await readdir(path.join(service.dataDirectory, 'datasets'), { recursive: true })
  expect(files.filter((name) => name.includes('ages'))).toEqual([])
})

test('a dry run is refused as the registration would be', async () => {
  const [, sex] = registration.columns
  const strict = [{ ...registration.columns[0], nullable: false }, sex]
  const misfit = await tryOut({ columns: strict }).expect(422)
  expect(misfit.body).toMatchObject({ code: 'source-does-not-fit', errors: [{ field: 'columns.0.name' }] })
  await tryOut({ source: { ...registration.source, path: 'missing.csv' } }).expect(422)

  await service.register(registration).expect(201)
  await tryOut().expect(200)
  expect((await tryOut({ title: 'Other' }).expect(409)).body.code).toBe('dataset-exists')
  const elsewhere = await tryOut({ id: 'again' }).expect(409)
  expect(elsewhere.body).toMatchObject({ code: 'source-registered', errors: [{ field: 'separateBudget' }] })
  const shown = await tryOut({ id: 'again', synthetic: true }).expect(409)
  expect(shown.body).toMatchObject({ code: 'source-registered', errors: [{ field: 'synthetic' }] })
  await tryOut({ id: 'again', separateBudget: 'Another study.' }).expect(200)
})

test('a dry run of a version checks its source, and is refused as the version would be', async () => {
  const tryVersion = (body: object) =>
    service.as('custodian').post('/v1/datasets/ages/versions?dryRun=true').send(body)
  const source = { kind: 'file', path: 'next.csv', format: 'csv' }
  await writeFile(path.join(service.dataDirectory, 'next.csv'), 'age,sex\n33,F\n34,M\n35,D\n36,F\n')
  const before = await acts()
  expect((await tryVersion({}).expect(200)).body).toMatchObject({ dryRun: true, id: 'ages', unchanged: true })
  const misfit = await tryVersion({ source }).expect(422)
  expect(misfit.body).toMatchObject({ code: 'source-does-not-fit', errors: [{ field: 'columns.1.name' }] })
  const [age, sex] = registration.columns
  const wider = [age, { ...sex, categories: ['F', 'M', 'D'] }]
  const { body } = await tryVersion({ source, columns: wider }).expect(200)
  expect(body).toMatchObject({ unchanged: false, ingestion: { rowsRead: 4, rowsStored: 4 } })
  await tryVersion({ source, columns: [age] }).expect(400)
  // A source of another dataset.
  await writeFile(path.join(service.dataDirectory, 'others.csv'), 'age,sex\n41,F\n')
  const others = { ...source, path: 'others.csv' }
  const custodian = service.as('custodian')
  await custodian
    .post('/v1/datasets')
    .send({ ...registration, id: 'others', source: others })
    .expect(201)
  expect((await tryVersion({ source: others }).expect(409)).body.code).toBe('source-registered')
  await tryVersion({ source: others, separateBudget: 'Another study.' }).expect(200)
  // A source of its own, over which another id was given a separate budget.
  const separate = { id: 'separate', source: others, separateBudget: 'Another study.' }
  await custodian
    .post('/v1/datasets')
    .send({ ...registration, ...separate })
    .expect(201)
  const own = await custodian.post('/v1/datasets/others/versions?dryRun=true').send({}).expect(200)
  expect(own.body).toMatchObject({ unchanged: true })
  await custodian.delete('/v1/datasets/separate').expect(204)
  await custodian.delete('/v1/datasets/others').expect(204)
  const unknown = await custodian.post('/v1/datasets/never/versions?dryRun=true').send({}).expect(404)
  expect(unknown.body.code).toBe('unknown-dataset')

  const { versions } = (await custodian.get('/v1/datasets/ages/versions').expect(200)).body
  expect(versions).toHaveLength(1)
  const published = ({ events }: { events: { subject: string }[] }) =>
    events.filter(({ subject }) => subject === 'ages')
  expect(published(await acts())).toEqual(published(before))
})

test('attack: a limited custodian counts values of a file without a record', async () => {
  const key = await createKey(service.dataDirectory, {
    name: 'limited',
    role: 'custodian',
    datasets: ['theirs'],
  })
  const limited = () => supertest.agent(service.url).set('authorization', `Bearer ${key}`)
  expect((await tryOut({ id: 'theirs' }, limited()).expect(403)).body.errors[0].field).toBe('source.kind')
  await tryOut({ id: 'again' }, limited()).expect(403)
  const sent = await limited().post('/v1/sources').attach('file', Buffer.from('age,sex\n1,F\n'), 'a.csv')
  const source = { kind: 'upload', upload: sent.body.id, format: 'csv' }
  await tryOut({ id: 'theirs', source }, limited()).expect(200)

  await limited()
    .post('/v1/datasets')
    .send({ ...registration, id: 'theirs', source })
    .expect(201)
  const tryVersion = (body: object) => limited().post('/v1/datasets/theirs/versions?dryRun=true').send(body)
  const file = await tryVersion({ source: registration.source }).expect(403)
  expect(file.body.errors[0].field).toBe('source.kind')
  await tryVersion({ source }).expect(200)
})

test('attack: a limited custodian confirms a guess of the file of another dataset without a record', async () => {
  const content = 'age,sex\n51,F\n52,M\n'
  await writeFile(path.join(service.dataDirectory, 'secret.csv'), content)
  const secret = { ...registration, id: 'secret', source: { ...registration.source, path: 'secret.csv' } }
  await service.register(secret).expect(201)
  const key = await createKey(service.dataDirectory, {
    name: 'guesser',
    role: 'custodian',
    datasets: ['guess', 'wrong'],
  })
  const guesser = () => supertest.agent(service.url).set('authorization', `Bearer ${key}`)
  const guess = async (id: string, text: string, changes: object = {}) => {
    const sent = await guesser()
      .post('/v1/sources')
      .attach('file', Buffer.from(text), 'guess.csv')
      .expect(201)
    return {
      ...registration,
      id,
      source: { kind: 'upload', upload: sent.body.id, format: 'csv' },
      ...changes,
    }
  }
  const right = await guess('guess', content)
  const wrong = await guess('wrong', content.replace('52', '53'))
  const tried = async (declared: object) => {
    const { status, body } = await guesser().post('/v1/datasets?dryRun=true').send(declared)
    return { status, body: { ...body, id: '' } }
  }
  expect(await tried(right)).toEqual(await tried(wrong))
  expect(await tried({ ...right, synthetic: true })).toEqual(await tried({ ...wrong, synthetic: true }))
  await guesser().post('/v1/datasets').send(wrong).expect(201)
  const version = (source: object) =>
    guesser().post('/v1/datasets/wrong/versions?dryRun=true').send({ source }).expect(200)
  expect((await version(right.source)).body).toMatchObject({ unchanged: false })

  // The registration is refused, because the same people would have two budgets. Both outcomes are recorded.
  const refused = await guesser().post('/v1/datasets').send(right).expect(409)
  expect(refused.body.code).toBe('source-registered')
  expect(refused.text).not.toContain('secret')
  const asVersion = await guesser()
    .post('/v1/datasets/wrong/versions')
    .send({ source: right.source })
    .expect(409)
  expect(asVersion.body.code).toBe('source-registered')
  const shown = await guesser()
    .post('/v1/datasets')
    .send({ ...right, synthetic: true })
    .expect(409)
  expect(shown.body.errors[0].field).toBe('synthetic')
  const { events } = await acts()
  const recorded = events
    .filter(({ principal }: { principal: string }) => principal === 'guesser')
    .map(({ kind, subject, facts }: { kind: string; subject: string; facts: object }) => ({
      kind,
      subject,
      facts,
    }))
  expect(recorded).toEqual([
    { kind: 'source-refused', subject: 'guess', facts: { because: 'registered-as-real' } },
    { kind: 'source-refused', subject: 'wrong', facts: { because: 'registered-elsewhere' } },
    { kind: 'source-refused', subject: 'guess', facts: { because: 'registered-elsewhere' } },
    { kind: 'dataset-registered', subject: 'wrong', facts: { version: '1', synthetic: false } },
  ])
  await guesser().get('/v1/datasets/guess/budget').expect(404)
})

import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import supertest from 'supertest'
import { describe, expect, test } from 'vitest'
import { createKey } from '../../api-key.ts'
import { testService } from '../service.ts'

const service = testService({}, { census: true })

const COUNT = { kind: 'count', epsilon: 0.01 }

function withKey(key: string) {
  return supertest.agent(service.url).set('authorization', `Bearer ${key}`)
}

async function create(request: object): Promise<{ id: string; key: string }> {
  return (await service.as('custodian').post('/v1/keys').send(request).expect(201)).body
}

test('a key is shown once, is valid at once, and is listed without its text and digest', async () => {
  const { key, ...created } = await create({
    name: 'ada',
    role: 'analyst',
    datasets: ['census'],
    expiresAt: '2990-01-31T12:00:00+01:00',
    quota: { requestsPerMinute: 100 },
  })
  expect(created).toEqual({
    id: 'ada.1',
    name: 'ada',
    role: 'analyst',
    datasets: ['census'],
    expiresAt: '2990-01-31T11:00:00.000Z',
    quota: { requestsPerMinute: 100 },
    createdAt: expect.any(String),
    createdBy: 'custodian',
  })
  await withKey(key).post('/v1/datasets/census/queries').send(COUNT).expect(200)
  const { text, body } = await service.as('custodian').get('/v1/keys').expect(200)
  expect(body.keys.find(({ id }: { id: string }) => id === 'ada.1')).toEqual(created)
  expect(text).not.toContain(key)
  expect(text).not.toMatch(/[0-9a-f]{64}|sha256/)
})

test('a setting that must be above 0 says so', async () => {
  const request = { name: 'zoe', role: 'analyst', settings: { epsilon: 0 } }
  const { body } = await service.as('custodian').post('/v1/keys').send(request).expect(400)
  expect(body.errors).toEqual([{ field: 'settings.epsilon', rule: 'must be greater than 0' }])
})

test('a rotated key is replaced at the end of the overlap', async () => {
  const { id, key: first } = await create({ name: 'bob', role: 'analyst' })
  const rotate = async (body: object): Promise<string> =>
    (await service.as('custodian').post(`/v1/keys/${id}/rotate`).send(body).expect(200)).body.key
  const second = await rotate({})
  for (const key of [first, second]) await withKey(key).get('/v1/datasets').expect(200)
  const third = await rotate({ overlapSeconds: 0 })
  for (const key of [first, second]) await withKey(key).get('/v1/datasets').expect(401)
  await withKey(third).get('/v1/datasets').expect(200)
})

test('a deleted key is refused at once, and its releases remain with the principal', async () => {
  const { id, key } = await create({ name: 'carl', role: 'analyst' })
  const { body } = await withKey(key).post('/v1/datasets/census/queries').send(COUNT).expect(200)
  await service.as('custodian').delete(`/v1/keys/${id}`).expect(204)
  await withKey(key).get('/v1/datasets').expect(401)
  await service.as('custodian').delete(`/v1/keys/${id}`).expect(404)
  const { body: refused } = await service
    .as('custodian')
    .post('/v1/keys')
    .send({ name: 'carl', role: 'analyst' })
    .expect(409)
  expect(refused.code).toBe('key-name-taken')
  const again = await create({ name: 'carl', role: 'analyst', samePrincipal: true })
  expect(again.id).toBe('carl.2')
  await withKey(again.key).get(`/v1/releases/${body.id}`).expect(200)
})

test('a key that the command line creates, rotates or deletes needs no restart', async () => {
  const key = await createKey(service.dataDirectory, { name: 'dora', role: 'auditor' })
  await withKey(key).get('/v1/datasets/census/ledger/verification').expect(200)
  await service.as('custodian').delete('/v1/keys/dora.1').expect(204)
  await withKey(key).get('/v1/datasets').expect(401)
})

describe('an invalid request is refused:', () => {
  test.each([
    ['an unknown role', { name: 'x', role: 'admin' }, 400],
    ['a name with other characters', { name: 'X y', role: 'analyst' }, 400],
    ['a name with the prefix of an identity provider', { name: 'oidc:x', role: 'analyst' }, 400],
    ['a name of the service', { name: 'sotto', role: 'analyst' }, 400],
    ['no datasets', { name: 'x', role: 'analyst', datasets: [] }, 400],
    ['an expiry without a zone', { name: 'x', role: 'analyst', expiresAt: '2990-01-01T00:00:00' }, 400],
    ['an expiry in the past', { name: 'x', role: 'analyst', expiresAt: '2020-01-01T00:00:00Z' }, 400],
    [
      'an expiry beyond the years',
      { name: 'x', role: 'analyst', expiresAt: '9999-12-31T23:59:59-23:59' },
      400,
    ],
    ['a negative quota', { name: 'x', role: 'analyst', quota: { burst: -1 } }, 400],
    ['a key of its own choice', { name: 'x', role: 'analyst', key: 'sotto_mine' }, 400],
    ['a role change', { name: 'analyst', role: 'custodian', samePrincipal: true }, 409],
  ])('%s', async (_, request, status) => {
    await service.as('custodian').post('/v1/keys').send(request).expect(status)
  })
})

test('the last custodian cannot lock everybody out, and other roles manage no keys', async () => {
  const { body } = await service.as('custodian').delete('/v1/keys/custodian.1').expect(409)
  expect(body.code).toBe('last-custodian-key')
  for (const role of ['analyst', 'auditor'] as const) {
    await service.as(role).get('/v1/keys').expect(403)
    await service.as(role).post('/v1/keys').send({ name: 'x', role: 'custodian' }).expect(403)
  }
})

test('an allotment is refused for a name without an analyst key', async () => {
  const path = '/v1/datasets/census/analysts/annalyst/allotment'
  const { body } = await service.as('custodian').put(path).send({ epsilon: 1, reason: 'x' }).expect(404)
  expect(body.code).toBe('unknown-analyst')
})

test('a damaged key file answers 503, and the log names the file but nothing in it', async () => {
  const file = path.join(service.dataDirectory, 'keys.json')
  const whole = await readFile(file, 'utf8')
  await writeFile(file, whole.slice(0, -20))
  const { body } = await service.as('analyst').get('/v1/datasets').expect(503)
  expect(body.code).toBe('unavailable')
  expect(body.detail).not.toContain(service.dataDirectory)
  const logged = service.logLines.findLast((line) => line.includes('keys.json is damaged'))
  expect(logged).toBeDefined()
  expect(logged).not.toMatch(/[0-9a-f]{64}/)
  await writeFile(file, whole)
  await service.as('analyst').get('/v1/datasets').expect(200)
})

test('changes of keys and refused sign-ins are administrative acts', async () => {
  const acts = async () =>
    (await service.as('auditor').get('/v1/administration/events?limit=200').expect(200)).body.events
  const { id, key } = await create({ name: 'greta', role: 'analyst', datasets: ['census'] })
  await service.as('custodian').post(`/v1/keys/${id}/rotate`).send({ overlapSeconds: 5 }).expect(200)
  await service.as('custodian').delete(`/v1/keys/${id}`).expect(204)
  const ofGreta = (await acts()).filter(({ subject }: { subject: string }) => subject === id)
  const facts = { name: 'greta', role: 'analyst', datasets: ['census'] }
  expect(ofGreta).toMatchObject([
    { kind: 'key-deleted', principal: 'custodian', facts },
    { kind: 'key-rotated', principal: 'custodian', facts: { ...facts, overlapSeconds: 5 } },
    { kind: 'key-created', principal: 'custodian', facts },
  ])
  // The keys of the start, and those of the command line, are recorded by the running service.
  await createKey(service.dataDirectory, { name: 'hanna', role: 'analyst' })
  await expect
    .poll(async () => (await acts()).map(({ subject }: { subject: string }) => subject))
    .toContain('hanna.1')
  expect((await acts()).map(({ subject }: { subject: string }) => subject)).toContain('analyst.1')

  for (const wrong of [key, `${key}x`, 'no key']) await withKey(wrong).get('/v1/datasets').expect(401)
  // A request without a credential is no sign-in.
  await supertest(service.url).get('/v1/datasets').expect(401)
  await service.restart()
  const [refused] = (await acts()).filter(({ kind }: { kind: string }) => kind === 'sign-in-refused')
  expect(refused).toMatchObject({ subject: '127.0.0.1', principal: 'sotto' })
  expect(refused.facts.count).toBeGreaterThanOrEqual(2)
  expect(JSON.stringify(await acts())).not.toContain(key.slice(6))
  const verified = await service.as('auditor').get('/v1/administration/verification').expect(200)
  expect(verified.body.sound).toBe(true)
})

test('neither a key nor its digest appears in the log', async () => {
  const { key } = await create({ name: 'frida', role: 'analyst' })
  await withKey(key).get('/v1/datasets').expect(200)
  await withKey(`${key.slice(0, -1)}_`)
    .get('/v1/datasets')
    .expect(401)
  const log = service.logLines.join('\n')
  expect(log).not.toContain(key.slice(6, 40))
  expect(log).toContain('"principal":"frida"')
})

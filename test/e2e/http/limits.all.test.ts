import { request as httpRequest } from 'node:http'
import supertest from 'supertest'
import { afterEach, expect, test } from 'vitest'
import { startTestService, type TestService } from '../service.ts'

let service: TestService
afterEach(() => service.close())

const start = async (limits: Record<string, string>) => {
  service = await startTestService({ SOTTO_DEMO: 'true', ...limits })
}
const count = (number: number) => ({
  kind: 'count',
  epsilon: 0.001,
  where: { column: 'Age', op: '>=', value: number },
})
const spent = async () => (await service.as('custodian').get('/v1/datasets/census/budget')).body.spent.epsilon

/** Sends requests one after the other and returns their statuses. */
async function statuses(
  times: number,
  send: () => PromiseLike<supertest.Response>,
): Promise<readonly number[]> {
  const found: number[] = []
  for (let sent = 0; sent < times; sent += 1) found.push((await send()).status)
  return found
}

test('a flood of wrong keys is refused, and does not lock out a right key from the same address', async () => {
  await start({ SOTTO_KEYLESS_REQUESTS_PER_MINUTE: '5' })
  const wrong = () => supertest(service.url).get('/v1/datasets').set('authorization', 'Bearer sotto_wrong')
  expect(await statuses(8, wrong)).toEqual([401, 401, 401, 401, 401, 429, 429, 429])
  const refused = await wrong()
  expect(refused.body.code).toBe('rate-limited')
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  expect(refused.headers['ratelimit-policy']).toBe('"address";q=5;w=60')
  expect(refused.headers.ratelimit).toMatch(/^"address";r=0;t=\d+$/)
  // Any other request without a valid key is counted, too.
  expect((await supertest(service.url).get('/v1/datasets')).status).toBe(429)
  expect((await supertest(service.url).get('/nowhere')).status).toBe(429)
  for (const role of ['analyst', 'custodian', 'auditor'] as const)
    expect((await service.as(role).get('/v1/datasets')).status).toBe(200)
})

test('a flood of malformed addresses is refused', async () => {
  await start({ SOTTO_KEYLESS_REQUESTS_PER_MINUTE: '3' })
  const malformed = () => supertest(service.url).get('/%zz')
  expect(await statuses(5, malformed)).toEqual([400, 400, 400, 429, 429])
})

test('operators read the metrics while wrong keys come from the same address', async () => {
  const key = 'key-of-the-operator'
  await start({ SOTTO_KEYLESS_REQUESTS_PER_MINUTE: '3', SOTTO_METRICS_KEY: key })
  const read = (text: string) => supertest(service.url).get('/metrics').set('authorization', `Bearer ${text}`)
  expect(await statuses(5, () => read('wrong'))).toEqual([401, 401, 401, 429, 429])
  expect(await statuses(5, () => read(key))).toEqual([200, 200, 200, 200, 200])
})

test('requests that the role of a key may not make count for the key, and not for its address', async () => {
  await start({
    SOTTO_KEYLESS_REQUESTS_PER_MINUTE: '2',
    SOTTO_REQUEST_BURST: '4',
    SOTTO_REQUESTS_PER_MINUTE: '1',
  })
  const forbidden = () => service.as('analyst').get('/v1/keys')
  expect(await statuses(6, forbidden)).toEqual([403, 403, 403, 403, 429, 429])
  expect((await forbidden()).headers['ratelimit-policy']).toBe('"principal";q=1;w=60')
  expect((await supertest(service.url).get('/openapi.yaml')).status).toBe(200)
})

test('a flood of plots without a key is refused, and locks out neither plots with a key nor probes', async () => {
  await start({ SOTTO_KEYLESS_REQUESTS_PER_MINUTE: '3' })
  const workload = { epsilon: 0.5, delta: 1e-5, statistics: 10, perStatistic: { contribution: 1 } }
  const question = JSON.stringify(workload)
  const keyless = () => supertest(service.url).get('/v1/plots/noise-comparison').query({ question })
  expect(await statuses(6, keyless)).toEqual([200, 200, 200, 429, 429, 429])
  const query = JSON.stringify({ kind: 'contingency', columns: ['Occupation', 'Sex'], epsilon: 0.1 })
  const keyed = await service.as('analyst').get('/v1/datasets/census/plots/noisy-table').query({ query })
  expect(keyed.status).toBe(200)
  expect((await supertest(service.url).get('/healthz')).status).toBe(200)
  expect((await supertest(service.url).get('/readyz')).status).toBe(200)
})

test('a key beyond its rate is refused before the debit; others are not affected', async () => {
  await start({ SOTTO_REQUEST_BURST: '3', SOTTO_REQUESTS_PER_MINUTE: '1' })
  let number = 0
  const ask = () => service.ask('census', count(number++))
  expect(await statuses(6, ask)).toEqual([200, 200, 200, 429, 429, 429])
  const refused = await ask()
  expect(refused.body).toMatchObject({ code: 'rate-limited', status: 429 })
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  expect(refused.headers['ratelimit-policy']).toBe('"principal";q=1;w=60')
  expect(refused.headers.ratelimit).toMatch(/^"principal";r=0;t=\d+$/)
  expect((await service.asColleague().post('/v1/datasets/census/queries').send(count(0))).status).toBe(200)
  expect(await spent()).toBe(0.004)
})

test('a response states how many requests remain', async () => {
  await start({ SOTTO_REQUEST_BURST: '3', SOTTO_REQUESTS_PER_MINUTE: '1' })
  const remaining: unknown[] = []
  for (let sent = 0; sent < 3; sent += 1)
    remaining.push((await service.as('analyst').get('/v1/datasets')).headers.ratelimit?.split(';')[1])
  expect(remaining).toEqual(['r=2', 'r=1', 'r=0'])
})

test('a key has no more requests under way than its quota, also if it sends their bodies slowly', async () => {
  await start({ SOTTO_CONCURRENT_REQUESTS: '1' })
  const body = JSON.stringify(count(1))
  const slow = httpRequest(`${service.url}/v1/datasets/census/queries`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${service.keyOf('analyst')}`,
      'content-type': 'application/json',
      'content-length': body.length,
    },
  })
  const answered = Promise.withResolvers<number | undefined>()
  slow.on('response', (response) => {
    response.resume()
    response.on('end', () => answered.resolve(response.statusCode))
  })
  slow.on('error', answered.reject)
  slow.flushHeaders()
  const ask = () => service.ask('census', count(2))
  // The slow request counts as soon as its headers have arrived.
  let refused = await ask()
  while (refused.status === 200) refused = await ask()
  expect(refused.status).toBe(429)
  expect(refused.body.code).toBe('quota-exceeded')
  expect(refused.headers['retry-after']).toBe('1')
  expect((await service.asColleague().post('/v1/datasets/census/queries').send(count(0))).status).toBe(200)
  slow.end(body)
  expect(await answered.promise).toBe(200)
  let after = await ask()
  while (after.status === 429) after = await ask()
  expect(after.status).toBe(200)
})

test('an analyst whose stored answers reach the quota is refused before the debit; stored answers are replayed', async () => {
  await start({ SOTTO_STORED_BYTES: '1' })
  const ask = (number: number) => service.ask('census', count(number))
  expect((await ask(1)).status).toBe(200)
  const refused = await ask(2)
  expect(refused.status).toBe(429)
  expect(refused.body.code).toBe('quota-exceeded')
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  expect((await ask(1)).headers['idempotent-replayed']).toBe('true')
  expect((await service.asColleague().post('/v1/datasets/census/queries').send(count(2))).status).toBe(200)
  expect(await spent()).toBe(0.002)
})

test('the quota of a key replaces the defaults', async () => {
  await start({ SOTTO_REQUEST_BURST: '100', SOTTO_REQUESTS_PER_MINUTE: '1' })
  const created = await service
    .as('custodian')
    .post('/v1/keys')
    .send({ name: 'modest', role: 'analyst', quota: { burst: 2 } })
  expect(created.status).toBe(201)
  const get = () =>
    supertest(service.url).get('/v1/datasets').set('authorization', `Bearer ${created.body.key}`)
  expect(await statuses(3, get)).toEqual([200, 200, 429])
})

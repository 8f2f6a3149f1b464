import { beforeAll, expect, test } from 'vitest'
import { linkTo } from '../../../schemas/studies/plots.ts'
import type { Role } from '../../../src/http/access/principal.ts'
import { must } from '../../../src/privacy/must.ts'
import { testService } from '../service.ts'

const service = testService({ SOTTO_AUDIT: 'true' }, { census: true })

let release = ''
beforeAll(async () => {
  release = (await service.ask('census', { kind: 'count', epsilon: 0.1 }).expect(200)).body.id
})

const get = (path: string, role: Role | undefined, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(service.url + path.replace('{release}', release), {
    method,
    headers: role === undefined ? headers : { ...headers, authorization: `Bearer ${service.keyOf(role)}` },
    cache: 'no-store',
  })

const tagOf = ({ headers }: Response) => must(headers.get('etag') ?? undefined, 'a tag')

test.each([
  ['/v1/', undefined],
  ['/openapi.json', undefined],
  ['/openapi.yaml', undefined],
  [/\((\/v1\/plots[^)]*)\)/.exec(linkTo('risk', 'risk'))?.[1] ?? '', undefined],
  ['/v1/datasets', 'analyst'],
  ['/v1/datasets/census', 'custodian'],
  ['/v1/datasets/census/versions', 'analyst'],
  ['/v1/releases/{release}', 'analyst'],
  ['/v1/releases/{release}/plot', 'analyst'],
  ['/v1/audit/datasets', 'auditor'],
] as const)('a client that has %s does not get it again', async (path, role) => {
  const first = await get(path, role)
  expect(first.status).toBe(200)
  const tag = tagOf(first)
  const cacheControl = role === undefined ? 'no-cache' : 'private, no-cache'
  expect(first.headers.get('cache-control')).toBe(cacheControl)
  const length = (await first.text()).length
  expect(length).toBeGreaterThan(0)
  for (const known of [tag, ...(path === '/v1/' ? [`W/${tag}`, `"other", ${tag}`, '*'] : [])]) {
    const again = await get(path, role, { 'if-none-match': known })
    expect([again.status, await again.text(), again.headers.get('content-type')]).toEqual([304, '', null])
    expect([tagOf(again), again.headers.get('cache-control')]).toEqual([tag, cacheControl])
  }
  expect((await get(path, role, { 'if-none-match': '"other"' })).status).toBe(200)
  expect((await get(path, role, { 'if-none-match': tag }, 'HEAD')).status).toBe(304)
  expect(tagOf(await get(path, role, {}, 'HEAD'))).toBe(tag)
})

test('a tag opens nothing: who may not see a document gets the same refusal with its tag as without', async () => {
  const path = `/v1/releases/${release}`
  const tag = tagOf(await get(path, 'analyst'))
  for (const known of [tag, '*']) {
    const refusals = [
      [404, await service.asColleague().get(path).set('if-none-match', known)],
      [
        404,
        await service
          .asColleague()
          .get(`/v1/releases/${'f'.repeat(32)}`)
          .set('if-none-match', known),
      ],
      [
        401,
        await service.as('analyst').get(path).set({ 'if-none-match': known, authorization: 'Bearer no' }),
      ],
    ] as const
    for (const [status, refusal] of refusals) {
      expect(refusal.status).toBe(status)
      expect(refusal.headers['cache-control']).toBe('no-store')
      expect(refusal.headers).not.toHaveProperty('etag')
    }
  }
})

test('a document that has changed is sent', async () => {
  const path = '/v1/datasets/census'
  const before = tagOf(await get(path, 'analyst'))
  await service.as('custodian').patch(path).send({ title: 'Another title' }).expect(200)
  const changed = await get(path, 'analyst', { 'if-none-match': before })
  expect(changed.status).toBe(200)
  expect(tagOf(changed)).not.toBe(before)
  expect(await changed.json()).toMatchObject({ title: 'Another title' })
})

test('budgets, and answers to questions, are sent whole each time', async () => {
  const budget = await get('/v1/datasets/census/budget', 'analyst', { 'if-none-match': '*' })
  const answer = await service.ask('census', { kind: 'count', epsilon: 0.1 }).set('if-none-match', '*')
  expect([budget.status, budget.headers.get('etag')]).toEqual([200, null])
  expect([answer.status, answer.headers.etag]).toEqual([200, undefined])
  expect(answer.headers['cache-control']).toBe('no-store')
})

import type supertest from 'supertest'
import { beforeAll, describe, expect, test } from 'vitest'
import { testService } from '../service.ts'

const service = testService({ SOTTO_AUDIT: 'true' }, { census: true })

beforeAll(async () => {
  const custodian = service.as('custodian')
  for (const name of ['one.csv', 'two.csv'])
    await custodian.post('/v1/sources').attach('file', Buffer.from('a\n1\n'), name).expect(201)
  for (const epsilon of [0.01, 0.02])
    await service
      .as('analyst')
      .post('/v1/datasets/census/queries')
      .send({ kind: 'count', epsilon })
      .expect(200)
})

/** Lists with at least two entries, and the field that tells them apart. */
const LISTS = [
  ['/v1/datasets', 'datasets', 'id'],
  ['/v1/keys', 'keys', 'id'],
  ['/v1/sources', 'sources', 'id'],
  ['/v1/audit/datasets', 'datasets', 'id'],
  ['/v1/releases', 'releases', 'id'],
  ['/v1/datasets/census/ledger', 'entries', 'sequence'],
  ['/v1/administration/events', 'events', 'sequence'],
] as const

describe.each(LISTS)('%s', (path, name, key) => {
  const reader = () => service.as(path.startsWith('/v1/audit') ? 'auditor' : 'custodian')

  test('is read in pages, each with the cursor of the next and a link to it', async () => {
    const whole = await reader().get(path).expect(200)
    expect(whole.body[name].length).toBeGreaterThan(1)
    const seen: unknown[] = []
    for (let address: string | undefined = `${path}?limit=1`; address !== undefined; ) {
      const { body, headers }: supertest.Response = await reader().get(address).expect(200)
      seen.push(...body[name].map((entry: Record<string, unknown>) => entry[key]))
      address = /<([^>]*)>; rel="next"/.exec(headers.link ?? '')?.[1]
      expect(new URL(address ?? '', service.url).searchParams.get('cursor')).toBe(body.next ?? null)
    }
    expect(seen).toEqual(whole.body[name].map((entry: Record<string, unknown>) => entry[key]))
  })
})

test.each([
  '/v1/datasets',
  '/v1/connections',
  '/v1/ingestions',
  '/v1/datasets/census/versions',
  '/v1/datasets/census/analysts',
])('%s refuses pages that are not valid, and a cursor whose entry is gone', async (path) => {
  for (const query of ['limit=0', 'limit=501', 'limit=0x10', 'cursor=', 'cursor=gone', 'before=1']) {
    const { body } = await service.as('custodian').get(`${path}?${query}`).expect(400)
    expect(body, query).toMatchObject({ code: 'invalid-request', errors: [{ rule: expect.any(String) }] })
  }
})

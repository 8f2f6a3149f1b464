import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import supertest from 'supertest'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { releasePage } from '../../../schemas/answers/releases.ts'
import { createKey } from '../../api-key.ts'
import { startTestService, type TestService, wholeText } from '../service.ts'

let service: TestService

const SLOT_MS = 1_000
const OLDER = { column: 'Age', op: '>=', value: 65 }
const COUNT = { kind: 'count', where: OLDER, epsilon: 0.1 }
const BATCH = {
  queries: [
    { kind: 'count', epsilon: 0.2 },
    { kind: 'mean', column: 'Age', epsilon: 0.3 },
  ],
}
const SESSION = { threshold: 10, positives: 1, epsilon: 0.4 }

type Agent = ReturnType<TestService['as']>

const register = (id: string, changes: object = {}) =>
  service
    .register({
      id,
      title: id,
      source: { kind: 'file', path: `${id}.csv`, format: 'csv' },
      columns: [{ name: 'Age', type: 'integer', lower: 0, upper: 100 }],
      privacyUnit: { kind: 'row' },
      neighbours: 'add-remove',
      budget: { epsilon: 5 },
      synthetic: true,
      ...changes,
    })
    .expect(201)

const ask = async (agent: Agent, dataset: string, query: object) =>
  (await agent.post(`/v1/datasets/${dataset}/queries`).send(query).expect(200)).body

const list = async (agent: Agent, query: object = {}) =>
  releasePage.parse((await agent.get('/v1/releases').query(query).expect(200)).body)

const idsOf = async (agent: Agent, query: object = {}) =>
  (await list(agent, query)).releases.map(({ id }) => id)

/** Ids of the releases, by name. */
const ids: Record<string, string> = {}

beforeAll(async () => {
  service = await startTestService()
  for (const [place, id] of ['alone', 'shared'].entries())
    await writeFile(path.join(service.dataDirectory, `${id}.csv`), `Age\n2${place}\n30\n70\n`)
  await register('alone', { timing: 'off' })
  await register('shared', { sharing: true, timing: { slotMs: SLOT_MS } })
  const [analyst, colleague] = [service.as('analyst'), service.asColleague()]
  ids.count = (await ask(analyst, 'alone', { ...COUNT, delta: 0, of: 'rows' })).id
  ids.batch = (await analyst.post('/v1/datasets/alone/queries/batch').send(BATCH).expect(200)).body.id
  const opened = await analyst.post('/v1/datasets/alone/sparse-vector-sessions').send(SESSION).expect(201)
  ids.session = opened.body.id
  // The colleague pays for a question first, and spells it in another way than the analyst.
  ids.first = (await ask(colleague, 'shared', { ...COUNT, where: { op: 'and', predicates: [OLDER] } })).id
  ids.second = (await ask(analyst, 'shared', COUNT)).id
  // A denied request.
  await analyst.post('/v1/datasets/alone/queries').send({ kind: 'count', epsilon: 100 }).expect(403)
})
afterAll(() => service.close())

describe('the list of releases', () => {
  test('has the question, the time, the price and the stored answer of each release', async () => {
    const { releases, next } = await list(service.as('analyst'))
    expect(next).toBeUndefined()
    expect(releases.map(({ id }) => id)).toEqual([ids.second, ids.session, ids.batch, ids.count])
    const [second, session, batch, count] = releases
    expect(count).toMatchObject({
      ...{ dataset: 'alone', datasetVersion: '1', kind: 'count', analyst: 'analyst' },
      question: COUNT,
      price: { epsilon: 0.1, delta: 0 },
    })
    expect(batch).toMatchObject({ kind: 'batch', question: BATCH, price: { epsilon: 0.5, delta: 0 } })
    expect(session).toMatchObject({
      kind: 'sparseVector',
      question: SESSION,
      price: { epsilon: 0.4, delta: 0 },
    })
    expect(second).toMatchObject({ kind: 'count', shared: true, question: COUNT })
    for (const { id, question, answeredAt, softwareVersion, answer } of releases) {
      const stored = (await service.as('analyst').get(`/v1/releases/${id}`).expect(200)).body
      expect(answer).toEqual(stored)
      expect(stored).toMatchObject({ question, answeredAt, softwareVersion })
    }
  })

  test('has the releases of the caller only, and for auditors and custodians those of all', async () => {
    expect(await idsOf(service.asColleague())).toEqual([ids.first])
    const all = Object.values(ids).toSorted()
    for (const role of ['auditor', 'custodian'] as const) {
      expect((await idsOf(service.as(role))).toSorted()).toEqual(all)
      expect(await idsOf(service.as(role), { analyst: 'colleague' })).toEqual([ids.first])
      expect(await idsOf(service.as(role), { analyst: 'nobody' })).toEqual([])
    }
    const { body } = await service.as('analyst').get('/v1/releases?analyst=colleague').expect(403)
    expect(body).toMatchObject({ code: 'forbidden', errors: [{ field: 'analyst' }] })
    expect(await idsOf(service.as('analyst'), { analyst: 'analyst', dataset: 'shared' })).toEqual([
      ids.second,
    ])
  })

  test('is filtered by dataset, kind and time', async () => {
    const auditor = service.as('auditor')
    expect(await idsOf(auditor, { dataset: 'alone', kind: 'count' })).toEqual([ids.count])
    expect(await idsOf(auditor, { kind: 'sparseVector' })).toEqual([ids.session])
    const { releases } = await list(auditor, { dataset: 'alone' })
    const times = releases.map(({ answeredAt }) => answeredAt)
    expect(times).toEqual(times.toSorted().reverse())
    const [newest = '', middle = ''] = times
    expect((await list(auditor, { dataset: 'alone', from: newest })).releases[0]?.answeredAt).toBe(newest)
    const before = await list(auditor, { dataset: 'alone', to: middle })
    expect(before.releases.every(({ answeredAt }) => answeredAt < middle)).toBe(true)
    expect(await idsOf(auditor, { from: '2999-01-01' })).toEqual([])
    expect(await idsOf(auditor, { to: '0001-01-01' })).toEqual([])
    expect(await idsOf(auditor, { from: '0001-01-01', to: '9999-12-31' })).toHaveLength(5)
  })

  test('is read in pages, with a link to the next', async () => {
    const auditor = service.as('auditor')
    const seen: string[] = []
    for (let address: string | undefined = '/v1/releases?limit=2&from=2000-01-01'; address !== undefined; ) {
      const response: supertest.Response = await auditor.get(address).expect(200)
      const { releases, next } = releasePage.parse(response.body)
      seen.push(...releases.map(({ id }) => id))
      address = /<([^>]*)>; rel="next"/.exec(response.headers.link ?? '')?.[1]
      expect(address === undefined).toBe(next === undefined)
      if (next !== undefined)
        expect(new URL(address ?? '', service.url).searchParams.get('cursor')).toBe(next)
    }
    expect(seen).toEqual(await idsOf(auditor))
  })

  test('refuses filters that are not valid', async () => {
    const queries = {
      from: 'yesterday',
      to: '2026-02-30',
      kind: 'sums',
      limit: '0',
      cursor: 'x',
      before: '1',
    }
    for (const [name, value] of Object.entries(queries)) {
      const { body } = await service
        .as('analyst')
        .get('/v1/releases')
        .query({ [name]: value })
        .expect(400)
      expect(body, name).toMatchObject({ code: 'invalid-request' })
    }
    const latest = { cursor: `9999999999999999-${'f'.repeat(32)}` }
    expect(await idsOf(service.as('auditor'), latest)).toHaveLength(5)
    const { body } = await service.as('analyst').get('/v1/releases?dataset=nowhere').expect(404)
    expect(body.code).toBe('unknown-dataset')
  })

  test('still has the releases of a withdrawn dataset', async () => {
    await writeFile(path.join(service.dataDirectory, 'brief.csv'), 'Age\n20\n')
    await register('brief')
    const { id } = await ask(service.as('analyst'), 'brief', COUNT)
    await service.as('custodian').delete('/v1/datasets/brief').expect(204)
    expect(await idsOf(service.as('analyst'), { dataset: 'brief' })).toEqual([id])
    await service.as('auditor').get(`/v1/releases/${id}`).expect(200)
  })
})

describe('the list as CSV', () => {
  const csvOf = async (query: string, accept?: string) => {
    const request = service.as('auditor').get(`/v1/releases?${query}`)
    return (accept === undefined ? request : request.set('accept', accept))
      .buffer()
      .parse(wholeText)
      .expect(200)
  }

  test('has a row for each release, with questions and answers as JSON', async () => {
    const response = await csvOf('dataset=alone&kind=count&format=csv')
    expect(response.headers['content-type']).toMatch(/^text\/csv/)
    const [header, row, end] = String(response.body).split('\r\n')
    expect(header).toBe(
      'id,dataset,datasetVersion,kind,analyst,question,answeredAt,softwareVersion,epsilon,delta,rho,shared,inferredFrom,answer',
    )
    expect(row).toContain(
      `${ids.count},alone,1,count,analyst,"${JSON.stringify(COUNT).replaceAll('"', '""')}",`,
    )
    expect(end).toBe('')
    expect((await csvOf('dataset=alone&kind=count', 'text/csv')).body).toBe(response.body)
  })

  test.each([
    ['text/csv', 'csv'],
    ['text/*', 'csv'],
    ['text/csv, application/json;q=0.9', 'csv'],
    ['application/json, text/csv', 'json'],
    ['application/json, text/csv;q=0.5', 'json'],
    ['text/csv;q=0', 'json'],
    ['application/vnd.example+text/csv', 'json'],
    ['*/*', 'json'],
    ['text/html, */*;q=0.8', 'json'],
    ['image/png', 'json'],
  ])('for Accept: %s is sent as %s', async (accept, format) => {
    const { headers } = await csvOf('dataset=alone', accept)
    expect(headers['content-type']).toContain(format)
    expect(headers.vary).toContain('accept')
    expect((await csvOf('dataset=alone&format=json', accept)).headers['content-type']).toContain('json')
  })
})

describe('the list does not reveal', () => {
  test('the spelling, the time and the id of the analyst who paid first', async () => {
    const analyst = service.as('analyst')
    const [first] = (await list(service.asColleague(), { dataset: 'shared' })).releases
    const shared = (await analyst.get('/v1/releases?dataset=shared').expect(200)).text
    expect(first?.question).not.toEqual(COUNT)
    for (const hidden of ['"and"', 'colleague', ids.first ?? '']) expect(shared).not.toContain(hidden)
    const [second] = releasePage.parse(JSON.parse(shared)).releases
    expect(Date.parse(second?.answeredAt ?? '')).toBeGreaterThan(Date.parse(first?.answeredAt ?? ''))
  })

  test('a finer time than the slot, in the list or by its filters', async () => {
    const analyst = service.as('analyst')
    const [release] = (await list(analyst, { dataset: 'shared' })).releases
    const atMs = Date.parse(release?.answeredAt ?? '')
    expect(atMs % SLOT_MS).toBe(0)
    const from = async (ms: number) => idsOf(analyst, { dataset: 'shared', from: new Date(ms).toISOString() })
    const to = async (ms: number) => idsOf(analyst, { dataset: 'shared', to: new Date(ms).toISOString() })
    expect([await from(atMs), await from(atMs + 1)]).toEqual([[ids.second], []])
    expect([await to(atMs), await to(atMs + 1)]).toEqual([[], [ids.second]])
  })

  test('whether another analyst has a release, by its cursor', async () => {
    const analyst = service.as('analyst')
    const { releases } = await list(analyst)
    // A client can compute the id of a charge that another analyst would have, if the question is known.
    for (const { answeredAt } of releases) {
      const at = Date.parse(answeredAt)
      const known = await idsOf(analyst, { cursor: `${at}-${ids.first}` })
      const last = Number.parseInt(ids.first?.at(-1) ?? '0', 16)
      const neighbour = `${ids.first?.slice(0, -1)}${((last + 1) % 16).toString(16)}`
      expect(await idsOf(analyst, { cursor: `${at}-${neighbour}` })).toEqual(known)
    }
  })

  test('datasets that a key may not see', async () => {
    for (const role of ['analyst', 'auditor', 'custodian'] as const) {
      const name = role === 'analyst' ? 'analyst' : `limited-${role}`
      const limited = { name, role, datasets: ['shared'], samePrincipal: true }
      const key = await createKey(service.dataDirectory, limited)
      const agent = supertest.agent(service.url).set('authorization', `Bearer ${key}`)
      const own = role === 'analyst' ? [ids.second] : [ids.second, ids.first]
      expect(await idsOf(agent)).toEqual(own)
      const refused = await agent.get('/v1/releases?dataset=alone').expect(404)
      const unknown = await agent.get('/v1/releases?dataset=other').expect(404)
      expect(refused.body.detail.replace('alone', 'other')).toBe(unknown.body.detail)
      await agent.get(`/v1/releases/${ids.count}`).expect(404)
    }
  })
})

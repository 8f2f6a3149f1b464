import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  openedSession,
  sessionAnswer,
  session as sessionSchema,
} from '../../../schemas/answers/sparse-vector.ts'
import { startTestService, type TestService } from '../service.ts'

/** Noise of scales below 1/100 of a row: an answer is wrong with a probability below 1e-20. */
const CERTAIN = { positives: 2, epsilon: 1_000 }
const registration = {
  id: 'pupils',
  title: 'Pupils',
  source: { kind: 'file', path: 'pupils.csv', format: 'csv' },
  columns: [{ name: 'year', type: 'integer', lower: 0, upper: 100 }],
  privacyUnit: { kind: 'row' },
  neighbours: 'add-remove',
  budget: { epsilon: 900_000, delta: 0 },
  synthetic: true,
}

const METRICS_KEY = 'key-of-the-operator'
let service: TestService
/** Text of all responses. */
const responses: string[] = []
beforeAll(async () => {
  service = await startTestService({ SOTTO_METRICS_KEY: METRICS_KEY })
  // `year >= n` holds for 100 - n rows.
  const rows = Array.from({ length: 100 }, (_, year) => year)
  await writeFile(path.join(service.dataDirectory, 'pupils.csv'), ['year', ...rows].join('\n'))
  for (const change of [{}, { id: 'leavers' }, { id: 'movers' }, { id: 'swaps', neighbours: 'change-one' }])
    await service.register({ ...registration, ...change }).expect(201)
})
afterAll(() => service.close())

const heard = <Heard extends { text: string; headers: Record<string, unknown> }>(response: Heard): Heard => {
  responses.push(response.text, JSON.stringify(response.headers))
  return response
}
const open = async (body: object, { dataset = 'pupils', key }: { dataset?: string; key?: string } = {}) => {
  const request = service.as('analyst').post(`/v1/datasets/${dataset}/sparse-vector-sessions`)
  return heard(await (key === undefined ? request : request.set('idempotency-key', key)).send(body))
}
const opened = async (body: object, options: { dataset?: string; key?: string } = {}) => {
  const response = await open(body, options)
  expect(response.status, response.text).toBe(201)
  return openedSession.parse(response.body)
}
const ask = async (session: string, rows: number, key?: string, agent = service.as('analyst')) => {
  const request = agent.post(`/v1/sparse-vector-sessions/${session}/questions`)
  const where = { column: 'year', op: '>=', value: 100 - rows }
  return heard(await (key === undefined ? request : request.set('idempotency-key', key)).send({ where }))
}
const show = async (session: string, query = '', agent = service.as('analyst')) =>
  heard(await agent.get(`/v1/sparse-vector-sessions/${session}${query}`))
const spent = async (dataset = 'pupils') =>
  (await service.as('analyst').get(`/v1/datasets/${dataset}/budget`).expect(200)).body.spent.epsilon

describe('a session', () => {
  test('is charged once, answers until its positives are used up, and survives a restart', async () => {
    const before = await spent()
    const session = await opened({ threshold: 50, ...CERTAIN })
    expect(session).toMatchObject({
      dataset: 'pupils',
      datasetVersion: '1',
      threshold: 50,
      positives: 2,
      positivesLeft: 2,
      cost: { epsilon: 1_000, delta: 0 },
      noise: { mechanism: 'sparse-vector', neighbours: 'add-remove', monotonic: true },
    })
    const below = await ask(session.id, 49)
    expect(sessionAnswer.parse(below.body)).toMatchObject({
      session: session.id,
      question: 1,
      above: false,
      positivesLeft: 2,
    })
    expect(below.body).not.toHaveProperty('gap')
    const above = await ask(session.id, 58)
    expect(sessionAnswer.parse(above.body)).toMatchObject({ question: 2, above: true, positivesLeft: 1 })
    expect(above.body.gap).toBeCloseTo(8, 0)

    await service.restart()

    // A repeat after a lost response returns the same bytes.
    const again = await ask(session.id, 58)
    expect(again.text).toBe(above.text)
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect((await ask(session.id, 48)).body).toMatchObject({ question: 3, above: false, positivesLeft: 1 })
    expect((await ask(session.id, 51)).body).toMatchObject({ question: 4, above: true, positivesLeft: 0 })
    const refused = await ask(session.id, 99)
    expect(refused.status).toBe(409)
    expect(refused.body).toMatchObject({ code: 'session-used-up', status: 409 })
    expect((await ask(session.id, 49)).text).toBe(below.text)
    expect(await spent()).toBe(before + 1_000)

    const { body } = await show(session.id)
    expect(sessionSchema.parse(body)).toMatchObject({ id: session.id, positivesLeft: 0, answered: 4 })
    expect(
      body.answers.map((each: { question: number; above: boolean }) => [each.question, each.above]),
    ).toEqual([
      [4, true],
      [3, false],
      [2, true],
      [1, false],
    ])
    expect(body.answers[2].where).toEqual({ column: 'year', op: '>=', value: 42 })
    const page = (await show(session.id, '?limit=3')).body
    expect(page.answers).toEqual(body.answers.slice(0, 3))
    expect((await show(session.id, `?limit=3&cursor=${page.next}`)).body.answers).toEqual(
      body.answers.slice(3),
    )
  })

  test('a repeated opening replays the session; a new key opens another; a key identifies one request', async () => {
    const request = { threshold: 7, ...CERTAIN }
    const first = await open(request)
    const before = await spent()
    const again = await open({ epsilon: 1_000, positives: 2, threshold: 7 })
    expect(again.status).toBe(200)
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(openedSession.parse(again.body)).toEqual({
      ...first.body,
      cost: { epsilon: 0, delta: 0 },
      price: { epsilon: 1_000, delta: 0 },
    })
    expect(await spent()).toBe(before)
    const other = await opened(request, { key: 'second' })
    expect(other.id).not.toBe(first.body.id)
    expect(await spent()).toBe(before + 1_000)
    const reused = await open({ ...request, threshold: 8 }, { key: 'second' })
    expect(reused.body).toMatchObject({ status: 422, code: 'idempotency-key-reused' })
    expect((await ask(other.id, 1, 'k')).status).toBe(200)
    expect((await ask(other.id, 2, 'k')).body).toMatchObject({ status: 422, code: 'idempotency-key-reused' })
  })

  test('with one positive gives one to twenty concurrent questions', async () => {
    const session = await opened({ threshold: 20, positives: 1, epsilon: 1_000 })
    const before = await spent()
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => ask(session.id, 30 + index)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ body }) => body.above === true)).toHaveLength(1)
    expect(answers.filter(({ body }) => body.code === 'session-used-up')).toHaveLength(19)
    expect((await show(session.id)).body).toMatchObject({ answered: 1, positivesLeft: 0 })
    expect(await spent()).toBe(before)
  })

  test('under change-one neighbours has questions with twice the noise', async () => {
    const [one, other] = [
      await opened({ threshold: 20, ...CERTAIN }),
      await opened({ threshold: 20, ...CERTAIN }, { dataset: 'swaps' }),
    ]
    expect(other.noise).toMatchObject({ neighbours: 'change-one', monotonic: false })
    const product = ({ noise }: typeof one) => noise.questions.scale * noise.questions.epsilon
    expect(product(other) / product(one)).toBeCloseTo(2, 6)
  })

  test('with larger noise gives both answers for counts near the threshold', async () => {
    const session = await opened({ threshold: 50, positives: 100, epsilon: 5 })
    const outcomes = new Set<boolean>()
    for (let draw = 0; draw < 60; draw += 1)
      outcomes.add((await ask(session.id, 50, `draw-${draw}`)).body.above)
    // Scales of 6 and 27 rows: 60 equal answers have a probability below 1e-9, unless no noise is added.
    expect(outcomes.size).toBe(2)
  })
})

describe('is refused', () => {
  const nested = (depth: number): object =>
    depth === 1 ? { column: 'year', op: '>=', value: 1 } : { op: 'not', predicate: nested(depth - 1) }

  test.each([
    ['no threshold', { ...CERTAIN }, 'threshold'],
    ['a fraction of a row', { threshold: 1.5, ...CERTAIN }, 'threshold'],
    ['a negative threshold', { threshold: -1, ...CERTAIN }, 'threshold'],
    ['no positives', { threshold: 1, ...CERTAIN, positives: 0 }, 'positives'],
    ['too many positives', { threshold: 1, ...CERTAIN, positives: 101 }, 'positives'],
    ['an epsilon too small to be shared', { threshold: 1, positives: 1, epsilon: 1e-9 }, 'epsilon'],
    ['more digits than are counted', { threshold: 1, positives: 1, epsilon: 0.1234567891 }, 'epsilon'],
    ['an unknown field', { threshold: 1, ...CERTAIN, delta: 0 }, 'delta'],
  ])('a session with %s', async (_, body, field) => {
    const before = await spent()
    const response = await open(body)
    expect(response.body).toMatchObject({ status: 400, code: 'invalid-request', errors: [{ field }] })
    expect(await spent()).toBe(before)
  })

  test('a session beyond the budget', async () => {
    await service.register({ ...registration, id: 'poor', budget: { epsilon: 1, delta: 0 } }).expect(201)
    const response = await open({ threshold: 1, ...CERTAIN }, { dataset: 'poor' })
    expect(response.body).toMatchObject({ status: 403, code: 'budget-insufficient' })
    const previewed = await service
      .as('analyst')
      .post('/v1/datasets/poor/sparse-vector-sessions/preview')
      .send({ threshold: 1, ...CERTAIN })
      .expect(200)
    expect(previewed.body).toMatchObject({ affordable: false, cost: { epsilon: 1_000, delta: 0 } })
    expect(await spent('poor')).toBe(0)
  })

  test('a request for the session of another analyst', async () => {
    const { id } = await opened({ threshold: 11, ...CERTAIN })
    const foreign = await ask(id, 1, undefined, service.asColleague())
    expect(foreign.body).toMatchObject({ status: 404, code: 'unknown-session' })
    expect((await show(id, '', service.asColleague())).body.code).toBe('unknown-session')
    expect((await ask('0'.repeat(32), 1)).body.code).toBe('unknown-session')
    for (const role of ['custodian', 'auditor'] as const) {
      expect((await ask(id, 1, undefined, service.as(role))).status).toBe(403)
      expect((await show(id, '', service.as(role))).status).toBe(403)
    }
    expect((await show(id)).body.answered).toBe(0)
  })

  test.each([
    ['a predicate of an unknown column', { where: { column: 'Unicorn', op: 'isNull' } }, 422],
    ['no predicate', {}, 400],
    ['a predicate nested too deep', { where: nested(13) }, 400],
    ['a threshold', { where: { column: 'year', op: '>=', value: 1 }, threshold: 5 }, 400],
  ])('a question with %s', async (name, body, status) => {
    const { id } = await opened({ threshold: 12, ...CERTAIN }, { key: name.replaceAll(' ', '-') })
    const response = await service.as('analyst').post(`/v1/sparse-vector-sessions/${id}/questions`).send(body)
    expect(response.status, response.text).toBe(status)
    expect((await show(id)).body.answered).toBe(0)
  })

  test.each(['limit=0', 'limit=501', 'limit=x', 'cursor=0', 'other=1'])('a page of %s', async (query) => {
    expect((await show('0'.repeat(32), `?${query}`)).body.code).toBe('invalid-request')
  })

  test('a question about a dataset that was withdrawn or registered again', async () => {
    const withdrawn = await opened({ threshold: 10, ...CERTAIN }, { dataset: 'leavers' })
    const renewed = await opened({ threshold: 10, ...CERTAIN }, { dataset: 'movers' })
    const asked = await ask(renewed.id, 5)
    for (const id of ['leavers', 'movers'])
      await service.as('custodian').delete(`/v1/datasets/${id}`).expect(204)
    await service.register({ ...registration, id: 'movers' }).expect(201)
    for (const { id } of [withdrawn, renewed])
      expect((await ask(id, 20)).body).toMatchObject({ status: 409, code: 'session-dataset-changed' })
    expect((await ask(renewed.id, 5)).text).toBe(asked.text)
    // The same request on the new rows opens another session.
    expect((await opened({ threshold: 10, ...CERTAIN }, { dataset: 'movers' })).id).not.toBe(renewed.id)
  })
})

test('the ledger shows the charge and each answer, but no value', async () => {
  const { body } = heard(await service.as('auditor').get('/v1/datasets/pupils/ledger?limit=500').expect(200))
  const kinds = body.entries.map((entry: { kind: string }) => entry.kind)
  expect(kinds).toContain('session-answered')
  const entry = body.entries.find((each: { kind: string }) => each.kind === 'session-answered')
  expect(Object.keys(entry).sort()).toEqual(['at', 'hash', 'kind', 'principal', 'release', 'sequence'])
})

test('no response, export or log contains a noisy threshold', async () => {
  expect(responses.length).toBeGreaterThan(100)
  for (const path of ['/v1/datasets/pupils', '/openapi.yaml']) heard(await service.as('auditor').get(path))
  heard(await service.as('auditor').get('/metrics').set('authorization', `Bearer ${METRICS_KEY}`).expect(200))
  await service.restart()
  // A copy, because the service holds the ledger.
  const copy = path.join(await mkdtemp(path.join(tmpdir(), 'sotto-secret-')), 'ledger.sqlite')
  for (const suffix of ['', '-wal']) {
    const bytes = await readFile(path.join(service.dataDirectory, `ledger.sqlite${suffix}`)).catch(
      () => undefined,
    )
    if (bytes !== undefined) await writeFile(`${copy}${suffix}`, bytes)
  }
  const database = new DatabaseSync(copy, { readBigInts: true })
  const secrets = database
    .prepare('SELECT threshold_noise AS noise, terms FROM sparse_vector_sessions')
    .all()
    .map(({ noise, terms }) => ({ noise: BigInt(noise as bigint), terms: JSON.parse(String(terms)) }))
  const hashed = database
    .prepare('SELECT canonical FROM events')
    .all()
    .map(({ canonical }) => String(canonical))
  database.close()
  await rm(path.dirname(copy), { recursive: true })
  expect(secrets.length).toBeGreaterThan(5)
  const everything = [...responses, ...service.logLines, ...hashed].join('\n')
  expect(everything).toContain('sparse-vector')
  for (const { noise, terms } of secrets) {
    const rows = Number(noise) / 2 ** terms.fractionBits
    // As it is stored, in rows, and added to the threshold.
    for (const text of [noise, rows, Number(terms.threshold) + rows]) {
      const digits = String(text).replace('-', '')
      expect(digits.length).toBeGreaterThan(6)
      expect(everything).not.toContain(digits.slice(0, 12))
    }
  }
})

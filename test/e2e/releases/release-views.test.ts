import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { answer as answerSchema } from '../../../schemas/answers/answer.ts'
import { startTestService, type TestService, wholeText } from '../service.ts'

// Post-processing and pictures of stored releases.

let service: TestService
const ids = { table: '', median: '', batch: '', session: '' }
const TABLE = { kind: 'contingency', columns: ['Sex', 'Married'], mechanism: 'laplace', epsilon: 0.1 }

beforeAll(async () => {
  service = await startTestService({}, { census: true })
  const post = async (path: string, body: object) =>
    (await service.as('analyst').post(`/v1/datasets/census/${path}`).send(body)).body.id
  const median = { kind: 'median', column: 'Age', epsilon: 0.1 }
  ids.table = await post('queries', TABLE)
  ids.median = await post('queries', median)
  ids.batch = await post('queries/batch', { queries: [TABLE, median] })
  ids.session = await post('sparse-vector-sessions', { threshold: 20_000, positives: 3, epsilon: 0.1 })
})
afterAll(() => service.close())

const ROUND = { round: true }
const spent = async () =>
  (await service.as('custodian').get('/v1/datasets/census/budget').expect(200)).body.spent

describe('post-processing', () => {
  test('rounds what was measured, for its owner, auditors and custodians, at no cost', async () => {
    const before = await spent()
    expect(before.epsilon).toBeGreaterThan(0)
    const stored = (await service.as('analyst').get(`/v1/releases/${ids.table}`).expect(200)).body
    for (const role of ['analyst', 'auditor', 'custodian'] as const) {
      const { body } = await service
        .as(role)
        .post(`/v1/releases/${ids.table}/postprocess`)
        .send(ROUND)
        .expect(200)
      const processed = answerSchema.parse(body)
      const rounded = stored.result.cells.map(({ key, value }: { key: object; value: number }) => ({
        key,
        value: Math.round(value),
      }))
      expect(processed.result).toEqual({ cells: rounded })
      expect(processed.measured).toEqual({ result: stored.result, accuracy: stored.accuracy })
      expect(processed.question).toEqual({ ...stored.question, postprocess: ROUND })
    }
    const repeat = await service.ask('census', { ...TABLE, postprocess: ROUND })
    expect(repeat.headers['idempotent-replayed']).toBe('true')
    expect(repeat.body.measured.result).toEqual(stored.result)
    // What is stored has not changed.
    expect((await service.as('analyst').get(`/v1/releases/${ids.table}`)).body).toEqual(stored)
    expect(await spent()).toEqual(before)
  })

  test.each(['postprocess', 'plot'])('%s: the releases of others are unknown to analysts', async (view) => {
    const path = (id: string) => `/v1/releases/${id}/${view}`
    const ask = (id: string) =>
      view === 'plot' ? service.asColleague().get(path(id)) : service.asColleague().post(path(id)).send(ROUND)
    const [others, unknown] = [await ask(ids.table), await ask('f'.repeat(32))]
    expect(others.status).toBe(404)
    expect({ ...others.body, requestId: '' }).toEqual({ ...unknown.body, requestId: '' })
  })

  test('values that cannot be rounded are refused by field and rule', async () => {
    for (const id of [ids.median, ids.session]) {
      const { body } = await service
        .as('analyst')
        .post(`/v1/releases/${id}/postprocess`)
        .send(ROUND)
        .expect(422)
      expect(body.errors).toMatchObject([{ field: 'round' }])
    }
    await service
      .as('analyst')
      .post(`/v1/releases/${ids.table}/postprocess`)
      .send({ rounded: true })
      .expect(400)
    // A session has no values, whatever is asked of them.
    await service
      .as('analyst')
      .post(`/v1/releases/${ids.session}/postprocess`)
      .send({ round: false, nonNegative: false })
      .expect(422)
  })

  test('of a batch, the answers made from sums and counts are rounded', async () => {
    const stored = (await service.as('analyst').get(`/v1/releases/${ids.batch}`).expect(200)).body
    const { body } = await service
      .as('analyst')
      .post(`/v1/releases/${ids.batch}/postprocess`)
      .send(ROUND)
      .expect(200)
    expect(body.answers[0].measured.result).toEqual(stored.answers[0].result)
    expect(body.answers[1]).toEqual(stored.answers[1])
  })
})

describe('a picture', () => {
  test.each(['table', 'median', 'batch', 'session'] as const)('of a %s, in both themes', async (name) => {
    const before = await spent()
    for (const theme of ['light', 'dark']) {
      const { text, body, headers } = await service
        .as('analyst')
        .get(`/v1/releases/${ids[name]}/plot`)
        .query({ theme })
        .buffer(true)
        .parse(wholeText)
        .expect(200)
      expect(headers['content-type']).toMatch('image/svg+xml')
      expect(text ?? body).toMatch(
        /^<svg [^>]*role="img"[^>]*><title>[^<]*census[^<]*<\/title><desc>[^<]+<\/desc>/,
      )
    }
    expect(await spent()).toEqual(before)
  })

  test('of a table has post-processed values, and that of a median is refused by field and rule', async () => {
    const specificationsOf = async (query: object) => {
      const path = `/v1/releases/${ids.table}/plot`
      const { body } = await service
        .as('analyst')
        .get(path)
        .query({ ...query, format: 'vega' })
        .expect(200)
      return JSON.stringify(body)
    }
    const { body: rounded } = await service
      .as('analyst')
      .post(`/v1/releases/${ids.table}/postprocess`)
      .send(ROUND)
    const stored = await specificationsOf({})
    const processed = await specificationsOf(ROUND)
    for (const { value } of rounded.result.cells) expect(processed).toContain(`:${value},`)
    for (const { value } of rounded.measured.result.cells) expect(stored).toContain(`:${value},`)
    for (const { value } of rounded.measured.result.cells) expect(processed).not.toContain(`:${value},`)
    expect(await specificationsOf({ round: false })).toBe(stored)
    const path = `/v1/releases/${ids.median}/plot`
    const { body } = await service.as('analyst').get(path).query(ROUND).expect(422)
    expect(body.errors).toMatchObject([{ field: 'round' }])
    await service.as('analyst').get(path).query({ round: 'yes' }).expect(400)
  })

  test.each(['table', 'batch', 'session'] as const)(
    'of a %s as specifications with all data',
    async (name) => {
      const { body } = await service
        .as('analyst')
        .get(`/v1/releases/${ids[name]}/plot`)
        .query({ format: 'vega' })
        .expect(200)
        .expect('content-type', /^application\/json/)
      for (const { title, description, specification } of body.panels) {
        expect(title).toContain('census')
        expect(description).not.toBe('')
        expect(specification.$schema).toMatch(/\/vega\//)
        expect(JSON.stringify(specification)).not.toContain('"url"')
      }
    },
  )
})

test('a picture of values over time ends at the declared range', async () => {
  const [lower, upper] = ['2023-07-02', '2024-06-30']
  await service
    .register({
      id: 'visits',
      title: 'Visits',
      source: { kind: 'visits', people: 20, rows: 50, seed: 's' },
      columns: [
        { name: 'patient_id', type: 'identifier' },
        { name: 'visited', type: 'date', lower, upper },
      ],
      privacyUnit: { kind: 'person', column: 'patient_id', maxRows: 5 },
      neighbours: 'add-remove',
      budget: { epsilon: 2 },
    })
    .expect(201)
  const histogram = { kind: 'histogram', column: { column: 'visited', by: 'year' }, epsilon: 0.5 }
  const { body } = await service.ask('visits', histogram).expect(200)
  const { text } = await service.as('analyst').get(`/v1/releases/${body.id}/plot?format=vega`).expect(200)
  const middle = (Date.parse(lower) + Date.parse('2024-01-01')) / 2
  expect(text).toContain(`"at":${middle},`)
})

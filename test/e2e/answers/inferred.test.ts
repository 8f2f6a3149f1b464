import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { answer as answerSchema, preview as previewSchema } from '../../../schemas/answers/answer.ts'
import { verifyDocuments } from '../../../src/ledger/exported.ts'
import { openLedger } from '../../../src/ledger/open.ts'
import { testService } from '../service.ts'

const service = testService({ SOTTO_DEMO: 'true' })

const ask = (query: object) => service.as('analyst').post('/v1/datasets/census/queries').send(query)
const preview = async (query: object) =>
  previewSchema.parse(
    (await service.as('analyst').post('/v1/datasets/census/queries/preview').send(query).expect(200)).body,
  )
const spent = async () =>
  (await service.as('analyst').get('/v1/datasets/census/budget').expect(200)).body.spent.epsilon

type Preview = Awaited<ReturnType<typeof preview>>
/** The price of the top-up that a preview offers; `undefined` if it offers none. */
const topUpPrice = ({ offers: { topUp } }: Preview) =>
  topUp !== undefined && 'price' in topUp ? topUp.price : undefined

const bySex = { kind: 'histogram', column: 'Sex', epsilon: 0.1 }
const total = { kind: 'count', epsilon: 0.1 }

test('a total of paid parts is free, and says from which answers it follows', async () => {
  expect((await preview(total)).offers.free).toEqual({
    reason: 'it does not follow from the answers that you have paid for',
  })
  const parts = (await ask(bySex).expect(200)).body
  const before = await spent()
  const offered = await preview(total)
  expect(offered.offers.free).toMatchObject({ releases: [parts.id] })
  const { body } = await ask({ ...total, use: 'free' }).expect(200)
  const answered = answerSchema.parse(body)
  const sum = parts.result.cells.reduce((all: number, cell: { value: number }) => all + cell.value, 0)
  expect(answered.result).toEqual({ value: sum })
  expect(answered.cost).toEqual({ epsilon: 0, delta: 0 })
  expect(answered.inference?.releases).toEqual([{ id: parts.id, measurement: parts.measurement }])
  expect(await spent()).toBe(before)
  const listed = await service.as('analyst').get('/v1/releases').expect(200)
  expect(listed.body.releases).toMatchObject([
    { id: answered.id, inferredFrom: [parts.id] },
    { id: parts.id },
  ])
  expect(listed.body.releases[1].inferredFrom).toBeUndefined()
  // An inferred answer is not the question's replay.
  expect((await preview(total)).paid).toBe(false)
})

test('a preview states what the chosen way costs', async () => {
  await ask(bySex).expect(200)
  expect(await preview({ ...total, use: 'free' })).toMatchObject({
    cost: { epsilon: 0 },
    price: { epsilon: 0.1 },
    noise: { mechanism: 'combined' },
  })
  const topUp = await preview({ ...total, use: 'topUp' })
  expect(topUp.cost).toEqual(topUpPrice(topUp))
  expect((await preview({ ...total, use: 'fresh' })).cost).toMatchObject({ epsilon: 0.1 })
  const roomy = { kind: 'count', accuracy: { halfWidth: 1_000 } }
  expect((await preview(roomy)).cost).toMatchObject({ epsilon: 0 })
  const unknown = { kind: 'sum', column: 'Age', epsilon: 0.1, use: 'free' }
  const refused = await service.as('analyst').post('/v1/datasets/census/queries/preview').send(unknown)
  expect(refused.body.errors).toMatchObject([{ field: 'use' }])
})

test('the offers for a total, and for twice the precision, are those that docs/budget.md states', async () => {
  await ask(bySex).expect(200)
  const { free, topUp } = (await preview({ ...total, epsilon: 0.2 })).offers
  expect(free).toMatchObject({ accuracy: { halfWidth: expect.closeTo(42.3, 1) } })
  expect(topUp).toMatchObject({ epsilon: 0.1872 })
  expect((await preview({ ...bySex, epsilon: 0.2 })).offers.topUp).toMatchObject({ epsilon: 0.1734 })
})

test('a preview states the risk of what is charged', async () => {
  await ask(bySex).expect(200)
  const riskOf = async (query: object) => (await preview({ ...total, epsilon: 0.2, ...query })).disclosureRisk
  const free = await riskOf({ use: 'free' })
  expect(free.query).toMatchObject({ epsilon: 0, risk: free.blindGuess })
  const topUp = (await preview({ ...total, epsilon: 0.2, use: 'topUp' })).offers.topUp
  const { epsilon } = (await riskOf({ use: 'topUp' })).query
  expect(topUp).toMatchObject({ epsilon })
  expect(epsilon).toBeLessThan(0.2)
  expect((await riskOf({ use: 'fresh' })).query.epsilon).toBe(0.2)
})

test('a SELECT that is one query chooses as a query does', async () => {
  const parts = (await ask(bySex).expect(200)).body
  const before = await spent()
  const statement = { sql: 'SELECT COUNT(*) AS n FROM census', epsilon: 0.1 }
  const sql = (path: string, body: object) =>
    service.as('analyst').post(`/v1/datasets/census${path}`).send(body)
  const previewed = (await sql('/sql/preview', statement).expect(200)).body.preview
  expect(previewed.offers.free.releases).toEqual([parts.id])
  const { answer, rows, columns } = (await sql('/sql', { ...statement, use: 'free' }).expect(200)).body
  expect(columns[0]).toMatchObject({ name: 'n', type: 'number' })
  expect(rows).toEqual([[answer.result.value, answer.accuracy.halfWidth]])
  expect(answer.inference.releases[0].id).toBe(parts.id)
  expect(await spent()).toBe(before)
  const median = { sql: 'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY Age) FROM census', epsilon: 0.1 }
  const refused = await sql('/sql', { ...median, use: 'free' }).expect(400)
  expect(refused.body.errors).toEqual([{ field: 'use', rule: 'is not a known field' }])
})

test('the largest groups are fresh, and no other group is shown', async () => {
  await ask(bySex).expect(200)
  const largest = { kind: 'topGroups', keys: ['Sex'], k: 1, epsilon: 0.5, use: 'topUp' }
  const { body } = await ask(largest).expect(200)
  expect(body).toMatchObject({ cost: { epsilon: 0.5 }, result: { cells: [{}] } })
  expect([body.inference, body.integers]).toEqual([undefined, undefined])
})

test('the answers of a batch are fresh', async () => {
  const before = await spent()
  const queries = [
    { ...total, use: 'fresh' },
    { ...bySex, use: 'topUp' },
  ]
  for (const path of ['batch', 'batch/preview', 'batch?on=dummy']) {
    const refused = await service.as('analyst').post(`/v1/datasets/census/queries/${path}`).send({ queries })
    expect(refused.body).toMatchObject({ code: 'query-does-not-fit', errors: [{ field: 'queries.1.use' }] })
  }
  expect(await spent()).toBe(before)
})

test('made-up rows answer with noise of their own, whatever is to be used', async () => {
  const practised = await service
    .as('analyst')
    .post('/v1/datasets/census/queries?on=dummy')
    .send({ ...total, use: 'free' })
    .expect(200)
  expect(practised.body.inference).toBeUndefined()
})

test('asking again gains nothing: an inferred answer is the same, and a top-up that is met draws no noise', async () => {
  const paid = { kind: 'count', where: { column: 'Age', op: '<', value: 40 }, epsilon: 0.1 }
  await ask(paid).expect(200)
  const free = { ...paid, epsilon: 0.2, use: 'free' }
  const first = (await ask(free).expect(200)).body
  expect((await ask(free).expect(200)).body.result).toEqual(first.result)

  const before = await spent()
  const offered = topUpPrice(await preview({ ...paid, epsilon: 0.2 }))
  const topUp = { ...paid, epsilon: 0.2, use: 'topUp' }
  const topped = (await ask(topUp).expect(200)).body
  expect(topped.cost.epsilon).toBeCloseTo(0.1733, 3)
  expect(topped.cost).toMatchObject(offered ?? {})
  const after = await spent()
  expect(after - before).toBeCloseTo(topped.cost.epsilon, 9)
  for (const use of ['topUp', 'free', 'topUp']) {
    const again = (await ask({ ...topUp, use }).expect(200)).body
    expect(again.cost.epsilon).toBe(0)
    // Only what was measured has integers.
    expect([again.measurement, again.integers]).toEqual([undefined, undefined])
    expect(again.result.value).toBeCloseTo(topped.result.value, 6)
  }
  expect(await spent()).toBe(after)
})

test('top-ups of one question at once are one measurement', async () => {
  const paid = { kind: 'count', where: { column: 'Age', op: '<', value: 30 }, epsilon: 0.1 }
  await ask(paid).expect(200)
  const topUp = { ...paid, epsilon: 0.2, use: 'topUp' }
  const price = topUpPrice(await preview({ ...paid, epsilon: 0.2 }))
  const before = await spent()
  const both = await Promise.all([ask(topUp), ask(topUp), ask(topUp)])
  for (const { status, body } of both)
    if (status !== 200) expect(body).toMatchObject({ status: 409, code: 'query-in-flight' })
  expect((await spent()) - before).toBeCloseTo(
    price !== undefined && 'epsilon' in price ? price.epsilon : Number.NaN,
    9,
  )
  const answered = both.filter(({ status }) => status === 200).map(({ body }) => body)
  expect(answered.length).toBeGreaterThan(0)
  for (const { result } of answered) expect(result.value).toBeCloseTo(answered[0].result.value, 6)
})

describe('what nothing follows from', () => {
  const ofHouse = (house: string) => ({
    kind: 'count',
    where: { column: 'house', op: '=', value: house },
    epsilon: 0.1,
  })
  const [north, south] = [ofHouse('N'), ofHouse('S')]
  const register = async (id: string, more: object = {}) => {
    const rows = Array.from({ length: 90 }, (_, place) => 'NSE'.charAt(place % 3))
    await writeFile(path.join(service.dataDirectory, `${id}.csv`), ['house', ...rows].join('\n'))
    await service
      .register({
        id,
        title: 'Pupils',
        source: { kind: 'file', path: `${id}.csv`, format: 'csv' },
        columns: [{ name: 'house', type: 'category', categories: ['N', 'S', 'E'] }],
        privacyUnit: { kind: 'row' },
        neighbours: 'add-remove',
        budget: { epsilon: 10 },
        synthetic: true,
        ...more,
      })
      .expect(201)
  }
  const post = (id: string, query: object, agent = service.as('analyst')) =>
    agent.post(`/v1/datasets/${id}/queries`).send(query)
  const refusal = async (id: string, query: object, agent = service.as('analyst')) =>
    (await post(id, { ...query, use: 'free' }, agent).expect(422)).body.errors[0]

  test('a refusal names the cells that are missing, and the price of a fresh answer', async () => {
    await register('pupils')
    await post('pupils', north).expect(200)
    expect(await refusal('pupils', { kind: 'histogram', column: 'house', epsilon: 0.2 })).toEqual({
      field: 'use',
      rule: expect.stringMatching(
        /^cannot be "free": 2 of 3 cells do not follow from the answers that you have paid for: \{"house":"S"\}, \{"house":"E"\}\. A fresh answer costs epsilon 0\.2/,
      ),
    })
  })

  test('a top-up that the limits of the dataset do not allow', async () => {
    await register('limited', { queryLimits: { minEpsilon: 0.09 } })
    await post('limited', north).expect(200)
    const more = { ...north, epsilon: 0.11 }
    const previewed = (use: string) =>
      service
        .as('analyst')
        .post('/v1/datasets/limited/queries/preview')
        .send({ ...more, use })
    const reason = expect.stringMatching(/the epsilon of what they lack, 0\.0\d+, must be at least 0\.09/)
    expect((await previewed('fresh').expect(200)).body.offers.topUp).toEqual({ reason })
    const rule = expect.stringMatching(/^cannot be "topUp": .* A fresh answer costs epsilon 0\.11/)
    for (const refused of [await previewed('topUp'), await post('limited', { ...more, use: 'topUp' })])
      expect(refused.body).toMatchObject({ status: 422, errors: [{ field: 'use', rule }] })
  })

  test('releases of another version', async () => {
    await post('pupils', { ...north, use: 'free' }).expect(200)
    await writeFile(path.join(service.dataDirectory, 'pupils.csv'), ['house', 'N', 'S', 'E'].join('\n'))
    await service.as('custodian').post('/v1/datasets/pupils/versions').send({}).expect(201)
    expect((await refusal('pupils', north)).rule).toContain('does not follow')
  })

  test('releases of another analyst, unless one is shared: then it is the same measurement', async () => {
    await register('alone')
    await register('together', { sharing: true })
    const either = { ...north, where: { column: 'house', op: 'in', values: ['N', 'S'] } }
    const colleague = service.asColleague()
    for (const id of ['alone', 'together']) {
      await post(id, north).expect(200)
      await post(id, south, colleague).expect(200)
      for (const agent of [service.as('analyst'), colleague]) {
        const { rule } = await refusal(id, either, agent)
        expect(rule).toContain('does not follow')
        // It says that sharing helps, and not what others have asked.
        expect(rule.includes('costs your allotment alone')).toBe(id === 'together')
        expect(rule).not.toContain('house')
      }
    }
    const own = (await post('together', south, colleague).expect(200)).body
    const shared = (await post('together', south).expect(200)).body
    expect([shared.shared, shared.measurement]).toEqual([true, own.measurement])
    const free = (await post('together', { ...either, use: 'free' }).expect(200)).body
    expect(free.inference.releases).toContainEqual({ id: shared.id, measurement: own.measurement })
    expect((await refusal('together', either, colleague)).rule).toContain('does not follow')
  })
})

test('a key of its own asks for fresh noise, and for nothing else', async () => {
  const before = await spent()
  for (const use of ['free', 'topUp']) {
    const refused = await ask({ ...total, use })
      .set('idempotency-key', 'chosen')
      .expect(400)
    expect(refused.body).toMatchObject({ code: 'invalid-request', errors: [{ field: 'use' }] })
  }
  expect(await spent()).toBe(before)
})

test('stored answers can be recomputed from the answers that they follow from, also from one in a batch', async () => {
  const younger = { kind: 'count', where: { column: 'Age', op: '<', value: 40 }, epsilon: 0.01 }
  const older = { kind: 'count', where: { column: 'Age', op: '>=', value: 40 }, epsilon: 0.01 }
  await service
    .as('analyst')
    .post('/v1/datasets/census/queries/batch')
    .send({ queries: [younger, older] })
    .expect(200)
  for (const use of ['free', 'topUp']) await ask({ ...total, epsilon: 0.3, use }).expect(200)
  const verified = await service.as('auditor').get('/v1/datasets/census/ledger/verification').expect(200)
  await service.stop()
  const ledger = await openLedger({ url: path.join(service.dataDirectory, 'ledger.sqlite') })
  const { inferred, broken } = await verifyDocuments(ledger, 'census')
  await ledger.close()
  await service.restart()
  expect(broken).toBeUndefined()
  expect(inferred).toBeGreaterThan(4)
  expect(verified.body).toMatchObject({ sound: true, inferred })
})

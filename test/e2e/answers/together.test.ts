import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { batchAnswer, batchPreview } from '../../../schemas/answers/answer.ts'
import { dummyBatchAnswer } from '../../../schemas/datasets/dummy.ts'
import { verifyDocuments } from '../../../src/ledger/exported.ts'
import { openLedger } from '../../../src/ledger/open.ts'
import { entry } from '../../../src/privacy/must.ts'
import { testService } from '../service.ts'

const service = testService({ SOTTO_DEMO: 'true' }, { files: { 'small.csv': 'Sex,Married\nM,M\nF,S\n' } })
beforeAll(async () => {
  const category = (name: string, ...categories: string[]) => ({ name, type: 'category', categories })
  await service
    .register({
      id: 'rho',
      title: 'Two people',
      source: { kind: 'file', path: 'small.csv', format: 'csv' },
      columns: [category('Sex', 'M', 'F'), category('Married', 'M', 'S')],
      privacyUnit: { kind: 'row' },
      neighbours: 'add-remove',
      accounting: 'zcdp',
      budget: { epsilon: 10, delta: 1e-6 },
    })
    .expect(201)
})

const count = { kind: 'count', epsilon: 0.02 }
const bySex = { kind: 'histogram', column: 'Sex', epsilon: 0.02 }
const byBoth = { kind: 'contingency', columns: ['Married', 'Sex'], epsilon: 0.02 }
const grouped = { kind: 'groupBy', keys: ['Married'], statistics: [{ kind: 'count' }], epsilon: 0.02 }
const queries = [count, bySex, byBoth, grouped]

const post = (call: string, body: object, dataset = 'census') =>
  service.as('analyst').post(`/v1/datasets/${dataset}/queries/batch${call}`).send(body)
const ask = async (body: object, dataset?: string) =>
  batchAnswer.parse((await post('', body, dataset).expect(200)).body)
const preview = async (body: object, dataset?: string) =>
  batchPreview.parse((await post('/preview', body, dataset).expect(200)).body)
const spent = async () => {
  const { body } = await service.as('analyst').get('/v1/datasets/census/budget').expect(200)
  return body.spent
}

const verified = async () => {
  await service.stop()
  const ledger = await openLedger({ url: path.join(service.dataDirectory, 'ledger.sqlite') })
  const { requests: _, ...found } = await verifyDocuments(ledger, 'census')
  await ledger.close()
  await service.restart()
  return found
}

describe('a batch that is planned together', () => {
  test('is the default where it costs less: the preview states both prices, and the answer agrees with itself', async () => {
    const stated = await preview({ queries })
    expect(stated).toMatchObject({
      plan: 'together',
      disjoint: [],
      sumOfPrices: { epsilon: 0.08, delta: 0 },
      plans: { separate: { price: { epsilon: 0.08, delta: 0 } }, together: { price: stated.price } },
    })
    const separate = await preview({ queries, plan: 'separate' })
    expect(separate).toMatchObject({ plan: 'separate', plans: stated.plans, price: { epsilon: 0.08 } })
    for (const [place, { accuracy }] of stated.answers.entries())
      expect(accuracy.halfWidth).toBeLessThanOrEqual(entry(separate.answers, place).accuracy.halfWidth ?? 0)

    const answer = await ask({ queries })
    expect(answer).toMatchObject({ plan: 'together', cost: stated.price, question: { queries } })
    expect(answer.answers.map(({ accuracy }) => accuracy.halfWidth)).toEqual(
      stated.answers.map(({ accuracy }) => accuracy.halfWidth),
    )
    expect(answer.together?.map(({ noise }) => noise)).toEqual(stated.together?.map(({ noise }) => noise))
    const [total, sexes, table, groups] = answer.answers
    if (total?.kind !== 'count' || sexes?.kind !== 'histogram' || table?.kind !== 'contingency')
      throw new Error('the answers are in the order of the queries')
    if (groups?.kind !== 'groupBy') throw new Error('groups were asked for')
    const sum = (values: readonly number[]) => values.reduce((whole, each) => whole + each, 0)
    const { cells } = table.result
    expect(sum(sexes.result.cells.map(({ value }) => value))).toBeCloseTo(total.result.value, 7)
    for (const { key, value } of sexes.result.cells)
      expect(sum(cells.filter((cell) => cell.key.Sex === key.Sex).map((cell) => cell.value))).toBeCloseTo(
        value,
        7,
      )
    for (const { key, values } of groups.result.groups) {
      const parts = cells.filter((cell) => cell.key.Married === key.Married)
      expect(sum(parts.map((cell) => cell.value))).toBeCloseTo(Number(values.count?.value), 7)
      expect(values.count?.halfWidth).toBeGreaterThan(0)
    }
  })

  test('is replayed, also with another spelling and post-processing, and listed with its question', async () => {
    const asked = { queries, plan: 'together' }
    const first = await ask(asked)
    const before = await spent()
    expect(await preview({ queries })).toMatchObject({ paid: true, cost: { epsilon: 0 } })
    const rounded = { nonNegative: true, round: true }
    const again = await ask({
      queries: [{ ...count, postprocess: rounded }, ...queries.slice(1)],
      objective: 'largest',
      plan: 'together',
    })
    expect(again).toMatchObject({ id: first.id, cost: { epsilon: 0 } })
    expect(again.together).toEqual(first.together)
    const [value] = again.answers
    expect(value?.kind === 'count' && Number.isInteger(value.result.value)).toBe(true)
    expect(value?.measured).toBeDefined()
    expect(await spent()).toEqual(before)
    // Another plan, and another objective, are other questions.
    expect((await preview({ queries, plan: 'separate' })).paid).toBe(false)
    expect((await preview({ queries, plan: 'together', objective: 'total' })).paid).toBe(false)
    const { body } = await service.as('analyst').get('/v1/releases?dataset=census&kind=batch').expect(200)
    expect(body.releases).toHaveLength(1)
    expect(body.releases[0].question.queries).toEqual(queries)
    const shown = await service
      .as('analyst')
      .post(`/v1/releases/${first.id}/postprocess`)
      .send({ round: true })
      .expect(200)
    expect(batchAnswer.parse(shown.body).together).toEqual(first.together)
  })

  test('says for free what else follows from it, also in rho', async () => {
    for (const dataset of ['census', 'rho']) {
      const { id, answers } = await ask({ queries, plan: 'together' }, dataset)
      const [, sexes] = answers
      if (sexes?.kind !== 'histogram') throw new Error('a histogram was asked for')
      const where = { column: 'Sex', op: '=', value: 'F' }
      const free = { kind: 'count', where, epsilon: 0.02, use: 'free' }
      const { body } = await service.ask(dataset, free).expect(200)
      const cell = sexes.result.cells.find(({ key }) => key.Sex === 'F')
      expect(body.result.value).toBeCloseTo(cell?.value ?? 0, 2)
      // Bounds for few and for many noises differ by less than this.
      expect(body.accuracy.halfWidth / (sexes.accuracy.halfWidth ?? 0)).toBeCloseTo(1, 1)
      expect(body.inference.releases[0].id).toBe(id)
    }
    expect(await verified()).toEqual({ inferred: 1 })
  })

  test('has sums as a part of its own, which agree with each other, and from which others follow', async () => {
    const clamp = { lower: 0, upper: 50_000 }
    const earnings = { kind: 'sum', column: 'Earnings', clamp }
    const sumBy = (...keys: string[]) => ({ kind: 'groupBy', keys, statistics: [earnings] })
    const both = [{ kind: 'count' }, earnings]
    const asked = [
      ...queries,
      { ...earnings, epsilon: 0.1 },
      { ...sumBy('Sex'), epsilon: 0.1 },
      { ...sumBy('Married', 'Sex'), accuracy: { halfWidth: 2e6 } },
      { kind: 'groupBy', keys: ['Married'], statistics: both, epsilon: 0.1 },
    ]
    const stated = await preview({ queries: asked })
    expect(stated.plan).toBe('together')
    const sum = { column: 'Earnings', clamp }
    expect(stated.together?.map((part) => part.sum)).toEqual([undefined, sum])
    const { id, together = [], answers } = await ask({ queries: asked })
    expect(together.map(({ noise }) => noise)).toEqual(stated.together?.map(({ noise }) => noise))
    const total = answers[4]
    const byBothKeys = answers[6]
    const marriages = answers[7]
    if (total?.kind !== 'sum' || byBothKeys?.kind !== 'groupBy' || marriages?.kind !== 'groupBy')
      throw new Error('the answers are in the order of the queries')
    expect(stated.answers[7]?.accuracy).toEqual(marriages.accuracy)
    const sums = byBothKeys.result.groups.map(({ values }) => Number(values.sum_Earnings?.value))
    const whole = sums.reduce((all, each) => all + each, 0)
    expect(Math.abs(whole - total.result.value)).toBeLessThan(1e-3)
    expect(Object.keys(marriages.result.groups[0]?.values ?? {})).toEqual(['count', 'sum_Earnings'])

    const where = { column: 'Sex', op: '=', value: 'F' }
    const free = { ...earnings, where, epsilon: 0.1, use: 'free' }
    const { body } = await service.ask('census', free).expect(200)
    const bySexes = answers[5]
    if (bySexes?.kind !== 'groupBy') throw new Error('sums by sex were asked for')
    const women = bySexes.result.groups.find(({ key }) => key.Sex === 'F')?.values.sum_Earnings
    expect(Math.abs(body.result.value - Number(women?.value))).toBeLessThan(0.01 * Number(women?.halfWidth))
    expect(body.accuracy.halfWidth / Number(women?.halfWidth)).toBeCloseTo(1, 1)
    expect(body.inference.releases.map((each: { id: string }) => each.id)).toContain(id)
    // Another clamp adds up other values.
    const { body: refused } = await service
      .ask('census', { ...free, clamp: { lower: 0, upper: 40_000 } })
      .expect(422)
    expect(refused.errors[0].field).toBe('use')
    expect(await verified()).toEqual({ inferred: 2 })
  })

  test('needs less rho by Gaussian noise, for accuracies too', async () => {
    const accuracy = { halfWidth: 40 }
    const asked = [count, bySex, byBoth].map(({ epsilon: _, ...query }) => ({ ...query, accuracy }))
    const { plan, plans, answers } = await preview({ queries: asked }, 'rho')
    expect(plan).toBe('together')
    if (!('price' in plans.together)) throw new Error('both have a price')
    const [together, separate] = [plans.together.price, plans.separate.price].map(
      (each) => Object.values(each)[0],
    )
    expect(together).toBeLessThan(Number(separate) / 3)
    for (const { accuracy: stated } of answers) expect(stated.halfWidth).toBeLessThanOrEqual(40)
  })

  test('is practised over made-up rows at its price', async () => {
    const { body } = await post('?on=dummy', { queries: [count, byBoth] }).expect(200)
    const { plan, cost } = dummyBatchAnswer.parse(body)
    expect(plan).toBe('together')
    expect(cost).toEqual((await preview({ queries: [count, byBoth] })).price)
  })

  test('where it does not apply the batch is as ever, and the preview says why', async () => {
    const mixed = [count, { kind: 'mean', column: 'Age', epsilon: 0.02 }]
    expect(await preview({ queries: mixed })).toMatchObject({
      plan: 'separate',
      plans: { together: { reason: expect.stringContaining('queries.1.kind: must be count, sum') } },
    })
  })

  test.each([
    ['plan', { plan: 'both' }],
    ['objective', { plan: 'together', objective: 'least' }],
    ['objective', { objective: 'total' }],
    ['weights.1', { plan: 'together', weights: [1, -1, 1, 1] }],
    ['weights', { plan: 'together', weights: [1] }],
    [
      'queries.1.where',
      { plan: 'together', queries: [count, { ...bySex, where: { column: 'Age', op: '>', value: 30 } }] },
    ],
    ['queries.1.kind', { plan: 'together', queries: [count, { kind: 'median', column: 'Age', epsilon: 1 }] }],
  ])('names the field %s and its rule, and costs nothing', async (field, body) => {
    const before = await spent()
    for (const call of ['', '/preview']) {
      const { body: problem, status } = await post(call, { queries, ...body })
      expect([status, problem.errors[0].field]).toEqual([expect.any(Number), field])
      expect(status).toBeGreaterThanOrEqual(400)
      expect(problem.errors[0].rule).toMatch(/^must|^cannot/)
    }
    expect(await spent()).toEqual(before)
  })
})

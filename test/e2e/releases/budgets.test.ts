import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  answer as answerSchema,
  batchAnswer,
  batchPreview,
  preview,
} from '../../../schemas/answers/answer.ts'
import { analystList, budgetReport } from '../../../schemas/budgets/budget.ts'
import { createSigningKey, isSignatureOf } from '../../../src/ledger/signature.ts'
import { startTestService, type TestService } from '../service.ts'

let folder = ''
let service: TestService
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'sotto-signing-'))
  const keyFile = path.join(folder, 'signing.pem')
  await createSigningKey(keyFile)
  service = await startTestService({ SOTTO_LEDGER_SIGNING_KEY: keyFile })
  const rows = Array.from({ length: 100 }, (_, year) => `${year},name ${year}`)
  await writeFile(path.join(service.dataDirectory, 'pupils.csv'), ['year,name', ...rows].join('\n'))
})
afterAll(async () => {
  await service.close()
  await rm(folder, { recursive: true })
})

const registration = {
  id: 'pupils',
  title: 'Pupils',
  source: { kind: 'file', path: 'pupils.csv', format: 'csv' },
  columns: [
    { name: 'year', type: 'integer', lower: 0, upper: 100 },
    { name: 'name', type: 'string', selectable: true },
  ],
  privacyUnit: { kind: 'row' },
  neighbours: 'add-remove',
  budget: { epsilon: 1, delta: 1e-6 },
  synthetic: true,
}
const register = (changes: object) => service.register({ ...registration, ...changes })
const post = (pathname: string, body: object, { key = '', agent = service.as('analyst') } = {}) => {
  const request = agent.post(`/v1/datasets/${pathname}`)
  return (key === '' ? request : request.set('idempotency-key', key)).send(body)
}
const budgetOf = async (dataset: string, agent = service.as('custodian')) =>
  budgetReport.parse((await agent.get(`/v1/datasets/${dataset}/budget`).expect(200)).body)
const analystsOf = async (dataset: string, agent = service.as('custodian')) =>
  analystList.parse((await agent.get(`/v1/datasets/${dataset}/analysts`).expect(200)).body).analysts
const verified = async (dataset: string) =>
  (await service.as('auditor').get(`/v1/datasets/${dataset}/ledger/verification`).expect(200)).body
const kindsOf = async (dataset: string) =>
  (await service.as('auditor').get(`/v1/datasets/${dataset}/ledger?limit=500`).expect(200)).body.entries.map(
    ({ kind }: { kind: string }) => kind,
  )
const count = { kind: 'count', epsilon: 0.01 }

describe('under zcdp', () => {
  beforeAll(() => register({ id: 'rho', accounting: 'zcdp' }).expect(201))

  test('the grant is converted to rho, and queries are charged in rho', async () => {
    expect(await budgetOf('rho')).toEqual({
      accounting: 'zcdp',
      granted: { epsilon: 1, delta: 1e-6 },
      // 0.024355970359538372 by an independent computation of the same bound, rounded down.
      cap: { rho: 0.024355970359 },
      spent: { rho: 0 },
      remaining: { rho: 0.024355970359 },
      amountsTo: { epsilon: 0, delta: 0 },
    })
    // epsilon tanh(epsilon / 2) = 0.00004999958333749998, rounded up.
    const seen = preview.parse((await post('rho/queries/preview', count).expect(200)).body)
    expect(seen).toMatchObject({ cost: { rho: 0.000049999584 }, affordable: true })
    const { cost, budget } = answerSchema.parse((await post('rho/queries', count).expect(200)).body)
    expect(cost).toEqual(seen.cost)
    expect(budget.remaining).toEqual({ rho: 0.024305970775 })
    const { amountsTo } = await budgetOf('rho')
    expect(amountsTo?.delta).toBe(1e-6)
    expect(amountsTo?.epsilon).toBeGreaterThan(0.01)
    expect(amountsTo?.epsilon).toBeLessThan(0.1)
  })

  test('more than twice as many counts of epsilon 0.02 fit as under basic accounting, and the next is denied', async () => {
    await register({ id: 'rho-filled', accounting: 'zcdp' }).expect(201)
    await register({ id: 'epsilon-filled' }).expect(201)
    const larger = { ...count, epsilon: 0.02 }
    const answered = async (dataset: string, asked: number) => {
      const statuses = await Promise.all(
        Array.from(
          { length: asked },
          async (_, place) =>
            (await post(`${dataset}/queries`, larger, { key: `${dataset}-${place}` })).status,
        ),
      )
      expect(new Set(statuses)).toEqual(new Set([200, 403]))
      return statuses.filter((status) => status === 200).length
    }
    expect(await answered('epsilon-filled', 60)).toBe(50)
    expect(await answered('rho-filled', 130)).toBe(121)
    const { body } = await post('rho-filled/queries', larger, { key: 'last' }).expect(403)
    expect(body).toMatchObject({ code: 'budget-insufficient', price: { rho: 0.000199993334 } })
    expect(await verified('rho-filled')).toMatchObject({ sound: true, granted: { epsilon: 1, delta: 1e-6 } })
  })

  test('a query without a price in rho is refused, and so is a budget without a delta', async () => {
    const keys = { kind: 'keySelection', column: 'name', epsilon: 0.01, delta: 1e-7 }
    const { body } = await post('rho/queries', keys).expect(422)
    expect(body).toMatchObject({ code: 'unsupported-under-zcdp', errors: [{ field: 'kind' }] })
    const refused = await register({ id: 'no-rho', accounting: 'zcdp', budget: { epsilon: 1, delta: 0 } })
    expect(refused.body).toMatchObject({ code: 'invalid-request', errors: [{ field: 'budget.delta' }] })
  })

  test('a grant converts the new total, and a session is charged in rho', async () => {
    await post('rho/grants', { epsilon: 1, reason: 'more' }, { agent: service.as('custodian') }).expect(200)
    const { granted, cap } = await budgetOf('rho')
    expect(granted).toEqual({ epsilon: 2, delta: 1e-6 })
    const alone = 2 * 0.024355970359
    expect('rho' in cap && cap.rho).toBeGreaterThan(alone)
    const session = await post('rho/sparse-vector-sessions', { threshold: 5, positives: 1, epsilon: 0.01 })
    expect(session.body).toMatchObject({ cost: { rho: 0.000049999584 }, positivesLeft: 1 })
    expect(await verified('rho')).toMatchObject({ sound: true, cap })
  })

  test('an id keeps its accounting when it is registered again', async () => {
    await register({ id: 'keeps', accounting: 'zcdp' }).expect(201)
    await service.as('custodian').delete('/v1/datasets/keeps').expect(204)
    const { body } = await register({ id: 'keeps' }).expect(409)
    expect(body).toMatchObject({ code: 'budget-account-exists', errors: [{ field: 'accounting' }] })
    await register({ id: 'keeps', accounting: 'zcdp' }).expect(201)
  })
})

describe('a batch', () => {
  const half = (op: string, epsilon: number) => ({
    kind: 'count',
    where: { column: 'year', op, value: 50 },
    epsilon,
    mechanism: 'geometric',
  })

  test('is charged once, with parallel composition, and replayed as a whole', async () => {
    await register({ id: 'batch', budget: { epsilon: 1_000 } }).expect(201)
    const queries = [half('<', 90), half('>=', 100), { kind: 'count', epsilon: 200, mechanism: 'geometric' }]
    const before = batchPreview.parse(
      (await post('batch/queries/batch/preview', { queries }).expect(200)).body,
    )
    expect(before).toMatchObject({
      cost: { epsilon: 300 },
      sumOfPrices: { epsilon: 390 },
      disjoint: [[0, 1]],
    })
    expect(await kindsOf('batch')).toEqual(['opened'])
    const first = await post('batch/queries/batch', { queries }).expect(200)
    const { answers, cost, id, receipt } = batchAnswer.parse(first.body)
    // Noise of these scales is 0 except with a probability below 1e-38.
    expect(answers.map(({ result }) => result)).toEqual([{ value: 50 }, { value: 50 }, { value: 100 }])
    expect(cost).toEqual(before.cost)
    expect(receipt.sequence).toBe(2)
    expect((await budgetOf('batch')).spent).toEqual({ epsilon: 300, delta: 0 })
    const again = await post('batch/queries/batch', { queries }).expect(200)
    expect(batchAnswer.parse(again.body)).toEqual({
      ...first.body,
      cost: { epsilon: 0, delta: 0 },
      price: { epsilon: 300, delta: 0 },
    })
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect((await service.as('analyst').get(`/v1/releases/${id}`).expect(200)).text).toBe(first.text)
    expect(await kindsOf('batch')).toEqual(['answered', 'charged', 'opened'])
  })

  test('is charged whole or not at all', async () => {
    await register({ id: 'batch-short', budget: { epsilon: 1 } }).expect(201)
    const queries = [half('<', 0.4), half('<=', 0.4), half('!=', 0.4)]
    const { body } = await post('batch-short/queries/batch', { queries }).expect(403)
    expect(body).toMatchObject({ code: 'budget-insufficient', price: { epsilon: 1.2 } })
    expect((await budgetOf('batch-short')).spent).toEqual({ epsilon: 0, delta: 0 })
    await post('batch-short/queries/batch', { queries: [half('<', 0.4), half('>=', 1)] }).expect(200)
    expect((await budgetOf('batch-short')).remaining).toEqual({ epsilon: 0, delta: 0 })
  })

  test('names the query that does not fit, and charges nothing', async () => {
    const wrong = { queries: [count, { kind: 'mean', column: 'shoe', epsilon: 1 }] }
    const { body } = await post('batch/queries/batch', wrong).expect(422)
    expect(body.errors).toEqual([{ field: 'queries.1.column', rule: expect.any(String) }])
    expect((await post('batch/queries/batch', { queries: [] })).body.errors[0].field).toBe('queries')
    const unknown = await post('batch/queries/batch', { queries: [{ ...count, epsilom: 1 }] }).expect(400)
    expect(unknown.body.errors).toEqual([{ field: 'queries.0.epsilom', rule: expect.any(String) }])
    const many = { queries: Array.from({ length: 101 }, () => count) }
    await post('batch/queries/batch', many).expect(400)
    const statistics = [{ kind: 'count' }, { kind: 'mean', column: 'year' }]
    const bins = { column: 'year', edges: Array.from({ length: 101 }, (_, edge) => edge) }
    const wide = {
      queries: Array.from({ length: 99 }, () => ({ kind: 'histogram', column: bins, epsilon: 1 })),
    }
    const keys = { kind: 'keySelection', column: 'name', epsilon: 0.1, delta: 1e-9 }
    await post('batch/queries/batch/preview', { queries: [keys, keys, keys] }).expect(200)
    const { status, text } = await post('batch/queries/batch/preview', {
      queries: [...wide.queries, { kind: 'groupBy', keys: [bins], statistics, epsilon: 1 }],
    })
    expect(status).toBe(422)
    expect(text.slice(0, 500)).toContain('at most 10000 values')
    expect(await kindsOf('batch')).toEqual(['answered', 'charged', 'opened'])
  })
})

describe('an allotment', () => {
  const allot = (dataset: string, analyst: string, body: object, agent = service.as('custodian')) =>
    agent.put(`/v1/datasets/${dataset}/analysts/${analyst}/allotment`).send(body)
  const colleague = () => ({ agent: service.asColleague() })

  test('limits one analyst; the cap limits all of them together', async () => {
    await register({ id: 'shares', budget: { epsilon: 1 } }).expect(201)
    await allot('shares', 'analyst', { epsilon: 0.6, reason: 'share' }).expect(200)
    await allot('shares', 'colleague', { epsilon: 0.6, reason: 'share' }).expect(200)
    await post('shares/queries', { kind: 'count', epsilon: 0.5 }).expect(200)
    const more = { kind: 'count', epsilon: 0.2 }
    expect((await post('shares/queries/preview', more).expect(200)).body).toMatchObject({
      affordable: false,
      allotment: { cap: { epsilon: 0.6 }, spent: { epsilon: 0.5 }, remaining: { epsilon: 0.1 } },
    })
    const limited = await post('shares/queries', more).expect(403)
    expect(limited.body).toMatchObject({
      code: 'allotment-insufficient',
      remaining: { epsilon: 0.1, delta: 0 },
      price: { epsilon: 0.2, delta: 0 },
    })
    await post('shares/queries', { kind: 'count', epsilon: 0.5 }, colleague()).expect(200)
    const over = await post('shares/queries', { kind: 'count', epsilon: 0.1 }, colleague()).expect(403)
    expect(over.body.code).toBe('budget-insufficient')
    expect((await budgetOf('shares')).remaining).toEqual({ epsilon: 0, delta: 0 })
    expect(await analystsOf('shares')).toMatchObject([
      { analyst: 'analyst', spent: { epsilon: 0.5 }, allotment: { remaining: { epsilon: 0.1 } } },
      { analyst: 'colleague', spent: { epsilon: 0.5 }, allotment: { remaining: { epsilon: 0.1 } } },
    ])
    expect(await verified('shares')).toMatchObject({ sound: true, analysts: await analystsOf('shares') })
  })

  test('is set and removed by a custodian; an analyst sees their own', async () => {
    await register({ id: 'own', budget: { epsilon: 1 } }).expect(201)
    await allot('own', 'analyst', { epsilon: 0.5, reason: 'x' }, service.as('analyst')).expect(403)
    await allot('own', 'nobody', { epsilon: 0.5, reason: 'x' }).expect(404)
    await allot('never', 'analyst', { epsilon: 0.5, reason: 'x' }).expect(404)
    const digits = await allot('own', 'analyst', { epsilon: 0.1234567891, reason: 'x' }).expect(400)
    expect(digits.body.errors[0].field).toBe('epsilon')
    await allot('own', 'analyst', { epsilon: 0.5, reason: 'x' }).expect(200)
    await post('own/queries', { kind: 'count', epsilon: 0.4 }).expect(200)
    const below = await allot('own', 'analyst', { epsilon: 0.3, reason: 'x' }).expect(409)
    expect(below.body).toMatchObject({ code: 'allotment-below-spent', spent: { epsilon: 0.4 } })
    expect((await budgetOf('own', service.as('analyst'))).allotment?.remaining).toEqual({
      epsilon: 0.1,
      delta: 0,
    })
    expect((await budgetOf('own', service.asColleague())).allotment).toBeUndefined()
    expect((await analystsOf('own', service.asColleague())).map(({ analyst }) => analyst)).toEqual([
      'colleague',
    ])
    await service.as('custodian').delete('/v1/datasets/own/analysts/analyst/allotment').expect(200)
    await post('own/queries', { kind: 'count', epsilon: 0.5 }).expect(200)
    expect((await kindsOf('own')).filter((kind: string) => kind === 'allotted')).toHaveLength(2)
  })
})

describe('an allotment of 0', () => {
  test.each([
    ['basic', 'stopped'],
    ['zcdp', 'stopped-rho'],
  ])('allows an analyst no further spending, under %s', async (accounting, id) => {
    const allot = (body: object) =>
      service.as('custodian').put(`/v1/datasets/${id}/analysts/analyst/allotment`).send(body)
    await register({ id, accounting }).expect(201)
    await post(`${id}/queries`, count).expect(200)
    const { body } = await allot({ epsilon: 0, reason: 'the study ended' }).expect(200)
    const [limit] = Object.values(body.allotment.remaining)
    expect(limit).toBe(0)
    expect(body.allotment.cap).toEqual(body.spent)
    const denied = await post(`${id}/queries`, { kind: 'count', epsilon: 0.001 }).expect(403)
    expect(denied.body.code).toBe('allotment-insufficient')
    await post(`${id}/queries`, count).expect(200)
    await post(`${id}/queries`, count, { agent: service.asColleague() }).expect(200)
    expect(await verified(id)).toMatchObject({ sound: true })
    if (accounting === 'zcdp') {
      const refused = await allot({ epsilon: 0.5, reason: 'x' }).expect(400)
      expect(refused.body.errors[0].field).toBe('delta')
    }
    const control = await allot({ epsilon: 0.5, delta: 1e-7, reason: 'x\u0000' }).expect(400)
    expect(control.body.errors[0].field).toBe('reason')
  })
})

describe('sharing', () => {
  const asked = { kind: 'count', where: { column: 'year', op: '<', value: 40 }, epsilon: 0.3 }

  test('answers a question that another analyst paid for with the stored release', async () => {
    await register({ id: 'shared', budget: { epsilon: 1 }, sharing: true }).expect(201)
    const first = answerSchema.parse((await post('shared/queries', asked).expect(200)).body)
    const response = await post('shared/queries', asked, { agent: service.asColleague() }).expect(200)
    const second = answerSchema.parse(response.body)
    expect(second).toMatchObject({
      shared: true,
      cost: { epsilon: 0.3 },
      budget: { spent: { epsilon: 0.3 } },
    })
    expect([second.result, second.noise, second.accuracy]).toEqual([
      first.result,
      first.noise,
      first.accuracy,
    ])
    expect(second.id).not.toBe(first.id)
    expect(first.shared).toBeUndefined()
    const own = service.asColleague()
    expect((await own.get(`/v1/releases/${second.id}`).expect(200)).text).toBe(response.text)
    await own.get(`/v1/releases/${first.id}`).expect(404)
    const replayed = await post('shared/queries', asked, { agent: own }).expect(200)
    expect(answerSchema.parse(replayed.body)).toEqual({
      ...response.body,
      cost: { epsilon: 0, delta: 0 },
      price: response.body.cost,
    })
    expect(response.body).toMatchObject({ cost: { epsilon: 0.3, delta: 0 }, shared: true })
    expect(await analystsOf('shared')).toMatchObject([
      { analyst: 'analyst', spent: { epsilon: 0.3 }, spentOnShared: { epsilon: 0 } },
      { analyst: 'colleague', spent: { epsilon: 0.3 }, spentOnShared: { epsilon: 0.3 } },
    ])
    expect((await budgetOf('shared')).spent).toEqual({ epsilon: 0.3, delta: 0 })
    expect(await kindsOf('shared')).toEqual(['answered', 'shared', 'answered', 'charged', 'opened'])
  })

  test('a chosen key asks for a fresh draw, and pays for it', async () => {
    const fresh = await post('shared/queries', asked, { agent: service.asColleague(), key: 'fresh' }).expect(
      200,
    )
    expect(answerSchema.parse(fresh.body).shared).toBeUndefined()
    expect((await budgetOf('shared')).spent).toEqual({ epsilon: 0.6, delta: 0 })
    expect(await verified('shared')).toMatchObject({ sound: true })
  })

  test('does not happen on a dataset without sharing', async () => {
    await register({ id: 'unshared', budget: { epsilon: 1 } }).expect(201)
    await post('unshared/queries', asked).expect(200)
    await post('unshared/queries', asked, { agent: service.asColleague() }).expect(200)
    expect((await budgetOf('unshared')).spent).toEqual({ epsilon: 0.6, delta: 0 })
  })

  test('is limited by an allotment', async () => {
    await service
      .as('custodian')
      .put('/v1/datasets/shared/analysts/colleague/allotment')
      .send({ epsilon: 0.7, reason: 'x' })
      .expect(200)
    const other = { ...asked, epsilon: 0.2 }
    await post('shared/queries', other).expect(200)
    const { body } = await post('shared/queries', other, { agent: service.asColleague() }).expect(403)
    expect(body.code).toBe('allotment-insufficient')
  })
})

describe('a denial', () => {
  test('is final for a chosen key; a question without one may be asked again after a grant', async () => {
    await register({ id: 'denials', budget: { epsilon: 1 } }).expect(201)
    const dear = { kind: 'count', epsilon: 2 }
    const denied = await post('denials/queries', dear, { key: 'chosen' }).expect(403)
    expect(denied.body.detail).toContain('stays denied')
    await post('denials/queries', dear).expect(403)
    await post('denials/queries', dear).expect(403)
    await post('denials/grants', { epsilon: 5, reason: 'x' }, { agent: service.as('custodian') }).expect(200)
    await post('denials/queries', dear, { key: 'chosen' }).expect(403)
    await post('denials/queries', { ...dear, epsilon: 1 }, { key: 'chosen' }).expect(422)
    await post('denials/queries', dear).expect(200)
    await post('denials/queries', dear, { key: 'new' }).expect(200)
    // Each denial is recorded once.
    expect((await kindsOf('denials')).filter((kind: string) => kind === 'denied')).toHaveLength(2)
    expect((await budgetOf('denials')).spent).toEqual({ epsilon: 4, delta: 0 })
  })
})

test('a receipt is a signed event of the export, which contains the hash of the answer', async () => {
  await register({ id: 'receipts', budget: { epsilon: 1 } }).expect(201)
  const { text, body } = await post('receipts/queries', count).expect(200)
  const { receipt, id } = answerSchema.parse(body)
  const exported = await service.as('auditor').get('/v1/datasets/receipts/ledger/export').buffer().expect(200)
  const events = exported.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  const debit = events[receipt.sequence - 1]
  expect(debit).toMatchObject({ hash: receipt.hash, event: { kind: 'charged', chargeId: id } })
  const answered = events.find(({ event }) => event.kind === 'answered' && event.chargeId === id)
  expect(answered.event.answerHash).toBe(createHash('sha256').update(text).digest('hex'))

  const head = (await service.as('analyst').get('/v1/datasets/receipts/ledger/head').expect(200)).body
  expect(head).toMatchObject({ dataset: 'receipts', sequence: events.length, hash: events.at(-1)?.hash })
  expect(isSignatureOf(head, head.signature, head.publicKey)).toBe(true)
  const named = { dataset: 'receipts', sequence: receipt.sequence, hash: receipt.hash }
  expect(isSignatureOf(named, receipt.signature ?? '', head.publicKey)).toBe(true)
  expect(isSignatureOf({ ...named, sequence: 1 }, receipt.signature ?? '', head.publicKey)).toBe(false)
})

test('a deleted key and a withdrawn dataset get no replay', async () => {
  const other = await startTestService()
  try {
    await writeFile(path.join(other.dataDirectory, 'pupils.csv'), 'year,name\n1,a\n')
    const send = (agent = other.as('analyst')) => agent.post('/v1/datasets/pupils/queries').send(count)
    await other.register(registration).expect(201)
    const { body } = await send().expect(200)
    const { keys } = (await other.as('custodian').get('/v1/keys').expect(200)).body
    const { id } = keys.find(({ name }: { name: string }) => name === 'analyst')
    const second = { name: 'analyst', role: 'analyst', samePrincipal: true }
    const { key } = (await other.as('custodian').post('/v1/keys').send(second).expect(201)).body
    await other.as('custodian').delete(`/v1/keys/${id}`).expect(204)
    await send().expect(401)
    await other.as('analyst').get(`/v1/releases/${body.id}`).expect(401)
    const again = other.as('analyst').set('authorization', `Bearer ${key}`)
    expect((await send(again).expect(200)).headers['idempotent-replayed']).toBe('true')
    await other.as('custodian').delete('/v1/datasets/pupils').expect(204)
    await send(again).expect(404)
  } finally {
    await other.close()
  }
})

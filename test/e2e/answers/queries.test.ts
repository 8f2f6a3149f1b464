import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { answer as answerSchema, preview as previewSchema } from '../../../schemas/answers/answer.ts'
import { epsilonOf } from '../../balances.ts'
import { testService } from '../service.ts'

const service = testService({ SOTTO_DEMO: 'true' })

const ask = (query: object, key?: string) => {
  const request = service.as('analyst').post('/v1/datasets/census/queries')
  return (key === undefined ? request : request.set('idempotency-key', key)).send(query)
}
const budget = async () => (await service.as('analyst').get('/v1/datasets/census/budget').expect(200)).body

const age30 = { column: 'Age', op: '>=', value: 30 }

describe('every kind of query is answered, with its noise, accuracy and cost', () => {
  test.each([
    ['a count', { kind: 'count', epsilon: 0.01 }, 'geometric', 100_000],
    [
      'a filtered count',
      { kind: 'count', where: age30, epsilon: 0.01, mechanism: 'laplace' },
      'laplace',
      93_944,
    ],
    [
      'a gaussian count',
      { kind: 'count', epsilon: 0.01, delta: 1e-8, mechanism: 'gaussian' },
      'gaussian',
      100_000,
    ],
    [
      'a classic one',
      { kind: 'count', epsilon: 0.01, delta: 1e-8, mechanism: 'gaussian', calibration: 'classic' },
      'gaussian',
      100_000,
    ],
    ['a sum', { kind: 'sum', column: 'Age', epsilon: 0.01 }, 'geometric', 4_500_000],
    ['a mean', { kind: 'mean', column: 'Age', epsilon: 0.01, mechanism: 'laplace' }, 'laplace', 45],
  ])('%s', async (_name, query, mechanism, truth) => {
    const { body } = await ask(query).expect(200)
    const answered = answerSchema.parse(body)
    if (!('value' in answered.result)) throw new Error('one value was asked for')
    expect(answered.noise.mechanism).toBe(mechanism)
    expect(answered.noise.neighbours).toBe('add-remove')
    // Twenty half-widths: a probability below 1e-20 for geometric and Laplace noise, and less for Gaussian.
    const { halfWidth } = answered.accuracy
    expect(Math.abs(Number(answered.result.value) - truth)).toBeLessThan(20 * (halfWidth ?? 0) + truth * 0.01)
    expect(epsilonOf(answered.cost)).toBe(0.01)
  })

  test('a histogram over bins', async () => {
    const { body } = await ask({
      kind: 'histogram',
      column: { column: 'Age', edges: [0, 30, 45, 60, 120] },
      epsilon: 0.01,
    }).expect(200)
    const { cells } = body.result
    expect(cells.map((cell: { key: unknown }) => cell.key)).toEqual([
      { Age: { lower: 0, upper: 30 } },
      { Age: { lower: 30, upper: 45 } },
      { Age: { lower: 45, upper: 60 } },
      { Age: { lower: 60, upper: 120, upperIncluded: true } },
    ])
    const total = cells.reduce((sum: number, cell: { value: number }) => sum + cell.value, 0)
    expect(Math.abs(total - 100_000)).toBeLessThan(20_000)
  })

  test('a table has every declared cell and costs one epsilon', async () => {
    const { body } = await ask({
      kind: 'contingency',
      columns: ['Occupation', 'Sex', 'Married'],
      where: age30,
      epsilon: 0.05,
      postprocess: { nonNegative: true },
    }).expect(200)
    expect(body.result.cells).toHaveLength(50)
    expect(
      body.result.cells.every((cell: { value: number }) => cell.value >= 0 && Number.isInteger(cell.value)),
    ).toBe(true)
    expect(body.cost).toEqual({ epsilon: 0.05, delta: 0 })
  })
})

describe('the charge protocol over HTTP', () => {
  test('0.1 and 0.2 are debited exactly', async () => {
    const before = await budget()
    await ask({ kind: 'count', epsilon: 0.1 }, 'tenth').expect(200)
    await ask({ kind: 'count', epsilon: 0.2 }, 'fifth').expect(200)
    const after = await budget()
    expect(after.spent.epsilon).toBe(Number((before.spent.epsilon + 0.3).toFixed(9)))
    expect(after.remaining.epsilon).toBe(Number((before.remaining.epsilon - 0.3).toFixed(9)))
  })

  test('a repeated question is replayed at no cost, in any notation, and says what was paid', async () => {
    const first = await ask({ kind: 'count', where: age30, epsilon: 0.03 }).expect(200)
    expect(first.headers).not.toHaveProperty('idempotent-replayed')
    const before = await budget()
    const second = await ask({
      epsilon: 0.03,
      where: { value: 30.0, op: '>=', column: 'Age' },
      kind: 'count',
      delta: 0,
    }).expect(200)
    expect(second.headers['idempotent-replayed']).toBe('true')
    expect(answerSchema.parse(second.body)).toEqual({
      ...first.body,
      cost: { epsilon: 0, delta: 0 },
      price: { epsilon: 0.03, delta: 0 },
    })
    expect(await budget()).toEqual(before)
    const release = await service.as('analyst').get(`/v1/releases/${first.body.id}`).expect(200)
    expect(release.text).toBe(first.text)
  })

  test('a new key draws a fresh answer and is charged', async () => {
    const values = new Set<number>()
    const before = await budget()
    for (let draw = 0; draw < 5; draw += 1) {
      const { body } = await ask({ kind: 'count', epsilon: 0.001 }, `draw-${draw}`).expect(200)
      values.add(body.result.value)
    }
    expect(values.size).toBeGreaterThan(1)
    expect((await budget()).spent.epsilon).toBe(Number((before.spent.epsilon + 0.005).toFixed(9)))
  })

  test('a key identifies one request', async () => {
    await ask({ kind: 'count', epsilon: 0.001 }, 'mine').expect(200)
    const before = await budget()
    const { body } = await ask({ kind: 'count', epsilon: 0.002 }, 'mine').expect(422)
    expect(body).toMatchObject({ code: 'idempotency-key-reused', status: 422 })
    expect(await budget()).toEqual(before)
  })

  test('a question beyond the budget is denied with the amounts left and asked', async () => {
    const before = await budget()
    const response = await ask({ kind: 'count', epsilon: 50 }).expect(403)
    expect(response.headers['content-type']).toContain('application/problem+json')
    expect(response.body).toMatchObject({
      code: 'budget-insufficient',
      cap: { epsilon: 10, delta: 1e-5 },
      spent: before.spent,
      remaining: before.remaining,
      price: { epsilon: 50, delta: 0 },
      errors: [{ field: 'epsilon' }],
    })
    const delta = await ask({ kind: 'count', epsilon: 0.1, delta: 1e-4, mechanism: 'gaussian' }).expect(403)
    expect(delta.body.errors[0].field).toBe('delta')
    expect(await budget()).toEqual(before)
  })

  test('concurrent questions beyond the budget are denied, and nothing is overspent', async () => {
    const { remaining } = await budget()
    const epsilon = Number((remaining.epsilon / 5.5).toFixed(9))
    const statuses = await Promise.all(
      Array.from(
        { length: 12 },
        async (_, index) => (await ask({ kind: 'count', epsilon }, `rush-${index}`)).status,
      ),
    )
    expect(statuses.filter((status) => status === 200)).toHaveLength(5)
    expect(statuses.filter((status) => status === 403)).toHaveLength(7)
    await service
      .as('custodian')
      .post('/v1/datasets/census/grants')
      .send({ epsilon: 100, reason: 'more tests' })
      .expect(200)
    expect((await budget()).cap.epsilon).toBe(110)
  })
})

describe('preview', () => {
  test('returns cost and accuracy without charging', async () => {
    const query = { kind: 'contingency', columns: ['Occupation', 'Sex'], epsilon: 0.5 }
    const before = await budget()
    const { body } = await service
      .as('analyst')
      .post('/v1/datasets/census/queries/preview')
      .send(query)
      .expect(200)
    const previewed = previewSchema.parse(body)
    expect(previewed.cost).toEqual({ epsilon: 0.5, delta: 0 })
    expect(previewed.affordable).toBe(true)
    expect(await budget()).toEqual(before)
    const { body: paid } = await ask(query).expect(200)
    expect(paid.noise).toEqual(previewed.noise)
    expect(paid.accuracy).toEqual(previewed.accuracy)
  })

  test('says that a question is paid, in every spelling, to whom has paid for it', async () => {
    const first = { kind: 'count', where: { column: 'Age', op: '>', value: 30 }, epsilon: 0.013 }
    const again = { ...first, where: { op: 'not', predicate: { column: 'Age', op: '<=', value: 30 } } }
    const previewedAs = async (role: 'analyst' | 'custodian', path: string, body: object) =>
      (await service.as(role).post(`/v1/datasets/census/${path}/preview`).send(body).expect(200)).body
    const batch = { queries: [first, { kind: 'count', epsilon: 0.017 }] }
    const sql = { sql: 'SELECT COUNT(*) FROM census WHERE Age > 30', epsilon: 0.013 }
    expect(await previewedAs('analyst', 'queries', first)).toMatchObject({ paid: false })
    await ask(first).expect(200)
    await service.as('analyst').post('/v1/datasets/census/queries/batch').send(batch).expect(200)
    const isPaid = { paid: true, cost: { epsilon: 0, delta: 0 }, price: { delta: 0 }, affordable: true }
    expect(await previewedAs('analyst', 'queries', again)).toMatchObject(isPaid)
    expect(await previewedAs('analyst', 'queries/batch', batch)).toMatchObject(isPaid)
    expect((await previewedAs('analyst', 'sql', sql)).preview).toMatchObject(isPaid)
    const notPaid = { paid: false, cost: { epsilon: 0.013, delta: 0 } }
    expect(await previewedAs('custodian', 'queries', first)).toMatchObject(notPaid)
    expect(await previewedAs('analyst', 'queries', { ...first, epsilon: 0.014 })).toMatchObject({
      paid: false,
    })
  })

  test('a supposed number of rows gives the accuracy of a mean', async () => {
    const ask = (more: object) =>
      service
        .as('analyst')
        .post('/v1/datasets/census/queries/preview')
        .send({ kind: 'mean', column: 'Age', epsilon: 0.5, ...more })
    const { accuracy: unknown } = (await ask({}).expect(200)).body
    expect(unknown.halfWidth).toBeNull()
    expect(unknown.reason).toContain('supposed.rows')
    const { accuracy } = (await ask({ supposed: { rows: 100_000 } }).expect(200)).body
    expect(accuracy.halfWidth).toBeGreaterThan(0)
    expect(accuracy.halfWidth).toBeLessThan(0.1)
    expect(accuracy.reason).toBeUndefined()
    const wrong = await ask({ supposed: { rows: 0 } }).expect(400)
    expect(wrong.body.errors[0].field).toBe('supposed.rows')
  })

  test('suppositions at a given epsilon are not part of the question: a repeat with others is replayed', async () => {
    const mean = { kind: 'mean', column: 'Age', epsilon: 0.07 }
    const { body } = await ask({ ...mean, supposed: { rows: 100_000 } }).expect(200)
    const spent = await budget()
    for (const supposed of [undefined, { rows: 5 }, { rows: 100_000, mean: 40 }]) {
      const again = await ask({ ...mean, supposed }).expect(200)
      expect(again.headers['idempotent-replayed']).toBe('true')
      expect(again.body.id).toBe(body.id)
      expect([again.body.result, again.body.accuracy]).toEqual([body.result, body.accuracy])
    }
    expect(await budget()).toEqual(spent)
  })

  test.each([
    ['queries/preview', { kind: 'count', epsilon: 0.5 }, 0.5],
    ['queries/batch/preview', { queries: [{ kind: 'count', epsilon: 0.5 }] }, 0.5],
    ['queries/batch/preview', { queries: [{ kind: 'histogram', column: 'Sex', epsilon: 0.5 }] }, 1],
    ['sparse-vector-sessions/preview', { threshold: 10, positives: 1, epsilon: 0.5 }, 1],
  ])('%s returns the disclosure risk', async (path, body, lossOfOneReplaced) => {
    const ask = (candidates: string) =>
      service.as('analyst').post(`/v1/datasets/census/${path}${candidates}`).send(body)
    const { disclosureRisk } = (await ask('?candidates=4').expect(200)).body
    expect(disclosureRisk).toMatchObject({
      candidates: 4,
      blindGuess: 0.25,
      query: { epsilon: 0.5, delta: 0 },
    })
    expect(disclosureRisk.query.risk).toBeCloseTo(1 / (1 + 3 * Math.exp(-lossOfOneReplaced)), 12)
    expect(disclosureRisk.statement).toContain(
      'At epsilon 0.5, an adversary who knows everyone but one person',
    )
    // The number of rows is private here, so the default is two candidates.
    expect((await ask('').expect(200)).body.disclosureRisk.candidates).toBe(2)
    for (const wrong of ['1', '0', '2.5', '-3', '1e3', '', '9999999999999'])
      expect((await ask(`?candidates=${wrong}`).expect(400)).body.errors[0].field).toBe('candidates')
  })

  test('reports that the budget does not suffice', async () => {
    const { body } = await service
      .as('analyst')
      .post('/v1/datasets/census/queries/preview')
      .send({ kind: 'count', epsilon: 999 })
      .expect(200)
    expect(body.affordable).toBe(false)
  })
})

describe('releases', () => {
  test('a stored release is returned to its owner, and to custodians and auditors', async () => {
    const { body, text } = await ask({ kind: 'count', epsilon: 0.004 }).expect(200)
    const again = await service.as('analyst').get(`/v1/releases/${body.id}`).expect(200)
    expect(again.text).toBe(text)
    for (const role of ['custodian', 'auditor'] as const)
      expect((await service.as(role).get(`/v1/releases/${body.id}`).expect(200)).text).toBe(text)
    const { body: refused } = await service.asColleague().get(`/v1/releases/${body.id}`).expect(404)
    expect(refused.code).toBe('unknown-release')
    const ledger = await service.asColleague().get('/v1/datasets/census/ledger').expect(200)
    expect(ledger.body.entries).toEqual([])
    const { body: missing } = await service
      .as('analyst')
      .get(`/v1/releases/${'0'.repeat(32)}`)
      .expect(404)
    expect(missing.code).toBe('unknown-release')
  })
})

describe('the ledger', () => {
  test('is shown in full to custodians and auditors, and to analysts their own entries', async () => {
    const own = (await service.as('analyst').get('/v1/datasets/census/ledger?limit=500').expect(200)).body
      .entries
    const all = (await service.as('auditor').get('/v1/datasets/census/ledger?limit=500').expect(200)).body
      .entries
    expect(all.at(-1)).toMatchObject({ sequence: 1, kind: 'opened', amount: { epsilon: 10, delta: 1e-5 } })
    expect(all.map((entry: { kind: string }) => entry.kind)).toContain('granted')
    expect(own.every((entry: { principal: string }) => entry.principal === 'analyst')).toBe(true)
    expect(all.length).toBe(own.length + 2)
  })

  test('has pages', async () => {
    const whole = (await service.as('auditor').get('/v1/datasets/census/ledger?limit=500').expect(200)).body
      .entries
    const paged = []
    let next: string | undefined
    do {
      const { body } = await service
        .as('auditor')
        .get(`/v1/datasets/census/ledger?limit=7${next === undefined ? '' : `&cursor=${next}`}`)
        .expect(200)
      paged.push(...body.entries)
      next = body.next
    } while (next !== undefined)
    expect(paged).toEqual(whole)
  })

  test('is listed for one analyst, but for an analyst never for another', async () => {
    const read = async (role: 'auditor' | 'analyst', analyst: string) =>
      (await service.as(role).get(`/v1/datasets/census/ledger?limit=500&analyst=${analyst}`).expect(200)).body
        .entries
    const own = (await service.as('analyst').get('/v1/datasets/census/ledger?limit=500').expect(200)).body
      .entries
    expect((await read('auditor', 'analyst')).map(({ hash }: { hash: string }) => hash)).toEqual(
      own.map(({ hash }: { hash: string }) => hash),
    )
    expect(await read('auditor', 'nobody')).toEqual([])
    expect(await read('analyst', 'custodian')).toEqual(own)
  })

  test('is verified and exported for auditors and custodians', async () => {
    const auditor = service.as('auditor')
    const { body } = await auditor.get('/v1/datasets/census/ledger/verification').expect(200)
    const { text, headers } = await auditor.get('/v1/datasets/census/ledger/export').buffer().expect(200)
    expect(headers['content-type']).toContain('application/x-ndjson')
    const lines = text.trimEnd().split('\n')
    const { granted, cap, spent } = await budget()
    const last = JSON.parse(lines.at(-1) ?? '{}')
    const { analysts } = (await auditor.get('/v1/datasets/census/analysts').expect(200)).body
    const balances = { granted, cap, spent, analysts }
    const requests = lines.filter((line) => 'request' in JSON.parse(line)).length
    expect(requests).toBeGreaterThan(0)
    expect(body).toEqual({
      sound: true,
      events: lines.length,
      headHash: last.hash,
      requests,
      inferred: 0,
      ...balances,
    })
    // Computed from the bytes of the line alone, as any reader can.
    for (const [index, line] of lines.entries()) {
      const [, event = '', hash] =
        /^\{"event":(.*),"hash":"([0-9a-f]{64})"(?:,"request":.*)?\}$/.exec(line) ?? []
      expect(createHash('sha256').update(event).digest('hex')).toBe(hash)
      const previous = index === 0 ? '0'.repeat(64) : JSON.parse(lines[index - 1] ?? '{}').hash
      expect(JSON.parse(event).previousHash).toBe(previous)
    }
    for (const call of ['verification', 'export']) {
      await service.as('custodian').get(`/v1/datasets/census/ledger/${call}`).expect(200)
      await service.as('analyst').get(`/v1/datasets/census/ledger/${call}`).expect(403)
      await auditor.get(`/v1/datasets/never/ledger/${call}`).expect(404)
    }
  })

  test.each(['limit=0', 'limit=x', 'limit=0x10', 'limit=501', 'cursor=-1', 'other=1'])(
    '%s is refused',
    async (text) => {
      const { body } = await service.as('auditor').get(`/v1/datasets/census/ledger?${text}`).expect(400)
      expect(body.code).toBe('invalid-request')
    },
  )
})

describe('logs', () => {
  test('contain no key, no body and no value from data', () => {
    const text = service.logLines.join('\n')
    expect(service.logLines.length).toBeGreaterThan(10)
    for (const role of ['analyst', 'custodian', 'auditor'] as const)
      expect(text).not.toContain(service.keyOf(role))
    expect(text).not.toMatch(/Bearer|Occupation|Unicorn|"value"/)
    expect(JSON.parse(service.logLines.at(-1) ?? '{}')).toMatchObject({
      reqId: expect.any(String),
      status: expect.any(Number),
    })
  })
})

describe('operation', () => {
  test('health and readiness need no key', async () => {
    const request = service.as('analyst')
    await request.get('/healthz').unset('authorization').expect(200, { status: 'ok' })
    await request
      .get('/readyz')
      .unset('authorization')
      .expect(200, {
        status: 'ready',
        verification: 'complete',
        connections: { configured: 0, unreachable: 0 },
      })
  })
})

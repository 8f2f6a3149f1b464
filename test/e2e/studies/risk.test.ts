import { once } from 'node:events'
import http from 'node:http'
import fastify from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { describe, expect, test } from 'vitest'
import { riskRoutes } from '../../../routes/studies/risk.ts'
import { epsilonReport, riskReport } from '../../../schemas/studies/risk.ts'
import { requireRoles } from '../../../src/http/access/roles.ts'
import type { ComputationTerms } from '../../../src/platform/threads/pool.ts'
import { testService } from '../service.ts'

const service = testService()

const school = {
  universe: { school_year: [1, 2, 3, 4], absence_days: [1, 2, 3, 10] },
  released: 3,
  query: { kind: 'mean' },
}
const ask = (path: string, body: object) => service.as('analyst').post(`/v1/risk${path}`).send(body)

describe('POST /v1/risk', () => {
  test('returns the figures of Lee and Clifton 2011, section 5', async () => {
    const { body } = await ask('', { ...school, epsilon: 2, response: 2.20131 }).expect(200)
    const [year, days] = riskReport.parse(body).columns
    expect(year?.sensitivity.unbounded).toBeCloseTo(0.8333333333333334, 12)
    expect(days?.sensitivity).toEqual({ bounded: 3, unbounded: 2.8333333333333335 })
    const posteriors = (column: typeof year) => column?.posterior?.worlds?.map(({ posterior }) => posterior)
    const close = (figures: readonly number[]) => figures.map((figure) => expect.closeTo(figure, 7))
    expect(posteriors(year)).toEqual(close([0.33898835, 0.4003158, 0.17987348, 0.08082237]))
    expect(posteriors(days)).toEqual(close([0.61802372, 0.15816999, 0.12500781, 0.09879847]))
    expect(days?.posterior?.confidence).toBeCloseTo(0.61802372 - 0.25, 7)
  })

  test('the risk is that of a person with all rows', async () => {
    const asked = { released: 2, epsilon: 1, response: 12.5, query: { kind: 'sum' } }
    const rows = await ask('', { ...asked, universe: { cost: [[3, 1], 10, [2, 0, 0.5]] } }).expect(200)
    const totals = await ask('', { ...asked, universe: { cost: [4, 10, 2.5] } }).expect(200)
    expect(rows.body).toEqual(totals.body)
    expect(rows.body.columns[0].sensitivity).toEqual({ bounded: 7.5, unbounded: 10 })
    const counting = { kind: 'count', satisfying: { op: '>=', value: 1 } }
    const counts = await ask('', {
      released: 2,
      query: counting,
      universe: { cost: [[3, 1], 10, [2, 0, 0.5]] },
    })
    expect(counts.body.columns[0].sensitivity).toEqual({ bounded: 1, unbounded: 2 })
  })

  test('refuses several rows of a person where the statistic depends on their number', async () => {
    const { body } = await ask('', {
      released: 2,
      query: { kind: 'mean' },
      universe: { cost: [1, [2, 3], 4] },
    }).expect(400)
    expect(body.errors[0].field).toBe('universe.cost.1')
  })

  test('accepts a universe of ten thousand people and a prior of thousands of worlds', async () => {
    const universe = { value: Array.from({ length: 10_000 }, (_, person) => 100_000 + person / 100) }
    const one = await ask('', { universe, released: 9_999, query: { kind: 'mean' } }).expect(200)
    expect(one.body.columns[0].worlds).toBe(10_000)
    const pairs = { universe: { value: Array.from({ length: 120 }, (_, person) => person) }, released: 2 }
    const prior = Array.from({ length: 7_140 }, () => 1 / 7_140)
    await ask('', { ...pairs, query: { kind: 'sum' }, prior }).expect(200)
    const { body } = await ask('', { ...school, extra: 'x'.repeat(1_100_000) }).expect(413)
    expect(body).toMatchObject({ code: 'body-too-large', detail: 'The body is larger than 1024 KiB.' })
  })

  test('accepts a response for each column, and omits epsilon if none is given', async () => {
    const { body } = await ask('', {
      ...school,
      epsilon: 2,
      response: { absence_days: 2.20131, school_year: 3 },
    }).expect(200)
    expect(
      body.columns.map(({ posterior }: { posterior: { response: number } }) => posterior.response),
    ).toEqual([3, 2.20131])
    const { body: bare } = await ask('', school).expect(200)
    expect(bare.columns[0]).not.toHaveProperty('bounds')
    expect(bare).not.toHaveProperty('epsilon')
  })

  test('answers for neighbours that differ by two people, and says why where there are none', async () => {
    const universe = { value: [1, 2, 4, 8, 16, 32] }
    const asked = { universe, released: 4, query: { kind: 'sum' }, changed: 2, epsilon: 1 }
    const { body } = await ask('', asked).expect(200)
    expect(body.changed).toBe(2)
    expect(body.columns[0].sensitivity).toEqual({ bounded: 45, unbounded: 48 })
    const { body: refused } = await ask('', { ...school, changed: 2 }).expect(400)
    expect(refused.errors[0].rule).toContain('of the 3 people released for others, and 1 person can join')
  })

  test('accepts a prior', async () => {
    const { body } = await ask('', {
      ...school,
      prior: [0.7, 0.1, 0.1, 0.1],
      epsilon: 0,
      response: 2,
    }).expect(200)
    expect(body.columns[0].largestPrior).toBeCloseTo(0.7, 12)
    expect(body.columns[0].bounds.tightBound).toBeCloseTo(0.7, 12)
  })

  // Added up in this order, these doubles give 0.9999999999999999.
  test('a prior that sums to 1 is reported unchanged', async () => {
    const prior = [0.4, 0.3, 0.2, 0.1]
    const { body } = await ask('', { ...school, prior, epsilon: 1, response: 2 }).expect(200)
    for (const { largestPrior, posterior } of body.columns) {
      expect(largestPrior).toBe(0.4)
      expect(posterior.worlds.map((world: { prior: number }) => world.prior)).toEqual(prior)
    }
  })

  test.each([
    ['universe', { universe: {} }],
    ['universe', { universe: { a: [1, 2], b: [1, 2, 3] } }],
    ['universe.a', { universe: { a: [1] } }],
    ['universe.a.1', { universe: { a: [1, 'two'] } }],
    ['released', { released: 4 }],
    ['released', { released: 0 }],
    ['released', { released: '3' }],
    ['changed', { changed: 2 }],
    ['query.kind', { query: { kind: 'mode' } }],
    ['query.p', { query: { kind: 'percentile', p: 101 } }],
    ['query.p', { query: { kind: 'percentile' } }],
    ['query.satisfying', { query: { kind: 'count', satisfying: { op: 'like', value: 1 } } }],
    ['prior', { prior: [1] }],
    ['prior', { prior: [0.1, 0.1, 0.1, 0.1] }],
    ['epsilon', { response: 2 }],
    ['epsilon', { epsilon: -1 }],
    ['response', { epsilon: 1, response: { school_year: 2 } }],
    ['response', { epsilon: 1, response: 'two' }],
    ['extra', { extra: true }],
  ])('names %s in a refusal of %j', async (field, change) => {
    const { body } = await ask('', { ...school, ...change }).expect(400)
    expect(body.code).toBe('invalid-request')
    expect(body.errors.map((error: { field: string }) => error.field)).toContain(field)
  })

  test('reports only the type of a value of the wrong type', async () => {
    const { body } = await ask('', { ...school, universe: { a: 'x' }, released: '3' }).expect(400)
    expect(body.errors).toEqual([
      { field: 'universe.a', rule: 'must be an array' },
      { field: 'released', rule: 'must be a number' },
    ])
  })

  test('too many worlds are refused before any computation, with the limit', async () => {
    const universe = { value: Array.from({ length: 200 }, (_, index) => index) }
    const { body } = await ask('', { universe, released: 197, query: { kind: 'variance' } }).expect(422)
    expect(body).toMatchObject({ code: 'too-many-worlds', limit: 100_000 })
    expect(body.largestUniverse).toBeGreaterThan(6)
    const { body: known } = await ask('', { universe, released: 197, query: { kind: 'sum' } }).expect(200)
    expect(known.columns[0].ways).toEqual({ sensitivities: 'structure', answers: 'structure' })
  })

  test('is open to every role and needs a key', async () => {
    for (const role of ['analyst', 'custodian', 'auditor'] as const)
      await service.as(role).post('/v1/risk').send(school).expect(200)
    await service.as('analyst').post('/v1/risk').unset('authorization').send(school).expect(401)
  })
})

describe('POST /v1/risk/epsilon', () => {
  test('returns the epsilons of both bounds', async () => {
    const { body } = await ask('/epsilon', { ...school, risk: 1 / 3, curve: { to: 5, points: 11 } }).expect(
      200,
    )
    const [year, days] = epsilonReport.parse(body).columns
    expect(year?.upperBound).toMatchObject({ epsilon: expect.closeTo(0.3378875900901369, 12) })
    expect(days?.upperBound).toMatchObject({ epsilon: expect.closeTo(0.38293926876882173, 12) })
    expect(year?.tightBound).toMatchObject({ epsilon: expect.closeTo(0.5251496872695, 11) })
    expect(days?.tightBound).toMatchObject({ epsilon: expect.closeTo(0.4317201195672, 11) })
    expect(year?.curve?.map(({ epsilon }) => epsilon)).toEqual([0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5])
    expect(year?.curve?.[1]?.tightBound).toBeCloseTo(0.3291788293012836, 12)
    expect(days?.curve?.[1]?.tightBound).toBeCloseTo(0.3476971459619019, 12)
  })

  test('a risk below the prior is refused, and one that no epsilon reaches is reported', async () => {
    const { body } = await ask('/epsilon', { ...school, risk: 0.25 }).expect(422)
    expect(body).toMatchObject({ code: 'risk-below-prior', largestPrior: 0.25, errors: [{ field: 'risk' }] })
    const alike = { universe: { value: [5, 5, 5, 5] }, released: 3, query: { kind: 'mean' }, risk: 0.5 }
    const { body: never } = await ask('/epsilon', alike).expect(200)
    expect(never.columns[0].tightBound).toMatchObject({ reached: false, largestRisk: 0.25 })
    expect(never.columns[0].upperBound).toMatchObject({ reached: false })
  })

  test.each([
    ['risk', { risk: 0 }],
    ['risk', { risk: 1 }],
    ['curve.to', { curve: { from: 2, to: 1 } }],
    ['curve.points', { curve: { to: 1, points: 1e6 } }],
    ['tolerance', { tolerance: 0 }],
  ])('names %s in a refusal of %j', async (field, change) => {
    const { body } = await ask('/epsilon', { ...school, risk: 0.5, ...change }).expect(400)
    expect(body.errors.map((error: { field: string }) => error.field)).toContain(field)
  })
})

test('stops the computation once the client has disconnected', async () => {
  const asked = Promise.withResolvers<ComputationTerms>()
  const app = fastify()
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  requireRoles(app, {
    authenticate: async () => ({ name: 'ada', role: 'analyst' }),
    hasAnalyst: async () => true,
  })
  await app.register(riskRoutes, {
    riskPool: {
      run: (_name, _input, terms) => {
        asked.resolve(terms)
        return new Promise(() => undefined)
      },
      close: async () => undefined,
    },
  })
  const url = await app.listen({ port: 0 })
  try {
    const headers = { authorization: 'Bearer key', 'content-type': 'application/json' }
    const request = http.request(`${url}/v1/risk`, { method: 'POST', headers })
    request.on('error', () => undefined)
    request.end(JSON.stringify(school))
    const { givenUp } = await asked.promise
    expect(givenUp.aborted).toBe(false)
    const left = once(givenUp, 'abort')
    request.destroy()
    await left
    expect(givenUp.aborted).toBe(true)
  } finally {
    await app.close()
  }
})

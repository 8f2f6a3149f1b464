import { describe, expect, it } from 'vitest'
import type { Role } from '../../../src/http/access/principal.ts'
import { testService } from '../service.ts'

const service = testService()

const compare = (body: object, role: Role = 'analyst') =>
  service.as(role).post('/v1/mechanisms/compare').send(body)

describe('POST /v1/mechanisms/compare', () => {
  it('compares each mechanism for 1 to 10 statistics by default', async () => {
    const { body } = await compare({ epsilon: 1, delta: 1e-5 }).expect(200)
    const { rows, crossings, ...echo } = body
    expect(echo).toEqual({
      epsilon: 1,
      delta: 1e-5,
      statistics: 10,
      perStatistic: { contribution: 1 },
      confidence: 0.95,
      wholeNumbers: true,
      notApplicable: [],
    })
    expect(rows.map((row: { statistics: number }) => row.statistics)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    expect(rows[0].noise.geometric).toMatchObject({ scale: 1, halfWidth: 3 })
    expect(rows[0].best.standardDeviation).toBe('geometric')
    expect(rows[9].best.standardDeviation).toBe('analytic-gaussian')
    expect(crossings).toContainEqual(
      expect.objectContaining({ mechanism: 'analytic-gaussian', against: 'laplace', standardDeviation: 7 }),
    )
  })

  it('is available to every role, and requires a key', async () => {
    for (const role of ['analyst', 'custodian', 'auditor'] as const)
      await compare({ epsilon: 1, statistics: 1 }, role).expect(200)
    const { body } = await compare({ epsilon: 1 }).unset('authorization').expect(401)
    expect(body.code).toBe('unauthenticated')
  })

  it('says which mechanisms do not apply, and why', async () => {
    const { body } = await compare({ epsilon: 2, wholeNumbers: false, statistics: 1 }).expect(200)
    expect(body.notApplicable).toEqual([
      { mechanism: 'geometric', reason: 'geometric noise applies only to whole numbers' },
      { mechanism: 'analytic-gaussian', reason: expect.stringContaining('delta') },
      { mechanism: 'classic-gaussian', reason: expect.stringContaining('delta') },
    ])
    expect(Object.keys(body.rows[0].noise)).toEqual(['laplace'])
  })

  it('takes the contribution exactly, in the unit of the statistics', async () => {
    const request = { epsilon: 0.1, statistics: 2, wholeNumbers: false }
    const { body } = await compare({ ...request, perStatistic: { contribution: 0.3 } }).expect(200)
    expect(body.rows[1].noise.laplace.scale).toBeCloseTo(6, 9)
  })

  it('answers the largest request', async () => {
    const response = await compare({ epsilon: 1, delta: 1e-5, statistics: 1000 }).expect(200)
    expect(response.body.rows).toHaveLength(1000)
    expect(response.text.length).toBeLessThan(1_000_000)
  })

  it.each([
    ['no epsilon', {}, 'epsilon'],
    ['an epsilon of 0', { epsilon: 0 }, 'epsilon'],
    ['an epsilon above what makes sense', { epsilon: 1001 }, 'epsilon'],
    ['an epsilon of ten decimals', { epsilon: 0.1234567891 }, 'epsilon'],
    ['a delta of 1', { epsilon: 1, delta: 1 }, 'delta'],
    ['a delta of 1e-19', { epsilon: 1, delta: 1e-19 }, 'delta'],
    ['no statistics', { epsilon: 1, statistics: 0 }, 'statistics'],
    ['1,001 statistics', { epsilon: 1, statistics: 1001 }, 'statistics'],
    ['half a statistic', { epsilon: 1, statistics: 1.5 }, 'statistics'],
    ['a confidence of 1', { epsilon: 1, confidence: 1 }, 'confidence'],
    ['a confidence of 0', { epsilon: 1, confidence: 0 }, 'confidence'],
    ['a contribution of 0', { epsilon: 1, perStatistic: { contribution: 0 } }, 'perStatistic.contribution'],
    [
      'a contribution too large',
      { epsilon: 1, perStatistic: { contribution: 1.1e12 } },
      'perStatistic.contribution',
    ],
    [
      'a fraction of a whole number',
      { epsilon: 1, perStatistic: { contribution: 0.5 } },
      'perStatistic.contribution',
    ],
    [
      'a contribution of ten decimals',
      { epsilon: 1, wholeNumbers: false, perStatistic: { contribution: 0.1234567891 } },
      'perStatistic.contribution',
    ],
    ['an unknown field', { epsilon: 1, neighbours: 'add-remove' }, 'neighbours'],
    ['an unknown field within', { epsilon: 1, perStatistic: { l2: 1 } }, 'perStatistic.l2'],
    ['a string', { epsilon: 1, wholeNumbers: 'yes' }, 'wholeNumbers'],
  ])('refuses %s, naming the field', async (_name, request, field) => {
    const { body, headers } = await compare(request).expect(400)
    expect(headers['content-type']).toContain('application/problem+json')
    expect(body).toMatchObject({ code: 'invalid-request', status: 400 })
    expect(body.errors[0].field).toBe(field)
    expect(body.errors[0].rule.length).toBeGreaterThan(8)
  })

  it('states the rule in a refusal', async () => {
    const { body } = await compare({ epsilon: 1, confidence: 1 }).expect(400)
    expect(body.errors).toEqual([{ field: 'confidence', rule: 'must be strictly between 0 and 1' }])
  })

  it('is in the OpenAPI document with a working example', async () => {
    const document = (await service.as('analyst').get('/docs/json').expect(200)).body
    const { requestBody, security } = document.paths['/v1/mechanisms/compare'].post
    const name = requestBody.content['application/json'].schema.$ref.split('/').at(-1)
    const [example] = document.components.schemas[name].examples
    expect(security).toEqual([{ analystKey: [] }, { custodianKey: [] }, { auditorKey: [] }])
    const { body } = await compare(example).expect(200)
    expect(body.crossings[0].standardDeviation).toBe(7)
  })
})

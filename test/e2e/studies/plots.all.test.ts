import { describe, expect, test } from 'vitest'
import { testService, wholeText } from '../service.ts'

const service = testService({ SOTTO_DEMO: 'true' })

const school = {
  universe: { days: [1, 2, 3, 10], year: [1, 2, 3, 4] },
  released: 3,
  query: { kind: 'mean' },
  risk: 1 / 3,
}
const workload = { epsilon: 1, delta: 1e-5 }

const get = (address: string, query: object) =>
  service.as('analyst').get(address).query(query).buffer(true).parse(wholeText)

/** Returns the text of a picture. */
const textsOf = (svg: string) => [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text)

describe.each([
  [
    '/v1/plots/risk',
    { question: school },
    ['days', 'year', 'ε = 0.4317', 'ε = 0.5251', 'ε = 0.3829', 'ε = 0.3379'],
  ],
  [
    '/v1/plots/risk',
    { question: school, epsilon: '0.5' },
    [
      'stated epsilon 0.5',
      'ε = 0.5',
      'at ε = 0.5: tight bound 0.3477, upper 0.3614',
      'at ε = 0.5: tight bound 0.3292, upper 0.3779',
    ],
  ],
  ['/v1/plots/noise-comparison', { question: { ...workload, statistics: 20 } }, ['analytic Gaussian from 7']],
  ['/v1/plots/noise-comparison', { question: workload, criterion: 'halfWidth' }, []],
  [
    '/v1/plots/answer-distribution',
    { question: { mechanism: 'geometric', epsilon: 0.5, truth: 100 } },
    ['true value 100'],
  ],
  [
    '/v1/plots/answer-distribution',
    { question: { ...workload, mechanism: 'analytic-gaussian' } },
    ['true value 0'],
  ],
  [
    '/v1/datasets/census/plots/noisy-table',
    { query: { kind: 'contingency', columns: ['Occupation', 'Sex'], epsilon: 1 } },
    ['Statistician', 'Unicorn Wrangler'],
  ],
  [
    '/v1/datasets/census/plots/noisy-table',
    {
      query: {
        kind: 'groupBy',
        keys: ['Sex', { column: 'Age', edges: [0, 18, 65, 120] }],
        statistics: [{ kind: 'mean', column: 'Age' }],
        epsilon: 1,
      },
    },
    ['M', 'F', 'Noisy mean_Age: census'],
  ],
])('GET %s of %j', (address, parameters, expected) => {
  const asTexts = Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  )

  test('is a picture without scripts, for light and dark pages', async () => {
    const pictures = await Promise.all(
      ['light', 'dark'].map(async (theme) => {
        const response = await get(address, { ...asTexts, theme }).expect(200)
        expect(response.type).toBe('image/svg+xml')
        expect(response.headers['content-security-policy']).toContain("default-src 'none'")
        const svg = String(response.body)
        expect(svg).toMatch(/^<svg [^>]*width="800"/)
        for (const text of expected) expect(textsOf(svg)).toContain(text)
        return svg
      }),
    )
    expect(pictures[0]).not.toBe(pictures[1])
  })

  test('needs a key only if it reads a dataset', async () => {
    const withoutKey = service.as('analyst').get(address).query(asTexts).unset('authorization')
    await withoutKey.expect(address.includes('datasets') ? 401 : 200)
  })
})

describe('a plot is refused for', () => {
  const refused = async (address: string, query: object) => {
    const response = await service.as('analyst').get(address).query(query)
    expect([400, 422]).toContain(response.status)
    return response.body.errors?.map(({ field }: { field: string }) => field) ?? []
  }

  test.each([
    ['question', '{"universe":'],
    ['question', ''],
    ['question.released', JSON.stringify({ ...school, released: 0 })],
    ['question.released', JSON.stringify({ ...school, released: 4 })],
    ['question.universe.days.1', JSON.stringify({ ...school, universe: { days: [1, 5e-324, 3, 4] } })],
    ['question.risk', JSON.stringify({ ...school, risk: 0.1 })],
    ['question.extra', JSON.stringify({ ...school, extra: 1 })],
    ['question', `"${'x'.repeat(9_000)}"`],
  ])('names %s', async (field, question) => {
    expect(await refused('/v1/plots/risk', { question })).toContain(field)
  })

  test.each(['0', '', '-1', '1e3', '1000.5', 'x'])('a stated epsilon of "%s"', async (epsilon) => {
    expect(await refused('/v1/plots/risk', { question: JSON.stringify(school), epsilon })).toEqual([
      'epsilon',
    ])
  })

  test('an unknown theme, or no question', async () => {
    expect(await refused('/v1/plots/risk', { question: JSON.stringify(school), theme: 'pink' })).toEqual([
      'theme',
    ])
    expect(await refused('/v1/plots/risk', {})).toEqual(['question'])
  })

  test.each([
    { mechanism: 'laplace', epsilon: 1, truth: 1e15 },
    { mechanism: 'laplace', epsilon: 1000, truth: 1e13 },
    { mechanism: 'analytic-gaussian', epsilon: 1000, delta: 1e-5, truth: -1e15 },
  ])('a truth beside which its noise does not show: %j', async (question) => {
    const path = '/v1/plots/answer-distribution'
    expect(await refused(path, { question: JSON.stringify(question) })).toEqual(['question.truth'])
  })

  test.each([
    { mechanism: 'analytic-gaussian', epsilon: 1 },
    { mechanism: 'classic-gaussian', epsilon: 2, delta: 1e-5 },
    { mechanism: 'geometric', epsilon: 1, wholeNumbers: false, perStatistic: { contribution: 0.5 } },
  ])('a mechanism that does not apply: %j', async (workload) => {
    const question = JSON.stringify(workload)
    expect(await refused('/v1/plots/answer-distribution', { question })).toEqual(['question.mechanism'])
  })

  test.each(['noise-comparison', 'answer-distribution'])('an invalid epsilon: %s', async (plot) => {
    const question = JSON.stringify({ mechanism: 'laplace', epsilon: 0 })
    const wrong = await refused(`/v1/plots/${plot}`, { question })
    expect(wrong).toContain(plot === 'answer-distribution' ? 'question.epsilon' : 'question.mechanism')
  })

  test.each([
    [{ kind: 'count', epsilon: 1 }, 'query.kind'],
    [{ kind: 'median', column: 'Age', epsilon: 1 }, 'query.kind'],
    [{ kind: 'noisyMax', candidates: { column: 'Sex' }, epsilon: 1 }, 'query.kind'],
    [
      {
        kind: 'groupBy',
        keys: ['Sex'],
        statistics: [{ kind: 'count' }, { kind: 'mean', column: 'Age' }],
        epsilon: 1,
      },
      'query.kind',
    ],
    [
      {
        kind: 'histogram',
        column: { column: 'Age', edges: Array.from({ length: 80 }, (_, age) => age) },
        epsilon: 1,
      },
      'query',
    ],
    [{ kind: 'histogram', column: 'Nobody', epsilon: 1 }, 'query.column'],
  ])('%j', async (query, field) => {
    expect(
      await refused('/v1/datasets/census/plots/noisy-table', { query: JSON.stringify(query) }),
    ).toContain(field)
  })
})

test('the description of the API links to a working example of each plot that needs no key', async () => {
  const text = await (await fetch(`${service.url}/openapi.yaml`)).text()
  const links = new Set(
    [...text.matchAll(/\]\((?:http:\/\/127\.0\.0\.1:8080)?(\/v1\/plots\/[^)]+)\)/g)].map(
      ([, link = '']) => link,
    ),
  )
  const paths = [...links].map((link) => link.split('?')[0])
  expect(new Set(paths)).toEqual(
    new Set(['/v1/plots/risk', '/v1/plots/noise-comparison', '/v1/plots/answer-distribution']),
  )
  for (const link of links) {
    const response = await fetch(`${service.url}${link}`)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/svg+xml'])
  }
})

import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import http from 'node:http'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { batchEvaluation, evaluation as evaluationSchema } from '../../../schemas/studies/evaluation.ts'
import { startTestService, testService, wholeText } from '../service.ts'

const service = testService({ SOTTO_DEMO: 'true' })
beforeAll(async () => {
  await writeFile(path.join(service.dataDirectory, 'people.csv'), 'Age,City\n40,North\n50,South\n60,North\n')
  const columns = [
    { name: 'Age', type: 'integer', lower: 0, upper: 120 },
    { name: 'City', type: 'string', selectable: true },
  ]
  const budget = { epsilon: 1, delta: 1e-6 }
  const source = { kind: 'file', path: 'people.csv', format: 'csv' }
  const facts = {
    title: 'People',
    timing: 'off',
    source,
    columns,
    budget,
    privacyUnit: { kind: 'row' },
    neighbours: 'add-remove',
  }
  await service.register({ id: 'people', ...facts }).expect(201)
  await writeFile(path.join(service.dataDirectory, 'visits.csv'), VISITS)
  await service
    .register({
      ...facts,
      id: 'visits',
      source: { ...source, path: 'visits.csv' },
      columns: [
        { name: 'Patient', type: 'identifier', nullable: false },
        { name: 'Cost', type: 'integer', lower: 0, upper: 50 },
        { name: 'Region', type: 'category', categories: ['N', 'S'] },
      ],
      privacyUnit: { kind: 'person', column: 'Patient', maxRows: 4 },
      synthetic: true,
    })
    .expect(201)
  await writeFile(path.join(service.dataDirectory, 'made-up.csv'), 'Age,City\n40,North\n50,South\n65,North\n')
  const madeUp = { ...source, path: 'made-up.csv' }
  const synthetic = { id: 'made-up', ...facts, source: madeUp, synthetic: true }
  await service.register(synthetic).expect(201)
})

/** Visits of three patients, at the same cost of each. One has more visits than are kept. */
const VISITS = [
  'Patient,Cost,Region',
  ...['a,10,N', 'a,10,N', 'a,10,S', 'b,20,S'],
  ...new Array<string>(6).fill('c,40,N'),
  '',
].join('\n')

const evaluate = (body: object, dataset = 'census') =>
  service.as('analyst').post(`/v1/datasets/${dataset}/evaluations`).send(body)
const budgetOf = async (dataset: string) =>
  (await service.as('analyst').get(`/v1/datasets/${dataset}/budget`).expect(200)).body

const elderly = { column: 'Age', op: '>=', value: 65 }
const occupationBySex = { kind: 'contingency', columns: ['Occupation', 'Sex'] }

/**
 * Tests if a mean over runs is within 6 standard errors of its expected value. It fails by chance once in 500 million
 * runs.
 */
function isNear(figure: { value: number | null; standardError: number | null }, expected: number): boolean {
  return Math.abs((figure.value ?? Number.NaN) - expected) <= 6 * (figure.standardError ?? Number.NaN)
}

describe('an evaluation of a query on synthetic data', () => {
  test('a count has a mean error of 34.66 with classic Gaussian noise and of 10 with Laplace noise', async () => {
    const count = { kind: 'count', where: elderly, epsilon: 0.1 }
    const gaussian = { ...count, mechanism: 'gaussian', calibration: 'classic', delta: 1e-4 }
    const errorOf = async (query: object) => {
      const { body } = await evaluate({ query, runs: 1_000 }).expect(200)
      const evaluated = evaluationSchema.parse(body)
      if (!('values' in evaluated)) throw new Error('a count is a number')
      const [value] = evaluated.values
      if (value === undefined) throw new Error('a count is one number')
      expect(value.truth).toBe(2538)
      expect(isNear(value.bias, 0)).toBe(true)
      expect(value.withinHalfWidth).toBeGreaterThan(0.9)
      return value.meanAbsoluteError
    }
    const gaussianError = await errorOf(gaussian)
    // sigma = sqrt(2 ln(1.25 / delta)) / epsilon, and the mean absolute value is sigma sqrt(2 / pi).
    expect(gaussianError.theoretical).toBeCloseTo(34.66, 2)
    expect(isNear(gaussianError, 34.66)).toBe(true)
    const laplaceError = await errorOf({ ...count, mechanism: 'laplace' })
    expect(laplaceError.theoretical).toBeCloseTo(10, 6)
    expect(isNear(laplaceError, 10)).toBe(true)
    // Neither would hold if the two were mistaken for each other.
    expect(isNear(gaussianError, 10) || isNear(laplaceError, 34.66)).toBe(false)
  })

  test('a table with Laplace noise, rounded and non-negative: each cell and the total', async () => {
    const query = {
      ...occupationBySex,
      mechanism: 'laplace',
      epsilon: 0.5,
      postprocess: { round: true, nonNegative: true },
    }
    const { body } = await evaluate({ query }).expect(200)
    const evaluated = evaluationSchema.parse(body)
    if (!('values' in evaluated)) throw new Error('a table is made of numbers')
    expect(evaluated.values).toHaveLength(10)
    const [shown] = evaluated.shown
    let [absolute, truths] = [0, 0]
    for (const [place, { truth, key }] of evaluated.values.entries()) {
      const cell = shown?.values[place]
      expect(cell?.key).toEqual(key)
      expect(Number.isInteger(cell?.noisy) && Number(cell?.noisy ?? -1) >= 0).toBe(true)
      expect(cell?.absoluteError).toBe(Math.abs(Number(cell?.noisy ?? 0) - Number(truth ?? 0)))
      expect(cell?.relativeError).toBe((cell?.absoluteError ?? 0) / Number(truth ?? 0))
      absolute += cell?.absoluteError ?? 0
      truths += Number(truth ?? 0)
    }
    expect(truths).toBe(100_000)
    expect(shown?.totals).toEqual([
      {
        totalAbsoluteError: absolute,
        relativeTotalErrorPercent: expect.closeTo((100 * absolute) / truths, 12),
      },
    ])
  })

  test('a table with geometric noise has a mean error of 1 / sinh(epsilon) in each cell', async () => {
    const query = { ...occupationBySex, mechanism: 'geometric', epsilon: 1 }
    const { body } = await evaluate({ query, runs: 2_000, shown: 0 }).expect(200)
    expect(body.shown).toEqual([])
    expect(isNear(body.totals[0].totalAbsoluteError, 10 / Math.sinh(1))).toBe(true)
    expect(body.totals[0].totalAbsoluteError.theoretical).toBeCloseTo(10 / Math.sinh(1), 9)
  })

  test('a truth of 0 has no relative error, and nothing is Infinity or NaN', async () => {
    const where = { column: 'Age', op: '<', value: 0 }
    const { body, text } = await evaluate({
      query: { ...occupationBySex, where, epsilon: 1 },
      runs: 50,
    }).expect(200)
    expect(
      body.values.every(
        ({ meanRelativeError }: { meanRelativeError: unknown }) => meanRelativeError === null,
      ),
    ).toBe(true)
    expect(body.shown[0].totals[0].relativeTotalErrorPercent).toBeNull()
    expect(text).not.toMatch(/Infinity|NaN/)
  })

  test('report noisy max: how often each candidate won', async () => {
    const query = { kind: 'noisyMax', candidates: { column: 'Occupation' }, noise: 'laplace', epsilon: 0.01 }
    const { body } = await evaluate({ query, runs: 100 }).expect(200)
    const evaluated = evaluationSchema.parse(body)
    if (!('candidates' in evaluated)) throw new Error('a selection has candidates')
    const { candidates } = evaluated
    expect(candidates.map(({ candidate }) => candidate)).toEqual([
      'Statistician',
      'Economist',
      'Geographer',
      'IT Specialist',
      'Unicorn Wrangler',
    ])
    expect(candidates.reduce((sum, { won }) => sum + won, 0)).toBe(100)
    // The first two are 45 rows apart, which noise of scale 100 does not distinguish; the others are thousands apart.
    expect(candidates.slice(2).every(({ won }) => won === 0)).toBe(true)
  })

  test('undeclared keys: how often each appeared', async () => {
    const query = { kind: 'keySelection', column: 'City', epsilon: 1, delta: 1e-3 }
    const { body } = await evaluate({ query, runs: 20 }, 'made-up').expect(200)
    evaluationSchema.parse(body)
    expect(body.keys.map(({ key, truth }: { key: string; truth: number }) => [key, truth])).toEqual([
      ['North', 2],
      ['South', 1],
    ])
  })

  test('costs nothing, even with an empty budget', async () => {
    const before = await budgetOf('census')
    const ledger = async () =>
      (await service.as('auditor').get('/v1/datasets/census/ledger/head').expect(200)).body
    const head = await ledger()
    await evaluate({ query: { kind: 'count', epsilon: 999 }, runs: 100 }).expect(200)
    await service
      .as('analyst')
      .get('/v1/datasets/census/plots/noisy-table')
      .query({ query: JSON.stringify({ ...occupationBySex, epsilon: 999 }) })
      .expect(200)
    expect(await budgetOf('census')).toEqual(before)
    expect(await ledger()).toEqual(head)
  })

  test.each([
    ['query.kind', { query: { kind: 'counts', epsilon: 1 } }],
    ['query.epsilon', { query: { kind: 'count', epsilon: 0 } }],
    ['query.column', { query: { kind: 'sum', column: 'Nobody', epsilon: 1 } }],
    ['query', {}],
    ['runs', { query: { kind: 'count', epsilon: 1 }, runs: 0 }],
    ['runs', { query: { kind: 'count', epsilon: 1 }, runs: 100_001 }],
    ['runs', { query: { kind: 'count', epsilon: 1 }, runs: '10' }],
    ['shown', { query: { kind: 'count', epsilon: 1 }, shown: 101 }],
    ['extra', { query: { kind: 'count', epsilon: 1 }, extra: 1 }],
  ])('names %s in a refusal of %j', async (field, body) => {
    const response = await evaluate(body)
    expect([400, 422]).toContain(response.status)
    expect(response.body.errors.map((error: { field: string }) => error.field)).toContain(field)
  })

  test('too much work is refused before it starts, with the largest accepted size', async () => {
    const edges = Array.from({ length: 121 }, (_, age) => age)
    const query = { kind: 'contingency', columns: ['Occupation', { column: 'Age', edges }], epsilon: 1 }
    const { body } = await evaluate({ query, runs: 100_000 }).expect(400)
    expect(body.errors).toEqual([
      { field: 'runs', rule: expect.stringMatching(/^must be at most \d+ for this query$/) },
    ])
    const most = Number(/\d+/.exec(body.errors[0].rule)?.[0])
    expect(most).toBeGreaterThan(1_000)
  })
})

describe('an evaluation of a batch', () => {
  const queries = [
    { kind: 'count', where: { column: 'Age', op: '<', value: 30 }, epsilon: 0.1 },
    { kind: 'count', where: { column: 'Age', op: '>=', value: 30 }, epsilon: 0.2 },
    { kind: 'noisyMax', candidates: { column: 'Sex' }, noise: 'laplace', gap: true, epsilon: 0.3 },
  ]
  const evaluateBatch = (body: object, dataset = 'census') =>
    service.as('analyst').post(`/v1/datasets/${dataset}/evaluations/batch`).send(body)

  test('has the price of the batch, and the errors of each query', async () => {
    const before = await budgetOf('census')
    const { body } = await evaluateBatch({ queries, runs: 200, shown: 1 }).expect(200)
    const preview = await service
      .as('analyst')
      .post('/v1/datasets/census/queries/batch/preview')
      .send({ queries })
      .expect(200)
    const evaluated = batchEvaluation.parse(body)
    expect(evaluated.cost).toEqual(preview.body.cost)
    expect(evaluated.cost).toEqual({ epsilon: 0.5, delta: 0 })
    expect(evaluated.disjoint).toEqual([[0, 1]])
    expect(evaluated.sumOfPrices).toEqual({ epsilon: 0.6, delta: 0 })
    for (const [place, { price, noise, accuracy }] of evaluated.evaluations.entries())
      expect({ price, noise, accuracy }).toEqual({
        price: preview.body.answers[place].price,
        noise: preview.body.answers[place].noise,
        accuracy: preview.body.answers[place].accuracy,
      })
    const [young, old, sexes] = evaluated.evaluations
    for (const [count, epsilon] of [
      [young, 0.1],
      [old, 0.2],
    ] as const) {
      if (count === undefined || !('values' in count)) throw new Error('a count is a number')
      expect(isNear(count.values[0]?.meanAbsoluteError ?? missing(), 1 / Math.sinh(epsilon))).toBe(true)
    }
    if (sexes === undefined || !('candidates' in sexes)) throw new Error('a selection has candidates')
    expect(sexes.gaps?.halfWidth).toBe(sexes.accuracy.gapHalfWidth)
    expect(sexes.gaps?.withinHalfWidth).toBeGreaterThan(0.8)
    expect(sexes.gaps?.ranks).toHaveLength(1)
    expect(await budgetOf('census')).toEqual(before)
  })

  test('reports progress', async () => {
    const response = await evaluateBatch({ queries, runs: 20_000, shown: 0 })
      .set('accept', 'application/x-ndjson')
      .buffer(true)
      .parse(wholeText)
    const last = String(response.body).trimEnd().split('\n').at(-1) ?? ''
    expect(batchEvaluation.parse(JSON.parse(last).evaluation).evaluations).toHaveLength(3)
  })

  test('is refused if one of its queries is, and for data that is not synthetic', async () => {
    const wrong = [queries[0], { kind: 'sum', column: 'Ag', epsilon: 1 }]
    const refused = await evaluateBatch({ queries: wrong }).expect(422)
    expect(refused.body.errors[0].field).toBe('queries.1.column')
    const { body } = await evaluateBatch({ queries: [{ kind: 'count', epsilon: 1 }] }, 'people').expect(403)
    expect(body.code).toBe('not-synthetic')
  })
})

function missing(): never {
  throw new Error('a count is one number')
}

describe('a stream of progress', () => {
  const query = { kind: 'count', epsilon: 1 }
  const streamed = async (accept: string, body: object, dataset?: string) => {
    const response = await evaluate(body, dataset).set('accept', accept).buffer(true).parse(wholeText)
    return { type: response.type, status: response.status, text: String(response.body) }
  }

  test('has lines of progress, and the evaluation in the last line', async () => {
    const { type, text } = await streamed('application/x-ndjson', { query, runs: 100_000, shown: 0 })
    expect(type).toBe('application/x-ndjson')
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const last = lines.pop()
    evaluationSchema.parse(last.evaluation)
    expect(lines.length).toBeGreaterThan(0)
    const done = lines.map(({ progress }) => progress.runs)
    expect(done).toEqual(done.toSorted((a, b) => a - b))
    expect(lines.every(({ progress }) => progress.of === 100_000 && progress.runs <= 100_000)).toBe(true)
  })

  test('has the same content as events', async () => {
    const { type, text } = await streamed('text/event-stream', { query, runs: 50_000, shown: 0 })
    expect(type).toBe('text/event-stream')
    const events = text
      .trimEnd()
      .split('\n\n')
      .map((event) => /^event: (\w+)\ndata: (.*)$/.exec(event))
    expect(events.every((event) => event !== null)).toBe(true)
    const last = events.pop()
    expect(last?.[1]).toBe('evaluation')
    evaluationSchema.parse(JSON.parse(last?.[2] ?? ''))
    expect(events.every((event) => event?.[1] === 'progress')).toBe(true)
  })

  test('is not sent for a refused request', async () => {
    for (const accept of ['application/x-ndjson', 'text/event-stream']) {
      const { status, type } = await streamed(accept, { query, runs: 10 }, 'people')
      expect([status, type]).toEqual([403, 'application/problem+json'])
    }
  })

  test('ends when the client disconnects, so that the next request can run', async () => {
    // Evaluations run one at a time, and this one takes longer than the test may.
    const long = { query: { ...occupationBySex, epsilon: 1 }, runs: 100_000 }
    for (let round = 0; round < 3; round += 1) {
      const request = http.request(`${service.url}/v1/datasets/census/evaluations`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${service.keyOf('analyst')}`,
          'content-type': 'application/json',
          accept: 'application/x-ndjson',
        },
      })
      request.on('error', () => undefined)
      request.end(JSON.stringify(long))
      const [response] = await once(request, 'response')
      await once(response, 'data')
      request.destroy()
    }
    await evaluate({ query, runs: 10 }).expect(200)
  })
})

test.each([
  ['before anything was read', 0],
  ['while it is under way', 300],
])('no evaluation runs for a client that disconnects %s', async (_, afterMs) => {
  const long = { query: { ...occupationBySex, epsilon: 1 }, runs: 100_000 }
  for (let round = 0; round < 4; round += 1) {
    const request = http.request(`${service.url}/v1/datasets/census/evaluations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.keyOf('analyst')}`, 'content-type': 'application/json' },
    })
    request.on('error', () => undefined)
    request.end(JSON.stringify(long))
    await once(request, 'finish')
    await setTimeout(afterMs)
    request.destroy()
  }
  // A principal may have two: if one of those were still running, this one would be refused or wait for minutes.
  let answered = await evaluate({ query: { kind: 'count', epsilon: 1 }, runs: 10 })
  while (answered.status === 503)
    answered = await evaluate({ query: { kind: 'count', epsilon: 1 }, runs: 10 })
  expect(answered.status).toBe(200)
  const failures = service.logLines.filter((line) => JSON.parse(line).level >= 50)
  expect(failures).toEqual([])
})

test('a stop ends running evaluations with a problem', async () => {
  const stopped = await startTestService({ SOTTO_DEMO: 'true' })
  const body = JSON.stringify({ query: { ...occupationBySex, epsilon: 1 }, runs: 100_000 })
  const ask = (headers: http.OutgoingHttpHeaders) =>
    http.request(`${stopped.url}/v1/datasets/census/evaluations`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${stopped.keyOf('analyst')}`,
        'content-type': 'application/json',
        ...headers,
      },
    })
  const streaming = ask({ accept: 'application/x-ndjson' }).end(body)
  const [streamed] = await once(streaming, 'response')
  const lines: string[] = []
  streamed.setEncoding('utf8').on('data', (text: string) => lines.push(text))
  const streamEnded = once(streamed, 'end')
  // It is running once its first line has arrived.
  await once(streamed, 'data')

  const asking = ask({ expect: '100-continue' })
  const answered = once(asking, 'response')
  asking.flushHeaders()
  await once(asking, 'continue')
  asking.end(body)
  await stopped.close()

  const [whole] = await answered
  expect(whole.statusCode).toBe(503)
  expect(JSON.parse(await text(whole)).detail).toContain('stopping')
  await streamEnded
  const last = lines.join('').trimEnd().split('\n').at(-1) ?? ''
  expect(JSON.parse(last).problem.code).toBe('unavailable')
})

describe('a dataset that is not synthetic', () => {
  const queries = [
    { kind: 'count', epsilon: 1 },
    { kind: 'sum', column: 'Age', epsilon: 1 },
    { kind: 'histogram', column: { column: 'Age', edges: [0, 50, 120] }, epsilon: 1 },
    { kind: 'median', column: 'Age', epsilon: 1 },
    { kind: 'noisyMax', candidates: { column: { column: 'Age', edges: [0, 50, 120] } }, epsilon: 1 },
    { kind: 'keySelection', column: 'City', epsilon: 1, delta: 1e-3 },
    { kind: 'count', epsilon: 0 },
  ]

  test.each(queries)('is neither evaluated nor plotted: %j', async (query) => {
    const before = await budgetOf('people')
    for (const role of ['analyst', 'custodian', 'auditor'] as const) {
      const code = role === 'auditor' ? 'forbidden' : 'not-synthetic'
      for (const extent of [{}, { runs: 10 }, { runs: 1, shown: 0 }]) {
        const { body } = await service
          .as(role)
          .post('/v1/datasets/people/evaluations')
          .send({ query, ...extent })
          .expect(403)
        expect(body.code).toBe(code)
        expect(JSON.stringify(body)).not.toMatch(/truth|noisy/)
      }
      const { body } = await service
        .as(role)
        .get('/v1/datasets/people/plots/noisy-table')
        .query({ query: JSON.stringify(query) })
        .expect(403)
      expect(body.code).toBe(code)
    }
    expect(await budgetOf('people')).toEqual(before)
  })
})

describe('an evaluation of a query about people with several rows', () => {
  const numbersOf = async (query: object) => {
    const { body } = await evaluate({ query: { epsilon: 1, ...query }, runs: 10 }, 'visits').expect(200)
    const evaluated = evaluationSchema.parse(body)
    if (!('values' in evaluated)) throw new Error('the query has numbers')
    return evaluated.values.map(({ truth, boundingBias }) => [truth, boundingBias])
  }
  const inGroups = { kind: 'groupBy', keys: ['Region'] }

  test.each([
    ['all rows that are kept', { kind: 'count' }, [[8, undefined]]],
    ['one row of each person', { kind: 'count', contribution: { rows: 1 } }, [[3, -5]]],
    ['people', { kind: 'count', of: 'people' }, [[3, undefined]]],
    ['a sum of two rows each', { kind: 'sum', column: 'Cost', contribution: { rows: 2 } }, [[120, -90]]],
    [
      'a clamped total',
      { kind: 'sum', column: 'Cost', contribution: { perPerson: { lower: 0, upper: 100 } } },
      [[150, -60]],
    ],
    ['a value per person', { kind: 'mean', column: 'Cost', perPerson: 'count' }, [[8 / 3, undefined]]],
    [
      'groups',
      { ...inGroups, statistics: [{ kind: 'count' }], contribution: { groups: 2, rowsPerGroup: 1 } },
      [
        [2, -4],
        [2, 0],
      ],
    ],
    ['a quantile', { kind: 'percentile', column: 'Cost', p: 60, contribution: { rows: 1 } }, [[20, -20]]],
  ])(
    'compares with the truth of bounded rows, and states the bias of bounding: %s',
    async (_name, query, expected) => {
      expect(await numbersOf(query)).toEqual(expected)
    },
  )

  test.each(['rows', 'people'])('a plot of a table names what is counted: %s', async (of) => {
    const { body } = await service
      .as('analyst')
      .get('/v1/datasets/visits/plots/noisy-table')
      .query({ query: JSON.stringify({ kind: 'histogram', column: 'Region', of, epsilon: 1 }) })
      .buffer(true)
      .parse(wholeText)
      .expect(200)
    expect(body).toContain(`(${of})`)
  })

  test('counts of a selection are those of people', async () => {
    const query = { kind: 'noisyMax', candidates: { column: 'Region' }, of: 'people', epsilon: 1 }
    const { body } = await evaluate({ query, runs: 10 }, 'visits').expect(200)
    expect(body.candidates.map(({ truth }: { truth: number }) => truth)).toEqual([2, 2])
  })
})

import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { afterEach, describe, expect, expectTypeOf, test, vi } from 'vitest'
import { administer } from '../../clients/typescript/src/administration.ts'
import { wireNumber } from '../../clients/typescript/src/decimal.ts'
import {
  type Answer,
  ConnectionFailed,
  col,
  connect,
  count,
  difference,
  type Estimate,
  mean,
  offersText,
  PROBLEM_CODES,
  Problem,
  proportion,
  ratio,
  records,
  UnexpectedResponse,
} from '../../clients/typescript/src/sotto.ts'

const root = path.resolve(import.meta.dirname, '../..')
const KEY = 'sotto_secret-of-the-analyst'
const URL_OF_SERVICE = 'http://127.0.0.1:8080'

/** Response of the stand-in: a document, an error of fetch, or a whole response. */
type Step = object | Error | Response

interface Sent {
  readonly url: string
  readonly init: RequestInit
  readonly body: unknown
}

/** Returns a client whose fetch returns these responses, one after the other, and records the requests. */
function standIn(...steps: readonly Step[]) {
  const sent: Sent[] = []
  const remaining = [...steps]
  const fetch = async (input: unknown, init: RequestInit = {}) => {
    sent.push({
      url: String(input),
      init,
      body: init.body === undefined ? undefined : JSON.parse(String(init.body)),
    })
    const step = remaining.shift()
    if (step === undefined) throw new Error('no further response was expected')
    if (step instanceof Error) throw step
    return step instanceof Response ? step : Response.json(step)
  }
  const client = connect(URL_OF_SERVICE, KEY, { fetch: fetch as typeof globalThis.fetch })
  return { client, census: client.dataset('census'), sent }
}

const balance = {
  cap: { epsilon: 10, delta: 0 },
  spent: { epsilon: 1, delta: 0 },
  remaining: { epsilon: 9, delta: 0 },
}

const answerOf = (kind: string, result: object, further: object = {}) => ({
  id: '0'.repeat(32),
  dataset: 'census',
  datasetVersion: '1',
  kind,
  result,
  noise: { mechanism: 'geometric', neighbours: 'add-remove', scale: 10, sensitivity: 1, granularity: 1 },
  accuracy: { confidence: 0.95, halfWidth: 30, expectedAbsoluteError: 10 },
  coverage: { statement: 'The half-width covers noise only.' },
  cost: { epsilon: 0.1, delta: 0 },
  budget: balance,
  receipt: { sequence: 2, hash: 'a' },
  ...further,
})
const counted = answerOf('count', { value: 2531 })

const problem = (status: number, code: string, headers: Record<string, string> = {}) =>
  Response.json(
    { type: `/problems/${code}`, title: 'Title', status, code, detail: 'Detail.' },
    { status, headers: { ...headers, 'content-type': 'application/problem+json' } },
  )

const failure = async (asked: Promise<unknown>): Promise<Error> => {
  const error = await asked.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof Error)) throw new Error('the call was expected to fail')
  return error
}

afterEach(() => {
  vi.useRealTimers()
})

describe('the administration', () => {
  function administered(answer: () => Response) {
    const sent: { readonly url: string; readonly init: RequestInit }[] = []
    const fetch = async (input: unknown, init: RequestInit = {}) => {
      sent.push({ url: String(input), init })
      return answer()
    }
    return {
      sent,
      administration: administer(URL_OF_SERVICE, KEY, { fetch: fetch as typeof globalThis.fetch }),
    }
  }

  test('a grant is sent once, whether its answer is lost or the service is busy', async () => {
    const lost = administered(() => {
      throw new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } })
    })
    const error = await failure(lost.administration.grant('census', { epsilon: 1, reason: 'A study.' }))
    expect(error).toBeInstanceOf(ConnectionFailed)
    expect(error.message).toBe(`no response from the service at ${URL_OF_SERVICE} (ECONNRESET)`)
    expect(lost.sent).toHaveLength(1)
    const busy = administered(() => problem(503, 'unavailable', { 'retry-after': '0' }))
    await failure(busy.administration.grant('census', { epsilon: 1, reason: 'A study.' }))
    expect(busy.sent).toHaveLength(1)
  })

  test('a file is sent as a form under its name', async () => {
    const { sent, administration } = administered(() => Response.json({ id: 'u' }, { status: 201 }))
    expect(await administration.upload(new Blob(['a\n1\n']), 'visits.csv')).toEqual({ id: 'u' })
    const { method, headers, body } = sent[0]?.init ?? {}
    expect(method).toBe('POST')
    // `fetch` adds the type of the form, with its boundary.
    expect(headers).toEqual({ authorization: `Bearer ${KEY}` })
    expect(body instanceof FormData && body.get('file')).toMatchObject({ name: 'visits.csv', size: 4 })
  })

  test('a dry run is a parameter, an id is one part of the path, and an empty answer is none', async () => {
    const { sent, administration } = administered(() => new Response(null, { status: 204 }))
    await administration.withdraw('a/b')
    await failure(administration.publish('census', {}, { dryRun: true }))
    expect(sent.map(({ url, init }) => `${init.method} ${url}`)).toEqual([
      `DELETE ${URL_OF_SERVICE}/v1/datasets/a%2Fb`,
      `POST ${URL_OF_SERVICE}/v1/datasets/census/versions?dryRun=true`,
    ])
  })
})

test('the types are those of openapi.yaml (npm run openapi writes them)', async () => {
  const folder = path.join(root, 'clients/typescript')
  const require = createRequire(path.join(folder, 'package.json'))
  const program = path.join(path.dirname(require.resolve('openapi-typescript/package.json')), 'bin/cli.js')
  const options = [program, path.join(root, 'openapi.yaml'), '--default-non-nullable=false']
  const { stdout } = await promisify(execFile)(process.execPath, options, {
    cwd: folder,
    maxBuffer: 16 << 20,
  })
  expect(stdout.trim()).toBe((await readFile(path.join(folder, 'src/schema.ts'), 'utf8')).trim())
})

test('every problem code of the documentation has an error with this code', async () => {
  const documented = (await readFile(path.join(root, 'docs/problems.md'), 'utf8')).matchAll(
    /^## ([a-z-]+)$/gm,
  )
  expect([...PROBLEM_CODES].sort()).toEqual([...documented].map(([, code]) => code).sort())
  for (const code of PROBLEM_CODES) {
    const error = await failure(standIn(problem(400, code)).census.budget())
    expect(error).toBeInstanceOf(Problem)
    expect(error).toMatchObject({ code, status: 400, detail: 'Detail.' })
    expect(error.message).toBe(`${code}: Detail. (see ${URL_OF_SERVICE}/problems/${code})`)
  }
})

describe('numbers', () => {
  test('are rounded to 9 fractional digits', () => {
    expect(wireNumber(0.1 + 0.2)).toBe(0.3)
    expect(wireNumber(1 / 3)).toBe(0.333333333)
    expect(wireNumber(-1e-12)).toBe(0)
    expect(Object.is(wireNumber(-1e-12), 0)).toBe(true)
    expect(wireNumber(1e300)).toBe(1e300)
  })

  test('may be exact decimals, which are never rounded', () => {
    expect(wireNumber('0.25')).toBe(0.25)
    expect(wireNumber('-007.50')).toBe(-7.5)
    expect(wireNumber('0.00000001')).toBe(1e-8)
    expect(wireNumber('0.000000000000000001', 18)).toBe(1e-18)
    expect(wireNumber(9007199254740992n)).toBe(9007199254740992)
    for (const text of ['0.1234567891', '9007199254740993', '1e3', 'x', '', '0.1000000000000000055511'])
      expect(() => wireNumber(text), text).toThrow(RangeError)
    expect(() => wireNumber(9007199254740993n)).toThrow(RangeError)
    expect(() => wireNumber(Number.NaN)).toThrow(RangeError)
  })

  test('of a request become JSON numbers, and values of columns keep their type', () => {
    const where = col('zip').eq('0123').and(col('rows').gte(12n))
    expect(count({ epsilon: '0.10', delta: 1e-12, where }).body).toEqual({
      kind: 'count',
      epsilon: 0.1,
      delta: 1e-12,
      where: {
        op: 'and',
        predicates: [
          { column: 'zip', op: '=', value: '0123' },
          { column: 'rows', op: '>=', value: 12 },
        ],
      },
    })
  })
})

test('arithmetic makes columns', () => {
  const age = col('Age')
  const columns = [
    col('arr_delay').minus(col('dep_delay')),
    age
      .plus(0.1 + 0.2)
      .times(2)
      .over(3),
    col('Gross income').times(-1),
    age.over(7).round(0.1),
    col('case').coalesce("it's"),
    col('visited').coalesce(new Date('2024-02-29T00:00:00Z')).part('year'),
  ]
  expect(columns.map((column) => column.toJSON())).toEqual([
    'arr_delay - dep_delay',
    '((Age + 0.3) * 2) / 3',
    '"Gross income" * (-1)',
    'round((Age / 7), 0.1)',
    `coalesce("case", 'it''s')`,
    "year((coalesce(visited, '2024-02-29')))",
  ])
})

test('expressions over columns become predicates, and chains stay flat', () => {
  const [a, b, c] = [col('a').lt(1), col('b').in(['x', 'y']), col('c').isNull()]
  expect(JSON.parse(JSON.stringify(a.and(b).and(c).or(a.not())))).toEqual({
    op: 'or',
    predicates: [
      {
        op: 'and',
        predicates: [
          { column: 'a', op: '<', value: 1 },
          { column: 'b', op: 'in', values: ['x', 'y'] },
          { column: 'c', op: 'isNull' },
        ],
      },
      { op: 'not', predicate: { column: 'a', op: '<', value: 1 } },
    ],
  })
  const days = col('visited').between(new Date('2024-01-01T00:00:00Z'), new Date('2024-06-30T12:00:00Z'))
  expect(days.toJSON()).toMatchObject({ lower: '2024-01-01', upper: '2024-06-30T12:00:00Z' })
  expect(col('visited').by('month', { from: '2024-01' }).toJSON()).toEqual({
    column: 'visited',
    by: 'month',
    from: '2024-01',
  })
})

describe('answers', () => {
  test('state value, half-width, price, budget and id, and have types by kind', async () => {
    const { census, sent } = standIn(counted)
    const answer = await census.count({ where: col('Age').gte(65), epsilon: 0.1 })
    expect(answer).toMatchObject({
      value: 2531,
      halfWidth: 30,
      confidence: 0.95,
      price: { epsilon: 0.1 },
      budgetLeft: { epsilon: 9 },
      replayed: false,
      dummy: false,
      raw: counted,
    })
    expectTypeOf(answer.value).toEqualTypeOf<number>()
    expectTypeOf<Answer<'mean'>['value']>().toEqualTypeOf<number | string>()
    expect(sent[0]?.url).toBe(`${URL_OF_SERVICE}/v1/datasets/census/queries`)
    expect(new Headers(sent[0]?.init.headers).has('idempotency-key')).toBe(false)
  })

  test('of a replay state the amount that was paid', async () => {
    const replay = { ...counted, cost: { epsilon: 0, delta: 0 }, price: { epsilon: 0.1, delta: 0 } }
    const { census } = standIn(Response.json(replay, { headers: { 'idempotent-replayed': 'true' } }))
    expect(await census.count({ epsilon: 0.1 })).toMatchObject({ replayed: true, price: { epsilon: 0.1 } })
  })

  test('of groups have the names of the analyst', async () => {
    const values = {
      count: { value: 10, halfWidth: 3 },
      mean_Earnings: { value: 5, halfWidth: 1 },
      proportion2: { value: 0.5, halfWidth: 0.1 },
    }
    const { census, sent } = standIn(answerOf('groupBy', { groups: [{ key: { Sex: 'F' }, values }] }))
    const groups = census.groupBy('Sex').agg({ n: count(), again: count(), pay: mean('Earnings') })
    const shares = { young: proportion(col('Age').lt(30)), old: proportion(col('Age').gte(65)) }
    const answer = await groups.agg(shares).run({ epsilon: 0.5 })
    expect(sent[0]?.body).toMatchObject({
      keys: ['Sex'],
      epsilon: 0.5,
      statistics: [
        { kind: 'count' },
        { kind: 'mean', column: 'Earnings' },
        { kind: 'proportion', name: 'proportion1' },
        { kind: 'proportion', name: 'proportion2' },
      ],
    })
    expect(answer.rows[0]?.values.pay.value).toBe(5)
    expect(answer.rows[0]?.values.again.value).toBe(10)
    expect(answer.rows[0]?.values.old.value).toBe(0.5)
    expect(
      records({
        rows: [{ key: { Sex: 'F' }, values: { n: { value: 10, halfWidth: 3, confidence: 0.95 } } }],
      }),
    ).toEqual([{ Sex: 'F', n: 10, nHalfWidth: 3 }])
    const median = { value: 41, halfWidth: 3, unit: 'rows', confidence: 0.95 } as const
    expect(records({ rows: [{ key: { Sex: 'F' }, values: { median } }] })).toEqual([
      { Sex: 'F', median: 41, medianRankHalfWidth: 3 },
    ])
    expect(() =>
      census
        .groupBy('Sex')
        .agg({ n: count({ epsilon: 1 }) })
        .query({ epsilon: 1 }),
    ).toThrow('run(...)')
  })

  test('of one percentile have the shape of several', async () => {
    const { census } = standIn(answerOf('percentile', { value: 41 }))
    expect((await census.percentile('Age', 50, { epsilon: 0.1 })).percentiles).toEqual([{ p: 50, value: 41 }])
  })

  test('of a batch have the types of their queries', async () => {
    const part = {
      kind: 'count',
      result: { value: 3 },
      price: { epsilon: 0.1, delta: 0 },
      noise: counted.noise,
    }
    const { census } = standIn({
      ...counted,
      answers: [{ ...part, accuracy: counted.accuracy, coverage: counted.coverage }],
    })
    const { answers, price } = await census.batch([count({ epsilon: 0.1 })])
    expectTypeOf(answers[0].value).toEqualTypeOf<number>()
    expect(answers[0]).toMatchObject({ value: 3, halfWidth: 30, id: undefined })
    expect(price).toEqual({ epsilon: 0.1, delta: 0 })
  })

  test('of made-up rows have no id', async () => {
    const { client, sent } = standIn({ ...counted, dummy: true })
    const practice = client.dataset('census', { on: 'dummy', rows: 500 })
    expect(await practice.count({ epsilon: 0.1 })).toMatchObject({ dummy: true, id: undefined })
    expect(sent[0]?.url).toMatch(/\/queries\?on=dummy&rows=500$/)
    await expect(practice.session({ threshold: 1, positives: 1, epsilon: 1 })).rejects.toThrow('practised')
  })
})

describe('as text', () => {
  const textOf = async (kind: string, result: object, further: object = {}) => {
    const { census } = standIn(answerOf(kind, result, further))
    return String(await census.ask({ kind: kind as 'count', body: { kind, p: 50 } }))
  }
  const cost = '(95% confidence · price: epsilon 0.1 · left: epsilon 9)'
  const accuracyOf = (halfWidth: number | null, unit?: string) => ({
    accuracy: { confidence: 0.95, halfWidth, expectedAbsoluteError: null, unit },
  })
  const day = { value: '2024-03-03' }
  const estimate = { value: 5, halfWidth: 1 }

  test.each([
    ['count', { value: 2531 }, {}, '2,531 ± 30'],
    ['mean', { value: 46.1234 }, accuracyOf(0.6183), '46.12 ± 0.62'],
    ['mean', { value: 0.5 }, accuracyOf(null), '0.5'],
    ['mean', day, accuracyOf(6.2, 'days'), '2024-03-03 ± 6.2 days'],
    ['median', { value: 45 }, accuracyOf(77.25, 'rows'), '45 (rank ± 77.25 rows)'],
    ['percentile', { value: 45 }, accuracyOf(77.25, 'rows'), '50%: 45 (rank ± 77.25 rows)'],
    ['histogram', { cells: [{ key: { Sex: null }, value: 7 }] }, {}, 'null: count 7 ± 30'],
    [
      'histogram',
      { cells: [{ key: { Age: { lower: 0, upper: 9, upperIncluded: true } }, value: 7 }] },
      {},
      '[0, 9]: count 7 ± 30',
    ],
    ['groupBy', { groups: [{ key: { A: 1, B: 2 }, values: { n: estimate } }] }, {}, '1 / 2: n 5 ± 1'],
    [
      'linearRegression',
      { intercept: estimate, coefficients: [{ column: 'Age', ...estimate }] },
      {},
      'intercept: 5 ± 1\nAge: 5 ± 1',
    ],
    ['noisyMax', { selected: [{ candidate: 'F' }, { candidate: 'M' }] }, {}, '1. F\n2. M'],
    ['keySelection', { keys: [{ key: 'a' }, { key: 'b' }], truncated: false }, {}, 'a, b'],
    ['unheardOf', { other: 1 }, {}, '{"other":1}'],
  ])('%s %j', async (kind, result, further, text) => {
    expect(await textOf(kind, result, further)).toBe(`${text}\n${cost}`)
  })

  test('of groups with the names of the analyst', async () => {
    const { census } = standIn(
      answerOf('groupBy', { groups: [{ key: { Sex: 'F' }, values: { count: estimate } }] }),
    )
    const answer = await census.groupBy('Sex').agg({ n: count() }).run({ epsilon: 0.1 })
    expect(String(answer)).toBe(`F: n 5 ± 1\n${cost}`)
    expect([String(answer.rows[0]), String(answer.rows[0]?.values.n)]).toEqual(['F: n 5 ± 1', '5 ± 1'])
  })

  test('of an inferred answer, and of the ways to an answer', async () => {
    const statement = 'Follows from one answer that you have paid for (histogram).'
    const inference = { statement, releases: [{ id: 'a' }, { id: 'a' }, { id: 'this' }], estimates: [] }
    const { census } = standIn({ ...counted, inference })
    const answer = await census.count({ epsilon: 0.1, use: 'free' })
    expect(answer.inference).toEqual({ statement, releases: ['a'] })
    expect(String(answer)).toContain(`\n(${statement})\n(95% confidence`)
    const price = { epsilon: 0.1, delta: 0 }
    const free = {
      result: { value: 2531 },
      accuracy: { confidence: 0.95, halfWidth: 20 },
      releases: ['a', 'b'],
    }
    const topUp = { epsilon: 0.07, price: { epsilon: 0.07, delta: 0 } }
    const lineOf = async (offers: object) =>
      offersText(await standIn({ offers }).census.preview(count({ epsilon: 0.1 })))
    expect(await lineOf({ free, topUp, fresh: { price } })).toBe(
      'free: 2,531 ± 20 from 2 answers; top up: epsilon 0.07; fresh: epsilon 0.1',
    )
    const refused = { reason: 'the epsilon is too small' }
    expect(await lineOf({ free, topUp: refused, fresh: { price } })).toContain(
      'top up: the epsilon is too small;',
    )
    expect(await lineOf({ free: { reason: 'it does not follow' }, fresh: { price } })).toBe(
      'free: it does not follow; fresh: epsilon 0.1',
    )
  })

  test('of a batch, a replay, made-up rows and a budget in rho', async () => {
    const { accuracy, coverage, result, kind } = counted
    const part = { kind, result, accuracy, coverage, price: { epsilon: 0.1, delta: 1e-6 } }
    const { census } = standIn({ ...counted, answers: [part] })
    expect(String((await census.batch([count({ epsilon: 0.1 })])).answers[0])).toContain(
      'price: epsilon 0.1, delta 0.000001 ·',
    )
    const replay = Response.json(counted, { headers: { 'idempotent-replayed': 'true' } })
    expect(String(await standIn(replay).census.count({ epsilon: 0.1 }))).toContain(
      'replayed, paid: epsilon 0.1 · left then: epsilon 9',
    )
    expect(await textOf('count', { value: 1 }, { dummy: true })).toContain(
      'made-up rows, would cost: epsilon',
    )
    expect(await textOf('count', { value: 1 }, { cost: { rho: 0.5 } })).toContain('price: rho 0.5 ·')
  })
})

describe('computing', () => {
  const estimate = (value: number, halfWidth: number | null): Estimate => ({
    value,
    halfWidth,
    confidence: 0.95,
  })

  test('a difference and a ratio hold with the confidence that both answers hold', async () => {
    const { census } = standIn(counted)
    const old = await census.count({ epsilon: 0.1 })
    const rest = difference(3000, old)
    expect(rest).toEqual({
      value: 469,
      halfWidth: 30,
      confidence: 0.95,
      interval: { lower: 439, upper: 499 },
    })
    expect(String(rest)).toBe('469 ± 30')
    expect(difference(old, estimate(100, 20))).toMatchObject({ value: 2431, halfWidth: 50, confidence: 0.9 })
    expect(ratio(estimate(200, 30), estimate(100, 20))).toEqual({
      value: 2,
      halfWidth: 230 / 80 - 2,
      confidence: 0.9,
      interval: { lower: 170 / 120, upper: 230 / 80 },
    })
  })

  test.each([estimate(20, 30), estimate(30, 30), estimate(-5, 10), estimate(20, null)])(
    'a divisor that may be 0 leaves no bound: %j',
    (divisor) => {
      const quotient = ratio(estimate(200, 30), divisor)
      expect(quotient).toEqual({ value: 200 / Number(divisor.value), halfWidth: null, confidence: 0.9 })
    },
  )

  test('a declared interval is kept', () => {
    const few = { ...estimate(5, 30), interval: { lower: 0, upper: 35 } }
    expect(difference(few, 10).interval).toEqual({ lower: -10, upper: 25 })
  })

  test('ranks and times are refused', () => {
    expect(() => difference({ ...estimate(5, 7), unit: 'rows' }, 1)).toThrow('quantiles')
    expect(() => ratio({ value: '2024-01-01', halfWidth: 1, unit: 'days', confidence: 0.95 }, 1)).toThrow(
      'times',
    )
  })
})

test('lists are read whole', async () => {
  const { client, sent } = standIn({ datasets: [{ id: 'a' }], next: 'a' }, { datasets: [{ id: 'b' }] })
  expect(await client.datasets()).toEqual([{ id: 'a' }, { id: 'b' }])
  expect(sent.map(({ url }) => new URL(url).search)).toEqual(['?limit=500', '?limit=500&cursor=a'])
})

test('the history is read page by page', async () => {
  const { client, sent } = standIn(
    { releases: [{ id: 'a' }, { id: 'b' }], next: 'n 1' },
    { releases: [{ id: 'c' }] },
  )
  const ids = []
  for await (const { id } of client.dataset('census').history({ from: new Date('2026-01-01') })) ids.push(id)
  expect(ids).toEqual(['a', 'b', 'c'])
  expect(sent.map(({ url }) => new URL(url).search)).toEqual([
    '?from=2026-01-01&dataset=census',
    '?from=2026-01-01&dataset=census&cursor=n+1',
  ])
})

describe('retries', () => {
  const lost = () => new TypeError(`fetch failed with ${KEY}`)
  const settled = async <Result>(asked: Promise<Result>): Promise<Result | Error> => {
    const outcome = asked.catch((error: Error) => error)
    await vi.runAllTimersAsync()
    return outcome
  }

  test.each([
    ['a lost connection', lost()],
    ['a query in flight', problem(409, 'query-in-flight', { 'retry-after': '1' })],
    ['a rate limit', problem(429, 'rate-limited', { 'retry-after': '3' })],
    ['a rate limit without a time', problem(429, 'rate-limited')],
    ['a quota of requests under way', problem(429, 'quota-exceeded', { 'retry-after': '1' })],
    ['a service that stops', problem(503, 'unavailable', { 'retry-after': '1' })],
    ['a proxy without a service', new Response('Bad gateway', { status: 502 })],
  ])('repeat the very same request after %s', async (_, step) => {
    vi.useFakeTimers()
    const { census, sent } = standIn(step, counted)
    expect(await settled(census.count({ epsilon: 0.1 }))).toMatchObject({ value: 2531 })
    expect(sent).toHaveLength(2)
    expect(sent[1]?.body).toEqual(sent[0]?.body)
    expect(sent[1]?.init.headers).toEqual(sent[0]?.init.headers)
  })

  test('wait as long as the service asks', async () => {
    vi.useFakeTimers()
    const { census, sent } = standIn(problem(503, 'unavailable', { 'retry-after': '7' }), counted)
    const asked = census.count({ epsilon: 0.1 })
    await vi.advanceTimersByTimeAsync(6_999)
    expect(sent).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(2)
    expect(sent).toHaveLength(2)
    await asked
  })

  test.each([
    [400, 'invalid-request'],
    [409, 'budget-insufficient'],
    [429, 'quota-exceeded'],
    [500, 'internal-error'],
  ])('end at once after status %d with %s', async (status, code) => {
    const { census, sent } = standIn(problem(status, code))
    await expect(census.count({ epsilon: 0.1 })).rejects.toMatchObject({ code })
    expect(sent).toHaveLength(1)
  })

  test('end after five lost connections, with an error that contains neither key nor data', async () => {
    vi.useFakeTimers()
    const { census, sent } = standIn(...Array.from({ length: 5 }, lost))
    const error = await settled(census.count({ epsilon: 0.1, where: col('Age').eq(42) }))
    expect(error).toBeInstanceOf(ConnectionFailed)
    expect(`${error}${(error as Error).stack}${JSON.stringify(error)}`).not.toMatch(/secret|42,|Age/)
    expect((error as Error).cause).toBeUndefined()
    expect(sent).toHaveLength(5)
  })

  test('end before the longest time to wait', async () => {
    const { census, sent } = standIn(problem(503, 'unavailable', { 'retry-after': '3600' }))
    await expect(census.count({ epsilon: 0.1 })).rejects.toMatchObject({ code: 'unavailable' })
    expect(sent).toHaveLength(1)
  })

  test('end when the caller aborts, also while waiting', async () => {
    const controller = new AbortController()
    const { census, sent } = standIn(problem(503, 'unavailable', { 'retry-after': '30' }), counted)
    const asked = failure(census.count({ epsilon: 0.1, signal: controller.signal }))
    await expect.poll(() => sent).toHaveLength(1)
    controller.abort()
    expect(await asked).toMatchObject({ name: 'AbortError' })
    expect(sent).toHaveLength(1)
  })

  test('send an idempotency key that the caller gives', async () => {
    const { census, sent } = standIn(counted)
    await census.count({ epsilon: 0.1, idempotencyKey: 'fresh-1' })
    expect(new Headers(sent[0]?.init.headers).get('idempotency-key')).toBe('fresh-1')
    expect(sent[0]?.body).toEqual({ kind: 'count', epsilon: 0.1 })
  })
})

describe('the key', () => {
  test('is sent to the address only: redirects are not followed', async () => {
    const moved = new Response(null, { status: 307, headers: { location: 'https://other.example/' } })
    const { census, sent } = standIn(moved)
    expect(await failure(census.budget())).toBeInstanceOf(UnexpectedResponse)
    expect(sent.map(({ init }) => [init.redirect, init.credentials])).toEqual([['manual', 'omit']])
  })

  test('is part of no value and no error', async () => {
    const { client, census } = standIn(
      problem(401, 'unauthenticated'),
      new Response('<html>', { status: 404 }),
    )
    const errors = [await failure(census.budget()), await failure(census.budget())]
    const badKey = connect(URL_OF_SERVICE, `${KEY}\n${KEY}`, { fetch })
    errors.push(await failure(badKey.datasets()))
    for (const value of [client, census, ...errors])
      expect(
        JSON.stringify(value) + String(value) + (value instanceof Error ? value.stack : ''),
      ).not.toContain('secret')
  })

  test('may be a function, which is asked at every attempt', async () => {
    const tokens = ['first', 'second']
    const seen: (string | null)[] = []
    const fetch = async (_: unknown, init: RequestInit) => {
      seen.push(new Headers(init.headers).get('authorization'))
      return Response.json({ datasets: [] })
    }
    const client = connect(URL_OF_SERVICE, async () => tokens.shift() ?? '', {
      fetch: fetch as typeof globalThis.fetch,
    })
    await client.datasets()
    await client.datasets()
    expect(seen).toEqual(['Bearer first', 'Bearer second'])
  })

  test('is not taken from an address', () => {
    expect(() => connect('https://analyst:secret@sotto.example', KEY)).toThrow(/user name/)
    expect(() => connect('https://analyst:secret@sotto.example', KEY)).not.toThrow(/secret/)
    expect(() => connect('ftp://sotto.example', KEY)).toThrow(TypeError)
  })
})

describe('a bundle', () => {
  /** Bundles a module that imports the package, minified. */
  const bundled = async (code: string): Promise<string> => {
    const entry = 'virtual:entry'
    const bundle = await rolldown({
      input: entry,
      plugins: [
        {
          name: 'entry',
          resolveId: (id) =>
            id === entry
              ? entry
              : id === 'sotto-client'
                ? path.join(root, 'clients/typescript/src/sotto.ts')
                : null,
          load: (id) => (id === entry ? code : null),
        },
      ],
    })
    const { output } = await bundle.generate({ minify: true })
    await bundle.close()
    return output[0].code
  }

  test('of the whole client is small', async () => {
    const code = await bundled("import * as sotto from 'sotto-client'; globalThis.sotto = sotto")
    expect(gzipSync(code).length).toBeLessThan(8_500)
  })

  test('contains only what is used', async () => {
    const code = await bundled("import { col } from 'sotto-client'; globalThis.age = col('Age')")
    expect(code).not.toMatch(/retry-after|fetch|query-in-flight/)
    expect(gzipSync(code).length).toBeLessThan(1_800)
    expect(await bundled("import 'sotto-client'")).toBe('')
  })
})

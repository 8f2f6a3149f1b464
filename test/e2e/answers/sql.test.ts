import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openSqlPool } from '../../../src/answers/sql/pool.ts'
import { broken, statement } from '../../answers/sql/grammar.ts'
import { testService } from '../service.ts'

const service = testService({ SOTTO_DEMO: 'true' })

const PATH = '/v1/datasets/census/sql'

function ask(sql: string, terms: object = { epsilon: 0.001 }, path = PATH) {
  return service
    .as('analyst')
    .post(path)
    .send({ sql, ...terms })
}

describe('a statement', () => {
  test('is answered as the query that it means, which is then replayed', async () => {
    const sql =
      "SELECT Sex, COUNT(*) AS n FROM census WHERE Age BETWEEN 18 AND 65 AND Married = 'M' GROUP BY Sex"
    const { body } = await ask(sql, { epsilon: 0.01, postprocess: { round: true } }).expect(200)
    const { query, answer, columns, rows } = body
    expect(query).toEqual({
      kind: 'histogram',
      column: 'Sex',
      where: {
        op: 'and',
        predicates: [
          { column: 'Age', op: 'between', lower: 18, upper: 65 },
          { column: 'Married', op: '=', value: 'M' },
        ],
      },
      epsilon: 0.01,
      postprocess: { round: true },
    })
    expect(columns).toEqual([
      { name: 'Sex', type: 'text' },
      { name: 'n', type: 'integer', halfWidthColumn: 'n_half_width' },
      { name: 'n_half_width', type: 'number' },
    ])
    const { halfWidth } = answer.accuracy
    expect(rows).toEqual(
      answer.result.cells.map(({ key, value }: { key: { Sex: string }; value: number }) => [
        key.Sex,
        value,
        halfWidth,
      ]),
    )
    const asked = await service.ask('census', query).expect(200)
    expect(asked.headers['idempotent-replayed']).toBe('true')
    expect(asked.body.id).toBe(answer.id)
    const spelled = `select "Sex", count(*) n from census c where age between 18 and 65 and not (c.Married <> 'M') group by 1`
    const repeated = await ask(spelled, { epsilon: 0.01, postprocess: { round: true } }).expect(200)
    expect(repeated.headers['idempotent-replayed']).toBe('true')
    expect(repeated.body.rows).toEqual(rows)
  })

  test('has the bytes of the stored answer within its response', async () => {
    const response = await ask('SELECT AVG(Age) FROM census').expect(200)
    const stored = await service.as('analyst').get(`/v1/releases/${response.body.answer.id}`).expect(200)
    expect(response.text).toContain(`"answer":${stored.text}`)
  })

  test('is sorted and cut as post-processing of one answer', async () => {
    const all = 'SELECT Occupation, COUNT(*) AS n, AVG(Age) FROM census GROUP BY Occupation'
    const { body } = await ask(all, { epsilon: 0.02 }).expect(200)
    const sorted = await ask(`${all} HAVING COUNT(*) > 1000 ORDER BY n DESC LIMIT 2 OFFSET 1`, {
      epsilon: 0.02,
    }).expect(200)
    expect(sorted.body.answer).toMatchObject({ id: body.answer.id, cost: { epsilon: 0 } })
    const expected = body.rows
      .filter(([, n]: [string, number]) => n > 1000)
      .toSorted((a: [string, number], b: [string, number]) => b[1] - a[1])
      .slice(1, 3)
    expect(expected).toHaveLength(2)
    expect(sorted.body.rows).toEqual(expected)
    expect(sorted.body.notes.join(' ')).toMatch(/HAVING.*ORDER BY.*LIMIT/)
  })

  test('of several queries is a batch, at one price where they exclude each other', async () => {
    const parts = (first: string, second: string) =>
      `SELECT Married, COUNT(*) FILTER (WHERE Sex = '${first}') AS a, SUM(CASE WHEN Sex = '${second}' THEN 1 ELSE 0 END) AS b
       FROM census GROUP BY 1`
    const { body } = await ask(parts('F', 'M'), { epsilon: 0.01 }).expect(200)
    expect(body.answer.cost).toMatchObject({ epsilon: 0.01 })
    expect(body.query.queries).toHaveLength(2)
    // The JSON of the batch is the same question.
    const json = await service
      .as('analyst')
      .post('/v1/datasets/census/queries/batch')
      .send(body.query)
      .expect(200)
    expect(json.headers['idempotent-replayed']).toBe('true')
    expect(json.body.id).toBe(body.answer.id)
    const women = json.body.answers[0].result.cells.map(({ value }: { value: number }) => value)
    expect(json.body.question.queries[0].where.value).toBe('F')
    expect(body.rows.map(([, value]: number[]) => value)).toEqual(women)
    // So is the statement with its columns in another order.
    const swapped = await ask(parts('M', 'F'), { epsilon: 0.01 }).expect(200)
    expect(swapped.headers['idempotent-replayed']).toBe('true')
    expect(swapped.body.rows.map(([, , , value]: number[]) => value)).toEqual(women)
    // Queries of the same rows add up.
    const overlapping = 'SELECT COUNT(*), CORR(Age, Earnings), COUNT(*) FILTER (WHERE Age > 30) FROM census'
    const priced = await ask(overlapping, { epsilon: 0.01 }, `${PATH}/preview`).expect(200)
    expect(priced.body.preview.cost).toMatchObject({ epsilon: 0.03 })
  })

  test('with computed values is the question of its parts', async () => {
    const { body } = await ask('SELECT Sex, SUM(Age) AS s, COUNT(*) AS n FROM census GROUP BY Sex', {
      epsilon: 0.03,
    }).expect(200)
    const wrapped = `SELECT source.Sex, ROUND(s / n, 3) AS mean, n / total AS share FROM
      (SELECT Sex, SUM(Age) AS s, COUNT(*) AS n, SUM(COUNT(*)) OVER () AS total FROM public.census GROUP BY Sex) AS source`
    const computed = await ask(wrapped, { epsilon: 0.03 }).expect(200)
    expect(computed.body.answer).toMatchObject({ id: body.answer.id, cost: { epsilon: 0 } })
    const total = body.rows.reduce((sum: number, row: number[]) => sum + (row[3] ?? 0), 0)
    for (const [place, [sex, mean, meanHalfWidth, share, shareHalfWidth]] of computed.body.rows.entries()) {
      const [ownSex, s, , n] = body.rows[place]
      expect([sex, mean, share]).toEqual([ownSex, Math.round((1000 * s) / n) / 1000, n / total])
      expect(meanHalfWidth).toBeGreaterThan(0)
      expect(shareHalfWidth).toBeGreaterThan(0)
      expect(shareHalfWidth).toBeLessThan(0.01)
    }
  })

  test('names the place of what is wrong in one of its queries', async () => {
    const wrong = "SELECT COUNT(*), COUNT(*) FILTER (WHERE Age > 1 AND Married = 'X') FROM census"
    const { body } = await ask(wrong, { epsilon: 0.01 }).expect(422)
    expect(body).toMatchObject({ code: 'query-does-not-fit', column: 63, text: "'X') FROM census" })
    const unknown = await ask('SELECT COUNT(*), MIN(Age) FROM census', { epsilon: 0.1, mechanism: 'laplace' })
    expect(unknown.body).toMatchObject({ code: 'invalid-request', errors: [{ field: 'mechanism' }] })
    const free = await ask('SELECT COUNT(*), MIN(Age) FROM census', { epsilon: 0.1, use: 'free' })
    expect(free.body).toMatchObject({ errors: [{ field: 'use' }] })
  })

  test('is priced by its preview, at no cost', async () => {
    const before = await service.as('analyst').get('/v1/datasets/census/budget').expect(200)
    const terms = { accuracy: { halfWidth: 100 } }
    const { body } = await ask('SELECT COUNT(*) FROM census', terms, `${PATH}/preview`).expect(200)
    expect(body.query).toEqual({ kind: 'count', ...terms })
    expect(body.preview.accuracy.halfWidth).toBeLessThanOrEqual(100)
    expect(body.preview.cost.epsilon).toBeGreaterThan(0)
    expect(body).not.toHaveProperty('rows')
    const after = await service.as('analyst').get('/v1/datasets/census/budget').expect(200)
    expect(after.body).toEqual(before.body)
  })

  test('keeps the fields of the request in refusals about them', async () => {
    const wrong = await ask('SELECT COUNT(*) FROM census', { epsilon: -1 }).expect(400)
    expect(wrong.body.errors).toMatchObject([{ field: 'epsilon' }])
    const missing = await ask('SELECT COUNT(*) FROM census', {}).expect(400)
    expect(missing.body.errors).toMatchObject([{ field: 'epsilon' }])
    const unknown = await ask('SELECT MIN(Age) FROM census', { epsilon: 0.1, mechanism: 'laplace' })
    expect(unknown.body).toMatchObject({ code: 'invalid-request', errors: [{ field: 'mechanism' }] })
  })
})

const DEEP = 1_300

test.each([
  ['parentheses', `SELECT COUNT(*) FROM census WHERE ${'('.repeat(DEEP)}Age = 1${')'.repeat(DEEP)}`],
  ['negations', `SELECT COUNT(*) FROM census WHERE ${'NOT '.repeat(900)}Age = 1`],
  ['truth tests', `SELECT COUNT(*) FROM census WHERE ${'('.repeat(50)}Age = 1${' IS UNKNOWN)'.repeat(50)}`],
  ['conjunctions', `SELECT COUNT(*) FROM census WHERE ${'Age=1 AND('.repeat(300)}Age=1${')'.repeat(300)}`],
  ['signs', `SELECT COUNT(*) FROM census WHERE Age = ${'- '.repeat(1_900)}1`],
  ['operators', `SELECT COUNT(*) FROM census WHERE Age = 1${'+1'.repeat(1_900)}`],
  ['subscripts', `SELECT COUNT(*) FROM census WHERE Age${'[1]'.repeat(1_200)} = 1`],
  ['casts', `SELECT COUNT(*) FROM census WHERE Age${'::int'.repeat(700)} = 1`],
  ['cases', `SELECT ${'CASE WHEN 1=1 THEN '.repeat(100)}1${' END'.repeat(100)} FROM census`],
  ['a long list', `SELECT COUNT(*) FROM census WHERE Age IN (${'1,'.repeat(1_900)}1)`],
  ['subqueries', `SELECT COUNT(*) FROM ${'(SELECT * FROM '.repeat(150)}census${') x'.repeat(150)}`],
  ['unions', Array.from({ length: 130 }, () => 'SELECT COUNT(*) FROM c').join(' UNION ')],
  ['joins', `SELECT COUNT(*) FROM census${' CROSS JOIN x'.repeat(280)}`],
  ['comments', `SELECT COUNT(*) FROM census ${'/*'.repeat(1_800)}`],
  ['dollar quotes', `SELECT COUNT(*) FROM census WHERE Sex = $a$${'$'.repeat(3_900)}`],
  ['escapes', `SELECT COUNT(*) FROM census WHERE Sex = U&'${'\\0041'.repeat(700)}'`],
  ['a wrong escape', `SELECT COUNT(*) FROM census WHERE Sex = U&'\\DFFF'`],
  ['a zero escape', `SELECT COUNT(*) FROM census WHERE Sex = U&'\\0000'`],
  ['a large number', `SELECT COUNT(*) FROM census WHERE Age = 1e99999`],
  ['many digits', `SELECT COUNT(*) FROM census WHERE Age = ${'9'.repeat(4_000)}`],
  ['characters of four bytes', `SELECT COUNT(*) FROM census WHERE Sex = '${'𝄞'.repeat(2_000)}'`],
  ['a byte order mark', '\u{feff}SELECT COUNT(*) FROM census'],
  ['two statements', 'SELECT COUNT(*) FROM census; SELECT COUNT(*) FROM census'],
  ['a write', 'DELETE FROM census'],
  ['a write in a WITH', 'WITH x AS (DELETE FROM census RETURNING *) SELECT COUNT(*) FROM census'],
  ['DDL', 'DROP TABLE census'],
  ['COPY', "COPY census TO PROGRAM 'id'"],
  ['DO', 'DO $$ BEGIN PERFORM pg_sleep(10); END $$'],
  ['SET', 'SET ROLE postgres'],
  ['SELECT INTO', 'SELECT COUNT(*) INTO stolen FROM census'],
  ['FOR UPDATE', 'SELECT COUNT(*) FROM census FOR UPDATE'],
  ['pg_sleep', 'SELECT pg_sleep(10) FROM census'],
  ['pg_sleep in WHERE', 'SELECT COUNT(*) FROM census WHERE pg_sleep(10) IS NULL'],
  ['current_user', 'SELECT current_user, COUNT(*) FROM census'],
  ['a system table', 'SELECT COUNT(*) FROM pg_catalog.pg_user'],
  ['a row', 'SELECT census FROM census'],
  ['rows', 'SELECT * FROM census'],
  ['a subquery in WHERE', 'SELECT COUNT(*) FROM census WHERE Age > (SELECT AVG(Age) FROM census)'],
  ['a subquery in SELECT', 'SELECT (SELECT 1), COUNT(*) FROM census'],
  ['a subquery in LIMIT', 'SELECT COUNT(*) FROM census LIMIT (SELECT 1)'],
  ['a subquery in HAVING', 'SELECT COUNT(*) FROM census HAVING EXISTS (SELECT 1)'],
  ['a subquery in ORDER BY', 'SELECT COUNT(*) FROM census ORDER BY (SELECT 1)'],
  ['a subquery in GROUP BY', 'SELECT COUNT(*) FROM census GROUP BY (SELECT 1)'],
  ['LATERAL', 'SELECT COUNT(*) FROM census, LATERAL (SELECT 1) x'],
  ['TABLESAMPLE', 'SELECT COUNT(*) FROM census TABLESAMPLE BERNOULLI (1)'],
  ['GROUPING SETS', 'SELECT COUNT(*) FROM census GROUP BY GROUPING SETS ((Sex), ())'],
  ['a window', 'SELECT COUNT(*) OVER (PARTITION BY Sex) FROM census'],
  ['a FILTER', 'SELECT COUNT(*) FILTER (WHERE Age > 3) FROM census'],
  ['a constructor', 'SELECT constructor, COUNT(*) FROM census GROUP BY constructor'],
  ['a prototype', 'SELECT toString(Age), COUNT(*) FROM census'],
  ['only white space', ' \n\t '],
  ['a semicolon', ';'],
])('%s are refused or answered, and the service goes on', async (_, sql) => {
  expect(sql.length).toBeLessThanOrEqual(4_096)
  const { status, body } = await ask(sql)
  if (status !== 200) expect([400, 403, 422], JSON.stringify(body)).toContain(status)
  if (status !== 200) expect(body.errors).toMatchObject([{ field: 'sql' }])
  await ask('SELECT COUNT(*) FROM census').expect(200)
})

test('longer texts and texts with NUL are refused before they reach the parser', async () => {
  for (const sql of [' '.repeat(4_097), '', 'SELECT COUNT(*)\0 FROM census']) {
    const { body } = await ask(sql).expect(400)
    expect(body).toMatchObject({ code: 'invalid-request', errors: [{ field: 'sql' }] })
  }
})

test('random statements are answered or refused over HTTP', async () => {
  const statements = fc.oneof({ weight: 3, arbitrary: statement }, broken)
  const statuses = new Set<number>()
  for (const text of fc.sample(statements, { seed: 12, numRuns: 100 })) {
    const sql = text
      .replaceAll('visits', 'census')
      .replaceAll(/\b(cost|Visits|visits)\b/g, 'Earnings')
      .replaceAll("'North'", "'F'")
      .replaceAll(/\b[Rr]egion\b/g, 'Sex')
    if (sql === '' || sql.includes('\0')) continue
    const { status, body } = await ask(sql, { epsilon: 0.0001 }, `${PATH}/preview`)
    expect([200, 400, 422], `${sql}: ${JSON.stringify(body)}`).toContain(status)
    statuses.add(status)
  }
  expect([...statuses].sort()).toEqual([200, 400, 422])
})

test('a thread whose parser failed is replaced', async () => {
  const pool = openSqlPool({ threads: 1, maxWaiting: 4, waitMs: 600_000, maxPerPrincipal: 4 })
  try {
    const terms = () => ({ timeoutMs: 600_000, givenUp: new AbortController().signal })
    const valid = { statement: 'SELECT COUNT(*) FROM census' }
    // Longer than a request may be, so that the parser overflows its stack.
    const deep = { statement: `SELECT 1${'+1'.repeat(100_000)}` }
    for (let round = 0; round < 3; round += 1) {
      const refused = pool.run('sql', deep, terms()).catch((error: unknown) => error)
      const next = pool.run('sql', valid, terms())
      expect(await refused).toMatchObject({ code: 'sql-not-supported', errors: [{ field: 'sql' }] })
      expect((await next).from).toMatchObject({ name: 'census' })
    }
  } finally {
    await pool.close()
  }
})

test('no failure was logged as an error', () => {
  expect(service.logLines.filter((line) => /"level":(50|60)/.test(line))).toEqual([])
})

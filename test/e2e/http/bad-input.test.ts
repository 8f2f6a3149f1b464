import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { Problem } from '../../../src/http/problem.ts'
import { PROBLEMS } from '../../../src/privacy/problems.ts'
import { testService } from '../service.ts'

const service = testService({}, { census: true })

const QUERIES = '/v1/datasets/census/queries'
const spent = async () =>
  (await service.as('analyst').get('/v1/datasets/census/budget').expect(200)).body.spent

/** Sends a body without the checks of a client library. */
async function sendRaw(body: string, headers: Record<string, string> = {}, path = QUERIES) {
  const response = await fetch(service.url + path, {
    method: 'POST',
    body,
    headers: {
      authorization: `Bearer ${service.keyOf('analyst')}`,
      'content-type': 'application/json',
      ...headers,
    },
  })
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    problem: (await response.json()) as Problem,
  }
}

const count = (fields: string) => `{"kind":"count","epsilon":1${fields}}`
const deep = (levels: number) =>
  `${'{"op":"not","predicate":'.repeat(levels)}{"column":"Age","op":"isNull"}${'}'.repeat(levels)}`

describe('is refused with a problem document and costs nothing', () => {
  test.each([
    ['epsilon missing', '{"kind":"count"}', 400, 'epsilon'],
    ['epsilon 0', '{"kind":"count","epsilon":0}', 400, 'epsilon'],
    ['epsilon negative', '{"kind":"count","epsilon":-1}', 400, 'epsilon'],
    ['epsilon 1e-12', '{"kind":"count","epsilon":1e-12}', 400, 'epsilon'],
    ['epsilon 1e400', '{"kind":"count","epsilon":1e400}', 400, 'epsilon'],
    ['epsilon with ten decimals', '{"kind":"count","epsilon":0.1234567891}', 400, 'epsilon'],
    ['epsilon with twenty decimals', '{"kind":"count","epsilon":0.10000000000000000001}', 400, 'epsilon'],
    ['epsilon above the maximum', '{"kind":"count","epsilon":1000.1}', 400, 'epsilon'],
    ['epsilon null', '{"kind":"count","epsilon":null}', 400, 'epsilon'],
    ['epsilon a string', '{"kind":"count","epsilon":"0x10"}', 400, 'epsilon'],
    ['epsilon a number in a string', '{"kind":"count","epsilon":"1"}', 400, 'epsilon'],
    ['epsilon true', '{"kind":"count","epsilon":true}', 400, 'epsilon'],
    ['epsilon a list', '{"kind":"count","epsilon":[1]}', 400, 'epsilon'],
    ['delta 1', count(',"delta":1'), 400, 'delta'],
    ['delta negative', count(',"delta":-0.1'), 400, 'delta'],
    ['delta 1e-19', count(',"delta":1e-19'), 400, 'delta'],
    ['delta null', count(',"delta":null'), 400, 'delta'],
    ['gaussian without delta', count(',"mechanism":"gaussian"'), 422, 'delta'],
    [
      'classic with epsilon above 1',
      '{"kind":"count","epsilon":1.5,"delta":1e-6,"mechanism":"gaussian","calibration":"classic"}',
      422,
      'calibration',
    ],
    ['an unknown mechanism', count(',"mechanism":"geometrical"'), 400, 'mechanism'],
    ['an unknown kind', '{"kind":"mode","epsilon":1}', 400, 'kind'],
    ['no kind', '{"epsilon":1}', 400, 'kind'],
    ['an unknown field', count(',"epsilom":1'), 400, 'epsilom'],
    ['an unknown field within', count(',"postprocess":{"rond":true}'), 400, 'postprocess.rond'],
    ['an unknown column', '{"kind":"sum","column":"Agee","epsilon":1}', 422, 'column'],
    ['an unknown category', count(',"where":{"column":"Sex","op":"=","value":"X"}'), 422, 'where.value'],
    ['a null in a predicate', count(',"where":{"column":"Sex","op":"=","value":null}'), 400, 'where.value'],
    ['an unknown operator', count(',"where":{"column":"Age","op":"~","value":1}'), 400, 'where.op'],
    [
      'an injection as a column',
      '{"kind":"sum","column":"Age\\"; DROP TABLE rows; --","epsilon":1}',
      422,
      'column',
    ],
    ['a predicate 13 deep', count(`,"where":${deep(12)}`), 400, 'where'],
    ['a predicate 1,000 deep', count(`,"where":${deep(1000)}`), 400, 'body'],
    ['an empty list', count(',"where":{"op":"and","predicates":[]}'), 400, 'where.predicates'],
    [
      'a list of 1,001',
      count(`,"where":{"column":"Age","op":"in","values":[${Array(1001).fill(1)}]}`),
      400,
      'where.values',
    ],
    ['a body that is a list', '[]', 400, 'body'],
    ['a body that is null', 'null', 400, 'body'],
  ])('%s', async (_name, body, status, field) => {
    const before = await spent()
    const { problem, type, ...response } = await sendRaw(body)
    expect({ ...response, body: problem }).toMatchObject({ status, body: { status } })
    expect(type).toContain('application/problem+json')
    expect(problem.errors?.[0]?.field).toBe(field)
    expect(problem.errors?.[0]?.rule.length).toBeGreaterThan(8)
    expect(problem.detail.length).toBeGreaterThan(8)
    expect(PROBLEMS).toHaveProperty([problem.code])
    expect(await spent()).toEqual(before)
  })

  test.each([
    ['{"kind":"count"}', 'epsilon', 'is required unless accuracy is given'],
    [
      '{"kind":"count","epsilon":1e400}',
      'epsilon',
      'must be a number with at most 17 significant digits, within 1e308',
    ],
    ['{"kind":"count","epsilon":"1"}', 'epsilon', 'must be a number'],
    ['{"kind":"contingency","columns":["Sex"],"epsilon":1}', 'columns', 'must have at least 2 entries'],
    [
      '{"kind":"count","epsilon":1,"mechanism":"magic"}',
      'mechanism',
      'must be one of geometric, laplace, gaussian',
    ],
    ['{"kind":"count","epsilon":1,"postprocess":{"round":1}}', 'postprocess.round', 'must be true or false'],
    [
      '{"kind":"count","epsilon":1,"where":{"op":"and","predicates":{}}}',
      'where.predicates',
      'must be an array',
    ],
    // For a union the rule is that of the only variant that the value's shape fits.
    [
      '{"kind":"histogram","column":{"column":"Age","edges":[0,1e400]},"epsilon":1}',
      'column.edges.1',
      'must be a number, or a date or time in ISO 8601',
    ],
    ['{"kind":"percentile","column":"Age","p":[25,"x"],"epsilon":1}', 'p.1', 'must be a number'],
    [
      '{"kind":"percentile","column":"Age","p":"x","epsilon":1}',
      'p',
      'must be a number between 0 and 100, or an array of up to 20 numbers',
    ],
    [
      '{"kind":"groupBy","keys":["Sex"],"statistics":[{"kind":"sum"}],"epsilon":1}',
      'statistics.0.column',
      'is required',
    ],
    [
      '{"kind":"groupBy","keys":["Sex"],"statistics":[{"kind":"count"},{"kind":"sum","column":"Age"},{"kind":"mean","column":"Age"},{"kind":"sum","column":"Age"}],"epsilon":1}',
      'statistics.3',
      'must not repeat an earlier statistic',
    ],
    [
      '{"kind":"linearRegression","outcome":"Age","predictors":["Sex"],"epsilon":1}',
      'predictors.0',
      'must be numeric, boolean or temporal, and Sex is of type category',
    ],
    [
      '{"kind":"linearRegression","outcome":"Earnings","predictors":["Age"],"where":{"column":"Age","op":"=","value":30},"epsilon":1}',
      'predictors.0',
      'must not be constant, and where allows a single value of Age',
    ],
    [
      '{"kind":"linearRegression","outcome":"Age","predictors":["Age"],"epsilon":1}',
      'predictors.0',
      'must not repeat an earlier column',
    ],
    [
      '{"kind":"linearRegression","outcome":"a","predictors":["b","c","d","e","f","g","h","i","j"],"epsilon":1}',
      'predictors',
      'must have at most 8 entries',
    ],
    ['{"kind":"correlation","columns":["Age"],"epsilon":1}', 'columns', 'must have at least 2 entries'],
    [
      '{"kind":"correlation","columns":["Age","Earnings"],"accuracy":{"halfWidth":0.1}}',
      'accuracy',
      'is not supported for correlation, whose half-width depends on the data: give epsilon instead',
    ],
    [
      '{"kind":"groupBy","keys":["Sex"],"statistics":[{"kind":"percentile","column":"Age","p":100}],"epsilon":1}',
      'statistics.0.p',
      'must be between 0 and 100, exclusive; use minimum or maximum for the ends',
    ],
    ['{"kind":"topGroups","keys":["Sex"],"k":0,"epsilon":1}', 'k', 'must be at least 1'],
    [
      '{"kind":"noisyMax","candidates":{"predicates":[{"name":"a","where":{"column":"Age","op":">","value":1}},{"name":"b","were":1,"where":{"column":"Age","op":">","value":1}}]},"epsilon":1}',
      'candidates.predicates.1.were',
      'is not a known field (did you mean "where"?)',
    ],
    [
      '{"kind":"noisyMax","candidates":{"colum":"Sex"},"epsilon":1}',
      'candidates',
      'must be {"column"} or {"predicates": [{"name", "where"}, ...]}',
    ],
  ])('%s is refused with the field and the rule', async (body, field, rule) => {
    expect((await sendRaw(body)).problem.errors).toEqual([{ field, rule }])
  })

  test.each([
    ['bad JSON', '{"kind":', {}, 400, 'malformed-json'],
    ['an empty body', '', {}, 400, 'malformed-json'],
    ['a key that reaches a prototype', '{"__proto__":{"epsilon":1}}', {}, 400, 'malformed-json'],
    ['2 MB', JSON.stringify({ kind: 'x'.repeat(2_000_000) }), {}, 413, 'body-too-large'],
    [
      'a form',
      'kind=count',
      { 'content-type': 'application/x-www-form-urlencoded' },
      415,
      'media-type-unsupported',
    ],
    ['plain text', '{}', { 'content-type': 'text/plain' }, 415, 'media-type-unsupported'],
    ['a wrong key', count(''), { authorization: 'Bearer sotto_wrong' }, 401, 'unauthenticated'],
    ['no bearer', count(''), { authorization: 'Basic YTpi' }, 401, 'unauthenticated'],
    ['an idempotency key with spaces', count(''), { 'idempotency-key': 'a b' }, 400, 'invalid-request'],
    [
      'an idempotency key of 201 characters',
      count(''),
      { 'idempotency-key': 'a'.repeat(201) },
      400,
      'invalid-request',
    ],
  ])('%s', async (_name, body, headers, status, code) => {
    const before = await spent()
    const response = await sendRaw(body, headers)
    expect(response.problem).toMatchObject({ status, code, requestId: expect.any(String) })
    expect(response.status).toBe(status)
    expect(response.type).toContain('application/problem+json')
    expect(await spent()).toEqual(before)
  })

  test('a request without a key', async () => {
    const response = await fetch(service.url + QUERIES, { method: 'POST' })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toContain('Bearer')
  })

  test.each([
    ['custodian', 'post', QUERIES],
    ['auditor', 'post', QUERIES],
    ['analyst', 'post', '/v1/datasets'],
    ['auditor', 'post', '/v1/datasets'],
    ['analyst', 'post', '/v1/datasets/census/grants'],
    ['auditor', 'delete', '/v1/datasets/census'],
    ['analyst', 'delete', '/v1/datasets/census'],
  ] as const)('the role %s may not %s %s', async (role, method, path) => {
    const { body } = await service.as(role)[method](path).expect(403)
    expect(body).toMatchObject({ code: 'forbidden' })
    expect(body.detail).toContain(role)
  })

  test.each([
    ['get', '/v1/datasets/nowhere', 'unknown-dataset', 404],
    ['get', '/v1/datasets/nowhere/budget', 'unknown-dataset', 404],
    ['get', '/v1/datasets/nowhere/ledger', 'unknown-dataset', 404],
    ['get', '/v1/datasets/Census', 'invalid-request', 400],
    ['get', '/v1/datasets/..%2f..%2fetc', 'invalid-request', 400],
    ['get', '/v1/nothing', 'path-unknown', 404],
    ['get', '/v1/datasets/census/', 'path-unknown', 404],
    ['get', '/v1/datasets/%E0%A4%A', 'http-error', 400],
    ['get', `/v1/datasets/${'a'.repeat(200)}`, 'http-error', 414],
  ] as const)('%s %s is %s', async (method, path, code, status) => {
    const response = await service.as('analyst')[method](path)
    expect(response.body).toMatchObject({ code, status })
    expect(response.status).toBe(status)
    expect(response.headers['content-type']).toContain('application/problem+json')
  })

  test.each([
    ['put', '/v1/datasets/census', 'DELETE, GET, HEAD, PATCH'],
    ['get', '/v1/datasets/census/queries', 'POST'],
    ['post', '/v1/datasets/nowhere/budget?x=1', 'GET, HEAD, PUT'],
    ['post', '/healthz', 'GET, HEAD'],
    ['patch', '/openapi.yaml', 'GET, HEAD'],
  ] as const)('%s %s is answered with 405 and Allow: %s', async (method, path, allow) => {
    const response = await service.as('analyst')[method](path).set('content-type', 'text/plain')
    expect(response.status).toBe(405)
    expect(response.headers.allow).toBe(allow)
    expect(response.body).toMatchObject({ code: 'method-not-allowed', status: 405 })
  })

  test('a method that Fastify does not route is answered with 405', async () => {
    const response = await new Promise<{ status: number | undefined; allow: string | undefined }>(
      (resolve, reject) => {
        const request = httpRequest(`${service.url}/v1/datasets`, { method: 'PROPFIND' }, (incoming) => {
          incoming.resume()
          resolve({ status: incoming.statusCode, allow: incoming.headers.allow })
        })
        request.on('error', reject)
        request.end()
      },
    )
    expect(response).toEqual({ status: 405, allow: 'GET, HEAD, POST' })
  })

  test('two Authorization headers are refused, even if one of them is valid', async () => {
    const before = await spent()
    const body = count('')
    const valid = `Bearer ${service.keyOf('analyst')}`
    for (const authorization of [
      [valid, valid],
      [valid, 'Bearer sotto_wrong'],
      ['Bearer sotto_wrong', valid],
    ]) {
      const status = await new Promise<number | undefined>((resolve, reject) => {
        const headers = { authorization, 'content-type': 'application/json', 'content-length': body.length }
        // Node's own type allows one value; the wire carries two headers.
        const options = { method: 'POST', headers: headers as unknown as Record<string, string> }
        const request = httpRequest(service.url + QUERIES, options, (incoming) => {
          incoming.resume()
          resolve(incoming.statusCode)
        })
        request.on('error', reject)
        request.end(body)
      })
      expect(status).toBe(400)
    }
    expect(await spent()).toEqual(before)
  })

  test.each([
    ['{"kind":"count","epsilon":1,"epsilon":0.1}', 'epsilon'],
    ['{"kind":"count","epsilon":1,"eps\\u0069lon":1}', 'epsilon'],
    [count(',"where":{"op":"isNull","column":"Age","op":"isNull"}'), 'where.op'],
    [
      count(',"where":{"op":"and","predicates":[{"op":"isNull","column":"Age"},{"op":"isNull","op":"="}]}'),
      'where.predicates.1.op',
    ],
  ])('%s names %s twice and is refused', async (body, field) => {
    const before = await spent()
    const { problem } = await sendRaw(body)
    expect(problem).toMatchObject({ status: 400, code: 'malformed-json' })
    expect(problem.errors).toEqual([{ field, rule: 'must not appear more than once in an object' }])
    expect(await spent()).toEqual(before)
  })

  test('a variant that is not known, with those that are', async () => {
    const refused = await service.register({ id: 'variants', source: { kind: 'database' } }).expect(400)
    expect(refused.body.errors).toContainEqual({
      field: 'source.kind',
      rule: 'must be one of file, upload, table, joined, population, visits',
    })
  })

  test('an unknown dataset', async () => {
    const { problem } = await sendRaw(count(''), {}, '/v1/datasets/nowhere/queries')
    expect(problem).toMatchObject({ code: 'unknown-dataset', status: 404 })
    const { problem: previewed } = await sendRaw(count(''), {}, '/v1/datasets/nowhere/queries/preview')
    expect(previewed).toMatchObject({ code: 'unknown-dataset', status: 404 })
  })

  test.each([
    ['nothing at all', { reason: 'why not' }, 'epsilon'],
    ['too much', { epsilon: 1_000_001, reason: 'why not' }, 'epsilon'],
    ['beyond the largest cap', { epsilon: 1_000_000, reason: 'why not' }, 'epsilon'],
    ['a negative amount', { epsilon: -1, reason: 'why not' }, 'epsilon'],
    ['a delta that makes 1', { delta: 0.99999, reason: 'why not' }, 'delta'],
    ['no reason', { epsilon: 1, reason: '' }, 'reason'],
  ])('a grant of %s', async (_name, grant, field) => {
    const { body } = await service.as('custodian').post('/v1/datasets/census/grants').send(grant).expect(400)
    expect(body.errors[0].field).toBe(field)
    const after = await service.as('custodian').get('/v1/datasets/census/budget').expect(200)
    expect(after.body.cap).toEqual({ epsilon: 10, delta: 1e-5 })
  })
})

describe('invalid HTTP', () => {
  test('bytes that are not a request get a problem document and end the connection', async () => {
    const { port } = new URL(service.url)
    const text = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), '127.0.0.1', () => socket.end('NONSENSE\r\n\r\n'))
      let received = ''
      socket.on('data', (chunk) => {
        received += chunk
      })
      socket.on('close', () => resolve(received))
      socket.on('error', reject)
    })
    expect(text).toMatch(/^HTTP\/1\.1 400 /)
    expect(JSON.parse(text.split('\r\n\r\n')[1] ?? '')).toMatchObject({ code: 'http-error', status: 400 })
  })

  test('headers that are too large are refused', async () => {
    const { port } = new URL(service.url)
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const request = httpRequest(
        { port, host: '127.0.0.1', headers: { 'x-large': 'a'.repeat(40_000) } },
        (response) => {
          response.resume()
          resolve(response.statusCode)
        },
      )
      request.on('error', reject)
      request.end()
    })
    expect(status).toBe(431)
  })
})

import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { linkTo } from '../../../schemas/studies/plots.ts'
import { testService } from '../service.ts'

const service = testService({}, { census: true })

const API_POLICY = "default-src 'none';base-uri 'none';form-action 'none';frame-ancestors 'none'"

test.each([
  ['an answer', '/v1/datasets/census/budget', 200, true, 'no-store'],
  ['a document of a dataset', '/v1/datasets/census', 200, true, 'private, no-cache'],
  ['a refusal without a key', '/v1/datasets/census', 401, false, 'no-store'],
  ['an unknown path', '/nowhere', 404, true, 'no-store'],
  ['the OpenAPI document', '/openapi.json', 200, false, 'no-cache'],
  ['readiness', '/readyz', 200, false, 'no-store'],
])('has strict headers and is never used again unasked: %s', async (_, path, status, hasKey, kept) => {
  const headers = hasKey ? { authorization: `Bearer ${service.keyOf('analyst')}` } : {}
  const response = await fetch(service.url + path, { headers })
  expect(response.status).toBe(status)
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-security-policy': API_POLICY,
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cache-control': kept,
    'cross-origin-resource-policy': 'same-origin',
  })
  expect(response.headers.has('x-powered-by')).toBe(false)
  expect(response.headers.has('strict-transport-security')).toBe(false)
})

test('every response leads to the guide and the description, and GET /v1/ says what stays the same', async () => {
  const response = await fetch(`${service.url}/v1/`)
  expect(response.headers.get('link')).toBe(
    '</guide/>; rel="service-doc", </openapi.json>; rel="service-desc"',
  )
  const api = (await response.json()) as { statement: string; stable: boolean; softwareVersion: string }
  expect(api.stable).toBe(!api.softwareVersion.startsWith('0.'))
  const description = await (await fetch(`${service.url}/openapi.json`)).json()
  expect((description as { info: { description: string } }).info.description).toContain(api.statement)
})

test('Swagger UI may load and run its own files only, and is never framed', async () => {
  const response = await fetch(`${service.url}/docs/`)
  expect(response.status).toBe(200)
  const policy = response.headers.get('content-security-policy') ?? ''
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain("script-src 'self';")
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).not.toMatch(/unsafe-(inline|eval)/)
  expect(policy).not.toContain('*')
})

test('a picture may be shown by other pages, and runs nothing', async () => {
  const link = /\((\/v1\/plots[^)]*)\)/.exec(linkTo('risk', 'risk'))?.[1] ?? ''
  const response = await fetch(service.url + link)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(response.headers.get('cross-origin-resource-policy')).toBe('cross-origin')
  expect(response.headers.get('x-content-type-options')).toBe('nosniff')
})

test.each([
  ['a malformed address', 'GET /%E0%A4%A HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
  ['bytes that are no request', 'HELLO\r\n\r\n'],
  ['a header that is too large', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(40_000)}\r\n\r\n`],
])('runs nothing, and is not sniffed or stored: %s', async (_, bytes) => {
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
  let answered = ''
  socket.on('data', (part) => {
    answered += part
  })
  socket.write(bytes)
  while (!answered.includes('\r\n\r\n')) await setTimeout(5)
  socket.destroy()
  expect(answered.toLowerCase()).toContain(`content-security-policy: ${API_POLICY}`)
  expect(answered.toLowerCase()).toContain('x-content-type-options: nosniff')
  expect(answered.toLowerCase()).toContain('cache-control: no-store')
})

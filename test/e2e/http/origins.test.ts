import { describe, expect, test } from 'vitest'
import { testService } from '../service.ts'

const PAGE = 'https://notebooks.example.org'

/** Headers with which a browser asks if a page may send a question. */
const preflight = (origin: string) => ({
  origin,
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization,content-type,idempotency-key',
})

const corsHeaders = (headers: Headers) =>
  [...headers.keys()].filter((name) => name.startsWith('access-control'))

describe('pages of an allowed origin', () => {
  const service = testService({ SOTTO_ALLOWED_ORIGINS: `${PAGE},http://localhost:8888` })

  test('may send what the API takes, without cookies', async () => {
    for (const origin of [PAGE, 'http://localhost:8888']) {
      const url = `${service.url}/v1/datasets/census/queries`
      const { status, headers } = await fetch(url, { method: 'OPTIONS', headers: preflight(origin) })
      expect(status).toBe(204)
      expect(headers.get('access-control-allow-origin')).toBe(origin)
      expect(headers.get('access-control-allow-methods')).toContain('DELETE')
      expect(headers.get('access-control-allow-headers')).toBe(
        'authorization, content-type, idempotency-key, if-none-match',
      )
      expect(headers.get('access-control-allow-credentials')).toBeNull()
    }
  })

  test('can read responses and refusals, and their headers', async () => {
    const authorization = `Bearer ${service.keyOf('analyst')}`
    for (const [path, key, status] of [
      ['/v1/releases', authorization, 200],
      ['/v1/datasets', 'Bearer wrong', 401],
      ['/v1/never', authorization, 404],
    ] as const) {
      const response = await fetch(`${service.url}${path}`, { headers: { origin: PAGE, authorization: key } })
      expect(response.status).toBe(status)
      expect(response.headers.get('access-control-allow-origin')).toBe(PAGE)
      expect(response.headers.get('access-control-expose-headers')).toContain('etag, idempotent-replayed')
      expect(response.headers.get('vary')?.toLowerCase()).toContain('origin')
    }
  })

  test('and no others', async () => {
    for (const origin of [
      'https://other.example',
      'null',
      `${PAGE}.evil.example`,
      'http://notebooks.example.org',
    ]) {
      const url = `${service.url}/v1/datasets`
      const asked = await fetch(url, { method: 'OPTIONS', headers: preflight(origin) })
      expect(asked.status).toBe(405)
      expect(asked.headers.get('allow')).toBe('GET, HEAD, POST')
      expect(corsHeaders(asked.headers)).toEqual([])
      expect(corsHeaders((await fetch(url, { headers: { origin } })).headers)).toEqual([])
    }
    const unknown = await fetch(`${service.url}/v1/never`, { method: 'OPTIONS' })
    expect(unknown.status).toBe(404)
    expect(unknown.headers.get('content-type')).toContain('application/problem+json')
  })
})

describe('without allowed origins', () => {
  const service = testService()

  test('no response has CORS headers', async () => {
    const url = `${service.url}/v1/datasets`
    const asked = await fetch(url, { method: 'OPTIONS', headers: preflight(PAGE) })
    expect([asked.status, ...corsHeaders(asked.headers)]).toEqual([405])
    expect(corsHeaders((await fetch(url, { headers: { origin: PAGE } })).headers)).toEqual([])
  })
})

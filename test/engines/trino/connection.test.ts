import { readFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { TrinoConnection } from '../../../src/engines/tables/connection.ts'
import { type ClientLimits, openTrinoClient, TrinoFailure } from '../../../src/engines/trino/connection.ts'
import {
  answer,
  connectionTo,
  type FakeCoordinator,
  type Handler,
  startFakeCoordinator,
} from './fake-coordinator.ts'

const open: { close(): void | Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each.close()
})

async function start(handle: Handler): Promise<FakeCoordinator> {
  const coordinator = await startFakeCoordinator(handle)
  open.push(coordinator)
  return coordinator
}

const LIMITS: ClientLimits = { maxPageBytes: 10_000, retryMs: 5_000 }

/** Runs a statement and returns all rows. */
async function run(
  connection: TrinoConnection,
  {
    limits = LIMITS,
    signal = new AbortController().signal,
  }: { limits?: ClientLimits; signal?: AbortSignal } = {},
): Promise<readonly (readonly unknown[])[]> {
  const client = openTrinoClient(connection, limits)
  open.unshift(client)
  const rows: (readonly unknown[])[] = []
  for await (const page of client.run('SELECT 1', { signal, timeoutMs: 1_234 })) rows.push(...page)
  return rows
}

/** Answers the statement with the first page and each following request with the next one. */
function pages(...documents: readonly object[]): Handler {
  let next = 0
  return ({ method, headers }, response) => {
    if (method === 'DELETE') return answer(response, {}, 204)
    const document = documents[next]
    next += 1
    const nextUri = `http://${headers.host}/v1/statement/executing/${next}`
    answer(response, { id: 'q', ...(next < documents.length ? { nextUri } : {}), ...document })
  }
}

describe('a statement', () => {
  test('its pages are read in their order, without empty ones', async () => {
    const coordinator = await start(pages({}, { data: [['1'], ['2']] }, { data: [] }, { data: [['3']] }, {}))
    expect(await run(coordinator.connection())).toEqual([['1'], ['2'], ['3']])
    expect(coordinator.received.map(({ method }) => method)).toEqual(['POST', 'GET', 'GET', 'GET', 'GET'])
  })

  test('has the connection and the time limit in its headers, and no credentials without a secret', async () => {
    const coordinator = await start(pages({ data: [] }))
    await run(coordinator.connection({ catalog: 'größe' }))
    const [{ headers, body } = { headers: {}, body: '' }] = coordinator.received
    expect(body).toBe('SELECT 1')
    expect(headers).toMatchObject({
      'x-trino-user': 'sotto',
      'x-trino-source': 'sotto',
      'x-trino-catalog': 'größe',
      'x-trino-time-zone': 'UTC',
      'x-trino-session': 'query_max_run_time=1234ms',
    })
    expect(headers).not.toHaveProperty('authorization')
  })

  test.each([
    [{ password: async () => 'pässwort' }, `Basic ${Buffer.from('sotto:pässwort').toString('base64')}`],
    [{ token: async () => 'abc' }, 'Bearer abc'],
  ])('sends its secret with each request', async (secret, expected) => {
    const coordinator = await start(pages({}, { data: [] }))
    await run(coordinator.connection(secret))
    expect(coordinator.received.map(({ headers }) => headers.authorization)).toEqual([expected, expected])
  })

  test('that is too long for Trino is not sent', async () => {
    const coordinator = await start(pages({}))
    const client = openTrinoClient(coordinator.connection(), LIMITS)
    open.unshift(client)
    const options = { signal: new AbortController().signal, timeoutMs: 1_000 }
    await expect(client.run(' '.repeat(1_000_001), options).next()).rejects.toThrow(TrinoFailure)
    expect(coordinator.received).toEqual([])
  })
})

describe('a failure', () => {
  test('in the last page, after rows', async () => {
    const coordinator = await start(pages({ data: [['1']] }, { error: { message: 'secret value' } }))
    const failure = await run(coordinator.connection()).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(TrinoFailure)
    expect(String(failure)).not.toContain('secret')
  })

  test.each([
    ['not JSON', 'secret'],
    ['no object', '7'],
    ['rows that are no list', '{"data": {"0": []}}'],
    ['a row that is no list', '{"data": [1]}'],
    ['an address that is no text', '{"nextUri": 1}'],
  ])('an answer that is %s', async (_, text) => {
    const coordinator = await start((_request, response) => response.end(text))
    await expect(run(coordinator.connection())).rejects.toThrow(TrinoFailure)
  })

  test.each([301, 302, 307, 308, 400, 401, 403, 404, 500])('the status %i', async (status) => {
    const other = await start(pages({ data: [['1']] }))
    const coordinator = await start((_, response) => answer(response, {}, status, { location: other.url }))
    await expect(run(coordinator.connection({ password: async () => 'x' }))).rejects.toThrow(TrinoFailure)
    expect(coordinator.received).toHaveLength(1)
    expect(other.received).toEqual([])
  })

  test('a page that is too large', async () => {
    const coordinator = await start(pages({}, { data: [['x'.repeat(20_000)]] }))
    await expect(run(coordinator.connection())).rejects.toThrow(TrinoFailure)
  })

  test('no server at the address', async () => {
    const coordinator = await start(pages({}))
    await coordinator.close()
    open.splice(0)
    await expect(run(coordinator.connection())).rejects.toThrow(TrinoFailure)
  })
})

describe('the address of the next page', () => {
  test.each(['another port', 'another protocol', 'credentials'])('with %s is not requested', async (what) => {
    const other = await start(pages({ data: [['1']] }))
    const coordinator = await start(({ headers }, response) => {
      const nextUri = {
        'another port': `${other.url}/v1/statement/executing/1`,
        'another protocol': `https://${headers.host}/v1/statement/executing/1`,
        credentials: `http://someone@${headers.host}/v1/statement/executing/1`,
      }[what]
      answer(response, { nextUri })
    })
    await expect(run(coordinator.connection({ password: async () => 'x' }))).rejects.toThrow(TrinoFailure)
    expect(other.received).toEqual([])
    expect(coordinator.received).toHaveLength(1)
  })
})

describe('a coordinator that is busy', () => {
  test.each([429, 502, 503, 504])('the status %i is tried again', async (status) => {
    let refusals = 2
    const proceed = pages({}, { data: [['1']] })
    const coordinator = await start((request, response) => {
      if (request.method === 'GET' && refusals-- > 0) answer(response, {}, status)
      else proceed(request, response)
    })
    expect(await run(coordinator.connection())).toEqual([['1']])
    expect(coordinator.received).toHaveLength(4)
  })

  test('no longer than the limit, and not if it asks for more time', async () => {
    const coordinator = await start((_, response) => answer(response, {}, 503, { 'retry-after': '3600' }))
    await expect(run(coordinator.connection())).rejects.toThrow(TrinoFailure)
    expect(coordinator.received).toHaveLength(1)
    const always = await start((_, response) => answer(response, {}, 503))
    await expect(run(always.connection(), { limits: { ...LIMITS, retryMs: 1_000 } })).rejects.toThrow(
      TrinoFailure,
    )
    expect(always.received.length).toBeGreaterThan(1)
  })

  test('a page whose connection broke is requested again, a statement is not', async () => {
    let broken = 1
    const proceed = pages({}, { data: [['1']] })
    const coordinator = await start((request, response) => {
      if (request.method === 'GET' && broken-- > 0) response.destroy()
      else proceed(request, response)
    })
    expect(await run(coordinator.connection())).toEqual([['1']])
    const refusing = await start((_, response) => void response.destroy())
    await expect(run(refusing.connection())).rejects.toThrow(TrinoFailure)
    expect(refusing.received).toHaveLength(1)
  })
})

describe('a statement that is stopped', () => {
  test('is cancelled at once', async () => {
    const abort = new AbortController()
    const { promise: cancelled, resolve } = Promise.withResolvers<string>()
    const coordinator = await start(({ method, path, headers }, response) => {
      if (method === 'DELETE') {
        resolve(path)
        answer(response, {}, 204)
      } else if (method === 'POST') {
        answer(response, { nextUri: `http://${headers.host}/v1/statement/queued/1` })
      } else {
        // The page never comes.
        abort.abort(new RangeError('stopped'))
      }
    })
    await expect(run(coordinator.connection(), { signal: abort.signal })).rejects.toThrow('stopped')
    expect(await cancelled).toBe('/v1/statement/queued/1')
  })

  test('is cancelled if its reader stops', async () => {
    const coordinator = await start(pages({ data: [['1']] }, { data: [['2']] }))
    const client = openTrinoClient(coordinator.connection(), LIMITS)
    open.unshift(client)
    for await (const page of client.run('SELECT 1', { signal: new AbortController().signal, timeoutMs: 1 })) {
      expect(page).toEqual([['1']])
      break
    }
    await expect.poll(() => coordinator.received.map(({ method }) => method)).toEqual(['POST', 'DELETE'])
  })

  test('is not sent after the signal', async () => {
    const coordinator = await start(pages({}))
    const signal = AbortSignal.abort(new RangeError('stopped'))
    await expect(run(coordinator.connection(), { signal })).rejects.toThrow('stopped')
    expect(coordinator.received).toEqual([])
  })
})

describe('TLS', () => {
  test('attack: a coordinator whose certificate is not trusted, although the environment turns the check off', async () => {
    const read = (name: string) =>
      readFile(path.join(import.meta.dirname, '../../http/certificates', name), 'utf8')
    const [cert, key] = await Promise.all([read('first.crt'), read('first.key')])
    let requests = 0
    const server = createServer({ cert, key }, (_, response) => {
      requests += 1
      answer(response, { data: [['1']] })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    open.push({ close: () => server.closeAllConnections() }, { close: () => void server.close() })
    const { port } = server.address() as AddressInfo
    const secret = { password: async () => 'secret' }
    expect(await run(connectionTo('127.0.0.1', port, { tls: { ca: cert }, ...secret }))).toEqual([['1']])
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    const untrusted = run(connectionTo('127.0.0.1', port, { tls: {}, ...secret }))
    await expect(untrusted.finally(() => vi.unstubAllEnvs())).rejects.toThrow(TrinoFailure)
    expect(requests).toBe(1)
  })
})

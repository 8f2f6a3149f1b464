import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import path from 'node:path'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../../src/answers/release-time.ts'
import type { Timing } from '../../../src/core/dataset/dataset.ts'
import type { DuckDbEngine } from '../../../src/engines/duckdb/engine.ts'
import { createFakeClock } from '../../answers/fake-clock.ts'
import { testService } from '../service.ts'

/** The service's clock. It moves only when the tests move it. */
const clock = createFakeClock(1_000)
vi.spyOn(systemClock, 'nowMs').mockImplementation(clock.nowMs)
vi.spyOn(systemClock, 'waitUntil').mockImplementation(clock.waitUntil)

/** Called while the engine computes. */
let computing = async (): Promise<void> => {}

/** One person more takes the engine 20 ms longer. */
vi.mock('../../../src/engines/duckdb/engine.ts', async (original) => {
  const module = await original<typeof import('../../../src/engines/duckdb/engine.ts')>()
  return {
    ...module,
    openDuckDbEngine: (options: Parameters<typeof module.openDuckDbEngine>[0]): DuckDbEngine => {
      const engine = module.openDuckDbEngine(options)
      return {
        ...engine,
        aggregate: async (...asked) => {
          const integers = await engine.aggregate(...asked)
          await computing()
          clock.pass(integers[0]?.[0] === 4n ? 25 : 5)
          return integers
        },
      }
    },
  }
})

const TIMINGS = { off: 'off', slots: { slotMs: 50 }, strict: { deadlineMs: 100 } } as const
type Name = keyof typeof TIMINGS
const PEOPLE = ['without', 'with'] as const

const service = testService()
beforeAll(async () => {
  for (const [index, people] of PEOPLE.entries())
    for (const [name, timing] of Object.entries(TIMINGS))
      await register(`${people}-${name}`, 3 + index, timing)
})

async function register(id: string, rows: number, timing: Timing): Promise<void> {
  await writeFile(path.join(service.dataDirectory, `${id}.csv`), `year\n${'1\n'.repeat(rows)}`)
  await service
    .register({
      id,
      title: 'Pupils',
      source: { kind: 'file', path: `${id}.csv`, format: 'csv' },
      columns: [{ name: 'year', type: 'integer', lower: 1, upper: 4 }],
      privacyUnit: { kind: 'row' },
      neighbours: 'add-remove',
      budget: { epsilon: 1_000, delta: 0 },
      timing,
      separateBudget: 'Two sizes under three timings.',
    })
    .expect(201)
}

let keys = 0
/** Sends a request with a new key; returns the time that the service's clock shows for it. */
async function timed(url: string, body: object, status = 200): Promise<number> {
  keys += 1
  const sentMs = clock.nowMs()
  await service.as('analyst').post(url).set('idempotency-key', `key-${keys}`).send(body).expect(status)
  return clock.nowMs() - sentMs
}

const count = { kind: 'count', epsilon: 1 }

/** Requests whose computation reads data. */
const REQUESTS: Readonly<Record<string, (dataset: string) => Promise<number>>> = {
  'a query': (dataset) => timed(`/v1/datasets/${dataset}/queries`, count),
  'a batch': (dataset) => timed(`/v1/datasets/${dataset}/queries/batch`, { queries: [count] }),
  'a question of a session': async (dataset) => {
    const { body } = await service
      .as('analyst')
      .post(`/v1/datasets/${dataset}/sparse-vector-sessions`)
      .set('idempotency-key', `session-${keys}`)
      .send({ threshold: 100, positives: 1, epsilon: 1 })
      .expect(201)
    const where = { column: 'year', op: '>=', value: 1 }
    return timed(`/v1/sparse-vector-sessions/${body.id}/questions`, { where })
  },
}

describe.each(Object.entries(REQUESTS))('the time of %s', (_name, send) => {
  const times = async (timing: Name) => [await send(`without-${timing}`), await send(`with-${timing}`)]

  test('tells about one person with timing off', async () => {
    expect(await times('off')).toEqual([5, 25])
  })

  test('tells nothing with slots or a deadline', async () => {
    expect(await times('slots')).toEqual([50, 50])
    expect(await times('strict')).toEqual([100, 100])
  })
})

test('a client that sends its body late cannot move the end of the slot', async () => {
  const body = JSON.stringify({ ...count, epsilon: 0.5 })
  const request = httpRequest(`${service.url}/v1/datasets/without-slots/queries`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${service.keyOf('analyst')}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      expect: '100-continue',
    },
  })
  request.flushHeaders()
  // The service has seen the headers.
  await once(request, 'continue')
  clock.pass(40)
  const sentMs = clock.nowMs()
  request.end(body)
  const [response] = await once(request, 'response')
  response.resume()
  expect(response.statusCode).toBe(200)
  // Counted from the headers, 5 ms of work would end at 45 ms of the slot: after its record instant.
  expect(clock.nowMs() - sentMs).toBe(50)
})

test('the answer of a client that leaves is recorded', async () => {
  const url = `${service.url}/v1/datasets/without-slots/queries`
  const controller = new AbortController()
  computing = async () => {
    controller.abort()
    computing = async () => {}
  }
  const init = {
    method: 'POST',
    headers: { authorization: `Bearer ${service.keyOf('analyst')}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...count, epsilon: 0.25 }),
  }
  await expect(fetch(url, { ...init, signal: controller.signal })).rejects.toThrow()
  await expect.poll(async () => (await fetch(url, init)).headers.get('idempotent-replayed')).toBe('true')
})

test('analysts see times rounded down to the slot, custodians exact ones', async () => {
  await timed('/v1/datasets/with-slots/queries', count)
  const timesSeenBy = async (role: 'analyst' | 'custodian') => {
    const { body } = await service.as(role).get('/v1/datasets/with-slots/ledger').expect(200)
    return body.entries.map(({ at }: { readonly at: string }) => Date.parse(at))
  }
  const shown = await timesSeenBy('analyst')
  expect(shown.length).toBeGreaterThan(5)
  for (const at of shown) expect(at % 50).toBe(0)
  const exact = await timesSeenBy('custodian')
  expect(exact.some((at: number) => at % 50 !== 0)).toBe(true)
})

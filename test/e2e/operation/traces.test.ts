import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Receiver, type Span, startReceiver } from '../../platform/tracing/receiver.ts'
import { startTestService, type TestService } from '../service.ts'

/** Marks all texts that come from requests or from the data. */
const MARK = 'Zq'
const SLOT_MS = 40
const EPSILON = 0.0123457
const QUERIES = '/v1/datasets/pupils/queries'

let receiver: Receiver
let service: TestService
let spans: readonly Span[]
let denied = ''

beforeAll(async () => {
  receiver = await startReceiver()
  service = await startTestService(
    {
      SOTTO_TRACES_URL: receiver.url,
      SOTTO_TRACES_HEADERS: 'authorization=Bearer of-the-collector',
      SOTTO_METRICS_KEY: 'key-of-the-operator',
    },
    { files: { 'pupils.csv': `town,score${MARK}\n${`${MARK}burg,700000007\n`.repeat(9)}` } },
  )
  await register()
  await ask()
  const headers = { authorization: 'Bearer key-of-the-operator' }
  const metrics = await (await fetch(`${service.url}/metrics`, { headers })).text()
  // The first part of an exemplar.
  expect(metrics).not.toMatch(/ # \{|trace_id/)
  await service.stop()
  spans = receiver.spans()
})
afterAll(async () => {
  await service.close()
  await receiver.close()
})

async function register(): Promise<void> {
  await service
    .register({
      id: 'pupils',
      title: `${MARK} pupils`,
      source: { kind: 'file', path: 'pupils.csv', format: 'csv' },
      columns: [
        { name: 'town', type: 'category', categories: [`${MARK}burg`, `${MARK}ville`] },
        { name: `score${MARK}`, type: 'integer', lower: 0, upper: 1_000_000_000 },
      ],
      privacyUnit: { kind: 'row' },
      neighbours: 'add-remove',
      budget: { epsilon: 1_000, delta: 0 },
      timing: { slotMs: SLOT_MS },
    })
    .expect(201)
}

const send = (url: string, body: object, status = 200) =>
  service
    .as('analyst')
    .post(url)
    .set('traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01')
    .set('tracestate', `${MARK}=1`)
    .set('baggage', `${MARK}=1`)
    .send(body)
    .expect(status)

/** A number that does not occur in times, which end in zeros. */
const literal = fc.integer({ min: 0, max: 99_999 }).map((number) => 700_000_007 + 10 * number)
const predicate = fc.oneof(
  literal.map((value) => ({ column: `score${MARK}`, op: '>=', value })),
  fc.constantFrom('burg', 'ville').map((name) => ({ column: 'town', op: '=', value: MARK + name })),
)

/** Sends requests of every kind with marked literals, and some that are refused. */
async function ask(): Promise<void> {
  const query = predicate.map((where) => ({ kind: 'count', where, epsilon: EPSILON }))
  let keys = 0
  const [where] = fc.sample(predicate, 1)
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(query, { minLength: 2, maxLength: 2, selector: JSON.stringify }),
      async (pair) => {
        const [first] = pair
        if (first === undefined) return
        keys += 1
        await send(QUERIES, first).set('idempotency-key', `${MARK}-${keys}`)
        await send(`${QUERIES}/batch`, { queries: pair }).set('idempotency-key', `${MARK}-batch-${keys}`)
      },
    ),
    { numRuns: 8 },
  )
  await send('/v1/datasets/pupils/sql', {
    sql: `SELECT count(*) FROM pupils WHERE score${MARK} > 700000017`,
    epsilon: EPSILON,
  })
  const once = { kind: 'count', where, epsilon: 0.5 }
  await send(QUERIES, once)
  await send(QUERIES, once)
  await send(`${QUERIES}?on=dummy`, once)
  denied = (await send(QUERIES, { ...once, epsilon: 1_000 }, 403)).body.requestId
  await send(QUERIES, { ...once, where: { column: `${MARK}none`, op: '=', value: 1 } }, 422)
  const session = { threshold: 700_000_027, positives: 1, epsilon: EPSILON }
  const opened = await send('/v1/datasets/pupils/sparse-vector-sessions', session, 201)
  await send(`/v1/sparse-vector-sessions/${opened.body.id}/questions`, { where })
}

const attributesOf = (span: Span) =>
  Object.fromEntries((span.attributes ?? []).map(({ key, value }) => [key, value.stringValue]))
const roots = () => spans.filter(({ parentSpanId }) => parentSpanId === undefined)
const stepsOf = ({ spanId }: Span) =>
  spans.filter(({ parentSpanId }) => parentSpanId === spanId).map(({ name }) => name)

describe('traces', () => {
  test('show the steps of every request about data', () => {
    const seen = new Set(
      roots().map((root) => {
        const { 'sotto.kind': kind, 'sotto.outcome': outcome } = attributesOf(root)
        return `${root.name} ${kind ?? '-'} ${outcome}: ${stepsOf(root).join(' ')}`
      }),
    )
    const answered = 'plan charge wait read noise record'
    expect([...seen].sort()).toEqual([
      'batch - answered: plan charge wait read noise wait read noise record',
      'query count answered: plan charge wait read noise record',
      'query count budget-insufficient: plan charge',
      'query count query-does-not-fit: plan',
      'query count replayed: plan charge',
      'question - answered: plan wait wait read noise record',
      'session - answered: plan charge noise record',
    ])
    expect(seen).toContain(`query count answered: ${answered}`)
  })

  test('lead to the lines of the log by the id of the request', () => {
    const refused = roots().find((root) => attributesOf(root)['sotto.outcome'] === 'budget-insufficient')
    const id = refused && attributesOf(refused)['sotto.request_id']
    expect(id).toBe(denied)
    expect(service.logLines.some((line) => JSON.parse(line).reqId === id)).toBe(true)
  })

  test('attack: contain nothing from the request, the caller or the data', () => {
    const bodies = receiver.bodies.join('\n')
    expect(spans.length).toBeGreaterThan(100)
    expect(bodies).not.toContain(MARK)
    // Random ids may contain the digits of a literal.
    const withoutIds = bodies.replaceAll(
      /"[0-9a-f]{16}"|"[0-9a-f]{32}"|"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"/g,
      '',
    )
    expect(withoutIds).not.toMatch(/700\d{5}7/)
    expect(bodies).not.toContain(String(EPSILON))
    expect(bodies).not.toMatch(/analyst|custodian|select|score|town|0af7651916cd43dd8448eb211c80319c/i)
    for (const role of ['analyst', 'custodian'] as const) expect(bodies).not.toContain(service.keyOf(role))
  })

  test('have these attributes and no others, and neither events nor links', () => {
    for (const span of spans) {
      const isRoot = span.parentSpanId === undefined
      const { 'sotto.request_id': id, 'sotto.kind': kind, ...facts } = attributesOf(span)
      expect(Object.keys(facts)).toEqual(isRoot ? ['sotto.dataset', 'sotto.outcome'] : [])
      if (isRoot) expect(id).toMatch(/^[0-9a-f-]{36}$/)
      expect([undefined, 'count']).toContain(kind)
      expect(span.events ?? []).toEqual([])
      expect(span.links ?? []).toEqual([])
      expect(span.status.message).toBeUndefined()
    }
  })

  test('attack: have no time finer than the slot of the dataset', () => {
    const slotNano = BigInt(SLOT_MS) * 1_000_000n
    for (const { startTimeUnixNano, endTimeUnixNano } of spans) {
      expect(BigInt(startTimeUnixNano) % slotNano).toBe(0n)
      expect(BigInt(endTimeUnixNano) % slotNano).toBe(0n)
    }
    // No other field has a time in nanoseconds, which have 19 digits.
    expect(receiver.bodies.join('').match(/"?\b\d{19}\b"?/g)).toHaveLength(2 * spans.length)
  })

  test('are authenticated at the destination', () => {
    for (const { authorization } of receiver.headers) expect(authorization).toBe('Bearer of-the-collector')
  })
})

test('the packages of OpenTelemetry are loaded only when traces are switched on', async () => {
  const root = path.resolve(import.meta.dirname, '../../..')
  const names = (await readdir(path.join(root, 'src'), { recursive: true })).filter((name) =>
    name.endsWith('.ts'),
  )
  const texts = await Promise.all(names.map((name) => readFile(path.join(root, 'src', name), 'utf8')))
  const importing = (pattern: RegExp) => names.filter((_, place) => pattern.test(texts[place] ?? ''))
  expect(importing(/from '@opentelemetry/)).toEqual(['platform/tracing/otlp.ts'])
  expect(importing(/from '.*\/otlp\.ts'/)).toEqual([])
  expect(importing(/await import\('[^']*\/otlp\.ts'\)/)).toHaveLength(1)
})

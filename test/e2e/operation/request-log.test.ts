import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { testService } from '../service.ts'

const METRICS_KEY = 'a-metrics-key-of-sufficient-length'

const service = testService({ SOTTO_METRICS_KEY: METRICS_KEY }, { census: true })

interface Line {
  readonly route: string
  readonly status: number
  readonly code?: string
  readonly clientLeft?: boolean
  readonly principal?: string
  readonly key?: string
}

/** Returns the log lines of finished requests after the first `skipped` lines of the log. */
function requestsSince(skipped: number): readonly Line[] {
  return service.logLines
    .slice(skipped)
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg === 'request')
}

/** Returns the number of requests that the metrics count, by status. */
async function counted(): Promise<Readonly<Record<string, number>>> {
  const response = await fetch(`${service.url}/metrics`, {
    headers: { authorization: `Bearer ${METRICS_KEY}` },
  })
  const text = await response.text()
  expect(response.status, text).toBe(200)
  const counts: Record<string, number> = {}
  for (const [, route, status = '', count] of text.matchAll(
    /^sotto_\w+_duration_seconds_count\{.*route="([^"]*)",status="(\d+)".*\} (\d+)$/gm,
  ))
    if (route !== '/metrics') counts[status] = (counts[status] ?? 0) + Number(count)
  return counts
}

function increase(before: Readonly<Record<string, number>>, after: Readonly<Record<string, number>>) {
  return Object.fromEntries(
    Object.entries(after)
      .map(([status, count]): [string, number] => [status, count - (before[status] ?? 0)])
      .filter(([, count]) => count !== 0),
  )
}

/** Writes raw requests to a connection, and leaves once `until` holds. */
async function leaveWhen(requests: string, until: () => boolean): Promise<void> {
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  socket.resume()
  socket.write(requests)
  while (!until()) await setTimeout(5)
  socket.destroy()
}

async function waitForLines(skipped: number, count: number): Promise<readonly Line[]> {
  while (requestsSince(skipped).length < count) await setTimeout(5)
  // A second line for one of the requests would follow at once.
  await setTimeout(100)
  return requestsSince(skipped)
}

const headers = () => `Host: x\r\nAuthorization: Bearer ${service.keyOf('analyst')}\r\n`

test('answers, refusals, unknown paths and malformed addresses are logged and counted once each', async () => {
  const before = await counted()
  const skipped = service.logLines.length
  await service.as('analyst').get('/v1/datasets').expect(200)
  await service.as('analyst').delete('/v1/datasets/census').expect(403)
  await fetch(`${service.url}/v1/datasets`)
  await fetch(`${service.url}/nowhere`)
  let answered = ''
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
  socket.on('data', (bytes) => {
    answered += bytes
  })
  socket.write(`GET /v1/%E0%A4%A HTTP/1.1\r\n${headers()}Connection: close\r\n\r\n`)
  while (!answered.includes('\r\n\r\n')) await setTimeout(5)
  const lines = await waitForLines(skipped, 5)
  expect(lines.map(({ status }) => status)).toEqual([200, 403, 401, 404, 400])
  expect(lines.map(({ code }) => code)).toEqual([
    undefined,
    'forbidden',
    'unauthenticated',
    'path-unknown',
    'http-error',
  ])
  // A refusal has no other line.
  const all = service.logLines.slice(skipped).map((line) => JSON.parse(line))
  expect(all.filter(({ reqId }) => reqId !== undefined)).toHaveLength(5)
  expect(lines[1]).toMatchObject({ principal: 'analyst', key: 'analyst.1' })
  expect(lines[0]).toMatchObject({ principal: 'analyst', key: 'analyst.1', route: '/v1/datasets' })
  expect(lines.some(({ clientLeft }) => clientLeft)).toBe(false)
  expect(increase(before, await counted())).toEqual({ 200: 1, 400: 1, 401: 1, 403: 1, 404: 1 })
})

test('a request whose client leaves before the response is logged and counted once', async () => {
  const before = await counted()
  const skipped = service.logLines.length
  const query = JSON.stringify({ kind: 'count', where: { column: 'Age', op: '>', value: 7 }, epsilon: 0.01 })
  const post = (body: string, length: number) =>
    `POST /v1/datasets/census/queries HTTP/1.1\r\n${headers()}Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`
  let written = false
  // A body that never arrives as a whole.
  await leaveWhen(post('{', 500), () => {
    const now = written
    written = true
    return now
  })
  const [line, ...more] = await waitForLines(skipped, 1)
  expect(line).toMatchObject({ status: 499, clientLeft: true })
  expect(more).toEqual([])
  // Several requests at once on one connection.
  const charged = service.logLines.length
  await leaveWhen(`${post(query, query.length)}GET /v1/datasets HTTP/1.1\r\n${headers()}\r\n`, () => {
    const now = !written
    written = false
    return now
  })
  const lines = await waitForLines(charged, 2)
  expect(lines.map(({ route }) => route).sort()).toEqual(['/v1/datasets', '/v1/datasets/:dataset/queries'])
  const counts = increase(before, await counted())
  expect(Object.values(counts).reduce((sum, count) => sum + count)).toBe(3)
})

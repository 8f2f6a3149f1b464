import { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { must } from '../../../src/privacy/must.ts'
import { TooSlow } from '../../../src/wire/protocol/inbox.ts'
import { openOutput } from '../../../src/wire/protocol/output.ts'
import { testService } from '../service.ts'
import {
  cancelPacket,
  int32,
  message,
  type RawConnection,
  rawConnection,
  signIn,
  startPacket,
} from './hostile.ts'

/* Clients that send nothing, or slowly, or do not read. Each test has addresses of its own, because addresses have limits. */

/** Those of the service, divided by 20. */
const TIMES = { signInMs: 750, messageMs: 1_500, sendMs: 3_000, lingerMs: 500 }
/** What a busy machine may add. */
const LATE_MS = 6_000
const KEYLESS = 8

const service = testService(
  { SOTTO_PG_PORT: '0', SOTTO_KEYLESS_REQUESTS_PER_MINUTE: String(KEYLESS) },
  { parts: { wireTimes: TIMES } },
)
const START = { user: 'analyst', database: 'sotto' }
const from = (address: string) => rawConnection(must(service.pgPort, 'the port'), address)

async function signedIn(address: string): Promise<RawConnection & { readonly greeting: Buffer }> {
  const raw = await from(address)
  return { ...raw, greeting: await signIn(raw, START, service.keyOf('analyst')) }
}

/** True if a client gets an answer. */
async function answers(address: string): Promise<boolean> {
  const raw = await signedIn(address)
  raw.send(Buffer.concat([message('Q', 'SELECT 1'), message('X')]))
  return (await raw.closed).includes('SELECT 1')
}

/** Sends bytes one by one, 20 a second. */
async function drip({ send, socket }: RawConnection): Promise<void> {
  while (!socket.destroyed) {
    send(Buffer.from('x'))
    await sleep(50)
  }
}

test('a client that is silent or slow is ended in time, and others are served meanwhile', async () => {
  const clients: readonly (readonly [string, number, () => Promise<RawConnection>])[] = [
    ['nothing', TIMES.signInMs, () => from('127.0.0.2')],
    ['half a packet', TIMES.signInMs, () => from('127.0.0.2')],
    ['a packet, byte by byte', TIMES.signInMs, () => from('127.0.0.2')],
    ['a start, and no proof', TIMES.signInMs, () => from('127.0.0.2')],
    ['half a message', TIMES.messageMs, () => signedIn('127.0.0.3')],
    ['a message, byte by byte', TIMES.messageMs, () => signedIn('127.0.0.3')],
  ]
  const begin: Readonly<Record<string, (raw: RawConnection) => void>> = {
    'half a packet': ({ send }) => send(startPacket(START).subarray(0, 9)),
    'a packet, byte by byte': (raw) => {
      raw.send(int32(9_000))
      void drip(raw)
    },
    'a start, and no proof': ({ send }) => send(startPacket(START)),
    'half a message': ({ send }) => send(message('Q', 'SELECT 1').subarray(0, 3)),
    'a message, byte by byte': (raw) => {
      raw.send(Buffer.concat([Buffer.from('Q'), int32(9_000)]))
      void drip(raw)
    },
  }
  const ended = clients.map(async ([what, withinMs, open]) => {
    const raw = await open()
    const startedMs = performance.now()
    begin[what]?.(raw)
    const sent = String(await raw.closed)
    const tookMs = performance.now() - startedMs
    expect([what, tookMs > withinMs * 0.8, tookMs < withinMs + LATE_MS]).toEqual([what, true, true])
    if (withinMs === TIMES.messageMs) expect(sent).toContain('C08006\0MThe message took too long to arrive.')
  })
  for (let asked = 0; asked < 3; asked += 1) expect(await answers('127.0.0.4')).toBe(true)
  await Promise.all(ended)
})

test('a client that does not read is ended, and nothing more is done for it', async () => {
  const raw = await signedIn('127.0.0.5')
  raw.socket.pause()
  const most = `SELECT '${'x'.repeat(60)}' AS padded FROM generate_series(1, 60000) AS g`
  for (let sent = 0; sent < 30; sent += 1) raw.send(message('Q', most))
  raw.send(message('X'))
  expect(await answers('127.0.0.6')).toBe(true)
  // The buffers of the system are filled first.
  await sleep(TIMES.sendMs + LATE_MS)
  const done = service.logLines.filter((line) => JSON.parse(line).kind === 'catalogue').length
  expect(done).toBeLessThan(15)
  raw.socket.resume()
  const received = String(await raw.closed)
  expect(received).toContain('xxx')
  expect(received.match(/SELECT 60000/g)?.length ?? 0).toBeLessThan(15)
  expect(received).not.toContain('too long to arrive')
})

test('what is added after a client did not read does not wait for it again', async () => {
  const stuck = new Writable({ write: () => undefined })
  const output = openOutput(stuck, 20)
  const flushed = () => {
    output.add(Buffer.alloc(100_000))
    return output.flush()
  }
  await expect(flushed()).rejects.toThrow(TooSlow)
  expect(stuck.destroyed).toBe(true)
  await flushed()
})

test('sign-ins and cancel requests are not counted against their address, which a proxy may share', async () => {
  for (let pooled = 0; pooled < 2 * KEYLESS; pooled += 1) {
    const raw = await signedIn('127.0.0.7')
    const at = raw.greeting.indexOf('K\0\0\0\x0c') + 5
    const cancelling = await from('127.0.0.7')
    cancelling.send(cancelPacket(raw.greeting.readInt32BE(at), raw.greeting.readInt32BE(at + 4)))
    await cancelling.closed
    raw.send(message('X'))
    await raw.closed
  }
  expect(await answers('127.0.0.7')).toBe(true)
})

test('a sign-in is a request of its principal', async () => {
  const quota = { requestsPerMinute: 1, burst: 3 }
  const asked = { name: 'hasty', role: 'analyst', quota }
  const { body } = await service.as('custodian').post('/v1/keys').send(asked).expect(201)
  const attempts: string[] = []
  for (let sent = 0; sent < 4; sent += 1) {
    const raw = await from('127.0.0.8')
    attempts.push(String(await signIn(raw, { ...START, user: 'hasty' }, body.key)))
    raw.send(message('X'))
    await raw.closed
  }
  expect(attempts.slice(0, 3).some((each) => each.includes('53400'))).toBe(false)
  expect(attempts[3]).toContain('C53400\0MYou have sent too many statements.')
})

test('attack: an address whose connections do not sign in is refused, and told so; others are not', async () => {
  const attempts = Array.from({ length: 2 * KEYLESS }, async (_, index) => {
    const raw = await from('127.0.0.9')
    if (index % 2 === 0) await signIn(raw, START, 'sotto_wrong')
    return String(await raw.closed)
  })
  expect(await answers('127.0.0.10')).toBe(true)
  const refused = (await Promise.all(attempts)).filter((each) =>
    each.includes('C53300\0MToo many connections from this address'),
  )
  // One more is admitted each few seconds.
  expect(refused.length).toBeGreaterThan(KEYLESS / 2)
  expect(refused.length).toBeLessThanOrEqual(KEYLESS)
})

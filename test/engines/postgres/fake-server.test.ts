import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { LARGEST_MESSAGE_BYTES } from '../../../src/engines/postgres/connection.ts'
import { openPostgresTables } from '../../../src/engines/postgres/engine.ts'

/* Servers that no test can install: hostile, too old, or with another encoding. */

let close: () => Promise<void> = async () => {}
afterEach(() => close())

/** A message: its type, the length, and the body. */
function message(type: string, ...parts: (Buffer | string)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)))
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const int16 = (value: number) => Buffer.from([value >> 8, value & 255])
const int32 = (value: number) => Buffer.from([value >> 24, value >> 16, value >> 8, value])

function description(columns: number): Buffer {
  const column = Buffer.concat([
    Buffer.from('c\0'),
    int32(0),
    int16(0),
    int32(25),
    int16(-1),
    int32(-1),
    int16(0),
  ])
  return message('T', int16(columns), ...Array.from({ length: columns }, () => column))
}

function row(...values: string[]): Buffer {
  return message('D', int16(values.length), ...values.flatMap((value) => [int32(value.length), value]))
}

const READY = message('Z', 'T')
const ENDED = message('C', 'SELECT 1\0')
const ROWS = Buffer.concat(Array.from({ length: 1_000 }, () => row('age', 'integer', 'f', 't')))

/** The head of a row that is longer than a message may be, and a part of it. */
const TOO_LARGE = Buffer.concat([Buffer.from('D'), int32(LARGEST_MESSAGE_BYTES + 5)])
const CHUNK = Buffer.alloc(2 ** 20)

/** Starts a server with some facts, whose descriptions of tables never end. */
async function startFakeServer({ encoding = 'UTF8', version = '160000', hasLargeRow = false } = {}) {
  let sent = 0
  const endless = (socket: Socket) => {
    if (socket.destroyed || sent > 50_000) return
    sent += 1_000
    socket.write(ROWS, () => endless(socket))
  }
  let bytes = 0
  const large = (socket: Socket) => {
    if (socket.destroyed || bytes > 2 * LARGEST_MESSAGE_BYTES) return
    bytes += CHUNK.length
    socket.write(CHUNK, () => large(socket))
  }
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (received) => {
      const text = received.toString('latin1')
      if (text.includes('application_name')) socket.write(Buffer.concat([message('R', int32(0)), READY]))
      else if (text.includes('server_encoding'))
        socket.write(
          Buffer.concat([ENDED, description(4), row('1', '1767225600', encoding, version), ENDED, READY]),
        )
      else if (text.includes('SELECT 1'))
        socket.write(Buffer.concat([description(1), row('1'), ENDED, READY]))
      else if (text.includes('COMMIT')) socket.write(Buffer.concat([ENDED, READY]))
      else if (text.includes('pg_cancel_backend')) socket.destroy()
      else if (text.includes('pg_attribute')) {
        socket.write(description(4))
        if (hasLargeRow) socket.write(TOO_LARGE, () => large(socket))
        else endless(socket)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  close = () => new Promise((resolve) => void server.close(() => resolve()))
  return { port: (server.address() as AddressInfo).port, sentBytes: () => bytes }
}

const engineOf = (port: number) =>
  openPostgresTables({
    engine: 'postgres',
    name: 'warehouse',
    host: '127.0.0.1',
    port,
    user: 'sotto',
    database: 'clinic',
    schema: 'public',
    allowWritableRole: false,
    limits: { connections: 1, statementTimeoutMs: 20_000, registrationTimeoutMs: 20_000 },
  })

test('attack: a result that never ends is refused at the rows that it can have', async () => {
  const engine = engineOf((await startFakeServer()).port)
  await expect(engine.describe({ schema: 'public', name: 'visits' })).rejects.toMatchObject({
    name: 'EngineFailure',
  })
  await engine.close()
})

test('attack: a message that is too large is refused before it is received', async () => {
  const server = await startFakeServer({ hasLargeRow: true })
  const engine = engineOf(server.port)
  await expect(engine.describe({ schema: 'public', name: 'visits' })).rejects.toMatchObject({
    name: 'EngineFailure',
  })
  expect(server.sentBytes()).toBeLessThan(LARGEST_MESSAGE_BYTES / 2)
  await engine.close()
})

test.each([
  [{ version: '140000' }, true],
  [{ version: '139999' }, false],
  // Texts of another encoding would be compared by other bytes.
  [{ encoding: 'LATIN1' }, false],
])('a server with %o can be used: %s', async (facts, isUsable) => {
  const engine = engineOf((await startFakeServer(facts)).port)
  expect(await engine.reachable()).toBe(isUsable)
  await engine.close()
})

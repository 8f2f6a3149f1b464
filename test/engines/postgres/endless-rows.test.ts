import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { openPostgresTables } from '../../../src/engines/postgres/engine.ts'

/* A hostile server, whose results never end. */

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

async function startEndlessServer() {
  let sent = 0
  const endless = (socket: Socket) => {
    if (socket.destroyed || sent > 200_000) return
    sent += 1_000
    socket.write(ROWS, () => endless(socket))
  }
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      const text = bytes.toString('latin1')
      if (text.includes('application_name')) socket.write(Buffer.concat([message('R', int32(0)), READY]))
      else if (text.includes('server_encoding'))
        socket.write(Buffer.concat([ENDED, description(3), row('1', 'UTF8', '160000'), ENDED, READY]))
      else if (text.includes('pg_cancel_backend')) socket.destroy()
      else if (text.includes('pg_attribute')) {
        socket.write(description(4))
        endless(socket)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  close = () => new Promise((resolve) => void server.close(() => resolve()))
  return { port: (server.address() as AddressInfo).port }
}

test('attack: a result that never ends is refused at the rows that it can have', async () => {
  const server = await startEndlessServer()
  const engine = openPostgresTables({
    engine: 'postgres',
    name: 'warehouse',
    host: '127.0.0.1',
    port: server.port,
    user: 'sotto',
    database: 'clinic',
    schema: 'public',
    allowWritableRole: false,
    limits: { connections: 1, statementTimeoutMs: 20_000, registrationTimeoutMs: 20_000 },
  })
  await expect(engine.describe({ name: 'visits' })).rejects.toMatchObject({ name: 'EngineFailure' })
  await engine.close()
})

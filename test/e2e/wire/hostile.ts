import { connect, type Socket } from 'node:net'

/** A connection to the service's port of PostgreSQL's protocol that sends what it likes. */
export interface RawConnection {
  send(bytes: Uint8Array): void
  /** Resolves with all that the service has sent, once it has closed the connection. */
  readonly closed: Promise<Buffer>
  /** Resolves once the service has sent a text. */
  sent(text: string): Promise<void>
  readonly socket: Socket
}

export async function rawConnection(port: number): Promise<RawConnection> {
  const socket = connect({ host: '127.0.0.1', port })
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  socket.on('error', () => undefined)
  const closed = new Promise<Buffer>((resolve) => socket.once('close', () => resolve(Buffer.concat(chunks))))
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()))
  return {
    socket,
    closed,
    send: (bytes) => void socket.write(bytes),
    async sent(text) {
      while (!Buffer.concat(chunks).includes(text))
        await new Promise((resolve) => socket.once('data', resolve))
    },
  }
}

/** A message with its length. */
export function message(type: string, ...parts: readonly (string | Uint8Array | number)[]): Buffer {
  const body = Buffer.concat(
    parts.map((part) => {
      if (typeof part === 'string') return Buffer.from(`${part}\0`)
      return typeof part === 'number' ? int32(part) : part
    }),
  )
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body])
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

/** The packet that begins a session. */
export function startPacket(parameters: Readonly<Record<string, string>>): Buffer {
  const pairs = Object.entries(parameters).flat()
  return message('', 3 << 16, ...pairs, Buffer.of(0))
}

/** The packet that cancels the statement of a session. */
export function cancelPacket(process: number, secret: number): Buffer {
  return message('', 80_877_102, process, secret)
}

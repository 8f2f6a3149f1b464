import { createHmac, hash, pbkdf2Sync } from 'node:crypto'
import { connect, type Socket } from 'node:net'

/** A connection to the service's port of PostgreSQL's protocol that sends what it likes. */
export interface RawConnection {
  send(bytes: Uint8Array): void
  /** Resolves with all that the service has sent, once it has closed the connection. */
  readonly closed: Promise<Buffer>
  /** Resolves with all that the service has sent, once it has sent a text or has closed the connection. */
  sent(text: string | Buffer): Promise<Buffer>
  readonly socket: Socket
}

/** @param from own address: each has limits of its own */
export async function rawConnection(port: number, from = '127.0.0.1'): Promise<RawConnection> {
  const socket = connect({ host: '127.0.0.1', port, localAddress: from })
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  socket.on('error', () => undefined)
  const closed = new Promise<Buffer>((resolve) => socket.once('close', () => resolve(Buffer.concat(chunks))))
  await Promise.race([closed, new Promise<void>((resolve) => socket.once('connect', () => resolve()))])
  return {
    socket,
    closed,
    send: (bytes) => void socket.write(bytes),
    async sent(text) {
      let isClosed = false
      const end = closed.then(() => {
        isClosed = true
      })
      let all = Buffer.concat(chunks)
      while (!isClosed && !all.includes(text)) {
        await Promise.race([end, new Promise((resolve) => socket.once('data', resolve))])
        all = Buffer.concat(chunks)
      }
      return all
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

const READY = Buffer.from('Z\0\0\0\x05I')
const salted = new Map<string, Buffer>()

/** Begins a session by SCRAM-SHA-256, and waits until it is ready, or closed. Returns what the service has sent. */
export async function signIn(
  raw: RawConnection,
  start: Readonly<Record<string, string>>,
  key: string,
): Promise<Buffer> {
  raw.send(startPacket(start))
  await raw.sent('SCRAM-SHA-256')
  const bare = 'n=,r=hostile'
  raw.send(message('p', 'SCRAM-SHA-256', bare.length + 3, Buffer.from(`n,,${bare}`)))
  const [challenge = '', salt = '', iterations] =
    /r=hostile.*?,s=([^,]+),i=(\d+)/.exec(String(await raw.sent(',i='))) ?? []
  const password =
    salted.get(`${key} ${salt}`) ??
    pbkdf2Sync(key, Buffer.from(salt, 'base64'), Number(iterations ?? 1), 32, 'sha256')
  salted.set(`${key} ${salt}`, password)
  const clientKey = hmac(password, 'Client Key')
  const [nonce] = challenge.split(',')
  const final = `c=biws,${nonce}`
  const signature = hmac(hash('sha256', clientKey, 'buffer'), `${bare},${challenge},${final}`)
  const proof = Buffer.from(clientKey.map((byte, index) => byte ^ signature.readUInt8(index)))
  raw.send(message('p', Buffer.from(`${final},p=${proof.toString('base64')}`)))
  return raw.sent(READY)
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

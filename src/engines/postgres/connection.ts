import type { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'
import { checkServerIdentity } from 'node:tls'
import { Client, type ClientConfig } from 'pg'
import type { PostgresConnection } from '../tables/connection.ts'

const KEEP_ALIVE_AFTER_MS = 10_000

const noPassword = async () => ''

/** Settings of a client that `pg` reads from the environment and that have no value to declare instead. */
const FROM_ENVIRONMENT = ['options', 'replication'] as const

/**
 * A client with the settings that it is given and no others: without PGOPTIONS and PGREPLICATION. It closes a connection
 * whose server announces a message of more than {@link LARGEST_MESSAGE_BYTES}, before `pg` collects it in memory.
 */
export class IsolatedClient extends Client {
  constructor(config?: ClientConfig) {
    super(config)
    const { connection, connectionParameters } = this as unknown as Internals
    for (const name of FROM_ENVIRONMENT) connectionParameters[name] = undefined
    const limit = () => limitMessages(connection.stream)
    connection.once(config?.ssl ? 'sslconnect' : 'connect', limit)
  }
}

/** Fields of a client that its types do not have. */
interface Internals {
  readonly connection: EventEmitter & { readonly stream: Duplex }
  readonly connectionParameters: Record<(typeof FROM_ENVIRONMENT)[number], string | undefined>
}

/** Largest size of a message of the server. A row of a table is one message. */
export const LARGEST_MESSAGE_BYTES = 2 ** 27

/** A message begins with a byte for its type and four for its length, which does not count the first byte. */
const HEAD_BYTES = 5

/** Destroys a stream in which the server announces a message that is too large. */
function limitMessages(stream: Duplex): void {
  let head = Buffer.alloc(0)
  let bodyBytes = 0
  stream.on('data', (chunk: Buffer) => {
    for (let offset = 0; offset < chunk.length; ) {
      if (bodyBytes === 0) {
        const part = chunk.subarray(offset, offset + HEAD_BYTES - head.length)
        head = Buffer.concat([head, part])
        offset += part.length
        if (head.length < HEAD_BYTES) return
        bodyBytes = head.readUInt32BE(1) - 4
        head = Buffer.alloc(0)
        if (bodyBytes >= 0 && bodyBytes <= LARGEST_MESSAGE_BYTES) continue
        stream.destroy(new RangeError('a message of the server is too large'))
        return
      }
      const passed = Math.min(bodyBytes, chunk.length - offset)
      bodyBytes -= passed
      offset += passed
    }
  })
}

/**
 * Settings of a client. The password is read for each login, so that a changed one takes effect. With TLS the server's
 * certificate is always checked.
 */
export function clientConfig(connection: PostgresConnection, connectTimeoutMs: number): ClientConfig {
  const { host, port, database, user, password, tls } = connection
  return {
    host,
    port,
    database,
    user,
    // A function keeps `pg` from looking for a password in PGPASSWORD and in files, and sending it to this host.
    password: password ?? noPassword,
    ssl:
      tls === undefined
        ? false
        : {
            ...tls,
            rejectUnauthorized: true,
            // `pg` replaces `servername` by the host.
            checkServerIdentity: (_, certificate) => checkServerIdentity(tls.servername ?? host, certificate),
          },
    // Given here because `pg` would otherwise read these three from the environment.
    application_name: 'sotto',
    client_encoding: 'UTF8',
    sslnegotiation: 'postgres',
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
  }
}

import { checkServerIdentity } from 'node:tls'
import type { ClientConfig } from 'pg'
import type { PostgresConnection } from '../tables/connection.ts'

const KEEP_ALIVE_AFTER_MS = 10_000

const noPassword = async () => ''

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
    application_name: 'sotto',
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
  }
}

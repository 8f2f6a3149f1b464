import { writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import path from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openPostgresTables } from '../../../src/engines/postgres/engine.ts'
import type { PostgresConnection } from '../../../src/engines/tables/connection.ts'
import { temporaryFolder } from '../../folders.ts'

/* Secrets that PostgreSQL's clients usually read from the environment and from files. */

const AUTHENTICATE_IN_CLEAR = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3])
const PASSWORD_MESSAGE = 0x70

/** A server that asks for the password in clear, keeps what it is sent, and closes the connection. */
async function startCuriousServer() {
  const passwords: string[] = []
  const startups: string[] = []
  const server = createServer((socket: Socket) => {
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      if (bytes[0] !== PASSWORD_MESSAGE) {
        startups.push(bytes.toString('latin1'))
        return socket.write(AUTHENTICATE_IN_CLEAR)
      }
      passwords.push(bytes.subarray(5, bytes.indexOf(0, 5)).toString())
      return socket.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => new Promise((resolve) => server.close(resolve))
  return { port: (server.address() as AddressInfo).port, passwords, startups, close }
}

let folder = ''
let server: Awaited<ReturnType<typeof startCuriousServer>>
beforeEach(async () => {
  folder = temporaryFolder()
  server = await startCuriousServer()
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await server.close()
})

const connection = (): PostgresConnection => ({
  engine: 'postgres',
  name: 'warehouse',
  host: '127.0.0.1',
  port: server.port,
  user: 'sotto',
  database: 'clinic',
  schema: 'public',
  allowWritableRole: false,
  limits: { connections: 1, statementTimeoutMs: 5_000, registrationTimeoutMs: 5_000 },
})

async function signIn(given: PostgresConnection): Promise<void> {
  const engine = openPostgresTables(given)
  await engine.reachable()
  await engine.close()
}

test('attack: a server asks for a password that its connection does not have', async () => {
  const file = path.join(folder, 'pgpass')
  await writeFile(file, '*:*:*:*:from-file\n', { mode: 0o600 })
  vi.stubEnv('PGPASSFILE', file)
  await signIn(connection())
  vi.stubEnv('PGPASSWORD', 'from-environment')
  await signIn(connection())
  expect(server.passwords.length).toBeGreaterThan(0)
  expect(new Set(server.passwords)).toEqual(new Set(['']))
})

test('a connection begins with the same message whatever the environment says', async () => {
  await signIn(connection())
  const [expected] = server.startups.splice(0)
  expect(expected).toContain('application_name\0sotto\0')
  for (const [name, value] of [
    ['PGOPTIONS', '-c session_replication_role=replica'],
    ['PGREPLICATION', 'database'],
    ['PGSSLNEGOTIATION', 'direct'],
    ['PGSSLMODE', 'no-verify'],
    ['PGAPPNAME', 'other'],
    ['PGCLIENT_ENCODING', 'LATIN1'],
    ['PGCLIENTENCODING', 'LATIN1'],
    ['PGFALLBACK_APPLICATION_NAME', 'other'],
    ['PGUSER', 'other'],
    ['PGDATABASE', 'other'],
    ['PGHOST', '127.0.0.2'],
    ['PGPORT', '1'],
    ['PGBINARY', 'true'],
    ['PGCONNECT_TIMEOUT', '1'],
    ['PGTZ', 'Asia/Tokyo'],
    ['PGDATESTYLE', 'German'],
  ] as const)
    vi.stubEnv(name, value)
  await signIn(connection())
  const found = server.startups.splice(0)
  expect(found.length).toBeGreaterThan(0)
  expect(new Set(found)).toEqual(new Set([expected]))
})

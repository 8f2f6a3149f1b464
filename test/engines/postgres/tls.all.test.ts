import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { beforeAll, expect, it } from 'vitest'
import { openPostgresTables } from '../../../src/engines/postgres/engine.ts'
import type { ConnectionTls } from '../../../src/engines/tables/connection.ts'
import { makeFolder } from '../../folders.ts'
import { describeOwnPostgres } from '../../servers/postgres.ts'
import { connectionOf } from './tables.ts'

const NAME = 'warehouse.example'
const hasOpenssl = spawnSync('openssl', ['version']).status === 0

/** Runs openssl, which fails the test with its own message. */
function openssl(folder: string, ...args: readonly string[]): void {
  const { status, stderr } = spawnSync('openssl', args, { cwd: folder, encoding: 'utf8' })
  if (status !== 0) throw new Error(`openssl failed:\n${stderr}`)
}

/** Creates an authority of its own, with its certificate and key in files of the given name. */
function createAuthority(folder: string, name: string): string {
  const subject = ['-subj', `/CN=${name}`, '-days', '2']
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', `${name}.key`]
  openssl(folder, 'req', '-x509', ...key, ...subject, '-out', `${name}.crt`)
  return readFileSync(join(folder, `${name}.crt`), 'utf8')
}

/** A certificate and its key, as PEM texts. */
type Pair = Required<Pick<ConnectionTls, 'cert' | 'key'>>

/** Creates a certificate for {@link NAME} that an authority signs. */
function createCertificate(folder: string, authority: string): Pair {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'server.key']
  openssl(folder, 'req', ...key, '-subj', `/CN=${NAME}`, '-out', 'server.csr')
  writeFileSync(join(folder, 'names'), `subjectAltName=DNS:${NAME}\n`)
  const signer = ['-CA', `${authority}.crt`, '-CAkey', `${authority}.key`, '-CAcreateserial']
  openssl(
    folder,
    'x509',
    '-req',
    '-in',
    'server.csr',
    ...signer,
    ...['-days', '2', '-extfile', 'names', '-out', 'server.crt'],
  )
  const [cert, own] = ['server.crt', 'server.key'].map((name) => readFileSync(join(folder, name), 'utf8'))
  return { cert: cert ?? '', key: own ?? '' }
}

const obstacle = hasOpenssl ? undefined : 'openssl is not installed'
describeOwnPostgres('a connection with TLS', { obstacle }, (own) => {
  let authority: string
  let stranger: string
  let known: Pair
  let unknown: Pair
  beforeAll(async () => {
    const folder = makeFolder()
    authority = createAuthority(folder, 'authority')
    stranger = createAuthority(folder, 'stranger')
    const { cert, key } = createCertificate(folder, 'authority')
    known = createCertificate(folder, 'authority')
    unknown = createCertificate(folder, 'stranger')
    rmSync(folder, { recursive: true })
    const data = join(own.server.folder, 'data')
    const { uid, gid } = statSync(data)
    const files = {
      'server.crt': cert,
      'server.key': key,
      'authority.crt': authority,
      // The role `certified` must show a certificate that the authority has signed.
      'pg_hba.conf':
        'hostssl all certified 127.0.0.1/32 trust clientcert=verify-ca\nhostssl all all 127.0.0.1/32 trust\n',
    }
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(data, name), text)
      chownSync(join(data, name), uid, gid)
      chmodSync(join(data, name), 0o600)
    }
    writeFileSync(join(data, 'postgresql.conf'), "ssl = on\nssl_ca_file = 'authority.crt'\n", { flag: 'a' })
    await own.server.restart()
    const admin = new Client({
      connectionString: own.server.url('postgres'),
      ssl: { ca: authority, checkServerIdentity: () => undefined },
    })
    await admin.connect()
    await admin.query('CREATE VIEW encrypted AS SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()')
    await admin.query('CREATE ROLE certified LOGIN; GRANT SELECT ON encrypted TO certified')
    await admin.end()
  })

  const described = async (tls: ConnectionTls | undefined, user = 'postgres') => {
    const given = { user, ...(tls === undefined ? {} : { tls }) }
    const engine = openPostgresTables({ ...connectionOf(own.server.url('postgres')), ...given })
    try {
      return {
        reachable: await engine.reachable(),
        found: await engine.describe({ schema: 'public', name: 'encrypted' }),
      }
    } finally {
      await engine.close()
    }
  }

  it('is opened to a server whose certificate a trusted authority has signed for its name', async () => {
    const { reachable, found } = await described({ ca: authority, servername: NAME })
    expect(reachable).toBe(true)
    expect(found?.map(({ name }) => name)).toEqual(['ssl'])
  })

  it.each([
    ['for another name', () => ({ ca: authority, servername: 'other.example' })],
    ['for the host, which is not in the certificate', () => ({ ca: authority })],
    ['of another authority', () => ({ ca: stranger, servername: NAME })],
    ['that no public authority has signed', () => ({ servername: NAME })],
    ['but without TLS', () => undefined],
  ])('is refused to a server with a certificate %s', async (_, tls) => {
    await expect(described(tls())).rejects.toThrow(expect.objectContaining({ name: 'EngineUnavailable' }))
  })

  it('shows the certificate of the client to a server that requires one', async () => {
    const server = { ca: authority, servername: NAME }
    const { reachable, found } = await described({ ...server, ...known }, 'certified')
    expect(reachable).toBe(true)
    expect(found?.map(({ name }) => name)).toEqual(['ssl'])
    for (const client of [{}, unknown])
      await expect(described({ ...server, ...client }, 'certified')).rejects.toThrow(
        expect.objectContaining({ name: 'EngineUnavailable' }),
      )
  })
})

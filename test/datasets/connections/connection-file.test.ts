import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ConnectionFileError, readConnections } from '../../../src/datasets/connections/connection-file.ts'

const SECRET = 'hunter2-secret'
const POSTGRES = { engine: 'postgres', host: 'db.example', user: 'sotto', database: 'clinic' }
const TRINO = {
  engine: 'trino',
  host: 'trino.example',
  port: 8443,
  user: 'sotto',
  catalog: 'lake',
  schema: 'clinic',
}

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'sotto-connections-'))
})
afterEach(() => rm(folder, { recursive: true }))

async function place(name: string, text: string, mode = 0o600): Promise<string> {
  const file = path.join(folder, name)
  await writeFile(file, text)
  await chmod(file, mode)
  return file
}

async function read(entries: unknown) {
  const text = typeof entries === 'string' ? entries : JSON.stringify(entries)
  return readConnections(await place('connections', text), { queryTimeoutMs: 30_000 })
}

test('YAML and JSON give the same connections, with the defaults', async () => {
  const yaml = `
warehouse:
  engine: postgres
  host: db.example
  user: sotto
  database: clinic
  passwordFile: warehouse.password
`
  await place('warehouse.password', `${SECRET}\n`)
  const fromYaml = (await read(yaml)).get('warehouse')
  const fromJson = (await read({ warehouse: { ...POSTGRES, passwordFile: 'warehouse.password' } })).get(
    'warehouse',
  )
  expect(JSON.stringify(fromYaml)).toBe(JSON.stringify(fromJson))
  expect(fromYaml).toMatchObject({
    name: 'warehouse',
    engine: 'postgres',
    port: 5_432,
    schema: 'public',
    allowWritableRole: false,
    tls: {},
    limits: { connections: 4, statementTimeoutMs: 30_000, registrationTimeoutMs: 600_000 },
  })
  expect(await fromYaml?.password?.()).toBe(SECRET)
})

test('a password file is read again for each login', async () => {
  await place('warehouse.password', 'first')
  const connection = (await read({ warehouse: { ...POSTGRES, passwordFile: 'warehouse.password' } })).get(
    'warehouse',
  )
  await place('warehouse.password', 'second')
  expect(await connection?.password?.()).toBe('second')
})

test.each([
  [
    'an unknown field',
    { ...POSTGRES, hots: 'x' },
    'warehouse.hots: is not a known field (did you mean "host"?)',
  ],
  ['an unknown engine', { ...POSTGRES, engine: 'mysql' }, 'warehouse.engine: '],
  ['a port out of range', { ...POSTGRES, port: 70_000 }, 'warehouse.port: must be at most 65535'],
  ['no user', { ...POSTGRES, user: undefined }, 'warehouse.user: is required'],
  ['a URL as host', { ...POSTGRES, host: 'https://db.example' }, 'warehouse.host: '],
  // A pattern with nested repetitions would take years.
  ['a long text as host', { ...POSTGRES, host: `${'a'.repeat(250)}!` }, 'warehouse.host: '],
  ['a host with a port', { ...POSTGRES, host: 'db.example:5432' }, 'warehouse.host: '],
  ['no database', { ...POSTGRES, database: undefined }, 'warehouse.database: is required'],
  ['no catalog', { ...TRINO, catalog: undefined }, 'warehouse.catalog: is required'],
  ['no port of Trino', { ...TRINO, port: undefined }, 'warehouse.port: is required'],
  ['two passwords', { ...POSTGRES, password: SECRET, passwordFile: 'x' }, 'warehouse.passwordFile: must not'],
  ['a password and a token', { ...TRINO, password: SECRET, token: SECRET }, 'warehouse.token: must not'],
  [
    'a missing file',
    { ...POSTGRES, passwordFile: 'none' },
    'warehouse.passwordFile: must be a file that can be read (ENOENT)',
  ],
  ['a certificate without key', { ...POSTGRES, tls: { cert: 'x' } }, 'warehouse.tls: must have both'],
  [
    'a missing authority',
    { ...POSTGRES, tls: { ca: 'none.pem' } },
    'warehouse.tls.ca: must be a PEM certificate',
  ],
  [
    'a long time limit',
    { ...POSTGRES, limits: { statementTimeoutMs: 30_001 } },
    'warehouse.limits.statementTimeoutMs: must be at most SOTTO_QUERY_TIMEOUT_MS',
  ],
  ['a socket of Trino', { ...TRINO, host: '/run/trino' }, 'warehouse.host: '],
  [
    'TLS on a socket',
    { ...POSTGRES, host: '/run/postgresql', tls: true },
    'warehouse.tls: must not be given',
  ],
])('%s is refused with the name of the connection and the field', async (_, entry, message) => {
  const error = await read({ warehouse: entry, other: { ...POSTGRES, password: SECRET } }).catch(
    (caught) => caught,
  )
  expect(error).toBeInstanceOf(ConnectionFileError)
  expect(error.message).toContain(message)
  expect(error.message).not.toContain(SECRET)
})

test('every wrong connection is named', async () => {
  const wrong = { ...POSTGRES, passwordFile: 'none' }
  await expect(read({ one: wrong, two: wrong })).rejects.toThrow(
    /^one\.passwordFile: .*\ntwo\.passwordFile: .*$/,
  )
})

test.each([
  ['text that is not YAML', `warehouse:\n  password: ${SECRET}\n  tls: {`],
  ['a duplicate name', `a: {password: ${SECRET}}\na: {password: ${SECRET}}`],
  ['a list', `- ${SECRET}`],
  ['a name with a capital', `Warehouse: {password: ${SECRET}}`],
])('%s is refused without quoting the file', async (_, text) => {
  const error = await read(text).catch((caught) => caught)
  expect(error).toBeInstanceOf(ConnectionFileError)
  expect(error.message).not.toContain(SECRET)
})

test('an empty file names no connections', async () => {
  expect((await read('')).size).toBe(0)
})

test.each([0o604, 0o620, 0o644])('files with the mode %o are refused', async (mode) => {
  const file = await place('connections', '{}', mode)
  await expect(readConnections(file, { queryTimeoutMs: 1 })).rejects.toThrow('chmod 600')
  await place('warehouse.password', SECRET, mode)
  await expect(read({ warehouse: { ...POSTGRES, passwordFile: 'warehouse.password' } })).rejects.toThrow(
    'warehouse.passwordFile: must be accessible to its owner only',
  )
})

test('a file that its group may read is accepted, as Kubernetes mounts secrets', async () => {
  const file = await place('connections', JSON.stringify({ warehouse: POSTGRES }), 0o440)
  expect((await readConnections(file, { queryTimeoutMs: 1 })).size).toBe(1)
})

test.each([
  ['another host', {}, true],
  ['this machine', { host: '127.0.0.1' }, false],
  ['this machine by name', { host: 'localhost' }, false],
  ['a socket', { host: '/run/postgresql' }, false],
  ['this machine if requested', { host: '127.0.0.1', tls: true }, true],
  ['another host without password, if requested', { tls: false }, false],
])('TLS to %s', async (_, changes, encrypted) => {
  const connection = (await read({ warehouse: { ...POSTGRES, ...changes } })).get('warehouse')
  expect(connection?.tls !== undefined).toBe(encrypted)
})

test('a password travels unencrypted only if the operator permits it', async () => {
  const entry = { ...POSTGRES, password: SECRET, tls: false }
  await expect(read({ warehouse: entry })).rejects.toThrow('warehouse.tls: must not be false')
  const { password: _, ...lake } = { ...TRINO, password: '', token: SECRET, tls: false }
  await expect(read({ lake })).rejects.toThrow('lake.tls: must not be false')
  const permitted = await read({ warehouse: { ...entry, allowUnencryptedPassword: true } })
  expect(permitted.get('warehouse')?.tls).toBeUndefined()
})

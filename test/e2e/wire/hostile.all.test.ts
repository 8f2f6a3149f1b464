import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { copyFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { must } from '../../../src/privacy/must.ts'
import { openCatalogues } from '../../../src/wire/catalogue/catalogues.ts'
import { MACRO_PREFIX } from '../../../src/wire/catalogue/names.ts'
import { OID } from '../../../src/wire/values/oids.ts'
import { temporaryFolder } from '../../folders.ts'
import { startTestService, testService } from '../service.ts'
import { cancelPacket, int32, message, rawConnection, signIn, startPacket } from './hostile.ts'

const DEADLINE_MS = 2_000

const service = testService({ SOTTO_PG_PORT: '0' })
const port = () => must(service.pgPort, "the port of PostgreSQL's protocol")

const session = {
  user: 'analyst',
  database: 'sotto',
  options: '-c sotto.epsilon=0.01 -c sotto.spending=allow',
}

/** True if another client gets an answer. */
async function answers(): Promise<boolean> {
  const client = new Client({
    host: '127.0.0.1',
    port: port(),
    user: 'analyst',
    password: service.keyOf('analyst'),
    database: 'sotto',
  })
  await client.connect()
  const { rows } = await client.query('SELECT 1 AS one')
  await client.end()
  return rows[0].one === 1
}

/** Valid messages, to be damaged. */
function validMessages(): readonly Buffer[] {
  return [
    message('Q', 'SELECT 1'),
    message('P', '', 'SELECT $1::int', Buffer.from([0, 0])),
    message('B', '', '', Buffer.from([0, 0, 0, 1]), int32(1), Buffer.from('1'), Buffer.from([0, 0])),
    message('D', Buffer.from('P'), ''),
    message('E', '', int32(0)),
    message('C', Buffer.from('S'), ''),
    message('S'),
    message('H'),
    message('F', Buffer.from([0, 0])),
    message('d', Buffer.from('rows')),
  ]
}

function damaged(valid: Buffer): Buffer {
  const bytes = Buffer.from(valid)
  switch (randomInt(5)) {
    case 0:
      return bytes.subarray(0, randomInt(bytes.length))
    case 1:
      bytes[randomInt(bytes.length)] = randomInt(256)
      return bytes
    case 2:
      bytes.writeInt32BE(randomInt(-(2 ** 31), 2 ** 31), Math.min(1, bytes.length - 4))
      return bytes
    case 3:
      return randomBytes(randomInt(1, 200))
    default:
      return Buffer.concat([bytes, bytes])
  }
}

test('bytes that are no messages end their own connection only', async () => {
  const attack = async (isSignedIn: boolean) => {
    const raw = await rawConnection(port())
    if (isSignedIn) await signIn(raw, session, service.keyOf('analyst'))
    const messages = validMessages()
    for (let count = randomInt(1, 8); count > 0; count -= 1)
      raw.send(damaged(must(messages[randomInt(messages.length)], 'a message')))
    raw.socket.end()
    await raw.closed
  }
  for (let round = 0; round < 15; round += 1)
    await Promise.all(Array.from({ length: 20 }, (_, index) => attack(index % 2 === 0)))
  expect(await answers()).toBe(true)
  expect(service.logLines.filter((line) => JSON.parse(line).level >= 50)).toEqual([])
})

test('a message that is too long is refused before it arrives', async () => {
  const before = await rawConnection(port())
  before.send(int32(2 ** 31 - 1))
  expect((await before.closed).length).toBe(0)
  const signedIn = await rawConnection(port())
  await signIn(signedIn, session, service.keyOf('analyst'))
  signedIn.send(Buffer.concat([Buffer.from('Q'), int32(2 ** 30)]))
  expect((await signedIn.closed).toString()).toContain('08P01')
})

test('a client without a password learns nothing', async () => {
  const raw = await rawConnection(port())
  raw.send(startPacket(session))
  raw.send(message('Q', 'SELECT 1'))
  expect((await raw.closed).toString()).not.toContain('SELECT 1')
})

test('a cancelled question ends at its release instant, is paid for, and is replayed', async () => {
  const { body } = await service
    .as('custodian')
    .post('/v1/datasets')
    .send({
      ...{ id: 'slow', title: 'Slow', source: { kind: 'population', rows: 500, seed: 'slow' } },
      columns: [{ name: 'Age', type: 'integer', lower: 0, upper: 120, nullable: false }],
      ...{
        privacyUnit: { kind: 'row' },
        neighbours: 'add-remove',
        budget: { epsilon: 1, delta: 0 },
        synthetic: true,
      },
      timing: { deadlineMs: DEADLINE_MS },
    })
  expect(body.id).toBe('slow')
  const client = new Client({
    host: '127.0.0.1',
    port: port(),
    password: service.keyOf('analyst'),
    ...session,
  })
  await client.connect()
  const startedMs = performance.now()
  const asked = client.query('SELECT COUNT(*) FROM slow').then(
    () => 'answered',
    (error: { readonly code: string }) => error.code,
  )
  // The computation is over long before the deadline.
  await setTimeout(DEADLINE_MS / 2)
  const { processID, secretKey } = client as unknown as {
    readonly processID: number
    readonly secretKey: number
  }
  const wrong = await rawConnection(port())
  wrong.send(cancelPacket(processID, secretKey ^ 1))
  await wrong.closed
  const right = await rawConnection(port())
  right.send(cancelPacket(processID, secretKey))
  await right.closed
  expect(await asked).toBe('57014')
  expect(performance.now() - startedMs).toBeGreaterThan(DEADLINE_MS - 20)
  const spent = async () =>
    (await service.as('analyst').get('/v1/datasets/slow/budget').expect(200)).body.spent.epsilon
  expect(await spent()).toBe(0.01)
  await client.query("SET sotto.spending = 'replay-only'")
  expect((await client.query('SELECT COUNT(*) FROM slow')).rowCount).toBe(1)
  expect(await spent()).toBe(0.01)
  await client.end()
})

/** Nested calls, which the evaluator's planner expands by powers of three. */
const nested = (depth: number) =>
  `SELECT ${'quote_ident('.repeat(depth)}relname${')'.repeat(depth)} FROM pg_class`
/** Joined tables, which keep the planner busy for minutes. */
const joined = (count: number) =>
  `SELECT 1 FROM pg_class c0 ${Array.from({ length: count }, (_, index) => `JOIN pg_class d${index} ON d${index}.oid = c0.oid`).join(' ')}`

test('attack: statements whose planning does not end are stopped', async () => {
  const client = new Client({
    host: '127.0.0.1',
    port: port(),
    password: service.keyOf('analyst'),
    ...session,
  })
  await client.connect()
  const statements = [
    // On a fast machine the planner comes to its limit of depth before the time is over.
    [nested(18), /57014|54000|57P03|0A000/],
    [joined(250), /57014|54000|57P03/],
  ] as const
  for (const [place, [sql, codes]] of statements.entries()) {
    const stopped = client.query({ text: sql, name: `described ${place}` } as never)
    await expect(stopped).rejects.toMatchObject({ code: expect.stringMatching(codes) })
    expect((await client.query("SELECT relname FROM pg_class WHERE relname = 'pg_type'")).rowCount).toBe(1)
    await client.query('DEALLOCATE ALL')
  }
  await client.end()
})

test('attack: the process of the catalogue ends with a service that is killed, also while it plans', async () => {
  const child = fork(path.resolve(import.meta.dirname, '../../../src/wire/catalogue/process.ts'), {
    ...{ env: {}, execArgv: [], serialization: 'advanced' },
  })
  const exited = once(child, 'exit')
  try {
    child.send({ kind: 'open', key: '', setup: ['CREATE TABLE pg_class (oid INTEGER)'] })
    await once(child, 'message')
    const variables = { principal: 'ada', database: 'sotto', settings: [], cursors: [] }
    child.send({ kind: 'evaluate', key: '', statement: { sql: joined(400), describes: true }, variables })
    await setTimeout(1_000)
    // As the end of the service does. The planner would be busy for longer than the test waits.
    child.disconnect()
    expect(await Promise.race([exited.then(() => 'ended'), setTimeout(30_000, 'plans')])).toBe('ended')
  } finally {
    child.kill('SIGKILL')
  }
})

const ONE = { sql: 'SELECT 1 AS one', describes: false }

test('the process of the catalogue has no options of the service, such as a file with secrets', async () => {
  process.execArgv.push('--env-file=absent')
  const catalogues = openCatalogues({ list: () => [] })
  const caller = {
    principal: { name: 'ada', role: 'analyst' },
    database: 'sotto',
    settings: [],
    cursors: [],
  } as const
  try {
    const { rows } = await catalogues.evaluate(caller, ONE, new AbortController().signal)
    expect(rows).toEqual([[1]])
  } finally {
    process.execArgv.pop()
    catalogues.close()
  }
})

test('attack: a statement is described with the variables of its own session, and not of the one before', async () => {
  const catalogues = openCatalogues({ list: () => [] })
  const callerOf = (name: string) => {
    const settings = [['application_name', `tool of ${name}`]] as const
    return { principal: { name, role: 'analyst' }, database: 'sotto', settings, cursors: [] } as const
  }
  const { signal } = new AbortController()
  const called = ['current_user()', "current_setting('application_name')"].map(
    (each) => `main.${MACRO_PREFIX}${each}`,
  )
  try {
    // A variable that was never set has another type.
    const described = { sql: `SELECT ${called.join(', ')}`, describes: true }
    const { columns } = await catalogues.evaluate(callerOf('bob'), described, signal)
    expect(columns.map(({ type }) => type)).toEqual([OID.text, OID.text])
    for (const each of called) {
      // Arguments of functions that return tables are evaluated before they are described, and errors state them.
      const sql = `SELECT * FROM generate_series(1, CAST(${each} AS BIGINT))`
      const refused = catalogues.evaluate(callerOf('ada'), { sql, describes: true }, signal)
      await expect(refused).rejects.toThrow(/'(tool of )?ada'/)
    }
  } finally {
    catalogues.close()
  }
})

test('a process of the catalogue that cannot be reached is ended, and replaced', async () => {
  const started: ChildProcess[] = []
  const note = (message: unknown) =>
    void started.push((message as { readonly process: ChildProcess }).process)
  subscribe('child_process', note)
  const catalogues = openCatalogues({ list: () => [] })
  const principal = { name: 'ada', role: 'analyst' } as const
  const caller = { principal, database: 'sotto', settings: [], cursors: [] }
  const one = () => catalogues.evaluate(caller, ONE, new AbortController().signal)
  try {
    await one()
    const first = must(started[0], 'a process')
    const ended = new Promise((resolve) => first.once('exit', () => resolve('ended')))
    first.emit('error', new Error('the channel is broken'))
    expect(await Promise.race([ended, setTimeout(5_000, 'runs on')])).toBe('ended')
    expect((await one()).rows).toEqual([[1]])
    expect(started).toHaveLength(2)
  } finally {
    unsubscribe('child_process', note)
    catalogues.close()
  }
})

test('sessions end when the service stops', async () => {
  const stopping = await startTestService({ SOTTO_PG_PORT: '0' })
  const client = new Client({
    ...{ host: '127.0.0.1', port: stopping.pgPort, user: 'analyst', database: 'sotto' },
    password: stopping.keyOf('analyst'),
  } as never)
  const ended = new Promise<Error>((resolve) => client.on('error', resolve))
  await client.connect()
  await stopping.close()
  expect(await ended).toMatchObject({ code: '57P01' })
})

test('a session is encrypted with the certificate of the service', async () => {
  const folder = temporaryFolder()
  const certificates = path.resolve(import.meta.dirname, '../../http/certificates')
  await copyFile(path.join(certificates, 'first.crt'), path.join(folder, 'tls.crt'))
  await copyFile(path.join(certificates, 'first.key'), path.join(folder, 'tls.key'))
  const encrypted = await startTestService({
    SOTTO_PG_PORT: '0',
    SOTTO_TLS_CERT: path.join(folder, 'tls.crt'),
    SOTTO_TLS_KEY: path.join(folder, 'tls.key'),
  })
  try {
    const client = new Client({
      ...{ host: '127.0.0.1', port: encrypted.pgPort, user: 'analyst', database: 'sotto' },
      password: encrypted.keyOf('analyst'),
      ssl: { rejectUnauthorized: false },
    } as never)
    await client.connect()
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
    await client.end()
  } finally {
    await encrypted.close()
  }
})

test('attack: what a client prepares and does not fetch is bounded', async () => {
  const raw = await rawConnection(port())
  await signIn(raw, session, service.keyOf('analyst'))
  const none = Buffer.alloc(2)
  for (const name of ['a', 'b', 'c']) raw.send(message('P', name.repeat(100_000), 'SELECT 1', none))
  raw.send(message('S'))
  expect(String(await raw.sent('54000'))).toContain('at most 262144 characters')
  raw.send(message('Q', 'DEALLOCATE ALL; BEGIN'))
  const large = 'SELECT g, 1 AS b, 2 AS c FROM generate_series(1, 60000) AS g'
  raw.send(message('P', '', large, none))
  for (const name of ['a', 'b', 'c'])
    raw.send(Buffer.concat([message('B', name, '', none, none, none), message('E', name, 1)]))
  raw.send(message('S'))
  raw.send(message('X'))
  expect(String(await raw.closed)).toContain('Too many rows wait')
})

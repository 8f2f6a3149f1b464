import { Client, DatabaseError } from 'pg'
import Cursor from 'pg-cursor'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { openKeyFile, type StoredKey } from '../../../src/http/access/keys/key-file.ts'
import { must } from '../../../src/privacy/must.ts'
import { createFakeDatabase, type FakeDatabase } from '../../engines/tables/fake-database.ts'
import { startTestService, type TestService } from '../service.ts'

/*
 * Rights are those of the moment, at the sign-in and at each statement. What a session has prepared, described or read in part
 * outlives no right.
 */

const CONNECTIONS = `
warehouse:
  engine: postgres
  host: db.example
  user: user
  password: password
  database: clinic
  schema: main
`
let service: TestService
let database: FakeDatabase

beforeAll(async () => {
  database = await createFakeDatabase()
  service = await startTestService(
    { SOTTO_CONNECTIONS: 'connections.yaml', SOTTO_PG_PORT: '0' },
    { parts: { tableEngines: () => database.engine }, files: { 'connections.yaml': CONNECTIONS } },
  )
})
afterAll(() => service.close())

const clients: Client[] = []
afterEach(async () => {
  await Promise.all(clients.splice(0).map((each) => each.end()))
})

async function connect(user: string, password: string): Promise<Client> {
  const client = new Client({
    ...{ host: '127.0.0.1', port: service.pgPort, user, password, database: 'sotto' },
    options: '-c sotto.epsilon=0.1 -c sotto.spending=allow',
  } as never)
  client.on('error', () => undefined)
  clients.push(client)
  await client.connect()
  return client
}

/** Registers a table of which each failure suspends the dataset. */
async function register(id: string): Promise<void> {
  await database.run(
    `CREATE TABLE "${id}" AS SELECT 'p' || i AS patient, ['A', 'B'][i % 2 + 1] AS ward FROM range(100) AS rows(i)`,
  )
  const columns = [
    { name: 'patient', type: 'identifier' },
    { name: 'ward', type: 'category', categories: ['A', 'B'], nullable: false },
  ]
  await service
    .register({
      ...{ id, title: 'Visits', source: { kind: 'table', connection: 'warehouse', table: id }, columns },
      ...{ privacyUnit: { kind: 'person', column: 'patient', maxRows: 2 }, neighbours: 'add-remove' },
      ...{ timing: 'off', budget: { epsilon: 100, delta: 0 }, failureLimit: 1 },
    })
    .expect(201)
}

async function newKey(
  name: string,
  more: object = {},
): Promise<{ readonly key: string; readonly id: string }> {
  const asked = { name, role: 'analyst', ...more }
  return (await service.as('custodian').post('/v1/keys').send(asked).expect(201)).body
}

/** Changes a key as no call can, such as the passing of time. */
async function change(id: string, changes: (key: StoredKey) => Partial<StoredKey>): Promise<void> {
  await openKeyFile(service.dataDirectory).update(async (contents) => ({
    contents: {
      ...contents,
      keys: contents.keys.map((key) => (key.id === id ? { ...key, ...changes(key) } : key)),
    },
    result: undefined,
  }))
}

const PAST = '2020-01-01T00:00:00.000Z'
const grouped = (table: string) => `SELECT ward, COUNT(*) FROM ${table} GROUP BY 1`
const counted = (table: string) => `SELECT COUNT(*) FROM ${table} WHERE ward = $1`
const LISTED = `SELECT relname FROM pg_class WHERE relnamespace = 2200`

/**
 * A session that has prepared and read before, as functions that go on with each.
 */
async function sessionWith(table: string, user: string, password: string) {
  const client = await connect(user, password)
  await client.query({ name: 'counted', text: counted(table), values: ['A'] })
  for (const [name, sql] of [
    ['fresh', grouped(table)],
    ['read', grouped(table)],
    ['listed', LISTED],
  ])
    await client.query(`DECLARE ${name} SCROLL CURSOR WITH HOLD FOR ${sql}`)
  await client.query('FETCH 1 FROM read')
  await client.query('FETCH 1 FROM listed')
  const goOn: Readonly<Record<string, () => Promise<unknown>>> = {
    prepared: () => client.query({ name: 'counted', text: counted(table), values: ['A'] }),
    executed: () => client.query("EXECUTE counted('A')"),
    fresh: () => client.query('FETCH 1 FROM fresh'),
    read: () => client.query('FETCH 1 FROM read'),
    listed: () => client.query('FETCH PRIOR FROM listed'),
    portal: () => portal.read(1),
  }
  // The last one, because it stays open.
  const portal = client.query(new Cursor(grouped(table)))
  await portal.read(1)
  return { client, goOn, portal }
}

async function outcome(statement: Promise<unknown>): Promise<string> {
  return statement.then(
    () => 'answered',
    (error: unknown) => {
      if (error instanceof DatabaseError) return `${error.severity} ${error.code} ${error.message}`
      throw error
    },
  )
}

/** What becomes of all that a session has begun, once a right of it is lost. */
async function outcomes({
  goOn,
  portal,
}: Awaited<ReturnType<typeof sessionWith>>): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = { portal: await outcome(portal.read(1)) }
  // The driver closes it with an error, and would wait for ever for another end.
  if (found.portal === 'answered') await portal.close()
  for (const [name, each] of Object.entries(goOn)) if (name !== 'portal') found[name] = await outcome(each())
  return found
}

const signIn = (user: string, key: string) => outcome(connect(user, key))
const WRONG = (user: string) => `FATAL 28P01 The password is no API key of "${user}".`
const EXPIRED = 'FATAL 28000 The API key has expired or was replaced.'
const REPLACED = 'FATAL 28000 The API key was deleted or replaced.'

test.each([
  ['deleted', REPLACED, (id: string) => service.as('custodian').delete(`/v1/keys/${id}`).expect(204)],
  [
    'replaced',
    REPLACED,
    (id: string) =>
      service.as('custodian').post(`/v1/keys/${id}/rotate`).send({ overlapSeconds: 0 }).expect(200),
  ],
  ['expired', EXPIRED, (id: string) => change(id, () => ({ expiresAt: PAST }))],
])(
  'a key that is %s in the middle of a session ends it, whatever was read before',
  async (how, shown, end) => {
    const [table, user] = [`table-${how}`, `holder-${how}`]
    await register(table)
    const { key, id } = await newKey(user)
    const names = ['prepared', 'executed', 'fresh', 'read', 'listed', 'portal']
    const sessions: Awaited<ReturnType<typeof sessionWith>>[] = []
    for (const _ of names) sessions.push(await sessionWith(`"${table}"`, user, key))
    const another = await connect('analyst', service.keyOf('analyst'))
    for (const [place, { portal }] of sessions.entries()) if (names[place] !== 'portal') await portal.close()
    await end(id)
    for (const [place, { goOn }] of sessions.entries()) {
      const name = must(names[place], 'a statement')
      expect([name, await outcome(must(goOn[name], 'a statement')())]).toEqual([name, shown])
    }
    expect((await another.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
  },
)

test('a key that has expired cannot sign in, and is told so; nobody else is', async () => {
  const { key, id } = await newKey('expired')
  await change(id, () => ({ expiresAt: PAST }))
  expect(await signIn('expired', key)).toBe(EXPIRED)
  expect(await signIn('expired', `${key}x`)).toBe(WRONG('expired'))
})

test('a key that was rotated signs in until the end of its overlap', async () => {
  const { key, id } = await newKey('rotated')
  const open = await connect('rotated', key)
  const rotate = async (overlapSeconds: number) =>
    (await service.as('custodian').post(`/v1/keys/${id}/rotate`).send({ overlapSeconds }).expect(200)).body
      .key
  const next = await rotate(3_600)
  for (const each of [key, next]) expect(await signIn('rotated', each)).toBe('answered')
  await change(id, ({ earlier }) => ({ earlier: earlier.map((each) => ({ ...each, validUntil: PAST })) }))
  expect(await outcome(open.query('SELECT 1'))).toBe(EXPIRED)
  expect(await signIn('rotated', key)).toBe(EXPIRED)
  expect(await signIn('rotated', next)).toBe('answered')
  const last = await rotate(0)
  expect(await signIn('rotated', next)).toBe(WRONG('rotated'))
  expect(await signIn('rotated', last)).toBe('answered')
})

test('a dataset that is withdrawn is gone from all that sessions have begun', async () => {
  await register('gone')
  const session = await sessionWith('gone', 'analyst', service.keyOf('analyst'))
  await service.as('custodian').delete('/v1/datasets/gone').expect(204)
  const gone = 'ERROR 42P01 There is no dataset "gone" that you may use.'
  expect(await outcomes(session)).toEqual({
    ...{ prepared: gone, executed: gone, fresh: gone, read: gone, portal: gone },
    // A cursor has the catalogue of when it was opened.
    listed: 'answered',
  })
  expect((await session.client.query(`${LISTED} AND relname = 'gone'`)).rows).toEqual([])
})

test('a dataset that a key loses is, to its sessions, none', async () => {
  for (const id of ['lost', 'kept']) await register(id)
  const { key, id } = await newKey('loser', { datasets: ['lost', 'kept'] })
  const session = await sessionWith('lost', 'loser', key)
  await change(id, () => ({ datasets: ['kept'] }))
  const lost = 'ERROR 42P01 There is no dataset "lost" that you may use.'
  expect(await outcomes(session)).toEqual({
    ...{ prepared: lost, executed: lost, fresh: lost, read: lost, portal: lost },
    listed: 'ERROR 42501 The datasets that you may use have changed. Send the statement again.',
  })
  expect((await session.client.query(LISTED)).rows).toEqual([{ relname: 'kept' }])
})

test('a role and the permission to spend are those of the moment', async () => {
  await register('paid')
  const { key, id } = await newKey('payer')
  const { client, goOn, portal } = await sessionWith('paid', 'payer', key)
  await portal.close()
  const bought = () => outcome(client.query({ name: 'counted', text: counted('paid'), values: ['B'] }))
  await change(id, () => ({ spending: 'never' }))
  expect(await bought()).toMatch(/^ERROR 25006 .* the key allows only answers that cost nothing/)
  expect(await outcome(must(goOn.executed, 'a statement')())).toBe('answered')
  await change(id, () => ({ role: 'auditor' }))
  const forbidden = 'ERROR 42501 Questions need the role analyst. The key has the role auditor.'
  for (const name of ['prepared', 'executed', 'fresh', 'read'])
    expect(await outcome(must(goOn[name], 'a statement')())).toBe(forbidden)
})

test('a dataset that is suspended replays what is paid for, and answers nothing else', async () => {
  await register('failing')
  const session = await sessionWith('failing', 'analyst', service.keyOf('analyst'))
  const { client } = session
  database.fail('EngineFailure')
  const other = await connect('analyst', service.keyOf('analyst'))
  const failed = await outcome(other.query("SELECT COUNT(*) FROM failing WHERE ward = 'B'"))
  database.fail(undefined)
  expect(failed).toMatch(/^ERROR 58000 /)
  for (const shown of Object.values(await outcomes(session))) expect(shown).toBe('answered')
  expect(await outcome(client.query("EXECUTE counted('A')"))).toBe('answered')
  expect(await outcome(client.query('SELECT COUNT(*) FROM failing'))).toMatch(
    /^ERROR 55000 The dataset failing is suspended/,
  )
})

import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { Client, type ClientConfig, DatabaseError, type QueryArrayConfig } from 'pg'
import Cursor from 'pg-cursor'
import supertest from 'supertest'
import { afterEach, describe, expect, test } from 'vitest'
import { LimiterFull } from '../../../src/platform/concurrency/limiter.ts'
import { must } from '../../../src/privacy/must.ts'
import { describeError } from '../../../src/wire/errors.ts'
import { testService } from '../service.ts'
import { message, rawConnection, startPacket } from './hostile.ts'

const service = testService({ SOTTO_DEMO: 'true', SOTTO_PG_PORT: '0' })

const clients: Client[] = []
afterEach(async () => {
  await Promise.all(clients.splice(0).map((each) => each.end()))
})

/** A client of the analyst, and the notices that it gets. */
async function connect(changes: ClientConfig = {}) {
  const client = new Client({
    host: '127.0.0.1',
    port: service.pgPort,
    user: 'analyst',
    password: service.keyOf('analyst'),
    database: 'sotto',
    ...changes,
  })
  const notices: (string | undefined)[] = []
  client.on('notice', ({ message }) => notices.push(message))
  client.on('error', () => undefined)
  clients.push(client)
  await client.connect()
  return { client, notices }
}

const spender = (epsilon: number) =>
  connect({ options: `-c sotto.epsilon=${epsilon} -c sotto.spending=allow` })

async function spent(): Promise<unknown> {
  const { body } = await service.as('analyst').get('/v1/datasets/census/budget').expect(200)
  return body.spent
}

const withKey = (key: string) => supertest.agent(service.url).set('authorization', `Bearer ${key}`)

/** The error of a statement. */
async function errorOf(statement: Promise<unknown>): Promise<DatabaseError> {
  const error = await statement.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(DatabaseError)
  return error as DatabaseError
}

describe('the values of a column', () => {
  test('are those declared, cost nothing, and follow conditions on the column alone', async () => {
    const { client, notices } = await spender(0.01)
    const before = await spent()
    const values = async (sql: string, given: string[] = []) =>
      (await client.query({ text: sql, values: given, rowMode: 'array' })).rows.flat()
    const declared = ['Statistician', 'Economist', 'Geographer', 'IT Specialist', 'Unicorn Wrangler']
    expect(await values('SELECT DISTINCT "Occupation" FROM census')).toEqual(declared)
    expect(await values('SELECT DISTINCT Occupation FROM census')).toEqual(declared)
    expect(await values('SELECT c."Occupation" FROM public.census c GROUP BY 1 LIMIT 2 OFFSET 1')).toEqual(
      declared.slice(1, 3),
    )
    const found =
      'SELECT DISTINCT "Occupation" AS "o" FROM census WHERE "Occupation" ILIKE $1 ORDER BY "o" DESC'
    expect(await values(found, ['%ist%'])).toEqual(['Statistician', 'IT Specialist', 'Economist'])
    expect(notices).toEqual([])
    expect(await spent()).toEqual(before)
  })

  test.each([
    ['0A000', 'SELECT DISTINCT "Age" FROM census'],
    ['0A000', 'SELECT DISTINCT "Sex", "Married" FROM census'],
    ['0A000', 'SELECT DISTINCT "Sex" FROM census WHERE "Age" > 60'],
    ['0A000', 'SELECT DISTINCT "Sex" AS "Age" FROM census WHERE "Age" > 5'],
    ['0A000', 'SELECT DISTINCT "Sex" FROM other.census'],
    ['0A000', 'SELECT "Sex" FROM census'],
    ['25006', 'SELECT "Sex" FROM census GROUP BY "Sex" HAVING COUNT(*) > 100'],
    ['25006', 'SELECT "Sex" FROM census GROUP BY "Sex" ORDER BY COUNT(*)'],
    ['0A000', 'SELECT DISTINCT "Sex" FROM census WHERE EXISTS (SELECT 1 FROM census)'],
    ['0A000', 'SELECT DISTINCT "Sex" FROM census, pg_class'],
    ['0A000', `SELECT DISTINCT "Sex" FROM census WHERE "Sex" = (VALUES ('M'))`],
  ])('are not asked for (%s) by %s', async (code, sql) => {
    const { client } = await connect({ options: '-c sotto.epsilon=0.01' })
    expect(await errorOf(client.query(sql))).toMatchObject({ code })
  })
})

describe('a statement without rows', () => {
  /** The columns of a result without rows, with their types. */
  async function columnsOf(client: Client, sql: string) {
    const { rows, fields } = await client.query(sql)
    expect(rows).toEqual([])
    return fields.map(({ name, dataTypeID }) => [name, dataTypeID])
  }
  const [BIGINT, TEXT, DOUBLE] = [20, 25, 701]

  test('tells the columns of a table and of a question, and costs nothing', async () => {
    const { client, notices } = await spender(0.01)
    const before = await spent()
    const all = [
      ...[
        ['Sex', TEXT],
        ['Age', BIGINT],
        ['Married', TEXT],
        ['Earnings', BIGINT],
        ['Occupation', TEXT],
      ],
    ]
    expect(await columnsOf(client, 'SELECT * FROM "census" AS "q01" WHERE (0 = 1)')).toEqual(all)
    expect(await columnsOf(client, 'SELECT c.* FROM sotto.public.census c LIMIT 0 OFFSET 5')).toEqual(all)
    expect(await columnsOf(client, 'SELECT * FROM census LIMIT 0::bigint')).toEqual(all)
    const limited = { text: 'SELECT COUNT(*) FROM census LIMIT $1', values: [0] }
    expect((await client.query(limited)).rows).toEqual([])
    const some = 'SELECT "Earnings", age + 0.5 AS older FROM census WHERE "Sex" = \'M\' AND FALSE'
    expect(await columnsOf(client, some)).toEqual([
      ['Earnings', BIGINT],
      ['older', DOUBLE],
    ])
    const grouped = 'SELECT "Sex", COUNT(*) AS n FROM census GROUP BY 1'
    for (const sql of [`${grouped} LIMIT 0`, `SELECT * FROM (${grouped}) AS q WHERE 1 <> 1`])
      expect(await columnsOf(client, sql)).toEqual([
        ['Sex', TEXT],
        ['n', DOUBLE],
      ])
    await client.query('BEGIN; DECLARE empty CURSOR FOR SELECT * FROM census LIMIT 0')
    expect(await columnsOf(client, 'FETCH ALL FROM empty')).toEqual(all)
    await client.query('COMMIT')
    expect(notices).toEqual([])
    expect(await spent()).toEqual(before)
  })

  test.each([
    // An aggregate of all rows has one row also for none.
    ['0A000', 'SELECT COUNT(*) FROM census WHERE 1 = 0'],
    ['0A000', 'SELECT COUNT(*) FROM census WHERE FALSE GROUP BY GROUPING SETS (())'],
    ['0A000', 'SELECT 1 FROM census WHERE FALSE HAVING TRUE'],
    ['0A000', 'SELECT * FROM census WHERE 1 = 1'],
    ['0A000', 'SELECT * FROM census WHERE FALSE OR "Age" > 5'],
    ['0A000', 'SELECT * FROM census LIMIT 1'],
    ['0A000', 'SELECT (SELECT COUNT(*) FROM census) FROM census WHERE FALSE'],
    ['42703', 'SELECT nothing FROM census LIMIT 0'],
    ['42P01', 'SELECT * FROM nothing LIMIT 0'],
    ['42P01', 'SELECT * FROM pg_class, nothing LIMIT 0'],
  ])('is not taken for one (%s): %s', async (code, sql) => {
    const { client } = await spender(0.01)
    expect(await errorOf(client.query(sql))).toMatchObject({ code })
  })
})

describe('a question', () => {
  test('has the values of the JSON answer, which is replayed', async () => {
    const { client, notices } = await spender(0.01)
    const sql = 'SELECT "Sex", COUNT(*) AS n, AVG(Age) FROM public.census GROUP BY 1'
    const { rows, fields, command, rowCount } = await client.query(sql)
    expect([command, rowCount]).toEqual(['SELECT', 2])
    expect(fields.map(({ name }) => name)).toEqual(['Sex', 'n', 'avg'])
    expect(notices).toEqual([
      expect.stringMatching(/^cost epsilon 0.01; epsilon [\d.]+ .*of the budget left$/),
    ])
    const before = await spent()
    const asked = { sql: sql.replace('public.', ''), epsilon: 0.01 }
    const { body } = await service.as('analyst').post('/v1/datasets/census/sql').send(asked).expect(200)
    expect(body.answer.cost.epsilon).toBe(0)
    expect(rows.map(Object.values)).toEqual(body.rows.map(([sex, n, , mean]: unknown[]) => [sex, n, mean]))
    await client.query('SET sotto.half_widths = on')
    const wide = await client.query({ text: sql, rowMode: 'array' })
    expect(wide.fields.map(({ name }) => name)).toEqual(
      body.columns.map(({ name }: { name: string }) => name),
    )
    expect(wide.rows).toEqual(body.rows)
    expect(notices.at(-1)).toMatch(/^replayed at no cost; epsilon 9.99 /)
    expect(await spent()).toEqual(before)
  })

  test('has a notice of the least that is left: of the dataset, the population or an allotment', async () => {
    const budget = (epsilon: number) => ({ budget: { epsilon } })
    const custodian = () => service.as('custodian')
    await custodian()
      .post('/v1/populations')
      .send({ id: 'guests', privacyUnit: 'row', ...budget(2) })
      .expect(201)
    await service
      .register({
        ...{
          id: 'nights',
          title: 'Nights',
          source: { kind: 'population', rows: 100, seed: 'n' },
          ...budget(3),
        },
        ...{ privacyUnit: { kind: 'row' }, neighbours: 'add-remove', population: 'guests' },
      })
      .expect(201)
    const { client, notices } = await spender(0.5)
    const noticed = async (condition: string) => {
      await client.query(`SELECT COUNT(*) FROM nights WHERE Age > ${condition}`)
      return notices.at(-1)
    }
    expect(await noticed('20')).toBe(
      'cost epsilon 0.5; epsilon 1.5 of the budget of the population guests left',
    )
    const allotment = { epsilon: 1.25, reason: 'a share' }
    const path = 'populations/guests/analysts/analyst/allotment'
    await custodian().put(`/v1/${path}`).send(allotment).expect(200)
    expect(await noticed('20')).toBe(
      'replayed at no cost; epsilon 0.75 of your allotment on the population guests left',
    )
    // An allotment can be larger than what is left of the budget.
    await custodian()
      .put(`/v1/${path}`)
      .send({ ...allotment, epsilon: 50 })
      .expect(200)
    expect(await noticed('30')).toBe(
      'cost epsilon 0.5; epsilon 1 of the budget of the population guests left',
    )
  })

  test('costs nothing unless spending is allowed, and says what it would cost', async () => {
    const { client } = await connect()
    const sql = 'SELECT COUNT(*) FROM census WHERE Age > 41'
    const priceless = await errorOf(client.query(sql))
    expect(priceless.hint).toMatch(/SET sotto\.epsilon = 0\.1/)
    const before = await spent()
    await client.query('SET sotto.epsilon = 0.02')
    const refused = await errorOf(client.query(sql))
    expect(refused).toMatchObject({
      code: '25006',
      message: expect.stringContaining('epsilon 0.02'),
      hint: expect.stringContaining("SET sotto.spending = 'allow'"),
    })
    expect(await spent()).toEqual(before)
    // For one transaction only.
    await client.query("BEGIN; SET LOCAL sotto.spending = 'allow'")
    const paid = await client.query(sql)
    await client.query('COMMIT')
    expect(await client.query(sql)).toMatchObject({ rows: paid.rows })
    expect(await errorOf(client.query(`${sql} AND Sex = 'F'`))).toMatchObject({ code: '25006' })
  })

  test('is never answered from the allotment by a release of somebody else unless spending is allowed', async () => {
    const shared = {
      title: 'Shared',
      source: { kind: 'population', rows: 1_000, seed: 'shared' },
      sharing: true,
      derived: [{ name: 'Adult', expression: 'Age >= 18', description: 'Of age' }],
    }
    const { body } = await service.as('custodian').get('/v1/datasets/census').expect(200)
    const { neighbours, accounting, privacyUnit, columns, timing } = body
    await service
      .register({
        ...{ id: 'shared', ...shared, neighbours, accounting, privacyUnit, columns, timing },
        budget: { epsilon: 1, delta: 0 },
      })
      .expect(201)
    const query = { kind: 'count', epsilon: 0.1 }
    await service.asColleague().post('/v1/datasets/shared/queries').send(query).expect(200)
    const { client } = await connect({ options: '-c sotto.epsilon=0.1' })
    expect(await errorOf(client.query('SELECT COUNT(*) FROM shared'))).toMatchObject({ code: '25006' })
    const spending = await service.as('analyst').get('/v1/datasets/shared/budget')
    expect(JSON.stringify(spending.body)).not.toContain('"spentOnShared":{"epsilon":0.1')
  })

  test('is refused with its place and an alternative', async () => {
    const { client } = await spender(0.01)
    expect(await errorOf(client.query('SELECT\n  nope FROM census'))).toMatchObject({
      position: '10',
      code: '42804',
      message: expect.stringContaining('line 2, column 3'),
    })
    expect(await errorOf(client.query('SELECT * FROM census'))).toMatchObject({
      code: '0A000',
      hint: expect.stringContaining('sotto_dummy'),
    })
    expect(await errorOf(client.query('SELEC 1'))).toMatchObject({ code: '42601', position: '1' })
    expect(await errorOf(client.query('COPY census TO STDOUT'))).toMatchObject({
      code: '0A000',
      message: expect.stringContaining('adbc.postgresql.use_copy'),
    })
    expect(await errorOf(client.query('SELECT COUNT(*) FROM absent'))).toMatchObject({ code: '42P01' })
  })
})

describe('prepared statements', () => {
  test('bind parameters as constants', async () => {
    const { client } = await spender(0.01)
    const { rows: written } = await client.query(
      "SELECT COUNT(*) FROM census WHERE Age BETWEEN 20 AND 30 AND Sex = 'M'",
    )
    const text = 'SELECT COUNT(*) FROM census WHERE Age BETWEEN $1 AND $2::int AND Sex = $3'
    const before = await spent()
    const { rows } = await client.query({ text, values: [20, 30, 'M'], name: 'counted' })
    expect(rows).toEqual(written)
    expect(await spent()).toEqual(before)
    const injected = await errorOf(client.query(text, [20, 30, "M' OR Sex = 'F"]))
    expect(injected.message).toContain('Sex')
    expect(await errorOf(client.query(text, ['x', 30, 'M']))).toMatchObject({ code: '22023' })
  })

  test('send rows in portions, and go on after an error', async () => {
    const { client } = await spender(0.01)
    const sql = 'SELECT Sex, Married, COUNT(*) FROM census GROUP BY Sex, Married ORDER BY 1, 2'
    const { rows } = await client.query(sql)
    const cursor = client.query(new Cursor(sql))
    const portions = [await cursor.read(3), await cursor.read(3), await cursor.read(100)]
    expect(portions.map(({ length }) => length).slice(0, 2)).toEqual([3, Math.min(3, rows.length - 3)])
    expect(portions.flat()).toEqual(rows)
    await cursor.close()
    await errorOf(client.query('SELECT nope FROM census WHERE Age = $1', [1]))
    expect((await client.query('SELECT $1::int AS one', [1])).rows).toEqual([{ one: 1 }])
  })

  test('say at once that a portal cannot begin, before the client synchronizes', async () => {
    const { client } = await spender(0.01)
    const refused = client.query(new Cursor('SELECT nope FROM census'))
    expect(await errorOf(refused.read(1))).toMatchObject({ code: '42804' })
    await refused.close()
  })

  test('end with a portal that is closed half read', async () => {
    const { client } = await spender(0.01)
    const half = client.query(new Cursor('SELECT "Sex", "Married", COUNT(*) FROM census GROUP BY 1, 2'))
    expect(await half.read(3)).toHaveLength(3)
    await half.close()
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
  })
})

describe('statements of SQL about other statements', () => {
  const sql = 'SELECT Sex, Married, COUNT(*) FROM census GROUP BY Sex, Married ORDER BY 1, 2'

  test('declare cursors, which charge when they are first fetched, and move as PostgreSQL moves them', async () => {
    const { client, notices } = await spender(0.015)
    const before = await spent()
    expect(await errorOf(client.query(`DECLARE c CURSOR FOR ${sql}`))).toMatchObject({ code: '25P01' })
    const misspelled = 'DECLARE c CURSOR WITH HOLD FOR SELECT nope FROM census'
    expect(await errorOf(client.query(misspelled))).toMatchObject({ code: '42804', position: '39' })
    await client.query(`BEGIN; DECLARE c NO SCROLL CURSOR FOR ${sql}`)
    expect(await spent()).toEqual(before)
    const first = await client.query('FETCH c')
    expect(await spent()).not.toEqual(before)
    expect(notices).toEqual([expect.stringMatching(/^cost epsilon 0.015;/)])
    const others = await client.query('FETCH FORWARD ALL FROM c')
    expect([first.command, first.rowCount, others.rowCount]).toEqual(['FETCH', 1, 9])
    expect((await client.query('FETCH 5 IN c')).rows).toEqual([])
    await client.query('COMMIT')
    const { rows } = await client.query(sql)
    expect([...first.rows, ...others.rows]).toEqual(rows)
    expect(await errorOf(client.query('FETCH c'))).toMatchObject({ code: '34000' })

    await client.query(`BEGIN; DECLARE s SCROLL CURSOR WITH HOLD FOR ${sql}; COMMIT`)
    const fetched = async (which: string) => (await client.query(`FETCH ${which} FROM s`)).rows
    expect(await fetched('LAST')).toEqual(rows.slice(-1))
    expect(await fetched('BACKWARD 2')).toEqual([rows[8], rows[7]])
    expect(await fetched('ABSOLUTE 3')).toEqual([rows[2]])
    expect((await client.query('MOVE 2 FROM s')).command).toBe('MOVE')
    expect(await fetched('RELATIVE 0')).toEqual([rows[4]])
    expect(await fetched('BACKWARD ALL')).toEqual(rows.slice(0, 4).reverse())
    expect(await fetched('PRIOR')).toEqual([])
    const listed =
      "SELECT name, statement, is_holdable, is_scrollable, creation_time > now() - interval '1 hour' AS is_new FROM pg_cursors"
    const another = await connect()
    await another.client.query('BEGIN; DECLARE "the other\'s" CURSOR FOR SELECT 1')
    expect((await client.query(listed)).rows).toEqual([
      {
        name: 's',
        statement: expect.stringContaining('DECLARE s SCROLL'),
        ...{ is_holdable: true, is_scrollable: true, is_new: true },
      },
    ])
    expect((await another.client.query(`SELECT name FROM pg_cursors`)).rows).toEqual([
      { name: "the other's" },
    ])
    await client.query('CLOSE s')
    expect((await client.query(listed)).rows).toEqual([])
    expect(await errorOf(client.query('CLOSE s'))).toMatchObject({ code: '34000' })
    await client.query(`BEGIN; DECLARE gone CURSOR WITH HOLD FOR ${sql}; ROLLBACK`)
    expect(await errorOf(client.query('FETCH gone'))).toMatchObject({ code: '34000' })
  })

  test('fetch from cursors with parameters, described and in binary', async () => {
    const { client } = await spender(0.015)
    const text = 'SELECT Sex, COUNT(*) FROM census WHERE Age > $1 GROUP BY 1 ORDER BY 1'
    await client.query('BEGIN')
    await client.query(`DECLARE c CURSOR FOR ${text}`, [30])
    // The driver describes what it sends, and asks for bytes.
    const inBinary: QueryArrayConfig & { readonly binary: boolean } = {
      ...{ text: 'FETCH 1 FROM c', values: [], binary: true, rowMode: 'array' },
    }
    const binary = await client.query(inBinary)
    const rest = await client.query({ text: 'FETCH ALL FROM c', name: 'rest', rowMode: 'array' })
    await client.query('COMMIT')
    expect([...binary.rows, ...rest.rows]).toEqual(
      (await client.query({ text, values: [30], rowMode: 'array' })).rows,
    )
    await client.query(`BEGIN; DECLARE a CURSOR FOR ${sql}`)
    for (const name of ['b', 'c', 'd', 'e']) await client.query(`DECLARE ${name} CURSOR FOR ${sql}`)
    for (const name of ['a', 'b', 'c', 'd']) await client.query(`FETCH ${name}`)
    expect((await client.query('FETCH a', [])).rowCount).toBe(1)
    expect(await errorOf(client.query('FETCH e'))).toMatchObject({ code: '54000' })
    await client.query('ROLLBACK')
  })

  test('prepare and execute statements, which are those of the protocol', async () => {
    const { client } = await spender(0.015)
    const asked = "SELECT COUNT(*) FROM census WHERE Age BETWEEN 20 AND 30 AND Sex = 'M'"
    const { rows } = await client.query(asked)
    const before = await spent()
    const prepared = 'SELECT COUNT(*) FROM census WHERE Age BETWEEN $1 AND $2 AND Sex = $3'
    await client.query(`SELECT 1; PREPARE counted (int) AS ${prepared}`)
    expect((await client.query("EXECUTE counted(20, '30', 'M')")).rows).toEqual(rows)
    expect((await client.query('EXECUTE counted($1, $2, $3)', [20, 30, 'M'])).rows).toEqual(rows)
    await client.query({ name: 'own', text: prepared, values: [20, 30, 'M'] })
    expect((await client.query("EXECUTE own(20, 30, 'M')")).rows).toEqual(rows)
    expect(await spent()).toEqual(before)
    expect(await errorOf(client.query(`PREPARE counted AS ${asked}`))).toMatchObject({ code: '42P05' })
    expect(await errorOf(client.query('EXECUTE counted(1)'))).toMatchObject({ code: '08P01' })
    expect(await errorOf(client.query("EXECUTE counted('x', 1, 'M')"))).toMatchObject({ code: '22023' })
    const wrong = 'PREPARE wrong AS SELECT nope FROM census'
    expect(await errorOf(client.query(wrong))).toMatchObject({ code: '42804', position: '25' })
    await client.query('DEALLOCATE counted')
    expect(await errorOf(client.query('EXECUTE counted(1, 2, 3)'))).toMatchObject({ code: '26000' })
  })

  test('attack: prepared statements fill no memory', async () => {
    const { client } = await connect()
    const padded = `SELECT 1 AS one /* ${'x'.repeat(16_000)} */`
    const prepare = async () => {
      for (let name = 0; name < 20; name += 1) await client.query(`PREPARE s${name} AS ${padded}`)
    }
    expect(await errorOf(prepare())).toMatchObject({ code: '54000' })
    await client.query('DEALLOCATE s0; PREPARE again AS SELECT 1 AS one')
    expect((await client.query('EXECUTE again')).rows).toEqual([{ one: 1 }])
  })

  test('attack: a statement that executes itself does not run', async () => {
    const { client } = await connect()
    // The driver prepares the statement and leaves it.
    await errorOf(client.query({ name: 'self', text: 'EXECUTE self' }))
    expect(await errorOf(client.query('EXECUTE self'))).toMatchObject({ code: '0A000' })
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
  })
})

describe('a session', () => {
  test('needs an API key of its user', async () => {
    const wrong = async (changes: ClientConfig) => errorOf(connect(changes))
    expect(await wrong({ password: 'nonsense' })).toMatchObject({ code: '28P01' })
    expect(await wrong({ password: service.keyOf('custodian') })).toMatchObject({ code: '28P01' })
    expect(await wrong({ database: 'other' })).toMatchObject({ code: '3D000' })
    const { client } = await connect({ user: 'custodian', password: service.keyOf('custodian') })
    expect(await errorOf(client.query('SELECT COUNT(*) FROM census'))).toMatchObject({ code: '42501' })
  })

  test('attack: what a name is asked for does not tell whether it has keys', async () => {
    await service.as('custodian').post('/v1/keys').send({ name: 'newer', role: 'analyst' }).expect(201)
    const { body } = await service.as('custodian').post('/v1/keys').send({ name: 'older', role: 'analyst' })
    expect(JSON.stringify(body)).not.toContain('storedKey')
    const file = path.join(service.dataDirectory, 'keys.json')
    const stored = JSON.parse(await readFile(file, 'utf8'))
    for (const key of stored.keys) if (key.name === 'older') delete key.scram
    await writeFile(file, JSON.stringify(stored), { mode: 0o600 })
    const exchange = async (user: string) => {
      const raw = await rawConnection(must(service.pgPort, 'the port'))
      raw.send(startPacket({ user, database: 'sotto' }))
      const first = 'n,,n=,r=client'
      raw.send(message('p', 'SCRAM-SHA-256', first.length, Buffer.from(first)))
      await raw.sent('i=')
      raw.send(message('p', Buffer.from(`c=biws,r=other,p=${Buffer.alloc(32).toString('base64')}`)))
      const reply = (await raw.closed).toString('latin1')
      return reply
        .replaceAll(`"${user}"`, 'NAME')
        .replace(/r=[^,]+,s=([^,]+)/, (_, salt) => `${salt.length} bytes`)
    }
    const [known, older, unknown] = [
      await exchange('newer'),
      await exchange('older'),
      await exchange('never'),
    ]
    expect(known).toContain('SCRAM-SHA-256')
    expect(known).toContain('28P01')
    expect([older, unknown]).toEqual([known, known])
    const connecting = (key: string) => connect({ user: 'older', password: key })
    expect(await errorOf(connecting(body.key))).toMatchObject({
      code: '28P01',
      hint: expect.stringContaining('rotated'),
    })
    const rotated = await service.as('custodian').post(`/v1/keys/${body.id}/rotate`).send({}).expect(200)
    await connecting(rotated.body.key)
  })

  test('begins with the settings of its key, below its own', async () => {
    const settings = { epsilon: 0.013, halfWidths: true }
    const asked = { name: 'painter', role: 'analyst', spending: 'allow', settings }
    const { body } = await service.as('custodian').post('/v1/keys').send(asked).expect(201)
    expect(body).toMatchObject({ spending: 'allow', settings })
    const signIn = { user: 'painter', password: body.key }
    const shown = async (client: Client, name: string) =>
      Object.values((await client.query(`SHOW ${name}`)).rows[0])
    const { client } = await connect(signIn)
    const { fields } = await client.query('SELECT COUNT(*) AS n FROM census WHERE Age > 17')
    expect(fields.map(({ name }) => name)).toEqual(['n', 'n_half_width'])
    await client.query('SET sotto.half_width = 5')
    expect(await shown(client, 'sotto.epsilon')).toEqual([''])
    await client.query('RESET sotto.half_width')
    expect(await shown(client, 'sotto.epsilon')).toEqual(['0.013'])
    await client.query('SET sotto.epsilon = 0.2; RESET sotto.half_width')
    expect(await shown(client, 'sotto.epsilon')).toEqual(['0.2'])
    await client.query('SET sotto.half_width = 5; RESET ALL')
    expect(await shown(client, 'sotto.epsilon')).toEqual(['0.013'])
    const stated = await connect({
      ...signIn,
      options: '-c sotto.half_width=50 -c sotto.spending=replay-only',
    })
    expect(await shown(stated.client, 'sotto.epsilon')).toEqual([''])
    expect(await shown(stated.client, 'sotto.spending')).toEqual(['replay-only'])
    const both = { ...asked, name: 'both', settings: { epsilon: 1, halfWidth: 5 } }
    const refused = await service.as('custodian').post('/v1/keys').send(both).expect(400)
    expect(refused.body.errors).toEqual([{ field: 'settings.halfWidth', rule: expect.any(String) }])
  })

  test('attack: with a key for answers that cost nothing, nothing can be paid for, over HTTP neither', async () => {
    const create = async (more: object) =>
      (
        await service
          .as('custodian')
          .post('/v1/keys')
          .send({ name: 'wall', role: 'analyst', ...more })
          .expect(201)
      ).body.key
    const [paying, watching] = [await create({}), await create({ samePrincipal: true, spending: 'never' })]
    const sql = 'SELECT COUNT(*) FROM census WHERE Age > 23'
    const options = '-c sotto.epsilon=0.012'
    const before = await spent()
    const { client } = await connect({ user: 'wall', password: watching, options })
    const error = await errorOf(client.query(sql))
    expect(error).toMatchObject({ code: '25006', message: expect.stringContaining('the key allows only') })
    expect(error.hint).toBeUndefined()
    const raised = { code: '42501' }
    expect(await errorOf(client.query("SET sotto.spending = 'allow'"))).toMatchObject(raised)
    expect(await errorOf(client.query("SELECT set_config('sotto.spending', 'ALLOW', false)"))).toMatchObject(
      raised,
    )
    const allowing = { user: 'wall', password: watching, options: '-c sotto.spending=allow' }
    expect(await errorOf(connect(allowing))).toMatchObject({ ...raised, severity: 'FATAL' })
    const query = { kind: 'count', epsilon: 0.012 }
    const asHolder = (key: string) => withKey(key).post('/v1/datasets/census/queries').send(query)
    const answer = await asHolder(watching).expect(403)
    expect(answer.body).toMatchObject({ code: 'forbidden', price: { epsilon: 0.012 } })
    const batch = { queries: [query, { ...query, where: { column: 'Age', op: '>', value: 5 } }] }
    await withKey(watching).post('/v1/datasets/census/queries/batch').send(batch).expect(403)
    const session = { epsilon: 0.1, threshold: 5, positives: 1 }
    await withKey(watching).post('/v1/datasets/census/sparse-vector-sessions').send(session).expect(403)
    expect(await spent()).toEqual(before)
    await asHolder(paying).expect(200)
    await asHolder(watching).expect(200)
    const payer = await connect({
      user: 'wall',
      password: paying,
      options: `${options} -c sotto.spending=allow`,
    })
    const { rows } = await payer.client.query(sql)
    expect((await client.query(sql)).rows).toEqual(rows)
  })

  test('ends once its key is deleted', async () => {
    const created = await service.as('custodian').post('/v1/keys').send({ name: 'leaver', role: 'analyst' })
    const { key, id } = created.body
    const { client } = await connect({ user: 'leaver', password: key })
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
    await service.as('custodian').delete(`/v1/keys/${id}`).expect(204)
    expect(await errorOf(client.query('SELECT 1'))).toMatchObject({ code: '28000', severity: 'FATAL' })
  })

  test('sees the datasets of its key only, and nothing of the evaluator', async () => {
    const created = await service
      .as('custodian')
      .post('/v1/keys')
      .send({ name: 'limited', role: 'analyst', datasets: ['shared'] })
    const { client } = await connect({ user: 'limited', password: created.body.key })
    const names = async (sql: string) => (await client.query({ text: sql, rowMode: 'array' })).rows.flat()
    expect(await names('SELECT relname FROM pg_class WHERE relnamespace = 2200')).toEqual(['shared'])
    expect(await names('SELECT table_name FROM information_schema.tables')).toEqual(['shared'])
    expect(await names('SELECT DISTINCT table_name FROM information_schema.columns')).toEqual(['shared'])
    expect(await names("SELECT 'census'::regclass::oid")).toEqual([null])
    expect(await errorOf(client.query('SELECT DISTINCT "Sex" FROM census'))).toMatchObject({ code: '42P01' })
    const derived = `SELECT column_name, data_type, is_nullable, col_description('public.shared'::regclass, ordinal_position)
      FROM information_schema.columns WHERE column_name = 'Adult'`
    expect(await names(derived)).toEqual(['Adult', 'boolean', 'NO', 'Of age; Age >= 18; boolean'])
    for (const sql of ['SELECT COUNT(*) FROM census', 'SELECT * FROM census, shared LIMIT 0'])
      expect(await errorOf(client.query(sql))).toMatchObject({ code: '42P01' })
    // The type of a parameter would tell that of a column.
    const compared = 'SELECT COUNT(*) FROM census WHERE Age = $1'
    expect(await errorOf(client.query(compared, ['x']))).toMatchObject({ code: '42P01' })
    for (const unknown of [
      "read_text('/etc/passwd')",
      'duckdb_settings()',
      "getenv('HOME')",
      "query('SELECT 1')",
    ]) {
      expect(await errorOf(client.query(`SELECT * FROM ${unknown}`))).toMatchObject({ code: '42883' })
      expect(await errorOf(client.query(`SELECT ${unknown}`))).toMatchObject({ code: '42883' })
    }
    await errorOf(client.query('SELECT * FROM pg_catalog."/etc/passwd"'))
    await errorOf(client.query('SELECT 1 FROM (WITH "/etc/passwd" AS (SELECT 1) SELECT 1) a, "/etc/passwd"'))
  })

  test('attack: statements about the catalogue change nothing, and their results fill no memory', async () => {
    const { client } = await connect()
    const changing = 'WITH gone AS (DELETE FROM pg_class RETURNING oid) SELECT oid FROM gone'
    expect((await errorOf(client.query(changing))).code).toBe('0A000')
    // 2,000 rows of a million characters each.
    let long = "SELECT replace('aaaaaaaaaa', 'a', 'aaaaaaaaaa') AS x"
    for (let doubled = 0; doubled < 4; doubled += 1)
      long = `SELECT replace(x, 'a', 'aaaaaaaaaa') AS x FROM (${long} LIMIT 1) t`
    const before = process.memoryUsage().rss
    const error = await errorOf(client.query(`SELECT x FROM (${long}) t, generate_series(1, 2000) s`))
    expect(error.code).toBe('54000')
    expect(process.memoryUsage().rss - before).toBeLessThan(1_000_000_000)
    // Names that are printed as they are would be read as something else.
    for (const injected of [
      'SELECT rank() OVER "(), length(repeat($$x$$, 1000))" FROM pg_class LIMIT 1',
      'WITH "x AS (SELECT * FROM duckdb_functions()), y" AS (SELECT 1) SELECT 1',
      'SELECT 1 FROM (pg_class a JOIN pg_class b ON true) "j, duckdb_settings() s"',
    ])
      expect((await errorOf(client.query(injected))).code).toBe('0A000')
    const nulls = Array.from({ length: 300 }, () => 'NULL').join(', ')
    const wide = `SELECT ${nulls} FROM generate_series(1, 1000) s`
    expect((await errorOf(client.query(wide))).code).toBe('54000')
    expect((await client.query('SELECT count(*) FROM pg_class')).rows).toHaveLength(1)
  })

  test('allows spending for as long as it says', async () => {
    const { client } = await connect()
    const spending = async () => (await client.query('SHOW sotto.spending')).rows[0]['sotto.spending']
    await client.query("SELECT set_config('sotto.spending', 'allow', true)")
    expect(await spending()).toBe('replay-only')
    await client.query("BEGIN; SAVEPOINT a; SET sotto.spending = 'allow'")
    expect(await spending()).toBe('allow')
    await client.query('ROLLBACK TO a; COMMIT')
    expect(await spending()).toBe('replay-only')
    await client.query("BEGIN; SET LOCAL sotto.spending = 'allow'; RELEASE nothing; COMMIT")
    expect(await spending()).toBe('replay-only')
    await client.query("SET sotto.spending = 'allow'; BEGIN; SET LOCAL sotto.spending = 'replay-only'")
    await client.query("SET sotto.spending = 'replay-only'; SET LOCAL sotto.spending = 'allow'; COMMIT")
    expect(await spending()).toBe('replay-only')
    await client.query('SET sotto.half_width = 5; BEGIN; SET LOCAL sotto.epsilon = 1; COMMIT')
    expect((await client.query('SHOW sotto.half_width')).rows).toEqual([{ 'sotto.half_width': '5' }])
    const started = await spender(0.01)
    await started.client.query('SET sotto.epsilon = 1; DISCARD ALL')
    expect((await started.client.query('SHOW sotto.epsilon')).rows).toEqual([{ 'sotto.epsilon': '0.01' }])
  })

  test('has settings and transactions', async () => {
    const { client } = await connect()
    await client.query("SET statement_timeout = '5s'; SET application_name TO 'tool'")
    expect((await client.query('SHOW statement_timeout')).rows).toEqual([{ statement_timeout: '5s' }])
    await client.query('BEGIN READ ONLY')
    await errorOf(client.query('SHOW nothing'))
    expect(await errorOf(client.query('SELECT 1'))).toMatchObject({ code: '25P02' })
    expect(await client.query('COMMIT')).toMatchObject({ command: 'ROLLBACK' })
    await client.query('DISCARD ALL')
    expect((await client.query('SHOW statement_timeout')).rows).toEqual([{ statement_timeout: '0' }])
    expect(await errorOf(client.query("SET client_encoding = 'LATIN1'"))).toMatchObject({ code: '22023' })
    expect(await errorOf(client.query('SET sotto.epsilon = -1'))).toMatchObject({ code: '22023' })
  })

  test('attack: statements that are only prepared, or no SQL, count as requests', async () => {
    const clientOf = async (name: string) => {
      const quota = { requestsPerMinute: 1, burst: 5 }
      const { body } = await service.as('custodian').post('/v1/keys').send({ name, role: 'analyst', quota })
      return (await connect({ user: name, password: body.key })).client
    }
    const flooding = await clientOf('flooding')
    const codes: (string | undefined)[] = []
    for (let sent = 0; sent < 6; sent += 1) codes.push((await errorOf(flooding.query('SELEC 1'))).code)
    expect(codes).toEqual(['42601', '42601', '42601', '42601', '53400', '53400'])
    // A sign-in counts once, and so does a statement that is prepared, described, bound and executed.
    const usual = await clientOf('usual')
    for (let sent = 0; sent < 4; sent += 1)
      expect((await usual.query('SELECT $1::int AS n', [sent])).rows).toEqual([{ n: sent }])
    expect(await errorOf(usual.query('SELECT $1::int AS n', [4]))).toMatchObject({ code: '53400' })
    expect(describeError(new LimiterFull()).report).toMatchObject({ code: '53300', severity: 'ERROR' })
  })

  test('ends a statement after statement_timeout, once its answer would have been released', async () => {
    const slow = { title: 'Slow', source: { kind: 'population', rows: 100, seed: 'slow' }, synthetic: true }
    const columns = [{ name: 'Age', type: 'integer', lower: 0, upper: 120, nullable: false }]
    const privacy = {
      privacyUnit: { kind: 'row' },
      neighbours: 'add-remove',
      budget: { epsilon: 1, delta: 0 },
    }
    await service
      .register({ id: 'slow', ...slow, columns, ...privacy, timing: { deadlineMs: 300 } })
      .expect(201)
    const { client } = await spender(0.01)
    await client.query("SET statement_timeout = '20ms'")
    const startMs = performance.now()
    expect(await errorOf(client.query('SELECT COUNT(*) FROM slow'))).toMatchObject({
      code: '57014',
      message: expect.stringContaining('statement_timeout'),
    })
    expect(performance.now() - startMs).toBeGreaterThan(280)
    await client.query('SET statement_timeout = 0')
    expect((await client.query('SELECT COUNT(*) FROM slow')).rowCount).toBe(1)
    expect(await errorOf(client.query("SET statement_timeout = 'soon'"))).toMatchObject({ code: '22023' })
  })

  test('sees a changed description', async () => {
    const { client } = await connect()
    const comment = async () =>
      (await client.query("SELECT col_description('shared'::regclass, 1) AS text")).rows[0].text
    expect(await comment()).not.toContain('Changed')
    const columns = [{ name: 'Sex', description: 'Changed' }]
    await service.as('custodian').patch('/v1/datasets/shared').send({ columns }).expect(200)
    expect(await comment()).toContain('Changed')
  })

  test('of the dummy database answers from made-up rows at no cost', async () => {
    const before = await spent()
    const { client } = await connect({ database: 'sotto_dummy', options: '-c sotto.epsilon=0.5' })
    const { rows } = await client.query('SELECT COUNT(*) FROM census')
    expect(Math.abs(rows[0].count - 1_000)).toBeLessThan(200)
    expect(await spent()).toEqual(before)
  })
})

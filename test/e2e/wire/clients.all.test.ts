import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { must } from '../../../src/privacy/must.ts'
import { temporaryFolder } from '../../folders.ts'
import { installed } from '../../installed.ts'
import { testService } from '../service.ts'
import { hasJava, hasPython, pgjdbc, pythonWithDrivers } from './drivers.ts'

const run = promisify(execFile)

const service = testService({ SOTTO_DEMO: 'true', SOTTO_PG_PORT: '0' })
const port = () => String(must(service.pgPort, "the port of PostgreSQL's protocol"))

const CENSUS = ['Sex', 'Age', 'Married', 'Earnings', 'Occupation']

let answered: readonly (readonly [string, number, number])[] = []

beforeAll(async () => {
  const days = Array.from({ length: 300 }, (_, index) => new Date(Date.UTC(2024, 0, 1 + (index % 90))))
  const csv = ['day,at', ...days.map((at) => `${at.toISOString().slice(0, 10)},${at.toISOString()}`)].join(
    '\n',
  )
  const { body: upload } = await service
    .as('custodian')
    .post('/v1/sources')
    .attach('file', Buffer.from(csv), 'calendar.csv')
    .expect(201)
  await service
    .register({
      ...{ id: 'calendar', title: 'Days', source: { kind: 'upload', upload: upload.id, format: 'csv' } },
      columns: [
        { name: 'day', type: 'date', lower: '2024-01-01', upper: '2024-12-31', nullable: false },
        {
          name: 'at',
          type: 'timestamp',
          lower: '2024-01-01T00:00:00Z',
          upper: '2024-12-31T00:00:00Z',
          nullable: false,
        },
      ],
      ...{ privacyUnit: { kind: 'row' }, neighbours: 'add-remove', budget: { epsilon: 10, delta: 0 } },
    })
    .expect(201)
  const { body } = await service
    .as('analyst')
    .post('/v1/datasets/census/sql')
    .send({
      sql: 'SELECT "Sex", COUNT(*) AS n, AVG("Age") FROM census WHERE "Age" > 30 GROUP BY 1 ORDER BY 1',
      epsilon: 0.01,
    })
    .expect(200)
  answered = body.rows.map(([sex, n, , mean]: [string, number, number, number]) => [sex, n, mean])
})

describe.skipIf(!installed('psql'))('psql', () => {
  const psql = (...commands: readonly string[]) =>
    run(
      'psql',
      [
        ...['-X', '-A', '-h', '127.0.0.1', '-p', port(), '-U', 'analyst', '-d', 'sotto'],
        ...commands.flatMap((each) => ['-c', each]),
      ],
      {
        env: {
          ...process.env,
          PGPASSWORD: service.keyOf('analyst'),
          PGOPTIONS: '-c sotto.epsilon=0.01',
        },
      },
    )

  test('describes the datasets', async () => {
    const { stdout, stderr } = await psql(
      '\\d',
      '\\dt+',
      '\\d+ census',
      '\\l',
      '\\dn',
      '\\du',
      '\\df',
      '\\dT',
      '\\dp',
    )
    expect(stderr).toBe('')
    for (const expected of [
      'public|census|table|sotto',
      'Age|bigint||not null',
      'integer from 0 to 120, step 1',
      'sotto_dummy',
    ])
      expect(stdout).toContain(expected)
    for (const name of CENSUS) expect(stdout).toContain(name)
  })

  test('asks, and is told the cost', async () => {
    const sql = 'SELECT "Sex", COUNT(*) AS n, AVG("Age") FROM census WHERE "Age" > 30 GROUP BY 1 ORDER BY 1'
    const { stdout, stderr } = await psql(sql)
    expect(stderr).toContain('NOTICE:  replayed at no cost')
    expect(stdout).toContain(answered.map((row) => row.join('|')).join('\n'))
  })
})

describe.skipIf(!hasPython)('drivers of Python', () => {
  test('ask and reflect', async () => {
    const script = path.join(import.meta.dirname, 'clients.py')
    const { stdout } = await run(await pythonWithDrivers(), [
      script,
      '127.0.0.1',
      port(),
      service.keyOf('analyst'),
    ])
    const found = JSON.parse(stdout)
    for (const driver of [
      'psycopg',
      'psycopg binary',
      'psycopg2',
      'asyncpg',
      'asked by psycopg',
      'asked by psycopg2',
    ])
      expect(found[driver], driver).toEqual(answered)
    expect(found.values).toEqual([1, true, 'a', null, 1.5])
    expect(found.dates).toEqual(expect.arrayContaining(['2024-02-28', '2024-02-29', '2024-03-01']))
    expect(found.portions).toBe(10)
    expect(found['reflected by psycopg']).toEqual({
      tables: ['calendar', 'census'],
      columns: expect.arrayContaining([['Age', 'BIGINT', 'integer from 0 to 120, step 1']]),
      comment: 'A made-up census of 100,000 people',
      keys: [[], [], [], [], []],
      views: [],
      schemas: ['information_schema', 'public'],
    })
    expect(found['reflected by psycopg2']).toEqual(found['reflected by psycopg'])
  }, 180_000)
})

describe.skipIf(!hasJava)('pgjdbc', () => {
  test('asks with prepared statements and portions, and reads metadata', async () => {
    const source = path.join(import.meta.dirname, 'Clients.java')
    const { stdout } = await run('java', ['-cp', await pgjdbc(), source, port(), service.keyOf('analyst')])
    const found = Object.fromEntries(
      stdout
        .trim()
        .split('\n')
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    )
    const text = answered
      .map(([sex, n, mean]) => `${sex} ${Number.isInteger(n) ? `${n}.0` : n} ${mean}`)
      .join(' ')
    expect(found).toEqual({
      answers: `[${text}]`,
      portions: '10',
      refused: '42804',
      tables: '[calendar, Days, census, A made-up census of 100,000 people]',
      columns: '[Sex, text, Age, int8, Married, text, Earnings, int8, Occupation, text]',
      schemas: '[information_schema, pg_catalog, public]',
      keys: '[][][]',
      privileges: '[PUBLIC, SELECT, sotto, SELECT]',
      catalogs: '[sotto, sotto_dummy]',
      done: 'PostgreSQL',
    })
  }, 180_000)
})

const R_PACKAGE = ['RPostgres', 'RPostgreSQL'].find((name) => rHas(name))

function rHas(name: string): boolean {
  return (
    spawnSync('Rscript', ['-e', `quit(status = !requireNamespace("${name}", quietly = TRUE))`]).status === 0
  )
}

describe.skipIf(R_PACKAGE === undefined)(
  R_PACKAGE ?? 'R (skipped: neither RPostgres nor RPostgreSQL is installed)',
  () => {
    test('lists the datasets and their columns, and asks', async () => {
      const program = `
        connection <- DBI::dbConnect(${R_PACKAGE}::${R_PACKAGE === 'RPostgres' ? 'Postgres' : 'PostgreSQL'}(), host = "127.0.0.1", port = ${port()}L,
          user = "analyst", password = Sys.getenv("KEY"), dbname = "sotto", options = "-c sotto.epsilon=0.01")
        found <- DBI::dbGetQuery(connection, 'SELECT "Sex", COUNT(*) AS n, AVG("Age") FROM census WHERE "Age" > 30 GROUP BY 1 ORDER BY 1')
        cat(sprintf("%s %.17g %.17g\n", found$Sex, found$n, found$avg), sep = "")
        cat(DBI::dbListTables(connection), sort(DBI::dbListFields(connection, "census")), sep = "|")
        cat("\n", DBI::dbExistsTable(connection, "census"), DBI::dbExistsTable(connection, "nope"))`
      const { stdout } = await run('Rscript', ['-e', program], {
        env: { ...process.env, KEY: service.keyOf('analyst') },
      })
      const lines = stdout.split('\n')
      expect(lines.slice(0, answered.length).map((line) => line.split(' '))).toEqual(
        answered.map(([sex, n, mean]) => [sex, expect.toSatisfy(is(n)), expect.toSatisfy(is(mean))]),
      )
      const [listed, exists] = lines.slice(answered.length)
      expect(listed?.split('|').sort()).toEqual([...CENSUS, 'calendar', 'census'].sort())
      expect(exists).toBe(' TRUE FALSE')
    })
  },
)

const is = (number: number) => (text: string) => Number(text) === number

const PSQLODBC = '/usr/lib/x86_64-linux-gnu/odbc/psqlodbcw.so'

const hasOdbc = existsSync(PSQLODBC) && installed('isql')

describe.skipIf(!hasOdbc)(hasOdbc ? 'psqlODBC' : 'psqlODBC (skipped: it or isql is not installed)', () => {
  // With UseDeclareFetch, a statement is a cursor, whose rows are fetched in portions.
  test.each([{}, { UseDeclareFetch: 1, Fetch: 1 }])(
    'lists the datasets and their columns, and asks: %j',
    async (portions) => {
      const sources = path.join(temporaryFolder(), 'odbc.ini')
      const settings = {
        ...{
          Driver: PSQLODBC,
          Servername: '127.0.0.1',
          Port: port(),
          Database: 'sotto',
          UserName: 'analyst',
        },
        ...{ Password: service.keyOf('analyst'), ConnSettings: 'SET sotto.epsilon = 0.01' },
        ...portions,
      }
      const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`)
      await writeFile(sources, ['[sotto]', ...lines, ''].join('\n'), { mode: 0o600 })
      const asked = run('isql', ['sotto', '-b', '-d|'], { env: { ...process.env, ODBCINI: sources } })
      const sql = 'SELECT "Sex", COUNT(*) AS n, AVG("Age") FROM census WHERE "Age" > 30 GROUP BY 1 ORDER BY 1'
      asked.child.stdin?.end(`${sql}\nhelp\nhelp census\n`)
      const { stdout } = await asked
      expect(stdout.match(/^[FM]\|.*/gm)).toEqual(answered.map((row) => row.join('|')))
      expect(stdout).toContain('sotto|public|calendar|TABLE|')
      for (const name of CENSUS)
        expect(stdout).toMatch(new RegExp(`^sotto\\|public\\|census\\|${name}\\|`, 'm'))
    },
  )
})

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rename } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { must } from '../../../src/privacy/must.ts'
import { temporaryFolder } from '../../folders.ts'
import { installed } from '../../installed.ts'
import { findPython } from '../../python.ts'
import { testService } from '../service.ts'

const run = promisify(execFile)
const cache = path.resolve(import.meta.dirname, '../../../node_modules/.cache')

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

const python = findPython()

describe.skipIf(python === undefined)('drivers of Python', () => {
  test('ask and reflect', async () => {
    const environment = path.join(cache, 'postgresql-drivers-of-python')
    if (!existsSync(environment)) {
      const unfinished = `${environment}.${process.pid}`
      await mkdir(cache, { recursive: true })
      await run(must(python, 'Python'), ['-m', 'venv', unfinished])
      const packages = [
        'psycopg[binary]==3.3.9',
        'psycopg2-binary==2.9.11',
        'asyncpg==0.32.0',
        'sqlalchemy==2.1.9',
      ]
      await run(path.join(unfinished, 'bin/pip'), ['install', '--quiet', ...packages])
      await rename(unfinished, environment)
    }
    const script = path.join(import.meta.dirname, 'clients.py')
    const { stdout } = await run(path.join(environment, 'bin/python'), [
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

describe.skipIf(!installed('java') || !installed('mvn'))('pgjdbc', () => {
  test('asks with prepared statements and portions, and reads metadata', async () => {
    const driver = path.join(cache, 'postgresql-42.7.4.jar')
    if (!existsSync(driver)) {
      const copy = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy'
      const artifact = '-Dartifact=org.postgresql:postgresql:42.7.4'
      await run('mvn', ['--quiet', '--batch-mode', copy, artifact, `-DoutputDirectory=${cache}`], {
        cwd: temporaryFolder(),
      })
    }
    const source = path.join(import.meta.dirname, 'Clients.java')
    const { stdout } = await run('java', ['-cp', driver, source, port(), service.keyOf('analyst')])
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
      done: 'PostgreSQL',
    })
  }, 180_000)
})

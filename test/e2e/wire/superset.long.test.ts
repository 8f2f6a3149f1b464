import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Response } from 'supertest'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { entry, must } from '../../../src/privacy/must.ts'
import { folderForAll } from '../../folders.ts'
import { findPython, installPythonPackage } from '../../python.ts'
import { testService } from '../service.ts'

/*
 * Apache Superset, asked through the REST API that its pages use: a connection, a dataset, charts and a dashboard. All requests for
 * data are forced, so that its cache hides no statement.
 */
const python = findPython()
const EPSILON = 0.1
const OCCUPATIONS = ['Statistician', 'Economist', 'Geographer']

const service = testService({ SOTTO_PG_PORT: '0' })
const folder = folderForAll()

async function registerPeople(): Promise<void> {
  const rows = Array.from({ length: 1_200 }, (_, i) =>
    [i % 2 === 0 ? 'M' : 'F', (i * 7) % 91, OCCUPATIONS[i % 3], `202${i % 4}-0${1 + (i % 9)}-11`].join(),
  )
  const csv = Buffer.from(['Sex,Age,Occupation,Joined', ...rows].join('\n'))
  const uploading = service.as('custodian').post('/v1/sources').attach('file', csv, 'people.csv')
  const { body: upload } = await uploading.expect(201)
  await service
    .register({
      ...{ id: 'people', title: 'People', source: { kind: 'upload', upload: upload.id, format: 'csv' } },
      columns: [
        { name: 'Sex', type: 'category', categories: ['M', 'F'], nullable: false },
        { name: 'Age', type: 'integer', lower: 0, upper: 120, nullable: false },
        { name: 'Occupation', type: 'category', categories: OCCUPATIONS, nullable: true },
        { name: 'Joined', type: 'date', lower: '2020-01-01', upper: '2023-12-31', nullable: false },
      ],
      ...{ privacyUnit: { kind: 'row' }, neighbours: 'add-remove', budget: { epsilon: 10, delta: 0 } },
    })
    .expect(201)
}

const spent = async (): Promise<number> => {
  const { body } = await service.as('analyst').get('/v1/datasets/people/budget').expect(200)
  return body.spent.epsilon
}

interface Superset {
  readonly process: ChildProcess
  /** Sends a request, and resolves to the status and the document of its response. */
  ask(method: string, address: string, body?: object): Promise<[status: number, body: Body]>
}

/** A document of another program. */
type Body = Response['body']

/** Starts Superset with metadata of its own, as its documentation has it. */
async function startSuperset(programs: string): Promise<Superset> {
  const config = path.join(folder.path, 'superset_config.py')
  await writeFile(config, "SECRET_KEY = 'of-a-test'\nWTF_CSRF_ENABLED = False\n")
  const options = {
    env: { ...process.env, SUPERSET_CONFIG_PATH: config, SUPERSET_HOME: folder.path, FLASK_APP: 'superset' },
  }
  const program = path.join(programs, 'superset')
  const admin = {
    username: 'admin',
    firstname: 'A',
    lastname: 'B',
    email: 'a@example.org',
    password: 'secret',
  }
  const flags = Object.entries(admin).flatMap(([name, value]) => [`--${name}`, value])
  for (const command of [['db', 'upgrade'], ['fab', 'create-admin', ...flags], ['init']])
    await promisify(execFile)(program, command, { ...options, maxBuffer: 2 ** 26 })
  const child = spawn(program, ['run', '--port', '0'], { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const url = await addressOf(child)
  const ask = async (method: string, address: string, body?: object, token?: string) => {
    const response = await fetch(`${url}/api/v1/${address}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    })
    return [response.status, await response.json()] as [number, Body]
  }
  const { username, password } = admin
  const [, { access_token: token }] = await ask('POST', 'security/login', {
    username,
    password,
    provider: 'db',
  })
  return { process: child, ask: (method, address, body) => ask(method, address, body, token) }
}

/** Waits until a process states the address at which it answers. */
function addressOf({ stdout, stderr, ...child }: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = ''
    const read = (chunk: Buffer) => {
      printed += chunk.toString()
      const found = /Running on (http:\S+)/.exec(printed)?.[1]
      if (found !== undefined) resolve(found)
    }
    stdout?.on('data', read)
    stderr?.on('data', read)
    stderr?.once('close', () => reject(new Error(`Superset ended: ${printed} ${child.exitCode}`)))
  })
}

const AVERAGE_AGE = {
  expressionType: 'SIMPLE',
  column: { column_name: 'Age' },
  aggregate: 'AVG',
  label: 'mean',
}
const YEAR = {
  columnType: 'BASE_AXIS',
  expressionType: 'SQL',
  sqlExpression: 'Joined',
  label: 'Joined',
  timeGrain: 'P1Y',
}

/** Charts, as the explorer saves them: their kind, and their query. */
const CHARTS = [
  ['big_number_total', { columns: [], metrics: ['count'] }],
  [
    'table',
    { columns: ['Sex'], metrics: ['count', AVERAGE_AGE], orderby: [['count', false]], row_limit: 10_000 },
  ],
  [
    'echarts_timeseries_bar',
    {
      ...{ columns: [YEAR, 'Sex'], series_columns: ['Sex'], metrics: ['count'], orderby: [['count', false]] },
      ...{ extras: { time_grain_sqla: 'P1Y' }, row_limit: 10_000 },
      filters: [{ col: 'Joined', op: 'TEMPORAL_RANGE', val: '2021-01-01 : 2023-01-01' }],
    },
  ],
] as const

/** The same questions in JSON. */
const QUESTIONS = [
  { kind: 'count' },
  { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'count' }, { kind: 'mean', column: 'Age' }] },
  {
    ...{ kind: 'contingency', columns: [{ column: 'Joined', by: 'year' }, 'Sex'] },
    where: {
      op: 'and',
      predicates: [
        { column: 'Joined', op: '>=', value: '2021-01-01' },
        { column: 'Joined', op: '<', value: '2023-01-01' },
      ],
    },
  },
]

const title = `Apache Superset${python === undefined ? ' (skipped: Python is not installed)' : ''}`

describe.skipIf(python === undefined)(title, () => {
  let superset: Superset
  let database: number
  let dataset: number
  let dashboard: number

  const uri = (options: string, key = service.keyOf('analyst')) =>
    `postgresql+psycopg2://analyst:${key}@127.0.0.1:${must(service.pgPort, 'the port')}/sotto?options=${encodeURIComponent(options)}`
  const connection = (options: string) => ({ database_name: 'Sotto', sqlalchemy_uri: uri(options) })
  const ask = async (method: string, address: string, body?: object): Promise<Body> => {
    const [status, found] = await superset.ask(method, address, body)
    expect(status, `${address}: ${JSON.stringify(found)}`).toBeLessThan(300)
    return found
  }
  /** Allows to spend, or not, as its owner does in the settings of the connection. */
  const spend = (spending: 'allow' | 'replay-only') =>
    ask(
      'PUT',
      `database/${database}`,
      connection(`-c sotto.epsilon=${EPSILON} -c sotto.spending=${spending}`),
    )
  /** Asks for the data of all charts of the dashboard, as a forced refresh of its page does. */
  const refresh = async (): Promise<readonly [status: number, body: Body][]> => {
    const { result } = await ask('GET', `dashboard/${dashboard}/charts`)
    const answers: [number, Body][] = []
    for (const { id } of result.toSorted((one: Body, other: Body) => one.id - other.id))
      answers.push(await superset.ask('GET', `chart/${id}/data/?force=true`))
    return answers
  }

  beforeAll(async () => {
    const others = ['psycopg2-binary==2.9.11', 'cachetools==6.2.6', 'rich==15.0.0', 'flask-caching==2.3.1']
    const programs = await installPythonPackage(must(python, 'Python'), 'apache-superset==6.1.0', ...others)
    await registerPeople()
    superset = await startSuperset(programs)
    // The installation took ten minutes on a busy machine.
  }, 3_600_000)
  afterAll(async () => {
    if (superset === undefined) return
    const ended = once(superset.process, 'close')
    superset.process.kill()
    await ended
  })

  test('connects, and reads schemas, tables and columns', async () => {
    const options = `-c sotto.epsilon=${EPSILON}`
    expect(await ask('POST', 'database/test_connection/', connection(options))).toEqual({ message: 'OK' })
    const wrong = { database_name: 'Sotto', sqlalchemy_uri: uri(options, 'wrong') }
    const [status, refused] = await superset.ask('POST', 'database/test_connection/', wrong)
    expect([status, JSON.stringify(refused)]).toEqual([400, expect.stringContaining('no API key of')])

    const { id } = await ask('POST', 'database/', { ...connection(options), expose_in_sqllab: true })
    database = id
    const tables = await ask('GET', `database/${database}/tables/?q=(schema_name:public)`)
    expect(tables.result.map(({ value }: { readonly value: string }) => value)).toEqual(['people'])
    const schemas = await ask('GET', `database/${database}/schemas/`)
    expect(schemas.result.toSorted()).toEqual(['information_schema', 'public'])
    const made = await ask('POST', 'dataset/', { database, schema: 'public', table_name: 'people' })
    dataset = made.id
    const { result } = await ask('GET', `dataset/${dataset}`)
    expect(
      result.columns.map((column: Body) => [
        column.column_name,
        column.type,
        column.description,
        column.is_dttm,
      ]),
    ).toEqual([
      ['Sex', 'TEXT', 'one of M, F', false],
      ['Age', 'BIGINT', 'integer from 0 to 120, step 1', false],
      ['Occupation', 'TEXT', `one of ${OCCUPATIONS.join(', ')}`, false],
      ['Joined', 'DATE', expect.stringContaining('2020-01-01'), true],
    ])
  })

  test('shows the price of a chart that is not paid for', async () => {
    dashboard = (await ask('POST', 'dashboard/', { dashboard_title: 'People' })).id
    for (const [viz, query] of CHARTS) {
      const datasource = { id: dataset, type: 'table' }
      const context = { datasource, queries: [query], result_format: 'json', result_type: 'full' }
      await ask('POST', 'chart/', {
        ...{ slice_name: viz, viz_type: viz, datasource_id: dataset, datasource_type: 'table' },
        ...{ params: '{}', query_context: JSON.stringify(context), dashboards: [dashboard] },
      })
    }
    const refused = await refresh()
    expect(refused).toHaveLength(CHARTS.length)
    for (const [status, { message }] of refused) {
      expect(status).toBe(400)
      expect(message).toContain(`It would cost epsilon ${EPSILON}`)
      expect(message).toContain("SET sotto.spending = 'allow'")
    }
    expect(await spent()).toBe(0)
  })

  test('pays once for a dashboard that is refreshed ten times', async () => {
    await spend('allow')
    const first = await refresh()
    const paid = await spent()
    expect(paid).toBeCloseTo(EPSILON * CHARTS.length, 9)
    const shown = first.map(([status, { result }]) => [status, result[0].data])
    for (let time = 2; time <= 10; time += 1) {
      if (time === 10) await spend('replay-only')
      const again = await refresh()
      expect(again.map(([status, { result }]) => [status, result[0].data])).toEqual(shown)
      for (const [, { result }] of again) expect(result[0].is_cached).not.toBe(true)
    }
    expect(await spent()).toBe(paid)

    // The same questions in JSON replay, and have the same figures.
    const answers: Body[] = []
    for (const query of QUESTIONS)
      answers.push((await service.ask('people', { ...query, epsilon: EPSILON }).expect(200)).body.result)
    expect(await spent()).toBe(paid)
    const [[, total], [, table], [, bars]] = shown as [[number, Body], [number, Body], [number, Body]]
    const [count, { groups }, { cells }] = answers as [Body, Body, Body]
    expect(total).toEqual([{ count: count.value }])
    expect(new Set(table)).toEqual(
      new Set(
        groups.map(({ key, values }: Body) => ({
          ...{ Sex: key.Sex, count: values.count.value, mean: values.mean_Age.value },
        })),
      ),
    )
    const selected = cells.filter(({ key }: Body) => ['2021', '2022'].includes(key.Joined))
    expect(bars).toHaveLength(4)
    expect(new Set(bars)).toEqual(
      new Set(
        selected.map(({ key, value }: Body) => ({
          ...{ Joined: Date.UTC(Number(key.Joined)), Sex: key.Sex, count: value },
        })),
      ),
    )
  })

  test('offers the declared values of a filter at no cost', async () => {
    const before = await spent()
    const { result } = await ask('GET', `datasource/table/${dataset}/column/Occupation/values/`)
    expect(result).toEqual(expect.arrayContaining(OCCUPATIONS))
    const values = { columns: ['Occupation'], metrics: [], orderby: [['Occupation', true]], row_limit: 1_000 }
    const [filter] = (
      await ask('POST', 'chart/data', {
        ...{ datasource: { id: dataset, type: 'table' }, force: true, queries: [values] },
        ...{ result_format: 'json', result_type: 'full' },
      })
    ).result
    expect(filter.data.map(({ Occupation }: Body) => Occupation)).toEqual([...OCCUPATIONS.toSorted(), null])
    expect(await spent()).toBe(before)
  })

  test('asks in SQL Lab, and sets there what a question may cost', async () => {
    const lab = (sql: string) =>
      superset.ask('POST', 'sqllab/execute/', {
        ...{
          database_id: database,
          sql,
          schema: 'public',
          client_id: Math.random().toString(36).slice(2, 12),
        },
        ...{ queryLimit: 1_000, runAsync: false },
      })
    const before = await spent()
    const sql = 'SELECT "Sex", COUNT(*) AS count, AVG("Age") AS mean FROM people GROUP BY 1'
    const [, replayed] = await lab(sql)
    expect(replayed.data.map(({ Sex }: Body) => Sex)).toEqual(['M', 'F'])
    const dearer = `${sql} HAVING COUNT(*) > 10`
    const [status, refused] = await lab(`SET sotto.epsilon = 0.2; ${dearer}`)
    expect([status, entry(refused.errors as readonly Body[], 0).message]).toEqual([
      500,
      expect.stringContaining('It would cost epsilon 0.2'),
    ])
    expect(await spent()).toBe(before)
    const [, paid] = await lab(`SET sotto.epsilon = 0.2; SET sotto.spending = 'allow'; ${dearer}`)
    expect(paid.data).toHaveLength(2)
    expect(await spent()).toBeCloseTo(before + 0.2, 9)
    const [, rows] = await lab('SELECT * FROM people')
    expect(JSON.stringify(rows.errors)).toContain('sotto_dummy')
  })
})

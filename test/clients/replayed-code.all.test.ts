import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sqlOf, statedBeside } from '../../console/src/pages/answers/question-as-sql.ts'
import { curlOf, pythonOf, typescriptOf } from '../../console/src/pages/answers/question-code.ts'
import { QUERY_KINDS } from '../../schemas/query.ts'
import { startTestService, type TestService } from '../e2e/service.ts'
import { findPython, installPythonClient } from '../python.ts'

/*
 * The code that the console shows beside an answer, sent to a service that has answered the question: each way of asking
 * gets the stored release, free of charge. The tests of the code with a recorded service cover more questions.
 */

const run = promisify(execFile)
const root = path.resolve(import.meta.dirname, '../..')

/** Arguments of Node, before a program that imports the client by its name. */
const TYPESCRIPT = ['--conditions=sotto-source', '--input-type=module-typescript', '--eval']

const REGISTRATION = {
  id: 'two-clinics',
  title: 'Visits',
  timing: 'off',
  source: { kind: 'file', path: 'visits.csv', format: 'csv' },
  columns: [
    { name: 'patient', type: 'identifier' },
    { name: 'Region', type: 'category', categories: ['north', "the 'south'"] },
    { name: 'day', type: 'date', lower: '2024-01-01', upper: '2024-12-31' },
    { name: 'cost (EUR)', type: 'number', lower: 0, upper: 100, step: 0.5, nullable: true },
    { name: 'age', type: 'integer', lower: 0, upper: 120 },
    { name: 'urgent', type: 'boolean' },
    { name: 'diagnosis', type: 'string', selectable: true },
  ],
  privacyUnit: { kind: 'person', column: 'patient', maxRows: 4 },
  neighbours: 'add-remove',
  budget: { epsilon: 1_000, delta: 1e-3 },
}

const ROWS = Array.from({ length: 300 }, (_, place) => {
  const patient = Math.floor(place / 2)
  const day = `2024-0${1 + (place % 9)}-1${place % 10}`
  const cost = place % 10 === 0 ? '' : (place % 60) + 0.5
  const region = patient % 2 === 0 ? 'north' : "the 'south'"
  return [`p${patient}`, region, day, cost, 20 + (patient % 60), place % 2 === 0, `case ${place % 3}`].join(
    ',',
  )
})

const where = { column: 'age', op: '>=', value: 30 }
const QUESTIONS: readonly Readonly<Record<string, unknown>>[] = [
  { kind: 'count', where, epsilon: 0.5 },
  { kind: 'count', of: 'people', where: { column: 'Region', op: '=', value: "the 'south'" }, epsilon: 0.5 },
  { kind: 'count', contribution: { rows: 2 }, accuracy: { halfWidth: 20, confidence: 0.9 } },
  { kind: 'count', postprocess: { round: true, nonNegative: true }, mechanism: 'laplace', epsilon: 0.51 },
  {
    kind: 'sum',
    column: 'cost (EUR)',
    where: {
      op: 'or',
      predicates: [
        { op: 'and', predicates: [where, { column: 'urgent', op: '=', value: true }] },
        { column: 'cost (EUR)', op: 'isNull' },
        { column: 'day', op: 'between', lower: '2024-02-01', upper: '2024-06-30' },
      ],
    },
    contribution: { rows: 2, perPerson: { lower: 0, upper: 120.5 } },
    epsilon: 0.5,
  },
  {
    kind: 'mean',
    column: 'age',
    mechanism: 'gaussian',
    calibration: 'analytic',
    delta: 1e-6,
    epsilon: 0.5,
  },
  { kind: 'mean', column: 'age', accuracy: { halfWidth: 20 }, supposed: { rows: 300 } },
  { kind: 'variance', column: 'age', epsilon: 0.5 },
  { kind: 'standardDeviation', column: 'cost (EUR)', epsilon: 0.5 },
  { kind: 'covariance', columns: ['age', 'cost (EUR)'], epsilon: 0.5 },
  { kind: 'correlation', columns: ['age', 'cost (EUR)'], epsilon: 0.5 },
  { kind: 'linearRegression', outcome: 'cost (EUR)', predictors: ['age'], ridge: 2, epsilon: 1 },
  { kind: 'proportion', of: { column: 'Region', op: 'in', values: ['north'] }, epsilon: 0.5 },
  { kind: 'countDistinct', column: 'Region', epsilon: 0.5 },
  { kind: 'histogram', column: 'Region', epsilon: 0.5 },
  { kind: 'histogram', column: { column: 'day', by: 'month' }, of: 'people', epsilon: 0.5 },
  { kind: 'histogram', column: { column: 'age', edges: [0, 18, 65, 120] }, epsilon: 0.5 },
  {
    kind: 'contingency',
    columns: ['Region', 'urgent'],
    contribution: { groups: 1, rowsPerGroup: 2 },
    epsilon: 0.5,
  },
  { kind: 'topGroups', keys: ['Region'], k: 1, epsilon: 0.5 },
  { kind: 'noisyMax', candidates: { column: 'Region' }, k: 1, epsilon: 0.5 },
  { kind: 'median', column: 'cost (EUR)', epsilon: 0.5 },
  { kind: 'percentile', column: 'age', p: 95, epsilon: 0.5 },
  { kind: 'percentile', column: 'day', p: [5, 95], epsilon: 0.5 },
  { kind: 'minimum', column: 'day', epsilon: 0.5 },
  { kind: 'maximum', column: 'age', where: { column: 'urgent', op: '!=', value: true }, epsilon: 0.5 },
  { kind: 'keySelection', column: 'diagnosis', delta: 1e-5, counts: true, epsilon: 1 },
  { kind: 'groupBy', keys: [], statistics: [{ kind: 'count' }], epsilon: 0.6 },
  { kind: 'groupBy', keys: ['Region'], statistics: [{ kind: 'count' }], epsilon: 0.7 },
  {
    kind: 'groupBy',
    keys: ['Region', { column: 'day', by: 'quarter' }],
    statistics: [{ kind: 'count' }, { kind: 'count', of: 'people' }, { kind: 'mean', column: 'age' }],
    where,
    epsilon: 0.5,
  },
]
/** Kinds of the questions above that are written as SQL. */
const IN_SQL = [
  'count',
  'sum',
  'mean',
  'variance',
  'standardDeviation',
  'covariance',
  'correlation',
  'histogram',
  'contingency',
  'median',
  'minimum',
  'maximum',
  'groupBy',
]
const titled = QUESTIONS.map((question, place) => [`${place} ${question.kind}`, question] as const)

const python = findPython()
const title = 'the code of an answer, run against the service that gave it'

describe.skipIf(python === undefined)(
  python === undefined ? `${title} (skipped: no Python 3.10 or newer with venv and pip)` : title,
  () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'sotto-code-'))
    let service: TestService
    let programs = ''
    const post = (call: string, body: object) =>
      service.as('analyst').post(`/v1/datasets/two-clinics/${call}`).send(body)
    const spent = async () =>
      (await service.as('analyst').get('/v1/datasets/two-clinics/budget').expect(200)).body.spent
    const target = () => ({ dataset: 'two-clinics', origin: service.url })

    beforeAll(async () => {
      const header = REGISTRATION.columns.map(({ name }) => name).join(',')
      const files = { 'visits.csv': [header, ...ROWS, ''].join('\n') }
      service = await startTestService({}, { files })
      await service.as('custodian').post('/v1/datasets').send(REGISTRATION).expect(201)
      programs = await installPythonClient(python ?? '', folder)
      writeFileSync(path.join(folder, 'analyst.key'), `${service.keyOf('analyst')}\n`)
    })
    afterAll(async () => {
      await service?.close()
      rmSync(folder, { recursive: true, force: true })
    })

    const withKey = () => ({ ...process.env, SOTTO_KEY: service.keyOf('analyst'), PYTHONUTF8: '1' })

    /** Runs code in each language, and returns the releases that it got. */
    async function releasesOf(question: Readonly<Record<string, unknown>>) {
      const sql = sqlOf(question, 'two-clinics', 'patient')
      // One after the other: the service refuses a request while the same one is being answered.
      const curl = await run('sh', ['-c', curlOf(question, target()) ?? ''], { cwd: folder })
      const py = await run(
        path.join(programs, 'python'),
        ['-c', `${pythonOf(question, target())}\nprint("id", answer.id)`],
        { env: withKey() },
      )
      const program = `${typescriptOf(question, target())}\nconsole.log('id', answer.id)`
      const ts = await run(process.execPath, [...TYPESCRIPT, program], { cwd: root, env: withKey() })
      const statement = sql === undefined ? undefined : await post('sql', { sql, ...statedBeside(question) })
      const printed = (text: string) => /^id (\w+)$/m.exec(text)?.[1] ?? text
      return {
        curl: JSON.parse(curl.stdout).id ?? curl.stdout,
        python: printed(py.stdout),
        typescript: printed(ts.stdout),
        ...(statement === undefined ? {} : { sql: statement.body.answer?.id ?? statement.body }),
      }
    }

    test('covers every kind of question', () => {
      expect(new Set(QUESTIONS.map(({ kind }) => kind))).toEqual(new Set(QUERY_KINDS))
    })

    test('is SQL for the kinds that a statement can ask', () => {
      const asSql = QUESTIONS.filter((question) => sqlOf(question, 'two-clinics', 'patient') !== undefined)
      expect(new Set(asSql.map(({ kind }) => kind))).toEqual(new Set(IN_SQL))
    })

    test.each(titled)('gets the stored release, free of charge: %s', async (_, question) => {
      const { status, body } = await post('queries', question)
      expect([status, body.code, body.detail, body.errors]).toEqual([200, undefined, undefined, undefined])
      const before = await spent()
      const releases = await releasesOf(question)
      expect(releases).toEqual(Object.fromEntries(Object.keys(releases).map((each) => [each, body.id])))
      expect(await spent()).toEqual(before)
    })
  },
)

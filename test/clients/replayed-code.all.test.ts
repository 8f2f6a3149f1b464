import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sqlOf, statedBeside } from '../../console/src/pages/answers/code/question-as-sql.ts'
import { curlOf, pythonOf, typescriptOf } from '../../console/src/pages/answers/code/question-code.ts'
import { QUERY_KINDS } from '../../schemas/answers/query.ts'
import { CLINIC_QUESTIONS, CLINICS, CLINICS_CSV } from '../console/answers/clinic-questions.ts'
import { startTestService, type TestService } from '../e2e/service.ts'
import { findPython, pythonWithClient } from '../python.ts'

/*
 * The code that the console shows beside an answer, sent to a service that has answered the question: each way of asking
 * gets the stored release, free of charge. The tests of the code with a recorded service cover more questions.
 */

const run = promisify(execFile)
const root = path.resolve(import.meta.dirname, '../..')

/** Arguments of Node, before a program that imports the client by its name. */
const TYPESCRIPT = ['--conditions=sotto-source', '--input-type=module-typescript', '--eval']

/** Kinds of the questions that are written as SQL. */
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
      service = await startTestService({}, { files: { 'visits.csv': CLINICS_CSV } })
      await service.register(CLINICS).expect(201)
      programs = await pythonWithClient(python ?? '')
      writeFileSync(path.join(folder, 'analyst.key'), `${service.keyOf('analyst')}\n`)
    })
    afterAll(async () => {
      await service?.close()
      rmSync(folder, { recursive: true, force: true })
    })

    const withKey = () => ({ ...process.env, SOTTO_KEY: service.keyOf('analyst'), PYTHONUTF8: '1' })

    /** Runs the code of all questions in one language, and returns the ids of the releases that it got. */
    async function idsOf(command: string, args: readonly string[]): Promise<readonly string[]> {
      const { stdout } = await run(command, args, { cwd: root, env: withKey() })
      return Array.from(stdout.matchAll(/^id (\w+)$/gm), ([, id = '']) => id)
    }

    const pythonOfAll = () =>
      CLINIC_QUESTIONS.map((question) => `${pythonOf(question, target())}\nprint("id", answer.id)`).join('\n')

    /** One program: what all import, once, and a block for each. */
    function typescriptOfAll(): string {
      const programs = CLINIC_QUESTIONS.map((question) => typescriptOf(question, target()) ?? '')
      const imported = programs.flatMap(
        (program) => /^import \{(.*)\} from 'sotto-client'$/m.exec(program)?.[1] ?? [],
      )
      const names = new Set(imported.flatMap((list) => list.split(',').map((name) => name.trim())))
      const blocks = programs.map(
        (program) => `{\n${program.replace(/^import .*$/gm, '')}\nconsole.log('id', answer.id)\n}`,
      )
      return [`import { ${[...names].join(', ')} } from 'sotto-client'`, ...blocks].join('\n')
    }

    /** What the code of a question got, as a command line and as a statement. */
    async function othersOf(question: Readonly<Record<string, unknown>>) {
      const sql = sqlOf(question, 'two-clinics', 'patient')
      // One after the other: the service refuses a request while the same one is being answered.
      const curl = await run('sh', ['-c', curlOf(question, target()) ?? ''], { cwd: folder })
      const statement = sql === undefined ? undefined : await post('sql', { sql, ...statedBeside(question) })
      return {
        curl: JSON.parse(curl.stdout).id ?? curl.stdout,
        ...(statement === undefined ? {} : { sql: statement.body.answer?.id ?? statement.body }),
      }
    }

    test('covers every kind of question', () => {
      expect(new Set(CLINIC_QUESTIONS.map(({ kind }) => kind))).toEqual(new Set(QUERY_KINDS))
    })

    test('is SQL for the kinds that a statement can ask', () => {
      const asSql = CLINIC_QUESTIONS.filter(
        (question) => sqlOf(question, 'two-clinics', 'patient') !== undefined,
      )
      expect(new Set(asSql.map(({ kind }) => kind))).toEqual(new Set(IN_SQL))
    })

    test('gets the stored release, free of charge', async () => {
      const stored: object[] = []
      for (const question of CLINIC_QUESTIONS) {
        const { body } = await post('queries', question).expect(200)
        const others = await othersOf(question)
        expect(others).toEqual(Object.fromEntries(Object.keys(others).map((each) => [each, body.id])))
        stored.push(body.id)
      }
      const before = await spent()
      expect(await idsOf(path.join(programs, 'python'), ['-c', pythonOfAll()])).toEqual(stored)
      expect(await idsOf(process.execPath, [...TYPESCRIPT, typescriptOfAll()])).toEqual(stored)
      expect(await spent()).toEqual(before)
    })
  },
)

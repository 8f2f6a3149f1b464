import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pythonOf } from '../../console/src/pages/answers/code/question-code.ts'
import { QUESTIONS, UNUSUAL_QUESTIONS } from '../console/ask/question-examples.ts'
import { type RecordedService, startRecordedService } from '../console/ask/recorded-service.ts'
import { findPython, pythonWithClient } from '../python.ts'

const ALL = [...QUESTIONS, ...UNUSUAL_QUESTIONS]
const DATASETS = ['class', 'count', 'lambda', 'two-words', 'a-1', 'client', 'sotto', 'col', 'print']

/** Runs the programs, each with names of its own, and prints a JSON list of what ended them. */
const RUNNER = `
import json, sys
ends = []
for program in json.load(open(sys.argv[1])):
    try:
        exec(compile(program, "program", "exec"), {"__name__": "__main__"})
        ends.append("done")
    except Exception as error:
        ends.append(f"{type(error).__module__.split('.')[0]}: {error}")
print(json.dumps(ends))
`

const python = findPython()
const title = 'a question as Python, run with the client'

describe.skipIf(python === undefined)(
  python === undefined ? `${title} (skipped: no Python 3.10 or newer with venv and pip)` : title,
  () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'sotto-python-code-'))
    let service: RecordedService
    let programs = ''
    beforeAll(async () => {
      service = await startRecordedService()
      programs = await pythonWithClient(python ?? '')
      writeFileSync(path.join(folder, 'runner.py'), RUNNER)
    })
    afterAll(async () => {
      await service?.close()
      rmSync(folder, { recursive: true, force: true })
    })

    /** Runs programs and returns the requests that they sent, which the service refuses. */
    async function sentBy(texts: readonly (string | undefined)[]) {
      const file = path.join(folder, 'programs.json')
      writeFileSync(file, JSON.stringify(texts))
      service.requests.length = 0
      const { stdout } = await promisify(execFile)(
        path.join(programs, 'python'),
        [path.join(folder, 'runner.py'), file],
        { env: { SOTTO_KEY: 'test-key', PYTHONUTF8: '1' } },
      )
      const refused = expect.stringMatching(/^sotto: .*Refused/s)
      expect(JSON.parse(stdout)).toEqual(texts.map(() => refused))
      return service.requests
    }
    const request = (target: string, body: unknown) => ({ target, authorization: 'Bearer test-key', body })

    test('asks the same question, of every kind and with every operator', async () => {
      const target = { dataset: 'census', origin: service.origin }
      expect(await sentBy(ALL.map((question) => pythonOf(question, target)))).toEqual(
        ALL.map((question) => request('POST /v1/datasets/census/queries', question)),
      )
    })

    test('asks the same batch', async () => {
      const batch = { queries: ALL, plan: 'separate' }
      expect(await sentBy([pythonOf(batch, { dataset: 'census', origin: service.origin })])).toEqual([
        request('POST /v1/datasets/census/queries/batch', batch),
      ])
    })

    test('asks about made-up rows, of datasets with any name', async () => {
      const question = { kind: 'count', where: { column: 'Age', op: '=', value: 1 }, epsilon: 0.1 }
      const origin = service.origin
      const texts = DATASETS.map((dataset) => pythonOf(question, { dataset, origin, practice: true }))
      expect(await sentBy(texts)).toEqual(
        DATASETS.map((dataset) => request(`POST /v1/datasets/${dataset}/queries?on=dummy`, question)),
      )
    })
  },
)

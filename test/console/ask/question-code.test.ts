import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import * as client from '../../../clients/typescript/src/sotto.ts'
import { curlOf, pythonOf, typescriptOf } from '../../../console/src/pages/answers/code/question-code.ts'
import { QUERY_KINDS, query as querySchema } from '../../../schemas/answers/query.ts'
import { QUESTIONS, UNUSUAL_QUESTIONS } from './question-examples.ts'
import { type RecordedService, startRecordedService } from './recorded-service.ts'

const run = promisify(execFile)
const ALL = [...QUESTIONS, ...UNUSUAL_QUESTIONS]
const titled = ALL.map((question, place) => [`${place} ${question.kind}`, question] as const)

let service: RecordedService
let folder = ''
beforeAll(async () => {
  service = await startRecordedService()
  folder = await mkdtemp(path.join(tmpdir(), 'sotto-code-'))
  await writeFile(path.join(folder, 'analyst.key'), 'test-key\n')
})
afterAll(async () => {
  await service?.close()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(() => {
  service.requests.length = 0
})

/** Runs a TypeScript program. Names that it does not import are not defined. */
async function runTypescript(program: string) {
  const [, names = '', rest = ''] = /^import \{ ([^}]*) \} from 'sotto-client'\n(.*)$/s.exec(program) ?? []
  const imported = names.split(', ')
  const values = imported.map((name) => (client as Readonly<Record<string, unknown>>)[name])
  expect(values).not.toContain(undefined)
  const body = `return (async () => { ${rest} })()`
  const environment = { env: { SOTTO_KEY: 'test-key' } }
  await expect(
    new Function('process', 'console', ...imported, body)(environment, {}, ...values),
  ).rejects.toThrow(client.Problem)
}

const sentTo = (target: string, body: unknown) => [{ target, authorization: 'Bearer test-key', body }]
const QUERIES = 'POST /v1/datasets/census/queries'

describe('the examples', () => {
  test('are questions of every kind, with every operator', () => {
    expect(new Set(ALL.map(({ kind }) => kind))).toEqual(new Set(QUERY_KINDS))
    const operators = [...JSON.stringify(ALL).matchAll(/"op":"([^"]+)"/g)].map(([, op]) => op)
    expect([...new Set(operators)].sort()).toEqual(
      ['!=', '<', '<=', '=', '>', '>=', 'and', 'between', 'in', 'isNull', 'not', 'or'].sort(),
    )
  })

  test.each(titled)('are accepted by the service: %s', (_, question) => {
    expect(querySchema.safeParse(question).error).toBeUndefined()
  })
})

describe('a question as TypeScript', () => {
  test.each(titled.slice(0, QUESTIONS.length))('asks the same question: %s', async (_, question) => {
    await runTypescript(typescriptOf(question, { dataset: 'census', origin: service.origin }) ?? '')
    expect(service.requests).toEqual(sentTo(QUERIES, question))
  })

  test('asks the same batch', async () => {
    const batch = { queries: QUESTIONS, plan: 'together', weights: [1, 2] }
    await runTypescript(typescriptOf(batch, { dataset: 'census', origin: service.origin }) ?? '')
    expect(service.requests).toEqual(sentTo(`${QUERIES}/batch`, batch))
  })

  test.each(['class', 'count', 'await', 'two-words', 'a-1', 'a--b-', 'client', 'col'])(
    'asks about made-up rows, of a dataset with the name %s',
    async (dataset) => {
      const question = { kind: 'count', where: { column: 'Age', op: '=', value: 1 }, epsilon: 0.1 }
      const target = { dataset, origin: service.origin, practice: true }
      await runTypescript(typescriptOf(question, target) ?? '')
      expect(service.requests).toEqual(sentTo(`POST /v1/datasets/${dataset}/queries?on=dummy`, question))
    },
  )

  test('is written as in the documentation', () => {
    const question = { kind: 'count', where: { column: 'Age', op: '>=', value: 65 }, epsilon: 0.1 }
    expect(typescriptOf(question, { dataset: 'census', origin: 'https://sotto.example' })).toBe(
      `import { col, connect } from 'sotto-client'

const client = connect('https://sotto.example', process.env.SOTTO_KEY ?? '')
const census = client.dataset('census')
const answer = await census.count({ where: col('Age').gte(65), epsilon: 0.1 })
console.log(answer)`,
    )
  })

  test('is left out if the functions of the client would make another question', () => {
    const target = { dataset: 'census', origin: service.origin }
    expect(UNUSUAL_QUESTIONS.map((question) => typescriptOf(question, target))).toEqual(
      UNUSUAL_QUESTIONS.map(() => undefined),
    )
    expect(typescriptOf({ queries: [QUESTIONS[0], ...UNUSUAL_QUESTIONS] }, target)).toBeUndefined()
  })
})

describe('a question as a command of curl', () => {
  test.each(titled)('asks the same question: %s', async (_, question) => {
    const command = curlOf(question, { dataset: 'census', origin: service.origin }) ?? ''
    await run('sh', ['-c', command], { cwd: folder })
    expect(service.requests).toEqual(sentTo(QUERIES, question))
  })

  test('asks the same batch about made-up rows', async () => {
    const batch = { queries: ALL }
    const command = curlOf(batch, { dataset: 'census', origin: service.origin, practice: true }) ?? ''
    await run('sh', ['-c', command], { cwd: folder })
    expect(service.requests).toEqual(sentTo(`${QUERIES}/batch?on=dummy`, batch))
  })
})

describe('a question as Python', () => {
  test('is written as in the documentation', () => {
    const question = { kind: 'count', where: { column: 'Age', op: '>=', value: 65 }, epsilon: 0.1 }
    expect(pythonOf(question, { dataset: 'census', origin: 'https://sotto.example' })).toBe(
      `import sotto
from sotto import col

# The key is read from the environment variable SOTTO_KEY.
client = sotto.connect("https://sotto.example")
census = client.dataset("census")
answer = census.count(where=col("Age") >= 65, epsilon=0.1)
print(answer)`,
    )
  })

  test('groups rows and names their statistics', () => {
    const question = {
      kind: 'groupBy',
      keys: ['Sex'],
      statistics: [{ kind: 'count' }, { kind: 'mean', column: 'Earnings' }],
      accuracy: { halfWidth: 100, confidence: 0.9 },
    }
    expect(pythonOf(question, { dataset: 'census', origin: 'https://sotto.example' })).toContain(
      'census.group_by("Sex").agg(n=sotto.count(), mean_earnings=sotto.mean("Earnings")).run(half_width=100, confidence=0.9)',
    )
  })
})

test('the terms of a session have no code', () => {
  const target = { dataset: 'census', origin: 'https://sotto.example' }
  const terms = { threshold: 3, positives: 1, epsilon: 0.5 }
  expect([curlOf, pythonOf, typescriptOf].map((codeOf) => codeOf(terms, target))).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})

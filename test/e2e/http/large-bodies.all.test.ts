import { expect, test } from 'vitest'
import { auditRequest } from '../../../schemas/answers/audit.ts'
import { riskRequest } from '../../../schemas/studies/risk.ts'
import { prepareAuditedPair } from '../../../src/datasets/registration/prepared-pair.ts'
import { readBody } from '../../../src/platform/bodies/validation.ts'
import { Refusal, withinField } from '../../../src/privacy/refusal.ts'
import { testService } from '../service.ts'

/* Bodies of up to 1 MiB are read in threads. */

const service = testService({ SOTTO_AUDIT: 'true' })

const many = <Item>(length: number, itemOf: (place: number) => Item) =>
  Array.from({ length }, (_, place) => itemOf(place))

const risk = (universe: object, more: object = {}) =>
  JSON.stringify({ universe, released: 1, query: { kind: 'sum' }, ...more })

interface LargeBody {
  /** Reads it, as the thread does. */
  readonly read: (body: string) => unknown
  readonly path: string
  readonly body: string
}
const toRisk = { read: (body: string) => readBody(riskRequest, body), path: '/v1/risk' }

const NAMES = many(50, (place) => `c${place}`)

/** An audit of two datasets with a thousand rows and fifty columns. They differ in two rows, which are not neighbours. */
const audit = (fieldOf: (row: number) => unknown) => {
  const rows = many(1_000, (row) => Object.fromEntries(NAMES.map((name) => [name, fieldOf(row)])))
  const columns = NAMES.map((name) => ({ name, type: 'integer', lower: 0, upper: 9 }))
  const pair = { columns, neighbours: 'add-remove', rows, neighbourRows: rows.slice(2) }
  return JSON.stringify({ pair, query: { kind: 'count', epsilon: 1 }, releases: 1 })
}
const toAudits = {
  read: (body: string) => {
    const { pair } = readBody(auditRequest, body)
    return pair && withinField('pair', () => prepareAuditedPair(pair))
  },
  path: '/v1/audit/releases',
}

const BODIES: readonly (readonly [name: string, LargeBody])[] = [
  ['a valid universe', { ...toRisk, body: risk({ a: many(500, () => many(1_000, (row) => row % 10)) }) }],
  [
    'a universe of too many columns',
    { ...toRisk, body: risk(Object.fromEntries(many(50_000, (column) => [`column${column}`, [1, 2]]))) },
  ],
  [
    'many unknown fields',
    { ...toRisk, body: risk({ a: [1, 2] }, Object.fromEntries(many(60_000, (place) => [`f${place}`, 1]))) },
  ],
  [
    'a repeated key after many',
    { ...toRisk, body: `{${many(60_000, (place) => `"f${place}":1`).join()},"f0":1}` },
  ],
  ['a pair that does not differ in one row', { ...toAudits, body: audit((row) => row % 10) }],
  ['a pair with a broken row', { ...toAudits, body: audit((row) => (row < 999 ? row % 10 : [])) }],
]

/** Time that the calling thread computes during a task, whatever other threads and processes do. */
async function computingMs(task: () => unknown): Promise<number> {
  const before = process.threadCpuUsage()
  await task()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}

function refusalOf(task: () => unknown): Refusal | undefined {
  try {
    task()
    return undefined
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

test.each(BODIES)('%s takes the event loop little of the time of reading it', async (_name, large) => {
  const { read, path, body } = large
  const send = (text: string) => service.as('auditor').post(path).type('application/json').send(text)
  await send('{}').expect(400)
  let refusal: Refusal | undefined
  const readingMs = await computingMs(() => {
    refusal = refusalOf(() => read(body))
  })
  let answer: Awaited<ReturnType<typeof send>> | undefined
  const loopMs = await computingMs(async () => {
    answer = await send(body)
  })
  expect(answer?.status).toBe(refusal === undefined ? 200 : 400)
  if (refusal !== undefined) {
    const { code, message: detail, errors } = refusal
    expect(answer?.body).toMatchObject({ code, detail, ...(errors.length > 0 ? { errors } : {}) })
  }
  expect(loopMs).toBeLessThan(readingMs / 2)
})

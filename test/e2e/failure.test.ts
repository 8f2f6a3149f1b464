import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type TestService } from './service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ SOTTO_DEMO: 'true' })
})
afterAll(() => service.close())

/** Hundreds of uneven bins take the engine tens of milliseconds: far longer than a limit of one. */
const slow = {
  kind: 'histogram',
  column: { column: 'Earnings', edges: Array.from({ length: 800 }, (_, index) => index * index * 15) },
  epsilon: 0.25,
}
const ask = (query: object) => service.as('analyst').post('/v1/datasets/census/queries').send(query)
const spent = async () =>
  (await service.as('analyst').get('/v1/datasets/census/budget').expect(200)).body.spent.epsilon
const kinds = async () =>
  (await service.as('auditor').get('/v1/datasets/census/ledger').expect(200)).body.entries.map(
    (entry: { kind: string }) => entry.kind,
  )

test('a query that fails gives one constant problem, stays charged, and its retry is answered under the same charge', async () => {
  await service.restart({ SOTTO_QUERY_TIMEOUT_MS: '1' })
  const failed = await ask(slow).expect(500)
  const again = await ask(slow).expect(500)
  const constant = ({ requestId: _, ...problem }: Record<string, unknown>) => problem
  expect(constant(again.body)).toEqual(constant(failed.body))
  expect(failed.body).toMatchObject({
    code: 'query-failed',
    chargeId: expect.stringMatching(/^[0-9a-f]{32}$/),
  })
  expect(await spent()).toBe(0.25)

  await service.restart({ SOTTO_QUERY_TIMEOUT_MS: '30000' })
  const { body } = await ask(slow).expect(200)
  expect(body.id).toBe(failed.body.chargeId)
  expect(body.budget.spent.epsilon).toBe(0.25)
  expect(await kinds()).toEqual(['answered', 'retried', 'failed', 'retried', 'failed', 'charged', 'opened'])
  expect(service.logLines.filter((line) => line.includes('query failed')).join()).not.toMatch(
    /Earnings|SELECT/,
  )
})

test('rows that cannot be opened stop the start, naming the dataset', async () => {
  const { body } = await service.as('analyst').get('/v1/datasets/census').expect(200)
  const file = path.join(service.dataDirectory, 'datasets', 'census', `${body.version}.duckdb`)
  await service.restart()
  await rm(file)
  await writeFile(file, 'these are no rows')
  await expect(service.restart()).rejects.toThrow('the ingested rows of the dataset census cannot be opened')
})

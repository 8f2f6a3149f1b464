import { rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { suspensionReport } from '../../../schemas/datasets/suspension.ts'
import type { Role } from '../../../src/http/access/principal.ts'
import { withDuckDb } from '../../engines/fixture.ts'
import { testService } from '../service.ts'

const service = testService({ SOTTO_DEMO: 'true' })

const histogram = {
  kind: 'histogram',
  column: { column: 'Age', edges: [0, 18, 65, 120] },
  epsilon: 0.25,
}

/** Returns the file with the ingested census. */
async function censusFile(): Promise<string> {
  const { body } = await service.as('analyst').get('/v1/datasets/census').expect(200)
  return path.join(service.dataDirectory, 'datasets', 'census', `${body.version}.duckdb`)
}

/** Replaces a file by one whose rows never end. */
async function writeEndless(file: string, original: string): Promise<void> {
  await withDuckDb(
    file,
    `ATTACH '${original}' AS original (READ_ONLY)`,
    'CREATE TABLE census AS FROM original.rows',
    'DETACH original',
    'CREATE VIEW rows AS SELECT census.* FROM census, range(1000000000000)',
  )
}

const ask = (query: object) => service.ask('census', query)
const spent = async () =>
  (await service.as('analyst').get('/v1/datasets/census/budget').expect(200)).body.spent.epsilon
const kinds = async () =>
  (await service.as('auditor').get('/v1/datasets/census/ledger').expect(200)).body.entries.map(
    (entry: { kind: string }) => entry.kind,
  )

test('a failed query returns a constant problem and stays charged; the third suspends the dataset until it is resumed', async () => {
  const file = await censusFile()
  const kept = path.join(service.dataDirectory, 'kept.duckdb')
  await rename(file, kept)
  await writeEndless(file, kept)
  await service.restart({ SOTTO_QUERY_TIMEOUT_MS: '100' })
  const failed = await ask(histogram).expect(500)
  const again = await ask(histogram).expect(500)
  const constant = ({ requestId: _, ...problem }: Record<string, unknown>) => problem
  expect(constant(again.body)).toEqual(constant(failed.body))
  expect(failed.body).toMatchObject({
    code: 'query-failed',
    chargeId: expect.stringMatching(/^[0-9a-f]{32}$/),
  })
  expect(await spent()).toBe(0.25)

  // The third failure suspends the dataset for every analyst, also across a restart.
  const seen = () => service.as('custodian').get('/v1/datasets/census/suspension').expect(200)
  expect((await seen()).body).toMatchObject({ suspended: false, failures: 2 })
  await ask(histogram).expect(500)
  for (const query of [histogram, { kind: 'count', epsilon: 0.1 }])
    expect((await ask(query).expect(409)).body.code).toBe('dataset-suspended')
  const others = service.asColleague().post('/v1/datasets/census/queries')
  expect((await others.send({ kind: 'count', epsilon: 0.1 }).expect(409)).body.code).toBe('dataset-suspended')
  expect(await spent()).toBe(0.25)
  await rename(kept, file)
  await service.restart()
  await ask(histogram).expect(409)

  const { body: suspension } = await seen()
  expect(suspensionReport.parse(suspension)).toMatchObject({ suspended: true, failures: 3 })
  const failure = { principal: 'analyst', release: failed.body.chargeId, errorClass: 'EngineTimeout' }
  expect(suspension.counted).toMatchObject([failure, failure, failure])
  const resume = (role: Role) =>
    service.as(role).post('/v1/datasets/census/resume').send({ reason: 'The rows are restored.' })
  for (const role of ['analyst', 'auditor'] as const) await resume(role).expect(403)
  await service.as('analyst').get('/v1/datasets/census/suspension').expect(403)
  const resumed = { suspended: false, failures: 0, counted: [] }
  expect((await resume('custodian').expect(200)).body).toEqual(resumed)
  // A second time changes nothing.
  expect((await resume('custodian').expect(200)).body).toEqual(resumed)
  const { body } = await ask(histogram).expect(200)
  expect(body.id).toBe(failed.body.chargeId)
  expect(body.budget.spent.epsilon).toBe(0.25)
  const failures = ['suspended', 'failed', 'retried', 'failed', 'retried', 'failed', 'charged']
  expect(await kinds()).toEqual(['answered', 'retried', 'resumed', ...failures, 'opened'])
  expect(service.logLines.filter((line) => line.includes('query failed')).join()).not.toMatch(
    /Earnings|SELECT/,
  )
})

test('a stop waits until an answer that is complete is recorded and sent at its release time', async () => {
  await writeFile(path.join(service.dataDirectory, 'pupils.csv'), 'year\n1\n2\n')
  const pupils = {
    id: 'pupils',
    title: 'Pupils',
    source: { kind: 'file', path: 'pupils.csv', format: 'csv' },
    columns: [{ name: 'year', type: 'integer', lower: 1, upper: 4 }],
    privacyUnit: { kind: 'row' },
    neighbours: 'add-remove',
    budget: { epsilon: 1, delta: 0 },
    timing: { deadlineMs: 2_000 },
  }
  await service.register(pupils).expect(201)
  const answered = service.ask('pupils', { kind: 'count', epsilon: 0.5 }).then((response) => response)
  const ledger = async () =>
    (await service.as('custodian').get('/v1/datasets/pupils/ledger').expect(200)).body
  await expect.poll(async () => (await ledger()).entries[0].kind).toBe('charged')
  await service.restart()
  const { status, body } = await answered
  expect(status).toBe(200)
  expect((await service.as('analyst').get(`/v1/releases/${body.id}`).expect(200)).body).toEqual(body)
})

test('rows that cannot be opened stop the start, naming the dataset', async () => {
  const file = await censusFile()
  await service.restart()
  await rm(file)
  await writeFile(file, 'these are no rows')
  await expect(service.restart()).rejects.toThrow('the rows of the dataset census cannot be opened')
})

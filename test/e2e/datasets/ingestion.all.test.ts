import { readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { testService } from '../service.ts'

const service = testService()
beforeAll(async () => {
  await writeFile(path.join(service.dataDirectory, 'small.csv'), 'Age\n1\n2\n3\n')
})

const small = {
  id: 'small',
  title: 'Small',
  source: { kind: 'file', path: 'small.csv', format: 'csv' },
  columns: [{ name: 'Age', type: 'integer', lower: 0, upper: 120 }],
  privacyUnit: { kind: 'row' },
  neighbours: 'add-remove',
  budget: { epsilon: 1 },
  synthetic: true,
}
/** A source that takes minutes: every test stops its ingestion. */
const endless = {
  ...small,
  id: 'endless',
  source: { kind: 'visits', people: 1_000_000, rows: 10_000_000, seed: 'endless' },
  columns: undefined,
  privacyUnit: { kind: 'person', column: 'patient_id', maxRows: 20 },
}

const datasets = () => path.join(service.dataDirectory, 'datasets')
const ingestionsUnderWay = async () =>
  (await readdir(datasets())).filter((name) => name.startsWith('.ingestion-')).length
const register = (registration: object, signal?: AbortSignal) =>
  fetch(`${service.url}/v1/datasets`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.keyOf('custodian')}`, 'content-type': 'application/json' },
    body: JSON.stringify(registration),
    ...(signal === undefined ? {} : { signal }),
  })
const codeOf = async (response: Response) => ((await response.json()) as { code: string }).code

/** Requires that nothing is left of the ingestion: no file, no budget, no dataset. */
async function expectNothingLeft(): Promise<void> {
  await expect.poll(ingestionsUnderWay).toBe(0)
  expect(await readdir(datasets())).not.toContain('endless')
  await service.as('custodian').get('/v1/datasets/endless').expect(404)
  await service.as('custodian').get('/v1/datasets/endless/budget').expect(404)
}

test('other registrations and withdrawals do not wait for an ingestion, which stops when its client leaves', async () => {
  const client = new AbortController()
  const pending = register(endless, client.signal)
  const left = expect(pending).rejects.toThrow()
  await expect.poll(ingestionsUnderWay).toBe(1)
  expect((await register(small)).status).toBe(201)
  await service.as('custodian').delete('/v1/datasets/small').expect(204)
  expect(await ingestionsUnderWay()).toBe(1)
  client.abort()
  await left
  await expectNothingLeft()
})

test('a custodian sees an ingestion with its progress, and stops it before its dataset exists', async () => {
  const custodian = service.as('custodian')
  const list = async () => (await custodian.get('/v1/ingestions').expect(200)).body.ingestions
  const acts = async () => (await service.as('auditor').get('/v1/administration/events').expect(200)).body
  expect(await list()).toEqual([])
  const before = await acts()
  const pending = register(endless)
  await expect.poll(list).toHaveLength(1)
  await expect.poll(ingestionsUnderWay).toBe(1)
  const [ingestion] = await list()
  expect(ingestion).toMatchObject({
    dataset: 'endless',
    kind: 'registration',
    dryRun: false,
    principal: 'custodian',
    phase: expect.stringMatching(/^(copy|check|read|store)$/),
  })
  await service.as('analyst').get('/v1/ingestions').expect(403)
  await service.as('auditor').get('/v1/ingestions').expect(403)
  const unknown = await custodian.delete(`/v1/ingestions/${'f'.repeat(32)}`).expect(404)
  expect(unknown.body.code).toBe('unknown-ingestion')
  await custodian.delete(`/v1/ingestions/${ingestion.id}`).expect(204)
  const response = await pending
  expect(response.status).toBe(409)
  expect(await codeOf(response)).toBe('ingestion-stopped')
  await expectNothingLeft()
  expect(await list()).toEqual([])
  expect(await acts()).toEqual(before)
})

test('an ingestion stops when its id is registered otherwise', async () => {
  const pending = register(endless)
  await expect.poll(ingestionsUnderWay).toBe(1)
  expect((await register({ ...small, id: 'endless' })).status).toBe(201)
  const response = await pending
  expect(response.status).toBe(409)
  expect(await codeOf(response)).toBe('dataset-changed')
  await expect.poll(ingestionsUnderWay).toBe(0)
  await service.as('custodian').delete('/v1/datasets/endless').expect(204)
})

test('the ingestion of a version stops when its dataset is withdrawn, which does not wait for it', async () => {
  const { source } = endless
  const published = { ...endless, id: 'withdrawn', source: { ...source, people: 2, rows: 2 } }
  expect((await register(published)).status).toBe(201)
  const pending = fetch(`${service.url}/v1/datasets/withdrawn/versions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.keyOf('custodian')}`, 'content-type': 'application/json' },
    body: JSON.stringify({ source }),
  })
  await expect.poll(ingestionsUnderWay).toBe(1)
  await service.as('custodian').delete('/v1/datasets/withdrawn').expect(204)
  const response = await pending
  expect(response.status).toBe(409)
  expect(await codeOf(response)).toBe('dataset-changed')
  await expect.poll(ingestionsUnderWay).toBe(0)
  await service.as('custodian').get('/v1/datasets/withdrawn').expect(404)
})

test('an ingestion stops when the service stops, and after its time limit', async () => {
  await service.restart({ SOTTO_INGEST_TIMEOUT_MS: '200' })
  const late = await register({ ...endless, id: 'late' })
  expect(late.status).toBe(422)
  expect(await codeOf(late)).toBe('ingestion-too-long')
  await expect.poll(ingestionsUnderWay).toBe(0)
  await service.restart()
  const pending = register({ ...endless, id: 'late' })
  await expect.poll(ingestionsUnderWay).toBe(1)
  const [response] = await Promise.all([pending, service.restart()])
  expect(response.status).toBe(503)
  expect(await codeOf(response)).toBe('unavailable')
  await expect.poll(ingestionsUnderWay).toBe(0)
})

import { readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { auditedDatasets, auditedReleases } from '../../schemas/audit.ts'
import { startTestService, type TestService } from './service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ SOTTO_AUDIT: 'true' })
})
afterAll(() => service.close())

const audit = (body: object) => service.as('auditor').post('/v1/audit/releases').send(body)
const count = { kind: 'count', epsilon: 2, mechanism: 'geometric' }

async function valuesOf(dataset: string, query: object, releases: number): Promise<number[]> {
  const { body } = await audit({ dataset, query, releases }).expect(200)
  return auditedReleases.parse(body).results.map((result) => {
    if (typeof result === 'object' && result !== null && 'value' in result) return Number(result.value)
    throw new Error('one value was asked for')
  })
}

describe('where the configuration allows it', () => {
  test('an auditor sees pairs of neighbouring datasets in full', async () => {
    const { body } = await service.as('auditor').get('/v1/audit/datasets').expect(200)
    const { datasets } = auditedDatasets.parse(body)
    for (const { id, neighbours, neighbour, people } of datasets) {
      const other = datasets.find((dataset) => dataset.id === neighbour)
      expect(other?.neighbour).toBe(id)
      const texts = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row))
      const [here, there] = [texts(people), texts(other?.people ?? [])]
      const onlyHere = here.filter((row) => !there.includes(row))
      const onlyThere = there.filter((row) => !here.includes(row))
      expect([onlyHere.length, onlyThere.length].sort()).toEqual(
        neighbours === 'change-one' ? [1, 1] : [0, 1],
      )
      const { body: public_ } = await service.as('auditor').get(`/v1/datasets/${id}`).expect(200)
      expect(public_).toMatchObject({ synthetic: true, neighbours })
    }
  })

  test('fresh releases follow the law that was paid for, and are told apart as far as it allows', async () => {
    const [here, there] = [
      await valuesOf('audit-with', count, 3000),
      await valuesOf('audit-without', count, 3000),
    ]
    // P(Y >= 0) = 1 / (1 + q), P(Y >= 1) = q / (1 + q) with q = exp(-2): 0.881 and 0.119 of 6 or more.
    const share = (values: readonly number[]) => values.filter((value) => value >= 6).length / values.length
    const q = Math.exp(-2)
    // Off by 0.05 is 7 standard deviations and more; noise of twice the scale would be off by 0.15.
    expect(Math.abs(share(here) - 1 / (1 + q))).toBeLessThan(0.05)
    expect(Math.abs(share(there) - q / (1 + q))).toBeLessThan(0.05)
  })

  test.each([
    ['a table', { kind: 'histogram', column: 'Sex', epsilon: 1 }],
    ['a median', { kind: 'median', column: 'Age', epsilon: 1 }],
    // The city of three people is kept with a probability of 0.46: all 40 alike come once in 1e10 runs.
    ['keys', { kind: 'keySelection', column: 'City', epsilon: 4.4, delta: 0.01 }],
    ['a variance', { kind: 'variance', column: 'Income', epsilon: 1, delta: 1e-4, mechanism: 'gaussian' }],
  ])('%s, too', async (_name, query) => {
    const { body } = await audit({ dataset: 'audit-after', query, releases: 40 }).expect(200)
    expect(new Set(body.results.map((result: object) => JSON.stringify(result))).size).toBeGreaterThan(1)
    expect(body.results).toHaveLength(40)
  })

  test('no budget and no ledger knows of it', async () => {
    const budget = await service.as('auditor').get('/v1/datasets/audit-with/budget').expect(200)
    expect(budget.body.spent).toEqual({ epsilon: 0, delta: 0 })
    const ledger = await service.as('auditor').get('/v1/datasets/audit-with/ledger').expect(200)
    expect(ledger.body.entries.map((entry: { kind: string }) => entry.kind)).toEqual(['opened'])
  })

  test('a dataset that is not synthetic is refused, whoever asks', async () => {
    await writeFile(path.join(service.dataDirectory, 'patients.csv'), 'Age\n50\n')
    await service
      .as('custodian')
      .post('/v1/datasets')
      .send({
        id: 'patients',
        title: 'Patients',
        source: { kind: 'file', path: 'patients.csv', format: 'csv' },
        columns: [{ name: 'Age', type: 'integer', lower: 0, upper: 100 }],
        privacyUnit: { kind: 'row' },
        neighbours: 'add-remove',
        budget: { epsilon: 1, delta: 0 },
      })
      .expect(201)
    const refused = await audit({ dataset: 'patients', query: count, releases: 1 }).expect(403)
    expect(refused.body.code).toBe('not-synthetic')
    for (const role of ['analyst', 'custodian'] as const) {
      const body = { dataset: 'audit-with', query: count, releases: 1 }
      await service.as(role).post('/v1/audit/releases').send(body).expect(403)
    }
  })

  test('more than a ledger can hold is refused beforehand', async () => {
    const query = { kind: 'count', epsilon: 1, delta: 0.01, mechanism: 'gaussian' }
    const refused = await audit({ dataset: 'audit-with', query, releases: 100 }).expect(400)
    expect(refused.body.errors).toEqual([{ field: 'releases', rule: 'must be at most 99 at this price' }])
  })
})

test('a batch is bounded, one at a time, and refusals name the field of this request', async () => {
  const edges = Array.from({ length: 101 }, (_, edge) => edge)
  const query = { kind: 'histogram', column: { column: 'Age', edges }, epsilon: 1 }
  const tooMany = await audit({ dataset: 'audit-with', query, releases: 10_000 }).expect(400)
  expect(tooMany.body.errors[0]).toMatchObject({
    field: 'releases',
    rule: expect.stringMatching(/^must be at most \d{4} for this query$/),
  })
  const invalidValue = await audit({
    dataset: 'audit-with',
    query: { kind: 'sum', column: 'Ag', epsilon: 1 },
    releases: 1,
  }).expect(422)
  expect(invalidValue.body.errors[0].field).toBe('query.column')
  const together = await Promise.all([1, 2].map(() => audit({ dataset: 'audit-with', query, releases: 500 })))
  expect(together.map(({ status }) => status).sort()).toEqual([200, 503])
})

test('withdrawn datasets stay withdrawn, raised caps stay, and files of others are not touched', async () => {
  const custodian = service.as('custodian')
  await custodian.post('/v1/datasets/audit-before/grants').send({ epsilon: 1, reason: 'a test' }).expect(200)
  await custodian.delete('/v1/datasets/audit-before').expect(204)
  await service.restart()
  const { body } = await service.as('auditor').get('/v1/audit/datasets').expect(200)
  const ids = auditedDatasets.parse(body).datasets.map(({ id }) => id)
  expect(ids).toEqual(['audit-without', 'audit-with', 'audit-after'])

  const other = await startTestService()
  const file = path.join(other.dataDirectory, 'audit-with.csv')
  await writeFile(file, 'mine')
  await expect(other.restart({ SOTTO_AUDIT: 'true' })).rejects.toThrow('audit-with.csv')
  expect(await readFile(file, 'utf8')).toBe('mine')
  await rm(other.dataDirectory, { recursive: true, force: true })
})

test('without the configuration there is no such call', async () => {
  const ordinary = await startTestService()
  try {
    await ordinary.as('auditor').get('/v1/audit/datasets').expect(404)
    const body = { dataset: 'audit-with', query: count, releases: 1 }
    await ordinary.as('auditor').post('/v1/audit/releases').send(body).expect(404)
  } finally {
    await ordinary.close()
  }
})

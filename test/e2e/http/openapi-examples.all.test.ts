import { mkdir, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { OpenAPIV3_1 } from 'openapi-types'
import { beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { answer as answerSchema } from '../../../schemas/answers/answer.ts'
import { testService } from '../service.ts'
import { operationsOf, parametersOf, ROLE_OF_SCHEME, schemaOf } from './operations.ts'

const METRICS_KEY = 'key-of-the-operator'
/** Questions to a population follow the membership of its datasets. */
const AFTER_OTHERS = /releases|{population}.queries/
const service = testService({ SOTTO_DEMO: 'true', SOTTO_METRICS_KEY: METRICS_KEY })
let document: OpenAPIV3_1.Document
beforeAll(async () => {
  document = parse(await (await fetch(`${service.url}/openapi.yaml`)).text())
})

test("every operation's example works with the key of its role", async () => {
  // Operations that others depend on come first, deletions last.
  const order = (method: string, template: string) =>
    method === 'delete' ? 3 : AFTER_OTHERS.test(template) ? 2 : method === 'post' ? 0 : 1
  const inOrder = [...operationsOf(document)].sort(
    (a, b) => order(a.method, a.path) - order(b.method, b.path),
  )
  await mkdir(resolve(service.dataDirectory, 'survey'))
  await writeFile(resolve(service.dataDirectory, 'survey/staff.csv'), 'age\n30\n')
  let uploaded = ''
  let ingestion = ''
  let marginals = ''
  let ended: Promise<unknown> | undefined
  for (const { method, path: template, operation } of inOrder) {
    const parameters = parametersOf(document, operation)
    const exampleOf = (name: string): string => {
      const example = schemaOf(
        document,
        parameters.find((parameter) => parameter.name === name)?.schema ?? {},
      ).example
      expect(example, `${template} has an example for ${name}`).toBeDefined()
      return String(example)
    }
    if (operation.operationId === 'stopIngestion') ({ id: ingestion, ended } = await startIngestion())
    if (operation.operationId === 'answerPopulationBatch') await registerSurvey()
    if (operation.operationId === 'getReleaseTables') marginals = await releaseOfMarginals()
    // The ids of uploads and ingestions are random. Only a release of marginals has tables.
    const idOf = (name: string) => {
      if (name === 'source') return uploaded
      if (name === 'ingestion') return ingestion
      return name === 'id' && operation.operationId === 'getReleaseTables' ? marginals : exampleOf(name)
    }
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => idOf(name))
    const needed = parameters.filter(({ in: place, required }) => place === 'query' && required)
    const query = new URLSearchParams(needed.map(({ name }): [string, string] => [name, exampleOf(name)]))
    const filled = needed.length === 0 ? path : `${path}?${query}`
    const scheme = Object.keys(operation.security?.[0] ?? {})[0]
    const role = scheme === undefined ? undefined : ROLE_OF_SCHEME[scheme]
    const request = service.as(role ?? 'analyst')[method](filled)
    if (scheme === 'metricsKey') request.set('authorization', `Bearer ${METRICS_KEY}`)
    else if (role === undefined) request.unset('authorization')
    const content = (operation.requestBody as OpenAPIV3_1.RequestBodyObject | undefined)?.content
    const form = content?.['multipart/form-data']
    const schema = schemaOf(document, (form ?? content?.['application/json'])?.schema ?? {})
    if (content !== undefined) expect(schema.examples, `${template} has an example body`).toHaveLength(1)
    const body = content === undefined ? undefined : (schema.examples as readonly object[])[0]
    for (const [name, text] of Object.entries(form === undefined ? {} : (body ?? {})))
      request.attach(name, Buffer.from(text), 'example.csv')
    const response = await (body === undefined || form !== undefined ? request : request.send(body))
    if (operation.operationId === 'uploadSource') uploaded = response.body.id
    expect(response.status, `${method} ${filled}: ${response.text}`).toBeLessThan(300)
    if (response.status === 201) expect(response.headers.location, filled).toMatch(/^\/v1\//)
  }
  await ended
})

/** Registers a second dataset of the population of the examples. */
async function registerSurvey(): Promise<void> {
  await writeFile(resolve(service.dataDirectory, 'survey/answers.csv'), 'age\n31\n')
  await service
    .register({
      id: 'survey',
      title: 'Answers of residents',
      source: { kind: 'file', path: 'survey/answers.csv', format: 'csv' },
      columns: [{ name: 'age', type: 'integer', lower: 0, upper: 120 }],
      privacyUnit: { kind: 'row' },
      neighbours: 'add-remove',
      population: 'residents',
      budget: { epsilon: 10, delta: 1e-5 },
    })
    .expect(201)
}

async function releaseOfMarginals(): Promise<string> {
  const query = { kind: 'marginals', columns: ['Sex', 'Married'], ways: 1, epsilon: 0.01 }
  return (await service.ask('census', query).expect(200)).body.id
}

/** Starts a registration whose source takes minutes. */
async function startIngestion(): Promise<{ readonly id: string; readonly ended: Promise<unknown> }> {
  const custodian = service.as('custodian')
  const registration = {
    id: 'visits-of-many',
    title: 'A source that takes minutes',
    source: { kind: 'visits', people: 1_000_000, rows: 10_000_000, seed: 'endless' },
    privacyUnit: { kind: 'person', column: 'patient_id', maxRows: 20 },
    neighbours: 'add-remove',
    budget: { epsilon: 1 },
  }
  const ended = custodian
    .post('/v1/datasets')
    .send(registration)
    .then(({ body }) => body)
  const list = async () => (await custodian.get('/v1/ingestions').expect(200)).body.ingestions
  await expect.poll(list).toHaveLength(1)
  const [{ id }] = await list()
  return { id, ended }
}

test('every kind of query has a working example', async () => {
  const examples = operationsOf(document).flatMap(({ path: template, operation }) => {
    const content = (operation.requestBody as OpenAPIV3_1.RequestBodyObject | undefined)?.content
    const named = content?.['application/json']?.examples ?? {}
    return Object.entries(named).map(([name, example]) => ({ template, name, example }))
  })
  const queries = examples.filter(({ template }) => template === '/v1/datasets/{dataset}/queries')
  expect(queries.map(({ name }) => name)[0]).toBe('contingency')
  expect(queries.length).toBeGreaterThan(12)
  // The allotment of an example before would not pay for all of them.
  const { name } = (await service.as('analyst').get('/v1/me').expect(200)).body
  await service.as('custodian').delete(`/v1/datasets/census/analysts/${name}/allotment`)
  for (const { template, name, example } of examples) {
    if (!('value' in example)) throw new Error('an example has a value')
    const response = await service
      .as('analyst')
      .post(template.replace('{dataset}', 'census'))
      .send(example.value)
    expect(response.status, `${name}: ${response.text}`).toBe(200)
    if (template !== '/v1/datasets/{dataset}/queries') continue
    // The stored document matches the schema of the response, and so does its replay.
    const { id, kind } = answerSchema.parse(response.body)
    expect(kind).toBe(name)
    const release = await service.as('analyst').get(`/v1/releases/${id}`).expect(200)
    const { cost } = answerSchema.parse(release.body)
    const replay = await service.ask('census', example.value)
    expect(answerSchema.parse(replay.body)).toEqual({
      ...release.body,
      cost: { epsilon: 0, delta: 0 },
      price: cost,
    })
  }
})

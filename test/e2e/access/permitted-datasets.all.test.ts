import type { OpenAPIV3_1 } from 'openapi-types'
import supertest from 'supertest'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { ROLES, type Role } from '../../../src/http/access/principal.ts'
import { createKey } from '../../api-key.ts'
import { startTestService, type TestService } from '../service.ts'

// OWASP API1:2023, broken object level authorization. Keys limited to other datasets ask for the dataset `census`.

const ROLE_OF_SCHEME: Record<string, Role> = {
  analystKey: 'analyst',
  custodianKey: 'custodian',
  auditorKey: 'auditor',
}
const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const
const LIMITED_TO = 'audit-with'
const QUERY = { kind: 'count', epsilon: 0.01 }
const SESSION = { threshold: 10, positives: 2, epsilon: 0.1 }

let service: TestService
let document: OpenAPIV3_1.Document
const limitedKeys: Partial<Record<Role, string>> = {}
/** Release and session over `census`, made by the same analyst with a key that is not limited. */
let release = ''
let session = ''

beforeAll(async () => {
  service = await startTestService({ SOTTO_DEMO: 'true', SOTTO_AUDIT: 'true' })
  document = parse(await (await fetch(`${service.url}/openapi.yaml`)).text())
  const agentOf = (key: string) => supertest.agent(service.url).set('authorization', `Bearer ${key}`)
  const principal = { name: 'limited-analyst', role: 'analyst' } as const
  const wide = agentOf(await createKey(service.dataDirectory, principal))
  release = (await wide.post('/v1/datasets/census/queries').send(QUERY).expect(200)).body.id
  session = (await wide.post('/v1/datasets/census/sparse-vector-sessions').send(SESSION).expect(201)).body.id
  await wide.get(`/v1/releases/${release}`).expect(200)
  const custodian = service.as('custodian')
  const population = { id: 'residents', privacyUnit: 'row', budget: { epsilon: 100, delta: 1e-5 } }
  await custodian.post('/v1/populations').send(population).expect(201)
  await custodian.put('/v1/populations/residents/datasets/census').expect(200)
  for (const role of ROLES) {
    const request = { name: `limited-${role}`, role, datasets: [LIMITED_TO], samePrincipal: true }
    limitedKeys[role] = await createKey(service.dataDirectory, request)
  }
})
afterAll(() => service.close())

function limited(role: Role): ReturnType<typeof supertest.agent> {
  return supertest.agent(service.url).set('authorization', `Bearer ${limitedKeys[role]}`)
}

/** Operations of the OpenAPI document. */
function operations() {
  return Object.entries(document.paths ?? {}).flatMap(([template, item]) =>
    METHODS.flatMap((method) => {
      const operation = item?.[method]
      return operation === undefined ? [] : [{ method, template, operation }]
    }),
  )
}

function schemaOf(part: unknown): OpenAPIV3_1.SchemaObject {
  const { $ref } = part as { $ref?: string }
  if ($ref === undefined) return (part ?? {}) as OpenAPIV3_1.SchemaObject
  return schemaOf(document.components?.schemas?.[$ref.split('/').at(-1) ?? ''])
}

/** Returns the example body of an operation, if it has a body. */
function exampleBody(operation: OpenAPIV3_1.OperationObject): object | undefined {
  const content = (operation.requestBody as OpenAPIV3_1.RequestBodyObject | undefined)?.content
  if (content === undefined) return undefined
  return schemaOf(content['application/json']?.schema).examples?.[0]
}

/** Returns the path of an operation with example parameters, for a dataset. */
function pathFor(template: string, operation: OpenAPIV3_1.OperationObject, dataset: string): string {
  const shared: Readonly<Record<string, unknown>> = document.components?.parameters ?? {}
  const parameters = (operation.parameters ?? []).map(
    (part) =>
      ('$ref' in part ? shared[part.$ref.split('/').at(-1) ?? ''] : part) as OpenAPIV3_1.ParameterObject,
  )
  const exampleOf = (name: string) =>
    String(schemaOf(parameters.find((parameter) => parameter.name === name)?.schema).example)
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) =>
    name === 'dataset' ? dataset : exampleOf(name),
  )
  const needed = parameters.filter(({ in: place, required }) => place === 'query' && required)
  const query = new URLSearchParams(needed.map(({ name }): [string, string] => [name, exampleOf(name)]))
  return needed.length === 0 ? path : `${path}?${query}`
}

/** Sends a request and returns the whole answer, with the id of the dataset replaced. */
async function answerOf(role: Role, method: (typeof METHODS)[number], path: string, body?: object) {
  const request = limited(role)[method](path)
  const { status, text, headers } = await (body === undefined ? request : request.send(body))
  const replaced = text.replaceAll('census', 'nowhere').replace(/"requestId":"[^"]*"/, '"requestId":""')
  return { status, text: replaced, type: headers['content-type'] }
}

test('a dataset of others is answered as an unknown one by every operation with a dataset in its path', async () => {
  const before = (await service.as('auditor').get('/v1/datasets/census/ledger/head').expect(200)).body
  const tried: string[] = []
  for (const { method, template, operation } of operations()) {
    if (!template.includes('{dataset}')) continue
    const roles = (operation.security ?? [])
      .flatMap((scheme) => Object.keys(scheme))
      .flatMap((scheme) => ROLE_OF_SCHEME[scheme] ?? [])
    expect(roles.length, `${method} ${template} requires a key`).toBeGreaterThan(0)
    const body = exampleBody(operation)
    for (const role of roles) {
      const ask = (dataset: string, sent: object | undefined) =>
        answerOf(role, method, pathFor(template, operation, dataset), sent)
      const label = `${role} ${method} ${template}`
      const answered = await ask('census', body)
      expect(answered, label).toEqual(await ask('nowhere', body))
      expect(answered.status, label).toBe(404)
      expect(JSON.parse(answered.text).code, label).toBe('unknown-dataset')
      // An invalid body is refused for both in the same order.
      if (body !== undefined)
        expect(await ask('census', { unknown: 1 }), label).toEqual(await ask('nowhere', { unknown: 1 }))
    }
    tried.push(`${method} ${template}`)
  }
  expect(tried.length).toBeGreaterThan(18)
  expect((await service.as('auditor').get('/v1/datasets/census/ledger/head').expect(200)).body).toEqual(
    before,
  )
  await service.as('analyst').get('/v1/datasets/census').expect(200)
})

/** Operations without a dataset in their path. Those marked with true reach a dataset otherwise, and are tested below. */
const OTHER_OPERATIONS: Readonly<Record<string, boolean>> = {
  getApi: false,
  getHealth: false,
  getReadiness: false,
  getMetrics: false,
  getSignIn: false,
  // The datasets in it are those that the key itself names.
  getMe: false,
  listDatasets: true,
  listConnections: false,
  listIngestions: true,
  stopIngestion: true,
  registerDataset: true,
  listSources: false,
  uploadSource: false,
  deleteSource: false,
  draftDeclaration: true,
  createPopulation: false,
  listPopulations: true,
  getPopulation: true,
  grantPopulation: false,
  listAnalystsOfPopulation: true,
  answerPopulationBatch: true,
  previewPopulationBatch: true,
  setPopulationAllotment: false,
  removePopulationAllotment: false,
  getPopulationHead: true,
  exportPopulationLedger: true,
  verifyPopulationLedger: true,
  listKeys: true,
  createKey: true,
  rotateKey: true,
  deleteKey: true,
  listReleases: true,
  getRelease: true,
  getReleaseTables: true,
  postprocessRelease: true,
  plotRelease: true,
  answerSessionQuestion: true,
  getSession: true,
  compareMechanisms: false,
  assessRisk: false,
  chooseEpsilon: false,
  plotRisk: false,
  plotNoiseComparison: false,
  plotAnswerDistribution: false,
  listAuditDatasets: true,
  drawAuditReleases: true,
  listAdministrativeActs: true,
  getAdministrationHead: true,
  exportAdministration: true,
  verifyAdministration: true,
}

test('every other operation has been reviewed: extend the table, and the test below if it reaches a dataset', () => {
  const others = operations().filter(({ template }) => !template.includes('{dataset}'))
  expect(others.map(({ operation }) => operation.operationId).sort()).toEqual(
    Object.keys(OTHER_OPERATIONS).sort(),
  )
})

test('operations that reach a dataset otherwise do not reach one of others', async () => {
  const unknown = 'f'.repeat(32)
  for (const role of ROLES) {
    const { body } = await limited(role).get('/v1/datasets').expect(200)
    expect(body.datasets.map(({ id }: { id: string }) => id)).toEqual([LIMITED_TO])
  }
  const audited = (await limited('auditor').get('/v1/audit/datasets').expect(200)).body.datasets
  expect(audited.map(({ id }: { id: string }) => id)).toEqual([LIMITED_TO])

  for (const role of ROLES) {
    expect((await limited(role).get('/v1/populations').expect(200)).body.populations).toEqual([])
    for (const part of ['', '/analysts', '/ledger/head', '/ledger/export', '/ledger/verification']) {
      const { status } = await answerOf(role, 'get', `/v1/populations/residents${part}`)
      expect([404, 403], `${role} ${part}`).toContain(status)
      expect(status).toBe((await answerOf(role, 'get', `/v1/populations/unknown${part}`)).status)
    }
    const batches = [{ dataset: 'census', queries: [{ kind: 'count', epsilon: 0.1 }] }]
    for (const part of ['', '/preview']) {
      const ask = async (population: string) => {
        const path = `/v1/populations/${population}/queries/batch${part}`
        return (await answerOf(role, 'post', path, { batches })).status
      }
      expect([404, 403], `${role} ${part}`).toContain(await ask('residents'))
      expect(await ask('residents')).toBe(await ask('unknown'))
    }
  }

  const stored = await answerOf('analyst', 'get', `/v1/releases/${release}`)
  expect(stored).toEqual(await answerOf('analyst', 'get', `/v1/releases/${unknown}`))
  expect(stored.status).toBe(404)
  for (const role of ROLES) {
    const listed = await answerOf(role, 'get', '/v1/releases?dataset=census')
    expect(listed).toEqual(await answerOf(role, 'get', '/v1/releases?dataset=nowhere'))
    const plotted = await answerOf(role, 'get', `/v1/releases/${release}/plot`)
    expect(plotted).toEqual(await answerOf(role, 'get', `/v1/releases/${unknown}/plot`))
    expect(plotted.status).toBe(404)
    const processed = await answerOf(role, 'post', `/v1/releases/${release}/postprocess`, {})
    expect(processed).toEqual(await answerOf(role, 'post', `/v1/releases/${unknown}/postprocess`, {}))
    expect(processed.status).toBe(404)
  }
  const opened = await answerOf('analyst', 'get', `/v1/sparse-vector-sessions/${session}`)
  expect(opened).toEqual(await answerOf('analyst', 'get', `/v1/sparse-vector-sessions/${unknown}`))
  expect(opened.status).toBe(404)
  const question = { where: { column: 'Age', op: '>=', value: 30 } }
  const ask = (id: string) =>
    answerOf('analyst', 'post', `/v1/sparse-vector-sessions/${id}/questions`, question)
  expect(await ask(session)).toEqual(await ask(unknown))
  expect((await ask(session)).status).toBe(404)

  for (const role of ['auditor', 'custodian'] as const)
    for (const call of ['events', 'head', 'export', 'verification'])
      expect((await answerOf(role, 'get', `/v1/administration/${call}`)).status).toBe(403)

  const draw = (dataset: string) =>
    answerOf('auditor', 'post', '/v1/audit/releases', { dataset, query: QUERY, releases: 1 })
  expect(await draw('census')).toEqual(await draw('nowhere'))
  expect((await draw('census')).status).toBe(404)

  // A file may be the source of a dataset of others, and a draft shows its columns.
  for (const path of ['census.csv', 'nowhere.csv']) {
    const source = { kind: 'file', path }
    expect((await answerOf('custodian', 'post', '/v1/drafts', { source })).status).toBe(403)
  }

  const registration = operations().find(({ operation }) => operation.operationId === 'registerDataset')
  const register = (id: string) =>
    answerOf('custodian', 'post', '/v1/datasets', {
      ...(registration === undefined ? {} : exampleBody(registration.operation)),
      id,
    })
  expect(await register('census')).toEqual(await register('nowhere'))
  expect((await register('census')).status).toBe(403)
})

test('practice finds no dataset of others', async () => {
  const practise = (dataset: string) =>
    answerOf('analyst', 'post', `/v1/datasets/${dataset}/queries?on=dummy`, QUERY)
  expect(await practise('census')).toEqual(await practise('nowhere'))
  expect((await practise('census')).status).toBe(404)
  expect((await practise(LIMITED_TO)).status).toBe(200)
})

test('a limited custodian neither sees nor makes keys for other datasets', async () => {
  const { body } = await limited('custodian').get('/v1/keys').expect(200)
  expect(body.keys.map(({ id }: { id: string }) => id)).toEqual([
    'limited-analyst.2',
    'limited-custodian.1',
    'limited-auditor.1',
  ])
  const key = (id: string) => answerOf('custodian', 'delete', `/v1/keys/${id}`)
  const replaced = ({ text, ...answer }: Awaited<ReturnType<typeof key>>) => ({
    ...answer,
    text: text.replaceAll('analyst.1', 'nobody.9'),
  })
  expect(replaced(await key('analyst.1'))).toEqual(await key('nobody.9'))
  for (const datasets of [undefined, ['census'], [LIMITED_TO, 'census']])
    await limited('custodian').post('/v1/keys').send({ name: 'wider', role: 'analyst', datasets }).expect(403)
})

test('a limited custodian neither sees nor stops ingestions of other datasets', async () => {
  const custodian = service.as('custodian')
  const pending = custodian
    .post('/v1/datasets')
    .send({
      id: 'elsewhere',
      title: 'A source that takes minutes',
      source: { kind: 'visits', people: 1_000_000, rows: 10_000_000, seed: 'endless' },
      privacyUnit: { kind: 'person', column: 'patient_id', maxRows: 20 },
      neighbours: 'add-remove',
      budget: { epsilon: 1 },
    })
    .then(({ body }) => body.code)
  const list = async () => (await custodian.get('/v1/ingestions').expect(200)).body.ingestions
  await expect.poll(list).toHaveLength(1)
  const [{ id }] = await list()
  expect((await limited('custodian').get('/v1/ingestions').expect(200)).body.ingestions).toEqual([])
  const stop = async (ingestion: string) => {
    const { text, ...answer } = await answerOf('custodian', 'delete', `/v1/ingestions/${ingestion}`)
    return { ...answer, text: text.replaceAll(ingestion, '') }
  }
  const refused = await stop(id)
  expect(refused).toEqual(await stop('f'.repeat(32)))
  expect(refused.status).toBe(404)
  expect(await list()).toHaveLength(1)
  await custodian.delete(`/v1/ingestions/${id}`).expect(204)
  expect(await pending).toBe('ingestion-stopped')
})

test('the permitted dataset is reached as with an unlimited key', async () => {
  await limited('analyst').post(`/v1/datasets/${LIMITED_TO}/queries`).send(QUERY).expect(200)
  await limited('custodian').get(`/v1/datasets/${LIMITED_TO}/budget`).expect(200)
  await limited('auditor').get(`/v1/datasets/${LIMITED_TO}/ledger/verification`).expect(200)
})

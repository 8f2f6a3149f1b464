import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { OpenAPIV3_1 } from 'openapi-types'
import { beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import type { Role } from '../../../src/http/access/principal.ts'
import { testService } from '../service.ts'
import { operationsOf, ROLE_OF_SCHEME, schemaOf } from './operations.ts'

const service = testService({}, { census: true })
let served = ''
let document: OpenAPIV3_1.Document
beforeAll(async () => {
  served = await (await fetch(`${service.url}/openapi.yaml`)).text()
  document = parse(served)
})

test('openapi.yaml is what the code generates (npm run openapi writes it)', async () => {
  expect(await readFile(resolve(import.meta.dirname, '../../../openapi.yaml'), 'utf8')).toBe(served)
})

test('it is OpenAPI 3.1 and lists every operation', () => {
  expect(document.openapi).toBe('3.1.0')
  expect(operationsOf(document).map(({ method, path: template }) => `${method} ${template}`)).toEqual([
    'get /healthz',
    'get /v1/',
    'get /readyz',
    'get /metrics',
    'get /v1/datasets',
    'post /v1/datasets',
    'get /v1/datasets/{dataset}',
    'patch /v1/datasets/{dataset}',
    'delete /v1/datasets/{dataset}',
    'get /v1/datasets/{dataset}/versions',
    'post /v1/datasets/{dataset}/versions',
    'post /v1/datasets/{dataset}/coverage',
    'get /v1/ingestions',
    'delete /v1/ingestions/{ingestion}',
    'get /v1/connections',
    'get /v1/sources',
    'post /v1/sources',
    'delete /v1/sources/{source}',
    'post /v1/drafts',
    'get /v1/datasets/{dataset}/suspension',
    'post /v1/datasets/{dataset}/resume',
    'get /v1/datasets/{dataset}/budget',
    'put /v1/datasets/{dataset}/budget',
    'post /v1/datasets/{dataset}/grants',
    'get /v1/datasets/{dataset}/ledger',
    'get /v1/populations',
    'post /v1/populations',
    'post /v1/populations/{population}/grants',
    'put /v1/populations/{population}/datasets/{dataset}',
    'get /v1/populations/{population}',
    'get /v1/datasets/{dataset}/analysts',
    'put /v1/datasets/{dataset}/analysts/{analyst}/allotment',
    'delete /v1/datasets/{dataset}/analysts/{analyst}/allotment',
    'get /v1/datasets/{dataset}/ledger/head',
    'get /v1/datasets/{dataset}/ledger/export',
    'get /v1/datasets/{dataset}/ledger/verification',
    'get /v1/populations/{population}/analysts',
    'put /v1/populations/{population}/analysts/{analyst}/allotment',
    'delete /v1/populations/{population}/analysts/{analyst}/allotment',
    'get /v1/populations/{population}/ledger/head',
    'get /v1/populations/{population}/ledger/export',
    'get /v1/populations/{population}/ledger/verification',
    'get /v1/keys',
    'post /v1/keys',
    'post /v1/keys/{id}/rotate',
    'delete /v1/keys/{id}',
    'get /v1/me',
    'get /v1/sign-in',
    'get /v1/administration/events',
    'get /v1/administration/head',
    'get /v1/administration/export',
    'get /v1/administration/verification',
    'post /v1/datasets/{dataset}/queries',
    'post /v1/datasets/{dataset}/queries/batch',
    'post /v1/datasets/{dataset}/queries/batch/preview',
    'post /v1/datasets/{dataset}/queries/preview',
    'post /v1/populations/{population}/queries/batch',
    'post /v1/populations/{population}/queries/batch/preview',
    'get /v1/releases',
    'get /v1/releases/{id}',
    'post /v1/datasets/{dataset}/sql',
    'post /v1/datasets/{dataset}/sql/preview',
    'get /v1/datasets/{dataset}/dummy',
    'post /v1/datasets/{dataset}/sparse-vector-sessions',
    'post /v1/datasets/{dataset}/sparse-vector-sessions/preview',
    'post /v1/sparse-vector-sessions/{id}/questions',
    'get /v1/sparse-vector-sessions/{id}',
    'post /v1/mechanisms/compare',
    'post /v1/risk',
    'post /v1/risk/epsilon',
    'post /v1/datasets/{dataset}/evaluations',
    'post /v1/datasets/{dataset}/evaluations/batch',
    'get /v1/plots/risk',
    'get /v1/plots/noise-comparison',
    'get /v1/plots/answer-distribution',
    'get /v1/datasets/{dataset}/plots/noisy-table',
    'post /v1/releases/{id}/postprocess',
    'get /v1/releases/{id}/plot',
    'get /v1/releases/{id}/tables',
  ])
})

test('problems and most parameters are stated once, and every reference leads to something', () => {
  const shared = new Set(
    Object.values(document.components?.parameters ?? {}).map((part) => Object(part).name),
  )
  const inline = operationsOf(document).flatMap(({ operation: { parameters = [], responses = {} } }) => [
    ...parameters.flatMap((part) => ('name' in part && !shared.has(part.name) ? [JSON.stringify(part)] : [])),
    ...Object.entries(responses).flatMap(([status, part]) =>
      status.endsWith('XX') && !('$ref' in part) ? [status] : [],
    ),
  ])
  expect(inline.filter((name, place) => inline.indexOf(name) !== place)).toEqual([])
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g)]
  expect(references.length).toBeGreaterThan(500)
  const components: Readonly<Record<string, object | undefined>> = document.components ?? {}
  const lost = references.filter(([, kind = '', name = '']) => !Object.hasOwn(components[kind] ?? {}, name))
  expect(lost.map(([reference]) => reference)).toEqual([])
})

test('every operation has a unique operationId in camelCase', () => {
  const ids = operationsOf(document).map(({ operation }) => operation.operationId)
  expect(ids.filter((id) => !/^[a-z]+([A-Z][a-z]+)+$/.test(id ?? ''))).toEqual([])
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids).toEqual(
    expect.arrayContaining(['answerQuery', 'previewQuery', 'answerBatch', 'registerDataset']),
  )
})

test('a role may call exactly the operations that list its key', async () => {
  for (const { method, path: template, operation } of operationsOf(document)) {
    const listed = (operation.security ?? []).flatMap((scheme) => Object.keys(scheme))
    if (!listed.some((scheme) => scheme in ROLE_OF_SCHEME)) continue
    const path = template.replace('{id}', '0'.repeat(32)).replace(/\{\w+\}/g, 'nowhere')
    for (const [scheme, role] of Object.entries(ROLE_OF_SCHEME)) {
      const { body } = await service.as(role)[method](path)
      expect(body.code === 'forbidden', `${role} ${method} ${path}: ${body.code}`).toBe(
        !listed.includes(scheme),
      )
    }
  }
})

test('everyone may preview, and custodians may evaluate', () => {
  const rolesOf = (id: string) => {
    const { operation } = operationsOf(document).find((each) => each.operation.operationId === id) ?? {}
    return operation?.security?.flatMap((scheme) => Object.keys(scheme).map((name) => ROLE_OF_SCHEME[name]))
  }
  for (const id of ['previewQuery', 'previewBatch', 'previewSession'])
    expect(rolesOf(id)).toEqual(['analyst', 'custodian', 'auditor'])
  for (const id of ['evaluateQuery', 'plotNoisyTable']) expect(rolesOf(id)).toEqual(['analyst', 'custodian'])
  for (const id of ['answerQuery', 'answerBatch', 'openSession', 'answerSessionQuestion'])
    expect(rolesOf(id)).toEqual(['analyst'])
})

test('a preview is the same for every role', async () => {
  const query = { kind: 'count', where: { column: 'Age', op: '<', value: 7 }, epsilon: 0.1 }
  const previewAs = async (role: Role) =>
    (await service.as(role).post('/v1/datasets/census/queries/preview').send(query).expect(200)).body
  const seen = await previewAs('analyst')
  expect(seen).toMatchObject({ cost: { epsilon: 0.1 }, affordable: true })
  expect(await previewAs('custodian')).toEqual(seen)
  expect(await previewAs('auditor')).toEqual(seen)
})

test('a response without a body is documented without content', () => {
  const withdraw = operationsOf(document).find(({ operation }) => operation.operationId === 'withdrawDataset')
  expect(withdraw?.operation.responses?.['204']).toEqual({ description: 'The dataset was withdrawn.' })
})

test('every reference resolves, and every schema is used', () => {
  const names = Object.keys(document.components?.schemas ?? {})
  const referenced = new Set([...served.matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name]) => name))
  expect([...referenced].sort()).toEqual(names.sort())
})

test('no field is marked as read-only', () => {
  expect(served).not.toContain('readOnly')
})

test('each word has one meaning: none of its other names is on the wire, and its fields have one type', () => {
  const types = new Map<string, Set<string>>()
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    if ('properties' in value && typeof value.properties === 'object')
      for (const [name, property] of Object.entries(value.properties ?? {})) {
        const { type = 'object' } = schemaOf(document, property)
        types.set(name, (types.get(name) ?? new Set()).add(String(type)))
      }
    for (const each of Object.values(value)) visit(each)
  }
  visit(document)
  const otherNames =
    /^(asked|left|charged|charge|amountPaid|budgetLeft|available|margins?|marginOfError|error|ci|individuals?|users?|clients?|privacyBudget|limit|replayed)$/i
  expect([...types.keys()].filter((name) => otherNames.test(name))).toEqual([])
  for (const [name, type] of [
    ['paid', 'boolean'],
    ['cost', 'object'],
    ['price', 'object'],
    ['remaining', 'object'],
    ['spent', 'object'],
    ['statement', 'string'],
    ['interval', 'object'],
  ] as const)
    expect([...(types.get(name) ?? [])], name).toEqual([type])
})

test('every time in a response has one form, and every tag is a reader and a topic', () => {
  const schemas = document.components?.schemas ?? {}
  const formats = [...JSON.stringify(schemas).matchAll(/"format":"date-time"/g)]
  const inQueries = /"format":"date-time"/.test(JSON.stringify(document.paths))
  expect(schemas.Time).toMatchObject({ format: 'date-time' })
  expect(formats.length, 'Time, and the times of requests').toBe(2)
  expect(schemas.KeyRequest).toMatchObject({ properties: { expiresAt: { format: 'date-time' } } })
  expect(inQueries, 'from and to of GET /v1/releases').toBe(true)
  const tags = document.tags?.map(({ name }) => name) ?? []
  for (const { operation } of operationsOf(document))
    for (const tag of operation.tags ?? []) {
      expect(tags).toContain(tag)
      expect(tag).toMatch(/^(Analysts|Custodians|Auditors|Operators): /)
    }
})

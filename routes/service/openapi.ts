import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import type { RouteOptions } from 'fastify'
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod'
import type { OpenAPIV3_1 } from 'openapi-types'
import { stringify } from 'yaml'
import { z } from 'zod'
import { STABILITY } from '../../schemas/service/api.ts'
import { problemResponses } from '../../schemas/service/problem.ts'
import { linkTo } from '../../schemas/studies/plots.ts'
import type { Role } from '../../src/http/access/principal.ts'
import { defined } from '../../src/privacy/defined.ts'
import { PROBLEMS } from '../../src/privacy/problems.ts'
import { operationsOf, shareParts } from './shared-parts.ts'

/** Tags of routes, in the order of the document. Their names in the document begin with the reader. */
const TAGS: Readonly<Record<string, { readonly name: string; readonly description: string }>> = {
  Queries: { name: 'Analysts: queries', description: 'Ask queries and read stored answers.' },
  'Sparse vector': {
    name: 'Analysts: sparse vector',
    description: 'Ask many questions about a threshold for one charge.',
  },
  Datasets: { name: 'Analysts: datasets', description: 'Read the public facts of datasets.' },
  Evaluations: { name: 'Analysts: evaluations', description: 'Measure errors on synthetic data.' },
  Mechanisms: { name: 'Analysts: mechanisms', description: 'Compare mechanisms without a dataset.' },
  Plots: {
    name: 'Analysts: plots',
    description: `SVG pictures. Examples: ${linkTo('risk', 'risk')}, ${linkTo('noise-comparison', 'noise')}, ${linkTo('answer-distribution', 'answers')}.`,
  },
  Registration: {
    name: 'Custodians: registration',
    description: 'Upload files, draft declarations, and register and change datasets.',
  },
  Populations: {
    name: 'Custodians: populations',
    description: 'Share one budget among datasets over the same people.',
  },
  Budgets: { name: 'Custodians: budgets', description: 'Read and raise budgets, and limit analysts.' },
  'Disclosure risk': {
    name: 'Custodians: disclosure risk',
    description: 'Compute disclosure risk, or the epsilon for an accepted risk.',
  },
  Keys: { name: 'Custodians: keys', description: 'Create, rotate and delete API keys.' },
  Ledger: {
    name: 'Auditors: ledger',
    description: 'Read, export and verify the record of all charges.',
  },
  Administration: {
    name: 'Auditors: administration',
    description: 'Read, export and verify the record of administrative acts.',
  },
  Audit: { name: 'Auditors: audit', description: 'Draw releases of synthetic datasets.' },
  Operation: { name: 'Operators: operation', description: 'Health checks and metrics.' },
}

/** Security schemes, one per role, so that Swagger UI can store a key for each role. */
const SECURITY_SCHEMES = {
  analystKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'API key of an analyst. The first one is in `analyst.key` in the data folder.',
  },
  custodianKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'API key of a custodian. The first one is in `custodian.key` in the data folder.',
  },
  auditorKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'API key of an auditor. Create one with POST /v1/keys or `npx sotto key auditor <name>`.',
  },
  metricsKey: { type: 'http', scheme: 'bearer', description: 'The value of `SOTTO_METRICS_KEY`.' },
} as const

const SCHEME_OF_ROLE = {
  analyst: 'analystKey',
  custodian: 'custodianKey',
  auditor: 'auditorKey',
} as const satisfies Record<Role, keyof typeof SECURITY_SCHEMES>

/** Names of the security schemes of roles. */
const ROLE_SCHEMES: ReadonlySet<string> = new Set(Object.values(SCHEME_OF_ROLE))

const NOT_MODIFIED = z
  .null()
  .describe('The client has the document: it is the one that `If-None-Match` names.')

/** Documents the keys that a route with roles takes, that it may return problems, and that a document may be unchanged. */
export function describeAccess(route: RouteOptions): void {
  const { roles, conditional } = route.config ?? {}
  if (conditional)
    route.schema = { ...route.schema, response: { ...Object(route.schema?.response), 304: NOT_MODIFIED } }
  if (roles === undefined) return
  const security = roles.map((role) => ({ [SCHEME_OF_ROLE[role]]: [] }))
  const response = { ...Object(route.schema?.response), ...problemResponses }
  route.schema = { ...route.schema, security, response }
}

/**
 * Removes `readOnly`, which zod sets for arrays that the code must not change. In OpenAPI it would forbid clients to
 * send them.
 */
const zodToJsonConfig = {
  override: ({ jsonSchema }: { jsonSchema: { readOnly?: boolean } }) => {
    delete jsonSchema.readOnly
  },
}

const transform = createJsonSchemaTransform({ skipList: [], zodToJsonConfig })

/** OpenID provider with which Swagger UI signs in. */
export interface SignIn {
  readonly issuer: string
  readonly audience: string
  /** Client of Swagger UI at the provider; without it, users enter it. */
  readonly clientId?: string
}

/** Returns the options with which Swagger UI signs in: authorization code with PKCE, for the service's audience. */
export function signInOptions({ audience, clientId }: SignIn) {
  return {
    ...defined({ clientId }),
    usePkceWithAuthorizationCodeGrant: true,
    // RFC 8707, and the parameter that some providers have instead.
    additionalQueryStringParams: { resource: audience, audience },
  }
}

/**
 * Returns the options that generate the OpenAPI document from the schemas of the routes.
 * @param issuer the OpenID provider whose tokens are accepted as well, if any
 */
export function openApiOptions(issuer?: string): FastifyDynamicSwaggerOptions {
  return {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Sotto',
        version: '1',
        description:
          'Answers statistical queries over registered datasets with differential privacy.\n\n' +
          'To try the operations, press **Authorize** and paste the keys from the data folder (`analyst.key`, ' +
          '`custodian.key`). Every operation has an example that works with the demo dataset.\n\n' +
          STABILITY,
      },
      servers: [{ url: '/' }],
      tags: Object.values(TAGS),
      components: {
        securitySchemes: { ...SECURITY_SCHEMES, ...tokenScheme(issuer) },
        headers: { ETag: ETAG },
      },
    },
    transform: (input) => {
      const { schema, url } = transform(input)
      const { tags = [], ...rest } = schema
      return { schema: { ...rest, tags: tags.map((tag) => TAGS[tag]?.name ?? tag) }, url }
    },
    transformObject: (document) => {
      const openapi = createJsonSchemaTransformObject({ zodToJsonConfig })(document) as OpenAPIV3_1.Document
      pruneSchemas(openapi)
      nameExamples(openapi)
      describeConditions(openapi)
      listProblemCodes(openapi)
      shareParts(openapi)
      if (issuer !== undefined) offerTokens(openapi)
      return openapi
    },
  }
}

function tokenScheme(issuer: string | undefined) {
  if (issuer === undefined) return {}
  return {
    accessToken: {
      type: 'openIdConnect' as const,
      openIdConnectUrl: `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
      description: 'Access token of the OpenID provider.',
    },
  }
}

/** Adds tokens to the credentials of every operation that takes a key of a role. */
function offerTokens(openapi: OpenAPIV3_1.Document): void {
  for (const { security = [] } of operationsOf(openapi)) {
    const takesKey = security.some((scheme) => Object.keys(scheme).some((name) => ROLE_SCHEMES.has(name)))
    if (takesKey) security.push({ accessToken: [] })
  }
}

/** Returns the document as YAML. Strings are quoted, because readers of YAML 1.1 misread a bare `=` or `no`. */
export function openApiYaml(document: object): string {
  return stringify(document, { defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN', lineWidth: 0 })
}

const REFERENCE_PREFIX = '#/components/schemas/'
const INPUT_SUFFIX = 'Input'

/**
 * Removes schemas that no operation uses. The type provider writes every named schema twice, for requests (`NameInput`)
 * and for responses (`Name`). A request's schema gets the plain name if only that one is used, or if both are equal.
 */
function pruneSchemas(openapi: OpenAPIV3_1.Document): void {
  const schemas = openapi.components?.schemas ?? {}
  const reached = new Set<string>()
  const waiting = referencesIn(openapi.paths)
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (reached.has(name)) continue
    reached.add(name)
    waiting.push(...referencesIn(schemas[name]))
  }
  const plainOf = (name: string) => (name.endsWith(INPUT_SUFFIX) ? name.slice(0, -INPUT_SUFFIX.length) : name)
  const different = differentInputs(schemas, plainOf)
  const nameOf = (name: string) => (different.has(name) && reached.has(plainOf(name)) ? name : plainOf(name))
  const renamed = <Part>(part: Part): Part =>
    JSON.parse(JSON.stringify(part), (key, value) =>
      key === '$ref' && typeof value === 'string' && value.startsWith(REFERENCE_PREFIX)
        ? REFERENCE_PREFIX + nameOf(value.slice(REFERENCE_PREFIX.length))
        : value,
    )
  // Sorted by name, because zod registers schemas in the order in which modules are imported.
  const kept = Object.entries(schemas)
    .filter(([name]) => reached.has(name))
    .sort(([one], [other]) => (one < other ? -1 : 1))
  openapi.paths = renamed(openapi.paths ?? {})
  openapi.components = {
    ...openapi.components,
    schemas: Object.fromEntries(kept.map(([name, schema]) => [nameOf(name), renamed(schema)])),
  }
}

/** Names of the schemas of requests that differ from those of responses, themselves or in what they refer to. */
function differentInputs(
  schemas: Readonly<Record<string, unknown>>,
  plainOf: (name: string) => string,
): ReadonlySet<string> {
  const inputs = Object.keys(schemas).filter((name) => name.endsWith(INPUT_SUFFIX))
  const withPlainNames = (name: string) =>
    JSON.stringify(schemas[name]).replaceAll(/(#\/components\/schemas\/\w+?)Input"/g, '$1"')
  const different = new Set(inputs.filter((name) => withPlainNames(name) !== withPlainNames(plainOf(name))))
  for (let before = -1; before !== different.size; ) {
    before = different.size
    for (const name of inputs)
      if (referencesIn(schemas[name]).some((each) => different.has(each))) different.add(name)
  }
  return different
}

function referencesIn(part: unknown): string[] {
  const text = JSON.stringify(part) ?? ''
  return [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name = '']) => name)
}

/** Adds an example per variant to bodies that have several, so that Swagger UI offers them by name. */
function nameExamples(openapi: OpenAPIV3_1.Document): void {
  const schemas: Readonly<Record<string, OpenAPIV3_1.SchemaObject>> = openapi.components?.schemas ?? {}
  const named = (part: unknown): OpenAPIV3_1.SchemaObject | undefined => schemas[referencesIn(part)[0] ?? '']
  for (const { requestBody: body } of operationsOf(openapi)) {
    const media = body !== undefined && 'content' in body ? body.content['application/json'] : undefined
    const whole = named(media?.schema)
    if (media === undefined || whole?.oneOf === undefined) continue
    const examples = [whole, ...whole.oneOf.map(named)].flatMap((schema) => schema?.examples ?? [])
    media.examples = Object.fromEntries(examples.map((value) => [String(value.kind), { value }]))
  }
}

const ETAG = {
  description: 'Identifies the bytes of the document, for `If-None-Match`.',
  schema: { type: 'string' },
} as const

const WITH_ETAG = { headers: { ETag: { $ref: '#/components/headers/ETag' } } }

const IF_NONE_MATCH: OpenAPIV3_1.ParameterObject = {
  name: 'if-none-match',
  in: 'header',
  description: 'The `ETag` of a document that the client has. If it is still the same, the response is 304.',
  schema: { type: 'string' },
}

/** Describes conditional requests of the operations that have them. */
function describeConditions(openapi: OpenAPIV3_1.Document): void {
  for (const operation of operationsOf(openapi)) {
    const { responses = {}, parameters = [] } = operation
    if (responses['304'] === undefined) continue
    operation.parameters = [...parameters, IF_NONE_MATCH]
    for (const status of ['200', '304']) Object.assign(responses[status] ?? {}, WITH_ETAG)
  }
}

/** Lists all problem codes as examples of a code. Not as an enumeration, because a later version may have further codes. */
function listProblemCodes(openapi: OpenAPIV3_1.Document): void {
  const code = openapi.components?.schemas?.Problem?.properties?.code
  if (code !== undefined) Object.assign(code, { examples: Object.keys(PROBLEMS) })
}

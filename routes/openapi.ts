import type { FastifyDynamicSwaggerOptions, SwaggerTransformObject } from '@fastify/swagger'
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod'
import type { OpenAPIV3_1 } from 'openapi-types'
import { stringify } from 'yaml'
import { linkTo } from '../schemas/plots.ts'
import { SECURITY_SCHEMES } from './access.ts'

/** A list that our code may not change is `readOnly` to zod, which in OpenAPI would forbid clients to send it. */
const zodToJsonConfig = {
  override: ({ jsonSchema }: { jsonSchema: { readOnly?: boolean } }) => {
    delete jsonSchema.readOnly
  },
}

/** How the OpenAPI document is made from the routes' schemas. */
export const openApiOptions: FastifyDynamicSwaggerOptions = {
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'Sotto',
      version: '1',
      description:
        'Statistical queries over registered datasets, answered with differential privacy.\n\n' +
        'Press **Authorize** and paste the keys from the data folder (`analyst.key`, `custodian.key`); then every ' +
        'operation can be tried as it stands.',
    },
    servers: [{ url: '/' }],
    tags: [
      { name: 'Queries', description: 'Ask, and see what was answered.' },
      { name: 'Datasets', description: 'What can be asked about.' },
      { name: 'Budgets', description: 'What may still be revealed.' },
      { name: 'Mechanisms', description: 'What noise does, before anything is asked.' },
      { name: 'Disclosure risk', description: 'How much epsilon an accepted risk allows.' },
      { name: 'Evaluations', description: 'How far off answers are, tried on made-up people.' },
      {
        name: 'Plots',
        description: `As SVG: ${linkTo('risk', 'risk')}, ${linkTo('noise-comparison', 'noise')}, ${linkTo('answer-distribution', 'answers')}.`,
      },
      { name: 'Sparse vector', description: 'Many questions about a threshold, for one charge.' },
      { name: 'Operation', description: 'For whoever runs the service.' },
    ],
    components: { securitySchemes: SECURITY_SCHEMES },
  },
  transform: createJsonSchemaTransform({ skipList: [], zodToJsonConfig }),
  transformObject: (document) =>
    nameExamples(pruneSchemas(createJsonSchemaTransformObject({ zodToJsonConfig })(document))),
}

/** The document as YAML. Texts are quoted, for readers of YAML 1.1 take a bare `=` or `no` for something else. */
export function openApiYaml(document: object): string {
  return stringify(document, { defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN', lineWidth: 0 })
}

const REFERENCE_PREFIX = '#/components/schemas/'
const INPUT_SUFFIX = 'Input'

/**
 * The type provider writes every named schema twice, as what is taken in (`NameInput`) and as what is given out
 * (`Name`). Only those that an operation reaches stay, and a request's schema gets its plain name where the other of
 * the pair is gone.
 */
function pruneSchemas(document: ReturnType<SwaggerTransformObject>): ReturnType<SwaggerTransformObject> {
  const openapi = document as OpenAPIV3_1.Document
  const schemas = openapi.components?.schemas ?? {}
  const reached = new Set<string>()
  const waiting = referencesIn(openapi.paths)
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (reached.has(name)) continue
    reached.add(name)
    waiting.push(...referencesIn(schemas[name]))
  }
  const nameOf = (name: string) => {
    const plain = name.endsWith(INPUT_SUFFIX) ? name.slice(0, -INPUT_SUFFIX.length) : name
    return reached.has(plain) ? name : plain
  }
  const renamed = <Part>(part: Part): Part =>
    JSON.parse(JSON.stringify(part), (key, value) =>
      key === '$ref' && typeof value === 'string' && value.startsWith(REFERENCE_PREFIX)
        ? REFERENCE_PREFIX + nameOf(value.slice(REFERENCE_PREFIX.length))
        : value,
    )
  const kept = Object.entries(schemas).filter(([name]) => reached.has(name))
  return {
    ...openapi,
    paths: renamed(openapi.paths ?? {}),
    components: {
      ...openapi.components,
      schemas: Object.fromEntries(kept.map(([name, schema]) => [nameOf(name), renamed(schema)])),
    },
  } as ReturnType<SwaggerTransformObject>
}

function referencesIn(part: unknown): string[] {
  const text = JSON.stringify(part) ?? ''
  return [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name = '']) => name)
}

/**
 * A body that may be one of several kinds gets an example of each, by name, for Swagger UI to choose from; the first is
 * that of the schema as a whole.
 */
function nameExamples(document: ReturnType<SwaggerTransformObject>): ReturnType<SwaggerTransformObject> {
  const openapi = document as OpenAPIV3_1.Document
  const schemas: Readonly<Record<string, OpenAPIV3_1.SchemaObject>> = openapi.components?.schemas ?? {}
  const named = (part: unknown): OpenAPIV3_1.SchemaObject | undefined => schemas[referencesIn(part)[0] ?? '']
  for (const item of Object.values(openapi.paths ?? {})) {
    const body = item?.post?.requestBody
    const media = body !== undefined && 'content' in body ? body.content['application/json'] : undefined
    const whole = named(media?.schema)
    if (media === undefined || whole?.oneOf === undefined) continue
    const examples = [whole, ...whole.oneOf.map(named)].flatMap((schema) => schema?.examples ?? [])
    media.examples = Object.fromEntries(examples.map((value) => [String(value.kind), { value }]))
  }
  return document
}

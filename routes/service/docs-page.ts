import type { FastifySwaggerUiOptions } from '@fastify/swagger-ui'
import { documentationPolicy } from '../../src/http/headers.ts'
import { type SignIn, signInOptions } from './openapi.ts'

/** The icon of the console. */
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><title>Sotto</title>
<rect width="32" height="32" rx="7" fill="#0f6b6b"/>
<path d="M5 23c4.5 0 5.500-14 11-14s6.500 14 11 14" fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round"/>
<path d="M16 9v14" stroke="#9fe0d4" stroke-width="2" stroke-linecap="round" stroke-dasharray="2 3.6"/>
</svg>`

const STYLE = `.swagger-ui .topbar { background-color: #0f6b6b; padding: 6px 0; }
.swagger-ui .topbar .download-url-wrapper { display: none; }
.swagger-ui .topbar .link::after { content: 'Sotto API'; color: #fff; font: 600 20px sans-serif; margin-left: 10px; }
.swagger-ui .info { margin: 24px 0; }
.swagger-ui .btn.authorize, .swagger-ui .btn.execute { background-color: #0f6b6b; border-color: #0f6b6b; color: #fff; }
.swagger-ui .btn.authorize svg { fill: #fff; }
`

/** Returns the options of Swagger UI: the look of Sotto, and operations that open at once. */
export function docsPageOptions(signIn?: SignIn): FastifySwaggerUiOptions {
  return {
    routePrefix: '/docs',
    uiConfig: {
      persistAuthorization: false,
      defaultModelsExpandDepth: -1,
      plugins: [resolveAtOnce],
    },
    theme: {
      title: 'Sotto API',
      css: [{ filename: 'sotto.css', content: STYLE }],
      favicon: [
        {
          filename: 'icon.svg',
          rel: 'icon',
          type: 'image/svg+xml',
          sizes: 'any',
          content: Buffer.from(ICON),
        },
      ],
    },
    logo: { type: 'image/svg+xml', content: Buffer.from(ICON) },
    staticCSP: documentationPolicy(signIn === undefined ? [] : [new URL(signIn.issuer).origin]),
    ...(signIn === undefined ? {} : { initOAuth: signInOptions(signIn) }),
  }
}

type Json = Record<string, unknown>

/**
 * Plugin of Swagger UI that puts the schemas of an operation in place of their references. Swagger UI's own resolver reads
 * the whole of a document of OpenAPI 3.1 several times for each operation, which takes seconds (swagger-ui#10748). The
 * page gets the text of this function, so it must not use anything outside of it.
 */
function resolveAtOnce() {
  const prefix = '#/components/schemas/'
  const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null
  const resolveSubtree = async (document: Json, path: readonly string[]) => {
    const at = (keys: readonly string[]) =>
      keys.reduce<unknown>((part, key) => (isObject(part) ? part[key] : undefined), document)
    const resolved = (value: unknown, within: readonly string[]): unknown => {
      if (Array.isArray(value)) return value.map((each) => resolved(each, within))
      if (!isObject(value)) return value
      const { $ref, ...rest } = value
      const own = Object.fromEntries(Object.entries(rest).map(([key, part]) => [key, resolved(part, within)]))
      if (typeof $ref !== 'string' || !$ref.startsWith(prefix)) return { ...value, ...own }
      const name = $ref.slice(prefix.length)
      // A schema that contains itself would have no end: its name is shown instead.
      if (within.includes(name)) return { title: name, ...own }
      const target = resolved(at(['components', 'schemas', name]), [...within, name])
      return { title: name, ...(isObject(target) ? target : {}), ...own }
    }
    return { spec: resolved(at(path), []), errors: [] }
  }
  return { fn: { resolveSubtree } }
}

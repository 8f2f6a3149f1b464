import type { OpenAPIV3_1 } from 'openapi-types'
import type { Role } from '../../../src/http/access/principal.ts'

/** The role that a security scheme stands for. */
export const ROLE_OF_SCHEME: Record<string, Role> = {
  analystKey: 'analyst',
  custodianKey: 'custodian',
  auditorKey: 'auditor',
}

type Document = OpenAPIV3_1.Document
type Operation = OpenAPIV3_1.OperationObject
const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

/** The operations of a document. */
export function operationsOf(
  document: Document,
): readonly { method: (typeof METHODS)[number]; path: string; operation: Operation }[] {
  return Object.entries(document.paths ?? {}).flatMap(([template, item]) =>
    METHODS.flatMap((method) => {
      const operation = item?.[method]
      return operation === undefined ? [] : [{ method, path: template, operation }]
    }),
  )
}

/** The parameters of an operation, those that are stated once included. */
export function parametersOf(
  document: Document,
  { parameters = [] }: Operation,
): readonly OpenAPIV3_1.ParameterObject[] {
  const shared: Readonly<Record<string, unknown>> = document.components?.parameters ?? {}
  return parameters.map(
    (part) =>
      ('$ref' in part ? shared[part.$ref.split('/').at(-1) ?? ''] : part) as OpenAPIV3_1.ParameterObject,
  )
}

/** A schema, or the one that it refers to. */
export function schemaOf(document: Document, part: unknown): Record<string, unknown> {
  const { $ref, ...schema } = part as { $ref?: string }
  if ($ref === undefined) return schema
  const name = $ref.split('/').at(-1) ?? ''
  return schemaOf(document, document.components?.schemas?.[name])
}

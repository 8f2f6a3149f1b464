import type { OpenAPIV3_1 } from 'openapi-types'

/** Names of the responses that most operations have. */
const RESPONSE_NAMES: Readonly<Record<string, string>> = {
  304: 'NotModified',
  '4XX': 'Refused',
  '5XX': 'Failed',
}

/** All operations of a document. */
export function operationsOf(openapi: OpenAPIV3_1.Document): readonly OpenAPIV3_1.OperationObject[] {
  return Object.values(openapi.paths ?? {}).flatMap((item) =>
    (['get', 'post', 'put', 'patch', 'delete'] as const).flatMap((method) => item?.[method] ?? []),
  )
}

/** Moves the parameters and responses that operations repeat to the components of a document, so that it states each once. */
export function shareParts(openapi: OpenAPIV3_1.Document): void {
  const operations = operationsOf(openapi)
  const parameters = sharedParts(
    'parameters',
    operations.flatMap(({ parameters = [] }) =>
      parameters.flatMap((part) => ('name' in part ? [[componentName(part.name), part] as const] : [])),
    ),
  )
  const responses = sharedParts(
    'responses',
    operations.flatMap((operation) =>
      Object.entries(operation.responses ?? {}).flatMap(([status, part]) => {
        const name = RESPONSE_NAMES[status]
        return name === undefined ? [] : [[name, part] as const]
      }),
    ),
  )
  for (const operation of operations) {
    if (operation.parameters !== undefined)
      operation.parameters = operation.parameters.map(parameters.referenceTo)
    for (const [status, part] of Object.entries(operation.responses ?? {}))
      Object.assign(operation.responses ?? {}, { [status]: responses.referenceTo(part) })
  }
  openapi.components = {
    ...openapi.components,
    parameters: parameters.components,
    responses: responses.components,
  }
}

/** `idempotency-key` becomes `IdempotencyKey`. */
function componentName(name: string): string {
  return name.replace(/(?:^|-)(\w)/g, (_, first: string) => first.toUpperCase())
}

/** Parts that are repeated, by the name of their component. Of different parts with one name, the most frequent one. */
function sharedParts<Part extends object>(
  kind: 'parameters' | 'responses',
  named: readonly (readonly [name: string, part: Part])[],
) {
  const counts = new Map<string, { readonly name: string; readonly part: Part; count: number }>()
  for (const [name, part] of named) {
    const found = counts.get(JSON.stringify(part))
    if (found === undefined) counts.set(JSON.stringify(part), { name, part, count: 1 })
    else found.count += 1
  }
  const shared = new Map<string, Part>()
  for (const { name, part, count } of [...counts.values()].sort((one, other) => other.count - one.count))
    if (count > 1 && !shared.has(name)) shared.set(name, part)
  const names = new Map([...shared].map(([name, part]) => [JSON.stringify(part), name]))
  return {
    components: Object.fromEntries([...shared].sort(([one], [other]) => (one < other ? -1 : 1))),
    referenceTo: (part: Part | OpenAPIV3_1.ReferenceObject): Part | OpenAPIV3_1.ReferenceObject => {
      const name = names.get(JSON.stringify(part))
      return name === undefined ? part : { $ref: `#/components/${kind}/${name}` }
    },
  }
}

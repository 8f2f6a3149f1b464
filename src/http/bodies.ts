import type { FastifyInstance, FastifyRequest, FastifySchemaCompiler } from 'fastify'
import type { z } from 'zod'
import { validated, validationRefusal } from '../platform/bodies/validation.ts'

/** Validates the parts of requests by their zod schemas. Fastify's validator compiler. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> =
  ({ schema }) =>
  (data: unknown) => {
    const checked = validated(schema, data)
    return checked.success ? { value: checked.data } : { error: validationRefusal(checked) }
  }

/**
 * Leaves the JSON bodies of a plugin's routes as text, because to read one of 1 MiB takes the event loop up to half a
 * second. The computations of these routes read it by its schema, which only documents it here.
 */
export function leaveBodiesAsText(app: FastifyInstance): void {
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser<string>(
    'application/json',
    { parseAs: 'string' },
    async (_request: FastifyRequest, body: string) => body,
  )
  app.setValidatorCompiler<z.ZodType>((part) =>
    part.httpPart === 'body' ? (value: unknown) => ({ value }) : validatorCompiler(part),
  )
}

/** Returns the text of a body that {@link leaveBodiesAsText} left; undefined for a request without a body. */
export function bodyText({ body }: Pick<FastifyRequest, 'body'>): string | undefined {
  return typeof body === 'string' ? body : undefined
}

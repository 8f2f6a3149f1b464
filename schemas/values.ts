import { z } from 'zod'

/** A number, in the words of a description. */
export function number(description: string) {
  return z.number().describe(description)
}

/** A text, in the words of a description. */
export function string(description: string) {
  return z.string().describe(description)
}

/** True or false, in the words of a description. */
export function boolean(description: string) {
  return z.boolean().describe(description)
}

/** An object of these fields and no others, which the OpenAPI document has under a name, with a description and examples. */
export function object<const Fields extends z.core.$ZodLooseShape>(
  id: string,
  description: string,
  fields: Fields,
  ...examples: readonly object[]
) {
  return z.strictObject(fields).meta({ id, description, ...(examples.length > 0 && { examples }) })
}

/** List of a response. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.array(item).readonly()
}

/** The keys of a table, such as of the kinds of something. */
export function keysOf<Table extends object>(table: Table) {
  return Object.keys(table) as (keyof Table & string)[]
}

/** A number above 0, up to a largest one. The bounds document the rule; the planner holds it, with the number of digits. */
export function positive(description: string, maximum?: number) {
  return z.number().meta({ description, exclusiveMinimum: 0, ...(maximum !== undefined && { maximum }) })
}

/** A delta, from 0 to below 1, documented as {@link positive} is. */
export function deltaBelow1(description: string) {
  return z.number().meta({ description, minimum: 0, exclusiveMaximum: 1 })
}

export const neighbours = z.enum(['add-remove', 'change-one'])

export const role = z.enum(['analyst', 'custodian', 'auditor'])

/** A time in a response. All have this one form. */
export const time = z.iso
  .datetime({ precision: 3 })
  .meta({ id: 'Time', description: 'Time in UTC with milliseconds, such as 2026-01-31T12:00:00.000Z.' })

/** Name of a dataset, a connection or the principal of a key, as used in paths. */
export const slug = z
  .string()
  .regex(
    /^[a-z][a-z0-9-]{0,62}$/,
    'must be 1 to 63 lower-case letters, digits and "-", starting with a letter',
  )

/** Id that the service has given to a release, a session or an ingestion. */
export const hexId = z.string().regex(/^[0-9a-f]{32}$/, 'must be 32 hexadecimal digits')

/**
 * Creates the query parameters of a list.
 * @param cursor schema of the place where a page begins, which is text that only the service understands
 */
function pageQueryOf<Cursor extends z.ZodType>(cursor: Cursor) {
  return z.strictObject({
    // Coercion would accept `0x10`.
    limit: z
      .string()
      .regex(/^([1-9]\d?|[1-4]\d\d|500)$/, 'must be a whole number from 1 to 500')
      .default('50')
      .transform(Number)
      .describe('Largest number of entries, from 1 to 500. A page may have fewer.'),
    cursor: cursor
      .optional()
      .describe('Continues a list. Pass the `next` of the previous page, with the same other parameters.'),
  })
}

const CURSOR_RULE = 'must be the `next` of a page'

/** Query parameters of a list that is held whole. Its cursor is the name of the last entry of a page. */
export const pageQuery = pageQueryOf(z.string().min(1).max(200))

/** Query parameters of a list of numbered entries, newest first. Its cursor is the number of the last entry of a page. */
export const numberedPageQuery = pageQueryOf(
  z
    .string()
    .regex(/^[1-9]\d{0,14}$/, CURSOR_RULE)
    .transform(Number),
)

/** Query parameters of the list of releases. Its cursor is the time and the id of the last entry of a page. */
export const releasePageQuery = pageQueryOf(z.string().regex(/^\d{1,16}-[0-9a-f]{32}$/, CURSOR_RULE))

/** The place of the next page. */
export const next = z
  .string()
  .optional()
  .describe(
    'Value of `cursor` for the next page, whose address the header `Link` contains. Absent on the last page.',
  )

/** First event of a chain that is not sound. */
export const brokenChain = z.strictObject({
  sound: z.literal(false),
  sequence: z.int().min(0).describe('First event that does not match.'),
  reason: z.string(),
})

/** Response with a JSON text that is stored or was made elsewhere, and is sent as it is. */
export function jsonText<Schema extends z.ZodType>(description: string, schema: Schema) {
  return { description, content: { 'application/json': { schema } } }
}

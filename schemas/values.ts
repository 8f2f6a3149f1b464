import { z } from 'zod'

/** List of a response. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.array(item).readonly()
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
 * Creates the schema of the length of a page in a query string. It is text there, and coercion would accept `0x10`.
 * @param pattern matches the whole numbers from 1 to `most`
 */
export function pageLimit(pattern: RegExp, most: number) {
  return z.string().regex(pattern, `must be a whole number from 1 to ${most}`).default('50').transform(Number)
}

/** Number of the event or question before which a page begins, in a query string. */
export const pageBefore = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, 'must be a whole number of at least 1')
  .transform(Number)
  .optional()

/** The {@link pageBefore} of the next page. */
export const nextBefore = z
  .int()
  .min(1)
  .optional()
  .describe('Value of `before` for the next page. Absent on the last page.')

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

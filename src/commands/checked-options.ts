import type { z } from 'zod'
import { ruleOf } from '../privacy/rule.ts'
import { Misuse } from './command.ts'
import { EXACT_NUMBER_RULE, exactNumber } from './exact-number.ts'

/**
 * Checks arguments and options as fields of a request.
 * @param names what the command line calls fields that are not options of the same name, by their paths
 * @throws Misuse naming the options at fault
 */
export function checked<Fields>(
  schema: z.ZodType<Fields>,
  fields: object,
  names: Readonly<Record<string, string>> = {},
): Fields {
  const parsed = schema.safeParse(fields, {
    error: (issue) => (Number.isNaN(issue.input) ? EXACT_NUMBER_RULE : ruleOf(issue)),
  })
  if (parsed.success) return parsed.data
  const lines = parsed.error.issues.map(({ path, message }) => {
    const field = path.filter((step) => typeof step === 'string').join('.')
    return `${names[field] ?? `--${field}`}: ${message}`
  })
  throw new Misuse(lines.join('\n'))
}

/** The number that an option names; NaN, which no schema accepts, for any other text. */
export function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : (exactNumber(text) ?? Number.NaN)
}

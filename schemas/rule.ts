import type { z } from 'zod'

/**
 * The rule that a value breaks, in our words: zod's own name its inner workings. `undefined` leaves zod's.
 * Installed for all schemas by `z.config`.
 */
export function ruleOf(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required'
      // What the body parser makes of a number that no double stands for.
      if (Number.isNaN(issue.input))
        return 'must be a number of no more than 17 significant digits, within 1e308'
      return `must be ${NAMES[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.join(', ')}`
    case 'too_small':
      return `must ${VERBS[issue.origin] ?? 'be'} at least ${issue.minimum}${unitOf(issue.origin, issue.minimum)}`
    case 'too_big':
      return `must ${VERBS[issue.origin] ?? 'be'} at most ${issue.maximum}${unitOf(issue.origin, issue.maximum)}`
    case 'invalid_key':
      return `has a name that ${issue.issues.map(({ message }) => message).join('; ')}`
    case 'invalid_union':
      return issue.input === undefined ? 'is required' : 'is none of the kinds there are'
    default:
      return undefined
  }
}

const NAMES: Readonly<Record<string, string>> = {
  number: 'a number',
  int: 'a whole number',
  string: 'a text',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}
const VERBS: Readonly<Record<string, string>> = { array: 'have', string: 'have' }
const UNITS: Readonly<Record<string, readonly [one: string, several: string]>> = {
  array: [' entry', ' entries'],
  string: [' character', ' characters'],
}

function unitOf(origin: string, count: number | bigint): string {
  const [one, several] = UNITS[origin] ?? ['', '']
  return Number(count) === 1 ? one : several
}

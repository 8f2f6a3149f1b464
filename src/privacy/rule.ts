import type { z } from 'zod'
import { didYouMean } from './did-you-mean.ts'
import type { FieldError } from './refusal.ts'

/**
 * Returns the rule that a value violates, or undefined to keep zod's message. Zod's messages name its internals.
 * Passed to zod with each value that is validated.
 */
export function ruleOf(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required'
      // The body parser replaces numbers that no double represents exactly by NaN.
      if (Number.isNaN(issue.input))
        return 'must be a number with at most 17 significant digits, within 1e308'
      return `must be ${NAMES[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.join(', ')}${nearestOf(issue.input, issue.values)}`
    case 'too_small':
      if (issue.inclusive === false) return `must be greater than ${issue.minimum}`
      return `must ${VERBS[issue.origin] ?? 'be'} at least ${issue.minimum}${unitOf(issue.origin, issue.minimum)}`
    case 'too_big':
      return `must ${VERBS[issue.origin] ?? 'be'} at most ${issue.maximum}${unitOf(issue.origin, issue.maximum)}`
    case 'invalid_key':
      return `has a name that ${issue.issues.map(({ message }) => message).join('; ')}`
    case 'invalid_union':
      if (issue.input === undefined) return 'is required'
      return Array.isArray(issue.options)
        ? `must be one of ${issue.options.join(', ')}`
        : 'matches no allowed variant'
    case 'unrecognized_keys':
      return rulesOfUnknown(issue.keys, fieldsOf(issue.inst)).join('\n')
    default:
      return undefined
  }
}

const UNKNOWN = 'is not a known field'

/** Most unknown fields of an object that are compared with those that it may have. */
const MOST_COMPARED = 20

/** Rules of the first unknown fields of an object. One issue of zod, with one message, is about all of them. */
function rulesOfUnknown(unknown: readonly string[], known: readonly string[]): readonly string[] {
  return unknown.slice(0, MOST_COMPARED).map((field) => UNKNOWN + didYouMean(field, known))
}

/** Names of the fields of the schema that raised an issue. */
function fieldsOf(schema: z.core.$ZodRawIssue['inst']): readonly string[] {
  const definition = schema?._zod.def
  return definition !== undefined && 'shape' in definition ? Object.keys(Object(definition.shape)) : []
}

/** Returns the unknown fields of an issue that {@link ruleOf} described, each with its rule. */
export function unknownFieldsOf({
  keys,
  message,
}: Pick<z.core.$ZodIssueUnrecognizedKeys, 'keys' | 'message'>): readonly FieldError[] {
  const rules = message.split('\n')
  return keys.map((field, place) => ({ field, rule: rules[place] ?? UNKNOWN }))
}

/** Returns the allowed value that is nearest to a wrong one, in words; an empty text if there is none. */
export function nearestOf(input: unknown, allowed: readonly unknown[]): string {
  return typeof input === 'string' ? didYouMean(input, allowed.map(String)) : ''
}

const NAMES: Readonly<Record<string, string>> = {
  number: 'a number',
  int: 'a whole number',
  string: 'a string',
  boolean: 'true or false',
  array: 'an array',
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

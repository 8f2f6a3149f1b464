import type { z } from 'zod'
import { type FieldError, Refusal } from '../../privacy/refusal.ts'
import { ruleOf, unknownFieldsOf } from '../../privacy/rule.ts'
import { parseJsonBody } from './json-body.ts'

/*
 * Validation of requests. The cost of refusing one is bounded: a body of 64 KiB can break rules in twenty thousand places, and
 * describing all of them would take the event loop a quarter of a second.
 */

/** Most errors that a problem document lists. */
const MOST_ERRORS = 20

/** Values in a request, with those in its objects and lists, up to which all of its errors are looked for. */
const MOST_VALUES = 400

const ALL_ERRORS: z.core.ParseContext<z.core.$ZodIssue> = { error: ruleOf }

/** Stops at the first error. */
const FIRST_ERROR: z.core.ParseContextInternal<z.core.$ZodIssue> = { ...ALL_ERRORS, abortEarly: true }

/**
 * Reads a JSON body by its schema. Computations call it for bodies that would hold up the event loop.
 * @param text undefined for a request without a body
 * @throws Refusal `malformed-json`, or `invalid-request` naming the rules that were broken.
 */
export function readBody<Schema extends z.ZodType>(
  schema: Schema,
  text: string | undefined,
): z.output<Schema> {
  const checked = validated(schema, text === undefined ? undefined : parseJsonBody(text))
  if (checked.success) return checked.data
  throw validationRefusal(checked)
}

/** A value that a schema accepts, or its issues. */
type Validated<Output> =
  | { readonly success: true; readonly data: Output }
  | ({ readonly success: false } & Invalid)

/** Issues of a value, and whether there may be others that were not looked for. */
interface Invalid {
  readonly issues: readonly Issue[]
  readonly stopped: boolean
}

/** Issue in zod's format, also within one variant of a union. */
interface Issue {
  readonly code: string
  readonly path: readonly PropertyKey[]
  readonly message: string
  readonly keys?: unknown
  readonly errors?: unknown
}

/** Validates a value. Of one with many parts, only the first error is looked for. */
export function validated<Schema extends z.ZodType>(
  schema: Schema,
  data: unknown,
): Validated<z.output<Schema>> {
  const first = schema.safeParse(data, FIRST_ERROR)
  if (first.success) return first
  if (hasManyValues(data)) return { success: false, issues: first.error.issues, stopped: true }
  const all = schema.safeParse(data, ALL_ERRORS)
  return all.success ? all : { success: false, issues: all.error.issues, stopped: false }
}

function hasManyValues(data: unknown): boolean {
  let count = 0
  const open: unknown[] = [data]
  while (open.length > 0 && count <= MOST_VALUES) {
    const value = open.pop()
    count += 1
    if (typeof value === 'object' && value !== null) {
      const parts = Object.values(value)
      if (parts.length > MOST_VALUES) return true
      open.push(...parts)
    }
  }
  return count > MOST_VALUES
}

/** The refusal of a value: the fields that its issues are about, the first ones at most, and the rules that they break. */
export function validationRefusal({ issues, stopped }: Invalid): Refusal {
  const found = fieldErrorsOf(issues)
  const errors = found.slice(0, MOST_ERRORS)
  const more = found.length - errors.length
  const rest = more > 0 ? `; and ${more} more` : stopped ? '; the rest was not checked' : ''
  const detail = `${errors.map(({ field, rule }) => `${field}: ${rule}`).join('; ')}${rest}`
  return new Refusal('invalid-request', detail, errors)
}

/** Returns the fields that zod's issues are about, and the rules that they break. */
function fieldErrorsOf(issues: readonly Issue[]): readonly FieldError[] {
  const pathOf = ({ path }: Issue) => path.join('.')
  const ofWrongType = new Set(issues.filter(({ code }) => code === 'invalid_type').map(pathOf))
  // Other rules do not apply to a value of the wrong type: a string has no entries.
  return issues
    .filter((issue) => issue.code === 'invalid_type' || !ofWrongType.has(pathOf(issue)))
    .flatMap((issue) => errorsAt(issue.path, issue.message, issue))
}

function errorsAt(
  path: readonly PropertyKey[],
  rule: string,
  { keys, errors }: { readonly keys?: unknown; readonly errors?: unknown },
): readonly FieldError[] {
  if (Array.isArray(keys))
    return unknownFieldsOf({ keys, message: rule }).map((unknown) => ({
      field: [...path, unknown.field].join('.'),
      rule: unknown.rule,
    }))
  const issues = onlyFittingVariant(errors)
  if (issues !== undefined)
    return issues.flatMap((issue) => errorsAt([...path, ...issue.path], issue.message, issue))
  return [{ field: path.length === 0 ? 'body' : path.join('.'), rule }]
}

/**
 * Returns the issues of the only variant of a union that the shape of a value fits, if there is exactly one. A shape
 * does not fit a variant of another type, without one of the value's fields, or with another discriminator.
 */
function onlyFittingVariant(errors: unknown): readonly Issue[] | undefined {
  if (!Array.isArray(errors)) return undefined
  const variants: readonly (readonly Issue[])[] = errors
  const fitting = variants.filter(
    (issues) =>
      !issues.some(({ code, path }) => path.length === 0 || (path.length === 1 && code === 'invalid_value')),
  )
  return fitting.length === 1 ? fitting[0] : undefined
}

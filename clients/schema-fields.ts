import { z } from 'zod'
import { must } from '../src/privacy/must.ts'

/** The keywords of a JSON Schema that the reference pages show. */
interface JsonSchema {
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, JsonSchema>>
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly description?: string
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
}

/** A field as a page describes it. */
export interface Field {
  /** Its name; in an object, with the names of the fields around it: `accuracy.halfWidth`. */
  readonly name: string
  /** The values that it accepts, in Markdown. */
  readonly value: string
  readonly isRequired: boolean
  readonly meaning: string
}

/** A schema whose fields can be listed. */
interface ReadableSchema {
  readonly root: JsonSchema
  /** Returns a schema without references. */
  resolved(schema: JsonSchema): JsonSchema
  /** Returns the alternatives of a schema, by default of the root. */
  variants(schema?: JsonSchema): readonly JsonSchema[]
  /** Returns the fields of an object, also those of its objects. @param parent stands before each name */
  fields(schema: JsonSchema, parent?: string): readonly Field[]
}

/** Reads a schema as requests spell it. */
export function readSchema(schema: z.ZodType): ReadableSchema {
  const document = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema

  function resolved({ $ref, ...own }: JsonSchema): JsonSchema {
    if ($ref === undefined) return own
    const name = $ref.replace('#/$defs/', '')
    return { ...resolved(must(document.$defs?.[name], name)), ...own }
  }

  function variants(among: JsonSchema = document): readonly JsonSchema[] {
    const { anyOf = [], oneOf = anyOf } = resolved(among)
    return oneOf.map(resolved)
  }

  function fields(object: JsonSchema, parent = ''): readonly Field[] {
    const { properties = {}, required = [] } = resolved(object)
    return Object.entries(properties).flatMap(([key, property]) => {
      const known = resolved(property)
      const name = `${parent}${key}`
      const meaning = [known.description, defaultOf(known)].filter((text) => text !== undefined).join(' ')
      const own = { name, value: wordsFor(known), isRequired: required.includes(key), meaning }
      return [own, ...fields(known, `${name}.`)]
    })
  }

  function wordsFor(known: JsonSchema): string {
    const {
      const: only,
      enum: values = only === undefined ? [] : [only],
      type = 'object',
      items = {},
    } = known
    if (values.length > 0) return values.map((value) => `\`${value}\``).join(', ')
    const among = variants(known)
    if (among.length > 0) return [...new Set(among.map(wordsFor))].join(' or ')
    if (type === 'array')
      return `list of ${wordsFor(resolved(items))}${rangeOf(known.minItems, known.maxItems)}`
    return `${WORDS[type] ?? type}${limitsOf(known)}`
  }

  return { root: resolved(document), resolved, variants, fields }
}

const WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  boolean: 'boolean',
  integer: 'whole number',
}

/** Limits beyond this are those of doubles. */
const MOST = Number.MAX_SAFE_INTEGER

function limitsOf({ minimum, exclusiveMinimum, maximum }: JsonSchema): string {
  if (exclusiveMinimum !== undefined && maximum === undefined) return `, above ${exclusiveMinimum}`
  const least = exclusiveMinimum === undefined ? minimum : undefined
  return rangeOf(
    least === undefined || least <= -MOST ? undefined : least,
    maximum === undefined || maximum >= MOST ? undefined : maximum,
  )
}

function rangeOf(least: number | undefined, most: number | undefined): string {
  if (least !== undefined && most !== undefined)
    return `, ${least.toLocaleString('en')} to ${most.toLocaleString('en')}`
  if (most !== undefined) return `, at most ${most.toLocaleString('en')}`
  return least === undefined ? '' : `, at least ${least.toLocaleString('en')}`
}

function defaultOf({ default: value, description = '' }: JsonSchema): string | undefined {
  if (value === undefined || typeof value === 'object' || /default/i.test(description)) return undefined
  return `Default: \`${value}\`.`
}

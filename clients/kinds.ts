import { z } from 'zod'
import { answer } from '../schemas/answers/answer.ts'
import { formFields, groupStatistic, query, requestTerms } from '../schemas/answers/query.ts'
import { groupStatistics } from '../src/core/planner/kinds/group-by/statistics.ts'
import { questionKinds } from '../src/core/planner/kinds/question-kinds.ts'
import type { ColumnRule } from '../src/core/planner/language/column-rules.ts'
import { PERSON_VALUE_COLUMNS } from '../src/core/planner/language/person-value.ts'
import { defined } from '../src/privacy/defined.ts'
import { must } from '../src/privacy/must.ts'
import type { FieldType, Kind, KindEntry, KindField, KindFields } from './kind-entry.ts'

/*
 * The table of kinds: what the schemas of queries and the kinds of question say about each field, as plain data. The
 * console's form, its texts and its programs are made from it, and so are the functions of the clients.
 */

/** Entry of a kind, and what the documentation of the clients says about it. */
export interface DescribedKind extends KindEntry {
  readonly description: string
  /** Name of its result in the schema of answers, such as `Table`. */
  readonly result: string
}

type Shape = Readonly<Record<string, z.ZodType>>
type Rules = Readonly<Record<string, ColumnRule>>

interface HasColumns {
  readonly columns: Rules
}

/** Returns the table of kinds. */
export function tableOfKinds(): Readonly<Record<Kind, DescribedKind>> {
  const statistics: Readonly<Record<string, HasColumns>> = groupStatistics
  const entries = Object.entries(questionKinds).map(([kind, known]) => {
    const { title, phrase, heading, grouped, ofPeople, clamps, columns } = known
    const schema = must(variantOf(query.options, kind), `the schema of ${kind}`)
    const shape: Shape = schema.shape
    // A delta without a choice of mechanisms is a field of its own.
    const terms = Object.keys(requestTerms).filter(
      (term) =>
        shape[term]?.safeParse(undefined).success && (term !== 'delta' || shape.mechanism !== undefined),
    )
    const statistic = variantOf(groupStatistic.options, kind)
    const entry: DescribedKind = {
      title,
      phrase,
      heading,
      ...defined({ grouped, ofPeople, clamps, aggregate: aggregateOf(known) }),
      description: must(schema.description, `the description of ${kind}`),
      fields: fieldsOf(shape, terms, columns),
      terms,
      result: resultOf(kind),
      ...defined({ statistic: statistic && fieldsOf(statistic.shape, [], statistics[kind]?.columns) }),
    }
    return [kind, entry] as const
  })
  return Object.fromEntries(entries) as Readonly<Record<Kind, DescribedKind>>
}

/** Returns the aggregate of SQL that has the meaning of a kind, if there is one alone. COUNT has that of several kinds. */
function aggregateOf({ aggregates = [] }: { readonly aggregates?: readonly string[] }): string | undefined {
  const [aggregate, ...others] = aggregates
  return others.length === 0 && aggregate !== 'count' ? aggregate?.toUpperCase() : undefined
}

function resultOf(kind: string): string {
  const variant = must(variantOf(answer.options, kind), `the answer of ${kind}`)
  return must(variant.meta()?.id, `the name of the answer of ${kind}`).replace(/Answer$/, '')
}

function variantOf<Variant extends { readonly shape: { readonly kind: z.ZodType } }>(
  variants: readonly Variant[],
  kind: string,
): Variant | undefined {
  return variants.find(({ shape }) => valuesOf(shape.kind).includes(kind))
}

function valuesOf(schema: z.ZodType): readonly string[] {
  const { const: only, enum: values = [only] } = z.toJSONSchema(schema)
  return values.map(String)
}

function fieldsOf(shape: Shape, terms: readonly string[], rules: Rules = {}): KindFields {
  const own = Object.entries(shape).filter(
    ([name]) => name !== 'kind' && name !== 'where' && !terms.includes(name),
  )
  return Object.fromEntries(own.map(([name, schema]) => [name, fieldOf(name, schema, rules[name])]))
}

function fieldOf(name: string, schema: z.ZodType, rule: ColumnRule | undefined): KindField {
  const inner = innerOf(schema)
  const known = { ...formFields.get(inner), ...formFields.get(schema) }
  const { onlyWith, hint, initial, begins, title, type = typeOf(inner) } = known
  return {
    type,
    title: title ?? wordsOf(name),
    ...defined({
      hint,
      optional: schema.safeParse(undefined).success ? (true as const) : undefined,
      default: schema instanceof z.ZodDefault ? (schema.def.defaultValue as number | boolean) : undefined,
      initial,
      onlyWith,
      columns: rule && columnsOf(rule),
      personColumns: type === 'perPerson' ? personColumns() : undefined,
    }),
    ...limitsOf(type, inner),
    ...defined({ least: begins }),
  }
}

function columnsOf({ types, selectable }: ColumnRule): Omit<ColumnRule, 'words'> {
  return { types, ...defined({ selectable }) }
}

function personColumns(): KindField['personColumns'] {
  const rules = Object.entries(PERSON_VALUE_COLUMNS)
  return Object.fromEntries(rules.map(([value, rule]) => [value, columnsOf(rule)]))
}

function innerOf(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodDefault
    ? innerOf(schema.unwrap() as z.ZodType)
    : schema
}

function typeOf(schema: z.ZodType): FieldType {
  const { type } = formFields.get(schema) ?? {}
  if (type !== undefined) return type
  if (schema instanceof z.ZodNumber) return 'number'
  if (schema instanceof z.ZodBoolean) return 'flag'
  if (schema instanceof z.ZodEnum) return 'choice'
  if (schema instanceof z.ZodString) return 'text'
  const element = schema instanceof z.ZodArray ? typeOf(schema.element as z.ZodType) : undefined
  if (element === 'column' || element === 'grouping') return `${element}s`
  throw new TypeError('no control and no expression is known for a field of this schema')
}

/** Returns the range of a number, the length of a list, or the values of a choice. */
function limitsOf(type: FieldType, schema: z.ZodType): Partial<KindField> {
  switch (type) {
    case 'number': {
      const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, type: json } = z.toJSONSchema(schema)
      return defined({
        least: minimum ?? (exclusiveMinimum as number | undefined),
        most: maximum ?? (exclusiveMaximum as number | undefined),
        whole: json === 'integer' ? (true as const) : undefined,
      })
    }
    case 'columns':
    case 'groupings':
    case 'statistics': {
      const { minItems = 0, maxItems } = z.toJSONSchema(schema)
      return defined({ least: minItems, most: maxItems })
    }
    case 'choice':
      return { choices: valuesOf(schema) }
    default:
      return {}
  }
}

function wordsOf(name: string): string {
  const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return words.charAt(0).toUpperCase() + words.slice(1)
}

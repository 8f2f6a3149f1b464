import type { FieldType, KindFields } from '../../../../../clients/kind-entry.ts'
import { KINDS } from '../../../api/kinds.ts'
import { isRecord } from '../../../format/json.ts'
import type { BatchTerms, Question } from './question.ts'

type Fields = Readonly<Record<string, unknown>>

/** A question, the questions of a batch, or why a text is neither. */
export type ReadQuestion =
  | { readonly question: Question }
  | { readonly queries: readonly Question[]; readonly terms: BatchTerms }
  | { readonly error: string }

/**
 * Reads a question or a batch. Its fields have the form that their types demand, so that the form can show them; the
 * service checks their values.
 */
export function readQuestion(text: string): ReadQuestion {
  try {
    const value: unknown = JSON.parse(text)
    if (!isRecord(value)) return { error: 'must be an object with a kind, such as {"kind": "count"}' }
    const { queries } = value
    const error = (Array.isArray(queries) ? queries : [value]).map(ruleOf).find((rule) => rule !== undefined)
    if (error !== undefined) return { error }
    return Array.isArray(queries) ? { queries, terms: termsIn(value) } : { question: value as Question }
  } catch {
    return { error: 'must be JSON' }
  }
}

/** What is asked of all questions of a batch. The service checks the values. */
function termsIn({ plan, objective, weights }: Fields): BatchTerms {
  const given = Object.entries({ plan, objective, weights }).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given)
}

/** Returns the rule that a value breaks, or undefined if it is a question that the form can show. */
function ruleOf(value: unknown): string | undefined {
  if (!isRecord(value) || typeof value.kind !== 'string') return 'must have a kind'
  if (!Object.hasOwn(KINDS, value.kind)) return `has an unknown kind: ${value.kind}`
  return brokenField(value, KINDS[value.kind as Question['kind']].fields) ?? brokenTerm(value)
}

function brokenField(value: Fields, fields: KindFields): string | undefined {
  const broken = Object.entries(fields).find(([name, { type, optional }]) =>
    value[name] === undefined ? optional === undefined : !HAS_FORM[type](value[name]),
  )
  return broken && `needs another ${broken[0]}`
}

/** Fields that are objects wherever they are stated. */
const TERMS = ['accuracy', 'contribution', 'supposed', 'postprocess']

function brokenTerm(value: Fields): string | undefined {
  const { where, accuracy } = value
  if (where !== undefined && !isPredicate(where)) return 'needs another where'
  const broken = TERMS.find((term) => value[term] !== undefined && !isRecord(value[term]))
  if (broken !== undefined) return `needs another ${broken}`
  return isRecord(accuracy) && typeof accuracy.halfWidth !== 'number' ? 'needs another accuracy' : undefined
}

const isText = (value: unknown) => typeof value === 'string'
const isNumber = (value: unknown) => typeof value === 'number'
const isPlain = (value: unknown) => isText(value) || isNumber(value) || typeof value === 'boolean'
const listOf = (isElement: (value: unknown) => boolean) => (value: unknown) =>
  Array.isArray(value) && value.every(isElement)

const HAS_FORM: { readonly [Type in FieldType]: (value: unknown) => boolean } = {
  column: isText,
  columns: listOf(isText),
  grouping: isGrouping,
  groupings: listOf(isGrouping),
  condition: isPredicate,
  statistics: listOf(isStatistic),
  candidates: isCandidates,
  percentages: isNumbers,
  numbers: isNumbers,
  weights: isNumbers,
  counted: isText,
  perPerson: isText,
  clamp: isClamp,
  clamps: (value) => isRecord(value) && Object.values(value).every(isClamp),
  ranges: listOf(isClamp),
  number: isNumber,
  flag: (value) => typeof value === 'boolean',
  choice: isText,
  text: isText,
}

function isNumbers(value: unknown): boolean {
  return isNumber(value) || listOf(isPlain)(value)
}

function isClamp(value: unknown): boolean {
  return isRecord(value) && isPlain(value.lower) && isPlain(value.upper)
}

function isGrouping(value: unknown): boolean {
  if (!isRecord(value)) return isText(value)
  return isText(value.column) && (isText(value.by) || listOf(isPlain)(value.edges))
}

function isStatistic(value: unknown): boolean {
  if (!isRecord(value) || !isText(value.kind)) return false
  const { statistic } = Object.hasOwn(KINDS, String(value.kind))
    ? KINDS[value.kind as Question['kind']]
    : { statistic: undefined }
  return statistic !== undefined && brokenField(value, statistic) === undefined
}

function isCandidates(value: unknown): boolean {
  if (!isRecord(value)) return false
  const isNamed = (each: unknown) => isRecord(each) && isText(each.name) && isPredicate(each.where)
  return isGrouping(value.column) || listOf(isNamed)(value.predicates)
}

function isPredicate(value: unknown): boolean {
  if (!isRecord(value)) return false
  switch (value.op) {
    case 'and':
    case 'or':
      return listOf(isPredicate)(value.predicates) && (value.predicates as unknown[]).length > 0
    case 'not':
      return isPredicate(value.predicate)
    case 'in':
      return isText(value.column) && listOf(isPlain)(value.values)
    case 'between':
      return isText(value.column) && isPlain(value.lower) && isPlain(value.upper)
    case 'isNull':
      return isText(value.column)
    default:
      return isText(value.column) && isText(value.op) && isPlain(value.value)
  }
}

import type { FieldType, KindEntry, KindFields } from '../../../../clients/kind-entry.ts'
import { KINDS } from '../../api/kinds.ts'
import type { Schemas } from '../../api/schemas.ts'
import { isRecord } from '../../format/json.ts'
import { formatExact } from '../../format/number.ts'
import { formatTime } from '../../format/time.ts'

/** Names of the kinds of releases, in the order in which they are offered. */
export const KIND_NAMES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(KINDS).map(([kind, { title }]) => [kind, title])),
  batch: 'Batch',
  sparseVector: 'Threshold session',
} satisfies Readonly<Partial<Record<Schemas['ListedRelease']['kind'], string>>>

/** A question as releases state it: one question, those of a batch, or the terms of a session. */
export type AskedQuestion = Readonly<Record<string, unknown>>

/** Largest number of items that are written out in a list. */
const MOST_ITEMS = 4

/** Describes a question in a line: `mean of Age where Sex = F`. */
export function questionText(question: AskedQuestion): string {
  const { queries, threshold, where } = question
  if (Array.isArray(queries)) return `${queries.length} questions: ${listed(queries.map(questionText), '; ')}`
  if (threshold !== undefined)
    return `session: at least ${formatExact(Number(threshold))} ${question.of ?? 'rows'}, up to ${question.positives} times`
  const entry = entryOf(question)
  const subject = entry === undefined ? String(question.kind ?? 'question') : subjectText(question, entry)
  return where === undefined ? subject : `${subject} where ${predicateText(where)}`
}

/** Returns the entry of the kind of a question. A release may be of a kind that the console does not know. */
export function entryOf({ kind }: AskedQuestion): KindEntry | undefined {
  return new Map<unknown, KindEntry>(Object.entries(KINDS)).get(kind)
}

/** Writes the values of fields into the phrase of a kind. */
function subjectText(question: AskedQuestion, { phrase, fields, statistic }: KindEntry): string {
  const textOf = (name: string) => fieldText(name, question, { ...statistic, ...fields })
  return phrase
    .replace(/\[([^\]]*\{(\w+)\}[^\]]*)\]/, (_, part: string, name: string) =>
      textOf(name) === '' ? '' : part,
    )
    .replace(/\{(\w+)\}/g, (_, name: string) => textOf(name))
}

function fieldText(name: string, question: AskedQuestion, fields: KindFields): string {
  const { type, default: usual } = fields[name] ?? { type: 'text' }
  const value = question[name] ?? usual
  const text = TEXTS[type](value)
  const { perPerson, clamp } = question
  if (type !== 'column' && type !== 'columns') return text
  const each =
    type === 'column' && typeof perPerson === 'string' ? `the ${perPerson} of ${text} per person` : text
  return [each, ...clampTexts(clamp, [value].flat())].join(', ')
}

/** Texts of the clamps of these columns. */
function clampTexts(clamp: unknown, names: readonly unknown[]): readonly string[] {
  if (isClamp(clamp)) return [clampText(clamp)]
  if (!isRecord(clamp)) return []
  return names.flatMap((name) => {
    const own = Object.hasOwn(clamp, String(name)) ? clamp[String(name)] : undefined
    return isClamp(own) ? [`${name} ${clampText(own)}`] : []
  })
}

/** Bounds to which a question clamps the values of a column. */
export type Clamp = Schemas['Clamp']
/** Clamps of several columns, by their names. */
export type Clamps = Readonly<Record<string, Clamp>>

function isClamp(value: unknown): value is Clamp {
  return isRecord(value) && typeof value.lower !== 'object' && typeof value.upper !== 'object'
}

function clampText(clamp: unknown): string {
  if (!isClamp(clamp)) return ''
  return `clamped to ${comparedText(clamp.lower)} and ${comparedText(clamp.upper)}`
}

/** Text of a value of each type of field. */
const TEXTS: { readonly [Type in FieldType]: (value: unknown) => string } = {
  column: String,
  columns: groupingTexts,
  grouping: groupingText,
  groupings: groupingTexts,
  condition: predicateText,
  statistics: (value) =>
    Array.isArray(value) ? value.map((each: AskedQuestion) => questionText(each)).join(', ') : '',
  candidates: candidatesText,
  percentages: percentilesText,
  numbers: (value) => listed([value].flat().map(String), ' or '),
  weights: String,
  counted: (value) => String(value ?? 'rows'),
  perPerson: String,
  clamp: clampText,
  clamps: (value) =>
    Object.entries((value ?? {}) as Clamps)
      .map(([name, clamp]) => `${name} ${clampText(clamp)}`)
      .join(', '),
  ranges: (value) => (Array.isArray(value) ? `ranges ${listed(value.map(rangeText), ', ')}` : ''),
  number: String,
  flag: String,
  choice: String,
  text: String,
}

/** Writes a range as forms and answers do. */
export function rangeText({ lower, upper }: Clamp): string {
  return upper === '' ? String(lower) : `${lower} to ${upper}`
}

function percentilesText(p: unknown): string {
  return Array.isArray(p) ? `percentiles ${listed(p.map(String), ', ')}` : `percentile ${p}`
}

function candidatesText(candidates: unknown): string {
  if (!isRecord(candidates)) return 'candidate'
  const { predicates, column } = candidates
  if (!Array.isArray(predicates)) return groupingText(column)
  return `of ${listed(
    predicates.map(({ name }) => String(name)),
    ', ',
  )}`
}

/** Describes a column by which rows are grouped: its name, and how it is divided. */
function groupingText(grouping: unknown): string {
  if (!isRecord(grouping)) return String(grouping)
  const { column, edges, by } = grouping
  if (typeof by === 'string') return `${by} of ${column}`
  return Array.isArray(edges) ? `${column} in ${edges.length - 1} bins` : String(column)
}

function groupingTexts(groupings: unknown): string {
  return Array.isArray(groupings) ? groupings.map(groupingText).join(' and ') : ''
}

const SIGNS: Readonly<Record<string, string>> = { '!=': '≠', '<=': '≤', '>=': '≥' }

/** Describes a predicate in a line: `Age ≥ 65 and Sex = F`. */
export function predicateText(predicate: unknown): string {
  if (!isRecord(predicate)) return String(predicate)
  const { op, column, value, values, lower, upper, predicates, predicate: negated } = predicate
  switch (op) {
    case 'and':
    case 'or':
      return Array.isArray(predicates) ? predicates.map(nestedText).join(` ${op} `) : String(op)
    case 'not':
      return `not ${nestedText(negated)}`
    case 'in':
      return `${column} in ${Array.isArray(values) ? listed(values.map(comparedText), ', ') : ''}`
    case 'between':
      return `${column} from ${comparedText(lower)} to ${comparedText(upper)}`
    case 'isNull':
      return `${column} is missing`
    default:
      return `${column} ${SIGNS[String(op)] ?? op} ${comparedText(value)}`
  }
}

/** Writes a value that a column is compared with: dates as people write them, and others as they are. */
function comparedText(value: unknown): string {
  return /^\d{4}-\d{2}-\d{2}(T|$)/.test(String(value)) ? formatTime(String(value)) : String(value)
}

function nestedText(predicate: unknown): string {
  const combines = isRecord(predicate) && (predicate.op === 'and' || predicate.op === 'or')
  return combines ? `(${predicateText(predicate)})` : predicateText(predicate)
}

/** Joins items, and says how many more there are. */
export function listed(items: readonly string[], separator: string): string {
  const more = items.length - MOST_ITEMS
  const shown = items.slice(0, MOST_ITEMS).join(separator)
  return more > 0 ? `${shown} and ${more} more` : shown
}

/** Writes the first letter of a text large, as at the beginning of a title. */
export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

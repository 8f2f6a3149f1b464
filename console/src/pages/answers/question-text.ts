import type { components } from 'sotto-client'

type Release = components['schemas']['ListedRelease']
export type ReleaseKind = NonNullable<Release['kind']>

/** Names of the kinds of releases, in the order in which they are offered. */
export const KIND_NAMES: Readonly<Record<ReleaseKind, string>> = {
  count: 'Count',
  sum: 'Sum',
  mean: 'Mean',
  median: 'Median',
  percentile: 'Percentiles',
  minimum: 'Minimum',
  maximum: 'Maximum',
  variance: 'Variance',
  standardDeviation: 'Standard deviation',
  covariance: 'Covariance',
  correlation: 'Correlation',
  linearRegression: 'Linear regression',
  proportion: 'Proportion',
  countDistinct: 'Distinct values',
  histogram: 'Histogram',
  contingency: 'Contingency table',
  topGroups: 'Largest groups',
  groupBy: 'Groups',
  noisyMax: 'Most frequent',
  keySelection: 'Frequent values',
  batch: 'Batch',
  sparseVector: 'Threshold session',
}

/** Question as it was asked. Its fields depend on its kind. */
export type Question = Readonly<Record<string, unknown>>

/** Largest number of items that are written out in a list. */
const MOST_ITEMS = 4

/** Describes a question in a line: `mean of Age where Sex = F`. */
export function questionText(question: Question): string {
  const { queries, threshold, where } = question
  if (Array.isArray(queries)) return `${queries.length} questions: ${listed(queries.map(questionText), '; ')}`
  if (threshold !== undefined)
    return `session: at least ${threshold} ${question.of ?? 'rows'}? up to ${question.positives} times`
  const subject = subjectOf(question)
  return where === undefined ? subject : `${subject} where ${predicateText(where)}`
}

function subjectOf(question: Question): string {
  const { kind, column, of } = question
  switch (kind) {
    case 'count':
      return of === 'people' ? 'count of people' : 'count of rows'
    case 'covariance':
    case 'correlation':
      return `${kind} of ${texts(question.columns).join(' and ')}`
    case 'linearRegression':
      return `regression of ${question.outcome} on ${texts(question.predictors).join(', ')}`
    case 'proportion':
      return `proportion with ${predicateText(of)}`
    case 'countDistinct':
      return `distinct values of ${groupingText(column)}`
    case 'histogram':
      return `${countsOf(question)} by ${groupingText(column)}`
    case 'contingency':
      return `${countsOf(question)} by ${texts(question.columns).join(' and ')}`
    case 'topGroups':
      return `${largestText(question.k)} by ${texts(question.keys).join(' and ')}`
    case 'groupBy':
      return groupsText(question)
    case 'noisyMax':
      return `most frequent ${candidatesText(question.candidates)}`
    case 'percentile':
      return `${percentilesText(question.p)} of ${columnText(question)}`
    case 'keySelection':
      return `frequent values of ${column}`
    case 'standardDeviation':
      return `standard deviation of ${columnText(question)}`
    default:
      return column === undefined ? String(kind ?? 'question') : `${kind} of ${columnText(question)}`
  }
}

function countsOf({ of }: Question): string {
  return of === 'people' ? 'people' : 'rows'
}

function columnText({ column, perPerson }: Question): string {
  if (typeof perPerson !== 'string') return String(column)
  return `the ${perPerson} of ${column} per person`
}

function largestText(k: unknown = 10): string {
  return k === 1 ? 'largest group' : `largest ${k} groups`
}

function groupsText({ keys, statistics }: Question): string {
  const names = Array.isArray(statistics) ? statistics.map((each) => subjectOf(each as Question)) : []
  const groups = texts(keys)
  return groups.length === 0 ? names.join(', ') : `${names.join(', ')} by ${groups.join(' and ')}`
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

function texts(groupings: unknown): readonly string[] {
  return Array.isArray(groupings) ? groupings.map(groupingText) : []
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
      return `${column} in ${Array.isArray(values) ? listed(values.map(String), ', ') : ''}`
    case 'between':
      return `${column} from ${lower} to ${upper}`
    case 'isNull':
      return `${column} is missing`
    default:
      return `${column} ${SIGNS[String(op)] ?? op} ${value}`
  }
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

/** True if a value is an object of JSON. */
export function isRecord(value: unknown): value is Question {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

import type { Question } from './question-text.ts'

/** Part of a call: a value of JSON, or an expression over columns. */
export interface Argument {
  readonly is: 'value' | 'condition' | 'grouping' | 'groupings' | 'candidates'
  readonly value: unknown
}

/** Call of the function of a kind. Options have the names of the service. */
export interface Call {
  readonly kind: string
  readonly given: readonly Argument[]
  readonly options: readonly (readonly [string, Argument])[]
}

/** Fields of each kind that its function takes by position, and how they are written. */
export const POSITIONS: Readonly<Record<string, readonly (readonly [string, Argument['is']])[]>> = {
  count: [],
  sum: [['column', 'value']],
  mean: [['column', 'value']],
  variance: [['column', 'value']],
  standardDeviation: [['column', 'value']],
  median: [['column', 'value']],
  percentile: [
    ['column', 'value'],
    ['p', 'value'],
  ],
  minimum: [['column', 'value']],
  maximum: [['column', 'value']],
  covariance: [['columns', 'value']],
  correlation: [['columns', 'value']],
  linearRegression: [
    ['outcome', 'value'],
    ['predictors', 'value'],
  ],
  proportion: [['of', 'condition']],
  countDistinct: [['column', 'grouping']],
  histogram: [['column', 'grouping']],
  contingency: [['columns', 'groupings']],
  topGroups: [['keys', 'groupings']],
  noisyMax: [['candidates', 'candidates']],
  keySelection: [['column', 'value']],
}

/** Returns the call that makes a question, or undefined if there is no function of its kind. */
export function callOf(question: Question): Call | undefined {
  const { kind, ...fields } = question
  const positions = POSITIONS[String(kind)]
  if (positions === undefined || positions.some(([field]) => !(field in fields))) return undefined
  const taken = new Set(positions.map(([field]) => field))
  return {
    kind: String(kind),
    given: positions.flatMap(([field, is]) => givenOf(String(kind), is, fields[field])),
    options: optionsOf(Object.fromEntries(Object.entries(fields).filter(([field]) => !taken.has(field)))),
  }
}

function givenOf(kind: string, is: Argument['is'], value: unknown): readonly Argument[] {
  // The functions of pairs take each column on its own.
  if ((kind === 'covariance' || kind === 'correlation') && Array.isArray(value))
    return value.map((column) => ({ is: 'value', value: column }))
  return [{ is, value }]
}

/** Returns fields of a question as options. An accuracy becomes a half-width and its confidence. */
export function optionsOf(fields: Question): Call['options'] {
  return Object.entries(fields).flatMap(([field, value]): Call['options'] => {
    if (field === 'accuracy') return optionsOf(value as Question)
    return [[field, { is: field === 'where' ? 'condition' : 'value', value }]]
  })
}

import { type DatasetFacts, type QueryBody, typicalQueries } from '../risk/typical-queries.ts'

export interface Example {
  readonly title: string
  readonly query: QueryBody
}

/** Epsilon of the examples. */
const EPSILON = 0.1

/** Returns questions that show the errors of different mechanisms on the columns of a dataset. */
export function examplesFor(dataset: DatasetFacts): readonly Example[] {
  const typical = typicalQueries(dataset, 1_000).map(
    ({ title, query }): Example => ({ title, query: { ...query, epsilon: EPSILON } as QueryBody }),
  )
  const category = dataset.columns.findLast((column) => column.type === 'category')
  if (category !== undefined)
    typical.push({
      title: `Most common ${category.name}`,
      query: { kind: 'noisyMax', candidates: { column: category.name }, epsilon: EPSILON },
    })
  return typical
}

export type ParsedQuestion =
  | { readonly valid: true; readonly query: QueryBody }
  | { readonly valid: false; readonly rule: string }

/** Reads a question in JSON. The service checks its fields. */
export function parseQuestion(text: string): ParsedQuestion {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && 'kind' in value
      ? { valid: true, query: value as QueryBody }
      : { valid: false, rule: 'must be an object with a "kind"' }
  } catch {
    return { valid: false, rule: 'must be JSON' }
  }
}

import type { ReadQuestion } from '../ask/question/read-question.ts'
import type { DatasetFacts } from '../datasets/dataset.ts'
import { type QueryBody, typicalQueries } from '../risk/typical-queries.ts'

/** Queries that are evaluated together, and priced as a batch. */
export interface BatchBody {
  readonly queries: readonly QueryBody[]
}

/** What can be evaluated: one query, or several of a batch. */
export type EvaluatedBody = QueryBody | BatchBody

export interface Example {
  readonly title: string
  readonly query: EvaluatedBody
}

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
  const several = typical.slice(0, 3).map(({ query }) => query as QueryBody)
  if (several.length > 1)
    typical.push({ title: `The first ${several.length} as a batch`, query: { queries: several } })
  return typical
}

export function isBatch(body: EvaluatedBody): body is BatchBody {
  return 'queries' in body
}

/** Returns what a text asks to evaluate, or undefined if it is no question. */
export function bodyOf(read: ReadQuestion): EvaluatedBody | undefined {
  if ('error' in read) return undefined
  return 'queries' in read ? read : read.question
}

import { type Query, query as querySchema } from '../../../schemas/answers/query.ts'
import { parseStatement } from '../../../src/answers/sql/parsing/parser.ts'
import type { Answered } from '../../../src/answers/sql/rows/result.ts'
import type { StatedNoise } from '../../../src/answers/sql/rows/result-types.ts'
import { type Translation, translate } from '../../../src/answers/sql/translation.ts'
import type { Column, Dataset } from '../../../src/core/dataset/dataset.ts'
import { plan } from '../../../src/core/planner/plan.ts'
import { validated, validationRefusal } from '../../../src/platform/bodies/validation.ts'
import { entry } from '../../../src/privacy/must.ts'
import { Refusal } from '../../../src/privacy/refusal.ts'
import { column, datasetOf } from '../../engines/fixture.ts'

/** Columns of every type that statements can use, most of them nullable. */
export const COLUMNS: readonly Column[] = [
  column.identifier('patient'),
  column.category('Region', ['North', 'South', "O'Hara"]),
  column.integer('age', 0n, 20n),
  column.integer('Visits', 0n, 9n, { nullable: false, invalidValue: { kind: 'refuse' } }),
  column.number('cost', 250_000_000n, -20n, 20n),
  column.date('day', '2024-01-25', '2024-03-05'),
  column.timestamp('seen', '2024-02-27T00:00:00Z', '2024-03-02T23:00:00Z', { step: 3600n }),
  column.boolean('member'),
  column.string('note'),
]

/** A dataset of these columns in which people have several rows. */
export const visits: Dataset = {
  ...datasetOf(COLUMNS, 'visits'),
  privacyUnit: { kind: 'person', column: 'patient', maxRows: 1_000 },
}

/** The time that now() means. */
export const NOW = Date.parse('2026-11-27T21:30:15.250Z')

/** A statement as queries that have passed the schema of the wire. */
export function translatedAll(
  sql: string,
  terms: object = { epsilon: 1 },
  dataset = visits,
): Translation & { readonly asked: readonly Query[] } {
  const translation = translate(sql, parseStatement(sql), dataset, NOW)
  const asked = translation.queries.map((query) => {
    const parsed = validated(querySchema, { ...query, ...terms })
    if (parsed.success) return parsed.data
    throw translation.refusalOf(validationRefusal(parsed))
  })
  return { ...translation, asked }
}

/** A statement that means one query. */
export function translated(sql: string, terms: object = { epsilon: 1 }, dataset = visits) {
  const translation = translatedAll(sql, terms, dataset)
  const { asked, queries, rowsOf, columnsOf } = translation
  if (queries.length !== 1) throw new Error(`several queries: ${sql}`)
  return {
    ...translation,
    query: entry(queries, 0),
    asked: entry(asked, 0),
    rowsOf: (answer: Answered) => rowsOf([answer]),
    columnsOf: (stated: StatedNoise) => columnsOf([stated]),
  }
}

/** The queries of a statement, after they were planned. */
export function queriesOf(
  sql: string,
  terms: object = { epsilon: 1 },
  dataset: Dataset = visits,
): readonly Query[] {
  const { asked, refusalOf } = translatedAll(sql, terms, dataset)
  try {
    for (const query of asked) plan(query, dataset, { maxCells: 10_000 })
  } catch (error) {
    throw error instanceof Refusal ? refusalOf(error) : error
  }
  return asked
}

/** The one query of a statement, after it was planned. */
export function queryOf(sql: string, terms?: object, dataset?: Dataset): Query {
  return entry(queriesOf(sql, terms, dataset), 0)
}

/** The query without the fields that are the same in all. */
export function meaningOf(sql: string, dataset = visits): object {
  const { query } = translated(sql, { epsilon: 1 }, dataset)
  queriesOf(sql, { epsilon: 1 }, dataset)
  return query
}

/** The refusal of a statement. */
export function refusalOf(sql: string, terms?: object): Refusal {
  try {
    queriesOf(sql, terms)
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
  throw new Error(`not refused: ${sql}`)
}

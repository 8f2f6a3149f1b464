import { z } from 'zod'
import { dummyAnswer, dummyBatchAnswer } from '../datasets/dummy.ts'
import { listOf, object, string } from '../values.ts'
import { answer, askedBatch, askedQuery, batchAnswer, batchPreview, preview } from './answer.ts'
import { requestTerms } from './query.ts'

/** Largest length of a statement in characters (UTF-16 code units). PostgreSQL's parser fails on some longer ones. */
export const MAX_SQL_LENGTH = 4_096

/** POST /v1/datasets/{dataset}/sql and /sql/preview */
export const sqlRequest = object(
  'SqlRequest',
  'A SELECT statement. The other fields are those of the query that it is translated to; give `epsilon` or `accuracy`.',
  {
    sql: z
      .string()
      .min(1)
      .max(MAX_SQL_LENGTH)
      .refine((text) => !text.includes('\0'), 'must not contain the character NUL')
      .meta({
        description:
          'One SELECT statement in the grammar of PostgreSQL, at most 4,096 characters. FROM names the dataset. docs/sql.md ' +
          'lists the clauses and functions that are supported.',
        examples: ['SELECT "Sex", COUNT(*), AVG("Age") FROM census GROUP BY "Sex"'],
      }),
    ...requestTerms,
  },
  {
    sql: 'SELECT Sex, COUNT(*) AS people FROM census WHERE Age BETWEEN 30 AND 64 GROUP BY Sex',
    epsilon: 0.1,
  },
)

const columns = listOf(
  z.strictObject({
    name: string('Alias, or the name that PostgreSQL gives the column. A name that repeats gets a number.'),
    type: z
      .enum(['text', 'number', 'integer', 'boolean', 'date', 'timestamp'])
      .describe('`integer` if the noise leaves all values whole, as that of most counts does.'),
    halfWidthColumn: string(
      'Name of the column with the half-width of this one. Present for noisy values.',
    ).optional(),
    unit: z
      .enum(['rows', 'days', 'seconds'])
      .optional()
      .describe('Unit of a half-width, if it is not that of the value.'),
  }),
).describe(
  'Columns of the rows: those of the SELECT list, each noisy value followed by its half-width, `<name>_half_width`, or ' +
    '`<name>_rank_half_width` for the rank of a quantile.',
)

const notes = listOf(z.string()).describe('Differences between this answer and that of a database.')

const translated = z
  .union([askedQuery, askedBatch])
  .describe('Query that the statement was translated to, or the batch if it means several.')

/** Response to a statement. */
export const sqlAnswer = object('SqlAnswer', 'Rows of a statement, made from the noisy answer to a query.', {
  query: translated,
  columns,
  rows: listOf(listOf(z.union([z.string(), z.number(), z.boolean(), z.null()]))).describe(
    'Rows after HAVING, ORDER BY and LIMIT, with their values in the order of the columns. NULL is null. A half-width is ' +
      'null if it is not known.',
  ),
  notes,
  answer: z
    .union([answer, batchAnswer, dummyAnswer, dummyBatchAnswer])
    .describe(
      'Answer to the query, as POST /v1/datasets/{dataset}/queries returns it, or to the batch, as ' +
        'POST /v1/datasets/{dataset}/queries/batch does.',
    ),
})

/** Response to a preview of a statement. */
export const sqlPreview = object('SqlPreview', 'Query that a statement is translated to, and its preview.', {
  query: translated,
  columns,
  notes,
  preview: z
    .union([preview, batchPreview])
    .describe(
      'Preview of the query or the batch, as POST /v1/datasets/{dataset}/queries/preview returns it.',
    ),
})

export type SqlRequest = z.output<typeof sqlRequest>

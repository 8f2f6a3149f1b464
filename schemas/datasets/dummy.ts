import { z } from 'zod'
import { answerByKind, answerFacts, batchAnswer } from '../answers/answer.ts'
import { string } from '../values.ts'

// A string, because a query string has no numbers.
const rows = z
  .string()
  .regex(/^([1-9]\d{0,4}|100000)$/, 'must be a whole number from 1 to 100000')
  .transform(Number)
const seed = z.string().min(1).max(100)

/** Made-up rows of a request that states neither their number nor their seed. */
export const DEFAULT_SIZE = { rows: 1_000, seed: 'dummy' } as const

/** GET /v1/datasets/{dataset}/dummy */
export const dummyQuery = z.strictObject({
  of: z
    .enum(['declaration', 'population'])
    .default('declaration')
    .describe(
      '`declaration`: rows that follow from the declaration alone. `population`: the first of the own people of a dataset whose ' +
        'source is a made-up population, as `npx sotto population` writes them. They have its seed, and there are no more than ' +
        'it has.',
    ),
  rows: rows
    .optional()
    .describe(
      'Number of rows, from 1 to 100,000. Default: 1,000. All rows together have at most 4,000,000 values.',
    ),
  seed: seed
    .optional()
    .describe('The same declaration, number of rows and seed always give the same rows. Default: `dummy`.'),
  format: z.enum(['csv', 'json', 'parquet']).default('csv').describe('Format of the file.'),
})

/** Response with made-up rows. */
export const dummyFile = {
  description: 'Made-up rows.',
  content: {
    'text/csv': { schema: z.string() },
    'application/json': {
      schema: z.array(z.record(z.string(), z.union([z.number(), z.string(), z.boolean(), z.null()]))),
    },
    'application/vnd.apache.parquet': { schema: z.string().meta({ format: 'binary' }) },
  },
}

/** Query parameters of operations that can be practised. */
export const practiceQuery = z
  .strictObject({
    on: z
      .literal('dummy')
      .optional()
      .describe(
        'Answers over the rows of `GET /v1/datasets/{dataset}/dummy` with the same `rows` and `seed`. Nothing is charged or ' +
          'stored, and no data is read.',
      ),
    rows: rows.optional().describe('Only for `on=dummy`: number of made-up rows. Default: 1,000.'),
    seed: seed.optional().describe('Only for `on=dummy`: seed of the made-up rows. Default: `dummy`.'),
  })
  .superRefine(({ on, rows, seed }, context) => {
    // Otherwise the request would be charged although practice may have been meant.
    for (const [name, value] of Object.entries({ rows, seed }))
      if (on === undefined && value !== undefined)
        context.addIssue({ code: 'custom', path: [name], message: 'is only for on=dummy' })
  })

/** Query parameters of sessions: none. With `on=dummy` a session would be charged although practice was meant. */
export const notPractised = z.looseObject({}).superRefine((parameters, context) => {
  for (const name of Object.keys(parameters))
    context.addIssue({
      code: 'custom',
      path: [name],
      message:
        name === 'on'
          ? 'is not for sessions: only queries and batches can be practised'
          : 'is not a known field',
    })
})

const practised = {
  id: string('Random. It identifies no release: nothing was stored.'),
  dummy: z.literal(true).describe('The answer is about made-up rows.'),
}

const stored = { receipt: true, price: true, shared: true } as const

/** Response to a query with `on=dummy`. */
export const dummyAnswer = answerByKind('DummyAnswer', { ...answerFacts, ...practised }).meta({
  id: 'DummyAnswer',
  description:
    'Noisy answer over made-up rows. `cost` is the cost of the query over the dataset. Nothing was charged: `budget` and ' +
    '`allotment` are unchanged, and there is no receipt.',
})

/** Response to a batch with `on=dummy`. */
export const dummyBatchAnswer = batchAnswer.omit(stored).extend(practised).meta({
  id: 'DummyBatchAnswer',
  description:
    'Noisy answers over made-up rows. `cost` is the cost of the batch over the dataset. Nothing was charged.',
})

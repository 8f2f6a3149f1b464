import { z } from 'zod'
import { amount, debit, paid, receipt } from './budget.ts'
import { datasetId } from './dataset.ts'
import { releaseRisk } from './disclosure.ts'
import { MAX_BATCH_QUERIES, QUERY_KINDS } from './query.ts'

export const kind = z.enum(QUERY_KINDS)

export const cellLabel = z
  .union([z.string(), z.boolean(), z.null(), z.strictObject({ lower: z.number(), upper: z.number() })])
  .describe('A category, true or false, a bin, or null for the rows without a value.')

export const cellKey = z.record(z.string(), cellLabel)

export const result = z
  .union([
    z.strictObject({ value: z.number() }),
    z.strictObject({ cells: z.array(z.strictObject({ key: cellKey, value: z.number() })).readonly() }),
    z.strictObject({
      groups: z
        .array(
          z.strictObject({
            key: cellKey,
            values: z
              .record(z.string(), z.strictObject({ value: z.number(), halfWidth: z.number() }))
              .describe(
                'Values by statistic, in the order of the query. A statistic is named by its kind, or by its kind and ' +
                  'column, such as `count` and `mean_Age`.',
              ),
          }),
        )
        .readonly(),
    }),
    z.strictObject({
      selected: z
        .array(
          z.strictObject({
            candidate: cellLabel,
            gap: z.number().optional().describe('How many rows it is ahead of the next, noisy.'),
          }),
        )
        .readonly()
        .describe('Best first.'),
    }),
    z.strictObject({
      percentiles: z.array(z.strictObject({ p: z.number(), value: z.number() })).readonly(),
    }),
    z.strictObject({
      keys: z.array(z.strictObject({ key: z.string(), count: z.number().optional() })).readonly(),
      truncated: z.boolean().describe('Whether there were more than an answer holds.'),
    }),
  ])
  .meta({
    id: 'Result',
    description:
      'A noisy value; the noisy cells or groups of the declared domain; the candidates, percentiles or keys selected.',
  })

const statisticNoise = {
  scale: z
    .number()
    .describe('The scale b of geometric and Laplace noise; the standard deviation of Gaussian noise.'),
  sensitivity: z
    .number()
    .describe('How far one person moves the statistic: in L1 for geometric and Laplace, in L2 for Gaussian.'),
  granularity: z.number().describe('Noisy values are multiples of it.'),
}

const neighbours = z.enum(['add-remove', 'change-one'])

const additive = {
  mechanism: z.enum(['geometric', 'laplace', 'gaussian']),
  calibration: z.enum(['analytic', 'classic']).optional(),
  neighbours,
}

const share = z.number().describe('Its share of the price.')

const statisticName = {
  statistic: z
    .string()
    .describe(
      'count, sum, sum about the middle, sum of squares about the middle, or count of distinct values.',
    ),
  column: z.string().optional(),
}

export const noise = z
  .union([
    z.strictObject({ ...additive, ...statisticNoise }),
    z.strictObject({
      ...additive,
      statistics: z
        .array(z.strictObject({ ...statisticName, ...statisticNoise, epsilon: share.optional() }))
        .readonly(),
    }),
    z.strictObject({
      mechanism: z.literal('noisy-max'),
      neighbours,
      noise: z.enum(['laplace', 'exponential', 'gumbel']),
      monotonic: z
        .boolean()
        .describe('Whether a row added raises every count or none: then half the noise does.'),
      scale: z.number().describe('Of the noise of each count, in rows.'),
      sensitivity: z.number(),
      granularity: z.number().optional().describe('Gaps are multiples of it.'),
    }),
    z.strictObject({
      mechanism: z.literal('exponential'),
      neighbours,
      quantiles: z
        .array(
          z.strictObject({
            p: z.number().optional(),
            rank: z
              .number()
              .optional()
              .describe('Of a minimum or maximum: it aims at the value that so many rows lie at or beyond.'),
            scale: z
              .number()
              .describe('A grid point whose score is lower by this is e times less likely to be chosen.'),
            sensitivity: z.number().describe('How far one person moves a score.'),
            epsilon: share,
          }),
        )
        .readonly(),
    }),
    z.strictObject({
      mechanism: z.literal('thresholded-geometric'),
      neighbours,
      scale: z.number(),
      threshold: z.number().describe('A key appears where its noisy count reaches it.'),
    }),
    z.strictObject({ mechanism: z.literal('near-truncated-geometric'), neighbours }),
  ])
  .meta({
    id: 'Noise',
    description:
      'How the answer was made noisy. Where several sums and counts were needed, each has a share of the price (with gaussian they are one vector): a ' +
      'mean over a private number of rows needs a sum about the middle of the range and a count.',
  })

const errorReport = z.strictObject({
  halfWidth: z.number().describe('The noise is at most this, with the stated confidence.'),
  expectedAbsoluteError: z
    .number()
    .describe(
      'The mean size of the noise, before post-processing; where a value is made from several noisy parts, a bound of ' +
        'it to first order.',
    ),
})

const nullableError = {
  halfWidth: errorReport.shape.halfWidth.nullable(),
  expectedAbsoluteError: errorReport.shape.expectedAbsoluteError.nullable(),
}

export const accuracy = z
  .strictObject({
    confidence: z.number(),
    ...nullableError,
    unit: z
      .literal('rows')
      .optional()
      .describe(
        'Of a selection: the count of the one chosen is within the half-width of the best. Of a quantile: its rank ' +
          'is within the half-width of the rank asked for. Of keys with counts: the noise of a count is at most that, ' +
          'before it is known whether the key is kept.',
      ),
    estimates: z
      .record(z.string(), z.strictObject(nullableError))
      .optional()
      .describe('Accuracy of each statistic, by its name, for a query that asks for several.'),
    statistics: z
      .array(errorReport.extend(statisticName))
      .readonly()
      .optional()
      .describe(
        'Of the noisy sums and counts that the answer is made from; these half-widths hold together.',
      ),
    gapHalfWidth: z
      .number()
      .optional()
      .describe(
        'Of a selection with gaps: each is within this of the true difference to the next one (the last, to the best ' +
          'that was not selected), all of them together.',
      ),
    rowsToAppear: z
      .number()
      .optional()
      .describe('Of a selection of keys: a key that so many rows have appears, with the stated confidence.'),
  })
  .meta({
    id: 'Accuracy',
    description:
      'How far off each value can be, computed without data. Null where it depends on a private number of rows that ' +
      'is not supposed, or differs from value to value.',
  })

const shared = z
  .literal(true)
  .optional()
  .describe('Another analyst had paid for the question: your allotment is charged, the dataset is not again.')

/** What a paid query gives, and GET /v1/releases/{id} gives again. */
export const answer = z
  .strictObject({
    id: z.string().describe('The release. GET /v1/releases/{id} shows it again, free.'),
    dataset: datasetId,
    datasetVersion: z.string(),
    kind,
    result,
    noise,
    accuracy,
    ...debit,
    paid,
    receipt,
    shared,
  })
  .meta({
    id: 'Answer',
    description: 'A noisy answer, what it cost and how far off it can be.',
    examples: [
      {
        id: '381cd529b411c946225047deb69b2f24',
        dataset: 'census',
        datasetVersion: '1',
        kind: 'count',
        result: { value: 2531 },
        noise: {
          mechanism: 'geometric',
          neighbours: 'add-remove',
          scale: 10,
          sensitivity: 1,
          granularity: 1,
        },
        accuracy: { confidence: 0.95, halfWidth: 30, expectedAbsoluteError: 9.98335275729611 },
        cost: { epsilon: 0.1, delta: 0 },
        budget: {
          cap: { epsilon: 10, delta: 1e-5 },
          spent: { epsilon: 0.1, delta: 0 },
          remaining: { epsilon: 9.9, delta: 1e-5 },
        },
        receipt: {
          sequence: 2,
          hash: '8a4b4b1a1ff1a4d5d3a3cf95e7b0a9a7c5a2f21bbd3a4a8be19fa4fa86bb2ca3',
        },
      },
    ],
  })

const affordable = z
  .boolean()
  .describe(
    'Whether budget and allotment suffice now, for a fresh answer: that another has paid for the question is not told.',
  )

/** What a query would cost and how far off its answer could be. */
export const preview = z
  .strictObject({
    dataset: datasetId,
    datasetVersion: z.string(),
    kind,
    noise,
    accuracy,
    ...debit,
    affordable,
    disclosureRisk: releaseRisk,
  })
  .meta({ id: 'Preview', description: 'What a query would cost and how far off its answer could be.' })

const queryOfBatch = { kind, noise, accuracy, price: amount.describe('What the query would cost by itself.') }

export const batchFacts = {
  dataset: datasetId,
  datasetVersion: z.string(),
  disjoint: z
    .array(z.array(z.int().min(0).max(MAX_BATCH_QUERIES)).readonly())
    .readonly()
    .describe(
      'Groups of queries, by their places, of which no row counts for two: each group costs what its dearest query ' +
        'does (under change-one neighbours, its two dearest).',
    ),
  sumOfPrices: amount.describe('What the queries would cost one by one.'),
}

/** What a paid batch gives, and GET /v1/releases/{id} gives again. */
export const batchAnswer = z
  .strictObject({
    id: z.string().describe('The release. GET /v1/releases/{id} shows it again, free.'),
    ...batchFacts,
    answers: z
      .array(z.strictObject({ ...queryOfBatch, result }))
      .readonly()
      .describe('In the order of the queries.'),
    ...debit,
    paid,
    receipt,
    shared,
  })
  .meta({ id: 'BatchAnswer', description: 'The noisy answers to several queries, charged once.' })

/** What a batch would cost and how far off its answers could be. */
export const batchPreview = z
  .strictObject({
    ...batchFacts,
    answers: z.array(z.strictObject(queryOfBatch)).readonly(),
    ...debit,
    affordable,
    disclosureRisk: releaseRisk,
  })
  .meta({ id: 'BatchPreview', description: 'What a batch would cost and how far off its answers could be.' })

import { z } from 'zod'
import { accuracy, cellKey, cellLabel, kind, noise, result } from './answer.ts'
import { datasetId } from './dataset.ts'
import { query } from './query.ts'

/** The most runs of one evaluation. */
const MAX_RUNS = 100_000
/** The most runs that are shown in full. */
const MAX_SHOWN = 100
/** More than any dataset has. */
const MOST_ROWS = 1e15

const runs = z.int().min(1).max(MAX_RUNS)
const runCount = z.int().min(0).max(MAX_RUNS)
const rowCount = z.int().min(0).max(MOST_ROWS)

/** POST /v1/datasets/{dataset}/evaluations */
export const evaluationRequest = z
  .strictObject({
    query,
    runs: runs.default(1).describe('How often the query is answered, each time with fresh noise.'),
    shown: z.int().min(0).max(MAX_SHOWN).default(1).describe('How many of the answers to show in full.'),
  })
  .meta({
    id: 'EvaluationRequest',
    description: 'A query, and how often to answer it over made-up people.',
    examples: [
      {
        query: {
          kind: 'contingency',
          columns: ['Occupation', 'Sex'],
          mechanism: 'laplace',
          epsilon: 0.5,
          postprocess: { round: true, nonNegative: true },
        },
        runs: 1_000,
      },
    ],
  })

const figure = {
  value: z.number().nullable(),
  standardError: z.number().nullable().describe('Null for a single run.'),
}

const meanOverRuns = z
  .strictObject(figure)
  .meta({ id: 'MeanOverRuns', description: 'A mean over the runs, and its standard error.' })

const meanAbsoluteError = z
  .strictObject({
    ...figure,
    theoretical: z
      .number()
      .nullable()
      .describe(
        'What the mechanism errs by on average, before post-processing; null where that is not known.',
      ),
    theoreticalBound: z
      .number()
      .nullable()
      .describe('At most so much, where the value is made from several noisy parts.'),
  })
  .meta({ id: 'MeanAbsoluteError', description: 'Beside what theory says of it.' })

const name = {
  key: cellKey.optional().describe('Of a table: the cell.'),
  statistic: z.string().optional().describe('Name of the statistic in the values of a group.'),
  p: z.number().optional(),
}

const relative = z.number().nullable().describe('In parts of the truth; null where that is 0.')
const percent = 'Of all cells together (L1), in per cent of the truths; null where all are 0.'

const numbers = {
  values: z
    .array(
      z.strictObject({
        ...name,
        truth: z
          .number()
          .nullable()
          .describe('Without noise and without post-processing; null for a mean of no rows.'),
        meanAbsoluteError,
        meanRelativeError: relative,
        bias: z.strictObject({
          ...figure,
          theoretical: z
            .literal(0)
            .nullable()
            .describe(
              '0 where noise is known to leave the mean alone; null for what is cut, rounded or a quotient.',
            ),
        }),
        standardDeviation: z.number().nullable().describe('Of the error.'),
        withinHalfWidth: z
          .number()
          .nullable()
          .describe('The share of the runs within the half-width; it should be at least the confidence.'),
        rankErrorRows: meanOverRuns.optional().describe('Of a quantile: by how many rows its rank was off.'),
      }),
    )
    .readonly()
    .describe('One for each number of the answer.'),
  totals: z
    .array(
      z.strictObject({
        statistic: z.string().optional(),
        totalAbsoluteError: meanAbsoluteError,
        relativeTotalErrorPercent: meanOverRuns.describe(percent),
      }),
    )
    .readonly()
    .describe('Of all cells together; for groups, of each statistic.'),
  shown: z
    .array(
      z.strictObject({
        values: z
          .array(
            z.strictObject({
              ...name,
              noisy: z.number().nullable(),
              halfWidth: z
                .number()
                .nullable()
                .describe('As the answer states it. Of a quantile, that of its rank.'),
              absoluteError: z.number().nullable(),
              relativeError: relative,
              rankErrorRows: z.number().optional(),
            }),
          )
          .readonly(),
        totals: z
          .array(
            z.strictObject({
              statistic: z.string().optional(),
              totalAbsoluteError: z.number().nullable(),
              relativeTotalErrorPercent: z.number().nullable().describe(percent),
            }),
          )
          .readonly(),
      }),
    )
    .readonly()
    .describe('The first runs, in full.'),
}

const shownResults = z.array(result).readonly().describe('The first results.')

const candidates = {
  candidates: z
    .array(
      z.strictObject({
        candidate: cellLabel,
        truth: rowCount.describe('Its rows.'),
        won: runCount.describe('In how many runs it was the first.'),
        selected: runCount.describe('In how many it was among those selected.'),
        probabilityToWin: z
          .number()
          .nullable()
          .describe('By the law of the mechanism; null where that takes long to work out.'),
      }),
    )
    .readonly(),
  shortfallRows: meanOverRuns.describe('How many rows fewer the one selected had than the best.'),
  withinHalfWidth: z.number(),
  shown: shownResults,
}

const keys = {
  keys: z
    .array(
      z.strictObject({
        key: z.string(),
        truth: rowCount.describe('Its rows.'),
        appeared: runCount.describe('In how many runs.'),
        probabilityToAppear: z.number().describe('By the law of the mechanism.'),
        meanAbsoluteError: meanOverRuns.optional(),
        bias: meanOverRuns.optional(),
      }),
    )
    .readonly()
    .describe('Those of the most rows.'),
  distinctKeys: rowCount,
  shown: shownResults,
}

const facts = {
  dataset: datasetId,
  datasetVersion: z.string(),
  kind,
  noise,
  accuracy,
  runs,
  confidence: z.number().describe('Of the half-widths.'),
}

/** What POST /v1/datasets/{dataset}/evaluations answers. */
export const evaluation = z
  .union([
    z.strictObject({ ...facts, ...numbers }),
    z.strictObject({ ...facts, ...candidates }),
    z.strictObject({ ...facts, ...keys }),
  ])
  .meta({ id: 'Evaluation', description: 'How far off the answers were, beside what theory says.' })

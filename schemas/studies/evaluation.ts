import { z } from 'zod'
import {
  accuracy,
  batchFacts,
  cellKey,
  cellLabel,
  kind,
  noise,
  result,
  shownValue,
} from '../answers/answer.ts'
import { batch, query } from '../answers/query.ts'
import { amount } from '../budgets/budget.ts'
import { datasetId } from '../datasets/dataset.ts'
import { listOf, number, object, string } from '../values.ts'

/** Maximum number of runs of one evaluation. */
export const MAX_RUNS = 100_000
/** Maximum number of runs that are shown in full. */
export const MAX_SHOWN = 100
/** More rows than any dataset has. */
const MAX_ROWS = 1e15

/** A number, or null if there is none. */
const orNull = z.number().nullable()

const runs = z.int().min(1).max(MAX_RUNS)
const runCount = z.int().min(0).max(MAX_RUNS)
const rowCount = z.int().min(0).max(MAX_ROWS)

const requestedSize = {
  runs: runs.default(1).describe('How many times each query is answered, with fresh noise every time.'),
  shown: z.int().min(0).max(MAX_SHOWN).default(1).describe('How many of the first runs are shown in full.'),
}

/** POST /v1/datasets/{dataset}/evaluations */
export const evaluationRequest = object(
  'EvaluationRequest',
  'A query to evaluate over synthetic data.',
  { query, ...requestedSize },
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
)

/** POST /v1/datasets/{dataset}/evaluations/batch */
export const batchEvaluationRequest = batch.extend(requestedSize).meta({
  id: 'BatchEvaluationRequest',
  description: 'Queries to evaluate over synthetic data as one batch.',
  examples: [
    {
      queries: [
        { kind: 'count', where: { column: 'Age', op: '<', value: 30 }, epsilon: 0.1 },
        { kind: 'mean', column: 'Earnings', where: { column: 'Age', op: '>=', value: 30 }, epsilon: 0.1 },
      ],
      runs: 1_000,
    },
  ],
})

const size = { runs, confidence: number('Confidence of the half-widths.') }

/** A mean over runs. Null if there is none: no truth, no runs, or, for the standard error, a single run. */
const figure = {
  value: orNull,
  standardError: orNull.describe('Null for a single run.'),
}

const meanOverRuns = z
  .strictObject(figure)
  .meta({ id: 'MeanOverRuns', description: 'Mean over the runs, with its standard error.' })

const meanAbsoluteError = object(
  'MeanAbsoluteError',
  'Mean absolute error over the runs, with the error expected in theory.',
  {
    ...figure,
    theoretical: orNull.describe(
      'Expected absolute error of the mechanism, before post-processing; null if it is not known.',
    ),
    theoreticalBound: orNull.describe(
      'Upper bound of the expected absolute error, where the error itself is not known; otherwise null.',
    ),
  },
)

const name = {
  key: cellKey.optional().describe('Cell of a table.'),
  statistic: string('Name of the statistic in the values of a group.').optional(),
  p: z.number().optional(),
}

const relative = orNull.describe('Relative to the truth; null if the truth is 0, or a date or timestamp.')
const percent =
  'Sum of the absolute errors in percent of the sum of the absolute truths; null if all truths are 0, or are dates or timestamps.'

const evaluatedNumber = object(
  'EvaluatedNumber',
  'One number of the answer: its truth and its errors over the runs.',
  {
    ...name,
    truth: shownValue
      .nullable()
      .describe('Value without noise and without post-processing; null for a mean of no rows.'),
    // Null for dates and timestamps, and if a value is undefined.
    boundingBias: orNull
      .optional()
      .describe(
        'Truth minus the value over all rows that the dataset keeps of each person: the bias that `contribution` causes. ' +
          'Only for a query with `contribution`.',
      ),
    meanAbsoluteError,
    meanRelativeError: relative,
    bias: z.strictObject({
      ...figure,
      theoretical: z
        .literal(0)
        .nullable()
        .describe('0 if the value is known to be unbiased; null if it is clamped, rounded or a quotient.'),
    }),
    standardDeviation: orNull.describe('Standard deviation of the error.'),
    withinHalfWidth: orNull.describe(
      'Share of the runs whose error is within the half-width. It should be at least the confidence.',
    ),
    rankErrorRows: meanOverRuns.optional().describe("Error of a quantile's rank, in rows."),
  },
)

const evaluatedTotal = object('EvaluatedTotal', 'Sum of the absolute errors of numbers in one unit.', {
  statistic: z.string().optional(),
  totalAbsoluteError: meanAbsoluteError,
  relativeTotalErrorPercent: meanOverRuns.describe(percent),
})

const shownRun = object(
  'ShownRun',
  'One answer made of numbers: the truth, the measured and the published values, and their errors.',
  {
    values: listOf(
      z.strictObject({
        ...name,
        truth: shownValue.nullable().describe('Value without noise and without post-processing.'),
        measured: shownValue
          .nullable()
          .describe(
            'Noisy value before post-processing. Its distance to the truth is the noise that was drawn.',
          ),
        noisy: shownValue.nullable().describe('Published value, post-processed as the query asks.'),
        halfWidth: orNull.describe(
          'Half-width that the answer states. For a quantile, the half-width of its rank.',
        ),
        absoluteError: orNull,
        relativeError: relative,
        rankErrorRows: z.number().optional(),
      }),
    ),
    totals: listOf(
      z.strictObject({
        statistic: z.string().optional(),
        totalAbsoluteError: orNull,
        relativeTotalErrorPercent: orNull.describe(percent),
      }),
    ),
  },
)

/** Evaluation of an answer made of numbers. */
export const evaluatedNumbers = z.strictObject({
  ...size,
  values: listOf(evaluatedNumber).describe('One for each number of the answer.'),
  totals: listOf(evaluatedTotal).describe('Sum over all cells; for groups, one for each statistic.'),
  shown: listOf(shownRun).describe('The first runs in full.'),
})

const shownResults = listOf(result).describe('Results of the first runs.')

const gaps = object(
  'GapErrors',
  'Errors of the noisy gaps, in rows. The true gap is the lead over the candidate that was selected next, and for the ' +
    'last one the lead over the best candidate that was not selected.',
  {
    halfWidth: number('In rows. With the stated confidence it holds for all gaps of an answer.'),
    withinHalfWidth: number('Share of the runs in which the errors of all gaps are within the half-width.'),
    ranks: listOf(
      z.strictObject({
        rank: z.int().min(1).max(100),
        meanAbsoluteError,
        bias: meanOverRuns,
        standardDeviation: orNull.describe('Standard deviation of the error.'),
      }),
    ).describe('One for each selected candidate, best first.'),
  },
)

const evaluatedCandidate = object(
  'EvaluatedCandidate',
  'One candidate: its rows, and how often it was selected.',
  {
    candidate: cellLabel,
    truth: rowCount.describe('Number of rows or people.'),
    won: runCount.describe('Number of runs in which it came first.'),
    selected: runCount.describe('Number of runs in which it was selected.'),
    probabilityToWin: orNull.describe(
      'Exact probability of coming first; null if it takes too long to compute.',
    ),
  },
)

/** Evaluation of a selection among candidates. */
export const evaluatedCandidates = z.strictObject({
  ...size,
  candidates: listOf(evaluatedCandidate),
  shortfallRows: meanOverRuns.describe(
    'Rows by which a selected candidate falls short of the best one left; the maximum over those selected in a run.',
  ),
  withinHalfWidth: number('Share of the runs whose shortfall is within the half-width.'),
  gaps: gaps.optional(),
  shown: shownResults,
})

const evaluatedKey = object(
  'EvaluatedKey',
  'One key: its rows, how often it appeared, and the errors of its counts.',
  {
    key: z.string(),
    truth: rowCount.describe('Number of rows, or of people.'),
    appeared: runCount.describe('Number of runs in which it appeared.'),
    // Before an answer with too many keys is truncated.
    probabilityToAppear: number('Exact probability of appearing.'),
    meanAbsoluteError: meanOverRuns.optional(),
    bias: meanOverRuns.optional(),
  },
)

/** Evaluation of a selection of keys. */
export const evaluatedKeys = z.strictObject({
  ...size,
  keys: listOf(evaluatedKey).describe('The keys with the most rows.'),
  distinctKeys: rowCount.describe('Number of keys in the data.'),
  shown: shownResults,
})

const facts = { kind, noise, accuracy }

/** Result of POST /v1/datasets/{dataset}/evaluations. */
export const evaluation = evaluationWith({ dataset: datasetId, datasetVersion: z.string() }).meta({
  id: 'Evaluation',
  description: 'Errors of the answers to a query, with the errors expected in theory.',
})

/** Result of POST /v1/datasets/{dataset}/evaluations/batch. */
export const batchEvaluation = object(
  'BatchEvaluation',
  'Errors of the answers to the queries of a batch, with the errors expected in theory.',
  {
    ...batchFacts,
    evaluations: listOf(
      evaluationWith({ price: amount.describe('Price of the query on its own.') }),
    ).describe('In the order of the queries.'),
    cost: amount.describe('Price of the batch. It is not charged.'),
  },
)

function evaluationWith<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.union([
    z.strictObject({ ...shape, ...facts, ...evaluatedNumbers.shape }),
    z.strictObject({ ...shape, ...facts, ...evaluatedCandidates.shape }),
    z.strictObject({ ...shape, ...facts, ...evaluatedKeys.shape }),
  ])
}

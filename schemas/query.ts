import { z } from 'zod'
import { DEFAULT_CONFIDENCE, MAX_QUERY_EPSILON } from '../src/privacy/loss.ts'
import { columnName } from './dataset.ts'

/** How deep a predicate may be nested. */
export const MAX_PREDICATE_DEPTH = 12
/** How long the lists in a predicate may be. */
export const MAX_PREDICATE_LIST = 1_000

const literal = z.union(
  [z.number(), z.string().max(1_000), z.boolean()],
  'must be a number, a text, true or false (for a missing value use the operator isNull)',
)

const comparison = z
  .strictObject({
    column: columnName,
    op: z.enum(['=', '!=', '<', '<=', '>', '>=']),
    value: literal,
  })
  .meta({ id: 'Comparison', description: 'Compares a column with a value. False where the column is NULL.' })

const membership = z
  .strictObject({
    column: columnName,
    op: z.literal('in'),
    values: z.array(literal).min(1).max(MAX_PREDICATE_LIST),
  })
  .meta({ id: 'Membership', description: 'Whether a column has one of the values. False where it is NULL.' })

const range = z
  .strictObject({ column: columnName, op: z.literal('between'), lower: z.number(), upper: z.number() })
  .meta({ id: 'Range', description: 'lower <= column <= upper. False where the column is NULL.' })

const missing = z
  .strictObject({ column: columnName, op: z.literal('isNull') })
  .meta({ id: 'Missing', description: 'Whether a column is NULL.' })

const combination = z
  .strictObject({
    op: z.enum(['and', 'or']),
    get predicates() {
      return z.array(predicate).min(1).max(MAX_PREDICATE_LIST)
    },
  })
  .meta({ id: 'Combination', description: 'All of the predicates, or any of them.' })

const negation = z
  .strictObject({
    op: z.literal('not'),
    get predicate() {
      return predicate
    },
  })
  .meta({ id: 'Negation', description: 'The rows for which the predicate is false.' })

/** Which rows a query looks at. */
export const predicate: z.ZodDiscriminatedUnion<
  [typeof comparison, typeof membership, typeof range, typeof missing, typeof combination, typeof negation]
> = z
  .discriminatedUnion('op', [comparison, membership, range, missing, combination, negation], {
    error:
      'must be a predicate: {"column", "op", "value"} with op one of =, !=, <, <=, >, >=; or in, between, isNull, and, or, not',
  })
  .meta({ id: 'Predicate', description: 'Which rows count.' })

type PredicateTree = z.output<typeof predicate>

function depthOf(tree: PredicateTree): number {
  switch (tree.op) {
    case 'and':
    case 'or':
      return 1 + Math.max(...tree.predicates.map(depthOf))
    case 'not':
      return 1 + depthOf(tree.predicate)
    default:
      return 1
  }
}

/** A predicate of bounded depth. */
export const where = predicate.refine(
  (tree) => depthOf(tree) <= MAX_PREDICATE_DEPTH,
  `must be nested at most ${MAX_PREDICATE_DEPTH} deep`,
)

const binnedColumn = z
  .strictObject({
    column: columnName,
    edges: z
      .array(z.number())
      .min(2)
      .max(1_001)
      .describe('Increasing edges. A bin holds its lower edge and not its upper one, except for the last.'),
  })
  .meta({ id: 'BinnedColumn', description: 'A numeric column cut into declared bins.' })

const groupingColumn = z.union(
  [columnName, binnedColumn],
  'must be the name of a category or boolean column, or {"column", "edges"} for a numeric one',
)

const rows = {
  where: where.optional(),
  // The exact rules are the planner's; these bounds are for whoever reads the document.
  epsilon: z.number().optional().meta({
    description:
      'Greater than 0, at most 1000, at most 9 fractional digits; never rounded. Needed unless `accuracy` is given.',
    exclusiveMinimum: 0,
    maximum: MAX_QUERY_EPSILON,
  }),
  accuracy: z
    .strictObject({
      halfWidth: z
        .number()
        .meta({ description: 'Greater than 0, in the unit of the answer.', exclusiveMinimum: 0 }),
      confidence: z
        .number()
        .default(DEFAULT_CONFIDENCE)
        .meta({ description: 'That the half-width holds.', minimum: 1e-9, maximum: 0.999999999 }),
      supposedRows: z
        .int()
        .min(1)
        .max(1e12)
        .optional()
        .describe(
          'How many rows you suppose to count (in each group, where there are groups), where the accuracy depends on ' +
            'a private number of them.',
        ),
    })
    .optional()
    .describe(
      'In place of epsilon: the least epsilon that meets it, by whichever mechanism costs least, is found and charged. ' +
        'A preview shows it.',
    ),
}

const additive = {
  ...rows,
  mechanism: z
    .enum(['geometric', 'laplace', 'gaussian'])
    .optional()
    .describe('Left out: the one with the least expected error under the epsilon and delta given.'),
  calibration: z
    .enum(['analytic', 'classic'])
    .optional()
    .describe(
      'Only with the mechanism "gaussian". Left out: analytic. classic needs an epsilon of at most 1.',
    ),
  delta: z.number().default(0).meta({
    description:
      'What the gaussian mechanism may use; the others charge none of it. At most 18 fractional digits.',
    minimum: 0,
    exclusiveMaximum: 1,
  }),
  postprocess: z
    .strictObject({
      round: z.boolean().default(false).describe('Round to the nearest whole number.'),
      nonNegative: z.boolean().default(false).describe('Replace negative values by 0.'),
    })
    .default({ round: false, nonNegative: false })
    .describe('What is done to noisy values before they are shown; it costs nothing.'),
}

const countQuery = z.strictObject({ kind: z.literal('count'), ...additive }).meta({
  id: 'CountQuery',
  examples: [{ kind: 'count', where: { column: 'Age', op: '>=', value: 65 }, epsilon: 0.1 }],
  description: 'How many rows there are.',
})

const sumQuery = z.strictObject({ kind: z.literal('sum'), column: columnName, ...additive }).meta({
  id: 'SumQuery',
  examples: [{ kind: 'sum', column: 'Earnings', epsilon: 0.1 }],
  description: 'The sum of a numeric column. NULL counts as 0.',
})

const meanQuery = z.strictObject({ kind: z.literal('mean'), column: columnName, ...additive }).meta({
  id: 'MeanQuery',
  examples: [{ kind: 'mean', column: 'Age', accuracy: { halfWidth: 0.5, supposedRows: 80_000 } }],
  description: 'The mean of a numeric column over the rows where it is not NULL.',
})

const varianceQuery = z.strictObject({ kind: z.literal('variance'), column: columnName, ...additive }).meta({
  id: 'VarianceQuery',
  examples: [{ kind: 'variance', column: 'Age', epsilon: 0.1 }],
  description: 'The variance of a numeric column: the mean squared distance from the mean, NULL left out.',
})

const standardDeviationQuery = z
  .strictObject({ kind: z.literal('standardDeviation'), column: columnName, ...additive })
  .meta({
    id: 'StandardDeviationQuery',
    examples: [
      { kind: 'standardDeviation', column: 'Age', mechanism: 'gaussian', epsilon: 0.1, delta: 1e-7 },
    ],
    description: 'The square root of the variance.',
  })

const proportionQuery = z.strictObject({ kind: z.literal('proportion'), of: where, ...additive }).meta({
  id: 'ProportionQuery',
  examples: [{ kind: 'proportion', of: { column: 'Married', op: '=', value: 'M' }, epsilon: 0.1 }],
  description: 'The share of the rows for which the predicate `of` holds.',
})

const countDistinctQuery = z
  .strictObject({ kind: z.literal('countDistinct'), column: groupingColumn, ...additive })
  .meta({
    id: 'CountDistinctQuery',
    examples: [{ kind: 'countDistinct', column: 'Occupation', epsilon: 1 }],
    description: 'How many of the declared categories or bins of a column occur. NULL is none of them.',
  })

const histogramQuery = z
  .strictObject({ kind: z.literal('histogram'), column: groupingColumn, ...additive })
  .meta({
    id: 'HistogramQuery',
    examples: [{ kind: 'histogram', column: { column: 'Age', edges: [0, 18, 30, 65, 120] }, epsilon: 0.1 }],
    description: 'How many rows fall into each category or bin of a column.',
  })

const contingencyQuery = z
  .strictObject({
    kind: z.literal('contingency'),
    columns: z.array(groupingColumn).min(2).max(8),
    ...additive,
  })
  .meta({
    id: 'ContingencyQuery',
    examples: [
      {
        kind: 'contingency',
        columns: ['Occupation', 'Sex'],
        where: { column: 'Age', op: '>=', value: 30 },
        mechanism: 'geometric',
        epsilon: 0.1,
        postprocess: { nonNegative: true },
      },
    ],
    description: 'How many rows fall into each cell of the full cross product of two or more columns.',
  })

const groupStatistic = z
  .union(
    [
      z.strictObject({ kind: z.literal('count') }),
      z.strictObject({ kind: z.enum(['sum', 'mean', 'variance', 'standardDeviation']), column: columnName }),
    ],
    'must be {"kind": "count"}, or {"kind", "column"} with kind one of sum, mean, variance, standardDeviation',
  )
  .meta({ id: 'GroupStatistic', description: 'What is computed of each group.' })

function isSameStatistic(one: GroupStatistic, other: GroupStatistic): boolean {
  const columnOf = (statistic: GroupStatistic) => ('column' in statistic ? statistic.column : undefined)
  return one.kind === other.kind && columnOf(one) === columnOf(other)
}

const groupByQuery = z
  .strictObject({
    kind: z.literal('groupBy'),
    keys: z
      .array(groupingColumn)
      .min(1)
      .max(8)
      .describe('A group for each cell of their full cross product.'),
    statistics: z
      .array(groupStatistic)
      .min(1)
      .max(8)
      .superRefine((statistics, context) => {
        for (const [position, statistic] of statistics.entries())
          if (statistics.findIndex((other) => isSameStatistic(statistic, other)) < position)
            context.addIssue({
              code: 'custom',
              path: [position],
              message: 'must not repeat an earlier statistic',
            })
      })
      .describe(
        'Statistics of each group. In the answer each is named by its kind, or by its kind and column, such as ' +
          '`count` and `mean_Age`. A statistic may be listed once.',
      ),
    ...additive,
  })
  .meta({
    id: 'GroupByQuery',
    examples: [
      {
        kind: 'groupBy',
        keys: ['Sex', 'Married'],
        statistics: [{ kind: 'count' }, { kind: 'mean', column: 'Age' }],
        epsilon: 0.1,
      },
    ],
    description:
      'One or several statistics of each group of the declared keys. The groups together cost what one would; the ' +
      'epsilon is divided among the sums and counts that the statistics need, each measured once.',
  })

const noisyMaxQuery = z
  .strictObject({
    kind: z.literal('noisyMax'),
    candidates: z.union(
      [
        z.strictObject({ column: groupingColumn }).describe('The declared categories or bins of a column.'),
        z
          .strictObject({
            predicates: z
              .array(z.strictObject({ name: z.string().min(1).max(200), where }))
              .min(2)
              .max(1_000),
          })
          .describe(
            'Named predicates: each counts the rows for which it holds. As many as fit a body of 64 KiB.',
          ),
      ],
      'must be {"column"} or {"predicates": [{"name", "where"}, ...]}',
    ),
    noise: z
      .enum(['laplace', 'exponential', 'gumbel'])
      .optional()
      .describe(
        'laplace: report noisy max; exponential: permute-and-flip; gumbel: the exponential mechanism. Left out: ' +
          'exponential, which errs least, or laplace where the gap is asked for.',
      ),
    k: z.int().min(1).max(100).default(1).describe('How many of the best, in order.'),
    gap: z
      .boolean()
      .default(false)
      .describe(
        'Whether to release how far each is ahead of the next, noisy, at no further cost. Only with laplace noise.',
      ),
    ...rows,
  })
  .meta({
    id: 'NoisyMaxQuery',
    examples: [{ kind: 'noisyMax', candidates: { column: 'Occupation' }, k: 2, gap: true, epsilon: 0.1 }],
    description: 'Which candidate has the most rows, without its count (report noisy max).',
  })

const medianQuery = z.strictObject({ kind: z.literal('median'), column: columnName, ...rows }).meta({
  id: 'MedianQuery',
  examples: [{ kind: 'median', column: 'Earnings', epsilon: 0.1 }],
  description: 'The median of a numeric column, one of its grid points. NULL is left out.',
})

const percentage = z.number().meta({
  description:
    'In per cent, so that 50 is the median: strictly between 0 and 100, at most 2 fractional digits.',
  exclusiveMinimum: 0,
  exclusiveMaximum: 100,
})

const percentileQuery = z
  .strictObject({
    kind: z.literal('percentile'),
    column: columnName,
    p: z.union(
      [percentage, z.array(percentage).min(1).max(20)],
      'must be a number between 0 and 100, or a list of up to 20',
    ),
    ...rows,
  })
  .meta({
    id: 'PercentileQuery',
    examples: [{ kind: 'percentile', column: 'Age', p: [25, 50, 75], epsilon: 0.1 }],
    description:
      'A percentile of a numeric column, or several, among which the epsilon is divided. One of its grid points.',
  })

const extremeQuery = z
  .strictObject({ kind: z.enum(['minimum', 'maximum']), column: columnName, ...rows })
  .meta({
    id: 'ExtremeQuery',
    examples: [{ kind: 'minimum', column: 'Age', epsilon: 0.1 }],
    description:
      'An extreme quantile of a numeric column: the true minimum or maximum belongs to one row and cannot be told. ' +
      'The answer says at which rank from the end it aims.',
  })

const keySelectionQuery = z
  .strictObject({
    kind: z.literal('keySelection'),
    column: columnName,
    counts: z
      .boolean()
      .default(false)
      .describe('Whether to release a noisy count beside each key. Without, more keys are kept.'),
    ...rows,
    delta: z.number().meta({
      description: 'Above 0: at most how likely a key that one row alone has is to appear.',
      exclusiveMinimum: 0,
      exclusiveMaximum: 1,
    }),
  })
  .meta({
    id: 'KeySelectionQuery',
    description:
      'Which values of a free-text column are common, where nobody declared them: private key selection. A value that ' +
      'few rows have does not appear.',
  })

/** Every kind of query. */
export const QUERY_KINDS = [
  'count',
  'sum',
  'mean',
  'variance',
  'standardDeviation',
  'proportion',
  'countDistinct',
  'histogram',
  'contingency',
  'groupBy',
  'noisyMax',
  'median',
  'percentile',
  'minimum',
  'maximum',
  'keySelection',
] as const

/** POST /v1/datasets/{dataset}/queries */
export const query = z
  .discriminatedUnion(
    'kind',
    [
      countQuery,
      sumQuery,
      meanQuery,
      varianceQuery,
      standardDeviationQuery,
      proportionQuery,
      countDistinctQuery,
      histogramQuery,
      contingencyQuery,
      groupByQuery,
      noisyMaxQuery,
      medianQuery,
      percentileQuery,
      extremeQuery,
      keySelectionQuery,
    ],
    { error: `must be one of ${QUERY_KINDS.join(', ')}` },
  )
  .meta({
    id: 'Query',
    description: 'A statistical question, by its kind.',
    examples: [
      {
        kind: 'contingency',
        columns: ['Occupation', 'Sex'],
        where: { column: 'Age', op: '>=', value: 30 },
        mechanism: 'geometric',
        epsilon: 0.1,
        postprocess: { nonNegative: true },
      },
    ],
  })

/** The most queries that are charged together. */
export const MAX_BATCH_QUERIES = 100

/** POST /v1/datasets/{dataset}/queries/batch */
export const batch = z
  .strictObject({
    queries: z
      .array(query)
      .min(1)
      .max(MAX_BATCH_QUERIES)
      .readonly()
      .describe('None sees the answer of another.'),
  })
  .meta({
    id: 'Batch',
    description: 'Queries that are charged once and answered together, all or none.',
    examples: [
      {
        queries: [
          { kind: 'count', where: { column: 'Age', op: '<', value: 30 }, epsilon: 0.1 },
          { kind: 'mean', column: 'Earnings', where: { column: 'Age', op: '>=', value: 30 }, epsilon: 0.1 },
        ],
      },
    ],
  })

export type Query = z.output<typeof query>
export type QueryPredicate = PredicateTree
export type GroupingColumn = z.output<typeof groupingColumn>
export type GroupStatistic = z.output<typeof groupStatistic>

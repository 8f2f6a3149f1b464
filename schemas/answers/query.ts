import { z } from 'zod'
import { DEFAULT_CONFIDENCE, MAX_QUERY_EPSILON } from '../../src/privacy/loss.ts'
import { nearestOf } from '../../src/privacy/rule.ts'
import { datasetId, expressionText, isoText } from '../datasets/dataset.ts'
import { boolean, deltaBelow1, number, object, positive } from '../values.ts'

/** A column of a question: its name, or an expression. */
const askedColumn = expressionText.meta({
  id: 'Column',
  description:
    'Name of a column, or an expression that computes one from others, such as `arr_delay - dep_delay`: docs/queries.md.',
})

/** Entry of a field in the table of kinds, from which forms and clients are made, beside its schema. */
export const formFields = z.registry<{
  /** Type of a field that is more than its JSON: forms and clients have a control or an expression for each. */
  readonly type?:
    | 'column'
    | 'grouping'
    | 'condition'
    | 'statistics'
    | 'candidates'
    | 'percentages'
    | 'numbers'
    | 'weights'
    | 'counted'
    | 'perPerson'
    | 'clamp'
    | 'clamps'
    | 'ranges'
  /** Label of the field. Default: its name. */
  readonly title?: string
  readonly hint?: string
  /** First value of a required field. */
  readonly initial?: number | readonly number[]
  /** Number of entries with which a form begins, if it is more than the least that is accepted. */
  readonly begins?: number
  /** Another field, and the value that it must have or be without. */
  readonly onlyWith?: readonly [field: string, value: string]
}>()

formFields.add(askedColumn, { type: 'column', title: 'Column' })

/** Largest number of tables of one question. */
export const MOST_TABLES = 1_000

/** Largest nesting depth of a predicate. */
export const MAX_PREDICATE_DEPTH = 12
/** Largest length of a list in a predicate. */
export const MAX_PREDICATE_LIST = 1_000

const literal = z.union(
  [z.number(), z.string().max(1_000), z.boolean()],
  'must be a number, a string or a boolean (use the operator isNull to test for missing values)',
)

/** A value of a column on a grid. */
const gridValue = z
  .union([z.number(), isoText], 'must be a number, or a date or time in ISO 8601')
  .describe('Number, or a date or time in ISO 8601.')

const comparison = object('Comparison', 'Compares a column with a value. False if the column is NULL.', {
  column: askedColumn,
  op: z.enum(['=', '!=', '<', '<=', '>', '>=']),
  value: literal,
})

const membership = object(
  'Membership',
  'Tests if a column has one of the values. False if the column is NULL.',
  {
    column: askedColumn,
    op: z.literal('in'),
    values: z.array(literal).min(1).max(MAX_PREDICATE_LIST),
  },
)

const range = object('Range', 'Tests if lower <= column <= upper. False if the column is NULL.', {
  column: askedColumn,
  op: z.literal('between'),
  lower: gridValue,
  upper: gridValue,
})

const missing = object('Missing', 'Tests if a column is NULL.', {
  column: askedColumn,
  op: z.literal('isNull'),
})

const combination = z
  .strictObject({
    op: z.enum(['and', 'or']),
    get predicates() {
      return z.array(predicate).min(1).max(MAX_PREDICATE_LIST)
    },
  })
  .meta({ id: 'Combination', description: 'True if all predicates hold (and), or if any holds (or).' })

const negation = z
  .strictObject({
    op: z.literal('not'),
    get predicate() {
      return predicate
    },
  })
  .meta({ id: 'Negation', description: 'True if the predicate is false.' })

/** Condition on rows. */
export const predicate: z.ZodDiscriminatedUnion<
  [typeof comparison, typeof membership, typeof range, typeof missing, typeof combination, typeof negation]
> = z
  .discriminatedUnion('op', [comparison, membership, range, missing, combination, negation], {
    error:
      'must be a predicate: {"column", "op", "value"} with op one of =, !=, <, <=, >, >=; or in, between, isNull, and, or, not',
  })
  .meta({ id: 'Predicate', description: 'Condition on rows.' })
  .register(formFields, { type: 'condition', title: 'Share with' })

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

/** Predicate of bounded depth. */
export const where = predicate.refine(
  (tree) => depthOf(tree) <= MAX_PREDICATE_DEPTH,
  `must be nested at most ${MAX_PREDICATE_DEPTH} levels deep`,
)

const clamp = object(
  'Clamp',
  'Bounds for one question, within the declared bounds of the column and on its grid. Values beyond count as the nearer bound. ' +
    'Narrower bounds need less noise, but move the statistic itself, which no half-width covers. NULL stays NULL.',
  {
    lower: gridValue.describe('Smaller values count as this one. Within the declared bounds of the column.'),
    upper: gridValue.describe('Larger values count as this one. Greater than `lower`.'),
  },
)

/** A clamp of the one column that a statistic is about. */
const clampable = {
  clamp: clamp
    .optional()
    .describe('Clamps the values of the column to narrower bounds than the declared ones.')
    .register(formFields, {
      type: 'clamp',
      title: 'Clamp values',
      hint: 'Narrower bounds need less noise. Values beyond them count as the nearer bound.',
    }),
}

/** Clamps of the columns that a statistic is about. */
const clampableColumns = {
  clamp: z
    .record(askedColumn, clamp)
    .optional()
    .describe(
      'Clamps the values of columns to narrower bounds than the declared ones, by the names of the columns.',
    )
    .register(formFields, {
      type: 'clamps',
      title: 'Clamp values',
      hint: 'Narrower bounds need less noise. Values beyond them count as the nearer bound.',
    }),
}

const binnedColumn = object('BinnedColumn', 'Column of numbers, dates or timestamps divided into bins.', {
  column: askedColumn,
  edges: z
    .array(gridValue)
    .min(2)
    .max(1_001)
    .describe(
      'Increasing edges. A bin contains its lower edge but not its upper edge; the last bin contains both, so that its ' +
        'edges may be equal.',
    ),
})

const calendarColumn = object(
  'CalendarColumn',
  'Column of dates or timestamps divided by the calendar. Every cell is a whole period.',
  {
    column: askedColumn,
    by: z
      .enum(['year', 'quarter', 'month', 'week', 'day', 'hour', 'dayOfWeek', 'monthOfYear'])
      .describe(
        'Cells are named `2024`, `2024-Q1`, `2024-03`, `2024-W09` (ISO 8601 weeks), `2024-03-01`, `2024-03-01T05Z`, ' +
          '`Monday` and `January`. All are in UTC unless `timeZone` is given.',
      ),
    timeZone: z
      .string()
      .max(64)
      .optional()
      .describe(
        'IANA name of the time zone whose clock divides a column of timestamps, such as `America/New_York`: days have 23 or 25 hours ' +
          'where its clock changes. Hours are named with their offset, such as `2024-11-03T01-04:00`. Default: `UTC`.',
      ),
    from: isoText
      .optional()
      .describe('Name of the first cell, or a date or time in it. Default: the lower bound of the column.'),
    to: isoText
      .optional()
      .describe('Name of the last cell, or a date or time in it. Default: the upper bound of the column.'),
  },
)

const groupingColumn = z
  .union(
    [askedColumn, binnedColumn, calendarColumn],
    'must be the name of a category or boolean column, {"column", "edges"} for a column of numbers, dates or timestamps, ' +
      'or {"column", "by"} for a column of dates or timestamps',
  )
  .register(formFields, { type: 'grouping', title: 'By' })

/** Largest number of rows that a dataset keeps of one person. */
const MOST_ROWS = 1_000_000

const ownRows = z.int().min(1).max(MOST_ROWS)

const contribution = object(
  'Contribution',
  'Bounds on what each person contributes, applied after `where`. Fewer rows need less noise, but leave more data ' +
    "out. Which rows of a person are kept depends on that person's rows only. Default: the `maxRows` of the dataset. " +
    'Only for datasets whose privacy unit is a person.',
  {
    rows: ownRows.optional().describe('Largest number of rows of each person, in all groups together.'),
    groups: ownRows.optional().describe('Largest number of groups of each person. Not together with `rows`.'),
    rowsPerGroup: ownRows
      .optional()
      .describe('Largest number of rows of each person in one group. Only with `groups`. Default: 1.'),
    perPerson: z
      .strictObject({ lower: z.number(), upper: z.number() })
      .optional()
      .describe(
        "Bounds to which a person's total is clamped, in each group. Only for sums, means and values per person.",
      ),
  },
)

const counted = {
  of: z
    .enum(['rows', 'people'])
    .optional()
    .describe(
      '`rows` (default) or `people`. Counts of people need less noise. Only for datasets whose privacy unit is a person.',
    )
    .register(formFields, {
      type: 'counted',
      title: 'Count',
      hint: 'One person moves a count of people by 1, whatever the number of rows.',
    }),
}

const valuePerPerson = {
  perPerson: z
    .enum(['sum', 'count', 'mean'])
    .optional()
    .describe(
      'Uses one value of each person in place of the rows: the sum, the number or the mean of the column over the rows of ' +
        'the person where it is not NULL. People without such a row have no value. Only for datasets whose privacy unit is ' +
        'a person.',
    )
    .register(formFields, { type: 'perPerson', title: 'Values' }),
}

/** Subject of a count, and the bounds on what each person contributes to it. */
export const countedContribution = { ...counted, contribution: contribution.optional() }

const accuracyTarget = object(
  'AccuracyTarget',
  'Accuracy to reach, instead of `epsilon`. The service finds the mechanism with the lowest cost, and charges the ' +
    'smallest epsilon that reaches this accuracy. A preview shows it.',
  {
    halfWidth: positive('Largest accepted error. Greater than 0, in the unit of the answer.'),
    confidence: z.number().default(DEFAULT_CONFIDENCE).meta({
      description: 'Probability with which the half-width must hold.',
      minimum: 1e-9,
      maximum: 0.999999999,
    }),
  },
)

const rows = {
  where: where.optional(),
  contribution: contribution.optional(),
  epsilon: positive(
    'Privacy loss to spend. Greater than 0, at most 1000, at most 9 fractional digits. Never rounded. Required unless ' +
      '`accuracy` is given.',
    MAX_QUERY_EPSILON,
  ).optional(),
  accuracy: accuracyTarget.optional(),
}

const delta = deltaBelow1(
  'Delta that the Gaussian mechanism may use. Other mechanisms charge none of it. At most 18 fractional digits.',
)

const postprocess = object('PostprocessingChoice', 'Post-processing of noisy values. It costs nothing.', {
  round: boolean('Round to the nearest whole number.').default(false),
  nonNegative: boolean('Replace negative values by 0.').default(false),
})

const use = z
  .enum(['free', 'topUp', 'fresh'])
  .optional()
  .meta({
    id: 'Use',
    description:
      'Whether answers that you have paid for are used. `free`: the answer is computed from them alone, and costs nothing; it is ' +
      'refused if it does not follow from them. `topUp`: they are combined with a new measurement, which costs only the precision ' +
      'that they lack. `fresh`: the answer has noise of its own. Default: `free` if they meet the `accuracy` asked for, otherwise ' +
      '`fresh`; always `fresh` in batches and with a chosen Idempotency-Key. A preview states the price of each. Over made-up rows ' +
      'it has no effect.',
  })

const additive = {
  ...rows,
  use,
  mechanism: z
    .enum(['geometric', 'laplace', 'gaussian'])
    .meta({
      id: 'AdditiveMechanism',
      description: 'Mechanism. Default: the one with the smallest half-width at the given epsilon and delta.',
    })
    .optional(),
  calibration: z
    .enum(['analytic', 'classic'])
    .meta({
      id: 'GaussianCalibration',
      description:
        'Calibration of the mechanism `gaussian`. Default: `analytic`. `classic` needs an epsilon of at most 1.',
    })
    .optional(),
  delta: delta.default(0),
  postprocess: postprocess.default({ round: false, nonNegative: false }),
}

const countQuery = object(
  'CountQuery',
  'Number of rows or of people.',
  { kind: z.literal('count'), ...counted, ...additive },
  { kind: 'count', where: { column: 'Age', op: '>=', value: 65 }, epsilon: 0.1 },
)

const sumQuery = object(
  'SumQuery',
  'Sum of a numeric column. NULL counts as 0.',
  { kind: z.literal('sum'), column: askedColumn, ...clampable, ...additive },
  { kind: 'sum', column: 'Earnings', epsilon: 0.1 },
)

/** Assumptions of an analyst about the data, made without seeing any of it. */
const supposed = object(
  'Suppositions',
  'Your suppositions about the data. They change the accuracy that is stated before the release, and the epsilon ' +
    'found for an `accuracy`. They are never compared with the data and have no effect on the noise at a given ' +
    'epsilon. The accuracy stated with an answer does not depend on them. Omitted values are taken to be the ' +
    'hardest to estimate within the declared bounds.',
  {
    rows: z
      .int()
      .min(1)
      .max(1e12)
      .optional()
      .describe(
        'Number of rows that the statistic covers (of people, for a mean of a value per person); with groups, the number ' +
          'in each group.',
      ),
    mean: number('Mean of the column, within its declared bounds.').optional(),
    standardDeviation: z
      .number()
      .min(0)
      .optional()
      .describe('Standard deviation of the column. The accuracy of a mean does not depend on it.'),
  },
)

const supposable = { ...additive, supposed: supposed.optional() }

/** Fields that requests have in common for all kinds of query, each absent unless it is given. */
export const requestTerms = {
  epsilon: rows.epsilon,
  accuracy: rows.accuracy,
  mechanism: additive.mechanism,
  calibration: additive.calibration,
  delta: delta.optional(),
  contribution: rows.contribution,
  use,
  supposed: supposed.optional(),
  postprocess: postprocess.optional(),
}

const meanQuery = object(
  'MeanQuery',
  'Mean of a column of numbers, dates or timestamps, or of one value per person. NULL values are ignored.',
  {
    kind: z.literal('mean'),
    column: askedColumn,
    ...valuePerPerson,
    ...clampable,
    ...supposable,
  },
  { kind: 'mean', column: 'Age', accuracy: { halfWidth: 0.5 }, supposed: { rows: 80_000 } },
)

const varianceQuery = object(
  'VarianceQuery',
  'Population variance of a numeric column. NULL values are ignored.',
  { kind: z.literal('variance'), column: askedColumn, ...clampable, ...supposable },
  { kind: 'variance', column: 'Age', epsilon: 0.1 },
)

const standardDeviationQuery = object(
  'StandardDeviationQuery',
  'Population standard deviation of a numeric column. NULL values are ignored.',
  { kind: z.literal('standardDeviation'), column: askedColumn, ...clampable, ...supposable },
  { kind: 'standardDeviation', column: 'Age', mechanism: 'gaussian', epsilon: 0.1, delta: 1e-7 },
)

/** The two columns of a covariance or correlation. */
const pair = z
  .array(askedColumn)
  .length(2)
  .describe(
    'Two different columns, each numeric, boolean or temporal. A boolean is 0 or 1; dates count in days, timestamps in seconds.',
  )

const covarianceQuery = object(
  'CovarianceQuery',
  'Population covariance of two columns. Rows where one of them is NULL are ignored. `supposed` takes `rows` only.',
  { kind: z.literal('covariance'), columns: pair, ...clampableColumns, ...supposable },
  { kind: 'covariance', columns: ['Age', 'Earnings'], epsilon: 0.5 },
)

const correlationQuery = object(
  'CorrelationQuery',
  'Pearson correlation of two columns, between -1 and 1. Rows where one of them is NULL are ignored. If a noisy ' +
    'variance is not positive, the value is 0 and its half-width 1. Its accuracy depends on the data, so `accuracy` is ' +
    'not supported.',
  { kind: z.literal('correlation'), columns: pair, ...clampableColumns, ...additive },
  { kind: 'correlation', columns: ['Age', 'Earnings'], epsilon: 0.5 },
)

const linearRegressionQuery = object(
  'LinearRegressionQuery',
  'Linear regression by least squares, from noisy sums of products. Rows where the outcome or a predictor is NULL are ' +
    'ignored. The half-widths hold for all coefficients together, and include the bias of the ridge.',
  {
    kind: z.literal('linearRegression'),
    outcome: askedColumn
      .describe('Column to explain: numeric, boolean or temporal.')
      .register(formFields, { title: 'Column to explain' }),
    predictors: z
      .array(askedColumn)
      .min(1)
      .max(8)
      .describe('Columns that explain the outcome, each numeric, boolean or temporal.')
      .register(formFields, { title: 'Explained by' }),
    ridge: z
      .number()
      .optional()
      .meta({
        description:
          'Ridge: a number added to the sum of squares of each predictor, where the predictor is centred and scaled to lie ' +
          'between -1 and 1, so that the number is about as large as a number of rows. Default: the expected noise of ' +
          'these sums. At least 0.',
        minimum: 0,
      })
      .register(formFields, {
        title: 'Ridge',
        hint: 'Keeps coefficients from growing without limit. By default it is as large as the expected noise.',
      }),
    ...clampableColumns,
    ...additive,
  },
  { kind: 'linearRegression', outcome: 'Earnings', predictors: ['Age'], epsilon: 1 },
)

const proportionQuery = object(
  'ProportionQuery',
  'Share of rows that satisfy the predicate `of`.',
  { kind: z.literal('proportion'), of: where, ...supposable },
  { kind: 'proportion', of: { column: 'Married', op: '=', value: 'M' }, epsilon: 0.1 },
)

const countDistinctQuery = object(
  'CountDistinctQuery',
  'Number of declared categories, bins or periods of a column that occur, or of values of a free-text column that is ' +
    'declared as `selectable` (only under add-remove neighbours; each person contributes as many values as ' +
    '`contribution` allows). NULL is not counted.',
  { kind: z.literal('countDistinct'), column: groupingColumn, ...additive },
  { kind: 'countDistinct', column: 'Occupation', epsilon: 1 },
)

const histogramQuery = object(
  'HistogramQuery',
  'Number of rows or of people in each category, bin or period of a column.',
  { kind: z.literal('histogram'), column: groupingColumn, ...counted, ...additive },
  { kind: 'histogram', column: { column: 'Age', edges: [0, 18, 30, 65, 120] }, epsilon: 0.1 },
)

const contingencyExample = {
  kind: 'contingency',
  columns: ['Occupation', 'Sex'],
  where: { column: 'Age', op: '>=', value: 30 },
  mechanism: 'geometric',
  epsilon: 0.1,
  postprocess: { nonNegative: true },
}

const contingencyQuery = object(
  'ContingencyQuery',
  'Number of rows or of people in each cell of the full cross product of two or more columns.',
  {
    kind: z.literal('contingency'),
    columns: z.array(groupingColumn).min(2).max(8),
    ...counted,
    ...additive,
  },
  contingencyExample,
)

const percentage = z
  .number()
  .meta({
    description:
      'Percentage between 0 and 100, exclusive, with at most 2 fractional digits. 50 is the median.',
    exclusiveMinimum: 0,
    exclusiveMaximum: 100,
  })
  .register(formFields, { title: 'Percentage', initial: 90 })

const topGroupsQuery = object(
  'TopGroupsQuery',
  'The groups with the largest noisy counts, largest first, with these counts. One noisy count of each declared group ' +
    'pays for both. The half-width holds for all groups together, selected or not.',
  {
    kind: z.literal('topGroups'),
    keys: z
      .array(groupingColumn)
      .min(1)
      .max(8)
      .describe('Columns that define the groups: one group for each cell of their full cross product.'),
    k: z
      .int()
      .min(1)
      .max(100)
      .default(10)
      .describe('Number of groups in the answer.')
      .register(formFields, { title: 'How many' }),
    ...counted,
    ...additive,
  },
  { kind: 'topGroups', keys: ['Occupation'], k: 3, epsilon: 0.1 },
)

export const groupStatistic = z
  .union(
    [
      z.strictObject({ kind: z.literal('count'), ...counted }),
      z.strictObject({ kind: z.literal('mean'), column: askedColumn, ...valuePerPerson, ...clampable }),
      z.strictObject({
        kind: z.enum(['sum', 'variance', 'standardDeviation']),
        column: askedColumn,
        ...clampable,
      }),
      z.strictObject({ kind: z.literal('countDistinct'), column: groupingColumn }),
      z.strictObject({ kind: z.literal('median'), column: askedColumn, ...clampable }),
      z.strictObject({ kind: z.literal('percentile'), column: askedColumn, p: percentage, ...clampable }),
      z.strictObject({
        kind: z.literal('proportion'),
        of: where.describe('The share of rows that satisfy this predicate.'),
        name: z
          .string()
          .min(1)
          .max(63)
          .optional()
          .describe('Name of the statistic in the answer, if several are proportions. Default: `proportion`.')
          .register(formFields, { title: 'Name of the proportion' }),
      }),
    ],
    'must be {"kind": "count"}, {"kind": "proportion", "of"}, {"kind": "percentile", "column", "p"}, or ' +
      '{"kind", "column"} with kind one of sum, mean, variance, standardDeviation, median, countDistinct',
  )
  .meta({ id: 'GroupStatistic', description: 'Statistic of each group.' })

const groupByQuery = object(
  'GroupByQuery',
  'One or more statistics of each group. All groups together cost as much as one group. The epsilon is divided ' +
    'among the sums and counts that the statistics need, each of which is measured once, and the quantiles. The ' +
    'half-width of a quantile is a number of rows.',
  {
    kind: z.literal('groupBy'),
    keys: z
      .array(groupingColumn)
      .max(8)
      .describe(
        'Columns that define the groups: one group for each cell of their full cross product. None: all rows are one group.',
      ),
    statistics: z
      .array(groupStatistic)
      .min(1)
      .max(8)
      .describe(
        'Statistics of each group. In the answer each is named by its kind, or by its kind and column, such as ' +
          '`count`, `count_people`, `mean_Age` and `mean_perPerson_sum_Cost`. A statistic may be listed once.',
      )
      .register(formFields, { type: 'statistics' }),
    ...supposable,
  },
  {
    kind: 'groupBy',
    keys: ['Sex', 'Married'],
    statistics: [{ kind: 'count' }, { kind: 'mean', column: 'Age' }],
    epsilon: 0.1,
  },
)

const noisyMaxQuery = object(
  'NoisyMaxQuery',
  'Candidate with the most rows or people, without its count (report noisy max).',
  {
    kind: z.literal('noisyMax'),
    candidates: z
      .union(
        [
          z
            .strictObject({ column: groupingColumn })
            .describe('The declared categories, bins or periods of a column.'),
          z
            .strictObject({
              predicates: z
                .array(z.strictObject({ name: z.string().min(1).max(200), where }))
                .min(2)
                .max(1_000),
            })
            .describe(
              'Named predicates. The count of a candidate is the number of rows that satisfy its predicate.',
            ),
        ],
        'must be {"column"} or {"predicates": [{"name", "where"}, ...]}',
      )
      .register(formFields, { type: 'candidates' }),
    noise: z
      .enum(['laplace', 'exponential', 'gumbel'])
      .optional()
      .describe(
        '`laplace`: report noisy max. `exponential`: permute-and-flip. `gumbel`: exponential mechanism. Default: ' +
          '`exponential`, which has the smallest error, or `laplace` if `gap` is true.',
      )
      .register(formFields, { title: 'Noise', hint: 'By default, the one with the smallest error.' }),
    k: z
      .int()
      .min(1)
      .max(100)
      .default(1)
      .describe('Number of candidates to select, in order.')
      .register(formFields, { title: 'How many' }),
    ...counted,
    gap: boolean(
      'Also release the noisy difference to the next candidate, at no further cost. Only with `laplace` noise.',
    )
      .default(false)
      .register(formFields, {
        title: 'Also the distance to the next candidate',
        hint: 'At no further cost. The noise is then that of laplace.',
        onlyWith: ['noise', 'laplace'],
      }),
    ...rows,
  },
  { kind: 'noisyMax', candidates: { column: 'Occupation' }, k: 2, gap: true, epsilon: 0.1 },
)

const medianQuery = object(
  'MedianQuery',
  'Median of a column of numbers, dates or timestamps, or of one value per person; a grid point. NULL values are ignored.',
  { kind: z.literal('median'), column: askedColumn, ...valuePerPerson, ...clampable, ...rows },
  { kind: 'median', column: 'Earnings', epsilon: 0.1 },
)

const percentileQuery = object(
  'PercentileQuery',
  'One or more percentiles of a column of numbers, dates or timestamps, or of one value per person; grid points. The ' +
    'epsilon is divided among them.',
  {
    kind: z.literal('percentile'),
    column: askedColumn,
    p: z
      .union(
        [percentage, z.array(percentage).min(1).max(20)],
        'must be a number between 0 and 100, or an array of up to 20 numbers',
      )
      .register(formFields, {
        type: 'percentages',
        title: 'Percentages',
        hint: '50 is the median.',
        initial: [25, 50, 75],
      }),
    ...valuePerPerson,
    ...clampable,
    ...rows,
  },
  { kind: 'percentile', column: 'Age', p: [25, 50, 75], epsilon: 0.1 },
)

const extremeQuery = object(
  'ExtremeQuery',
  'Extreme quantile of a column of numbers, dates or timestamps, or of one value per person. The true minimum or ' +
    'maximum belongs to one row or person and cannot be released. The answer states the rank from the end that it ' +
    'targets.',
  {
    kind: z.literal(['minimum', 'maximum']),
    column: askedColumn,
    ...valuePerPerson,
    ...clampable,
    ...rows,
  },
  { kind: 'minimum', column: 'Age', epsilon: 0.1 },
)

const keySelectionQuery = object(
  'KeySelectionQuery',
  'Common values of a free-text column that is declared as `selectable` (private key selection). Values of few people ' +
    'do not appear. Where people have several rows, each person counts once for each value, and `contribution` bounds ' +
    'the number of values of one person.',
  {
    kind: z.literal('keySelection'),
    column: askedColumn,
    counts: boolean('Also release a noisy count for each key. Without counts more keys appear.')
      .default(false)
      .register(formFields, {
        title: 'Also a noisy count of each text',
        hint: 'Without counts more texts appear.',
      }),
    ...rows,
    delta: z
      .number()
      .meta({
        description:
          'Largest probability with which any of the keys that only one person has appears. Greater than 0.',
        exclusiveMinimum: 0,
        exclusiveMaximum: 1,
      })
      .register(formFields, {
        title: 'Delta',
        hint: 'Largest probability with which a text of one person appears.',
        initial: 0.000001,
      }),
  },
)

/** The next question, for which the answer weighs what its counts say. */
const nextQuestion = {
  nextEpsilon: positive(
    'Epsilon of the question that you will ask next, for which the answer makes its recommendation. A repeat with another one ' +
      'costs nothing. Default: the epsilon of this question.',
    MAX_QUERY_EPSILON,
  )
    .optional()
    .register(formFields, {
      title: 'Epsilon of the next question',
      hint: 'The answer makes its recommendation for it. By default, the epsilon of this question.',
    }),
}

/** Largest number of columns of a table, and of columns from which marginals are made. */
const MOST_WAYS = 8
const MOST_MARGINAL_COLUMNS = 30

const ways = z.int().min(1).max(MOST_WAYS)

const marginalsQuery = object(
  'MarginalsQuery',
  'Numbers of rows in all tables of some number of columns, such as every pair, at one price. The service measures the tables that ' +
    'say most, and estimates every table from all measurements: the tables agree with each other, and all cells of a table have one ' +
    'half-width. Where people have several rows, `contribution` with one row counts people.',
  {
    kind: z.literal('marginals'),
    columns: z
      .array(groupingColumn)
      .min(1)
      .max(MOST_MARGINAL_COLUMNS)
      .register(formFields, { begins: 2 })
      .describe(
        'Columns from which the tables are made. Rows outside of the bins of a column are in no table.',
      ),
    ways: z
      .union(
        [ways, z.array(ways).min(1).max(MOST_WAYS)],
        `must be a whole number from 1 to ${MOST_WAYS}, or a list of such numbers`,
      )
      .describe(
        'Number of columns of each table: all tables of so many of the columns. A list gives tables of several sizes.',
      )
      .register(formFields, {
        type: 'numbers',
        title: 'Columns of each table',
        hint: '2: every pair of columns. 1, 2: each column, and every pair.',
        initial: 2,
      }),
    objective: z
      .enum(['total', 'largest'])
      .optional()
      .describe(
        'What is made as small as the price allows: the mean squared error of all cells (`total`), or the largest ' +
          'half-width (`largest`). Default: `largest` if `accuracy` is given, otherwise `total`.',
      )
      .register(formFields, {
        title: 'Objective',
        hint: 'The error of all cells together, or that of the worst cell.',
      }),
    weights: z
      .union([z.number(), z.array(z.number()).min(1).max(MOST_TABLES)], 'must be a list of numbers')
      .optional()
      .describe(
        'How much the error of each table matters, in the order of the answer, instead of `objective`. Tables of larger weight have ' +
          'smaller errors. At least 0, and not all 0.',
      )
      .register(formFields, {
        type: 'weights',
        title: 'Weights of the tables',
        hint: 'In place of the objective. A table of larger weight has a smaller error.',
        onlyWith: ['objective', ''],
      }),
    ...rows,
    rho: positive(
      'Price in rho, in place of `epsilon`. Only for datasets whose budget is counted in rho. At most 12 fractional digits.',
      MAX_QUERY_EPSILON,
    )
      .optional()
      .register(formFields, {
        title: 'Rho',
        hint: 'In place of an epsilon, where the budget is counted in rho.',
      }),
    delta: delta.default(0).register(formFields, {
      title: 'Delta',
      hint: 'Above 0 with an epsilon: Gaussian noise, which many tables share better.',
    }),
  },
  { kind: 'marginals', columns: ['Sex', 'Married', 'Occupation'], ways: 2, epsilon: 1 },
)

const cumulativeCountsQuery = object(
  'CumulativeCountsQuery',
  'Number of rows or of people up to each edge, period or value of an ordered column. The difference of two counts is the count ' +
    'between them. All follow from measurements that halve the column again and again: for many cells their errors are far smaller ' +
    'than those of the cells of a histogram, added up. Rows without a value, or outside of the edges, are in no count. With a delta ' +
    'the noise is Gaussian, otherwise Laplace.',
  {
    kind: z.literal('cumulativeCounts'),
    column: groupingColumn.describe(
      'Ordered column with edges or consecutive periods; by its name alone, a column with at most 4,096 values, each of which is a cell.',
    ),
    ...counted,
    p: z
      .array(percentage)
      .min(1)
      .max(20)
      .optional()
      .describe(
        'Percentages whose quantiles are read from the cumulative counts, at no cost: the same question with others is a repeat.',
      )
      .register(formFields, {
        type: 'percentages',
        title: 'Quantiles',
        hint: 'Percentages. Read from the counts, at no cost. 50 is the median.',
      }),
    ranges: z
      .array(z.strictObject({ lower: gridValue, upper: gridValue }))
      .min(1)
      .max(100)
      .optional()
      .describe(
        'Ranges whose counts are read from the curve: from one of the edges to another, or from one period or value through another, ' +
          'as the answer writes them. They cost nothing: the same question with others is a repeat.',
      )
      .register(formFields, {
        type: 'ranges',
        title: 'Ranges',
        hint: 'Such as 18 to 65, 65 to 80: read from the curve, at no cost.',
      }),
    ...rows,
    delta: delta.default(0).register(formFields, {
      title: 'Delta',
      hint: 'Above 0: Gaussian noise, which is smaller for many cells.',
    }),
  },
  {
    kind: 'cumulativeCounts',
    column: { column: 'Age', edges: [0, 18, 30, 45, 65, 120] },
    p: [25, 50, 75],
    ranges: [{ lower: 18, upper: 65 }],
    epsilon: 0.1,
  },
)

const { contribution: _, ...uncontributed } = additive

const contributionProfileQuery = object(
  'ContributionProfileQuery',
  'Number of people by the number of their rows that satisfy `where`, also of those rows that `maxRows` leaves out of ' +
    'every other answer. Cells are `1`, `2`, `3`, `4 to 5`, `6 to 7` and so on, two for each power of two, divided ' +
    'after `maxRows`, up to `plausibleRows`. A person is in one cell. The answer recommends `rows` for the `contribution` of a next ' +
    'question. Only for datasets whose privacy unit is a person.',
  { kind: z.literal('contributionProfile'), ...nextQuestion, ...uncontributed },
)

const boundsQuery = object(
  'BoundsQuery',
  'Finds a `clamp` for a next sum or mean. Number of rows in each band of a column between powers of two (of steps from the lower ' +
    'bound, for dates and timestamps), and clamps that follow from these counts: each with the noise that it leaves, what it cuts off, ' +
    'and the share of rows beyond it. NULL values are ignored.',
  {
    kind: z.literal('bounds'),
    column: askedColumn,
    ...nextQuestion,
    ...additive,
  },
  { kind: 'bounds', column: 'Earnings', nextEpsilon: 0.5, epsilon: 0.1 },
)

const variants = [
  countQuery,
  sumQuery,
  meanQuery,
  varianceQuery,
  standardDeviationQuery,
  covarianceQuery,
  correlationQuery,
  linearRegressionQuery,
  proportionQuery,
  countDistinctQuery,
  histogramQuery,
  contingencyQuery,
  groupByQuery,
  topGroupsQuery,
  noisyMaxQuery,
  medianQuery,
  percentileQuery,
  extremeQuery,
  keySelectionQuery,
  contributionProfileQuery,
  boundsQuery,
  marginalsQuery,
  cumulativeCountsQuery,
] as const

/** All kinds of queries. */
export const QUERY_KINDS = variants.flatMap(({ shape: { kind } }) => [...kind.values])

/** POST /v1/datasets/{dataset}/queries */
export const query = z
  .discriminatedUnion('kind', variants, {
    error: ({ input }) =>
      `must be one of ${QUERY_KINDS.join(', ')}${nearestOf(Object(input).kind, QUERY_KINDS)}`,
  })
  .meta({
    id: 'Query',
    description: 'Statistical query, by kind.',
    examples: [contingencyExample],
  })

/** Largest number of queries in a batch. */
export const MAX_BATCH_QUERIES = 100

/** POST /v1/datasets/{dataset}/queries/batch */
export const batch = object(
  'Batch',
  'Queries that are charged and answered together, all or none.',
  {
    queries: z
      .array(query)
      .min(1)
      .max(MAX_BATCH_QUERIES)
      .readonly()
      .describe('Queries. None depends on the answer of another.'),
    plan: z
      .enum(['together', 'separate'])
      .optional()
      .meta({
        id: 'BatchPlan',
        description:
          '`separate`: every query has noise of its own. `together`: the queries are counts, sums and tables of them, of the same rows, ' +
          'and follow from tables that are measured once, at the least price at which no half-width is larger than under `separate`. ' +
          'Their answers agree with each other. Default: `together` where it costs less. A preview states both prices.',
      }),
    objective: z
      .enum(['largest', 'total'])
      .optional()
      .meta({
        id: 'BatchObjective',
        description:
          'Only with `"plan": "together"`. What the measured tables are chosen for: the largest half-width, compared with that ' +
          'under `separate`, which costs least (`largest`, the default), or the mean squared error of all cells (`total`).',
      }),
    weights: z
      .array(z.number())
      .min(1)
      .max(MAX_BATCH_QUERIES)
      .readonly()
      .optional()
      .describe(
        'Only with `"plan": "together"`, instead of `objective`: weights of the queries in the total error, in their order. At ' +
          'least 0, and not all 0.',
      ),
  },
  {
    queries: [
      { kind: 'count', where: { column: 'Age', op: '<', value: 30 }, epsilon: 0.1 },
      { kind: 'mean', column: 'Earnings', where: { column: 'Age', op: '>=', value: 30 }, epsilon: 0.1 },
    ],
  },
)

/** Largest number of datasets of a batch over a population. */
const MAX_BATCH_DATASETS = 10

/** POST /v1/populations/{population}/queries/batch */
export const populationBatch = object(
  'PopulationBatch',
  'Batches about datasets of one population, charged and answered together, all or none.',
  {
    batches: z
      .array(batch.extend({ dataset: datasetId.describe('Id of a dataset of the population.') }))
      .min(1)
      .max(MAX_BATCH_DATASETS)
      .refine((all) => new Set(all.map(({ dataset }) => dataset)).size === all.length, {
        message: 'must name each dataset once',
      })
      .refine((all) => all.reduce((sum, { queries }) => sum + queries.length, 0) <= MAX_BATCH_QUERIES, {
        message: `must have at most ${MAX_BATCH_QUERIES} queries together`,
      })
      .readonly()
      .describe(`A batch for each dataset; at most ${MAX_BATCH_QUERIES} queries together.`),
  },
  {
    batches: [
      { dataset: 'census', queries: [{ kind: 'count', epsilon: 0.1 }] },
      { dataset: 'survey', queries: [{ kind: 'count', epsilon: 0.1 }] },
    ],
  },
)

export type BatchRequest = z.output<typeof batch>
export type PopulationBatchRequest = z.output<typeof populationBatch>
export type Query = z.output<typeof query>
/** A query as a client writes it, without the fields that have their defaults. */
export type QueryRequest = z.input<typeof query>
export type PairQuery = Extract<Query, { kind: 'covariance' | 'correlation' }>
export type ContributionRequest = z.output<typeof contribution>
export type RegressionQuery = Extract<Query, { kind: 'linearRegression' }>
export type Suppositions = z.output<typeof supposed>
export type QueryPredicate = PredicateTree
export type GroupingColumn = z.output<typeof groupingColumn>
export type GroupStatistic = z.output<typeof groupStatistic>
export type ClampRequest = z.output<typeof clamp>
export type ColumnClamps = Readonly<Record<string, ClampRequest>>

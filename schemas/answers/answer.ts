import { z } from 'zod'
import { amount, debit, priceOfReplay, receipt } from '../budgets/budget.ts'
import { coverage, datasetId } from '../datasets/dataset.ts'
import { boolean, listOf, neighbours, number, object, string, time } from '../values.ts'
import { releaseRisk } from './disclosure.ts'
import { batch, MAX_BATCH_QUERIES, QUERY_KINDS } from './query.ts'

type QueryKind = (typeof QUERY_KINDS)[number]

/** Kinds whose value is a number, whatever the type of the column. */
const NUMBER_KINDS = [
  'count',
  'sum',
  'variance',
  'standardDeviation',
  'covariance',
  'correlation',
  'proportion',
  'countDistinct',
] as const satisfies readonly QueryKind[]

/** Kinds whose value has the type of a column: a number, or a date or timestamp. */
const VALUE_KINDS = ['mean', 'median', 'minimum', 'maximum'] as const satisfies readonly QueryKind[]

/** Kinds that return a count for each cell. */
const TABLE_KINDS = [
  'histogram',
  'contingency',
  'topGroups',
  'contributionProfile',
  'bounds',
] as const satisfies readonly QueryKind[]

export const kind = z.enum(QUERY_KINDS).meta({ id: 'QuestionKind', description: 'Kind of a question.' })

/** A value of a column on a grid. */
export const shownValue = z.union([z.number(), z.string()]).meta({
  id: 'ShownValue',
  description: 'Number; for a column of dates or timestamps, an ISO 8601 text in UTC.',
})

const bin = z.strictObject({
  lower: shownValue,
  upper: shownValue,
  upperIncluded: z
    .literal(true)
    .exactOptional()
    .describe('Only in the last bin, which contains its upper edge. Every bin contains its lower edge.'),
})

export const cellLabel = z.union([z.string(), z.boolean(), z.null(), bin]).meta({
  id: 'CellLabel',
  description: 'Category, boolean, period, bin, or null for the rows without a value.',
})

export const cellKey = z.record(z.string(), cellLabel)

/** Where a true value lies, with the stated confidence. */
const interval = z
  .strictObject({ lower: shownValue, upper: shownValue })
  .describe(
    'The measured value less and plus its half-width, cut at what the declaration makes impossible. It contains the true ' +
      'value with the stated confidence, as far as `coverage` allows.',
  )
  .optional()

const coefficient = {
  value: z.number(),
  halfWidth: z
    .number()
    .nullable()
    .describe(
      'The distance to the coefficient of the least squares over the same rows is at most this. Null if the noise is too ' +
        'large for a bound.',
    ),
}

/** Result of kinds whose value is always a number. */
const numberResult = object('NumberResult', 'Noisy number.', { value: z.number() })

const valueResult = object('ValueResult', 'Noisy value in the unit of a column.', { value: shownValue })

const clampBounds = { lower: shownValue, upper: shownValue }

const clampError = object('ClampError', 'Error of an answer with a clamp, in the unit of the answer.', {
  noise: number('Half-width of the answer, as a preview would state it, within a few per cent.'),
  bias: number(
    'What clamping cuts off at both ends together, estimated from the bands with more rows than `rowsToAppear`.',
  ),
  total: number('`noise` and `bias` added up.'),
})

const clamps = object('Clamps', 'Clamps for a next sum or mean, computed from the noisy counts.', {
  nextEpsilon: number('Epsilon of the sum or mean that the errors are about.'),
  candidates: listOf(
    z.strictObject({
      ...clampBounds,
      shareBeyond: number(
        'Share of the rows beyond the clamp, among the bands with more rows than `rowsToAppear`.',
      ),
      sum: clampError.optional().describe('Absent for dates and timestamps.'),
      mean: clampError,
    }),
  ).describe('The clamps to choose from: of any two, the one with less noise cuts off more.'),
  recommended: z
    .strictObject({
      sum: z.strictObject(clampBounds).optional(),
      mean: z.strictObject(clampBounds).optional(),
    })
    .describe('The clamps with the least `total`. None if no band has more rows than `rowsToAppear`.'),
})

const contributions = object(
  'WeighedContributions',
  'Bounds `rows` for the `contribution` of a next question, computed from the noisy counts.',
  {
    nextEpsilon: number('Epsilon of the count that the noise is about.'),
    candidates: listOf(
      z.strictObject({
        rows: z.int().describe('Largest number of rows of each person.'),
        noise: number('Half-width of a count of rows, as a preview would state it, within a few per cent.'),
        leftOut: coverage.shape.rowsLeftOut.describe(
          'Rows beyond this number of each person, up to `plausibleRows`.',
        ),
        total: number('`noise` and the estimate of `leftOut` added up.'),
      }),
    ),
    recommended: z.strictObject({ rows: z.int() }).describe('The bound with the least `total`.'),
  },
)

const tableResult = object('TableResult', 'Noisy count of each cell.', {
  cells: listOf(z.strictObject({ key: cellKey, value: z.number() })),
  clamps: clamps.exactOptional().describe('Only for `bounds`.'),
  contributions: contributions.exactOptional().describe('Only for `contributionProfile`.'),
})

const groupsResult = object('GroupsResult', 'Noisy statistics of each group.', {
  groups: listOf(
    z.strictObject({
      key: cellKey,
      values: z
        .record(
          z.string(),
          z.strictObject({
            value: shownValue,
            halfWidth: z.number(),
            interval,
            unit: z
              .literal('rows')
              .optional()
              .describe('Present for a quantile: the half-width is a number of rows.'),
          }),
        )
        .describe(
          'Values by statistic, in the order of the query. A statistic is named by its kind, or by its kind and ' +
            'column, such as `count` and `mean_Age`.',
        ),
    }),
  ),
})

const regressionResult = object('RegressionResult', 'Coefficients of a linear regression.', {
  intercept: z.strictObject(coefficient),
  coefficients: listOf(z.strictObject({ column: z.string(), ...coefficient })).describe(
    'Coefficients in the order of the predictors, in units of the outcome for each unit of the predictor.',
  ),
  ridge: number('Ridge that was added.'),
})

const selectionResult = object('SelectionResult', 'Selected candidates.', {
  selected: listOf(
    z.strictObject({
      candidate: cellLabel,
      gap: number('Noisy number of rows by which the candidate exceeds the next one.').optional(),
    }),
  ).describe('Selected candidates, best first.'),
})

const percentilesResult = object('PercentilesResult', 'Percentiles, in the order of the query.', {
  percentiles: listOf(z.strictObject({ p: z.number(), value: shownValue })),
})

const keysResult = object('KeysResult', 'Frequent values of a free-text column.', {
  keys: listOf(z.strictObject({ key: z.string(), count: z.number().optional() })),
  truncated: boolean('True if there were more keys than an answer may contain.'),
})

const marginalsResult = object('MarginalsResult', 'Noisy tables that agree with each other.', {
  columns: listOf(z.strictObject({ column: z.string(), labels: listOf(cellLabel) })).describe(
    'The columns, with the labels of their cells.',
  ),
  tables: listOf(
    z.strictObject({
      columns: listOf(z.string()),
      cells: z.int().describe('Number of cells.'),
      halfWidth: number('Half-width of each cell, with the stated confidence.'),
      rootMeanSquaredError: number('Standard deviation of the noise of each cell.'),
      values: listOf(z.number())
        .optional()
        .describe(
          'Noisy count of each cell of the cross product of the labels; the labels of the last column change fastest. ' +
            'Absent if all tables together have more cells than an answer may contain: get them at ' +
            '`/v1/releases/{id}/tables`.',
        ),
    }),
  ),
})

/** The noisy integers of each measured table. */
export const measuredTables = listOf(z.union([listOf(z.int()), z.string()])).describe(
  'The noisy integers from which all tables are estimated: of each measured table, in the order of `noise`, in units of its ' +
    'granularity. A long list is the base64 of its numbers n, each as 2n, or as -2n - 1 if negative, in groups of 7 bits, the lowest first, all ' +
    'but the last with the eighth bit set (LEB128).',
)

const cumulativeResult = groupsResult
  .extend({
    percentiles: listOf(
      z.strictObject({
        p: z.number(),
        value: shownValue.describe('Where the counts reach the percentage: an edge, period or value.'),
        interval: z
          .strictObject({ lower: shownValue, upper: shownValue })
          .describe('The true quantile lies in it, with the stated confidence.'),
      }),
    )
      .optional()
      .describe('Quantiles that follow from the counts, in the order of the query.'),
    ranges: listOf(z.strictObject({ range: bin, value: z.number(), halfWidth: z.number(), interval }))
      .optional()
      .describe('Counts of ranges, in the order of the query.'),
  })
  .meta({
    id: 'CumulativeResult',
    description:
      'Noisy count from the start of the first cell to the end of each cell, quantiles, and ranges. The difference of two counts is ' +
      'the count between them.',
  })

export const result = z
  .union([
    valueResult,
    tableResult,
    groupsResult,
    regressionResult,
    selectionResult,
    percentilesResult,
    keysResult,
    marginalsResult,
    cumulativeResult,
  ])
  .meta({
    id: 'Result',
    description:
      'A noisy value; noisy cells or groups of the declared domain; the coefficients of a regression; or selected ' +
      'candidates, percentiles or keys.',
  })

const geometricP = number(
  'Only for geometric noise: success probability 1 - exp(-granularity / scale) of the geometric distribution. The noise ' +
    'is `granularity` times the difference of two independent draws from it; for a count, p = 1 - exp(-epsilon / sensitivity).',
)

const statisticNoise = {
  scale: number('Scale b of geometric and Laplace noise; standard deviation sigma of Gaussian noise.'),
  sensitivity: number(
    'Largest change of the statistic by one person: L1 for geometric and Laplace noise, L2 for Gaussian noise.',
  ),
  granularity: number('Noisy values are multiples of this number.'),
  p: geometricP.optional(),
}

const additive = {
  mechanism: z.enum(['geometric', 'laplace', 'gaussian']),
  calibration: z.enum(['analytic', 'classic']).optional(),
  neighbours,
}

const share = number(
  'Share of the epsilon. Where no person moves all statistics as far as each, shares add up to more than the whole.',
)

const statisticName = {
  statistic: string(
    'One of: count, count about the middle, sum, sum about the middle, sum of squares about the middle, sum of products about the middles, ' +
      'count of distinct values, difference of halves.',
  ),
  column: z.string().optional(),
  columns: listOf(z.string()).optional().describe('The two columns of a sum of products.'),
}

const additiveNoise = [
  object('StatisticNoise', 'Noise of one sum or count.', { ...additive, ...statisticNoise }),
  object('StatisticsNoise', 'Noise of several sums and counts.', {
    ...additive,
    statistics: listOf(z.strictObject({ ...statisticName, ...statisticNoise, epsilon: share.optional() })),
  }),
] as const

const quantileNoise = object('QuantileNoise', 'Noise of quantiles.', {
  mechanism: z.literal('exponential'),
  neighbours,
  quantiles: listOf(
    z.strictObject({
      statistic: string('Name of the statistic of groups.').optional(),
      p: z.number().optional(),
      rank: number(
        'Only for minimum and maximum: the answer targets the value of this rank from the end.',
      ).optional(),
      scale: number('A grid point whose score is lower by this amount is e times less likely to be chosen.'),
      sensitivity: number('Largest change of a score by one person.'),
      epsilon: share,
    }),
  ),
})

const marginalsNoise = z
  .strictObject({
    mechanism: z.literal('marginals'),
    neighbours,
    distribution: z.enum(['gaussian', 'laplace']),
    tables: listOf(
      z.strictObject({
        columns: listOf(z.string()),
        scale: statisticNoise.scale,
        sensitivity: statisticNoise.sensitivity,
        granularity: statisticNoise.granularity,
        share: number('Share of the price.'),
      }),
    ),
  })
  .describe(
    'Marginals: the tables that are measured, and the noise of their cells. Estimates are made from all of them.',
  )

export const noise = z
  .union([
    ...additiveNoise,
    z.strictObject({
      mechanism: z.literal('noisy-max'),
      neighbours,
      noise: z.enum(['laplace', 'exponential', 'gumbel']),
      monotonic: boolean(
        'True if an added row changes all counts in the same direction. Half the noise is then enough.',
      ),
      scale: number('Scale of the noise of each count, in rows.'),
      sensitivity: z.number(),
      granularity: number('Gaps are multiples of this number.').optional(),
    }),
    quantileNoise,
    z
      .strictObject({
        mechanism: z.literal('several'),
        neighbours,
        parts: listOf(z.union([...additiveNoise, quantileNoise])),
      })
      .describe('Groups with quantiles: the noise of the sums and counts, and that of the quantiles.'),
    z.strictObject({
      mechanism: z.literal('thresholded-geometric'),
      neighbours,
      scale: z.number(),
      p: geometricP.describe(
        'Success probability 1 - exp(-1 / scale) of the geometric distribution: the noise of a count is the difference of two ' +
          'independent draws from it.',
      ),
      threshold: number('A key appears if its noisy count reaches the threshold.'),
    }),
    z.strictObject({ mechanism: z.literal('near-truncated-geometric'), neighbours }),
    z
      .strictObject({ mechanism: z.literal('combined'), neighbours })
      .describe(
        'The answer follows from several releases, which `inference` names, or from the tables that a batch measures `together`.',
      ),
    marginalsNoise,
  ])
  .meta({
    id: 'Noise',
    description:
      'Mechanism and noise of the answer. If the answer needs several sums and counts, the epsilon is divided among them; ' +
      'the Gaussian mechanism measures them as one vector. A mean over a private number of rows needs a sum about the ' +
      'middle of the range and a count.',
  })

/** Bounds on what each person contributes, and their effect on accuracy. */
export const contribution = z
  .strictObject({
    rows: z.int().optional().describe('Largest number of rows of each person.'),
    groups: z.int().optional().describe('Largest number of groups of each person.'),
    rowsPerGroup: z.int().optional().describe('Largest number of rows of each person in one group.'),
    perPerson: z
      .strictObject({ lower: z.number(), upper: z.number() })
      .optional()
      .describe("Bounds to which a person's total is clamped."),
    factor: number('Scale of the noise, divided by the scale that one row per person would need.'),
  })
  .optional()
  .meta({
    id: 'AppliedContribution',
    description:
      'Bounds on what each person contributes, as they were applied. Only for datasets whose privacy unit is a person. ' +
      'The number of rows that the bounds leave out is not revealed.',
  })

/** What the half-widths of an answer do not cover. */
export const coverageReport = object(
  'CoverageReport',
  'What the half-widths do not cover. Where the privacy unit is a person, that are the rows beyond `maxRows`: their share is ' +
    'that of the whole dataset, and absent where it was not measured.',
  {
    statement: string('What the half-widths cover and what not, in words.'),
    shareRead: coverage.shape.shareRead.optional(),
    offer: z
      .looseObject({ kind: z.literal('contributionProfile'), epsilon: z.number() })
      .optional()
      .describe(
        'Question that counts people by all of their rows that satisfy the same condition, at the price of its epsilon. Add the ' +
          'condition of a group to ask about the group.',
      ),
  },
)

const unit = z.enum(['rows', 'people', 'days', 'seconds'])

const errorReport = z.strictObject({
  halfWidth: number('The noise is at most this, with the stated confidence.'),
  expectedAbsoluteError: number(
    'Mean absolute value of the noise before post-processing. For a value computed from several noisy parts, a ' +
      'first-order bound.',
  ),
})

const nullableError = {
  halfWidth: errorReport.shape.halfWidth.nullable(),
  expectedAbsoluteError: errorReport.shape.expectedAbsoluteError.nullable(),
  unit: unit
    .optional()
    .describe(
      'Unit of the half-width, if it is not that of the value. `days`, `seconds`: the value is a date or a timestamp. ' +
        '`rows`, `people`: the half-width is about a count or a rank. Selection: the count of the chosen candidate is ' +
        'within the half-width of the best count. Quantile: the rank of the value is within the half-width of the ' +
        'requested rank. Keys with counts: the noise of a count is at most the half-width, before keys are selected.',
    ),
  reason: string('Why the half-width is null, and what to do about it.').optional(),
}

export const accuracy = object(
  'Accuracy',
  'Accuracy of each value, computed without data. Null if it depends on a private number of rows that was not ' +
    'supposed, or differs between values.',
  {
    confidence: z.number(),
    ...nullableError,
    interval,
    estimates: z
      .record(z.string(), z.strictObject(nullableError))
      .optional()
      .describe('Accuracy of each statistic, by its name, for a query that asks for several.'),
    statistics: listOf(errorReport.extend(statisticName))
      .optional()
      .describe(
        'Accuracy of the noisy sums and counts from which the answer is computed. These half-widths hold jointly.',
      ),
    rootMeanSquaredError: number(
      'Only for marginals and cumulative counts: root mean squared error over all counts.',
    ).optional(),
    gapHalfWidth: number(
      'Only for a selection with gaps: each gap differs by at most this from the true difference to the next candidate ' +
        '(for the last one, to the best candidate that was not selected). Holds jointly for all gaps.',
    ).optional(),
    rowsToAppear: number(
      'For a selection of keys: a key with this number of rows appears, with the stated confidence. For `bounds`: only bands whose ' +
        'noisy number exceeds this count; a band without rows does with a probability of at most 1e-9.',
    ).optional(),
    peopleToAppear: number(
      'Only for a selection of keys where people are the privacy units: a key with this number of people appears, with ' +
        'the stated confidence.',
    ).optional(),
    statement: string(
      'Only for a selection of keys: what a key needs to appear, in words, and whether any can be expected.',
    ).optional(),
  },
)

const shared = z
  .literal(true)
  .optional()
  .describe('Present if another analyst had already paid for this answer. Only your allotment is charged.')

/** Query as it was asked, in its shortest form. */
export const askedQuery = z.looseObject({ kind }).meta({
  id: 'AskedQuery',
  description:
    'Query as it was asked, without the fields that equal their defaults. It can be sent again as it is.',
})

const replaysUntil = time
  .optional()
  .describe(
    'Live tables only: a repeat before this time costs nothing and returns the same answer; a later one is a new question. ' +
      'Absent where a repeat replays for ever. A chosen Idempotency-Key always does.',
  )

/** Fields of every answer that say how old it can be. */
export const freshness = {
  debitedAt: time
    .optional()
    .describe(
      'Live tables only: time of the debit, in UTC, rounded down to the `timing` of the dataset. The rows were read after it.',
    ),
  replaysUntil,
}

/** Fields of every answer that say when and by which software it was made. */
export const provenance = {
  answeredAt: time.describe(
    'Time at which the answer was recorded, in UTC, rounded down to the `timing` of the dataset.',
  ),
  softwareVersion: string('Version of Sotto that answered.'),
}

const present = z.literal(true).optional()

/** Facts about released values that post-processing needs. */
const domain = z
  .record(
    z.string(),
    z.strictObject({
      whole: present.describe('Present if the true value is a whole number.'),
      lower: shownValue.optional().describe('The true value is never below this.'),
      upper: shownValue.optional().describe('The true value is never above this.'),
      temporal: present.describe('Present if the value is a date or a timestamp.'),
    }),
  )
  .meta({
    id: 'PostprocessingFacts',
    description:
      'Public facts about the values that are made from sums and counts: by the name of the statistic, or by `value`. ' +
      'These values can be post-processed.',
  })
  .optional()

const integers = z
  .array(z.array(z.string().regex(/^-?[0-9]+$/)).readonly())
  .readonly()
  .optional()
  .describe(
    'Measured sums and counts with their noise, in units of `granularity`: one list for each statistic of `noise`, one ' +
      'number for each cell. Later answers can follow from them at no cost.',
  )

const term = object(
  'InferenceTerm',
  'A measured integer, by its place in `integers` of a release, and its weight.',
  {
    release: z.int().min(0).describe('Place in `releases`, from 0.'),
    statistic: z.int().min(0).describe('Place of the list in `integers` of that release.'),
    cell: z.int().min(0).describe('Place in that list.'),
    weight: string('Whole number.'),
  },
)

const inference = object(
  'Inference',
  'How an answer follows from paid releases: the weighted sum of what they measured that is right on average and has the least ' +
    'variance (best linear unbiased estimate). The weights depend on public facts only, never on answers.',
  {
    statement: string('From which answers this one follows, in words.'),
    releases: listOf(
      z.strictObject({
        id: string(
          'Release that you have paid for, or `this` for what a top-up measured for the answer itself.',
        ),
        measurement: string('Its `measurement`.'),
      }),
    ),
    estimates: listOf(
      listOf(z.strictObject({ value: z.number(), denominator: z.string(), terms: listOf(term) })),
    ).describe(
      'The estimate of each sum or count that the answer is made from, in each cell. Its `value` is the sum over the `terms` of weight ' +
        'times measured integer, divided by the `denominator`, exactly, before it is rounded to a double.',
    ),
  },
).optional()

const MEASURED = 'Values and their accuracy before post-processing. Present if the answer is post-processed.'

/** Returns one variant of an answer: the kinds that share a result, and the fields of all answers. */
function variant<
  const Kinds extends readonly QueryKind[],
  ResultSchema extends z.ZodType,
  Fields extends z.ZodRawShape,
>(id: string, kinds: Kinds, resultSchema: ResultSchema, fields: Fields) {
  return z
    .strictObject({
      kind: z.enum(kinds),
      result: resultSchema,
      ...fields,
      domain,
      integers,
      measured: z.strictObject({ result: resultSchema, accuracy }).optional().describe(MEASURED),
    })
    .meta({ id })
}

/** The answer with tables, which states what was measured instead of values before post-processing. */
function marginalsVariant<Fields extends z.ZodRawShape>(id: string, fields: Fields) {
  return z
    .strictObject({
      kind: z.literal('marginals'),
      result: marginalsResult,
      ...fields,
      domain,
      measured: measuredTables,
    })
    .meta({ id })
}

/**
 * Returns the schema of an answer whose `kind` determines the type of its `result`.
 * @param suffix end of the name of each variant in the OpenAPI document
 * @param fields fields of all variants
 */
export function answerByKind<Fields extends z.ZodRawShape>(suffix: string, fields: Fields) {
  return z.discriminatedUnion('kind', [
    variant(`Number${suffix}`, NUMBER_KINDS, numberResult, fields),
    variant(`Value${suffix}`, VALUE_KINDS, valueResult, fields),
    variant(`Table${suffix}`, TABLE_KINDS, tableResult, fields),
    variant(`Groups${suffix}`, ['groupBy'], groupsResult, fields),
    variant(`Regression${suffix}`, ['linearRegression'], regressionResult, fields),
    variant(`Selection${suffix}`, ['noisyMax'], selectionResult, fields),
    variant(`Percentiles${suffix}`, ['percentile'], z.union([percentilesResult, valueResult]), fields),
    variant(`Keys${suffix}`, ['keySelection'], keysResult, fields),
    marginalsVariant(`Marginals${suffix}`, fields),
    variant(`Cumulative${suffix}`, ['cumulativeCounts'], cumulativeResult, fields),
  ])
}

const measurement = string(
  'Identifies what was measured. Releases that show the same measurement, such as shared ones, state the same.',
).optional()

/** The version of a dataset that a document is about. */
const ofVersion = { dataset: datasetId, datasetVersion: z.string() }

/** How accurate an answer is, and why. */
const precision = { noise, accuracy, contribution, coverage: coverageReport }

/** Fields of an answer to a query, whether it is stored or about made-up rows. */
export const answerFacts = {
  ...ofVersion,
  ...precision,
  question: askedQuery.optional(),
  measurement,
  inference,
  ...debit,
  ...freshness,
  ...provenance,
}

/** Response to a query, also of GET /v1/releases/{id}. */
export const answer = answerByKind('Answer', {
  id: string('Identifies the release. GET /v1/releases/{id} returns it again at no cost.'),
  ...answerFacts,
  price: priceOfReplay,
  receipt,
  shared,
}).meta({
  id: 'Answer',
  description: 'Noisy answer with its cost and accuracy.',
  examples: [
    {
      id: '36503de23d9bdb96f307aa50604d79ab',
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
        p: 0.09516258196404043,
      },
      accuracy: {
        confidence: 0.95,
        halfWidth: 30,
        expectedAbsoluteError: 9.98335275729611,
        interval: { lower: 2501, upper: 2561 },
      },
      domain: { value: { whole: true, lower: 0 } },
      coverage: {
        statement:
          'The half-width covers noise only: not the clamping of values to the bounds of their column.',
      },
      question: { kind: 'count', where: { column: 'Age', op: '>=', value: 65 }, epsilon: 0.1 },
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
      softwareVersion: '0.1.0',
      answeredAt: '2026-01-01T12:00:00.000Z',
    },
  ],
})

/** The price of a request in a preview: what it would cost now, and whether the budget and the allotment cover it. */
export const offered = {
  ...debit,
  paid: boolean(
    'True if the caller has paid for this question before: a repeat costs nothing, and `cost` is 0. Whether another ' +
      'analyst has paid for it is not revealed.',
  ),
  price: amount.describe(
    'Cost of a fresh answer, which a new Idempotency-Key draws. Equal to `cost` unless it is paid.',
  ),
  affordable: boolean('True if budget and allotment currently suffice for `cost`.'),
  replaysUntil,
}

const offers = object('Offers', 'The ways to an answer with their prices; `use` chooses one.', {
  free: z
    .union([
      z.strictObject({ reason: string('Why no answer follows from what you have paid for.') }),
      z.strictObject({
        result,
        accuracy,
        releases: listOf(z.string()).describe('Ids of the releases that it follows from.'),
        statement: string('From which answers it follows, in words.'),
      }),
    ])
    .describe('The answer that follows from what you have paid for, at no cost; or why none does.'),
  topUp: z
    .union([
      z.strictObject({ epsilon: number('Epsilon of the new measurement.'), price: amount }),
      z.strictObject({ reason: string('Why it cannot be bought.') }),
    ])
    .optional()
    .describe(
      'What a new measurement costs that reaches, together with what you have paid for, the accuracy or the precision of the ' +
        'epsilon that you ask for. 0 if that is reached already. Absent if nothing follows from what you have paid for.',
    ),
  fresh: z.strictObject({ price: amount }).describe('What an answer with noise of its own costs.'),
})

/** Response to a preview of a query. */
export const preview = object('Preview', 'Cost, accuracy and disclosure risk of a query.', {
  ...ofVersion,
  kind,
  ...precision,
  ...offered,
  offers,
  disclosureRisk: releaseRisk,
})

const queryOfBatch = { ...precision, price: amount.describe('Cost of the query on its own.') }

export const batchFacts = {
  ...ofVersion,
  disjoint: listOf(listOf(z.int().min(0).max(MAX_BATCH_QUERIES))).describe(
    'Groups of queries, by position, that no row can affect together. Each group costs as much as its most expensive ' +
      'query; with change-one neighbours, as its two most expensive queries. Where people have several rows, a group that ' +
      'one person can affect several times costs as much as that many of its most expensive queries.',
  ),
  sumOfPrices: amount.describe('Cost of the queries if each is asked separately.'),
}

const planOfBatch = batch.shape.plan.unwrap().describe('How the queries are planned.')

const together = object(
  'MeasuredTogether',
  'Tables that queries of a batch that is planned together are estimated from: of counts, or of the sums of one column.',
  {
    sum: z
      .strictObject({ column: z.string(), clamp: z.strictObject(clampBounds).optional() })
      .optional()
      .describe('What the cells add up. Absent for counts of rows.'),
    noise: marginalsNoise,
    measured: listOf(z.strictObject({ integers: integers.unwrap() })).describe(
      'What was measured, in the order of the tables of `noise`. Later answers can follow from it at no cost.',
    ),
  },
)

const PARTS =
  'Present if the plan is `together`: one entry for counts, and one for each column that is summed, under each clamp.'

const plans = object('BatchPlans', 'Price of the queries under each plan; `plan` chooses one.', {
  separate: z.strictObject({ price: amount }),
  together: z.union([
    z.strictObject({ price: amount }),
    z.strictObject({ reason: string('Why the queries cannot be planned together.') }),
  ]),
})

/** Batch as it was asked. */
export const askedBatch = object('AskedBatch', 'Batch as it was asked. It can be sent again as it is.', {
  ...batch.shape,
  queries: listOf(askedQuery),
})

/** Response to a batch, also of GET /v1/releases/{id}. */
export const batchAnswer = object('BatchAnswer', 'Noisy answers to several queries, charged together.', {
  id: string('Identifies the release. GET /v1/releases/{id} returns it again at no cost.'),
  ...batchFacts,
  answers: listOf(answerByKind('AnswerOfBatch', queryOfBatch)).describe(
    'Answers in the order of the queries.',
  ),
  plan: planOfBatch,
  together: listOf(together).optional().describe(PARTS),
  question: askedBatch.optional(),
  measurement,
  ...debit,
  price: priceOfReplay,
  receipt,
  shared,
  ...freshness,
  ...provenance,
})

/** Response to a preview of a batch. */
export const batchPreview = object('BatchPreview', 'Cost, accuracy and disclosure risk of a batch.', {
  ...batchFacts,
  answers: listOf(z.strictObject({ kind, ...queryOfBatch })),
  plan: planOfBatch,
  together: listOf(together.omit({ measured: true }))
    .optional()
    .describe(PARTS),
  plans,
  ...offered,
  disclosureRisk: releaseRisk,
})

/** Response to a batch over a population. */
export const populationBatchAnswer = object(
  'PopulationBatchAnswer',
  'Noisy answers about several datasets of a population, charged together.',
  {
    population: string('Id of the population.'),
    cost: amount.describe('Sum of the costs of the batches, which the population was debited.'),
    batches: listOf(batchAnswer).describe(
      'The answers in the order of the batches. Each is a release of its own. The last one that was debited now states what is ' +
        'left in the population.',
    ),
  },
)

/** Response to a preview of a batch over a population. */
export const populationBatchPreview = object(
  'PopulationBatchPreview',
  'Cost of a batch over several datasets of a population, and the preview of each.',
  {
    population: offered.population.unwrap().omit({ receipt: true }),
    cost: amount.describe('Sum of the costs of the batches now.'),
    price: amount.describe('Sum of the prices of the batches: what fresh answers cost.'),
    paid: boolean('True if all batches are paid.'),
    affordable: boolean(
      'True if the budget and the allotment of each dataset suffice, and those of the population for the sum.',
    ),
    batches: listOf(batchPreview).describe('Each states whether it is affordable alone.'),
  },
)

import { z } from 'zod'
import { DEFAULT_CONFIDENCE, MAX_QUERY_EPSILON } from '../../src/privacy/loss.ts'
import { boolean, deltaBelow1, listOf, number, object, positive } from '../values.ts'

/** Largest number of statistics in one comparison. */
export const MAX_COMPARED_STATISTICS = 1_000
/** Largest contribution of one person to one statistic. */
export const MAX_CONTRIBUTION = 1e12

const statistics = z.int().min(1).max(MAX_COMPARED_STATISTICS)

/** POST /v1/mechanisms/compare */
export const comparisonRequest = object(
  'ComparisonRequest',
  'A privacy loss and the number of statistics that one person can influence.',
  {
    epsilon: positive(
      'Cost of all statistics together. Greater than 0, at most 1000, at most 9 fractional digits.',
      MAX_QUERY_EPSILON,
    ),
    delta: deltaBelow1(
      'Delta for Gaussian noise. Without it, Gaussian noise is not compared. At most 18 fractional digits.',
    ).default(0),
    statistics: statistics
      .default(10)
      .describe(
        'Largest number of statistics that one person can influence. The comparison covers 1, 2, ... up to it.',
      ),
    perStatistic: z
      .strictObject({
        contribution: positive(
          'Amount by which one person can change each statistic: 1 for a count. A whole number if `wholeNumbers` is true, ' +
            'otherwise at most 9 fractional digits.',
          MAX_CONTRIBUTION,
        ).default(1),
      })
      .default({ contribution: 1 }),
    confidence: z
      .number()
      .gt(0, 'must be strictly between 0 and 1')
      .lt(1, 'must be strictly between 0 and 1')
      .default(DEFAULT_CONFIDENCE)
      .describe('Confidence of the half-widths.'),
    wholeNumbers: boolean(
      'True if the statistics are whole numbers. Geometric noise applies only to these.',
    ).default(true),
  },
  { epsilon: 1, delta: 1e-5, statistics: 10, perStatistic: { contribution: 1 } },
)

/** Mechanisms in a comparison. */
export const comparedMechanism = z
  .enum(['geometric', 'laplace', 'analytic-gaussian', 'classic-gaussian'])
  .meta({
    id: 'ComparedMechanism',
    description:
      'Mechanism. The last two are the mechanism `gaussian` with the calibrations `analytic` and `classic`.',
  })

const comparedNoise = object('ComparedNoise', 'Noise of each statistic, in the unit of the statistic.', {
  scale: number('Scale b of geometric and Laplace noise; standard deviation sigma of Gaussian noise.'),
  standardDeviation: z.number(),
  expectedAbsoluteError: z.number(),
  halfWidth: number('The error of a statistic is at most this, with the requested confidence.'),
})

const comparisonRow = object('ComparisonRow', 'Noise of each mechanism for a number of statistics.', {
  statistics,
  noise: z.strictObject({
    geometric: comparedNoise.optional(),
    laplace: comparedNoise.optional(),
    'analytic-gaussian': comparedNoise.optional(),
    'classic-gaussian': comparedNoise.optional(),
  }),
  best: z
    .strictObject({
      standardDeviation: comparedMechanism,
      expectedAbsoluteError: comparedMechanism,
      halfWidth: comparedMechanism,
    })
    .describe(
      'Mechanism with the smallest error, by each measure of error. The first of several equal ones.',
    ),
})

const crossingPoint = statistics.nullable()

const crossing = object(
  'Crossing',
  'Number of statistics from which `mechanism` has a smaller error than `against`, up to the largest compared ' +
    'number. Null if it has no smaller error at the largest number.',
  {
    mechanism: comparedMechanism,
    against: comparedMechanism,
    standardDeviation: crossingPoint,
    expectedAbsoluteError: crossingPoint,
    halfWidth: crossingPoint,
  },
)

/** Response of POST /v1/mechanisms/compare. */
export const comparison = object('MechanismComparison', 'Noise of the mechanisms for a workload.', {
  epsilon: z.number(),
  delta: z.number(),
  statistics,
  perStatistic: z.strictObject({ contribution: z.number() }),
  confidence: z.number(),
  wholeNumbers: z.boolean(),
  rows: listOf(comparisonRow).describe('One row for each of 1, 2, ... statistics.'),
  crossings: listOf(crossing),
  notApplicable: listOf(z.strictObject({ mechanism: comparedMechanism, reason: z.string() })).describe(
    'Mechanisms that do not apply, and the reasons.',
  ),
})

export type ComparisonRequest = z.output<typeof comparisonRequest>

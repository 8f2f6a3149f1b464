import { z } from 'zod'
import { DEFAULT_CONFIDENCE, MAX_QUERY_EPSILON } from '../src/privacy/loss.ts'

/** The most statistics that are compared in one call; it bounds the answer. */
export const MAX_COMPARED_STATISTICS = 1_000
/** The largest contribution of one person to one statistic. */
export const MAX_CONTRIBUTION = 1e12

/** POST /v1/mechanisms/compare */
export const comparisonRequest = z
  .strictObject({
    epsilon: z.number().meta({
      description:
        'What all the statistics together may cost. Greater than 0, at most 1000, at most 9 fractional digits.',
      exclusiveMinimum: 0,
      maximum: MAX_QUERY_EPSILON,
    }),
    delta: z.number().default(0).meta({
      description: 'What gaussian noise may use; without it there is none. At most 18 fractional digits.',
      minimum: 0,
      exclusiveMaximum: 1,
    }),
    statistics: z
      .int()
      .min(1)
      .max(MAX_COMPARED_STATISTICS)
      .default(10)
      .describe(
        'The comparison is made for 1, 2, ... up to so many statistics that one person can influence.',
      ),
    perStatistic: z
      .strictObject({
        contribution: z
          .number()
          .default(1)
          .meta({
            description:
              'How far one person moves each statistic: 1 for a count. A whole number where `wholeNumbers` is true, at ' +
              'most 9 fractional digits elsewhere.',
            exclusiveMinimum: 0,
            maximum: MAX_CONTRIBUTION,
          }),
      })
      .default({ contribution: 1 }),
    confidence: z
      .number()
      .gt(0, 'must be strictly between 0 and 1')
      .lt(1, 'must be strictly between 0 and 1')
      .default(DEFAULT_CONFIDENCE)
      .describe('Of the half-widths.'),
    wholeNumbers: z
      .boolean()
      .default(true)
      .describe('Whether the statistics are whole numbers; geometric noise is for these only.'),
  })
  .meta({
    id: 'ComparisonRequest',
    description: 'A price and how many statistics one person can influence.',
    examples: [{ epsilon: 1, delta: 1e-5, statistics: 10, perStatistic: { contribution: 1 } }],
  })

/** Every mechanism that is compared. */
export const comparedMechanism = z
  .enum(['geometric', 'laplace', 'analytic-gaussian', 'classic-gaussian'])
  .meta({
    id: 'ComparedMechanism',
    description:
      'A mechanism. The last two are the mechanism "gaussian" with the calibration "analytic" and "classic".',
  })

const comparedNoise = z
  .strictObject({
    scale: z.number().describe('The scale b of geometric and Laplace noise; the sigma of Gaussian noise.'),
    standardDeviation: z.number(),
    expectedAbsoluteError: z.number(),
    halfWidth: z.number().describe('A statistic errs by at most this, with the confidence asked for.'),
  })
  .meta({ id: 'ComparedNoise', description: 'The noise of each single statistic, in its unit.' })

const comparisonRow = z
  .strictObject({
    statistics: z.int().min(1).max(MAX_COMPARED_STATISTICS),
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
      .describe('Which errs least, by each measure of error. Of equals the first.'),
  })
  .meta({
    id: 'ComparisonRow',
    description: 'For so many statistics, what each mechanism does to each of them.',
  })

const crossingPoint = z.int().min(1).max(MAX_COMPARED_STATISTICS).nullable()

const crossing = z
  .strictObject({
    mechanism: comparedMechanism,
    against: comparedMechanism,
    standardDeviation: crossingPoint,
    expectedAbsoluteError: crossingPoint,
    halfWidth: crossingPoint,
  })
  .meta({
    id: 'Crossing',
    description:
      'From how many statistics on, up to the last that was compared, `mechanism` errs less than `against`. Null: not ' +
      'at the last, so nowhere on from within 1..`statistics`.',
  })

/** What POST /v1/mechanisms/compare answers. */
export const comparison = z
  .strictObject({
    epsilon: z.number(),
    delta: z.number(),
    statistics: z.int().min(1).max(MAX_COMPARED_STATISTICS),
    perStatistic: z.strictObject({ contribution: z.number() }),
    confidence: z.number(),
    wholeNumbers: z.boolean(),
    rows: z.array(comparisonRow).readonly().describe('For 1, 2, ... statistics.'),
    crossings: z.array(crossing).readonly(),
    notApplicable: z
      .array(z.strictObject({ mechanism: comparedMechanism, reason: z.string() }))
      .readonly()
      .describe('The mechanisms that are left out, and why.'),
  })
  .meta({ id: 'MechanismComparison', description: 'How the mechanisms compare for a workload.' })

export type ComparisonRequest = z.output<typeof comparisonRequest>

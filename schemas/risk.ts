import { z } from 'zod'
import { columnName } from './dataset.ts'

/** The most values of one column of a universe. */
export const LARGEST_WIRE_UNIVERSE = 10_000
/** The most columns of a universe. */
export const MOST_UNIVERSE_COLUMNS = 8
/** As many worlds may be looked at one by one. */
const MOST_PRIORS = 100_000
/** The most points of a curve. */
export const MOST_CURVE_POINTS = 1_001
/** The largest epsilon that a risk is worked out at. */
export const LARGEST_RISK_EPSILON = 1_000

const value = z.number().min(-1e15).max(1e15)

/** Answers are larger than the values they are of: the largest is a variance. */
const response = z.number().min(-1e40).max(1e40)

const valuePredicate = z
  .union(
    [
      z.strictObject({ op: z.enum(['=', '!=', '<', '<=', '>', '>=']), value }),
      z.strictObject({ op: z.literal('between'), lower: value, upper: value }),
      z.strictObject({ op: z.literal('in'), values: z.array(value).min(1).max(1_000).readonly() }),
    ],
    'must be {"op", "value"} with op one of =, !=, <, <=, >, >=; or {"op": "between", "lower", "upper"}; or {"op": "in", "values"}',
  )
  .meta({ id: 'ValuePredicate', description: 'Which values a count counts.' })

const riskQuery = z
  .discriminatedUnion(
    'kind',
    [
      z.strictObject({
        kind: z.enum(['mean', 'median', 'sum', 'variance', 'standardDeviation', 'minimum', 'maximum']),
      }),
      z.strictObject({
        kind: z.literal('percentile'),
        p: z.number().min(0).max(100).describe('In per cent, so that 50 is the median.'),
      }),
      z.strictObject({ kind: z.literal('count'), satisfying: valuePredicate }),
    ],
    {
      error:
        'must be one of mean, median, sum, count, variance, standardDeviation, minimum, maximum, percentile',
    },
  )
  .meta({
    id: 'RiskQuery',
    description:
      'What is asked of the released values. Percentiles are interpolated between order statistics; the variance is that ' +
      'of a population.',
  })

/** The school of Lee and Clifton 2011, section 5. */
const school = {
  universe: { school_year: [1, 2, 3, 4], absence_days: [1, 2, 3, 10] },
  released: 3,
  query: { kind: 'mean' },
}

const question = {
  universe: z
    .record(columnName, z.array(value).min(2).max(LARGEST_WIRE_UNIVERSE).readonly())
    .refine(
      (columns) => Object.keys(columns).length >= 1 && Object.keys(columns).length <= MOST_UNIVERSE_COLUMNS,
      `must have 1 to ${MOST_UNIVERSE_COLUMNS} columns`,
    )
    .refine(
      (columns) => new Set(Object.values(columns).map(({ length }) => length)).size <= 1,
      'must have equally many values in each column: one of each person',
    )
    .describe(
      'Every person who may be in the released dataset: their values, by column. Equal values are two people.',
    ),
  released: z
    .int()
    .min(1)
    .max(LARGEST_WIRE_UNIVERSE)
    .describe('How many of them are in the released dataset; the adversary does not know which.'),
  query: riskQuery,
  changed: z
    .int()
    .min(1)
    .max(LARGEST_WIRE_UNIVERSE)
    .default(1)
    .describe('By how many people neighbouring datasets differ (k).'),
  prior: z
    .array(z.number().min(0).max(1))
    .min(1)
    .max(MOST_PRIORS)
    .readonly()
    .optional()
    .describe(
      "The adversary's belief in each possible world, in the order of the people's combinations (the first people first, as " +
        "Python's itertools.combinations). Left out: all are equally likely.",
    ),
}

function hasSameKeys(one: object, other: object): boolean {
  const [keys, others] = [Object.keys(one), Object.keys(other)]
  return keys.length === others.length && keys.every((key) => Object.hasOwn(other, key))
}

const epsilon = z.number().min(0).max(LARGEST_RISK_EPSILON)

/** POST /v1/risk */
export const riskRequest = z
  .strictObject({
    ...question,
    epsilon: epsilon.optional().describe('Of the noise: both bounds of the risk are given at it.'),
    response: z
      .union(
        [response, z.record(columnName, response)],
        'must be a number, or an object of a number for each column',
      )
      .optional()
      .describe('A noisy answer: the belief in each world after it. Of each column, or of all alike.'),
  })
  .refine(({ epsilon, response }) => response === undefined || epsilon !== undefined, {
    path: ['epsilon'],
    message: 'must be given with a response: it says how noisy the response is',
  })
  .refine(({ universe, response }) => typeof response !== 'object' || hasSameKeys(universe, response), {
    path: ['response'],
    message: 'must be a number, or have one for each column of the universe',
  })
  .meta({
    id: 'RiskRequest',
    description: 'People, of whom some are released, and a query: what an adversary learns of who.',
    examples: [{ ...school, epsilon: 2, response: 2.20131 }],
  })

/** POST /v1/risk/epsilon */
export const epsilonRequest = z
  .strictObject({
    ...question,
    risk: z
      .number()
      .gt(0, 'must be strictly between 0 and 1')
      .lt(1, 'must be strictly between 0 and 1')
      .describe('The chance that an adversary may have of naming the right world.'),
    tolerance: z
      .number()
      .min(1e-12)
      .max(1)
      .default(1e-12)
      .describe('By how much the epsilon from the tight bound may fall short of the largest one.'),
    curve: z
      .strictObject({
        from: epsilon.default(0),
        to: z.number().gt(0).max(LARGEST_RISK_EPSILON),
        points: z.int().min(2).max(MOST_CURVE_POINTS).default(101),
      })
      .refine(({ from, to }) => from < to, { path: ['to'], message: 'must be above from' })
      .optional()
      .describe('Both bounds at evenly spaced epsilons, ready to plot.'),
  })
  .meta({
    id: 'EpsilonRequest',
    description: 'People, of whom some are released, a query, and the risk that is accepted.',
    examples: [{ ...school, risk: 0.3333333333333333, curve: { to: 5 } }],
  })

const probability = z.number().min(0).max(1)

const way = z.enum(['enumeration', 'structure'])

const columnFacts = {
  column: z.string(),
  worlds: z.number().min(1).describe('How many datasets there may be.'),
  ways: z
    .strictObject({ sensitivities: way, answers: way })
    .describe(
      'How it was worked out: by looking at every world, or from what the query does with ordered values.',
    ),
  sensitivity: z
    .strictObject({
      bounded: z.number().describe('How far apart two worlds can be that differ by so many people changed.'),
      unbounded: z
        .number()
        .describe(
          'How far apart a world and one of so many people more or fewer can be: the noise is calibrated to it.',
        ),
    })
    .describe('In L1, over all worlds.'),
  largestDifference: z.number().describe('How far apart the answers of any two worlds are.'),
  upperBoundHolds: z
    .boolean()
    .describe(
      'Whether the upper bound bounds the belief in every world: the bounded sensitivity must reach the largest ' +
        'difference. The tight bound always does.',
    ),
  largestPrior: probability.describe(
    'The belief in the likeliest world before any answer; the least risk there is.',
  ),
}

const facts = {
  released: question.released,
  query: riskQuery,
  changed: z.int().min(1).max(LARGEST_WIRE_UNIVERSE),
}

const bounds = { upperBound: probability, tightBound: probability }

/** What POST /v1/risk answers. */
export const riskReport = z
  .strictObject({
    ...facts,
    epsilon: epsilon.optional(),
    columns: z
      .array(
        z.strictObject({
          ...columnFacts,
          bounds: z
            .strictObject(bounds)
            .optional()
            .describe('Of the belief in any world after any answer, at that epsilon.'),
          posterior: z
            .strictObject({
              response: z.number(),
              largest: probability.describe(
                'The belief in the likeliest world after the response: the risk.',
              ),
              confidence: z
                .number()
                .min(-1)
                .max(1)
                .describe('How much more that world is believed in than before.'),
              worlds: z
                .array(
                  z.strictObject({
                    positions: z
                      .array(z.int().min(0).max(LARGEST_WIRE_UNIVERSE))
                      .readonly()
                      .describe('Who is in it: places in the universe, counted from 0.'),
                    answer: z.number(),
                    prior: probability,
                    posterior: probability,
                  }),
                )
                .readonly()
                .optional()
                .describe("In the order of the people's combinations; left out where there are too many."),
            })
            .optional(),
        }),
      )
      .readonly(),
  })
  .meta({ id: 'RiskReport', description: 'What an adversary learns of who is in the released dataset.' })

const reached = { reached: z.literal(true), epsilon: z.number().min(0) }
const unreachable = {
  reached: z.literal(false),
  largestRisk: probability.describe('The bound stays at most so much, whatever the epsilon.'),
  why: z.string(),
}
const tolerance = { tolerance: z.number() }

/** What POST /v1/risk/epsilon answers. */
export const epsilonReport = z
  .strictObject({
    ...facts,
    risk: probability,
    columns: z
      .array(
        z.strictObject({
          ...columnFacts,
          upperBound: z
            .union([z.strictObject(reached), z.strictObject(unreachable)])
            .describe('The epsilon at which the upper bound is the risk, in closed form.'),
          tightBound: z
            .union([
              z.strictObject({ ...reached, ...tolerance }),
              z.strictObject({ ...unreachable, ...tolerance }),
            ])
            .describe('The largest epsilon, to the tolerance, at which the tight bound is at most the risk.'),
          curve: z
            .array(z.strictObject({ epsilon, ...bounds }))
            .readonly()
            .optional(),
        }),
      )
      .readonly(),
  })
  .meta({ id: 'EpsilonReport', description: 'The epsilon that an accepted risk allows.' })

export type RiskRequest = z.output<typeof riskRequest>
export type EpsilonRequest = z.output<typeof epsilonRequest>

import { z } from 'zod'
import { columnName } from '../datasets/dataset.ts'
import { boolean, listOf, number, object } from '../values.ts'

/** Largest number of values in a column of a universe. */
export const LARGEST_WIRE_UNIVERSE = 10_000
/** Largest number of columns in a universe. */
export const MOST_UNIVERSE_COLUMNS = 8
/** Largest number of worlds that are enumerated. */
const MOST_PRIORS = 100_000
/** Largest number of points of a curve. */
export const MOST_CURVE_POINTS = 1_001
/** Largest epsilon for which a risk is computed. */
export const LARGEST_RISK_EPSILON = 1_000

const value = z.number().min(-1e15).max(1e15)

/** Answers can be larger than the values: the largest is a variance. */
const response = z.number().min(-1e40).max(1e40)

/** Largest number of rows of one person of a universe. */
const MOST_PERSON_ROWS = 1_000

const valuesOfPerson = z.union(
  [value, z.array(value).min(1).max(MOST_PERSON_ROWS).readonly()],
  `must be a number between -1e15 and 1e15, or an array of 1 to ${MOST_PERSON_ROWS} such numbers`,
)

const valuePredicate = z
  .union(
    [
      z.strictObject({ op: z.enum(['=', '!=', '<', '<=', '>', '>=']), value }),
      z.strictObject({ op: z.literal('between'), lower: value, upper: value }),
      z.strictObject({ op: z.literal('in'), values: z.array(value).min(1).max(1_000).readonly() }),
    ],
    'must be {"op", "value"} with op one of =, !=, <, <=, >, >=; or {"op": "between", "lower", "upper"}; or {"op": "in", "values"}',
  )
  .meta({ id: 'ValuePredicate', description: 'Values that a count includes.' })

const riskQuery = z
  .discriminatedUnion(
    'kind',
    [
      z.strictObject({
        kind: z.enum(['mean', 'median', 'sum', 'variance', 'standardDeviation', 'minimum', 'maximum']),
      }),
      z.strictObject({
        kind: z.literal('percentile'),
        p: z.number().min(0).max(100).describe('Percentage. 50 is the median.'),
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
      'Statistic of the released values. Percentiles are interpolated between order statistics. The variance is the ' +
      'population variance.',
  })

/** Example from Lee and Clifton 2011, section 5. */
const school = {
  universe: { school_year: [1, 2, 3, 4], absence_days: [1, 2, 3, 10] },
  released: 3,
  query: { kind: 'mean' },
}

const question = {
  universe: z
    .record(columnName, z.array(valuesOfPerson).min(2).max(LARGEST_WIRE_UNIVERSE).readonly())
    .refine(
      (columns) => Object.keys(columns).length >= 1 && Object.keys(columns).length <= MOST_UNIVERSE_COLUMNS,
      `must have 1 to ${MOST_UNIVERSE_COLUMNS} columns`,
    )
    .refine(
      (columns) => new Set(Object.values(columns).map(({ length }) => length)).size <= 1,
      'must have the same number of entries in each column, one for each person',
    )
    .describe(
      'Values of every person who may be in the released dataset, by column. Each entry is one person, even if values are ' +
        'equal: a number, or an array with a number for each row of the person. Arrays are for sum, count, minimum and ' +
        'maximum.',
    ),
  released: z
    .int()
    .min(1)
    .max(LARGEST_WIRE_UNIVERSE)
    .describe('Number of people in the released dataset. The adversary does not know which.'),
  query: riskQuery,
  changed: z
    .int()
    .min(1)
    .max(LARGEST_WIRE_UNIVERSE)
    .default(1)
    .describe(
      'Number of people by which neighbouring datasets differ (k): k leave and k others join, or k leave, or k join. At most ' +
        'the number released, and at most the number left out, because otherwise no two datasets differ by k people. Epsilon ' +
        'is the loss between such neighbours: a mechanism with a loss of e for one person has at most k e for k of them (group ' +
        'privacy: Dwork and Roth 2014, theorem 2.2).',
    ),
  prior: z
    .array(z.number().min(0).max(1))
    .min(1)
    .max(MOST_PRIORS)
    .readonly()
    .optional()
    .describe(
      "Prior probability of each possible world, in the order of Python's itertools.combinations. Must sum to 1 within " +
        '1e-9. Default: all worlds are equally likely.',
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
    epsilon: epsilon
      .optional()
      .describe('Epsilon of the noise, at which both bounds of the risk are computed.'),
    response: z
      .union(
        [response, z.record(columnName, response)],
        'must be a number, or an object with a number for each column',
      )
      .optional()
      .describe('Noisy answer after which the beliefs are computed: one for all columns, or one for each.'),
  })
  .refine(({ epsilon, response }) => response === undefined || epsilon !== undefined, {
    path: ['epsilon'],
    message: 'is required with a response',
  })
  .refine(({ universe, response }) => typeof response !== 'object' || hasSameKeys(universe, response), {
    path: ['response'],
    message: 'must be a number, or have one for each column of the universe',
  })
  .meta({
    id: 'RiskRequest',
    description: 'People, some of whom are in a release, and a query.',
    examples: [{ ...school, epsilon: 2, response: 2.20131 }],
  })

/** POST /v1/risk/epsilon */
export const epsilonRequest = object(
  'EpsilonRequest',
  'People, some of whom are in a release, a query, and the accepted risk.',
  {
    ...question,
    risk: z
      .number()
      .gt(0, 'must be strictly between 0 and 1')
      .lt(1, 'must be strictly between 0 and 1')
      .describe('Accepted probability with which an adversary identifies the right world.'),
    tolerance: z
      .number()
      .min(1e-12)
      .max(1)
      .default(1e-12)
      .describe('Largest amount by which the epsilon from the tight bound may be too small.'),
    curve: z
      .strictObject({
        from: epsilon.default(0),
        to: z.number().gt(0).max(LARGEST_RISK_EPSILON),
        points: z.int().min(2).max(MOST_CURVE_POINTS).default(101),
      })
      .refine(({ from, to }) => from < to, { path: ['to'], message: 'must be greater than from' })
      .optional()
      .describe('Range of evenly spaced epsilons at which both bounds are returned.'),
  },
  { ...school, risk: 0.3333333333333333, curve: { to: 5 } },
)

const probability = z.number().min(0).max(1)

const way = z.enum(['enumeration', 'structure'])

const columnFacts = {
  column: z.string(),
  worlds: z.number().min(1).describe('Number of possible datasets.'),
  ways: z
    .strictObject({ sensitivities: way, answers: way })
    .describe(
      'Method of computation: enumeration of all worlds, or the structure of the query on ordered values.',
    ),
  sensitivity: z
    .strictObject({
      bounded: number('Largest difference between two worlds that differ by `changed` people.'),
      unbounded: number(
        'Largest difference between a world and a dataset with `changed` people more or fewer. The noise is calibrated ' +
          'to it.',
      ),
    })
    .describe('L1 sensitivity over all worlds.'),
  largestDifference: number('Largest difference between the answers of two worlds.'),
  upperBoundHolds: boolean(
    'True if the upper bound holds for every world, that is if the bounded sensitivity reaches the largest difference. ' +
      'The tight bound always holds.',
  ),
  largestPrior: probability.describe(
    'Prior probability of the most likely world. The risk is never smaller.',
  ),
}

const facts = {
  released: question.released,
  query: riskQuery,
  changed: z.int().min(1).max(LARGEST_WIRE_UNIVERSE),
}

const bounds = { upperBound: probability, tightBound: probability }

/** Response of POST /v1/risk. */
export const riskReport = object('RiskReport', 'Disclosure risk of a release.', {
  ...facts,
  epsilon: epsilon.optional(),
  columns: listOf(
    z.strictObject({
      ...columnFacts,
      bounds: z
        .strictObject(bounds)
        .optional()
        .describe('Bounds on the probability of any world after any answer, at this epsilon.'),
      posterior: z
        .strictObject({
          response: z.number(),
          largest: probability.describe(
            'Probability of the most likely world after the response: the disclosure risk.',
          ),
          confidence: z.number().min(-1).max(1).describe('Increase of the probability of this world.'),
          worlds: listOf(
            z.strictObject({
              positions: listOf(z.int().min(0).max(LARGEST_WIRE_UNIVERSE)).describe(
                'People in this world, as positions in the universe, starting at 0.',
              ),
              answer: z.number(),
              prior: probability,
              posterior: probability,
            }),
          )
            .optional()
            .describe('Worlds in the order of `prior`. Absent if there are too many.'),
        })
        .optional(),
    }),
  ),
})

const reached = { reached: z.literal(true), epsilon: z.number().min(0) }
const unreachable = {
  reached: z.literal(false),
  largestRisk: probability.describe('The bound never exceeds this, for any epsilon.'),
  why: z.string(),
}
const tolerance = { tolerance: z.number() }

/** Response of POST /v1/risk/epsilon. */
export const epsilonReport = object('EpsilonReport', 'Epsilon for an accepted risk.', {
  ...facts,
  risk: probability,
  columns: listOf(
    z.strictObject({
      ...columnFacts,
      upperBound: z
        .union([z.strictObject(reached), z.strictObject(unreachable)])
        .describe('Epsilon at which the upper bound equals the risk.'),
      tightBound: z
        .union([
          z.strictObject({ ...reached, ...tolerance }),
          z.strictObject({ ...unreachable, ...tolerance }),
        ])
        .describe('Largest epsilon, within the tolerance, at which the tight bound is at most the risk.'),
      curve: listOf(z.strictObject({ epsilon, ...bounds })).optional(),
    }),
  ),
})

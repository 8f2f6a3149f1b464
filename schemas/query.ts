import { z } from 'zod'
import { MAX_QUERY_EPSILON } from '../src/privacy/loss.ts'
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

const where = predicate.refine(
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

const privacy = {
  where: where.optional(),
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
  // The exact rules are the planner's; these bounds are for whoever reads the document.
  epsilon: z.number().meta({
    description: 'Greater than 0, at most 1000, at most 9 fractional digits; never rounded.',
    exclusiveMinimum: 0,
    maximum: MAX_QUERY_EPSILON,
  }),
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
    .default({ round: false, nonNegative: false }),
}

const countQuery = z
  .strictObject({ kind: z.literal('count'), ...privacy })
  .meta({ id: 'CountQuery', description: 'How many rows there are.' })

const sumQuery = z
  .strictObject({ kind: z.literal('sum'), column: columnName, ...privacy })
  .meta({ id: 'SumQuery', description: 'The sum of a numeric column. NULL counts as 0.' })

const meanQuery = z
  .strictObject({ kind: z.literal('mean'), column: columnName, ...privacy })
  .meta({ id: 'MeanQuery', description: 'The mean of a numeric column over the rows where it is not NULL.' })

const histogramQuery = z
  .strictObject({ kind: z.literal('histogram'), column: groupingColumn, ...privacy })
  .meta({ id: 'HistogramQuery', description: 'How many rows fall into each category or bin of a column.' })

const contingencyQuery = z
  .strictObject({
    kind: z.literal('contingency'),
    columns: z.array(groupingColumn).min(2).max(8),
    ...privacy,
  })
  .meta({
    id: 'ContingencyQuery',
    description: 'How many rows fall into each cell of the full cross product of two or more columns.',
  })

/** POST /v1/datasets/{dataset}/queries */
export const query = z
  .discriminatedUnion('kind', [countQuery, sumQuery, meanQuery, histogramQuery, contingencyQuery], {
    error: 'must be one of count, sum, mean, histogram, contingency',
  })
  .meta({
    id: 'Query',
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

export type Query = z.output<typeof query>
export type QueryPredicate = PredicateTree
export type GroupingColumn = z.output<typeof groupingColumn>

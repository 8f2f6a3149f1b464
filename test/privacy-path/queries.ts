import { type Query, query as querySchema } from '../../schemas/answers/query.ts'
import type { Neighbours } from '../../src/privacy/neighbours.ts'

/** A query on the tiny dataset, in its wire form. */
export type Wire = Readonly<Record<string, unknown>> & { readonly kind: string }

/** Predicate that keeps some rows by a number. */
const SOME_AGES = { column: 'Age', op: '>=', value: 2 }
/** Predicate that keeps some rows by a missing value, a number, a text and a category. */
export const SOME_ROWS = {
  op: 'or',
  predicates: [
    { column: 'Member', op: 'isNull' },
    { op: 'and', predicates: [SOME_AGES, { op: 'not', predicate: { column: 'Note', op: '=', value: 'a' } }] },
    { column: 'Sex', op: '=', value: 'M' },
  ],
}
const AGE_BINS = { column: 'Age', edges: [1, 2, 4] }
const INCOME_BINS = { column: 'Income', edges: [2, 2.5, 3.5] }
/** Some rows are counted by the first three, others by the last two, others by none or by some of both. */
export const RIVALS = {
  predicates: [
    { name: 'men', where: { column: 'Sex', op: '=', value: 'M' } },
    { name: 'members', where: { column: 'Member', op: '=', value: true } },
    { name: 'noted', where: { column: 'Note', op: 'in', values: ['a', 'c'] } },
    { name: 'older', where: SOME_AGES },
    { name: 'east', where: { column: 'Region', op: '=', value: 'E' } },
  ],
}

/** Queries for sums and counts, with a flag for whole-number answers. */
const ESTIMATES: readonly (readonly [Wire, whole: boolean])[] = [
  [{ kind: 'count' }, true],
  [{ kind: 'count', where: SOME_ROWS }, true],
  ...['sum', 'mean', 'variance', 'standardDeviation'].flatMap((kind) =>
    ['Age', 'Balance', 'Income'].flatMap((column) => [
      [{ kind, column }, column === 'Age'] as const,
      [{ kind, column, where: SOME_ROWS }, column === 'Age'] as const,
    ]),
  ),
  [{ kind: 'covariance', columns: ['Age', 'Balance'] }, false],
  [{ kind: 'covariance', columns: ['Member', 'Age'], where: SOME_ROWS }, true],
  [{ kind: 'correlation', columns: ['Income', 'Balance'] }, false],
  [{ kind: 'correlation', columns: ['Balance', 'Age'], where: SOME_ROWS }, false],
  [{ kind: 'linearRegression', outcome: 'Age', predictors: ['Balance'] }, false],
  [{ kind: 'linearRegression', outcome: 'Age', predictors: ['Member'], where: SOME_ROWS }, true],
  [{ kind: 'proportion', of: SOME_ROWS }, true],
  [{ kind: 'proportion', of: SOME_AGES, where: SOME_ROWS }, true],
  [{ kind: 'countDistinct', column: 'Sex' }, true],
  [{ kind: 'countDistinct', column: 'Region', where: SOME_ROWS }, true],
  [{ kind: 'countDistinct', column: AGE_BINS }, true],
  [{ kind: 'histogram', column: 'Sex' }, true],
  [{ kind: 'bounds', column: 'Age' }, true],
  [{ kind: 'histogram', column: 'Member', where: SOME_ROWS }, true],
  [{ kind: 'histogram', column: INCOME_BINS }, true],
  [{ kind: 'contingency', columns: ['Sex', 'Region'] }, true],
  [{ kind: 'contingency', columns: ['Member', AGE_BINS], where: SOME_ROWS }, true],
  [{ kind: 'topGroups', keys: ['Sex', 'Member'], k: 2 }, true],
  [{ kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'sum', column: 'Age' }] }, true],
  [
    {
      kind: 'groupBy',
      keys: ['Sex'],
      statistics: [
        { kind: 'proportion', of: SOME_AGES },
        { kind: 'proportion', of: { column: 'Member', op: '=', value: true }, name: 'members' },
        { kind: 'countDistinct', column: 'Region' },
      ],
    },
    true,
  ],
  [
    {
      kind: 'groupBy',
      keys: ['Region'],
      statistics: [{ kind: 'count' }, { kind: 'mean', column: 'Age' }, { kind: 'sum', column: 'Income' }],
    },
    false,
  ],
  [
    {
      kind: 'groupBy',
      keys: ['Sex', AGE_BINS],
      statistics: [
        { kind: 'sum', column: 'Balance' },
        { kind: 'variance', column: 'Balance' },
        { kind: 'mean', column: 'Balance' },
        { kind: 'standardDeviation', column: 'Income' },
      ],
      where: SOME_ROWS,
    },
    false,
  ],
]

const GAUSSIAN = { mechanism: 'gaussian', delta: 1e-6 }

const estimates: readonly Wire[] = [
  ...ESTIMATES.flatMap(([wire, whole]) =>
    [
      ...(whole ? [{ mechanism: 'geometric' }] : []),
      { mechanism: 'laplace' },
      GAUSSIAN,
      { ...GAUSSIAN, calibration: 'classic' },
      // An epsilon that does not divide evenly among three statistics.
    ].map((mechanism) => ({ ...wire, epsilon: 0.7, ...mechanism })),
  ),
  // Queries without a mechanism, and queries with an accuracy in place of epsilon.
  { kind: 'count', where: SOME_ROWS, epsilon: 3 },
  { kind: 'sum', column: 'Income', epsilon: 0.01, delta: 0.01 },
  { kind: 'histogram', column: 'Sex', accuracy: { halfWidth: 3 } },
  { kind: 'sum', column: 'Balance', accuracy: { halfWidth: 7.3 }, mechanism: 'gaussian', delta: 1e-9 },
]

const noisyMax: readonly Wire[] = [
  ...[1, 2].flatMap((k) => ['exponential', 'gumbel', 'laplace'].map((noise) => ({ k, noise }))),
  { k: 3, noise: 'exponential' },
  { k: 3, noise: 'gumbel' },
  { gap: true },
]
  .flatMap((noise): Wire[] => [
    { kind: 'noisyMax', candidates: { column: 'Region' }, ...noise },
    { kind: 'noisyMax', candidates: RIVALS, ...noise },
  ])
  .concat([
    { kind: 'noisyMax', candidates: { column: 'Sex' } },
    { kind: 'noisyMax', candidates: { column: 'Sex' }, gap: true, where: SOME_ROWS },
    { kind: 'noisyMax', candidates: { column: 'Member' }, k: 2, gap: true },
    { kind: 'noisyMax', candidates: { column: AGE_BINS }, noise: 'gumbel', where: SOME_ROWS },
  ])
  // At a usual epsilon, and at one so large that few rows spend nearly all of it.
  .flatMap((wire): Wire[] => [1, 60].map((epsilon) => ({ ...wire, epsilon })))
  .concat([{ kind: 'noisyMax', candidates: RIVALS, accuracy: { halfWidth: 2 } }])

const quantiles: readonly Wire[] = ['Age', 'Balance', 'Income', 'Wealth']
  .flatMap((column): Wire[] => [
    { kind: 'median', column },
    { kind: 'percentile', column, p: 75 },
    { kind: 'percentile', column, p: 12.5 },
    { kind: 'percentile', column, p: [20, 50, 62.5], where: SOME_ROWS },
    { kind: 'minimum', column },
    { kind: 'maximum', column },
  ])
  .concat([
    { kind: 'median', column: 'Balance', where: SOME_ROWS },
    { kind: 'maximum', column: 'Income', where: SOME_ROWS },
  ])
  // At the larger one the extremes target a rank that few rows reach.
  .flatMap((wire): Wire[] => [1, 16].map((epsilon) => ({ ...wire, epsilon })))
  .concat([{ kind: 'median', column: 'Age', accuracy: { halfWidth: 2 } }])

const keySelection: readonly Wire[] = [true, false]
  .flatMap((counts): Wire[] =>
    [
      { epsilon: 1, delta: 1e-5 },
      { epsilon: 0.5, delta: 0.1 },
      { epsilon: 2, delta: 0.01, where: SOME_ROWS },
    ].map((price) => ({ kind: 'keySelection', column: 'Note', counts, ...price })),
  )
  .concat([{ kind: 'keySelection', column: 'Note', counts: true, accuracy: { halfWidth: 8 }, delta: 0.001 }])

const groups: readonly Wire[] = [
  { statistics: [{ kind: 'median', column: 'Wealth' }], epsilon: 16 },
  { statistics: [{ kind: 'percentile', column: 'Wealth', p: 75 }], epsilon: 16 },
  { statistics: [{ kind: 'median', column: 'Balance' }], where: SOME_ROWS, epsilon: 1 },
  {
    statistics: [
      { kind: 'percentile', column: 'Income', p: 12.5 },
      { kind: 'count' },
      { kind: 'median', column: 'Age' },
      { kind: 'mean', column: 'Income' },
    ],
    epsilon: 1,
    mechanism: 'laplace',
  },
  {
    statistics: [
      { kind: 'median', column: 'Age' },
      { kind: 'sum', column: 'Age' },
    ],
    epsilon: 1,
    ...GAUSSIAN,
  },
].flatMap((wire): Wire[] => [
  { kind: 'groupBy', keys: ['Sex'], ...wire },
  { kind: 'groupBy', keys: ['Region', AGE_BINS], ...wire },
])

const marginals: readonly Wire[] = [
  { columns: ['Sex', 'Region', 'Member'], ways: [1, 2], epsilon: 0.7 },
  { columns: ['Sex', AGE_BINS], ways: 1, where: SOME_ROWS, objective: 'largest', epsilon: 3 },
].map((wire) => ({ kind: 'marginals', ...wire }))

const cumulativeCounts: readonly Wire[] = [
  { column: AGE_BINS },
  { column: 'Age', where: SOME_ROWS },
  { column: INCOME_BINS, p: [50] },
].flatMap((wire): Wire[] =>
  [{}, { delta: 1e-6 }].map((price) => ({ kind: 'cumulativeCounts', ...wire, epsilon: 0.7, ...price })),
)

/** Every kind of query, with everything that it may ask for. */
export const WIRES: readonly Wire[] = [
  ...groups,
  ...estimates,
  ...noisyMax,
  ...quantiles,
  ...keySelection,
  ...marginals,
  ...cumulativeCounts,
]

export function asked(wire: Wire): Query {
  return querySchema.parse(wire)
}

/** A short form of a query, without long predicates. */
export function titleOf(wire: Wire): string {
  return JSON.stringify(wire, (_, value) => {
    if (value === SOME_ROWS) return 'some'
    if (value === SOME_AGES) return 'older'
    return value === RIVALS ? 'rivals' : value
  }).replaceAll('"', '')
}

/** True for groups of which some statistics are quantiles. */
export function hasQuantiles({ statistics }: Wire): boolean {
  return Array.isArray(statistics) && statistics.some(({ kind }) => ['median', 'percentile'].includes(kind))
}

/**
 * True if some pair of tiny neighbours spends all of the price, up to {@link slackOf}, so that a sensitivity that is
 * too small or too large is detected. The other queries spend less, for the reasons given.
 */
export function isTight(wire: Wire, neighbours: Neighbours): boolean {
  const changeOne = neighbours === 'change-one'
  // The classic formula adds more noise than necessary.
  if (wire.calibration === 'classic') return false
  switch (wire.kind) {
    case 'count':
      // The number of rows is public.
      return !(changeOne && wire.where === undefined)
    case 'mean':
      // Between the ends of the range the sum moves farthest, and the count not at all.
      return !changeOne || (wire.where === undefined && wire.column !== 'Income')
    case 'variance':
    case 'standardDeviation':
      // The squares move farthest between the middle and an end, the sum between the ends.
      return !changeOne
    case 'cumulativeCounts':
      // Two rows that differ in every level do not move the number of rows.
      return !changeOne
    case 'covariance':
    case 'correlation':
    case 'linearRegression':
      // Between two corners of the box, some sum moves by less than from a corner to an excluded row or another corner.
      return !changeOne
    case 'groupBy':
      // On small grids, the wanted point keeps its probability.
      if (hasQuantiles(wire))
        return (
          wire.epsilon === 16 &&
          Array.isArray(wire.keys) &&
          wire.keys.length === 1 &&
          Array.isArray(wire.statistics) &&
          (wire.statistics[0].kind === 'median' || !changeOne)
        )
      // In L2 the sum about the middle moves farther within a cell than between two; the count does not move then.
      return !(
        changeOne &&
        wire.mechanism === 'gaussian' &&
        Array.isArray(wire.statistics) &&
        wire.statistics.length > 1
      )
    case 'noisyMax':
      // One row would have to raise and lower several candidates, and few rows would have to be many times the scale.
      return wire.candidates === RIVALS && wire.epsilon === 60
    case 'median':
    case 'minimum':
    case 'maximum':
      // On small grids, the wanted point keeps its probability.
      return wire.column === 'Wealth' && wire.epsilon === 16
    case 'percentile':
      // No added or removed row has the largest weight for all three percentiles.
      return wire.column === 'Wealth' && wire.epsilon === 16 && (changeOne || !Array.isArray(wire.p))
    case 'keySelection':
      // A threshold is a whole number of rows, and two keys seldom spend their halves of delta together.
      return !changeOne && wire.counts === false
    default:
      return true
  }
}

/** Part of a tight price that need not be spent. */
export function slackOf(wire: Wire): number {
  switch (wire.kind) {
    case 'noisyMax':
      // Few rows are many times the scale, but finitely many.
      return 1e-5
    case 'keySelection':
      return 1e-9
    case 'marginals':
      // Scales are whole numbers of units, of which they have 1,024 or more.
      return 2e-3
    default:
      // The Gaussian mechanism's calibration leaves 1e-8 of delta for floating point.
      return wire.delta === undefined ? 1e-9 : 2e-8
  }
}

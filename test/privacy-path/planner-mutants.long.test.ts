import { expect, test } from 'vitest'
import { selectMutants } from '../mutants/select-mutants.ts'
import { importPlanner, type Mistake, stability, violations } from './mistaken-planner.ts'
import { RIVALS, SOME_ROWS, type Wire } from './queries.ts'

/*
 * Mutants of the planner and the mechanisms with a mistake in the sensitivity. Each plans queries whose distribution
 * spends more than their price.
 */

const SUM: Wire = { kind: 'sum', column: 'Age' }
const HISTOGRAM: Wire = { kind: 'histogram', column: 'Sex' }
const PERCENTILE: Wire = { kind: 'percentile', column: 'Wealth', p: 75, epsilon: 16 }
const RIVALRY: Wire = { kind: 'noisyMax', candidates: RIVALS, epsilon: 60 }
const KEYS: Wire = { kind: 'keySelection', column: 'Note', delta: 0.1 }
const MEN = { column: 'Sex', op: '=', value: 'M' }
const LAPLACE = { mechanism: 'laplace' }
const GAUSSIAN = { mechanism: 'gaussian', delta: 1e-6 }

const MISTAKES: readonly Mistake[] = [
  {
    name: 'a replaced row counted in one cell only (L1)',
    mutations: stability('smaller(2n * terms * magnitude', 'smaller(terms * magnitude'),
    seenBy: [HISTOGRAM, { ...HISTOGRAM, ...LAPLACE }],
  },
  {
    name: 'a replaced row counted in one cell only (L2)',
    mutations: [
      ...stability('smaller(2n * terms * magnitude', 'smaller(terms * magnitude'),
      ...stability(
        'squares * squaredDistance(contribution, negative, positive)',
        'squares * magnitude ** 2n',
      ),
    ],
    seenBy: [{ ...HISTOGRAM, ...GAUSSIAN }],
  },
  {
    name: 'a row that stays in its cell forgotten (L2)',
    mutations: [
      ...stability(
        'return larger(2n * larger(negative, positive) ** 2n, (negative + positive) ** 2n)',
        'return 2n * larger(negative, positive) ** 2n',
      ),
      ...stability('inOneCell * (negative + positive)', 'inOneCell * magnitude'),
    ],
    seenBy: [
      { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'sum', column: 'Balance' }], ...GAUSSIAN },
    ],
  },
  {
    name: 'several cells taken for one',
    mutations: stability('if (allCells === 1n)', 'if (allCells <= 2n)'),
    seenBy: [HISTOGRAM, { kind: 'proportion', of: MEN, where: SOME_ROWS }],
  },
  {
    name: 'a replaced row treated as added only',
    mutations: stability(
      'l1: span, l2Squared: span ** 2n, lInfinity: span }',
      'l1: magnitude, l2Squared: magnitude ** 2n, lInfinity: magnitude }',
    ),
    seenBy: [
      { kind: 'sum', column: 'Balance' },
      { kind: 'sum', column: 'Balance', ...GAUSSIAN },
      { kind: 'mean', column: 'Age' },
    ],
  },
  {
    name: 'an added row priced as a replaced row',
    mutations: [
      ...stability('l1: terms * magnitude', 'l1: terms * (highest - lowest)'),
      ...stability('squares * magnitude ** 2n', 'squares * (highest - lowest) ** 2n'),
      ...stability('lInfinity: inOneCell * magnitude', 'lInfinity: inOneCell * (highest - lowest)'),
    ],
    seenBy: [SUM, { ...SUM, ...GAUSSIAN }],
  },
  {
    name: 'a sum from which no row can be excluded',
    mutations: stability(
      'spanOfOneCell(lowest, highest, inOneCell, mayBeNothing)',
      'spanOfOneCell(lowest, highest, inOneCell, false)',
    ),
    seenBy: [
      { ...SUM, where: SOME_ROWS },
      { kind: 'sum', column: 'Income' },
    ],
  },
  {
    name: 'a sum from which no predicate excludes a row',
    mutations: stability('where !== undefined || groupBy', 'groupBy'),
    seenBy: [{ ...SUM, where: SOME_ROWS }],
  },
  {
    name: 'a sum from which no missing value excludes a row',
    mutations: stability('=> column.nullable', '=> false'),
    seenBy: [{ kind: 'sum', column: 'Income' }],
  },
  {
    name: 'a product bounded by one of its factors',
    mutations: stability(
      'entry(ends, 0).flatMap((one) => entry(ends, 1).map((other) => one * other))',
      'ends[0] ?? []',
    ),
    seenBy: [
      { kind: 'covariance', columns: ['Age', 'Balance'], ...LAPLACE },
      { kind: 'correlation', columns: ['Income', 'Balance'], ...LAPLACE },
    ],
  },
  {
    name: 'a quantile of each group at the price of a smaller weight',
    mutations: stability('const weight = larger(absolute(below), absolute(above))', 'const weight = 1n'),
    seenBy: [
      {
        kind: 'groupBy',
        keys: ['Sex'],
        statistics: [{ kind: 'percentile', column: 'Wealth', p: 75 }],
        epsilon: 16,
      },
    ],
  },
  {
    name: 'squares taken for their bases',
    mutations: stability('affine(index) ** 2n', 'affine(index)'),
    seenBy: [
      { kind: 'variance', column: 'Age' },
      { kind: 'standardDeviation', column: 'Income', ...LAPLACE },
      { kind: 'variance', column: 'Balance', ...GAUSSIAN },
    ],
  },
  {
    name: 'the largest entry for the sum of all (geometric)',
    mutations: [
      {
        file: 'core/mechanisms/noise/geometric.ts',
        find: 'rational(sensitivity.l1 * ONE_EPSILON_NANO',
        replace: 'rational(sensitivity.lInfinity * ONE_EPSILON_NANO',
      },
      {
        file: 'core/mechanisms/noise/geometric.ts',
        find: 'const { l1 } = sensitivityInOutputUnits(',
        replace: 'const { lInfinity: l1 } = sensitivityInOutputUnits(',
      },
    ],
    seenBy: [HISTOGRAM, { kind: 'contingency', columns: ['Sex', 'Region'] }],
  },
  {
    name: 'every statistic at the whole epsilon',
    mutations: [
      {
        file: 'core/planner/additive/measure.ts',
        find: 'entry(shares, position)',
        replace: 'loss.epsilonNano',
      },
    ],
    seenBy: [{ kind: 'mean', column: 'Income' }],
  },
  {
    name: 'every percentile at the whole epsilon',
    mutations: [
      {
        file: 'core/planner/plans/quantile.ts',
        find: 'upperIndex }, entry(shares, part))',
        replace: 'upperIndex }, loss.epsilonNano)',
      },
    ],
    seenBy: [{ ...PERCENTILE, p: [20, 50, 62.5] }],
  },
  {
    name: 'counts taken as monotonic under change-one',
    mutations: stability("monotonic: dataset.neighbours === 'add-remove'", 'monotonic: true'),
    seenBy: [RIVALRY, { ...RIVALRY, gap: true }, { ...RIVALRY, noise: 'gumbel' }],
  },
  {
    name: 'scores that move in opposite directions treated as monotonic',
    mutations: [
      {
        file: 'core/mechanisms/selection/exponential.ts',
        find: 'return monotonic ? sensitivity : 2n * sensitivity',
        replace: 'return sensitivity',
      },
    ],
    seenBy: [RIVALRY, { ...RIVALRY, noise: 'laplace' }, PERCENTILE],
  },
  {
    name: 'k candidates at the price of one',
    mutations: [
      {
        file: 'core/mechanisms/selection/noisy-max.ts',
        find: 'return BigInt(setting.k) * scoreSpread(',
        replace: 'return scoreSpread(',
      },
    ],
    seenBy: ['exponential', 'gumbel', 'laplace'].map((noise) => ({ ...RIVALRY, k: 2, noise })),
  },
  {
    name: 'a replaced row treated as added in ranks',
    mutations: stability(
      'ends.reduce(larger) - ends.reduce(smaller)',
      'larger(absolute(below), absolute(above))',
    ),
    seenBy: [PERCENTILE, { kind: 'median', column: 'Wealth', epsilon: 16 }],
  },
  {
    name: 'an added row with the smaller weight',
    mutations: stability(
      'const weight = larger(absolute(below), absolute(above))',
      'const weight = smaller(absolute(below), absolute(above))',
    ),
    seenBy: [PERCENTILE],
  },
  {
    name: 'ranks taken as monotonic',
    mutations: [
      {
        file: 'core/mechanisms/selection/quantile.ts',
        find: 'monotonic: false, outcomes }',
        replace: 'monotonic: true, outcomes }',
      },
    ],
    seenBy: [PERCENTILE, { ...PERCENTILE, kind: 'minimum' }, { ...PERCENTILE, kind: 'maximum' }].map(
      ({ p, ...wire }) => (wire.kind === 'percentile' ? { ...wire, p } : wire),
    ),
  },
  {
    name: 'a replaced row that changes one key only',
    mutations: stability("dataset.neighbours === 'add-remove' ? rising : 2n * rising", 'rising'),
    seenBy: [KEYS, { ...KEYS, counts: true }, { ...KEYS, counts: true, delta: 1e-5 }],
  },
]

test('the unchanged copy spends no more than its price', async () => {
  const copy = await importPlanner([])
  for (const wire of [SUM, HISTOGRAM, RIVALRY, PERCENTILE, KEYS])
    expect(violations({ epsilon: 1, ...wire }, copy)).toEqual([])
})

test.each(selectMutants(import.meta.dirname, MISTAKES, ({ mutations }) => mutations))(
  '$name: detected by its distribution',
  async ({ mutations, seenBy }) => {
    const mistaken = await importPlanner(mutations)
    for (const wire of seenBy)
      expect(violations({ epsilon: 1, ...wire }, mistaken), JSON.stringify(wire)).not.toEqual([])
  },
)

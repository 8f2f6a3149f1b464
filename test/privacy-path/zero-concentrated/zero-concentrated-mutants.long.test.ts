import { expect, test } from 'vitest'
import { selectMutants } from '../../mutants/select-mutants.ts'
import { pairsFor, planner } from '../examination.ts'
import { importPlanner } from '../mistaken-planner.ts'
import { RIVALS, SOME_ROWS, type Wire } from '../queries.ts'
import { KINDS_OF_NEIGHBOURS, largestShare } from './price-in-rho.ts'

const SUMS: Wire = { kind: 'mean', column: 'Income', epsilon: 1 }
const TABLE: Wire = { kind: 'histogram', column: 'Sex', epsilon: 1 }
const rivalry = (noise: string, k = 1): Wire => ({
  kind: 'noisyMax',
  candidates: RIVALS,
  noise,
  k,
  epsilon: 1,
})

/**
 * A mistake in the price, the file and the text of the source that it replaces, the replacement, and queries that
 * detect it.
 */
type Mistake = readonly [
  mistake: string,
  file: string,
  find: string,
  replace: string,
  detectedBy: readonly Wire[],
]

const MISTAKES: readonly Mistake[] = [
  [
    'the first statistic only',
    'core/planner/additive/measure.ts',
    'return each.reduce(',
    'return each.slice(0, 1).reduce(',
    [SUMS, { ...SUMS, mechanism: 'gaussian', delta: 1e-6 }],
  ],
  [
    'the figure for real numbers, on whole ones',
    'privacy/zero-concentrated.ts',
    '(reciprocal / Math.sinh(reciprocal))',
    '1',
    [{ kind: 'count', where: SOME_ROWS, epsilon: 1 }, TABLE],
  ],
  [
    'one cell of two',
    'privacy/zero-concentrated.ts',
    'Number(l1 / lInfinity) *',
    '',
    [TABLE, { ...TABLE, mechanism: 'laplace' }],
  ],
  [
    'a sensitivity in units of the input, a scale in those of the output',
    'core/mechanisms/noise/geometric.ts',
    'return discreteLaplaceRho(laplaceScale(measurement), inOutputUnits)',
    'return discreteLaplaceRho(laplaceScale(measurement), sensitivity)',
    [{ ...TABLE, mechanism: 'laplace' }],
  ],
  [
    'half the rho of Gaussian noise',
    'privacy/zero-concentrated.ts',
    '2n * sigma * sigma',
    '4n * sigma * sigma',
    [{ ...TABLE, mechanism: 'gaussian', delta: 1e-6 }],
  ],
  [
    "permute-and-flip at the exponential mechanism's price",
    'core/mechanisms/selection/noisy-max.ts',
    'return permuteAndFlipRho(epsilonNano, k)',
    'return boundedRangeRho(epsilonNano, k)',
    [rivalry('exponential')],
  ],
  [
    "Laplace noise at the exponential mechanism's price",
    'core/mechanisms/selection/noisy-max.ts',
    'return pureRho(epsilonNano, 1n, measurement.sensitivity << BigInt(measurement.fractionBits))',
    'return boundedRangeRho(epsilonNano)',
    [rivalry('laplace')],
  ],
  [
    'k candidates at the price of one (Gumbel noise)',
    'core/mechanisms/selection/noisy-max.ts',
    'return boundedRangeRho(epsilonNano, k)',
    'return boundedRangeRho(epsilonNano, k * k)',
    [rivalry('gumbel', 2)],
  ],
  [
    'the price of one round for all',
    'privacy/zero-concentrated.ts',
    'Number(rounds) * rho * Number(ONE_RHO_PICO)',
    'rho * Number(ONE_RHO_PICO)',
    [{ ...rivalry('gumbel', 2), epsilon: 60 }],
  ],
  [
    'one round at the price of a pure epsilon where there are several',
    'privacy/zero-concentrated.ts',
    'rational(units.l1 * ONE_EPSILON_NANO, epsilonNano), units)',
    'rational(units.l1 * ONE_EPSILON_NANO, epsilonNano), { ...units, l1: steps })',
    [{ ...rivalry('exponential', 2), epsilon: 60 }],
  ],
  [
    'half of the price of a bounded range',
    'privacy/zero-concentrated.ts',
    'logarithm + Math.expm1(-logarithm)',
    '(logarithm + Math.expm1(-logarithm)) / 2',
    [
      { ...rivalry('gumbel'), epsilon: 60 },
      { kind: 'median', column: 'Wealth', epsilon: 16 },
    ],
  ],
  [
    'the square of a bounded range divided by sixteen',
    'privacy/zero-concentrated.ts',
    '8n * ONE_EPSILON_NANO',
    '16n * ONE_EPSILON_NANO',
    [rivalry('gumbel'), { kind: 'median', column: 'Balance', epsilon: 1 }],
  ],
  [
    'one percentile of three',
    'core/planner/plans/quantile.ts',
    'rhoTogether(measurements.map(exponentialRho))',
    'rhoTogether(measurements.slice(0, 1).map(exponentialRho))',
    [{ kind: 'percentile', column: 'Balance', p: [20, 50, 62.5], epsilon: 1 }],
  ],
]

test.each(
  selectMutants(import.meta.dirname, MISTAKES, ([, file, find, replace]) => [{ file, find, replace }]),
)('%s: is detected', async (_, file, find, replace, detectedBy) => {
  const mistaken = await importPlanner([{ file, find, replace }])
  for (const wire of detectedBy) {
    const shares = KINDS_OF_NEIGHBOURS.map((neighbours) =>
      largestShare(planner(wire, neighbours, mistaken), pairsFor(wire, neighbours)),
    )
    expect(Math.max(...shares), JSON.stringify(wire)).toBeGreaterThan(1.05)
  }
})

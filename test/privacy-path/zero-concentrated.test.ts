import { describe, expect, test } from 'vitest'
import { discreteLaplaceMass } from '../../src/mechanisms/samplers/discrete-laplace.ts'
import {
  type SparseVectorMeasurement,
  sparseVectorZeroConcentratedMap,
} from '../../src/mechanisms/sparse-vector.ts'
import type { NoisyMaxPlan } from '../../src/planner/kinds/noisy-max.ts'
import type { plan } from '../../src/planner/plan.ts'
import type { Plan } from '../../src/planner/plan-kinds.ts'
import { NO_LOSS, rhoNumber } from '../../src/privacy/loss.ts'
import type { Neighbours } from '../../src/privacy/neighbours.ts'
import { rational } from '../../src/privacy/rational.ts'
import { type SourceChange, withChangedSource } from '../changed-source.ts'
import type { StoredRow } from '../engines/reference-engine.ts'
import { type Distribution, distributionOf, noisyMaxLogMass, observe, selections } from './distributions.ts'
import { pairsFor, planner } from './examination.ts'
import { isTight, RIVALS, SOME_ROWS, titleOf, WIRES, type Wire } from './queries.ts'
import { renyiDivergence, renyiDivergenceOfOutcomes } from './renyi.ts'

/*
 * The price in rho of every kind of query: the Rényi divergence of the release, on every pair of tiny neighbouring
 * datasets, in both directions and at several orders, is at most the order times rho.
 */

const KINDS_OF_NEIGHBOURS = ['add-remove', 'change-one'] as const

/** The divergence of the first order is the Kullback-Leibler divergence to within a thousandth. */
const ORDERS = [1.001, 1.1, 1.5, 2, 3, 5, 20]

/** Error of the sum of probabilities, divided by the order less one. */
const ROUNDING = 1e-13 / (1.001 - 1)

/** The largest share of a price in rho that any pair of neighbours spends, at any order. */
function largestShare(
  planFor: (rows: number) => Plan,
  wire: Wire,
  neighbours: Neighbours,
  distributionIn: (plan: Plan, rows: readonly StoredRow[]) => Distribution = (plan, rows) =>
    distributionOf(plan, observe(plan, rows)),
): number {
  let share = 0
  for (const { rows, pairs } of pairsFor(wire, neighbours)) {
    const planned = planFor(rows)
    if (planned.rho === undefined) throw new Error('a plan without a price in rho')
    const rho = rhoNumber(planned.rho)
    const distributions = new Map<
      readonly StoredRow[],
      { readonly distribution: Distribution; readonly name: string }
    >()
    const namedDistribution = (of: readonly StoredRow[]) => {
      const known = distributions.get(of)
      if (known !== undefined) return known
      const distribution = distributionIn(planned, of)
      const found = { distribution, name: nameOf(distribution) }
      distributions.set(of, found)
      return found
    }
    const looked = new Set<string>()
    for (const pair of pairs) {
      const [one, other] = [namedDistribution(pair.one), namedDistribution(pair.other)]
      const names = [one.name, other.name].sort().join(' | ')
      if (one.name === other.name || looked.has(names)) continue
      looked.add(names)
      for (const order of ORDERS) {
        const most = Math.max(
          renyiDivergence(planned, one.distribution, other.distribution, order),
          renyiDivergence(planned, other.distribution, one.distribution, order),
        )
        share = Math.max(share, (most / order - ROUNDING) / rho)
      }
    }
  }
  return share
}

function nameOf(distribution: Distribution): string {
  switch (distribution.kind) {
    case 'noise':
      return distribution.integers.map((cells) => cells.join(' ')).join('; ')
    case 'outcomes':
      return distribution.parts.map((part) => part.join(' ')).join('; ')
    case 'keys':
      throw new Error('keys have no price in rho')
  }
}

/** Share of the price that some pair must spend, if it is known to be large. */
function expectedShare(wire: Wire, neighbours: Neighbours): number {
  const { kind, noise, epsilon, column, statistics } = wire
  const changeOne = neighbours === 'change-one'
  switch (kind) {
    case 'noisyMax':
      if (wire.candidates !== RIVALS) return 0
      if (noise === 'gumbel') return epsilon === 1 ? 0.9 : 0.67
      return noise === 'exponential' && epsilon === 60 ? 0.7 : 0
    case 'median':
    case 'percentile':
    case 'minimum':
    case 'maximum':
      if (column === 'Wealth' && epsilon === 16 && kind !== 'percentile') return 0.74
      return column === 'Balance' && epsilon === 1 && changeOne && kind !== 'minimum' && kind !== 'maximum'
        ? 0.75
        : 0
    default: {
      // A sum about the middle that moves farthest within a cell, or twice as much between two, does not do both.
      if (changeOne && Array.isArray(statistics) && statistics.length > 1) return 0
      // Noise that is too large for an epsilon is not too large for its rho.
      const { calibration: _, ...rest } = wire
      return isTight(rest, neighbours) ? 0.999 : 0
    }
  }
}

describe.each(KINDS_OF_NEIGHBOURS)('under %s', (neighbours) => {
  const priced = WIRES.filter(({ kind, gap }) => kind !== 'keySelection' && gap !== true)

  test.each(priced.map((wire) => [titleOf(wire), wire] as const))('%s', (_, wire) => {
    const share = largestShare(planner(wire, neighbours), wire, neighbours)
    expect(share).toBeLessThanOrEqual(1 + 1e-9)
    expect(share).toBeGreaterThanOrEqual(expectedShare(wire, neighbours))
  })

  // On the fine grid of production there are too many gaps to examine each. The price is the same on any grid.
  test.each([
    { kind: 'noisyMax', candidates: { column: 'Sex' }, gap: true, epsilon: 1 },
    { kind: 'noisyMax', candidates: { column: 'Region' }, gap: true, epsilon: 2 },
  ])('with gaps on a coarse grid: $candidates.column', (wire) => {
    const share = largestShare(planner(wire, neighbours), wire, neighbours, gapsOnCoarseGrid)
    expect(share).toBeLessThanOrEqual(1 + 1e-9)
    expect(share).toBeGreaterThan(0.3)
  })

  test('undeclared keys have no price in rho', () => {
    for (const wire of WIRES.filter(({ kind }) => kind === 'keySelection'))
      expect(planner(wire, neighbours)(3).rho).toBeUndefined()
  })
})

/** Noise of the same epsilon, on the grid of the scores; gaps up to a distance beyond which the mass is negligible. */
function gapsOnCoarseGrid(planned: Plan, rows: readonly StoredRow[]): Distribution {
  if (planned.kind !== 'noisy-max') throw new Error('only a choice has gaps')
  const observed = observe(planned, rows)
  if (observed.kind !== 'integers') throw new Error('a choice is among counts')
  const measurement = coarse(planned)
  const scores = observed.integers.flat()
  const gaps = Array.from({ length: 40 }, (_, gap) => BigInt(gap))
  const part = selections(measurement.candidates, 1).flatMap((order) =>
    gaps.map((gap) => noisyMaxLogMass(measurement, scores, order, [gap])),
  )
  return { kind: 'outcomes', parts: [part] }
}

function coarse({ measurement }: NoisyMaxPlan): NoisyMaxPlan['measurement'] {
  const { scale, fractionBits } = measurement
  const grain = 1n << BigInt(fractionBits)
  return { ...measurement, fractionBits: 0, scale: rational(scale.numerator, scale.denominator * grain) }
}

describe('sessions of the sparse vector technique', () => {
  /** Whole numbers of rows, so that every answer can be examined. */
  const session: SparseVectorMeasurement = {
    positives: 1,
    sensitivity: 1n,
    monotonic: true,
    fractionBits: 0,
    thresholdScale: 2n,
    questionScale: 2n,
    loss: NO_LOSS,
  }
  const REACH = 60

  /** The probability of every sequence of answers: all below, or above after some answers, with a gap. */
  function distribution(
    { thresholdScale, questionScale }: SparseVectorMeasurement,
    values: readonly number[],
  ) {
    const massOf = (scale: bigint) => {
      const masses = Array.from({ length: 4 * REACH + 1 }, (_, index) =>
        discreteLaplaceMass(BigInt(index - 2 * REACH), rational(scale, 1n)),
      )
      return (noise: number) => masses[noise + 2 * REACH] ?? 0
    }
    const [ofThreshold, ofQuestion] = [massOf(thresholdScale), massOf(questionScale)]
    const below = (limit: number) => {
      let sum = 0
      for (let noise = -2 * REACH; noise < limit; noise += 1) sum += ofQuestion(noise)
      return sum
    }
    const outcomes = new Map<string, number>()
    const add = (outcome: string, mass: number) => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + mass)
    for (let threshold = -REACH; threshold <= REACH; threshold += 1) {
      let mass = ofThreshold(threshold)
      for (const [question, value] of values.entries()) {
        for (let gap = 0; gap <= REACH; gap += 1)
          add(`${question} above by ${gap}`, mass * ofQuestion(threshold + gap - value))
        mass *= below(threshold - value)
      }
      add('below', mass)
    }
    return [...outcomes.values()].map(Math.log)
  }

  function share(measurement: SparseVectorMeasurement, moves: readonly number[]): number {
    const rho = rhoNumber(sparseVectorZeroConcentratedMap(measurement))
    const values = [-3, 0, -8]
    const one = distribution(measurement, values)
    const other = distribution(
      measurement,
      values.map((value, question) => value + (moves[question] ?? 0)),
    )
    return Math.max(
      ...ORDERS.flatMap((order) =>
        [renyiDivergenceOfOutcomes(one, other, order), renyiDivergenceOfOutcomes(other, one, order)].map(
          (divergence) => divergence / order / rho,
        ),
      ),
    )
  }

  test.each([
    [true, [1, 1, 1]],
    [true, [1, 0, 1]],
    [false, [1, -1, 1]],
    [false, [-1, 1, -1]],
  ])('monotonic %s, counts move by %j', (monotonic, moves) => {
    // The omitted mass is below 1e-12.
    expect(share({ ...session, monotonic }, moves)).toBeLessThanOrEqual(1 + 1e-9)
    expect(share({ ...session, monotonic }, moves)).toBeGreaterThan(0.02)
  })
})

describe('a mistake in a price in rho is detected', () => {
  const SUMS: Wire = { kind: 'mean', column: 'Income', epsilon: 1 }
  const TABLE: Wire = { kind: 'histogram', column: 'Sex', epsilon: 1 }
  const rivalry = (noise: string, k = 1): Wire => ({
    kind: 'noisyMax',
    candidates: RIVALS,
    noise,
    k,
    epsilon: 1,
  })

  test.each<readonly [string, string, string, string, readonly Wire[]]>([
    [
      'the first statistic only',
      'planner/measure.ts',
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
      'mechanisms/geometric.ts',
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
      'mechanisms/noisy-max.ts',
      'return pureRho(epsilonNano, k)',
      'return boundedRangeRho(epsilonNano, k)',
      [rivalry('exponential')],
    ],
    [
      "Laplace noise at the exponential mechanism's price",
      'mechanisms/noisy-max.ts',
      'return pureRho(epsilonNano)',
      'return boundedRangeRho(epsilonNano)',
      [rivalry('laplace')],
    ],
    [
      'k candidates at the price of one (Gumbel noise)',
      'mechanisms/noisy-max.ts',
      'return boundedRangeRho(epsilonNano, k)',
      'return boundedRangeRho(epsilonNano, k * k)',
      [rivalry('gumbel', 2)],
    ],
    [
      'the lesser price of all rounds, divided by their number',
      'privacy/zero-concentrated.ts',
      'return lesser(ofRange, pureRho(epsilonNano, rounds))',
      'return lesser(ofRange, rhoPico(pureRho(epsilonNano) / rounds))',
      [{ ...rivalry('gumbel', 2), epsilon: 60 }],
    ],
    [
      'one round at the price of a pure epsilon where there are several',
      'privacy/zero-concentrated.ts',
      '{ l1: rounds, l2Squared: rounds, lInfinity: 1n }',
      '{ l1: 1n, l2Squared: 1n, lInfinity: 1n }',
      ['gumbel', 'exponential'].map((noise) => ({ ...rivalry(noise, 2), epsilon: 60 })),
    ],
    [
      'half of the price of a pure epsilon, beyond the price of a bounded range',
      'privacy/zero-concentrated.ts',
      'lesser(ofRange, pureRho(epsilonNano, rounds))',
      'lesser(ofRange, pureRho(epsilonNano, 2n * rounds) / 2n)',
      [
        { ...rivalry('gumbel'), epsilon: 60 },
        { kind: 'median', column: 'Wealth', epsilon: 16 },
      ],
    ],
    [
      'a bounded range divided by sixteen',
      'privacy/zero-concentrated.ts',
      '8n * ONE_EPSILON_NANO',
      '16n * ONE_EPSILON_NANO',
      [rivalry('gumbel'), { kind: 'median', column: 'Balance', epsilon: 1 }],
    ],
    [
      'one percentile of three',
      'planner/kinds/quantile.ts',
      'rhoTogether(rhos)',
      'rhoTogether(rhos.slice(0, 1))',
      [{ kind: 'percentile', column: 'Balance', p: [20, 50, 62.5], epsilon: 1 }],
    ],
  ])('%s', async (_, file, find, replace, seenBy) => {
    const mistaken = await importPlanner([{ file, find, replace }])
    for (const wire of seenBy) {
      const shares = KINDS_OF_NEIGHBOURS.map((neighbours) =>
        largestShare(planner(wire, neighbours, mistaken), wire, neighbours),
      )
      expect(Math.max(...shares), JSON.stringify(wire)).toBeGreaterThan(1.05)
    }
  })

  function importPlanner(changes: readonly SourceChange[]): Promise<typeof plan> {
    return withChangedSource(
      changes,
      {},
      async (load) => (await load<{ plan: typeof plan }>('planner/plan.ts')).plan,
    )
  }
})

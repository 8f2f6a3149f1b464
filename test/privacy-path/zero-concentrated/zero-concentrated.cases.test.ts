import { describe, expect, test } from 'vitest'
import { discreteLaplaceMass } from '../../../src/core/mechanisms/samplers/discrete-laplace.ts'
import { noisyMaxRho } from '../../../src/core/mechanisms/selection/noisy-max.ts'
import {
  type SparseVectorMeasurement,
  sparseVectorRho,
} from '../../../src/core/mechanisms/selection/sparse-vector.ts'
import type { NoisyMaxPlan } from '../../../src/core/planner/plans/noisy-max.ts'
import type { Plan } from '../../../src/core/planner/plans/plan-kinds.ts'
import { NO_LOSS, rhoNumber } from '../../../src/privacy/loss.ts'
import type { Neighbours } from '../../../src/privacy/neighbours.ts'
import { rational } from '../../../src/privacy/rational.ts'
import { describeOnce, someOf } from '../../cases.ts'
import type { StoredRow } from '../../engines/reference-engine.ts'
import { type Distribution, noisyMaxLogMass, observe, selections } from '../distributions.ts'
import { pairsFor, planner } from '../examination.ts'
import { peoplePairsFor, peoplePlanner, queriesOfPeople } from '../people/people-queries.ts'
import { hasQuantiles, isTight, RIVALS, titleOf, WIRES, type Wire } from '../queries.ts'
import { KINDS_OF_NEIGHBOURS, largestShare, ORDERS } from './price-in-rho.ts'
import { renyiDivergenceOfOutcomes } from './renyi.ts'

/*
 * The price in rho of every kind of query: the Rényi divergence of the release, on every pair of tiny neighbouring
 * datasets, in both directions and at several orders, is at most the order times rho.
 */

/** Share of the price that some pair must spend, if it is known to be large. */
function expectedShare(wire: Wire, neighbours: Neighbours): number {
  const { kind, noise, epsilon, column, statistics } = wire
  const changeOne = neighbours === 'change-one'
  switch (kind) {
    case 'noisyMax':
      if (wire.candidates !== RIVALS) return 0
      if (noise === 'gumbel') return epsilon === 1 ? 0.91 : 0.84
      return noise === 'exponential' && epsilon === 60 ? 0.74 : 0
    case 'median':
    case 'percentile':
    case 'minimum':
    case 'maximum':
      if (column === 'Wealth' && epsilon === 16 && kind !== 'percentile') return 0.9
      return column === 'Balance' && epsilon === 1 && changeOne && kind !== 'minimum' && kind !== 'maximum'
        ? 0.76
        : 0
    default: {
      if (hasQuantiles(wire)) return 0
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

  test.each(someOf(priced).map((wire) => [titleOf(wire), wire] as const))('%s', (_, wire) => {
    const share = largestShare(planner(wire, neighbours), pairsFor(wire, neighbours))
    expect(share).toBeLessThanOrEqual(1 + 1e-9)
    expect(share).toBeGreaterThanOrEqual(expectedShare(wire, neighbours))
  })

  const ofPeople = queriesOfPeople(neighbours).filter(
    ({ wire }) => wire.kind !== 'keySelection' && wire.gap !== true,
  )
  test.each(someOf(ofPeople).map(({ wire, tight }) => [titleOf(wire), wire, tight] as const))(
    '%s, over people with several rows',
    (_, wire, tight) => {
      const planFor = peoplePlanner(wire, neighbours)
      const share = largestShare(planFor, peoplePairsFor(wire, neighbours))
      expect(share).toBeLessThanOrEqual(1 + 1e-9)
      const isTightSum = planFor(3).kind === 'additive' && (tight === 'both' || tight === neighbours)
      // Sums of both signs move farthest within a group, or in total between two.
      if (isTightSum) expect(share).toBeGreaterThanOrEqual(wire.kind === 'groupBy' ? 0.95 : 0.999)
    },
  )

  // On the fine grid of production there are too many gaps to examine each.
  test.each([
    { kind: 'noisyMax', candidates: { column: 'Sex' }, gap: true, epsilon: 1 },
    { kind: 'noisyMax', candidates: { column: 'Region' }, gap: true, epsilon: 2 },
  ])('with gaps on a coarse grid: $candidates.column', (wire) => {
    const planFor = planner(wire, neighbours)
    const share = largestShare(
      (units) => onCoarseGrid(planFor(units)),
      pairsFor(wire, neighbours),
      gapsOnCoarseGrid,
    )
    expect(share).toBeLessThanOrEqual(1 + 1e-9)
    expect(share).toBeGreaterThan(0.3)
  })

  test('undeclared keys have no price in rho', () => {
    for (const wire of WIRES.filter(({ kind }) => kind === 'keySelection'))
      expect(planner(wire, neighbours)(3).rho).toBeUndefined()
  })
})

/** The plan with noise of the same epsilon on the grid of the scores, at its own price. */
function onCoarseGrid(planned: Plan): NoisyMaxPlan {
  if (planned.kind !== 'noisy-max') throw new Error('only a choice has gaps')
  const { scale, fractionBits } = planned.measurement
  const grain = 1n << BigInt(fractionBits)
  const measurement = {
    ...planned.measurement,
    fractionBits: 0,
    scale: rational(scale.numerator, scale.denominator * grain),
  }
  return { ...planned, measurement, rho: noisyMaxRho(measurement) }
}

/** Gaps up to a distance beyond which the mass is negligible. */
function gapsOnCoarseGrid(planned: Plan, rows: readonly StoredRow[]): Distribution {
  if (planned.kind !== 'noisy-max') throw new Error('only a choice has gaps')
  const observed = observe(planned, rows)
  if (observed.kind !== 'integers') throw new Error('a choice is among counts')
  const { measurement } = planned
  const scores = observed.integers.flat()
  const gaps = Array.from({ length: 40 }, (_, gap) => BigInt(gap))
  const part = selections(measurement.candidates, 1).flatMap((order) =>
    gaps.map((gap) => noisyMaxLogMass(measurement, scores, order, [gap])),
  )
  return { kind: 'outcomes', parts: [part] }
}

describeOnce('sessions of the sparse vector technique', () => {
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
    const rho = rhoNumber(sparseVectorRho(measurement))
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

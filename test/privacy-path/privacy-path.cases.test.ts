import { describe, expect, test } from 'vitest'
import { QUERY_KINDS } from '../../schemas/answers/query.ts'
import { coversLoss, deltaFromWire, epsilonFromWire, epsilonNano } from '../../src/privacy/loss.ts'
import type { Neighbours } from '../../src/privacy/neighbours.ts'
import { someOf } from '../cases.ts'
import { aggregateRows } from '../engines/reference-engine.ts'
import { examine, examineWrong, expectViolations, pairsFor, planner } from './examination.ts'
import { isTight, RIVALS, SOME_ROWS, slackOf, titleOf, WIRES, type Wire } from './queries.ts'
import { widePairs } from './tiny-datasets.ts'
import {
  withCountsPublic,
  withMonotonicScores,
  withSensitivitiesFarTooSmall,
  withSensitivitiesTooSmall,
} from './wrong-plans.ts'

/*
 * The whole path of every kind of query, from rows to the release: the distribution of the release on every pair of
 * tiny neighbouring datasets, and a check that the charged price covers the privacy loss between the two distributions.
 */

const KINDS_OF_NEIGHBOURS = ['add-remove', 'change-one'] as const

test('every kind of query is tested', () => {
  // Rows that are units have no profile; people.cases.test.ts examines it.
  const ofRows = QUERY_KINDS.filter((kind) => kind !== 'contributionProfile')
  expect(new Set(WIRES.map(({ kind }) => kind))).toEqual(new Set(ofRows))
})

describe.each(KINDS_OF_NEIGHBOURS)('under %s', (neighbours) => {
  test.each(someOf(WIRES).map((wire) => [titleOf(wire), wire] as const))('%s', (_, wire) => {
    const planFor = planner(wire, neighbours)
    const pairs = pairsFor(wire, neighbours)
    const { share, violation, pairs: looked } = examine(planFor, pairs)
    expect(violation, `spends ${share} of its price`).toBeUndefined()

    if (typeof wire.epsilon === 'number') {
      const offered = {
        epsilonNano: epsilonFromWire(wire.epsilon, 'epsilon'),
        deltaAtto: deltaFromWire(Number(wire.delta ?? 0), 'delta'),
      }
      expect(coversLoss(offered, planFor(3).loss), 'costs more than was offered').toBe(true)
    }

    if (neighbours === 'change-one' && wire.kind === 'count' && wire.where === undefined) {
      // The number of rows is public, so nothing depends on it.
      expect(looked).toBe(0)
    } else if (isTight(wire, neighbours)) {
      expect(share).toBeGreaterThan(1 - slackOf(wire))
      expectViolations(planFor, pairs, withSensitivitiesTooSmall)
      const understated = examine(planFor, pairs, ({ loss }) => ({
        ...loss,
        epsilonNano: epsilonNano((loss.epsilonNano * 99n) / 100n),
      }))
      expect(understated.violation, 'a price that is 1% too low went unseen').toBeDefined()
    } else if (wire.kind === 'keySelection') {
      expectViolations(planFor, pairs, withSensitivitiesTooSmall)
    } else if (planFor(3).kind === 'additive') {
      expectViolations(planFor, pairs, withSensitivitiesFarTooSmall)
    }
  })

  // A price may hide a sensitivity that is too large, or one that is too small if the other statistics spend less. This
  // test does not.
  test('some pair moves each statistic by exactly its sensitivity, in every norm, and no pair by more', () => {
    for (const wire of WIRES) {
      const planFor = planner(wire, neighbours)
      const planned = planFor(3)
      if (planned.kind !== 'additive' || wire.mechanism === 'gaussian') continue
      const everyRowCounted = neighbours === 'change-one' && wire.kind === 'count' && wire.where === undefined
      if (everyRowCounted) continue
      const moved = planned.measurements.map(() => ({ l0: 0n, l1: 0n, l2Squared: 0n, lInfinity: 0n }))
      for (const { one, other } of widePairs[neighbours].flatMap(({ pairs }) => pairs)) {
        const [here, there] = [aggregateRows(planned.aggregate, one), aggregateRows(planned.aggregate, other)]
        for (const [statistic, most] of moved.entries()) {
          const distances = (here[statistic] ?? [])
            .map((value, cell) => value - (there[statistic]?.[cell] ?? 0n))
            .map((difference) => (difference < 0n ? -difference : difference))
          const sum = (terms: readonly bigint[]) => terms.reduce((total, term) => total + term, 0n)
          const larger = (a: bigint, b: bigint) => (a > b ? a : b)
          most.l0 = larger(most.l0, BigInt(distances.filter((distance) => distance > 0n).length))
          most.l1 = larger(most.l1, sum(distances))
          most.l2Squared = larger(most.l2Squared, sum(distances.map((distance) => distance ** 2n)))
          most.lInfinity = distances.reduce(larger, most.lInfinity)
        }
      }
      expect(moved, titleOf(wire)).toEqual(planned.measurements.map(({ sensitivity }) => sensitivity))
    }
  })

  test.each(
    WIRES.filter(({ kind }) => ['mean', 'variance', 'standardDeviation', 'groupBy'].includes(kind))
      .filter((wire) => {
        const planned = planner(wire, neighbours)(3)
        return (
          planned.kind === 'additive' &&
          planned.estimates.some(
            (each) => 'rows' in each && typeof each.rows === 'object' && each.rows.kind === 'noisy',
          )
        )
      })
      .map((wire) => [titleOf(wire), wire] as const),
  )('%s: treating the number of rows as public is detected', (_, wire) => {
    expect(
      examineWrong(planner(wire, neighbours), pairsFor(wire, neighbours), withCountsPublic).violation,
    ).toBeDefined()
  })
})

test.each(
  WIRES.filter(
    ({ kind, candidates, epsilon }) => kind === 'noisyMax' && candidates === RIVALS && epsilon === 60,
  ).map((wire) => [titleOf(wire), wire] as const),
)('%s: treating scores as monotonic under change-one is detected', (_, wire) => {
  expect(
    examineWrong(planner(wire, 'change-one'), pairsFor(wire, 'change-one'), withMonotonicScores).violation,
  ).toBeDefined()
})

/** Queries that cost more under the other kind of neighbours. */
const DEPENDENT: readonly (readonly [Neighbours, Wire])[] = [
  ['add-remove', { kind: 'sum', column: 'Balance' }],
  ['add-remove', { kind: 'sum', column: 'Balance', mechanism: 'gaussian', delta: 1e-6 }],
  ['add-remove', { kind: 'proportion', of: SOME_ROWS, where: { column: 'Sex', op: '=', value: 'F' } }],
  ['add-remove', { kind: 'histogram', column: 'Sex' }],
  ['add-remove', { kind: 'histogram', column: 'Sex', mechanism: 'gaussian', delta: 1e-6 }],
  ['add-remove', { kind: 'contingency', columns: ['Sex', 'Region'] }],
  ['add-remove', { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'variance', column: 'Age' }] }],
  ['add-remove', { kind: 'noisyMax', candidates: { column: 'Sex' } }],
  ['add-remove', { kind: 'noisyMax', candidates: { column: 'Sex' }, gap: true }],
  ['add-remove', { kind: 'noisyMax', candidates: { column: 'Sex' }, noise: 'gumbel' }],
  ['add-remove', { kind: 'median', column: 'Wealth', epsilon: 16 }],
  ['add-remove', { kind: 'percentile', column: 'Wealth', p: 75, epsilon: 16 }],
  ['add-remove', { kind: 'keySelection', column: 'Note', delta: 0.1 }],
  ['add-remove', { kind: 'keySelection', column: 'Note', delta: 1e-5, counts: true }],
  ['change-one', { kind: 'sum', column: 'Age' }],
  ['change-one', { kind: 'sum', column: 'Age', mechanism: 'gaussian', delta: 1e-6 }],
]

test.each(
  DEPENDENT.map(([neighbours, wire]) => ({
    neighbours,
    title: titleOf(wire),
    wire: { epsilon: 1, ...wire },
  })),
)('$title: the plan for $neighbours fails for the other neighbours', ({ neighbours, wire }) => {
  const [one, other] = KINDS_OF_NEIGHBOURS
  const others = neighbours === one ? other : one
  expect(examine(planner(wire, neighbours), pairsFor(wire, neighbours)).violation).toBeUndefined()
  expect(examine(planner(wire, neighbours), pairsFor(wire, others)).violation).toBeDefined()
})

import { describe, expect, test } from 'vitest'
import { discreteLaplaceMass } from '../../../src/core/mechanisms/samplers/discrete-laplace.ts'
import type { AdditivePlan } from '../../../src/core/planner/additive/shape.ts'
import { planKindOf } from '../../../src/core/planner/plans/plan-kinds.ts'
import { informedAdversaryRisk } from '../../../src/privacy/informed-adversary.ts'
import { aggregateRows, type StoredRow } from '../../engines/reference-engine.ts'
import { SOME_ROWS, titleOf, type Wire } from '../queries.ts'
import { peoplePairs } from '../tiny-datasets.ts'
import { peoplePlanner } from './people-queries.ts'

/*
 * The disclosure risk that previews state, against the best guess: an adversary knows everyone but one person, and
 * computes from the noisy answer how likely each candidate is to be that person, with all rows.
 */

const GEOMETRIC = { mechanism: 'geometric', epsilon: 1 }

/** The flag tells if some two candidates are as far apart as any two people can be. */
const ASKED: readonly (readonly [Wire, reached: boolean])[] = [
  [{ kind: 'count', where: SOME_ROWS, ...GEOMETRIC }, true],
  [{ kind: 'count', where: SOME_ROWS, contribution: { rows: 1 }, ...GEOMETRIC }, true],
  [{ kind: 'count', of: 'people', where: SOME_ROWS, ...GEOMETRIC }, true],
  [{ kind: 'sum', column: 'Age', where: SOME_ROWS, ...GEOMETRIC }, true],
  [
    {
      kind: 'sum',
      column: 'Age',
      contribution: { rows: 2, perPerson: { lower: 2, upper: 6 } },
      ...GEOMETRIC,
    },
    true,
  ],
  [{ kind: 'mean', column: 'Age', perPerson: 'count', where: SOME_ROWS, ...GEOMETRIC }, false],
]

/** Every person as the only one whom the adversary does not know; the others do not change the comparison. */
const CANDIDATES: readonly (readonly StoredRow[])[] = [
  ...new Set(
    peoplePairs['add-remove']
      .filter(({ units }) => units === 1)
      .flatMap(({ pairs }) => pairs.map(({ one }) => one)),
  ),
]

/** The largest probability of any of the candidates after any answer, if all are equally likely before. */
function bestGuess(plan: AdditivePlan, candidates: readonly (readonly StoredRow[])[]): number {
  const integers = candidates.map((rows) => aggregateRows(plan.aggregate, rows).map(([value = 0n]) => value))
  // A candidate's share of the masses is largest at its own value or beyond all values.
  const answers = plan.measurements.map((_, place) => {
    const values = integers.map((each) => each[place] ?? 0n)
    const span = 40n
    return [...new Set(values.flatMap((value) => [value - span, value, value + span]))]
  })
  const joint = answers.reduce<readonly (readonly bigint[])[]>(
    (all, each) => all.flatMap((answer) => each.map((value) => [...answer, value])),
    [[]],
  )
  const massOf = (values: readonly bigint[], answer: readonly bigint[]) =>
    plan.measurements.reduce((mass, { noise, fractionBits }, place) => {
      if (noise.kind !== 'discrete-laplace' || fractionBits !== 0) throw new Error('geometric noise')
      return mass * discreteLaplaceMass((answer[place] ?? 0n) - (values[place] ?? 0n), noise.scale)
    }, 1)
  return joint.reduce((best, answer) => {
    const masses = integers.map((values) => massOf(values, answer))
    return Math.max(best, Math.max(...masses) / masses.reduce((sum, mass) => sum + mass, 0))
  }, 0)
}

describe.each(['add-remove', 'change-one'] as const)('under %s', (neighbours) => {
  test.each(ASKED.map(([wire, reached]) => [titleOf(wire), wire, reached] as const))(
    '%s: no guess about a person is better than the stated risk',
    (_, wire, reached) => {
      const plan = peoplePlanner(wire, neighbours)(1)
      if (plan.kind !== 'additive') throw new Error('sums and counts')
      const loss = planKindOf(plan).replacementLoss(plan)
      const riskOf = (candidates: number) => informedAdversaryRisk(loss, candidates)
      expect(bestGuess(plan, CANDIDATES)).toBeLessThanOrEqual(riskOf(CANDIDATES.length) + 1e-12)
      const ofTwo = CANDIDATES.flatMap((one, place) =>
        CANDIDATES.slice(0, place).map((other) => bestGuess(plan, [one, other])),
      )
      expect(Math.max(...ofTwo)).toBeLessThanOrEqual(riskOf(2) + 1e-12)
      if (reached) expect(Math.max(...ofTwo)).toBeGreaterThan(riskOf(2) - 1e-9)
    },
  )
})

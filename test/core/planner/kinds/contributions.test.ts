import { describe, expect, test } from 'vitest'
import { query as querySchema } from '../../../../schemas/answers/query.ts'
import { addNoise } from '../../../../src/core/mechanisms/measurement.ts'
import { systemEntropy } from '../../../../src/core/mechanisms/samplers/entropy.ts'
import { normalForm } from '../../../../src/core/planner/identity/normal-form.ts'
import { bandsOf } from '../../../../src/core/planner/kinds/contribution-profile/bands.ts'
import { contributionsAt } from '../../../../src/core/planner/kinds/contribution-profile/candidates.ts'
import { plan } from '../../../../src/core/planner/plan.ts'
import { measuredAccuracy, reporter } from '../../../../src/core/planner/report.ts'
import { entry } from '../../../../src/privacy/must.ts'
import type { Neighbours } from '../../../../src/privacy/neighbours.ts'
import { patients } from '../neighbours/people.ts'
import { LIMITS, planFor } from '../planned.ts'

/* A profile of people recommends the `rows` of a contribution, from its noisy counts alone. */

const UNIT = { kind: 'person', column: 'Patient', maxRows: 100, plausibleRows: 1_000 } as const
const datasetOf = (neighbours: Neighbours) => ({ ...patients(neighbours), privacyUnit: UNIT })

/** Patients of whom most have few rows and some have hundreds. */
const ROWS = Array.from({ length: 20_000 }, (_, patient) => Math.max(1, Math.round(800 / (1 + patient / 25))))
const leftOutBy = (most: number) => ROWS.reduce((sum, rows) => sum + Math.max(0, rows - most), 0)

function contributions(nextEpsilon: number, neighbours: Neighbours = 'add-remove', epsilon = 0.5) {
  const asked = querySchema.parse({ kind: 'contributionProfile', nextEpsilon, epsilon })
  const planned = planFor('additive', plan(asked, datasetOf(neighbours), LIMITS))
  const counts = bandsOf(UNIT).map(({ lower, upper = Number.POSITIVE_INFINITY }) =>
    BigInt(ROWS.filter((rows) => lower <= rows && rows <= upper).length),
  )
  const noisy = [addNoise(entry(planned.measurements, 0), counts, systemEntropy())]
  const { result } = reporter(planned)({ kind: 'additive', noisy })
  if (!('cells' in result) || result.contributions === undefined) throw new Error('a profile weighs bounds')
  return { weighed: result.contributions, planned }
}

describe.each<Neighbours>(['add-remove', 'change-one'])('under %s', (neighbours) => {
  test('the noise of a bound is that of a preview of a count', () => {
    for (const { rows, noise } of contributions(0.2, neighbours).weighed.candidates) {
      const wire = { kind: 'count', contribution: { rows }, epsilon: 0.2 }
      const { halfWidth } = measuredAccuracy(plan(querySchema.parse(wire), datasetOf(neighbours), LIMITS))
      // The preview states a whole number.
      expect(Math.abs(noise - Number(halfWidth))).toBeLessThan(1 + 0.03 * noise)
    }
  })

  test('the profile moves by one person or, if one is replaced, by two', () => {
    const { planned } = contributions(0.2, neighbours)
    expect(planned.measurements[0]?.sensitivity.l1).toBe(neighbours === 'add-remove' ? 1n : 2n)
  })
})

test('what a bound leaves out is within its interval, in nearly all profiles', () => {
  let [missed, all] = [0, 0]
  for (let run = 0; run < 30; run += 1) {
    for (const { rows, leftOut } of contributions(0.2).weighed.candidates) {
      all += 1
      if (leftOutBy(rows) < leftOut.lower || leftOutBy(rows) > leftOut.upper) missed += 1
    }
  }
  expect(missed / all).toBeLessThan(0.15)
})

test('the recommended bound has nearly the least error, which moves with the epsilon of the next question', () => {
  const totalOf = (rows: number, noise: number) => noise + leftOutBy(rows)
  const chosen = [0.0005, 0.02, 1].map((nextEpsilon) => {
    const { candidates, recommended } = contributions(nextEpsilon).weighed
    const totals = candidates.map(({ rows, noise }) => totalOf(rows, noise))
    const { rows, noise } = candidates.find((each) => each.rows === recommended.rows) ?? expect.fail()
    expect(totalOf(rows, noise)).toBeLessThan(1.2 * Math.min(...totals) + 500)
    return rows
  })
  expect(chosen).toEqual(chosen.toSorted((one, other) => one - other))
  expect(chosen[0]).toBeLessThan(Number(chosen[2]))
  // Beyond `maxRows` no bound reaches.
  expect(chosen[2]).toBe(UNIT.maxRows)
})

test('another epsilon of the next question is the same question', () => {
  const one = contributions(0.02)
  expect(normalForm(one.planned)).toEqual(normalForm(contributions(1).planned))
  const again = contributionsAt(one.weighed, 1)
  expect(again.nextEpsilon).toBe(1)
  expect(again.candidates.map(({ leftOut }) => leftOut)).toEqual(
    one.weighed.candidates.map(({ leftOut }) => leftOut),
  )
  expect(contributionsAt(again, 0.02).recommended).toEqual(one.weighed.recommended)
})

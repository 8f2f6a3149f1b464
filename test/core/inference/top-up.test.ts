import { describe, expect, test } from 'vitest'
import type { Dataset } from '../../../src/core/dataset/dataset.ts'
import type { PaidRelease } from '../../../src/core/inference/infer.ts'
import { planTopUp } from '../../../src/core/inference/top-up.ts'
import { priceOf } from '../../../src/core/planner/price/price.ts'
import { amountNumbers } from '../../../src/privacy/accounting.ts'
import { people } from '../planner/neighbours/people.ts'
import { LIMITS } from '../planner/planned.ts'
import { exactRelease, inferred, planned } from './inferred.ts'

const underBasic = people('add-remove')
const underZcdp: Dataset = { ...underBasic, accounting: 'zcdp' }
const GAUSSIAN = { mechanism: 'gaussian', delta: 1e-6 }

/** The prices of a paid release, of a fresh answer and of what is lacking to its precision. */
function prices(paid: object, asked: object, dataset: Dataset) {
  const releases = [exactRelease(paid, dataset, [], 'paid')]
  const target = planned(asked, dataset)
  const lacking = planTopUp(target, inferred(target, releases), releases, LIMITS)
  const priceIn = (plan: Parameters<typeof priceOf>[0]) => {
    const price: Readonly<Record<string, number>> = amountNumbers(priceOf(plan, dataset.accounting))
    return price[dataset.accounting === 'zcdp' ? 'rho' : 'epsilon'] ?? Number.NaN
  }
  return {
    paid: priceIn(releases[0]?.plan ?? target),
    fresh: priceIn(target),
    lacking: lacking === undefined ? 0 : priceIn(lacking),
  }
}

describe('a paid answer at twice its precision', () => {
  test.each(['laplace', 'geometric'])('costs 2.73 times the first epsilon in total: %s', (mechanism) => {
    const { paid, lacking } = prices(
      { kind: 'count', epsilon: 0.1, mechanism },
      { kind: 'count', epsilon: 0.2, mechanism },
      underBasic,
    )
    expect((paid + lacking) / paid).toBeCloseTo(1 + Math.sqrt(3), 2)
  })

  test('costs the difference in rho, with Gaussian noise under zCDP', () => {
    for (const [first, second] of [
      [0.1, 0.2],
      [0.3, 0.35],
      [0.05, 1],
    ]) {
      const { paid, lacking, fresh } = prices(
        { kind: 'count', epsilon: first, ...GAUSSIAN },
        { kind: 'count', epsilon: second, ...GAUSSIAN },
        underZcdp,
      )
      expect(lacking).toBeGreaterThanOrEqual((fresh - paid) * (1 - 1e-6))
      // The epsilon that is lacking has four digits.
      expect(lacking).toBeLessThan((fresh - paid) * (1 + 2e-3))
    }
  })

  test('costs nothing that has been paid for', () => {
    const { lacking } = prices({ kind: 'count', epsilon: 0.2 }, { kind: 'count', epsilon: 0.2 }, underBasic)
    expect(lacking).toBe(0)
  })
})

describe('an accuracy', () => {
  const kinds = [
    ['laplace', GAUSSIAN],
    ['gaussian', { mechanism: 'laplace' }],
    ['laplace', { mechanism: 'laplace' }],
  ] as const
  test.each(kinds)('is reached from %s noise, for less than a fresh answer', (mechanism, asked) => {
    const target = planned({ kind: 'count', accuracy: { halfWidth: 30 }, ...asked }, underZcdp)
    // Variances about that of the fresh answer, with which the half-width is not reached in every case.
    for (const halfWidth of [27, 29.5, 30, 30.5, 31.5, 32.5, 35, 60, 300]) {
      const paid = { kind: 'count', accuracy: { halfWidth }, mechanism }
      const releases: PaidRelease[] = [
        exactRelease(mechanism === 'gaussian' ? { ...paid, delta: 1e-6 } : paid, underZcdp, [], 'paid'),
      ]
      const known = inferred(target, releases)
      const lacking = planTopUp(target, known, releases, LIMITS)
      if (lacking === undefined) {
        expect(known.report.accuracy.halfWidth).toBeLessThanOrEqual(30)
        continue
      }
      expect(lacking.loss.epsilonNano).toBeLessThanOrEqual(target.loss.epsilonNano)
      const together = inferred(target, [{ id: 'lacking', plan: lacking, integers: [[0n]] }, ...releases])
      expect(together.report.accuracy.halfWidth, `${halfWidth}`).toBeLessThanOrEqual(30)
    }
  })
})

import { describe, expect, test } from 'vitest'
import { type Plan, planKindOf } from '../../../../src/core/planner/plans/plan-kinds.ts'
import { epsilonNumber, lossOfTwoSteps, NO_LOSS } from '../../../../src/privacy/loss.ts'
import { planOf } from '../planned.ts'
import { people } from './people.ts'

const where = { column: 'Sex', op: '=', value: 'M' }
const replacementLoss = (planned: Plan) => planKindOf(planned).replacementLoss(planned)
const epsilonOf = (wire: object, neighbours: 'add-remove' | 'change-one' = 'add-remove') =>
  epsilonNumber(replacementLoss(planOf({ epsilon: 1, ...wire }, neighbours)).epsilonNano)

describe('the loss between datasets that differ by one row replaced', () => {
  test.each([
    ['a count moves by one, as for an added row', { kind: 'count', where }, 1],
    ['a table moves in two cells', { kind: 'histogram', column: 'Region' }, 2],
    ['a best candidate costs two steps', { kind: 'noisyMax', candidates: { column: 'Region' } }, 2],
    ['a quantile costs two steps', { kind: 'median', column: 'Age' }, 2],
  ])('%s', (_, wire, expected) => {
    expect(epsilonOf(wire)).toBeCloseTo(expected, 8)
  })

  test('a sum moves by its range, which includes 0 if a row may be excluded', () => {
    const { columns } = people('add-remove')
    for (const column of columns) {
      if (column.type !== 'integer' && column.type !== 'number') continue
      const [lower, upper] = [Number(column.lowerIndex), Number(column.upperIndex)]
      const span = Math.max(upper, 0) - Math.min(lower, 0)
      const largest = Math.max(Math.abs(lower), Math.abs(upper))
      expect(epsilonOf({ kind: 'sum', column: column.name, where })).toBeCloseTo(span / largest, 6)
    }
  })

  test('is the price if neighbours differ by a replaced row', () => {
    expect(epsilonOf({ kind: 'histogram', column: 'Region' }, 'change-one')).toBe(1)
  })

  test('is two steps with a delta, and never more than two', () => {
    const gaussian = planOf({ kind: 'count', epsilon: 1, delta: 1e-6, mechanism: 'gaussian' })
    expect(replacementLoss(gaussian)).toEqual(lossOfTwoSteps(gaussian.loss))
    for (const kind of ['mean', 'variance', 'standardDeviation']) {
      const epsilon = epsilonOf({ kind, column: 'Age' })
      expect(epsilon).toBeGreaterThanOrEqual(1)
      expect(epsilon).toBeLessThanOrEqual(2 + 1e-8)
    }
  })
})

describe('two steps', () => {
  test('double epsilon, and delta grows by e^epsilon, rounded up', () => {
    const plan = planOf({ kind: 'count', epsilon: 2, delta: 1e-6, mechanism: 'gaussian' })
    const { epsilonNano, deltaAtto } = lossOfTwoSteps(plan.loss)
    expect(epsilonNano).toBe(4_000_000_000n)
    const exact = 1e-6 * (1 + Math.exp(2))
    expect(Number(deltaAtto) / 1e18).toBeGreaterThanOrEqual(exact)
    expect(Number(deltaAtto) / 1e18).toBeLessThan(exact * (1 + 1e-11))
    expect(lossOfTwoSteps(NO_LOSS)).toEqual(NO_LOSS)
  })

  test('limit delta to 1', () => {
    const plan = planOf({ kind: 'count', epsilon: 800, delta: 1e-6, mechanism: 'gaussian' })
    expect(lossOfTwoSteps(plan.loss).deltaAtto).toBe(10n ** 18n)
  })
})

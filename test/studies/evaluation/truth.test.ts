import { expect, test } from 'vitest'
import { accuracyReport } from '../../../src/core/planner/report.ts'
import { evaluate } from '../../../src/studies/evaluation/evaluation.ts'
import { planOf } from '../../core/planner/planned.ts'
import { QUANTILE_CONTRACT, TRUTH_CONTRACT } from './contract/truth.ts'
import { estimates, numbersOf, taped } from './evaluated.ts'

test.each([...TRUTH_CONTRACT, ...QUANTILE_CONTRACT])('$name', ({ check }) => check({ evaluate }))

test.each([
  // With a public number of rows, the error is the noise of one sum or count; but means and shares are clamped.
  [{ kind: 'mean', column: 'Age' }, -3_000n, 45, null],
  [{ kind: 'proportion', of: { column: 'Age', op: '<', value: 18 } }, 30n, 0.3, null],
  [{ kind: 'count', postprocess: { round: true } }, 30n, 30, null],
  [{ kind: 'sum', column: 'Age' }, 30n, 30, 0],
])('a public number of rows: %j', async (wire, integer, truth, bias) => {
  const planned = planOf({ ...wire, mechanism: 'geometric', epsilon: 0.5 }, 'change-one')
  const stated = accuracyReport(planned).expectedAbsoluteError
  const { values } = numbersOf(
    await evaluate(
      { plan: planned, exact: estimates([integer]) },
      { runs: 1, shown: 0, noiseSource: taped() },
    ),
  )
  expect(stated).toBeGreaterThan(0)
  expect(values[0]).toMatchObject({
    truth,
    meanAbsoluteError: { theoretical: stated, theoreticalBound: null },
    bias: { theoretical: bias },
  })
})

import { expect, test } from 'vitest'
import { requireSynthetic } from '../../../src/core/dataset/dataset.ts'
import { people } from '../planner/neighbours/people.ts'

test('true values and unpaid answers are available for synthetic datasets only', () => {
  const dataset = people('add-remove')
  expect(() => requireSynthetic(dataset)).not.toThrow()
  expect(() => requireSynthetic({ ...dataset, synthetic: false })).toThrow(
    expect.objectContaining({ code: 'not-synthetic' }),
  )
})

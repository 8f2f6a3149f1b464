import { expect, test } from 'vitest'
import { requireSynthetic } from '../../src/catalog/dataset.ts'
import { people } from '../planner/people.ts'

test('true values and unpaid answers are available for synthetic datasets only', () => {
  const dataset = people('add-remove')
  expect(() => requireSynthetic(dataset)).not.toThrow()
  expect(() => requireSynthetic({ ...dataset, synthetic: false })).toThrow(
    expect.objectContaining({ code: 'not-synthetic' }),
  )
})

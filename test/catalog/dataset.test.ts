import { expect, test } from 'vitest'
import { requireSynthetic } from '../../src/catalog/dataset.ts'
import { people } from '../planner/people.ts'

test('only of made-up people are truths and unpaid answers to be had', () => {
  const dataset = people('add-remove')
  expect(() => requireSynthetic(dataset)).not.toThrow()
  expect(() => requireSynthetic({ ...dataset, synthetic: false })).toThrow(
    expect.objectContaining({ code: 'not-synthetic' }),
  )
})

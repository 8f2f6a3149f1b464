import { expect, test } from 'vitest'
import { query } from '../../schemas/answers/query.ts'
import { didYouMean } from '../../src/privacy/did-you-mean.ts'

test.each([
  ['age', ['Age', 'Sex'], 'Age'],
  ['Ocupation', ['Occupation', 'Earnings'], 'Occupation'],
  ['meddian', ['mean', 'median'], 'median'],
])('suggests the nearest known text for %s', (wrong, known, nearest) => {
  expect(didYouMean(wrong, known)).toBe(` (did you mean "${nearest}"?)`)
})

test('suggests nothing that is far, and compares no long text', () => {
  expect(didYouMean('height', ['Age', 'Sex'])).toBe('')
  expect(didYouMean('A'.repeat(65), ['A'.repeat(64)])).toBe('')
})

test('a refused kind of query names the nearest one', () => {
  const { error } = query.safeParse({ kind: 'histogramm', epsilon: 1 })
  expect(error?.issues[0]?.message).toMatch(/^must be one of .* \(did you mean "histogram"\?\)$/)
})

import { expect, test } from 'vitest'
import {
  bestRanges,
  type Comparison,
  INITIAL_COMPARISON,
  lineOf,
  requestOf,
} from '../../../console/src/pages/mechanisms/comparison.ts'
import { comparisonRequest } from '../../../schemas/studies/mechanisms.ts'

const noise = (error: number) => ({
  scale: error,
  standardDeviation: error,
  expectedAbsoluteError: error,
  halfWidth: error,
})

const rows = [1, 2, 3].map((statistics) => {
  const winner = statistics < 3 ? 'laplace' : 'analytic-gaussian'
  return {
    statistics,
    noise: { laplace: noise(statistics), 'analytic-gaussian': noise(2) },
    best: { standardDeviation: winner, expectedAbsoluteError: winner, halfWidth: 'laplace' },
  }
})
const comparison = { rows } as unknown as Comparison

test('the mechanism with the smallest error is stated by ranges of the number of statistics', () => {
  expect(bestRanges(comparison, 'standardDeviation')).toEqual([
    { mechanism: 'laplace', from: 1, to: 2 },
    { mechanism: 'analytic-gaussian', from: 3, to: 3 },
  ])
  expect(bestRanges(comparison, 'halfWidth')).toEqual([{ mechanism: 'laplace', from: 1, to: 3 }])
})

test('a mechanism that does not apply has no line', () => {
  expect(lineOf(comparison, 'laplace', 'halfWidth')).toEqual([1, 2, 3].map((each) => ({ x: each, y: each })))
  expect(lineOf(comparison, 'geometric', 'halfWidth')).toEqual([])
})

test('the initial state is a request that the service accepts', () => {
  expect(comparisonRequest.safeParse(requestOf(INITIAL_COMPARISON)).error).toBeUndefined()
})

import { expect, test } from 'vitest'
import { formatAmount, formatDelta, formatSpent, smallerOf } from '../../console/src/format/amount.ts'
import { formatEstimate, formatHalfWidth, formatRisk } from '../../console/src/format/number.ts'

test.each([
  [0, '0'],
  [0.001, '0.001'],
  [1e-5, '1\u00a0×\u00a010⁻⁵'],
  [2.5e-13, '2.5\u00a0×\u00a010⁻¹³'],
])('a delta of %d is written %s', (delta, text) => {
  expect(formatDelta(delta)).toBe(text)
})

test('an amount names its unit, and a price is never rounded', () => {
  expect(formatAmount({ epsilon: 0.123456789, delta: 0 })).toBe('epsilon 0.123456789')
  expect(formatAmount({ epsilon: 1_000, delta: 1e-6 })).toBe('epsilon 1,000, delta 1\u00a0×\u00a010⁻⁶')
  expect(formatAmount({ rho: 0.000000000001 })).toBe('rho 0.000000000001')
  expect(formatSpent({ rho: 0.5 }, { rho: 2 })).toBe('0.5 of 2 rho spent')
})

test('what a person may spend is the smaller of two amounts', () => {
  const [small, large] = [
    { epsilon: 0.5, delta: 0 },
    { epsilon: 2, delta: 1e-6 },
  ] as const
  expect(smallerOf(small, large)).toBe(small)
  expect(smallerOf(large, small)).toBe(small)
})

test.each([
  [0.0123456, '0.012'],
  [29.4, '29'],
  [12_345.6, '12,346'],
])('the half-width %d has the digits that matter: %s', (halfWidth, text) => {
  expect(formatHalfWidth(halfWidth)).toBe(text)
})

test.each([
  [1_234_567, undefined, '1,234,567'],
  [1_234.56789, undefined, '1,234.57'],
  [1_234.56789, 0.034, '1,234.568'],
  [41.23456, 12, '41'],
  [41.23456, 1.2, '41.2'],
  [-0.5, 0, '-0.5'],
])('the estimate %d with the half-width %d is written %s', (value, halfWidth, text) => {
  expect(formatEstimate(value, halfWidth)).toBe(text)
})

test('a bound on a probability is rounded up', () => {
  expect(formatRisk(0.73101)).toBe('73.2%')
  expect(formatRisk(0.525)).toBe('52.5%')
})

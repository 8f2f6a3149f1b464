import { expect, test } from 'vitest'
import {
  addLoss,
  coversLoss,
  deltaFromWire,
  deltaNumber,
  epsilonFromWire,
  epsilonNumber,
  lossNumbers,
  NO_LOSS,
  rhoNumber,
  rhoPico,
  subtractLoss,
} from '../../src/privacy/loss.ts'
import { Refusal } from '../../src/privacy/refusal.ts'

const loss = (epsilon: number, delta = 0) => ({
  epsilonNano: epsilonFromWire(epsilon, 'epsilon'),
  deltaAtto: deltaFromWire(delta, 'delta'),
})

function ruleOf(action: () => unknown): string {
  try {
    action()
  } catch (error) {
    if (error instanceof Refusal) return error.message
    throw error
  }
  throw new Error('nothing was refused')
}

test.each([
  [0, 'greater than 0'],
  [-1, 'greater than 0'],
  [Number.NaN, 'greater than 0'],
  [1e-12, '9 fractional digits'],
  [0.1234567891, '9 fractional digits'],
  [1000.5, 'at most 1000'],
  [Number.POSITIVE_INFINITY, 'at most 1000'],
])('an epsilon of %s is refused: %s', (epsilon, rule) => {
  expect(ruleOf(() => epsilonFromWire(epsilon, 'epsilon'))).toContain(rule)
})

test.each([
  [1, 'below 1'],
  [-1e-9, 'at least 0'],
  [1.5, 'below 1'],
  [Number.NaN, 'at least 0'],
  [1e-19, '18 fractional digits'],
])('a delta of %s is refused: %s', (delta, rule) => {
  expect(ruleOf(() => deltaFromWire(delta, 'delta'))).toContain(rule)
})

test('losses add up without rounding: 0.1 and 0.2 leave exactly 0.7 of 1', () => {
  const spent = addLoss(loss(0.1), loss(0.2))
  expect(epsilonNumber(subtractLoss(loss(1), spent).epsilonNano)).toBe(0.7)
})

test('the smallest amounts are whole units', () => {
  expect(loss(1e-9).epsilonNano).toBe(1n)
  expect(loss(1, 1e-18).deltaAtto).toBe(1n)
  expect(deltaNumber(loss(1, 1e-5).deltaAtto)).toBe(1e-5)
})

test('a loss is covered only if epsilon and delta both are', () => {
  expect(coversLoss(loss(1, 1e-5), loss(1, 1e-5))).toBe(true)
  expect(coversLoss(loss(1, 1e-5), loss(0.5, 1.1e-5))).toBe(false)
  expect(coversLoss(loss(1, 1e-5), loss(1.000000001))).toBe(false)
})

test('subtracting a loss from zero loss is refused', () => {
  expect(() => subtractLoss(NO_LOSS, loss(1))).toThrow(RangeError)
  expect(lossNumbers(NO_LOSS)).toEqual({ epsilon: 0, delta: 0 })
})

test('rho is a non-negative number of 1e-12', () => {
  expect(rhoNumber(rhoPico(1n))).toBe(1e-12)
  expect(rhoNumber(rhoPico(462_117_157_261n))).toBe(0.462117157261)
  expect(() => rhoPico(-1n)).toThrow(RangeError)
})

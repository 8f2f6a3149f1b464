import { describe, expect, it } from 'vitest'
import {
  type Amount,
  addAmounts,
  amountBoughtBy,
  amountNumbers,
  coversAmount,
  isSameAmount,
  noAmount,
  subtractAmounts,
} from '../../src/privacy/accounting.ts'
import { deltaAtto, epsilonNano, ONE_DELTA_ATTO, rhoPico } from '../../src/privacy/loss.ts'

const basic = (epsilon: bigint, delta: bigint): Amount => ({
  accounting: 'basic',
  epsilonNano: epsilonNano(epsilon),
  deltaAtto: deltaAtto(delta),
})
const zcdp = (rho: bigint): Amount => ({ accounting: 'zcdp', rhoPico: rhoPico(rho) })

describe('amounts', () => {
  it('are added and subtracted exactly', () => {
    expect(addAmounts(basic(1n, 2n), basic(3n, 4n))).toEqual(basic(4n, 6n))
    expect(addAmounts(basic(1n, ONE_DELTA_ATTO), basic(3n, 4n))).toEqual(basic(4n, ONE_DELTA_ATTO))
    expect(addAmounts(zcdp(1n), zcdp(2n))).toEqual(zcdp(3n))
    expect(subtractAmounts(basic(4n, 6n), basic(1n, 2n))).toEqual(basic(3n, 4n))
    expect(subtractAmounts(zcdp(3n), zcdp(2n))).toEqual(zcdp(1n))
    expect(() => subtractAmounts(zcdp(2n), zcdp(3n))).toThrow(RangeError)
    expect(() => subtractAmounts(basic(4n, 1n), basic(1n, 2n))).toThrow(RangeError)
  })

  it('cover amounts that are at most as large in each unit', () => {
    expect(coversAmount(basic(2n, 2n), basic(2n, 2n))).toBe(true)
    expect(coversAmount(basic(2n, 2n), basic(3n, 0n))).toBe(false)
    expect(coversAmount(basic(2n, 2n), basic(0n, 3n))).toBe(false)
    expect(coversAmount(zcdp(2n), zcdp(2n))).toBe(true)
    expect(coversAmount(zcdp(2n), zcdp(3n))).toBe(false)
  })

  it('are equal only in every unit and in the same accounting', () => {
    expect(isSameAmount(basic(1n, 2n), basic(1n, 2n))).toBe(true)
    expect(isSameAmount(basic(1n, 2n), basic(1n, 3n))).toBe(false)
    expect(isSameAmount(basic(2n, 2n), basic(1n, 2n))).toBe(false)
    expect(isSameAmount(zcdp(1n), zcdp(1n))).toBe(true)
    expect(isSameAmount(zcdp(1n), zcdp(2n))).toBe(false)
    expect(isSameAmount(zcdp(0n), basic(0n, 0n))).toBe(false)
  })

  it('of different accountings cannot be compared', () => {
    for (const operation of [addAmounts, subtractAmounts, coversAmount]) {
      expect(() => operation(basic(0n, 0n), zcdp(0n))).toThrow(RangeError)
      expect(() => operation(zcdp(0n), basic(0n, 0n))).toThrow(RangeError)
    }
  })

  it('are displayed in the units of their accounting', () => {
    expect(amountNumbers(basic(100_000_000n, 1_000_000_000_000n))).toEqual({ epsilon: 0.1, delta: 1e-6 })
    expect(amountNumbers(zcdp(24_355_970_359n))).toEqual({ rho: 0.024355970359 })
    expect(noAmount('basic')).toEqual(basic(0n, 0n))
    expect(noAmount('zcdp')).toEqual(zcdp(0n))
  })

  it('are bought by a grant: the grant itself, or the rho that it converts to', () => {
    const granted = { epsilonNano: epsilonNano(1_000_000_000n), deltaAtto: deltaAtto(1_000_000_000_000n) }
    expect(amountBoughtBy('basic', granted)).toEqual(basic(1_000_000_000n, 1_000_000_000_000n))
    expect(amountBoughtBy('zcdp', granted)).toEqual(zcdp(24_355_970_359n))
  })
})

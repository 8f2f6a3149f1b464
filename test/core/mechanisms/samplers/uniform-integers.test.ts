import { describe, expect, it } from 'vitest'
import { uniformFromWords } from '../../../../src/core/mechanisms/samplers/uniform-integers.ts'

describe('uniform integers (their distribution: exact-distributions.test.ts)', () => {
  const source = uniformFromWords({ next: () => 0 })

  it.each([0, -1, 0.5, 2 ** 53 + 2, Number.NaN, Number.POSITIVE_INFINITY])(
    'refuses a bound of %d',
    (bound) => {
      expect(() => source.below(bound)).toThrow(RangeError)
    },
  )

  it.each([0n, -1n])('refuses a big bound of %d', (bound) => {
    expect(() => source.belowBig(bound)).toThrow(RangeError)
  })

  it.each([0, 3, 33, 4.5])('refuses words of %d bits', (bits) => {
    expect(() => uniformFromWords({ next: () => 0 }, bits)).toThrow(RangeError)
  })

  it('consumes no word for a bound of 1', () => {
    const silent = uniformFromWords({
      next: () => {
        throw new Error('a word was drawn')
      },
    })
    expect(silent.below(1)).toBe(0)
    expect(silent.belowBig(1n)).toBe(0n)
  })

  it('serves 32 coins from one word', () => {
    let words = 0
    const counted = uniformFromWords({
      next: () => {
        words += 1
        return 0b1011
      },
    })
    expect(Array.from({ length: 32 }, () => counted.below(2)).slice(0, 5)).toEqual([1, 1, 0, 1, 0])
    expect(words).toBe(1)
  })
})

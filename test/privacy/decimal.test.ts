import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decimalFromNumber, formatDecimal, parseDecimal } from '../../src/privacy/decimal.ts'

test.each([
  ['1', 9, 1_000_000_000n],
  ['0.1', 9, 100_000_000n],
  ['1e-9', 9, 1n],
  ['1E3', 9, 1_000_000_000_000n],
  ['-0.5', 9, -500_000_000n],
  ['0.000', 9, 0n],
  ['0.1000000000', 9, 100_000_000n],
  ['0.0000000001', 9, undefined],
  ['1e-12', 9, undefined],
  ['1e401', 9, undefined],
  ['Infinity', 9, undefined],
  ['NaN', 9, undefined],
  ['', 9, undefined],
  ['0x10', 9, undefined],
  ['1_000', 9, undefined],
  ['0.123456789012345678', 18, 123_456_789_012_345_678n],
])('%s with %i fractional digits is %s', (text, digits, expected) => {
  expect(parseDecimal(text, digits)).toBe(expected)
})

test('one tenth and two tenths are three tenths', () => {
  const [a, b] = [decimalFromNumber(0.1, 9), decimalFromNumber(0.2, 9)]
  expect(formatDecimal((a ?? 0n) + (b ?? 0n), 9)).toBe('0.3')
})

test('a formatted decimal is parsed back exactly', () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
      fc.integer({ min: 0, max: 18 }),
      (units, digits) => {
        expect(parseDecimal(formatDecimal(units, digits), digits)).toBe(units)
      },
    ),
  )
})

test('a double is the shortest decimal that reads back as it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 999_999_999_999 }), (nano) => {
      expect(decimalFromNumber(nano / 1e9, 9)).toBe(BigInt(nano))
    }),
  )
})

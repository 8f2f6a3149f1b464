import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  numberText,
  numberTextNear,
  percentText,
  plainText,
  shortened,
  textWidth,
} from '../../../src/studies/plots/text.ts'
import { codePoint } from '../../code-point.ts'
import { pictureOf } from './picture.ts'
import { HOSTILE } from './samples.ts'
import { elementsOf, parseXml, textOf } from './xml.ts'

describe('plain text', () => {
  test('is one line without control characters', () => {
    expect(plainText(' two\nlines\r\nand\ttabs\u0000\u2028end ')).toBe('two lines and tabs end')
  })

  test('never changes the writing direction', () => {
    expect(plainText('a\u202eb\u2066c\u200fd')).toBe('abcd')
  })

  test('keeps well-formed text and repairs other text', () => {
    expect(plainText('é 你好 👩‍👩‍👧‍👦')).toBe('é 你好 👩‍👩‍👧‍👦')
    expect(plainText('\ud800x\uffff')).toBe('\ufffdx')
  })

  test('of any string gives well-formed XML with the same content', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: codePoint }), fc.constantFrom(...HOSTILE)), (text) => {
        const escaped = plainText(text)
          .replaceAll('&', '&amp;')
          .replaceAll('<', '&lt;')
          .replaceAll('>', '&gt;')
        const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text>${escaped}</text></svg>`
        expect(elementsOf(parseXml(svg)).map(({ element }) => textOf(element))).toContain(plainText(text))
      }),
    )
  })
})

describe('shortened text', () => {
  test('is unchanged if it fits', () => {
    expect(shortened('Machine-op-inspct', 200, 12)).toBe('Machine-op-inspct')
    expect(shortened('', 0, 12)).toBe('')
  })

  test('never exceeds its width and never splits a character', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom(...HOSTILE)),
        fc.integer({ min: 20, max: 300 }),
        (text, most) => {
          const cut = shortened(text, most, 12)
          expect(textWidth(cut, 12)).toBeLessThanOrEqual(most)
          expect(cut.isWellFormed()).toBe(true)
          expect(cut === plainText(text) || cut.endsWith('…')).toBe(true)
        },
      ),
    )
  })

  test('has an estimated width of at least the real one', () => {
    for (const text of [
      'WWWWMMMM',
      'iiiillll',
      'Adm-clerical',
      'ε = 0.3829',
      '1,234,567 ± 89%',
      'very long name',
      '@@@@',
    ])
      for (const weight of ['normal', 'bold']) {
        const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="400" height="40"><text x="9" y="20" font-family="sans-serif" font-size="12px" font-weight="${weight}">${text}</text></svg>`
        expect(textWidth(text, 12, weight === 'bold')).toBeGreaterThanOrEqual(
          pictureOf(svg).texts[0]?.box?.width ?? Number.NaN,
        )
      }
  })
})

test('numbers are written in the usual notation', () => {
  expect([0, 0.5251496872695, 1 / 3, 120, 1234.56, 1_250_000].map(numberText)).toEqual([
    '0',
    '0.5251',
    '0.3333',
    '120',
    '1,235',
    '1,250,000',
  ])
  expect([1e-5, 1.5e-7, -0.00012346, 1e20].map(numberText)).toEqual(['1e-5', '1.5e-7', '−1.235e-4', '1e20'])
})

test('only exactly 1 is written as 100%', () => {
  expect([0.95, 0.999, 0.5, 0.29, 1 / 3].map(percentText)).toEqual([
    '95%',
    '99.9%',
    '50%',
    '29%',
    '33.33333333%',
  ])
  expect([0.9999999, 1 - 1e-9, 1 - 1e-10, 1 - 1e-13, 1].map(percentText)).toEqual([
    '99.99999%',
    '99.9999999%',
    '99.99999999%',
    '99.99999999%',
    '100%',
  ])
})

test('neighbouring numbers have different texts', () => {
  expect(numberTextNear(1_000_000.25, 0.1)).toBe('1,000,000.25')
  expect(numberTextNear(1_242_688.1, 7311.9)).toBe('1,242,688')
  expect(numberTextNear(114, 6)).toBe('114')
  expect(numberTextNear(-180, 300)).toBe('−180')
  expect(numberTextNear(0, 3)).toBe('0')
  expect(numberTextNear(12.5, 0)).toBe('12.5')
  expect(numberTextNear(1, 3e9)).toBe('1')
  expect([-6, 0, 6].map((step) => numberTextNear(1e15 + step, 6))).toEqual([
    '999,999,999,999,994',
    '1,000,000,000,000,000',
    '1,000,000,000,000,006',
  ])
  expect([0, 2e4].map((step) => numberTextNear(1e15 + step, 2e4))).toEqual(['1e15', '1.00000000002e15'])
  expect([1e-6, 1.00001e-6].map((value) => numberTextNear(value, 1e-11))).toEqual(['1e-6', '1.00001e-6'])
})

test('different doubles have different texts', () => {
  fc.assert(
    fc.property(
      fc.double({ min: -1e15, max: 1e15, noNaN: true }),
      fc.double({ min: 0, max: 1e15, minExcluded: true, noNaN: true }),
      (truth, halfWidth) => {
        fc.pre(truth - halfWidth < truth && truth < truth + halfWidth)
        const ends = [truth - halfWidth, truth, truth + halfWidth]
        expect(new Set(ends.map((value) => numberTextNear(value, halfWidth))).size).toBe(3)
      },
    ),
  )
})

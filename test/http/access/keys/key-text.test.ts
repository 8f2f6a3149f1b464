import fc from 'fast-check'
import { expect, test } from 'vitest'
import { drawKeyText, isKeyText } from '../../../../src/http/access/keys/key-text.ts'

/** The regular expression that SECURITY.md gives to secret scanners. */
const SCANNED = /\bsotto_[0-9A-Za-z]{49}\b/

test('a drawn key is recognised, and two draws differ', () => {
  const keys = Array.from({ length: 200 }, drawKeyText)
  expect(new Set(keys).size).toBe(200)
  expect(keys.every(isKeyText)).toBe(true)
  expect(keys.every((key) => SCANNED.test(`export KEY="${key}"`))).toBe(true)
})

test('the secret uses all of its characters', () => {
  const used = new Set(Array.from({ length: 200 }, drawKeyText).flatMap((key) => [...key.slice(6, -6)]))
  expect(used.size).toBe(62)
})

test('a mistyped key is refused: one character changed, or two neighbours exchanged', () => {
  const key = drawKeyText()
  fc.assert(
    fc.property(
      fc.integer({ min: 6, max: key.length - 1 }),
      fc.constantFrom(...'0Aaz9Zq_-'),
      (at, character) => {
        if (key[at] !== character)
          expect(isKeyText(key.slice(0, at) + character + key.slice(at + 1))).toBe(false)
      },
    ),
  )
  for (let at = 6; at < key.length - 1; at += 1) {
    const exchanged = key.slice(0, at) + key[at + 1] + key[at] + key.slice(at + 2)
    if (exchanged !== key) expect(isKeyText(exchanged)).toBe(false)
  }
})

test.each(['', 'sotto_', 'sotto', `sotto_${'a'.repeat(42)}`, `sotto_${'a'.repeat(49)}`, `${drawKeyText()} `])(
  'another text is no key: %s',
  (text) => {
    expect(isKeyText(text)).toBe(false)
  },
)

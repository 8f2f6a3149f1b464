import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseJsonBody } from '../../../src/platform/bodies/json-body.ts'

test.each([
  ['', 'empty'],
  ['   ', 'empty'],
  ['{"a":', 'not valid JSON'],
  ['{"a":0x10}', 'not valid JSON'],
  ['{"a":NaN}', 'not valid JSON'],
  ['{"__proto__":{"a":1}}', 'not valid JSON'],
  ['{"constructor":{"prototype":{"a":1}}}', 'not valid JSON'],
  ['{"a":"\\ud800"}', 'well-formed'],
  ['{"\\ud800":1}', 'well-formed'],
  ['{"a":"\ud800"}', 'well-formed'],
  [`${'['.repeat(1000)}${']'.repeat(1000)}`, '40 levels'],
  [`${'{"not":'.repeat(41)}1${'}'.repeat(41)}`, '40 levels'],
])('%s is refused: %s', (text, rule) => {
  expect(() => parseJsonBody(text)).toThrow(rule)
})

test.each([
  '1e400',
  '-1e400',
  '0.10000000000000000000001',
  '9007199254740993',
  '123456789012345678901',
  '1e-400',
  `1${'0'.repeat(60_000)}1`,
])('the number %s, which no double represents, becomes NaN', (literal) => {
  expect(parseJsonBody(`{"a":${literal}}`)).toEqual({ a: Number.NaN })
})

test.each([
  '0',
  '-0',
  '0.1',
  '1.0',
  '1e2',
  '1E+2',
  '100e-2',
  '0.30000000000000004',
  '1.50',
  '1e-9',
  '5e-324',
])('the number %s is accepted', (literal) => {
  expect(parseJsonBody(`{"a":${literal}}`)).toEqual({ a: Number(literal) })
})

test('every decimal of 15 digits is read', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 10 ** 15 - 1 }),
      fc.integer({ min: 0, max: 15 }),
      (digits, places) => {
        const text = String(digits).padStart(places + 1, '0')
        const literal = `${text.slice(0, text.length - places)}.${text.slice(text.length - places)}0`
        expect(parseJsonBody(`{"a":-${literal}}`)).toEqual({ a: -Number(literal) })
      },
    ),
  )
})

test('every double that JSON writes is read back', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      expect(parseJsonBody(JSON.stringify([value]))).toEqual([value === 0 ? 0 : value])
    }),
  )
})

test('brackets within strings do not count as depth', () => {
  expect(parseJsonBody(JSON.stringify('[{"\\'.repeat(100)))).toBe('[{"\\'.repeat(100))
})

test.each([
  ['{"a":1,"a":1}', 'a'],
  ['{"a":1,"\\u0061":2}', 'a'],
  ['{"":1,"":2}', ''],
  ['[1,{"b":{"c":[],"d":{},"c":":"}}]', '1.b.c'],
  ['{"a":{"x":1},"b":{"x":1},"a":{}}', 'a'],
])('%s is refused because %s appears twice', (text, field) => {
  expect(() => parseJsonBody(text)).toThrow(
    expect.objectContaining({ errors: [{ field, rule: 'must not appear more than once in an object' }] }),
  )
})

test('every value that JSON writes is read back, with any keys and strings', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const text = JSON.stringify(value)
      const forbidden =
        /"__proto__"|"constructor"/.test(text) || !text.isWellFormed() || /\\ud[89a-f]/.test(text)
      if (!forbidden) expect(parseJsonBody(text)).toEqual(JSON.parse(text))
    }),
  )
})

test('a repeated key in a generated object is found', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 8 }),
      fc.nat(),
      fc.jsonValue({ maxDepth: 2 }),
      (keys, at, value) => {
        const repeated = keys[at % keys.length] ?? ''
        const members = [...keys, repeated].map((key) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)
        expect(() => parseJsonBody(`{"outer":[{${members}}]}`)).toThrow(
          expect.objectContaining({ errors: [expect.objectContaining({ field: `outer.0.${repeated}` })] }),
        )
      },
    ),
  )
})

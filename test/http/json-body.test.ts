import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseJsonBody } from '../../src/http/json-body.ts'

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
])('the number %s, which no double stands for, becomes NaN so that a schema names its field', (literal) => {
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
])('the number %s is taken as it is', (literal) => {
  expect(parseJsonBody(`{"a":${literal}}`)).toEqual({ a: Number(literal) })
})

test('every double that JSON writes is read back', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      expect(parseJsonBody(JSON.stringify([value]))).toEqual([value === 0 ? 0 : value])
    }),
  )
})

test('brackets within texts are not depth', () => {
  expect(parseJsonBody(JSON.stringify('[{"\\'.repeat(100)))).toBe('[{"\\'.repeat(100))
})

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { Misuse } from '../../src/commands/command.ts'
import { readDeclaration } from '../../src/commands/datasets/declaration-file.ts'
import { exactNumber } from '../../src/commands/exact-number.ts'
import { parseDecimal } from '../../src/privacy/decimal.ts'

function read(text: string, name = 'people.yaml') {
  const folder = mkdtempSync(path.join(tmpdir(), 'sotto-declaration-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = path.join(folder, name)
  writeFileSync(file, text)
  return readDeclaration(file).declaration
}

test.each([
  ['0.1', '0.1'],
  ['0.10', '0.1'],
  ['.5', '0.5'],
  ['5.', '5'],
  ['+2', '2'],
  ['-2.50', '-2.5'],
  ['1e-9', '1e-9'],
  ['1E-9', '1e-9'],
  ['1.0e-18', '1e-18'],
  ['0.000000000000000001', '1e-18'],
  ['1000000', '1000000'],
  ['123456789.123456', '123456789.123456'],
])('the number %s reaches the service as %s', (written, sent) => {
  expect(JSON.stringify(exactNumber(written))).toBe(sent)
  const declaration = read(`budget: {epsilon: ${written}}\nsteps: [1, ${written}]\n`)
  expect(JSON.stringify(declaration)).toBe(`{"budget":{"epsilon":${sent}},"steps":[1,${sent}]}`)
})

test.each([
  '0.10000000000000000001',
  '1.2345678901234567890',
  '12345678901234567890',
  '9007199254740993',
  '1e400',
  '1e-400',
  '0x10',
  '0o17',
  '.inf',
  '-.inf',
  '.nan',
])('the number %s, which would arrive as another one, is refused with its line', (written) => {
  expect(exactNumber(written)).toBeUndefined()
  const expected =
    /people\.(yaml|json): the number in line 3 must be a decimal number of at most 15 significant/
  const yaml = `id: people\nbudget:\n  epsilon: ${written}\n`
  expect(() => read(yaml)).toThrow(expected)
  expect(() => read(yaml)).toThrow(Misuse)
  if (/^\d/.test(written) && !written.startsWith('0x') && !written.startsWith('0o'))
    expect(() => read(`{"id": "people",\n"budget": {\n"epsilon": ${written}}}`, 'people.json')).toThrow(
      expected,
    )
})

test.each(['', ' ', 'much', '1 ', '1,5', '1_000', 'Infinity', 'NaN', '--1', '1e', '.', '+', '0.1.2'])(
  'the text %j is no number',
  (text) => {
    expect(exactNumber(text)).toBeUndefined()
  },
)

test('a number of any digits is refused or keeps its value', () => {
  const digits = fc.integer({ min: 0, max: 9 })
  const written = fc
    .tuple(fc.array(digits, { minLength: 1, maxLength: 20 }), fc.array(digits, { maxLength: 20 }))
    .map(([whole, fraction]) => `${whole.join('')}${fraction.length === 0 ? '' : `.${fraction.join('')}`}`)
  fc.assert(
    fc.property(written, (text) => {
      const number = exactNumber(text)
      const significant = text.replace('.', '').replace(/^0+|0+$/g, '').length
      if (significant <= 15) expect(number).toBeDefined()
      if (number !== undefined) expect(parseDecimal(String(number), 40)).toBe(parseDecimal(text, 40))
    }),
  )
})

test('texts that look like numbers, and keys, stay texts', () => {
  expect(read('"0.10000000000000000001": "0.10000000000000000001"\n0x10: 1_000\n')).toEqual({
    '0.10000000000000000001': '0.10000000000000000001',
    16: '1_000',
  })
})

import fc from 'fast-check'

/**
 * Any code point but surrogates, as the unit of random texts. It replaces the unit `binary` of fast-check, which first
 * makes a table of all code points: a second in each process.
 */
export const codePoint = fc
  .oneof(
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 0xd7ff }) },
    { weight: 3, arbitrary: fc.integer({ min: 0xe000, max: 0x10ffff }) },
  )
  .map((code) => String.fromCodePoint(code))

import { deflateSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { packAnswer, packedBytes, unpackAnswer } from '../../../src/ledger/stores/packed-answer.ts'

test('an answer of any text is unpacked byte for byte', () => {
  const text = fc.tuple(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 3_000 }))
  fc.assert(
    fc.property(text, ([part, times]) => {
      const answer = part.repeat(times)
      const packed = packAnswer(answer)
      expect(unpackAnswer(packed)).toBe(answer)
      expect(packedBytes(packed)).toBeLessThanOrEqual(Buffer.byteLength(answer))
      expect('deflated' in packed).toBe(Buffer.byteLength(answer) >= 4_096)
    }),
  )
})

test('bytes that are not a packed answer are refused', () => {
  const whole = deflateSync('x'.repeat(10_000))
  const flipped = Uint8Array.from(whole)
  flipped[flipped.length - 1] = (flipped.at(-1) ?? 0) ^ 1
  for (const deflated of [new Uint8Array(), whole.subarray(0, -1), flipped, Buffer.from('{"id":1}')])
    expect(() => unpackAnswer({ deflated })).toThrow(TypeError)
})

test('attack: decompression is bounded', () => {
  // 300 MB of one character take 0.3 MB. No answer of this size is ever packed.
  const bomb = deflateSync(Buffer.alloc(300_000_000, 'x'))
  expect(bomb.length).toBeLessThan(400_000)
  expect(() => unpackAnswer({ deflated: bomb })).toThrow(TypeError)
})

import { constants, deflateRawSync, deflateSync } from 'node:zlib'
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
  expect(unpackAnswer({ deflated: deflatedMegabytes(3) })).toBe('x'.repeat(3_000_000))
  // No answer of this size is ever packed.
  const bomb = deflatedMegabytes(300)
  expect(bomb.length).toBeLessThan(400_000)
  expect(() => unpackAnswer({ deflated: bomb })).toThrow(TypeError)
})

/** Compresses megabytes of one character. They are compressed once: each has the same blocks, which refer to nothing before them. */
function deflatedMegabytes(megabytes: number): Buffer {
  const flushed = { finishFlush: constants.Z_FULL_FLUSH }
  const blocks = deflateRawSync(Buffer.alloc(1_000_000, 'x'), flushed)
  const header = Buffer.from([0x78, 0x9c])
  // Adler-32 of a repeated character (RFC 1950).
  const [length, character] = [BigInt(megabytes) * 1_000_000n, BigInt('x'.charCodeAt(0))]
  const checksum = Buffer.alloc(4)
  checksum.writeUInt16BE(Number((length + (character * length * (length + 1n)) / 2n) % 65_521n), 0)
  checksum.writeUInt16BE(Number((1n + character * length) % 65_521n), 2)
  const parts = Array.from({ length: megabytes }, () => blocks)
  return Buffer.concat([header, ...parts, deflateRawSync(Buffer.alloc(0)), checksum])
}

/*
 * Noisy integers of large tables as text: each integer n is 2n, or -2n - 1 if it is negative, in groups of 7 bits, the lowest
 * first; all but the last have the eighth bit set (LEB128); the bytes are base64. Noise of about 2^10 units needs two bytes.
 */

/** Writes integers as text. */
export function encodedIntegers(integers: readonly bigint[]): string {
  const bytes: number[] = []
  for (const integer of integers) {
    let rest = integer < 0n ? -2n * integer - 1n : 2n * integer
    for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128)
    bytes.push(Number(rest))
  }
  return Buffer.from(bytes).toString('base64')
}

/**
 * Reads integers that {@link encodedIntegers} wrote.
 * @throws RangeError for a text that ends within an integer.
 */
export function decodedIntegers(text: string): readonly bigint[] {
  const integers: bigint[] = []
  let [value, shift] = [0n, 0n]
  for (const byte of Buffer.from(text, 'base64')) {
    value |= BigInt(byte & 127) << shift
    shift += 7n
    if (byte > 127) continue
    integers.push(value & 1n ? -(value + 1n) / 2n : value / 2n)
    ;[value, shift] = [0n, 0n]
  }
  if (shift > 0n) throw new RangeError('the text ends within an integer')
  return integers
}

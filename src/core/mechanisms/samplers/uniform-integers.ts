import type { UniformSource } from './uniform-source.ts'

/** Stream of independent words, each uniform among all integers of its number of bits. */
export interface Words {
  next(): number
}

const LARGEST_BOUND = 2 ** 53

/**
 * Creates unbiased uniform integers from a stream of words, by masking and rejection: draws the smallest number of bits
 * that can hold the largest possible value, again until the result is below the bound. A modulo would be biased.
 *
 * @param wordBits 4 to 32. Production uses 32; tests use few, so that every word can be enumerated.
 * @throws RangeError for other words. The source throws one for a bound below 1 or a fraction; `below` also for a bound
 * above 2^53, or above what two words hold.
 */
export function uniformFromWords(words: Words, wordBits = 32): UniformSource {
  if (!Number.isInteger(wordBits) || wordBits < 4 || wordBits > 32)
    throw new RangeError('a word must have 4 to 32 bits')
  return new MaskedWords(words, wordBits)
}

/*
 * A class, because V8 compiles its methods once for all sources. Closures over each source's state are a third slower as
 * soon as a process holds two sources.
 */
class MaskedWords implements UniformSource {
  readonly #words: Words
  readonly #wordBits: number
  readonly #wordCount: number
  readonly #largestBound: number
  readonly #largestSmallBound: number
  // Small bounds share one word, so that a coin flip does not cost a whole word; each bit is shifted out when it is
  // used. The value is kept signed because V8 stores that without allocating; the bits are the same.
  #sharedBits = 0
  #sharedBitsLeft = 0

  constructor(words: Words, wordBits: number) {
    this.#words = words
    this.#wordBits = wordBits
    this.#wordCount = 2 ** wordBits
    this.#largestBound = Math.min(LARGEST_BOUND, this.#wordCount ** 2)
    this.#largestSmallBound = 2 ** (wordBits >>> 1)
  }

  below(bound: number): number {
    if (bound === 1) return 0
    if (!Number.isInteger(bound) || bound < 1 || bound > this.#largestBound) throw boundError()
    if (bound <= this.#largestSmallBound) return this.#belowSmall(bound)
    if (bound <= this.#wordCount) return this.#belowWord(bound)
    return this.#belowTwoWords(bound)
  }

  #belowSmall(bound: number): number {
    const bits = 32 - Math.clz32(bound - 1)
    const mask = (1 << bits) - 1
    for (;;) {
      if (this.#sharedBitsLeft < bits) {
        this.#sharedBits = this.#words.next() | 0
        this.#sharedBitsLeft = this.#wordBits
      }
      const candidate = this.#sharedBits & mask
      this.#sharedBits >>>= bits
      this.#sharedBitsLeft -= bits
      if (candidate < bound) return candidate
    }
  }

  #belowWord(bound: number): number {
    const mask = 0xffff_ffff >>> Math.clz32(bound - 1)
    for (;;) {
      // `&` returns a signed integer; `>>> 0` makes it unsigned.
      const candidate = (this.#words.next() & mask) >>> 0
      if (candidate < bound) return candidate
    }
  }

  #belowTwoWords(bound: number): number {
    // Exact, because division by a power of two does not change the integer part's bits.
    const largestHigh = Math.floor((bound - 1) / this.#wordCount)
    const mask = 0xffff_ffff >>> Math.clz32(largestHigh)
    for (;;) {
      const high = (this.#words.next() & mask) >>> 0
      // Rejected for every low word, so no low word is drawn.
      if (high > largestHigh) continue
      const candidate = high * this.#wordCount + this.#words.next()
      if (candidate < bound) return candidate
    }
  }

  belowBig(bound: bigint): bigint {
    if (bound < 1n) throw boundError()
    if (bound <= BigInt(this.#largestBound)) return BigInt(this.below(Number(bound)))
    const wordBits = BigInt(this.#wordBits)
    let largestHigh = bound - 1n
    let lowWords = 0
    for (; largestHigh >= BigInt(this.#wordCount); lowWords += 1) largestHigh >>= wordBits
    const mask = 0xffff_ffff >>> Math.clz32(Number(largestHigh))
    for (;;) {
      let candidate = BigInt((this.#words.next() & mask) >>> 0)
      if (candidate > largestHigh) continue
      for (let word = 0; word < lowWords; word += 1)
        candidate = (candidate << wordBits) | BigInt(this.#words.next())
      if (candidate < bound) return candidate
    }
  }
}

function boundError(): RangeError {
  return new RangeError('the bound of a uniform integer must be a whole number from 1 to 2^53')
}

import { randomFillSync } from 'node:crypto'
import { uniformFromWords, type Words } from './uniform-integers.ts'
import type { UniformSource } from './uniform-source.ts'

/** 16 KiB: large enough to make the cost of system calls negligible, small enough to stay in the cache. */
const POOL_WORDS = 4096

/**
 * Creates a source of uniform integers from the operating system's cryptographic generator, drawn through a pool of
 * 32-bit words. All noise that leaves the service comes from this source.
 *
 * Each word is overwritten with zero when it is consumed, so that memory read later does not reveal the noise. A failure
 * is permanent: this draw and every later draw that needs the pool throw, because a source that failed once cannot be
 * trusted.
 *
 * @param fill fills an array with fresh random bytes or throws; tests replace it.
 */
export function systemEntropy(fill: (pool: Uint32Array) => unknown = randomFillSync): UniformSource {
  return uniformFromWords(new PooledWords(fill))
}

/** A failure of the source of randomness. */
export class EntropyFailure extends Error {
  constructor(cause: unknown) {
    super('the source of randomness failed', { cause })
    this.name = 'EntropyFailure'
  }
}

class PooledWords implements Words {
  readonly #fill: (pool: Uint32Array) => unknown
  readonly #pool = new Uint32Array(POOL_WORDS)
  #position = POOL_WORDS
  #failure: Error | undefined

  constructor(fill: (pool: Uint32Array) => unknown) {
    this.#fill = fill
  }

  next(): number {
    if (this.#position === POOL_WORDS) this.#refill()
    const position = this.#position
    const word = this.#pool[position]
    if (word === undefined) throw new RangeError('the pool of randomness was read outside its bounds')
    this.#pool[position] = 0
    this.#position = position + 1
    return word
  }

  #refill(): void {
    if (this.#failure !== undefined) throw this.#failure
    try {
      this.#fill(this.#pool)
      // Every word was zeroed when it was consumed, so all zeros mean that nothing was filled in.
      if (this.#pool.every((word) => word === 0)) throw new Error('the pool was left empty')
    } catch (cause) {
      this.#pool.fill(0)
      this.#failure = new EntropyFailure(cause)
      throw this.#failure
    }
    this.#position = 0
  }
}

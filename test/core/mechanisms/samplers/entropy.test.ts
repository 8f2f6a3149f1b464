import { describe, expect, it, vi } from 'vitest'
import { systemEntropy } from '../../../../src/core/mechanisms/samplers/entropy.ts'

const POOL_WORDS = 4096

/** Fills word i of fill number n with n * 2^16 + i, and keeps hold of the pool. */
function numberedFills() {
  const seen: { pool: Uint32Array | undefined; fills: number } = { pool: undefined, fills: 0 }
  const fill = (pool: Uint32Array) => {
    seen.pool = pool
    seen.fills += 1
    for (let index = 0; index < pool.length; index += 1) pool[index] = seen.fills * 2 ** 16 + index
  }
  return { seen, fill }
}

describe('the system entropy source', () => {
  it('zeroes each word as it is consumed, and no other', () => {
    const { seen, fill } = numberedFills()
    const source = systemEntropy(fill)
    for (let consumed = 1; consumed <= 10; consumed += 1) {
      source.below(2 ** 32)
      expect([...(seen.pool ?? [])].slice(0, consumed + 1)).toEqual([
        ...Array.from({ length: consumed }, () => 0),
        2 ** 16 + consumed,
      ])
    }
  })

  it('returns every word once, in order, and refills only when all are consumed', () => {
    const { seen, fill } = numberedFills()
    const source = systemEntropy(fill)
    for (let draw = 0; draw < 2.5 * POOL_WORDS; draw += 1) {
      const expectedFill = 1 + Math.floor(draw / POOL_WORDS)
      expect(source.below(2 ** 32)).toBe(expectedFill * 2 ** 16 + (draw % POOL_WORDS))
      expect(seen.fills).toBe(expectedFill)
    }
  })

  it('draws nothing before it is asked', () => {
    const fill = vi.fn()
    systemEntropy(fill)
    expect(fill).not.toHaveBeenCalled()
  })

  it('fails permanently if the operating system fails, and clears the pool', () => {
    const { seen, fill } = numberedFills()
    let failing = false
    const source = systemEntropy((pool) => {
      fill(pool)
      if (failing) throw new Error('no entropy')
    })
    for (let draw = 0; draw < POOL_WORDS; draw += 1) source.below(2 ** 32)
    failing = true
    expect(() => source.below(2)).toThrow('the source of randomness failed')
    expect(seen.pool?.every((word) => word === 0)).toBe(true)
    failing = false
    expect(() => source.below(2)).toThrow('the source of randomness failed')
    expect(() => source.belowBig(1n << 80n)).toThrow('the source of randomness failed')
    expect(seen.fills).toBe(2)
  })

  it('fails if the pool is returned unchanged', () => {
    expect(() => systemEntropy(() => undefined).below(2)).toThrow('the source of randomness failed')
  })

  it('draws from the operating system by default', () => {
    const [one, other] = [systemEntropy(), systemEntropy()]
    const draws = new Set(
      Array.from({ length: 100 }, () => [one.below(2 ** 53), other.below(2 ** 53)]).flat(),
    )
    expect(draws.size).toBe(200)
  })
})

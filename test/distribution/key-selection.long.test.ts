import { describe, expect, it } from 'vitest'
import { systemEntropy } from '../../src/core/mechanisms/samplers/entropy.ts'
import {
  calibrateKeyCounts,
  calibrateKeyPresence,
  keepProbability,
  keyPresenceSampler,
  releaseKeyCounts,
} from '../../src/core/mechanisms/selection/key-selection.ts'
import { deltaAtto, type EpsilonNano, epsilonNano } from '../../src/privacy/loss.ts'
import { keyCountMass } from '../core/mechanisms/selection/masses.ts'
import { ROW_OF_ONE_VALUE } from '../core/mechanisms/support.ts'
import { kolmogorovTail } from './goodness-of-fit.ts'

/*
 * Compares keys selected by the production code with their stated distribution. Under the true distribution a test
 * fails less than once in 1e20 runs. It must detect an epsilon that is off by 30%.
 */
const SIGNIFICANCE = 1e-20
const KEYS = 40_000
const ROWS = 9

const source = systemEntropy()
const epsilon = 500_000_000n
const delta = deltaAtto(20_000_000_000_000_000n)
const wrong = [epsilonNano((epsilon * 13n) / 10n), epsilonNano((epsilon * 10n) / 13n)]
const counts = new Float64Array(KEYS).fill(ROWS)

describe.each(['add-remove', 'change-one'] as const)('under %s', (neighbours) => {
  it('noisy counts follow their distribution, and differ from that of another epsilon', () => {
    const measure = (asked: EpsilonNano) => calibrateKeyCounts(ROW_OF_ONE_VALUE[neighbours], asked, delta)
    const kept = new Map(
      releaseKeyCounts(measure(epsilonNano(epsilon)), counts, source).map(({ key, noisyCount }) => [
        key,
        noisyCount,
      ]),
    )
    // A key that is not kept counts as 0, which is below every threshold.
    const samples = Array.from(counts, (_, key) => kept.get(key) ?? 0n)
    const tail = (asked: EpsilonNano) => {
      const measurement = measure(asked)
      const cumulative = [1 - keepProbability(measurement, ROWS)]
      for (let noisy = 1n; noisy < 300n; noisy += 1n)
        cumulative.push((cumulative.at(-1) ?? 0) + keyCountMass(measurement, ROWS, noisy))
      return kolmogorovTail(samples, (value) => (value < 0 ? 0 : (cumulative[value] ?? 1)))
    }
    expect(tail(epsilonNano(epsilon))).toBeGreaterThan(SIGNIFICANCE)
    for (const asked of wrong) expect(tail(asked)).toBeLessThan(SIGNIFICANCE)
  })

  it('keys alone follow their distribution, and differ from that of another epsilon', () => {
    const measure = (asked: EpsilonNano) => calibrateKeyPresence(ROW_OF_ONE_VALUE[neighbours], asked, delta)
    const kept = new Set(keyPresenceSampler(measure(epsilonNano(epsilon)), counts)(source))
    const samples = Array.from(counts, (_, key) => (kept.has(key) ? 1n : 0n))
    const tail = (asked: EpsilonNano) => {
      const dropped = 1 - keepProbability(measure(asked), ROWS)
      return kolmogorovTail(samples, (value) => (value < 0 ? 0 : value < 1 ? dropped : 1))
    }
    expect(tail(epsilonNano(epsilon))).toBeGreaterThan(SIGNIFICANCE)
    for (const asked of wrong) expect(tail(asked)).toBeLessThan(SIGNIFICANCE)
  })
})

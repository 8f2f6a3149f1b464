import { beforeAll, describe, expect, it } from 'vitest'
import { discreteLaplaceMass } from '../../../../src/core/mechanisms/samplers/discrete-laplace.ts'
import { untilAccepted } from '../../../../src/core/mechanisms/samplers/uniform-source.ts'
import { describeOnce, someOf } from '../../../cases.ts'
import { importSamplers, type Samplers } from '../sampler-copy.ts'
import { SELECTION_DISTRIBUTIONS } from '../selection/selection-distributions.ts'
import { enumerateTapes } from './enumerated-tape.ts'
import { EXACT_DISTRIBUTIONS } from './exact-distributions.ts'

describe('every outcome of every sampler has exactly its probability', () => {
  let samplers: Samplers
  beforeAll(async () => {
    samplers = await importSamplers()
  })

  it.each(someOf([...EXACT_DISTRIBUTIONS, ...SELECTION_DISTRIBUTIONS]))('$name', ({ violation }) => {
    expect(violation(samplers)).toBeUndefined()
  })
})

describeOnce('rejection', () => {
  it('leaves the distribution of an accepted attempt', () => {
    const { masses, unexplored } = enumerateTapes(
      (tape) =>
        untilAccepted(() => {
          const value = tape.below(5)
          return value < 3 ? value : undefined
        })(),
      1e-7,
    )
    expect([...masses.keys()].sort()).toEqual([0, 1, 2])
    for (const mass of masses.values()) expect(Math.abs(mass - (1 - unexplored) / 3)).toBeLessThan(1e-12)
  })

  it('and attempts give the discrete Laplace distribution, restarts and all', async () => {
    const { laplace } = await importSamplers()
    const scale = { numerator: 1n, denominator: 1n }
    const { masses, unexplored } = enumerateTapes(
      (tape) => laplace.discreteLaplaceSampler(scale, tape)(),
      1e-9,
    )
    expect(unexplored).toBeLessThan(1e-6)
    for (const [value, mass] of masses) {
      const truth = discreteLaplaceMass(value, scale)
      expect(mass).toBeLessThanOrEqual(truth + 1e-12)
      expect(truth - mass).toBeLessThanOrEqual(unexplored + 1e-12)
    }
  })
})

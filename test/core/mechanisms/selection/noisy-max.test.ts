import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { discreteLaplaceMass } from '../../../../src/core/mechanisms/samplers/discrete-laplace.ts'
import { systemEntropy } from '../../../../src/core/mechanisms/samplers/entropy.ts'
import {
  calibrateNoisyMax,
  type NoisyMaxMeasurement,
  type NoisyMaxSetting,
  noisyMaxGapAccuracy,
  noisyMaxHalfWidth,
  noisyMaxPrivacyMap,
  noisyMaxRho,
  type SelectionNoise,
  selectNoisyMax,
} from '../../../../src/core/mechanisms/selection/noisy-max.ts'
import { epsilonNano } from '../../../../src/privacy/loss.ts'
import { type Rational, rational } from '../../../../src/privacy/rational.ts'
import type { Refusal } from '../../../../src/privacy/refusal.ts'
import {
  exponentialMasses,
  noisyMaxMasses,
  permuteAndFlipMasses,
} from '../../../../src/studies/evaluation/selection-masses.ts'
import { thrownRefusal } from '../../../refusal.ts'
import { anyEpsilon } from '../support.ts'

const ONE_EPSILON = epsilonNano(1_000_000_000n)
const HALF_EPSILON = epsilonNano(500_000_000n)
const NOISES: readonly SelectionNoise[] = ['laplace', 'exponential', 'gumbel']
const COUNTS: NoisyMaxSetting = {
  candidates: 5,
  k: 1,
  gap: false,
  noise: 'laplace',
  sensitivity: 1n,
  monotonic: true,
}

function refusalOf(setting: NoisyMaxSetting): Refusal {
  return thrownRefusal(() => calibrateNoisyMax(setting, ONE_EPSILON))
}

describe('calibration', () => {
  it('has an exact scale of k spread / epsilon for noise that is never drawn', () => {
    const scaleOf = (change: Partial<NoisyMaxSetting>) =>
      calibrateNoisyMax({ ...COUNTS, noise: 'gumbel', ...change }, epsilonNano(300_000_000n)).scale
    expect(scaleOf({})).toEqual(rational(10n, 3n))
    expect(scaleOf({ monotonic: false })).toEqual(rational(20n, 3n))
    expect(scaleOf({ k: 3 })).toEqual(rational(10n, 1n))
    expect(scaleOf({ sensitivity: 7n, noise: 'exponential' })).toEqual(rational(70n, 3n))
  })

  it('has a whole scale of 2^40 or more for Laplace noise, rounded up, on a public grid', () => {
    const { scale, fractionBits } = calibrateNoisyMax(
      { ...COUNTS, gap: true, k: 2 },
      epsilonNano(300_000_000n),
    )
    expect(fractionBits).toBe(38)
    expect(scale).toEqual(rational((20n * 2n ** 38n + 2n) / 3n, 1n))
  })

  it('costs exactly the requested loss, over the whole domain', () => {
    fc.assert(
      fc.property(
        fc.bigInt(1n, 1n << 55n),
        fc.boolean(),
        fc.integer({ min: 1, max: 5 }),
        fc.constantFrom(...NOISES),
        anyEpsilon,
        (sensitivity, monotonic, k, noise, epsilon) => {
          const measurement = calibrateNoisyMax({ ...COUNTS, sensitivity, monotonic, k, noise }, epsilon)
          expect(noisyMaxPrivacyMap(measurement)).toEqual(measurement.loss)
          expect(measurement.loss.epsilonNano).toBe(epsilon)
        },
      ),
    )
  })

  it('refuses a gap without Laplace noise', () => {
    for (const noise of ['exponential', 'gumbel'] as const) {
      const { code, errors } = refusalOf({ ...COUNTS, noise, gap: true })
      expect(code).toBe('mechanism-not-applicable')
      expect(errors.map(({ field }) => field)).toEqual(['gap'])
    }
  })

  it('refuses to select more candidates than there are, or all of them with gaps', () => {
    for (const setting of [
      { ...COUNTS, k: 6 },
      { ...COUNTS, k: 5, gap: true },
      { ...COUNTS, candidates: 1, gap: true },
    ]) {
      const { code, errors } = refusalOf(setting)
      expect(code).toBe('query-does-not-fit')
      expect(errors.map(({ field }) => field)).toEqual(['k'])
    }
    expect(() => calibrateNoisyMax({ ...COUNTS, k: 5 }, ONE_EPSILON)).not.toThrow()
  })

  it('refuses a sensitivity or an epsilon of 0, and a k that selects nothing', () => {
    expect(() => calibrateNoisyMax({ ...COUNTS, sensitivity: 0n }, ONE_EPSILON)).toThrow(RangeError)
    expect(() => calibrateNoisyMax(COUNTS, epsilonNano(0n))).toThrow(RangeError)
    for (const k of [0, -1, 1.5, Number.NaN])
      expect(() => calibrateNoisyMax({ ...COUNTS, k }, ONE_EPSILON)).toThrow(RangeError)
  })
})

describe('the privacy maps', () => {
  it('scale with the sensitivity, and charge general scores twice', () => {
    for (const noise of NOISES) {
      const measurement = calibrateNoisyMax({ ...COUNTS, noise, k: 2 }, ONE_EPSILON)
      expect(noisyMaxPrivacyMap({ ...measurement, sensitivity: 3n, monotonic: true }).epsilonNano).toBe(
        3_000_000_000n,
      )
      expect(noisyMaxPrivacyMap({ ...measurement, sensitivity: 3n, monotonic: false }).epsilonNano).toBe(
        6_000_000_000n,
      )
      expect(noisyMaxPrivacyMap({ ...measurement, sensitivity: 0n, monotonic: true }).epsilonNano).toBe(0n)
    }
  })

  it('state rho by noise: bounded range for Gumbel only', () => {
    const rho = (noise: SelectionNoise, k: number, epsilon = ONE_EPSILON) =>
      noisyMaxRho(calibrateNoisyMax({ ...COUNTS, noise, k }, epsilon))
    // Computed with 60 digits: of a bounded range, alone and three times at a third; of e + exp(-e) - 1, alone and four
    // times at a quarter.
    expect(rho('gumbel', 1)).toBe(123_301_561_483n)
    expect(rho('gumbel', 3)).toBe(41_602_524_598n)
    expect(rho('exponential', 1)).toBe(367_879_441_172n)
    expect(rho('exponential', 4)).toBe(115_203_132_286n)
    expect(rho('laplace', 1)).toBe(367_879_441_172n)
    expect(rho('laplace', 4)).toBe(367_879_441_172n)
    expect(rho('laplace', 4, epsilonNano(20_000_000_000n))).toBe(19_000_000_002_062n)
    for (const noise of NOISES)
      for (const k of [1, 2, 3, 4])
        expect(rho(noise, k, epsilonNano(1_000_000_000_000n)) <= 1_000_000_000_000_000n).toBe(true)
  })
})

describe('ties and the gap', () => {
  /*
   * Candidates 0 and 1 lead by 6, 2 and 3 are equal; in the neighbour the leaders have one more and the others one less.
   * Candidate 2 selected with a gap of 0: all of it ties.
   */
  const scale = rational(2n, 1n)
  const epsilon = 2 / (Number(scale.numerator) / Number(scale.denominator))
  const mass = (value: number) => discreteLaplaceMass(BigInt(value), scale)
  const values = Array.from({ length: 241 }, (_, index) => index - 120)
  const cumulative = new Map<number, number>()
  let sum = 0
  for (const value of values) {
    sum += mass(value)
    cumulative.set(value, sum)
  }
  const atMost = (value: number) => (value > 120 ? 1 : (cumulative.get(value) ?? 0))

  /** P(2 wins, at a plain difference of 0 to candidate 3): both are at v, and the leaders, who win ties, below. */
  const plain = (lead: number, behind: number) =>
    values.reduce((total, v) => total + mass(v - behind) ** 2 * atMost(v - 1 - lead) ** 2, 0)

  /** P(2 wins with a gap of 0 to the handicapped rivals): it is at the best of them. */
  const handicapped = (lead: number, behind: number) => {
    const best = (v: number) => atMost(v - 1 - lead) ** 2 * atMost(v - behind)
    return values.reduce((total, v) => total + mass(v - behind) * (best(v) - best(v - 1)), 0)
  }

  it('a plain gap would cost more than epsilon, the released one does not', () => {
    expect(Math.log(plain(6, 0) / plain(7, -1))).toBeGreaterThan(1.3 * epsilon)
    for (let lead = 0; lead < 12; lead += 1)
      expect(Math.abs(Math.log(handicapped(lead, 0) / handicapped(lead + 1, -1)))).toBeLessThanOrEqual(
        epsilon + 1e-9,
      )
  })
})

describe('accuracy', () => {
  const measurementOf = (noise: SelectionNoise, scale: Rational, candidates: number, k: number) =>
    ({
      ...calibrateNoisyMax({ ...COUNTS, noise, candidates, k }, ONE_EPSILON),
      scale,
      fractionBits: 0,
    }) as const

  /** P(the worse of two candidates, behind by this, is selected). */
  const inversion = ({ noise, scale }: NoisyMaxMeasurement, distance: number): number => {
    const exponent = rational(scale.denominator, scale.numerator)
    if (noise === 'exponential') return permuteAndFlipMasses([0n, -BigInt(distance)], exponent)[1] ?? 0
    if (noise === 'gumbel') return exponentialMasses([0, distance], [1, 1], exponent)[1] ?? 0
    let [below, sum] = [0, 0]
    const reach = 100 * Math.ceil(Number(scale.numerator) / Number(scale.denominator))
    // The worse one has the lower index, and wins ties.
    for (let value = -reach; value <= reach; value += 1) {
      below += discreteLaplaceMass(BigInt(value), scale)
      sum += below * discreteLaplaceMass(BigInt(value + distance), scale)
    }
    return sum
  }

  it('is the least that holds between two candidates', () => {
    for (const noise of NOISES)
      for (const scale of [rational(1n, 3n), rational(3n, 1n), rational(10n, 1n)])
        for (const confidence of [0.6, 0.95, 0.9999]) {
          const measurement = measurementOf(noise, scale, 2, 1)
          const halfWidth = noisyMaxHalfWidth(measurement, confidence)
          expect(Number.isInteger(halfWidth)).toBe(true)
          expect(inversion(measurement, halfWidth + 1)).toBeLessThanOrEqual(1 - confidence + 1e-12)
          if (halfWidth > 0) expect(inversion(measurement, halfWidth)).toBeGreaterThan(1 - confidence - 1e-9)
        }
  })

  it('holds for the two best of four', () => {
    const rounds = (
      scores: readonly bigint[],
      noise: SelectionNoise,
      exponent: Rational,
      halfWidth: number,
    ) => {
      const masses = (all: readonly bigint[]): readonly number[] => {
        const best = all.reduce((a, b) => (a > b ? a : b))
        return noise === 'exponential'
          ? permuteAndFlipMasses(all, exponent)
          : [
              ...exponentialMasses(
                all.map((score) => Number(best - score)),
                all.map(() => 1),
                exponent,
              ),
            ]
      }
      const missed = (all: readonly bigint[], chosen: number) =>
        all.some((score) => score - (all[chosen] ?? 0n) > BigInt(halfWidth))
      return masses(scores).reduce((total, mass, first) => {
        const rest = scores.filter((_, index) => index !== first)
        const second = masses(rest).reduce(
          (sum, restMass, chosen) => sum + (missed(scores, first) || missed(rest, chosen) ? restMass : 0),
          0,
        )
        return total + mass * second
      }, 0)
    }
    for (const noise of ['exponential', 'gumbel'] as const) {
      const scale = rational(2n, 1n)
      const halfWidth = noisyMaxHalfWidth(measurementOf(noise, scale, 4, 2), 0.9)
      let most = 0
      for (let a = 0n; a <= 24n; a += 2n)
        for (let b = 0n; b <= a; b += 1n)
          most = Math.max(most, rounds([a, b, b / 2n, 0n], noise, rational(1n, 2n), halfWidth))
      expect(most).toBeLessThanOrEqual(0.1)
      expect(most).toBeGreaterThan(0.02)
    }
  })

  it('grows with k and with the candidates, and is 0 without a choice', () => {
    for (const noise of NOISES) {
      const of = (candidates: number, k: number) =>
        noisyMaxHalfWidth(calibrateNoisyMax({ ...COUNTS, noise, candidates, k }, ONE_EPSILON), 0.95)
      expect(of(1, 1)).toBe(0)
      expect(of(10, 1)).toBeLessThan(of(1000, 1))
      expect(of(10, 1)).toBeLessThan(of(10, 3))
    }
    const measurement = calibrateNoisyMax(COUNTS, ONE_EPSILON)
    for (const confidence of [0, 1, Number.NaN])
      expect(() => noisyMaxHalfWidth(measurement, confidence)).toThrow(RangeError)
  })
})

describe('the selection', () => {
  const source = systemEntropy()
  const MOST = epsilonNano(1_000_000_000_000n)

  it('is in the true order if noise is small, including scores beyond 2^53', () => {
    const scores = [20n, -(10n ** 30n), 10n ** 30n, 0n, 40n]
    for (const noise of NOISES) {
      const measurement = calibrateNoisyMax({ ...COUNTS, noise, k: 5 }, MOST)
      expect(selectNoisyMax(measurement, scores, source)).toEqual(
        [2, 4, 0, 3, 1].map((candidate) => ({ candidate })),
      )
    }
  })

  it('returns gaps in output units', () => {
    const measurement = calibrateNoisyMax({ ...COUNTS, k: 2, gap: true, candidates: 4 }, MOST)
    const selected = selectNoisyMax(measurement, [5n, 1000n, 400n, 0n], source)
    expect(selected.map(({ candidate }) => candidate)).toEqual([1, 2])
    const gaps = selected.map(({ gap }) => Number(gap) / 2 ** measurement.fractionBits)
    expect(Math.abs((gaps[0] ?? 0) - 600)).toBeLessThan(1)
    expect(Math.abs((gaps[1] ?? 0) - 395)).toBeLessThan(1)
  })

  it('states the accuracy of its gaps: errors rarely exceed it, and sometimes nearly reach it', () => {
    const scores = [5n, 9n, 40n, 41n, 300n, 7n]
    const measurement = calibrateNoisyMax({ ...COUNTS, k: 2, gap: true, candidates: 6 }, ONE_EPSILON)
    const { halfWidth } = noisyMaxGapAccuracy(measurement, 0.95)
    let [missed, nearly] = [0, 0]
    const draws = 4000
    for (let draw = 0; draw < draws; draw += 1) {
      const [first, second] = selectNoisyMax(measurement, scores, source)
      if (first === undefined || second === undefined) throw new Error('two were asked for')
      const left = scores.filter((_, index) => index !== first.candidate && index !== second.candidate)
      const best = left.reduce((largest, score) => (score > largest ? score : largest))
      const scoreOf = ({ candidate }: { candidate: number }) => Number(scores[candidate])
      const errorOf = ({ gap = 0n }: { gap?: bigint }, truth: number) =>
        Math.abs(Number(gap) / 2 ** measurement.fractionBits - truth)
      const error = Math.max(
        errorOf(first, scoreOf(first) - scoreOf(second)),
        errorOf(second, scoreOf(second) - Number(best)),
      )
      if (error > halfWidth) missed += 1
      if (error > halfWidth / 2) nearly += 1
    }
    // At most 5% of errors exceed it; 8% would be nine standard deviations off.
    expect(missed / draws).toBeLessThan(0.08)
    expect(nearly / draws).toBeGreaterThan(0.01)
    const without = calibrateNoisyMax({ ...COUNTS, k: 2, gap: false, candidates: 6 }, ONE_EPSILON)
    expect(() => noisyMaxGapAccuracy(without, 0.95)).toThrow(RangeError)
  })

  it('has a score for each candidate, no more and no fewer', () => {
    const measurement = calibrateNoisyMax(COUNTS, ONE_EPSILON)
    expect(() => selectNoisyMax(measurement, [1n, 2n, 3n, 4n], source)).toThrow(RangeError)
    expect(() => selectNoisyMax(measurement, [1n, 2n, 3n, 4n, 5n, 6n], source)).toThrow(RangeError)
  })

  it('releases nothing if randomness fails', () => {
    const broken = systemEntropy(() => {
      throw new Error('no entropy')
    })
    for (const noise of NOISES)
      expect(() =>
        selectNoisyMax(calibrateNoisyMax({ ...COUNTS, noise }, ONE_EPSILON), [0n, 0n, 0n, 0n, 1n], broken),
      ).toThrow('randomness')
  })

  it('supports a hundred thousand candidates', () => {
    const scores = Array.from({ length: 100_000 }, (_, index) => BigInt(index % 1000))
    for (const noise of NOISES) {
      const measurement = calibrateNoisyMax({ ...COUNTS, noise, k: 3, candidates: 100_000 }, ONE_EPSILON)
      const selected = selectNoisyMax(measurement, scores, source).map(({ candidate }) => candidate)
      expect(new Set(selected).size).toBe(3)
      const halfWidth = noisyMaxHalfWidth(measurement, 1 - 2 ** -50)
      for (const candidate of selected) expect(999 - Number(scores[candidate])).toBeLessThanOrEqual(halfWidth)
    }
  })
})

describe('the probabilities of the candidates', () => {
  it('are those of two Laplace draws, in closed form', () => {
    // P(a difference of two draws is d scales or more) = exp(-d) (2 + d) / 4.
    const measurement = calibrateNoisyMax({ ...COUNTS, candidates: 2, noise: 'laplace' }, ONE_EPSILON)
    const scale = Number(measurement.scale.numerator) / 2 ** measurement.fractionBits
    for (const distance of [0, 1, 3, 20]) {
      const [behind = 0, ahead = 0] = noisyMaxMasses(measurement, [5n, 5n + BigInt(distance)])
      const d = distance / scale
      expect(behind).toBeCloseTo((Math.exp(-d) * (2 + d)) / 4, 9)
      expect(behind + ahead).toBeCloseTo(1, 9)
    }
  })

  it.each(NOISES)('equal the observed frequencies, with %s noise', (noise) => {
    const scores = [3n, 4n, 1n, 4n, 0n]
    const measurement = calibrateNoisyMax({ ...COUNTS, noise, candidates: 5 }, ONE_EPSILON)
    const masses = noisyMaxMasses(measurement, scores)
    const counts = [0, 0, 0, 0, 0]
    const draws = 20_000
    const source = systemEntropy()
    for (let draw = 0; draw < draws; draw += 1) {
      const [selected] = selectNoisyMax(measurement, scores, source)
      if (selected !== undefined) counts[selected.candidate] = (counts[selected.candidate] ?? 0) + 1
    }
    expect(masses.reduce((sum, mass) => sum + mass, 0)).toBeCloseTo(1, 9)
    for (const [candidate, mass] of masses.entries()) {
      const spread = Math.sqrt((mass * (1 - mass)) / draws)
      expect(Math.abs((counts[candidate] ?? 0) / draws - mass) / spread).toBeLessThan(9.5)
    }
    // The distribution of twice the noise would be detected.
    const wider = noisyMaxMasses(calibrateNoisyMax({ ...COUNTS, noise, candidates: 5 }, HALF_EPSILON), scores)
    const distances = wider.map((mass, candidate) => {
      const spread = Math.sqrt((mass * (1 - mass)) / draws)
      return Math.abs((counts[candidate] ?? 0) / draws - mass) / spread
    })
    expect(Math.max(...distances)).toBeGreaterThan(9.5)
  })
})

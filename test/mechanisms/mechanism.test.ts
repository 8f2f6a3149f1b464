import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { calibrateGaussian } from '../../src/mechanisms/gaussian.ts'
import { calibrateGeometric } from '../../src/mechanisms/geometric.ts'
import { calibrateLaplace } from '../../src/mechanisms/laplace.ts'
import { addNoise, type MechanismName } from '../../src/mechanisms/measurement.ts'
import {
  accuracy,
  MECHANISM_NAMES,
  mass,
  privacyMap,
  zeroConcentratedMap,
} from '../../src/mechanisms/mechanism.ts'
import { systemEntropy } from '../../src/mechanisms/samplers/entropy.ts'
import { deltaAtto, epsilonNano } from '../../src/privacy/loss.ts'
import { scalarSensitivity } from './support.ts'

const ONE = epsilonNano(1_000_000_000n)
const sensitivity = scalarSensitivity(1n)
const MEASUREMENTS = [
  calibrateGeometric(sensitivity, ONE),
  calibrateLaplace(sensitivity, ONE),
  calibrateGaussian(sensitivity, ONE, deltaAtto(10n ** 12n), 'analytic'),
]

describe('the proof pages', () => {
  const folder = new URL('../../src/mechanisms/', import.meta.url)
  /** A mechanism's file is one that binds it to its parameters. */
  const files = readdirSync(folder).filter(
    (name) =>
      name.endsWith('.ts') &&
      /^export (async )?(function|const) calibrate/m.test(readFileSync(new URL(name, folder), 'utf8')),
  )

  it('are required for every file that calibrates a mechanism, and every additive one is among those', () => {
    expect(files).toEqual(expect.arrayContaining(MECHANISM_NAMES.map((name) => `${name}.ts`)))
  })

  it.each(files)('there is one for %s, and both name each other', (name) => {
    const page = `docs/proofs/${name.replace(/\.ts$/, '.md')}`
    const file = new URL(`../../${page}`, import.meta.url)
    expect(existsSync(file), page).toBe(true)
    expect(readFileSync(file, 'utf8')).toContain(`src/mechanisms/${name}`)
    expect(readFileSync(new URL(name, folder), 'utf8')).toContain(page)
  })
})

/** L2^2 / (2 sigma^2) in units of 1e-12, rounded up, by the definition of rounding up. */
function gaussianRho({ noise, fractionBits }: (typeof MEASUREMENTS)[number]): bigint {
  if (noise.kind !== 'discrete-gaussian') return 0n
  const [dividend, divisor] = [(10n ** 12n) << BigInt(2 * fractionBits), 2n * noise.sigma * noise.sigma]
  const rho = dividend / divisor + 1n
  expect(rho * divisor > dividend && (rho - 1n) * divisor < dividend).toBe(true)
  expect(Number(rho) / 1e12).toBeCloseTo(1 / (2 * 4.224678889 ** 2), 7)
  return rho
}

it('every mechanism is among those tested here', () => {
  expect(MEASUREMENTS.map(({ mechanism }) => mechanism)).toEqual(MECHANISM_NAMES)
})

describe.each(MEASUREMENTS)('$mechanism', (measurement) => {
  const unit = 1n << BigInt(measurement.fractionBits)

  it('adds noise around each value, scaled to output units, as its accuracy says', () => {
    const values = [0n, 5n, -5n, 10n ** 40n]
    const { halfWidth, standardDeviation } = accuracy(measurement, 1 - 1e-12)
    const rounds = 2000
    const errors = values.map(() => 0)
    const source = systemEntropy()
    for (let round = 0; round < rounds; round += 1) {
      addNoise(measurement, values, source).forEach((noisy, index) => {
        const error = Number(noisy - (values[index] ?? 0n) * unit) / Number(unit)
        expect(Math.abs(error)).toBeLessThanOrEqual(halfWidth)
        errors[index] = (errors[index] ?? 0) + error / rounds
      })
    }
    // Ten standard errors of the mean: fails once in 1e22.
    for (const error of errors)
      expect(Math.abs(error)).toBeLessThan((10 * standardDeviation) / Math.sqrt(rounds))
  })

  it('costs the loss that it was calibrated to', () => {
    const loss = privacyMap(measurement, sensitivity)
    expect(loss.epsilonNano).toBe(measurement.loss.epsilonNano)
    expect(loss.deltaAtto <= measurement.loss.deltaAtto).toBe(true)
  })

  it('costs the rho of its distribution, rounded up', () => {
    const expected: Record<MechanismName, bigint> = {
      // Computed: epsilon tanh(epsilon / 2) at epsilon 1 is 0.4621171572600097.
      geometric: 462_117_157_261n,
      // Computed: exp(-1), from 0.36787944117144233 on.
      laplace: 367_879_441_172n,
      // Exact, from the sigma of the measurement; 1 / (2 * 4.2247...^2) at delta 1e-6.
      gaussian: gaussianRho(measurement),
    }
    expect(zeroConcentratedMap(measurement, sensitivity)).toBe(expected[measurement.mechanism])
    const none = zeroConcentratedMap(measurement, { l0: 0n, l1: 0n, l2Squared: 0n, lInfinity: 0n })
    expect(none).toBe(0n)
  })

  it('knows the probability of every noise', () => {
    const { standardDeviation, expectedAbsoluteError } = accuracy(measurement, 0.95)
    // Trapezoids as wide as a fortieth of the deviation, which is a whole number of units or one of them.
    const step = BigInt(Math.max(1, Math.floor((Number(unit) * standardDeviation) / 40)))
    const sums = { mass: 0, absolute: 0, square: 0 }
    for (let noise = -2000n * step; noise <= 2000n * step; noise += step) {
      const probability = mass(measurement, noise) * Number(step)
      const error = Number(noise) / Number(unit)
      sums.mass += probability
      sums.absolute += Math.abs(error) * probability
      sums.square += error * error * probability
    }
    expect(sums.mass).toBeCloseTo(1, 3)
    expect(sums.absolute / expectedAbsoluteError).toBeCloseTo(1, 3)
    expect(Math.sqrt(sums.square) / standardDeviation).toBeCloseTo(1, 3)
  })

  it('releases nothing when randomness fails', () => {
    const failing = systemEntropy(() => {
      throw new Error('no entropy')
    })
    expect(() => addNoise(measurement, [1n], failing)).toThrow('the source of randomness failed')
  })
})

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { addNoise, type MechanismName } from '../../../src/core/mechanisms/measurement.ts'
import { accuracy, privacyMap, zeroConcentratedMap } from '../../../src/core/mechanisms/mechanism.ts'
import { calibrateGaussian } from '../../../src/core/mechanisms/noise/gaussian.ts'
import { calibrateGeometric } from '../../../src/core/mechanisms/noise/geometric.ts'
import { calibrateLaplace } from '../../../src/core/mechanisms/noise/laplace.ts'
import { systemEntropy } from '../../../src/core/mechanisms/samplers/entropy.ts'
import { deltaAtto, epsilonNano } from '../../../src/privacy/loss.ts'
import { mass } from '../../../src/studies/plots/noise-distribution.ts'
import { scalarSensitivity } from './support.ts'

const ONE = epsilonNano(1_000_000_000n)
const sensitivity = scalarSensitivity(1n)
const MEASUREMENTS = [
  calibrateGeometric(sensitivity, ONE),
  calibrateLaplace(sensitivity, ONE),
  calibrateGaussian(sensitivity, ONE, deltaAtto(10n ** 12n), 'analytic'),
]

describe('the proof pages', () => {
  const root = path.resolve(import.meta.dirname, '../../..')
  const folder = path.join(root, 'src/core/mechanisms')
  const read = (file: string) => readFileSync(path.join(root, file), 'utf8')
  /** A mechanism's file is one that binds it to its parameters. */
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `src/core/mechanisms/${name}`)
    .filter((file) => /^export (async )?(function|const) calibrate/m.test(read(file)))

  it('are required for every file that calibrates a mechanism, and every additive one is among those', () => {
    expect(files.map((file) => path.basename(file, '.ts'))).toEqual(
      expect.arrayContaining(MEASUREMENTS.map(({ mechanism }) => mechanism)),
    )
  })

  it.each(files)('there is one beside %s, and both name each other', (file) => {
    const page = file.replace(/\.ts$/, '.md')
    expect(existsSync(path.join(root, page)), page).toBe(true)
    expect(read(page)).toContain(file)
    expect(read(file)).toContain(page)
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

import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { systemEntropy } from '../../src/mechanisms/entropy.ts'
import { calibrateGaussian } from '../../src/mechanisms/gaussian.ts'
import { calibrateGeometric } from '../../src/mechanisms/geometric.ts'
import { calibrateLaplace } from '../../src/mechanisms/laplace.ts'
import { accuracy, addNoise, MECHANISM_NAMES, privacyMap } from '../../src/mechanisms/mechanism.ts'
import { deltaAtto, epsilonNano } from '../../src/privacy/loss.ts'
import { scalarSensitivity } from './support.ts'

const ONE = epsilonNano(1_000_000_000n)
const sensitivity = scalarSensitivity(1n)
const MEASUREMENTS = [
  calibrateGeometric(sensitivity, ONE),
  calibrateLaplace(sensitivity, ONE),
  calibrateGaussian(sensitivity, ONE, deltaAtto(10n ** 12n), 'analytic'),
]

it.each(MECHANISM_NAMES)('%s has its proof page', (name) => {
  expect(existsSync(new URL(`../../docs/proofs/${name}.md`, import.meta.url))).toBe(true)
})

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

  it('costs what it was calibrated to', () => {
    const loss = privacyMap(measurement, sensitivity)
    expect(loss.epsilonNano).toBe(measurement.loss.epsilonNano)
    expect(loss.deltaAtto <= measurement.loss.deltaAtto).toBe(true)
  })

  it('releases nothing when randomness fails', () => {
    const failing = systemEntropy(() => {
      throw new Error('no entropy')
    })
    expect(() => addNoise(measurement, [1n], failing)).toThrow('the source of randomness failed')
  })
})

import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Mechanism } from '../../../src/core/mechanisms/contract.ts'
import { gaussianMechanism } from '../../../src/core/mechanisms/noise/gaussian.ts'
import { geometricMechanism } from '../../../src/core/mechanisms/noise/geometric.ts'
import { laplaceMechanism } from '../../../src/core/mechanisms/noise/laplace.ts'
import { systemEntropy } from '../../../src/core/mechanisms/samplers/entropy.ts'
import {
  keyCountsMechanism,
  keyPresenceMechanism,
} from '../../../src/core/mechanisms/selection/key-selection.ts'
import { noisyMaxMechanism } from '../../../src/core/mechanisms/selection/noisy-max.ts'
import { percentileScore, quantileMechanism } from '../../../src/core/mechanisms/selection/quantile.ts'
import { sparseVectorMechanism } from '../../../src/core/mechanisms/selection/sparse-vector.ts'
import { coversLoss, deltaAtto, epsilonNano, NO_LOSS, type PrivacyLoss } from '../../../src/privacy/loss.ts'
import type { ScoreSensitivity } from '../../../src/privacy/sensitivity.ts'
import { ROW_OF_ONE_VALUE, scalarSensitivity } from './support.ts'

const PURE: PrivacyLoss = { ...NO_LOSS, epsilonNano: epsilonNano(1_000_000_000n) }
const APPROXIMATE: PrivacyLoss = { ...PURE, deltaAtto: deltaAtto(10n ** 12n) }

/** An example of a mechanism with everything that the contract requires. */
interface Checks {
  readonly name: string
  readonly spent: PrivacyLoss
  readonly asked: PrivacyLoss
  /** Sensitivity of a privacy unit that moves the input twice as far, if the mechanism supports it. */
  readonly spentTwice: PrivacyLoss
  readonly rho: bigint | undefined
  readonly accuracy: (confidence: number) => object
  readonly release: (failing: boolean) => unknown
}

function checks<Parameters, Measurement extends { readonly loss: PrivacyLoss }, Sensitivity, Input, Output>(
  name: string,
  mechanism: Mechanism<Parameters, Measurement, Sensitivity, Input, Output>,
  example: {
    readonly parameters: Parameters
    readonly asked: PrivacyLoss
    readonly sensitivity: Sensitivity
    readonly twice: Sensitivity
    readonly input: Input
  },
): Checks {
  const { asked, sensitivity, input } = example
  const measurement = mechanism.calibrate(example.parameters, asked)
  return {
    name,
    spent: mechanism.privacyMap(measurement, sensitivity),
    asked: measurement.loss,
    spentTwice: mechanism.privacyMap(measurement, example.twice),
    rho: mechanism.zeroConcentratedMap?.(measurement, sensitivity),
    accuracy: (confidence) => mechanism.accuracy(measurement, confidence),
    release: (failing) => {
      const source = failing
        ? systemEntropy(() => {
            throw new Error('no entropy')
          })
        : systemEntropy()
      return mechanism.release(measurement, input, source)
    },
  }
}

const [one, two] = [1n, 2n].map((sensitivity): ScoreSensitivity => ({ sensitivity, monotonic: false }))
if (one === undefined || two === undefined) throw new Error('two sensitivities')
const vector = { sensitivity: scalarSensitivity(1n), twice: scalarSensitivity(2n), input: [3n, -4n] }
const scores = { sensitivity: one, twice: two, input: [5n, 7n, 1n] }
const keys = { sensitivity: ROW_OF_ONE_VALUE['add-remove'], twice: ROW_OF_ONE_VALUE['change-one'] }

const MECHANISMS: readonly Checks[] = [
  checks('geometric', geometricMechanism, { ...vector, asked: PURE, parameters: vector }),
  checks('laplace', laplaceMechanism, { ...vector, asked: PURE, parameters: vector }),
  checks('gaussian', gaussianMechanism, {
    ...vector,
    asked: APPROXIMATE,
    parameters: { ...vector, calibration: 'analytic' },
  }),
  checks('noisy-max', noisyMaxMechanism, {
    ...scores,
    asked: PURE,
    parameters: { ...one, candidates: 3, k: 1, gap: true, noise: 'laplace' },
  }),
  checks('quantile', quantileMechanism, {
    ...scores,
    asked: PURE,
    parameters: { score: percentileScore(1n, 2n), sensitivity: 1n, lowerIndex: 0n, upperIndex: 9n },
    input: { indexes: Float64Array.of(2, 5), counts: Float64Array.of(3, 1) },
  }),
  checks('key-selection', keyCountsMechanism, {
    ...keys,
    asked: APPROXIMATE,
    parameters: keys,
    input: [40, 2],
  }),
  checks('key-selection', keyPresenceMechanism, {
    ...keys,
    asked: APPROXIMATE,
    parameters: keys,
    input: [40, 2],
  }),
  checks('sparse-vector', sparseVectorMechanism, {
    ...scores,
    asked: PURE,
    parameters: { ...one, positives: 2 },
    input: { threshold: 5n, thresholdNoise: 0n, positivesFound: 0, value: 4n },
  }),
]

it('covers every file that declares a mechanism', () => {
  const folder = new URL('../../../src/core/mechanisms/', import.meta.url)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )
  const declared = files.filter((name) =>
    /^export const \w+Mechanism = /m.test(readFileSync(new URL(name, folder), 'utf8')),
  )
  const calibrating = files.filter((name) =>
    /^export (async )?function calibrate/m.test(readFileSync(new URL(name, folder), 'utf8')),
  )
  // Over the points of a grid, the exponential mechanism is that of quantiles.
  expect(declared).toEqual(calibrating.filter((name) => path.basename(name) !== 'exponential.ts'))
  expect([...new Set(MECHANISMS.map(({ name }) => `${name}.ts`))].sort()).toEqual(
    declared.map((file) => path.basename(file)).sort(),
  )
})

describe.each(MECHANISMS)('$name', ({ spent, asked, spentTwice, rho, accuracy, release }) => {
  it('costs the requested loss, and more if the input moves further', () => {
    expect(spent.epsilonNano).toBe(asked.epsilonNano)
    expect(coversLoss(asked, spent)).toBe(true)
    expect(coversLoss(asked, spentTwice)).toBe(false)
  })

  it('costs at most the rho of its epsilon if it is pure, and has no rho if it selects keys', () => {
    if (asked.deltaAtto === 0n) {
      expect(rho).toBeGreaterThan(0n)
      // Any mechanism of epsilon 1 costs tanh(1 / 2) at most, rounded up.
      expect(rho).toBeLessThanOrEqual(462_117_157_261n)
    } else if (rho !== undefined) expect(rho).toBeGreaterThan(0n)
  })

  it('states its accuracy at any confidence strictly between 0 and 1', () => {
    expect(accuracy(0.9)).toMatchObject({ confidence: 0.9 })
    for (const confidence of [0, 1, Number.NaN]) expect(() => accuracy(confidence)).toThrow(RangeError)
  })

  it('releases something, and nothing when randomness fails', () => {
    expect(release(false)).toBeDefined()
    expect(() => release(true)).toThrow('the source of randomness failed')
  })
})

import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { addNoise, type Measurement } from '../../../src/core/mechanisms/measurement.ts'
import { accuracy, privacyMap, zeroConcentratedMap } from '../../../src/core/mechanisms/mechanism.ts'
import { calibrateGaussian } from '../../../src/core/mechanisms/noise/gaussian.ts'
import { calibrateGeometric } from '../../../src/core/mechanisms/noise/geometric.ts'
import { calibrateLaplace } from '../../../src/core/mechanisms/noise/laplace.ts'
import { systemEntropy } from '../../../src/core/mechanisms/samplers/entropy.ts'
import type { UniformSource } from '../../../src/core/mechanisms/samplers/uniform-source.ts'
import { exponentialPrivacyMap, exponentialRho } from '../../../src/core/mechanisms/selection/exponential.ts'
import {
  calibrateKeyCounts,
  calibrateKeyPresence,
  keyCountsPrivacyMap,
  keyPresencePrivacyMap,
  keyPresenceSampler,
  keySelectionAccuracy,
  releaseKeyCounts,
} from '../../../src/core/mechanisms/selection/key-selection.ts'
import {
  calibrateNoisyMax,
  noisyMaxHalfWidth,
  noisyMaxPrivacyMap,
  noisyMaxRho,
  selectNoisyMax,
} from '../../../src/core/mechanisms/selection/noisy-max.ts'
import {
  calibrateQuantile,
  percentileScore,
  quantileHalfWidth,
  selectQuantile,
} from '../../../src/core/mechanisms/selection/quantile.ts'
import {
  calibrateSparseVector,
  compareWithThreshold,
  sparseVectorGapAccuracy,
  sparseVectorPrivacyMap,
  sparseVectorRho,
} from '../../../src/core/mechanisms/selection/sparse-vector.ts'
import {
  coversLoss,
  deltaAtto,
  epsilonNano,
  type PrivacyLoss,
  type RhoPico,
} from '../../../src/privacy/loss.ts'
import { ROW_OF_ONE_VALUE, scalarSensitivity } from './support.ts'

/** A mechanism that is calibrated to a loss. */
interface Checks {
  readonly name: string
  readonly measurement: { readonly loss: PrivacyLoss }
  readonly spent: PrivacyLoss
  /** The loss if a privacy unit moves the input twice as far. */
  readonly spentTwice: PrivacyLoss
  readonly rho?: RhoPico
  readonly accuracy: (confidence: number) => unknown
  readonly release: (source: UniformSource) => unknown
}

const [ONE, TWO] = [scalarSensitivity(1n), scalarSensitivity(2n)]

function additive(measurement: Measurement): Checks {
  return {
    name: measurement.mechanism,
    measurement,
    spent: privacyMap(measurement, ONE),
    spentTwice: privacyMap(measurement, TWO),
    rho: zeroConcentratedMap(measurement, ONE),
    accuracy: (confidence) => accuracy(measurement, confidence),
    release: (source) => addNoise(measurement, [3n, -4n], source),
  }
}

const [EPSILON, DELTA] = [epsilonNano(1_000_000_000n), deltaAtto(10n ** 12n)]
const SCORES = { sensitivity: 1n, monotonic: false }
const ROW = ROW_OF_ONE_VALUE['add-remove']
const REPLACED = { sensitivity: ROW_OF_ONE_VALUE['change-one'] }
const TWICE = { sensitivity: 2n }
const noisyMax = calibrateNoisyMax({ ...SCORES, candidates: 3, k: 1, gap: true, noise: 'laplace' }, EPSILON)
const quantile = calibrateQuantile(
  { score: percentileScore(1n, 2n), sensitivity: 1n, lowerIndex: 0n, upperIndex: 9n },
  EPSILON,
)
const keyCounts = calibrateKeyCounts(ROW, EPSILON, DELTA)
const keyPresence = calibrateKeyPresence(ROW, EPSILON, DELTA)
const sparseVector = calibrateSparseVector({ ...SCORES, positives: 2 }, EPSILON)

const MECHANISMS: readonly Checks[] = [
  additive(calibrateGeometric(ONE, EPSILON)),
  additive(calibrateLaplace(ONE, EPSILON)),
  additive(calibrateGaussian(ONE, EPSILON, DELTA, 'analytic')),
  {
    name: 'noisy-max',
    measurement: noisyMax,
    spent: noisyMaxPrivacyMap(noisyMax),
    spentTwice: noisyMaxPrivacyMap({ ...noisyMax, ...TWICE }),
    rho: noisyMaxRho(noisyMax),
    accuracy: (confidence) => noisyMaxHalfWidth(noisyMax, confidence),
    release: (source) => selectNoisyMax(noisyMax, [5n, 7n, 1n], source),
  },
  {
    name: 'quantile',
    measurement: quantile,
    spent: exponentialPrivacyMap(quantile),
    spentTwice: exponentialPrivacyMap({ ...quantile, ...TWICE }),
    rho: exponentialRho(quantile),
    accuracy: (confidence) => quantileHalfWidth(quantile, confidence),
    release: (source) =>
      selectQuantile(quantile, { indexes: Float64Array.of(2, 5), counts: Float64Array.of(3, 1) }, source),
  },
  {
    name: 'key-selection',
    measurement: keyCounts,
    spent: keyCountsPrivacyMap(keyCounts),
    spentTwice: keyCountsPrivacyMap({ ...keyCounts, ...REPLACED }),
    accuracy: (confidence) => keySelectionAccuracy(keyCounts, confidence),
    release: (source) => releaseKeyCounts(keyCounts, [40, 2], source),
  },
  {
    name: 'key-selection',
    measurement: keyPresence,
    spent: keyPresencePrivacyMap(keyPresence),
    spentTwice: keyPresencePrivacyMap({ ...keyPresence, ...REPLACED }),
    accuracy: (confidence) => keySelectionAccuracy(keyPresence, confidence),
    release: keyPresenceSampler(keyPresence, [40, 2]),
  },
  {
    name: 'sparse-vector',
    measurement: sparseVector,
    spent: sparseVectorPrivacyMap(sparseVector),
    spentTwice: sparseVectorPrivacyMap({ ...sparseVector, ...TWICE }),
    rho: sparseVectorRho(sparseVector),
    accuracy: (confidence) => sparseVectorGapAccuracy(sparseVector, confidence),
    release: (source) =>
      compareWithThreshold(
        sparseVector,
        { threshold: 5n, thresholdNoise: 0n, positivesFound: 0, value: 4n },
        source,
      ),
  },
]

it('covers every file that calibrates a mechanism', () => {
  const folder = new URL('../../../src/core/mechanisms/', import.meta.url)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) =>
      name.endsWith('.ts') &&
      /^export (async )?function calibrate/m.test(readFileSync(new URL(name, folder), 'utf8')),
  )
  // Over the points of a grid, the exponential mechanism is that of quantiles.
  const covered = [...MECHANISMS.map(({ name }) => `${name}.ts`), 'exponential.ts']
  expect([...new Set(covered)].sort()).toEqual(files.map((file) => path.basename(file)).sort())
})

describe.each(MECHANISMS)('$name', ({ measurement, spent, spentTwice, rho, accuracy, release }) => {
  const { loss } = measurement

  it('costs the requested loss, and more if the input moves further', () => {
    expect(spent.epsilonNano).toBe(EPSILON)
    expect(coversLoss(loss, spent)).toBe(true)
    expect(coversLoss(loss, spentTwice)).toBe(false)
  })

  it('costs at most the rho of its epsilon if it is pure, and has no rho if it selects keys', () => {
    if (loss.deltaAtto === 0n) {
      expect(rho).toBeGreaterThan(0n)
      // Any mechanism of epsilon 1 costs tanh(1 / 2) at most, rounded up.
      expect(rho).toBeLessThanOrEqual(462_117_157_261n)
    } else if (rho !== undefined) expect(rho).toBeGreaterThan(0n)
  })

  it('states its accuracy at any confidence strictly between 0 and 1', () => {
    expect(accuracy(0.9)).toBeDefined()
    for (const confidence of [0, 1, Number.NaN]) expect(() => accuracy(confidence)).toThrow(RangeError)
  })

  it('releases something, and nothing when randomness fails', () => {
    expect(release(systemEntropy())).toBeDefined()
    const failing = systemEntropy(() => {
      throw new Error('no entropy')
    })
    expect(() => release(failing)).toThrow('the source of randomness failed')
  })
})

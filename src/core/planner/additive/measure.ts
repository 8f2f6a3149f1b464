import {
  addLoss,
  type DeltaAtto,
  type EpsilonNano,
  epsilonNano,
  NO_LOSS,
  type PrivacyLoss,
  type RhoPico,
  rhoPico,
} from '../../../privacy/loss.ts'
import { entry } from '../../../privacy/must.ts'
import { Refusal, refuseField } from '../../../privacy/refusal.ts'
import type { Sensitivity } from '../../../privacy/sensitivity.ts'
import type { GaussianCalibration, Measurement, MechanismName } from '../../mechanisms/measurement.ts'
import { accuracy, zeroConcentratedMap } from '../../mechanisms/mechanism.ts'
import { calibrateGaussianJointly } from '../../mechanisms/noise/gaussian.ts'
import { calibrateGeometric } from '../../mechanisms/noise/geometric.ts'
import { calibrateLaplace } from '../../mechanisms/noise/laplace.ts'
import type { AdditiveQuery, AdditiveShape } from './shape.ts'

/**
 * Checks that a calibration is given for the Gaussian mechanism only.
 * @throws Refusal `invalid-request` otherwise.
 */
export function requireCalibrationFits({ calibration, mechanism }: AdditiveQuery): void {
  if (calibration === undefined || mechanism === 'gaussian') return
  throw refuseField('invalid-request', 'calibration', 'applies to the mechanism "gaussian" only')
}

/**
 * Lists the mechanisms that can answer a query: the one it names, or all that fit it.
 * @throws Refusal `mechanism-not-applicable` if the named mechanism does not fit.
 */
export function applicableMechanisms(
  { mechanism }: AdditiveQuery,
  { wholeNumbers }: AdditiveShape,
  delta: DeltaAtto,
): readonly MechanismName[] {
  if (mechanism === undefined)
    return [wholeNumbers ? 'geometric' : 'laplace', ...(delta > 0n ? (['gaussian'] as const) : [])]
  if (mechanism === 'geometric' && !wholeNumbers) {
    throw new Refusal(
      'mechanism-not-applicable',
      'mechanism: geometric noise applies only to whole numbers, and this column is real-valued; use "laplace".',
      [{ field: 'mechanism', rule: 'must not be "geometric" for a real-valued column' }],
    )
  }
  return [mechanism]
}

/** Measurements of all statistics of a query, and the price of releasing them together. */
export interface Measured {
  readonly measurements: readonly Measurement[]
  readonly loss: PrivacyLoss
  readonly rho: RhoPico
}

/**
 * Calibrates one measurement for each statistic, all by one mechanism. Laplace and geometric noise get shares of the
 * epsilon in proportion to the weights, which add up. The Gaussian mechanism measures all statistics as one vector at the whole epsilon and
 * delta. See decision 11.
 * @throws Refusal as {@link splitEpsilon} and as the mechanisms do.
 */
export function measureAll(
  mechanism: MechanismName,
  sensitivities: readonly Sensitivity[],
  weights: readonly number[],
  loss: PrivacyLoss,
  calibration: GaussianCalibration = 'analytic',
): Measured {
  switch (mechanism) {
    case 'geometric':
    case 'laplace': {
      const calibrate = mechanism === 'geometric' ? calibrateGeometric : calibrateLaplace
      const shares = divideEpsilon(loss.epsilonNano, weights)
      const measurements = sensitivities.map((sensitivity, position) =>
        calibrate(sensitivity, entry(shares, position)),
      )
      const price = measurements.reduce((sum, measurement) => addLoss(sum, measurement.loss), NO_LOSS)
      return { measurements, loss: price, rho: rhoTogether(measurements.map(rhoOf)) }
    }
    case 'gaussian': {
      const { epsilonNano, deltaAtto } = loss
      const measurements = calibrateGaussianJointly(sensitivities, epsilonNano, deltaAtto, calibration)
      return { measurements, loss, rho: rhoTogether(measurements.map(rhoOf)) }
    }
  }
}

function rhoOf(measurement: Measurement): RhoPico {
  return zeroConcentratedMap(measurement, measurement.sensitivity)
}

/** Adds up the rho of releases with independent noise, whether they are one vector or released in sequence. */
export function rhoTogether(each: readonly RhoPico[]): RhoPico {
  return each.reduce((sum, rho) => rhoPico(sum + rho), rhoPico(0n))
}

/** Chooses the measurements with the smallest half-widths, by their product because the units of statistics differ. */
export function narrowest(choices: readonly Measured[], confidence: number): Measured {
  return choices.reduce((best, next) =>
    logarithmicWidth(next, confidence) < logarithmicWidth(best, confidence) ? next : best,
  )
}

/** A half-width of n grid units covers the numbers up to n + 1/2, so that one of 0 counts as little and not as nothing. */
function logarithmicWidth({ measurements }: Measured, confidence: number): number {
  return measurements.reduce(
    (sum, measurement) => sum + Math.log(accuracy(measurement, confidence).halfWidth + 0.5),
    0,
  )
}

/**
 * Weights by which statistics share an epsilon. A variance needs the squares most and the count least: in units of half the
 * range, its error is `e_Q - 2 m e_S + (m^2 - v) e_N`, with the mean m about the middle and the variance v, whose
 * m^2 + v is at most 1. No weight depends on a supposition: equal questions would then have different noise. See decision 11.
 */
export function weightsOf({ estimates: [only, ...others], aggregate }: AdditiveShape): readonly number[] {
  const isVariance = others.length === 0 && (only?.kind === 'variance' || only?.kind === 'standard-deviation')
  return aggregate.statistics.map(({ kind }) => {
    if (!isVariance) return 1
    return kind === 'affine-square-sum' ? 4 : kind === 'affine-sum' ? 3 : 2
  })
}

/**
 * Divides an epsilon into equal shares that add up to it exactly.
 * @throws Refusal `invalid-request` if a share would be below 1e-9.
 */
export function splitEpsilon(whole: EpsilonNano, parts: number): readonly EpsilonNano[] {
  return divideEpsilon(
    whole,
    Array.from({ length: parts }, () => 1),
  )
}

/** Divides an epsilon as {@link splitEpsilon} does, in proportion to weights, which are whole numbers. */
function divideEpsilon(whole: EpsilonNano, weights: readonly number[]): readonly EpsilonNano[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const shares = weights.map((weight) => (whole * BigInt(weight)) / BigInt(total))
  if (shares.includes(0n)) {
    const rule = `must be large enough to be divided into ${weights.length} parts of at least 0.000000001`
    throw refuseField('invalid-request', 'epsilon', rule)
  }
  const remainder = whole - shares.reduce((sum, share) => sum + share, 0n)
  return shares.map((share, place) => epsilonNano(share + (BigInt(place) < remainder ? 1n : 0n)))
}

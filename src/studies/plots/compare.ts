import type { comparison } from '../../../schemas/studies/mechanisms.ts'
import { type Measurement, statedNoise } from '../../core/mechanisms/measurement.ts'
import { accuracy } from '../../core/mechanisms/mechanism.ts'
import { calibrateGaussian } from '../../core/mechanisms/noise/gaussian.ts'
import { calibrateGeometric } from '../../core/mechanisms/noise/geometric.ts'
import { calibrateLaplace } from '../../core/mechanisms/noise/laplace.ts'
import type { PrivacyLoss } from '../../privacy/loss.ts'
import { Refusal, refuseField } from '../../privacy/refusal.ts'
import type { Sensitivity } from '../../privacy/sensitivity.ts'
import type { Wire } from '../../privacy/wire.ts'

/** Comparison of the mechanisms for 1, 2, ... statistics that one person can influence. */
export type Comparison = Pick<Wire<typeof comparison>, 'rows' | 'crossings' | 'notApplicable'>

/** Mechanisms to compare: every additive mechanism, the Gaussian one with each of its calibrations. */
export type ComparedMechanism = Comparison['notApplicable'][number]['mechanism']

/** Criterion of the comparison: an error of one statistic, the smaller the better. */
export type Criterion = 'standardDeviation' | 'expectedAbsoluteError' | 'halfWidth'

/** Statistics of which one person moves each by up to `contribution` grid units. */
export interface Workload {
  readonly loss: PrivacyLoss
  /** At least 1. */
  readonly statistics: number
  /** At least 1. */
  readonly contribution: bigint
  /** The statistics are integer counts of 10^-`fractionDigits`. */
  readonly fractionDigits: number
  /** True if the statistics are whole numbers, which geometric noise needs. */
  readonly wholeNumbers: boolean
  /** Confidence of the half-widths; strictly between 0 and 1. */
  readonly confidence: number
}

type ComparisonRow = Comparison['rows'][number]

const calibrations = {
  geometric: (sensitivity, { epsilonNano }) => calibrateGeometric(sensitivity, epsilonNano),
  laplace: (sensitivity, { epsilonNano }) => calibrateLaplace(sensitivity, epsilonNano),
  'analytic-gaussian': (sensitivity, { epsilonNano, deltaAtto }) =>
    calibrateGaussian(sensitivity, epsilonNano, deltaAtto, 'analytic'),
  'classic-gaussian': (sensitivity, { epsilonNano, deltaAtto }) =>
    calibrateGaussian(sensitivity, epsilonNano, deltaAtto, 'classic'),
} as const satisfies Record<ComparedMechanism, (sensitivity: Sensitivity, loss: PrivacyLoss) => Measurement>

const MECHANISMS = Object.keys(calibrations) as readonly ComparedMechanism[]

/** Pairs whose crossing is reported: L2 noise against L1 noise. */
const PAIRS: readonly (readonly [ComparedMechanism, ComparedMechanism])[] = [
  ['analytic-gaussian', 'geometric'],
  ['analytic-gaussian', 'laplace'],
  ['classic-gaussian', 'geometric'],
  ['classic-gaussian', 'laplace'],
]

/**
 * Compares the mechanisms on 1 to `statistics` statistics. At one loss for all statistics together, L1 noise grows with
 * their number and L2 noise with its square root, so Gaussian noise has the smaller error from some number on. Every
 * figure is the accuracy of a real calibration. No data is read and no budget is charged.
 *
 * @throws RangeError for an epsilon of 0, or a workload outside its bounds.
 */
export function compareMechanisms(workload: Workload): Comparison {
  const { statistics } = workload
  const reasons = MECHANISMS.map((mechanism) => ({ mechanism, reason: reasonAgainst(mechanism, workload) }))
  const applicable = reasons.filter(({ reason }) => reason === undefined).map(({ mechanism }) => mechanism)
  const rows = Array.from({ length: statistics }, (_, index) => rowOf(index + 1, applicable, workload))
  const crossings = PAIRS.filter((pair) => pair.every((mechanism) => applicable.includes(mechanism))).map(
    ([mechanism, against]) => ({
      mechanism,
      against,
      ...byCriterion((criterion) => crossing(rows, mechanism, against, criterion)),
    }),
  )
  const notApplicable = reasons.flatMap(({ mechanism, reason }) =>
    reason === undefined ? [] : [{ mechanism, reason }],
  )
  return { rows, crossings, notApplicable }
}

/** Sensitivity of statistics that one person moves each by the whole contribution. */
function sensitivityOf(statistics: number, { contribution }: Workload): Sensitivity {
  const count = BigInt(statistics)
  return {
    l0: count,
    l1: count * contribution,
    l2Squared: count * contribution * contribution,
    lInfinity: contribution,
  }
}

/**
 * Calibrates a mechanism to as many statistics as the workload has.
 * @throws Refusal `mechanism-not-applicable`, naming the field `mechanism`.
 */
export function measurementOf(mechanism: ComparedMechanism, workload: Workload): Measurement {
  const reason = reasonAgainst(mechanism, workload)
  if (reason !== undefined)
    throw refuseField('mechanism-not-applicable', 'mechanism', `does not apply: ${reason}`)
  return calibrations[mechanism](sensitivityOf(workload.statistics, workload), workload.loss)
}

/** Reason why a mechanism does not apply, if any, from its own calibration. It does not depend on the sensitivity. */
function reasonAgainst(mechanism: ComparedMechanism, workload: Workload): string | undefined {
  if (mechanism === 'geometric' && !workload.wholeNumbers)
    return 'geometric noise applies only to whole numbers'
  try {
    calibrations[mechanism](sensitivityOf(1, workload), workload.loss)
  } catch (error) {
    if (error instanceof Refusal) return error.message
    throw error
  }
  return undefined
}

function rowOf(
  statistics: number,
  applicable: readonly ComparedMechanism[],
  workload: Workload,
): ComparisonRow {
  const sensitivity = sensitivityOf(statistics, workload)
  const compared = applicable.map((mechanism) => ({
    mechanism,
    noise: noiseOf(calibrations[mechanism](sensitivity, workload.loss), workload),
  }))
  const best = (criterion: Criterion) =>
    compared.reduce((least, next) => (next.noise[criterion] < least.noise[criterion] ? next : least))
      .mechanism
  return {
    statistics,
    noise: Object.fromEntries(compared.map(({ mechanism, noise }) => [mechanism, noise])),
    best: byCriterion(best),
  }
}

function noiseOf(measurement: Measurement, { confidence, fractionDigits }: Workload) {
  const stated = accuracy(measurement, confidence)
  const gridUnits = 10 ** fractionDigits
  return {
    scale: statedNoise(measurement).scale / gridUnits,
    ...byCriterion((criterion) => stated[criterion] / gridUnits),
  }
}

function byCriterion<Value>(of: (criterion: Criterion) => Value): Readonly<Record<Criterion, Value>> {
  return {
    standardDeviation: of('standardDeviation'),
    expectedAbsoluteError: of('expectedAbsoluteError'),
    halfWidth: of('halfWidth'),
  }
}

/** Smallest number of statistics from which, to the last row, one mechanism has a smaller error than the other. */
function crossing(
  rows: readonly ComparisonRow[],
  mechanism: ComparedMechanism,
  against: ComparedMechanism,
  criterion: Criterion,
): number | null {
  const lastWorse = rows.findLast(({ noise }) => {
    const [one, other] = [noise[mechanism], noise[against]]
    return one === undefined || other === undefined || one[criterion] >= other[criterion]
  })
  const from = lastWorse === undefined ? 1 : lastWorse.statistics + 1
  return from <= rows.length ? from : null
}

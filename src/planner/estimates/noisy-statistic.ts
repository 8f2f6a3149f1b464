import { type Noise, noiseOf } from '../../mechanisms/combined-noise.ts'
import type { Measurement } from '../../mechanisms/measurement.ts'
import { accuracy } from '../../mechanisms/mechanism.ts'
import { numberFromDecimal } from '../../privacy/decimal.ts'
import type { Statistic, Summand } from '../aggregate.ts'
import type { AdditivePlan } from '../kinds/additive.ts'
import type { ErrorReport } from '../report-kinds.ts'

/** The statistic at this place of a plan. */
export function statisticAt({ aggregate }: AdditivePlan, place: number): Statistic {
  const statistic = aggregate.statistics[place]
  if (statistic === undefined) throw new RangeError('an estimate is made from the statistics of its plan')
  return statistic
}

/** The measurement of the statistic at this place. */
export function measurementAt({ measurements }: AdditivePlan, place: number): Measurement {
  const measurement = measurements[place]
  if (measurement === undefined) throw new RangeError('a plan has a measurement for each statistic')
  return measurement
}

/** The noise of the statistic at this place, in the unit that people read. */
export function noiseAt(plan: AdditivePlan, place: number): Noise {
  return noiseOf(measurementAt(plan, place), unitOf(plan, place))
}

/** Error bounds of the statistic at this place by itself, in the unit that people read. */
export function errorAt(plan: AdditivePlan, place: number, confidence: number): ErrorReport {
  const stated = accuracy(measurementAt(plan, place), confidence)
  const unit = unitOf(plan, place)
  return { halfWidth: stated.halfWidth * unit, expectedAbsoluteError: stated.expectedAbsoluteError * unit }
}

/**
 * Converts a noisy integer from output units to the unit that people read.
 * @throws RangeError if the statistic was not released.
 */
export function numberAt(plan: AdditivePlan, place: number, integer: bigint | undefined): number {
  if (integer === undefined) throw new RangeError('a statistic was not released')
  const { fractionBits } = measurementAt(plan, place)
  const { stepNano, factor, power } = gridOf(plan, place)
  return numberFromDecimal(integer * stepNano ** power, 9 * Number(power)) / factor / 2 ** fractionBits
}

/** One grid unit of the statistic at this place, in the unit that people read. */
export function unitOf(plan: AdditivePlan, place: number): number {
  const { stepNano, factor, power } = gridOf(plan, place)
  return numberFromDecimal(stepNano ** power, 9 * Number(power)) / factor
}

const ONE_NANO = 1_000_000_000n

interface Grid {
  readonly stepNano: bigint
  readonly factor: number
  readonly power: bigint
}

/** A grid unit is stepNano^power * 1e-9^power / factor. */
function gridOf(plan: AdditivePlan, place: number): Grid {
  const statistic = statisticAt(plan, place)
  switch (statistic.kind) {
    case 'count':
    case 'count-people':
    case 'count-distinct':
    case 'count-distinct-values':
      return { stepNano: ONE_NANO, factor: 1, power: 1n }
    case 'affine-sum':
      return { stepNano: stepOf(plan, statistic), factor: Number(statistic.factor), power: 1n }
    case 'affine-square-sum':
      return { stepNano: stepOf(plan, statistic), factor: Number(statistic.factor) ** 2, power: 2n }
  }
}

function stepOf({ estimates }: AdditivePlan, { column: ofRows, perPerson }: Summand): bigint {
  if (perPerson?.kind === 'count') return ONE_NANO
  const column = ofRows ?? perPerson?.column
  for (const estimate of estimates)
    if ('column' in estimate && estimate.column.name === column) return estimate.column.stepNano
  throw new RangeError('a sum belongs to an estimate of its column')
}

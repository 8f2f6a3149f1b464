import { columnNamed, type Dataset } from '../../catalog/dataset.ts'
import { type Noise, noiseOf } from '../../mechanisms/combined-noise.ts'
import type { Measurement } from '../../mechanisms/measurement.ts'
import { accuracy } from '../../mechanisms/mechanism.ts'
import { numberFromDecimal } from '../../privacy/decimal.ts'
import type { AffineTerm, Statistic, Summand } from '../aggregate.ts'
import type { AdditivePlan } from '../kinds/additive.ts'
import { measuredColumn } from '../measured-column.ts'
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
  const { unitNano, power, factor } = gridOf(plan, place)
  return numberFromDecimal(integer * unitNano, 9 * power) / factor / 2 ** fractionBits
}

/** One grid unit of the statistic at this place, in the unit that people read. */
export function unitOf(plan: AdditivePlan, place: number): number {
  const { unitNano, power, factor } = gridOf(plan, place)
  return numberFromDecimal(unitNano, 9 * power) / factor
}

const ONE_NANO = 1_000_000_000n

interface Grid {
  readonly unitNano: bigint
  readonly power: number
  readonly factor: number
}

/** A grid unit is unitNano * 1e-9^power / factor. */
function gridOf(plan: AdditivePlan, place: number): Grid {
  const statistic = statisticAt(plan, place)
  switch (statistic.kind) {
    case 'count':
    case 'count-people':
    case 'count-distinct':
    case 'count-distinct-values':
      return { unitNano: ONE_NANO, power: 1, factor: 1 }
    case 'affine-count':
      return { unitNano: ONE_NANO, power: 1, factor: Number(statistic.factor) }
    case 'affine-sum':
      return gridOfProduct(plan, [statistic])
    case 'affine-square-sum':
      return gridOfProduct(plan, [statistic, statistic])
    case 'affine-product-sum':
      return gridOfProduct(plan, statistic.terms)
  }
}

/** A column times a factor, or a value of each person times a factor. */
type Factor = Summand & { readonly factor: bigint }

function gridOfProduct({ dataset }: AdditivePlan, factors: readonly (Factor | AffineTerm)[]): Grid {
  const steps = factors.map((factor) => stepOf(dataset, factor))
  return {
    unitNano: steps.reduce((product, step) => product * step, 1n),
    power: factors.length,
    factor: factors.reduce((product, { factor }) => product * Number(factor), 1),
  }
}

function stepOf(dataset: Dataset, summand: Summand): bigint {
  if (summand.perPerson?.kind === 'count') return ONE_NANO
  const column = columnNamed(dataset, summand.column ?? summand.perPerson.column)
  const grid = column && measuredColumn(column)
  if (grid === undefined) throw new RangeError('a sum is about a numeric or boolean column')
  return grid.stepNano
}

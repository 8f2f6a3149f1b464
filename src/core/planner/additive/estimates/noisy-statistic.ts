import { numberFromDecimal } from '../../../../privacy/decimal.ts'
import { entry } from '../../../../privacy/must.ts'
import type { Dataset } from '../../../dataset/dataset.ts'
import { ONE_NANO } from '../../../dataset/grid-value.ts'
import { accuracy } from '../../../mechanisms/mechanism.ts'
import { noiseOf } from '../../../mechanisms/noise/combined-noise.ts'
import type { Noise } from '../../../mechanisms/noise/weighted-noise.ts'
import type { AffineTerm, Summand } from '../../language/aggregate.ts'
import { MULTIPLIED, requireColumnOf } from '../../language/column-rules.ts'
import { measuredColumn } from '../../language/measured-column.ts'
import type { ErrorReport } from '../../report-kinds.ts'
import type { AdditivePlan } from '../shape.ts'

/** The noise of the statistic at this place, in the unit that people read. */
export function noiseAt(plan: AdditivePlan, place: number): Noise {
  return noiseOf(entry(plan.measurements, place), unitOf(plan, place))
}

/** Error bounds of the statistic at this place by itself, in the unit that people read. */
export function errorAt(plan: AdditivePlan, place: number, confidence: number): ErrorReport {
  const stated = accuracy(entry(plan.measurements, place), confidence)
  const unit = unitOf(plan, place)
  return { halfWidth: stated.halfWidth * unit, expectedAbsoluteError: stated.expectedAbsoluteError * unit }
}

/** Converts a noisy integer from output units to the unit that people read. */
export function numberAt(plan: AdditivePlan, place: number, integer: bigint): number {
  const { fractionBits } = entry(plan.measurements, place)
  const { unitNano, power, factor } = gridOf(plan, place)
  return numberFromDecimal(integer * unitNano, 9 * power) / factor / 2 ** fractionBits
}

/** One grid unit of the statistic at this place, in the unit that people read. */
export function unitOf(plan: AdditivePlan, place: number): number {
  const { unitNano, power, factor } = gridOf(plan, place)
  return numberFromDecimal(unitNano, 9 * power) / factor
}

interface Grid {
  readonly unitNano: bigint
  readonly power: number
  readonly factor: number
}

/** A grid unit is unitNano * 1e-9^power / factor. */
function gridOf(plan: AdditivePlan, place: number): Grid {
  const statistic = entry(plan.aggregate.statistics, place)
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
  const name = summand.column ?? summand.perPerson.column
  return measuredColumn(requireColumnOf(MULTIPLIED, dataset, name, 'column')).stepNano
}

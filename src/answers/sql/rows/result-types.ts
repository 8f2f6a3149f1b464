import { type Dataset, isTemporal } from '../../../core/dataset/dataset.ts'
import { columnNamed } from '../../../core/planner/language/columns.ts'
import type { NoiseReport } from '../../../core/planner/report-kinds.ts'
import type { Measure } from '../measures.ts'
import type { HalfWidthUnit } from './result.ts'
import type { CellType } from './row-values.ts'

type Quantile = Extract<Measure, { readonly kind: 'percentile' | 'minimum' | 'maximum' }>

/** True for an aggregate whose values are values of its column, and whose half-width is a number of rows. */
function isQuantile(measure: Measure): measure is Quantile {
  const { kind } = measure
  return kind === 'percentile' || kind === 'minimum' || kind === 'maximum'
}

/** The type of the values of an aggregate, whatever its noise is. */
export function typeOf(measure: Measure, dataset: Dataset): CellType {
  if (measure.kind !== 'mean' && !isQuantile(measure)) return 'number'
  const column = columnNamed(dataset, measure.column)
  if (column !== undefined && isTemporal(column)) return column.type
  return isQuantile(measure) && column?.type === 'integer' ? 'integer' : 'number'
}

/** The unit of the half-width of an aggregate, if it is not that of its values. */
export function halfWidthUnit(measure: Measure, type: CellType): HalfWidthUnit | undefined {
  if (isQuantile(measure)) return 'rows'
  return type === 'date' ? 'days' : type === 'timestamp' ? 'seconds' : undefined
}

/** The parts of an answer or a preview that tell which values are whole numbers. */
export interface StatedNoise {
  readonly noise: NoiseReport
  /** True if the answer is rounded. */
  readonly round: boolean
}

/** Names of the statistics that are counts. */
const COUNTS: readonly string[] = ['count', 'count of people', 'count of distinct values']

const isCount = ({ statistic }: NamedStatistic) => COUNTS.includes(statistic)

/** Returns true if all noisy values of an aggregate are whole numbers. */
export function isWhole(measure: Measure, dataset: Dataset, { noise, round }: StatedNoise): boolean {
  const type = typeOf(measure, dataset)
  if (type !== 'number') return type === 'integer'
  if (isQuantile(measure)) return false
  switch (measure.kind) {
    case 'count':
    case 'countOfValues':
    case 'countDistinct':
      return round || areWhole(noise, isCount)
    case 'sum': {
      if (round) return true
      const { column } = measure
      if (columnNamed(dataset, column)?.type !== 'integer') return false
      // A sum may be made from a sum about the middle of the column, and a count.
      return areWhole(noise, (each) => isCount(each) || each.column === column)
    }
    default:
      return round
  }
}

interface NamedStatistic {
  readonly statistic: string
  readonly column?: string
}

/** Returns true if an answer has statistics of this kind, and all of these are whole numbers. */
function areWhole(noise: NoiseReport, isOfKind: (statistic: NamedStatistic) => boolean): boolean {
  if ('parts' in noise) return noise.parts.some((part) => areWhole(part, isOfKind))
  // A single statistic is that of the only aggregate.
  if ('granularity' in noise) return Number.isInteger(noise.granularity)
  if (!('statistics' in noise)) return false
  const found = noise.statistics.filter(isOfKind)
  return found.length > 0 && found.every(({ granularity }) => Number.isInteger(granularity))
}

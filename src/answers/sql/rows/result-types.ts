import { type Dataset, isTemporal } from '../../../core/dataset/dataset.ts'
import { columnNamed } from '../../../core/planner/language/columns.ts'
import type { NoiseReport } from '../../../core/planner/report-kinds.ts'
import type { Measure } from '../measures.ts'
import type { HalfWidthUnit } from './result.ts'
import type { CellType } from './row-values.ts'

/** The type of the values of an aggregate, whatever its noise is. */
export function typeOf(measure: Measure, dataset: Dataset): CellType {
  switch (measure.kind) {
    case 'mean':
    case 'percentile':
    case 'minimum':
    case 'maximum': {
      const column = columnNamed(dataset, measure.column)
      if (column !== undefined && isTemporal(column)) return column.type
      // Quantiles are values of the grid of the column.
      return measure.kind !== 'mean' && column?.type === 'integer' ? 'integer' : 'number'
    }
    default:
      return 'number'
  }
}

/** The unit of the half-width of an aggregate, if it is not that of its values. */
export function halfWidthUnit(measure: Measure, type: CellType): HalfWidthUnit | undefined {
  switch (measure.kind) {
    case 'percentile':
    case 'minimum':
    case 'maximum':
      return 'rows'
    default:
      return type === 'date' ? 'days' : type === 'timestamp' ? 'seconds' : undefined
  }
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
  switch (measure.kind) {
    case 'percentile':
    case 'minimum':
    case 'maximum':
      return false
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

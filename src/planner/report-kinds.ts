import type { GridValue } from '../catalog/grid-value.ts'
import type { GaussianCalibration, MechanismName } from '../mechanisms/measurement.ts'
import type { Neighbours } from '../privacy/neighbours.ts'
import type { CellLabel } from './grouping.ts'

type CellKey = Readonly<Record<string, CellLabel>>

/** Released values as an answer shows them. */
export type Result =
  | { readonly value: GridValue }
  | { readonly cells: readonly { readonly key: CellKey; readonly value: number }[] }
  /** Values by the names of the query's statistics, in their order. */
  | {
      readonly groups: readonly {
        readonly key: CellKey
        readonly values: Readonly<Record<string, GroupValue>>
      }[]
    }
  /** Half-widths are null if the noise is too large for a bound. */
  | {
      readonly intercept: { readonly value: number; readonly halfWidth: number | null }
      readonly coefficients: readonly {
        readonly column: string
        readonly value: number
        readonly halfWidth: number | null
      }[]
      readonly ridge: number
    }
  /** Best first; the gap is to the next one, in rows. */
  | { readonly selected: readonly { readonly candidate: CellLabel; readonly gap?: number }[] }
  | { readonly percentiles: readonly { readonly p: number; readonly value: GridValue }[] }
  | {
      readonly keys: readonly { readonly key: string; readonly count?: number }[]
      /** True if keys were cut off at the limits of an answer. */
      readonly truncated: boolean
    }

/** A statistic of a group. The half-width of a quantile is a number of rows. */
export interface GroupValue {
  readonly value: GridValue
  readonly halfWidth: number
  readonly unit?: 'rows'
}

/** Name of a noisy statistic, with the column or columns that it is about. */
export interface StatisticName {
  readonly statistic: string
  readonly column?: string
  readonly columns?: readonly string[]
}

/** Noise of one statistic, in the unit of the statistic. */
export interface StatisticNoise {
  /** The scale b of geometric and Laplace noise, the standard deviation sigma of Gaussian noise. */
  readonly scale: number
  /** In the mechanism's own norm: L1 for geometric and Laplace, L2 for Gaussian. */
  readonly sensitivity: number
  /** Noisy values are multiples of it. */
  readonly granularity: number
}

export type AdditiveNoise = {
  readonly mechanism: MechanismName
  readonly calibration?: GaussianCalibration
} & (
  | StatisticNoise
  | {
      readonly statistics: readonly (StatisticNoise &
        StatisticName & {
          /** Share of the price, if the statistic has its own. */
          readonly epsilon?: number
        })[]
    }
)

type QuantileNoise = {
  readonly mechanism: 'exponential'
  readonly quantiles: readonly {
    /** Name of the statistic of groups. */
    readonly statistic?: string
    /** Share of the price. */
    readonly epsilon: number
    /** In the unit of the score, as `sensitivity` is. */
    readonly scale: number
    readonly sensitivity: number
    readonly p?: number
    /** Target rank of a minimum or maximum, counted from its end. */
    readonly rank?: number
  }[]
}

/** Noise of an answer. */
export type NoiseReport = { readonly neighbours: Neighbours } & (
  | AdditiveNoise
  | {
      readonly mechanism: 'noisy-max'
      readonly noise: 'laplace' | 'exponential' | 'gumbel'
      readonly monotonic: boolean
      readonly scale: number
      readonly sensitivity: number
      /** Granularity of the gaps. */
      readonly granularity?: number
    }
  | QuantileNoise
  /** The parts of groups with quantiles. */
  | {
      readonly mechanism: 'several'
      readonly parts: readonly ({ readonly neighbours: Neighbours } & (AdditiveNoise | QuantileNoise))[]
    }
  | {
      readonly mechanism: 'thresholded-geometric'
      readonly scale: number
      readonly threshold: number
    }
  | { readonly mechanism: 'near-truncated-geometric' }
)

/** Error bounds of one value. */
export interface ErrorReport {
  readonly halfWidth: number
  readonly expectedAbsoluteError: number
}

/** Error bounds of one value that are known before the release. */
export interface PredictedError {
  readonly halfWidth: number | null
  readonly expectedAbsoluteError: number | null
  /**
   * Unit of both numbers, if it is not that of the released value: days for dates, seconds for timestamps. `rows` and
   * `people`: they are about the count of the chosen candidate against the best (a selection), or about a rank (a
   * quantile).
   */
  readonly unit?: AccuracyUnit
  /** Reason why the half-width is null, and advice. */
  readonly reason?: string
}

export type AccuracyUnit = 'rows' | 'people' | 'days' | 'seconds'

/**
 * Accuracy of each released value. The half-width is null if it depends on a private number of rows or differs from
 * value to value; `reason` then explains it.
 */
export interface AccuracyReport extends PredictedError {
  readonly confidence: number
  /** Accuracy of each statistic by its name, for a query for several. */
  readonly estimates?: Readonly<Record<string, PredictedError>>
  /**
   * Error bounds, which hold together, of the noisy sums and counts that values are computed from, if there are
   * several.
   */
  readonly statistics?: readonly (ErrorReport & StatisticName)[]
  /** Half-width of each gap of a selection; they hold together. */
  readonly gapHalfWidth?: number
  /** Number of rows with which a key appears with this confidence, for a selection of keys. */
  readonly rowsToAppear?: number
  /** Number of people with which a key appears with this confidence, where people are the privacy units. */
  readonly peopleToAppear?: number
}

/** An answer's values and their accuracy. */
export interface Report {
  readonly result: Result
  readonly accuracy: AccuracyReport
}

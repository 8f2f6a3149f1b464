import type { GaussianCalibration, MechanismName } from '../mechanisms/measurement.ts'
import type { Neighbours } from '../privacy/neighbours.ts'
import type { CellLabel } from './grouping.ts'

type CellKey = Readonly<Record<string, CellLabel>>

/** What an answer holds of what was released. */
export type Result =
  | { readonly value: number }
  | { readonly cells: readonly { readonly key: CellKey; readonly value: number }[] }
  /** Values by the names of the query's statistics, in their order. */
  | {
      readonly groups: readonly {
        readonly key: CellKey
        readonly values: Readonly<Record<string, { readonly value: number; readonly halfWidth: number }>>
      }[]
    }
  /** Best first; the gap is to the next one, in rows. */
  | { readonly selected: readonly { readonly candidate: CellLabel; readonly gap?: number }[] }
  | { readonly percentiles: readonly { readonly p: number; readonly value: number }[] }
  | {
      readonly keys: readonly { readonly key: string; readonly count?: number }[]
      /** Whether there were more than an answer holds. */
      readonly truncated: boolean
    }

/** The noise of one statistic, in the units of what it is the noise of. */
export interface StatisticNoise {
  /** The scale b of geometric and Laplace noise, the standard deviation sigma of Gaussian noise. */
  readonly scale: number
  /** In the mechanism's own norm: L1 for geometric and Laplace, L2 for Gaussian. */
  readonly sensitivity: number
  /** Noisy values are multiples of it. */
  readonly granularity: number
}

/** How an answer was made noisy. */
export type NoiseReport = { readonly neighbours: Neighbours } & (
  | ({ readonly mechanism: MechanismName; readonly calibration?: GaussianCalibration } & (
      | StatisticNoise
      | {
          readonly statistics: readonly (StatisticNoise & {
            readonly statistic: string
            readonly column?: string
            /** Its share of the price, where it has one of its own. */
            readonly epsilon?: number
          })[]
        }
    ))
  | {
      readonly mechanism: 'noisy-max'
      readonly noise: 'laplace' | 'exponential' | 'gumbel'
      readonly monotonic: boolean
      readonly scale: number
      readonly sensitivity: number
      /** Of the gaps. */
      readonly granularity?: number
    }
  | {
      readonly mechanism: 'exponential'
      readonly quantiles: readonly {
        /** Its share of the price. */
        readonly epsilon: number
        /** In the unit of the score, in which `sensitivity` is too. */
        readonly scale: number
        readonly sensitivity: number
        readonly p?: number
        /** Of the minimum and the maximum: how many rows from the end it aims. */
        readonly rank?: number
      }[]
    }
  | {
      readonly mechanism: 'thresholded-geometric'
      readonly scale: number
      readonly threshold: number
    }
  | { readonly mechanism: 'near-truncated-geometric' }
)

/** How far off one value can be. */
export interface ErrorReport {
  readonly halfWidth: number
  readonly expectedAbsoluteError: number
}

/** How far off one value can be, as far as it is known before the release. */
export interface PredictedError {
  readonly halfWidth: number | null
  readonly expectedAbsoluteError: number | null
  /** Why the half-width is null, and what to do about it. */
  readonly reason?: string
}

/**
 * Accuracy of each released value. The half-width is null where it depends on a private number of rows or differs from value
 * to value; `reason` then says so.
 */
export interface AccuracyReport extends PredictedError {
  readonly confidence: number
  /**
   * `rows` where it is not the released value that is off by so much, but the count of the one chosen against the
   * best (a selection), or its rank (a quantile).
   */
  readonly unit?: 'rows'
  /** Of a query for several statistics: the accuracy of each, by its name. */
  readonly estimates?: Readonly<Record<string, PredictedError>>
  /** Of the noisy sums and counts that values are made from, where there are several: these hold together. */
  readonly statistics?: readonly (ErrorReport & { readonly statistic: string; readonly column?: string })[]
  /** Of a selection with gaps: of each of them, and they hold together. */
  readonly gapHalfWidth?: number
  /** Of a selection of keys: a key of so many rows appears with this confidence. */
  readonly rowsToAppear?: number
}

/** What leaves: the released integers as numbers people read, and how far off they can be. */
export interface Report {
  readonly result: Result
  readonly accuracy: AccuracyReport
}

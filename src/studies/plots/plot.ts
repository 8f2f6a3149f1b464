import type { CurvePoint } from '../risk/bounds.ts'
import type { ComparedMechanism, Criterion } from './compare.ts'
import type { SeriesPoint } from './time-series.ts'

/** Background of a plot. */
export type Theme = 'light' | 'dark'

/** A plot: figures and the texts that name them, without colours or positions. */
export type Plot =
  | RiskPlot
  | NoiseComparisonPlot
  | AnswerDistributionPlot
  | NoisyTablePlot
  | TimeSeriesPlot
  | ListPlot

/** Disclosure risk of one column, by epsilon. */
export interface RiskPanel {
  /** Name of the column. */
  readonly name: string
  /** Both bounds of the posterior in the order of epsilon, at least two points. */
  readonly curve: readonly CurvePoint[]
  readonly largestPrior: number
  /** Largest epsilon whose upper bound is at most the risk; null if there is none. */
  readonly upperBoundEpsilon: number | null
  /** The same by the tight bound. */
  readonly tightBoundEpsilon: number | null
  /** Both bounds at the stated epsilon, if there is one. */
  readonly stated?: CurvePoint
  /** True if the upper bound is a bound here; it is not if the tight bound can exceed it. */
  readonly upperBoundHolds: boolean
}

/** Bounds of the disclosure risk against epsilon, with a panel for each column. */
export interface RiskPlot {
  readonly plot: 'risk'
  /** Name of the query, such as `mean`. */
  readonly query: string
  /** Largest accepted posterior probability. */
  readonly risk: number
  /** At least one. */
  readonly panels: readonly RiskPanel[]
}

/** Noise of each mechanism by the number of statistics. */
export interface NoiseComparisonPlot {
  readonly plot: 'noise-comparison'
  readonly epsilon: number
  readonly delta: number
  readonly criterion: Criterion
  /** Confidence of the half-width, strictly between 0 and 1; shown for that criterion only. */
  readonly confidence: number
  /** In the order of `statistics`; the noise by the criterion. At least one. */
  readonly rows: readonly {
    readonly statistics: number
    readonly noise: Readonly<Partial<Record<ComparedMechanism, number>>>
  }[]
  /** Points at which one mechanism becomes better than another by the criterion. */
  readonly crossings: readonly {
    readonly mechanism: ComparedMechanism
    readonly against: ComparedMechanism
    readonly from: number
  }[]
}

/** Distribution of the answers to one question around its true value. */
export interface AnswerDistributionPlot {
  readonly plot: 'answer-distribution'
  readonly mechanism: ComparedMechanism
  readonly epsilon: number
  readonly delta: number
  readonly truth: number
  /**
   * In the order of the values; at least two. `probability` is that of the value if values are discrete,
   * otherwise the density per unit of the answer.
   */
  readonly points: readonly { readonly value: number; readonly probability: number }[]
  /** True if the values are few enough to distinguish, such as integers; otherwise a fine grid, drawn as an area. */
  readonly discrete: boolean
  /** `confidence` of the answers lie within this distance of the true value. */
  readonly halfWidth: number
  /** Strictly between 0 and 1. */
  readonly confidence: number
}

/** Noisy table with error bars. */
export interface NoisyTablePlot {
  readonly plot: 'noisy-table'
  readonly title: string
  /** Name of the values on the axis. Default: noisy value. */
  readonly name?: string
  /** Texts of a table whose values are not noisy: the line below the title, and the legend of the values. */
  readonly wording?: { readonly subtitle: string; readonly legend: string }
  /** Further lines below the title. */
  readonly notes?: readonly string[]
  /** True for values that are instants, in milliseconds since 1970-01-01T00:00:00Z. */
  readonly times?: true
  /** Names of the columns that form a cell's key; at least one. */
  readonly keys: readonly string[]
  /** Unit of the values, such as `rows`. */
  readonly unit?: string
  /** 1 to {@link MOST_CELLS}; categories are drawn in the order in which they first appear. */
  readonly cells: readonly {
    /** One value per key. */
    readonly key: readonly string[]
    readonly value: number
    /** null if no interval is known. */
    readonly halfWidth: number | null
    /** True value, for synthetic data only. */
    readonly truth?: number
  }[]
  /** Confidence of the half-widths, strictly between 0 and 1. */
  readonly confidence: number
}

/** Noisy values by consecutive periods, or cumulative counts over the numbers of a column. */
export interface TimeSeriesPlot {
  readonly plot: 'time-series'
  readonly title: string
  /** Name of the values on the axis. */
  readonly name: string
  /** Lines below the title. */
  readonly notes: readonly string[]
  /** Column whose numbers the axis has; absent for time. */
  readonly over?: string
  /** Range of the axis: in milliseconds since 1970, or in the numbers of the column. */
  readonly from: number
  readonly to: number
  /** As many as there are colours at most; each with its values in the order of time. */
  readonly lines: readonly { readonly name: string; readonly points: readonly SeriesPoint[] }[]
  /** Confidence of the intervals, strictly between 0 and 1. */
  readonly confidence: number
}

/** Names in an order. */
export interface ListPlot {
  readonly plot: 'list'
  readonly title: string
  /** Lines below the title. */
  readonly notes: readonly string[]
  /** At most {@link MOST_CELLS}. */
  readonly items: readonly string[]
}

/** Largest number of panels; more cannot be compared. */
export const MOST_PANELS = 12

/** Largest number of cells; more cannot be distinguished on one page. */
export const MOST_CELLS = 60

import type { ComparedMechanism, Criterion } from '../mechanisms/compare.ts'

/** Against what a picture is looked at. */
export type Theme = 'light' | 'dark'

/** What can be drawn: figures and the texts that name them, no colours, no places. */
export type Plot = RiskPlot | NoiseComparisonPlot | AnswerDistributionPlot | NoisyTablePlot

/** What one column lets an adversary learn, by epsilon. */
export interface RiskPanel {
  /** The column. */
  readonly name: string
  /** Both bounds of the posterior in the order of epsilon; 2 to {@link MOST_POINTS} points. */
  readonly curve: readonly {
    readonly epsilon: number
    readonly upperBound: number
    readonly tightBound: number
  }[]
  readonly largestPrior: number
  /** The largest epsilon whose upper bound keeps to the risk; null: there is none. */
  readonly upperBoundEpsilon: number | null
  /** The same by the tight bound. */
  readonly tightBoundEpsilon: number | null
  /** Whether the upper bound bounds anything here: it does not where the tight bound can lie above it. */
  readonly upperBoundHolds: boolean
}

/** The bounds of the disclosure risk against epsilon, a panel for each column. */
export interface RiskPlot {
  readonly plot: 'risk'
  /** Such as `mean`. */
  readonly query: string
  /** The posterior probability that may not be exceeded. */
  readonly risk: number
  /** 1 to {@link MOST_PANELS}. */
  readonly panels: readonly RiskPanel[]
}

/** The noise of each mechanism by the number of statistics that one person influences. */
export interface NoiseComparisonPlot {
  readonly plot: 'noise-comparison'
  readonly epsilon: number
  readonly delta: number
  readonly criterion: Criterion
  /** Of the half-width, strictly between 0 and 1; shown for that criterion only. */
  readonly confidence: number
  /** In the order of `statistics`; the noise by the criterion. 1 to {@link MOST_POINTS}. */
  readonly rows: readonly {
    readonly statistics: number
    readonly noise: Readonly<Partial<Record<ComparedMechanism, number>>>
  }[]
  /** Where one begins to err less than another, by the criterion; at most {@link MOST_CROSSINGS}. */
  readonly crossings: readonly {
    readonly mechanism: ComparedMechanism
    readonly against: ComparedMechanism
    readonly from: number
  }[]
}

/** How the answers to one question spread around its truth. */
export interface AnswerDistributionPlot {
  readonly plot: 'answer-distribution'
  readonly mechanism: ComparedMechanism
  readonly epsilon: number
  readonly delta: number
  readonly truth: number
  /**
   * In the order of the values; 2 to {@link MOST_POINTS}. `probability` is that of the value where values are discrete, and the
   * density, per unit of the answer, where they are not.
   */
  readonly points: readonly { readonly value: number; readonly probability: number }[]
  /** Whether the values are few enough to tell apart, such as whole numbers; else a fine grid, drawn as an area. */
  readonly discrete: boolean
  /** `confidence` of the answers lie within this of the truth. */
  readonly halfWidth: number
  /** Strictly between 0 and 1. */
  readonly confidence: number
}

/** A noisy table with its error bars. */
export interface NoisyTablePlot {
  readonly plot: 'noisy-table'
  readonly title: string
  /** The names of the columns that make up a cell's key; at least one. */
  readonly keys: readonly string[]
  /** Of the values, such as `rows`. */
  readonly unit?: string
  /** 1 to {@link MOST_CELLS}; categories are drawn in the order in which they first appear. */
  readonly cells: readonly {
    /** As many as there are keys. */
    readonly key: readonly string[]
    readonly value: number
    /** null: no interval is known. */
    readonly halfWidth: number | null
    /** Of synthetic data only. */
    readonly truth?: number
  }[]
  /** Of the half-widths, strictly between 0 and 1. */
  readonly confidence: number
}

/** More panels than this are refused: nobody compares so many. */
export const MOST_PANELS = 12

/** More cells than this are refused: they cannot be told apart on one page. */
export const MOST_CELLS = 60

/** More points of one curve than this are refused: the picture has fewer pixels. */
export const MOST_POINTS = 2000

/** More crossings than this are refused: their labels would find no place. */
export const MOST_CROSSINGS = 4

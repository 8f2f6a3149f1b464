import type { GridValue } from '../catalog/grid-value.ts'
import type { CellLabel } from '../planner/grouping.ts'
import type { Plan, PlanKindName, ReleaseOf } from '../planner/plan-kinds.ts'
import type { AccuracyReport, NoiseReport, Result } from '../planner/report-kinds.ts'
import type { amountNumbers } from '../privacy/accounting.ts'
import type { NumberName } from './truth.ts'

/** Sums over the runs so far of a plan of one kind. */
export interface Accumulator<Kind extends PlanKindName = PlanKindName> {
  /** @param run the number of runs added before */
  readonly add: (released: ReleaseOf<Kind>, run: number) => void
  readonly evaluation: () => Evaluation
}

/** A mean over runs. Null if there is none: no truth, no runs, or, for the standard error, a single run. */
export interface Figure {
  readonly value: number | null
  readonly standardError: number | null
}

/** A mean absolute error, and the error that the mechanism is expected to have before any post-processing. */
export interface AbsoluteErrorFigure extends Figure {
  /** Null if it is not known. */
  readonly theoretical: number | null
  /** Upper bound for the true number of rows, if the expected error itself is not known; otherwise null. */
  readonly theoreticalBound: number | null
}

/** One number of the answer, over all runs. */
export interface EvaluatedNumber extends NumberName {
  /**
   * Without noise and without post-processing; null for a statistic that no row contributes to, such as a mean of no
   * rows.
   */
  readonly truth: GridValue | null
  /**
   * Truth minus the value over all rows that the dataset keeps of each person: the bias that the contribution bounds of
   * the query cause. Absent if it has none; null for dates and timestamps, and if a value is undefined.
   */
  readonly boundingBias?: number | null
  readonly meanAbsoluteError: AbsoluteErrorFigure
  /** Relative to the truth; null if that is 0, or a date or timestamp. */
  readonly meanRelativeError: number | null
  /** Mean of noisy value minus truth. */
  readonly bias: Figure & {
    /** 0 for a value known to be unbiased; null for one that is clamped, rounded or a quotient. */
    readonly theoretical: 0 | null
  }
  readonly standardDeviation: number | null
  /** Share of the runs whose error is within the stated half-width. For a quantile, both refer to its rank. */
  readonly withinHalfWidth: number | null
  /** Error of a quantile's rank, in rows. */
  readonly rankErrorRows?: Figure
}

/** One number of one answer. */
export interface ShownNumber extends NumberName {
  readonly noisy: GridValue | null
  /** Half-width that the answer states; null if unknown. For a quantile, the half-width of its rank. */
  readonly halfWidth: number | null
  readonly absoluteError: number | null
  /** Relative to the truth; null if that is 0, or a date or timestamp. */
  readonly relativeError: number | null
  readonly rankErrorRows?: number
}

/** Sum of the absolute errors of numbers in one unit (L1). A number without a truth is left out. */
export interface EvaluatedTotal {
  /** Name of the statistic, for groups: each has its own unit. */
  readonly statistic?: string
  readonly totalAbsoluteError: AbsoluteErrorFigure
  /** 100 sum |noisy - truth| / sum |truth|; null if all truths are 0, or are dates or timestamps. */
  readonly relativeTotalErrorPercent: Figure
}

/** {@link EvaluatedTotal} for a single answer. */
export interface ShownTotal {
  readonly statistic?: string
  readonly totalAbsoluteError: number | null
  readonly relativeTotalErrorPercent: number | null
}

/** Evaluation of an answer made of numbers. */
export interface EvaluatedNumbers {
  readonly runs: number
  /** Confidence of the stated half-widths. */
  readonly confidence: number
  readonly values: readonly EvaluatedNumber[]
  /** One total; for groups one for each statistic. */
  readonly totals: readonly EvaluatedTotal[]
  /** The first runs. */
  readonly shown: readonly {
    readonly values: readonly ShownNumber[]
    readonly totals: readonly ShownTotal[]
  }[]
}

/** Evaluation of a selection among candidates. */
export interface EvaluatedCandidates {
  readonly runs: number
  readonly confidence: number
  /** In the declared order. */
  readonly candidates: readonly {
    readonly candidate: CellLabel
    /** Number of rows. */
    readonly truth: number
    /** Number of runs in which it came first. */
    readonly won: number
    /** Number of runs in which it was among those selected. */
    readonly selected: number
    /** Probability of coming first; null if several are selected, or there are many candidates. */
    readonly probabilityToWin: number | null
  }[]
  /** Rows by which a selected candidate falls short of the best one left: the maximum over those selected in a run. */
  readonly shortfallRows: Figure
  /** Share of the runs in which the shortfall is within the stated half-width. */
  readonly withinHalfWidth: number
  /** Present only if gaps were requested. */
  readonly gaps?: EvaluatedGaps
  /** Results of the first runs. */
  readonly shown: readonly Result[]
}

/** Errors of the noisy gaps of a selection, against the true gaps of the candidates that were selected. */
export interface EvaluatedGaps {
  /** In rows: with the stated confidence it holds for all gaps of an answer together. */
  readonly halfWidth: number
  /** Share of the runs in which the errors of all gaps are within the half-width. */
  readonly withinHalfWidth: number
  /** One for each selected candidate, best first. */
  readonly ranks: readonly {
    /** 1 for the gap between the first and the second. */
    readonly rank: number
    readonly meanAbsoluteError: AbsoluteErrorFigure
    readonly bias: Figure
    readonly standardDeviation: number | null
  }[]
}

/** Evaluation of a selection of keys. */
export interface EvaluatedKeys {
  readonly runs: number
  readonly confidence: number
  /** The keys with the most rows, largest first. */
  readonly keys: readonly {
    readonly key: string
    /** Number of rows. */
    readonly truth: number
    /** Number of runs in which it appeared. */
    readonly appeared: number
    /** Probability of appearing in one run, before an answer with too many keys is truncated. */
    readonly probabilityToAppear: number
    /** Errors of noisy counts, over the runs in which the key appeared. */
    readonly meanAbsoluteError?: Figure
    readonly bias?: Figure
  }[]
  /** Number of keys in the data, reported or not. */
  readonly distinctKeys: number
  /** Results of the first runs. */
  readonly shown: readonly Result[]
}

/** Result of an evaluation. Every number is finite. */
export type Evaluation = EvaluatedNumbers | EvaluatedCandidates | EvaluatedKeys

/** Public facts of an evaluated query. */
interface EvaluatedFacts {
  readonly kind: Plan['query']['kind']
  readonly noise: NoiseReport
  /** Accuracy as an answer states it. */
  readonly accuracy: AccuracyReport
}

/** An evaluated query. */
export type EvaluatedQuery = Evaluation &
  EvaluatedFacts & {
    readonly dataset: string
    readonly datasetVersion: string
  }

/** An evaluated batch. */
export interface EvaluatedBatch {
  readonly dataset: string
  readonly datasetVersion: string
  /** In the order of the queries. `price` is the price of the query on its own. */
  readonly evaluations: readonly (Evaluation & EvaluatedFacts & { readonly price: AmountNumbers })[]
  /** Groups of queries that share a price, by position. */
  readonly disjoint: readonly (readonly number[])[]
  readonly sumOfPrices: AmountNumbers
  /** Price of the batch. */
  readonly cost: AmountNumbers
}

type AmountNumbers = ReturnType<typeof amountNumbers>

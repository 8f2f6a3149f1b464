import type { CellLabel } from '../planner/grouping.ts'
import type { AccuracyReport, NoiseReport, Result } from '../planner/report-kinds.ts'
import type { NumberName } from './truth.ts'

/** A mean over runs. Null where there is no such number: no truth, no runs, a standard error of one run. */
export interface Figure {
  readonly value: number | null
  readonly standardError: number | null
}

/** A mean absolute error, and what the mechanism was expected to err by before any post-processing. */
export interface AbsoluteErrorFigure extends Figure {
  /** Null where only a bound is known, or nothing. */
  readonly theoretical: number | null
  /** At most so much, with as many rows as there are: of what is made from several noisy parts. Otherwise null. */
  readonly theoreticalBound: number | null
}

/** One number of the answer, over all runs. */
export interface EvaluatedNumber extends NumberName {
  /** Without noise and without post-processing; null for what no row has a part in, such as the mean of no rows. */
  readonly truth: number | null
  readonly meanAbsoluteError: AbsoluteErrorFigure
  /** In parts of the truth; null where that is 0. */
  readonly meanRelativeError: number | null
  /** The mean of noisy value less truth. */
  readonly bias: Figure & {
    /** 0 for what is known to be unbiased; null for what is cut, rounded or a quotient. */
    readonly theoretical: 0 | null
  }
  readonly standardDeviation: number | null
  /** The share of the runs in which the error was within the stated half-width: of a quantile, that of its rank. */
  readonly withinHalfWidth: number | null
  /** Of quantiles: by how many rows the rank was off. */
  readonly rankErrorRows?: Figure
}

/** One number of one answer. */
export interface ShownNumber extends NumberName {
  readonly noisy: number | null
  /** As the answer states it; null where it is not known. Of a quantile, that of its rank. */
  readonly halfWidth: number | null
  readonly absoluteError: number | null
  /** In parts of the truth; null where that is 0. */
  readonly relativeError: number | null
  readonly rankErrorRows?: number
}

/** Errors of numbers in one unit, added up (L1). A number without a truth is left out. */
export interface EvaluatedTotal {
  /** Name of the statistic, for groups: each has a unit of its own. */
  readonly statistic?: string
  readonly totalAbsoluteError: AbsoluteErrorFigure
  /** 100 sum |noisy - truth| / sum |truth|; null where all truths are 0. */
  readonly relativeTotalErrorPercent: Figure
}

/** As {@link EvaluatedTotal}, of one answer. */
export interface ShownTotal {
  readonly statistic?: string
  readonly totalAbsoluteError: number | null
  readonly relativeTotalErrorPercent: number | null
}

/** Of an answer made of numbers. */
export interface EvaluatedNumbers {
  readonly runs: number
  /** Of the stated half-widths. */
  readonly confidence: number
  readonly values: readonly EvaluatedNumber[]
  /** One, but for groups one for each statistic. */
  readonly totals: readonly EvaluatedTotal[]
  /** The first runs. */
  readonly shown: readonly {
    readonly values: readonly ShownNumber[]
    readonly totals: readonly ShownTotal[]
  }[]
}

/** Of a selection among candidates. */
export interface EvaluatedCandidates {
  readonly runs: number
  readonly confidence: number
  /** In the declared order. */
  readonly candidates: readonly {
    readonly candidate: CellLabel
    /** Its rows. */
    readonly truth: number
    /** In how many runs it was the first. */
    readonly won: number
    /** In how many it was among those selected. */
    readonly selected: number
    /** To be the first, by the mechanism's law; null where several are selected, or there are many candidates. */
    readonly probabilityToWin: number | null
  }[]
  /** How many rows fewer one of those selected had than the best that was left: the most of any, in each run. */
  readonly shortfallRows: Figure
  /** The share of the runs in which that was within the stated half-width. */
  readonly withinHalfWidth: number
  /** The results of the first runs. */
  readonly shown: readonly Result[]
}

/** Of a selection of keys. */
export interface EvaluatedKeys {
  readonly runs: number
  readonly confidence: number
  /** Those of the most rows, the most first. */
  readonly keys: readonly {
    readonly key: string
    /** Its rows. */
    readonly truth: number
    /** In how many runs it appeared. */
    readonly appeared: number
    /** In one run, by the mechanism's law, before an answer of too many keys is cut off. */
    readonly probabilityToAppear: number
    /** Of noisy counts, over the runs in which it appeared. */
    readonly meanAbsoluteError?: Figure
    readonly bias?: Figure
  }[]
  /** How many there are, with those that are not reported. */
  readonly distinctKeys: number
  /** The results of the first runs. */
  readonly shown: readonly Result[]
}

/** What an evaluation found. Every number is finite. */
export type Evaluation = EvaluatedNumbers | EvaluatedCandidates | EvaluatedKeys

/** A query, and how far off its answers were. */
export type EvaluatedQuery = Evaluation & {
  readonly dataset: string
  readonly datasetVersion: string
  readonly kind: string
  readonly noise: NoiseReport
  /** As an answer states it. */
  readonly accuracy: AccuracyReport
}

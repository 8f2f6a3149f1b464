import type { UniformSource } from '../mechanisms/uniform-source.ts'
import type { CellLabel } from '../planner/grouping.ts'
import type { Plan } from '../planner/plan-kinds.ts'
import { report } from '../planner/report.ts'
import type { Released, Report, Result } from '../planner/report-kinds.ts'
import { type Exact, letOut } from '../release.ts'
import { tallyCandidates } from './candidates.ts'
import { type Extent, requireExtent } from './extent.ts'
import { tallyKeys } from './keys.ts'
import { tallyNumbers } from './numbers.ts'
import { type NumberName, trueEstimates, trueQuantiles } from './truth.ts'

/*
 * How far off the answers to a query are: it is answered many times over made-up people, and every answer is compared
 * with the truth. Nothing is charged, because nobody is protected; the answers are those that a charge would buy, noise,
 * post-processing and all. Of the runs only sums are kept, so that a hundred thousand take no more room than one.
 */

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
  readonly absoluteError: number | null
  /** In parts of the truth; null where that is 0. */
  readonly relativeError: number | null
  readonly rankErrorRows?: number
}

/** Errors of numbers in one unit, added up (L1). A number without a truth is left out. */
export interface EvaluatedTotal {
  /** Of groups, whose statistics have units of their own: which one. */
  readonly statistic?: string
  readonly column?: string
  readonly totalAbsoluteError: AbsoluteErrorFigure
  /** 100 sum |noisy - truth| / sum |truth|; null where all truths are 0. */
  readonly relativeTotalErrorPercent: Figure
}

/** As {@link EvaluatedTotal}, of one answer. */
export interface ShownTotal {
  readonly statistic?: string
  readonly column?: string
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

/** What {@link evaluate} needs. */
export interface EvaluationOptions extends Extent {
  readonly noiseSource: UniformSource
  /** Told how many runs are done, at most about ten times a second. */
  readonly onProgress?: (runsDone: number) => void
  /** In milliseconds, from anywhere. */
  readonly nowMs?: () => number
}

/**
 * Answer a plan many times and compare the answers with the truth. It keeps a processor busy until it is done, and yields
 * now and then: it is for a thread of its own, which the plan and what was read can be handed to.
 *
 * @param exact what was read for the plan.
 * @throws Refusal as {@link requireExtent}, for what was read too; and whatever the source of randomness throws.
 */
export async function evaluate(plan: Plan, exact: Exact, options: EvaluationOptions): Promise<Evaluation> {
  requireExtent(plan, options, exact)
  const { runs, noiseSource, onProgress, nowMs = () => performance.now() } = options
  const tally = tallyOf(plan, exact, options)
  let reportedMs = nowMs()
  for (let run = 0; run < runs; run += 1) {
    const released = await letOut(plan, exact, noiseSource)
    tally.add(released, report(plan, released), run)
    const currentMs = nowMs()
    if (currentMs - reportedMs < PROGRESS_INTERVAL_MS) continue
    reportedMs = currentMs
    onProgress?.(run + 1)
  }
  return tally.evaluation()
}

const PROGRESS_INTERVAL_MS = 100

/** Sums over the runs so far. */
export interface Tally {
  /** @param run how many were added before. */
  readonly add: (released: Released, answer: Report, run: number) => void
  readonly evaluation: () => Evaluation
}

function tallyOf(plan: Plan, exact: Exact, extent: Extent): Tally {
  if (plan.release === 'estimates' && exact.release === 'estimates')
    return tallyNumbers(plan, extent, trueEstimates(plan, exact.integers))
  if (plan.release === 'quantiles' && exact.release === 'quantiles') {
    const { numbers, rankErrorRows } = trueQuantiles(plan, exact.values)
    return tallyNumbers(plan, extent, numbers, rankErrorRows)
  }
  if (plan.release === 'noisy-max' && exact.release === 'noisy-max')
    return tallyCandidates(plan, extent, exact.scores)
  if (plan.release === 'key-selection' && exact.release === 'key-selection')
    return tallyKeys(plan, extent, exact.texts)
  throw new RangeError('what was read is not what the plan asks for')
}

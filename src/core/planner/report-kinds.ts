import type { accuracy, answer, measuredTables, noise, result } from '../../../schemas/answers/answer.ts'
import type { Query } from '../../../schemas/answers/query.ts'
import type { Wire } from '../../privacy/wire.ts'
import type { MechanismName } from '../mechanisms/measurement.ts'

/*
 * Parts of an answer. Their types follow from the wire schemas.
 */

/** Released values as an answer shows them. */
export type Result = Wire<typeof result>

/** A statistic of a group. The half-width of a quantile is a number of rows. */
export type GroupValue = Extract<Result, { groups: unknown }>['groups'][number]['values'][string]

/** Noise of an answer. */
export type NoiseReport = Wire<typeof noise>

/** Noise of sums and counts: of a single one, or of each. */
export type AdditiveNoise = Extract<NoiseReport, { mechanism: MechanismName }>

/**
 * Accuracy of each released value. The half-width is null if it depends on a private number of rows or differs from
 * value to value; `reason` then explains it.
 */
export type AccuracyReport = Wire<typeof accuracy>

/** The noisy integers of measured tables. */
export type MeasuredTables = Wire<typeof measuredTables>

/** Where a true value lies, with the stated confidence. */
export type Interval = NonNullable<AccuracyReport['interval']>

/** Error bounds of one value that are known before the release. */
export type PredictedError = NonNullable<AccuracyReport['estimates']>[string]

/** A noisy sum or count that values are computed from, with its error bounds. They hold together. */
type StatedStatistic = NonNullable<AccuracyReport['statistics']>[number]

/** Error bounds of one value. */
export type ErrorReport = Pick<StatedStatistic, 'halfWidth' | 'expectedAbsoluteError'>

/** Name of a noisy statistic, with the column or columns that it is about. */
export type StatisticName = Omit<StatedStatistic, keyof ErrorReport>

/** Noise of one statistic, in the unit of the statistic. */
export type StatisticNoise = Pick<
  Extract<AdditiveNoise, { scale: unknown }>,
  'scale' | 'sensitivity' | 'granularity' | 'p'
>

export type AccuracyUnit = NonNullable<AccuracyReport['unit']>

/** An answer's values and their accuracy. */
export interface Report {
  readonly result: Result
  readonly accuracy: AccuracyReport
  /** The noisy integers from which estimated tables follow. */
  readonly measured?: MeasuredTables
}

/** The report of a release, without an accuracy that follows from its plan alone. */
export type PartialReport = Omit<Report, 'accuracy'> & Partial<Pick<Report, 'accuracy'>>

/** Changes of released values that a query asks for. */
export type Postprocessing = Extract<Query, { postprocess: unknown }>['postprocess']

/** Facts about the values of a release: by the names of statistics, or of the one value by `value`. */
export type ValueDomain = NonNullable<Wire<typeof answer>['domain']>

/** Public facts about the true value of an estimate. */
export type ValueFacts = ValueDomain[string]

import type { Query, Suppositions } from '../../../../schemas/answers/query.ts'
import type { PrivacyLoss, RhoPico } from '../../../privacy/loss.ts'
import type { Dataset } from '../../dataset/dataset.ts'
import { addNoises, type Measurement } from '../../mechanisms/measurement.ts'
import type { UniformSource } from '../../mechanisms/samplers/uniform-source.ts'
import type { Fields } from '../identity/normal-fields.ts'
import type { Predicate } from '../language/aggregate.ts'
import type { ContributionReport } from '../language/contribution.ts'
import type { Reading, ReadingResults } from '../language/reading.ts'
import type { AccuracyReport, NoiseReport, PartialReport, ValueDomain } from '../report-kinds.ts'

/** Limits on a plan. */
export interface PlanLimits {
  readonly maxCells: number
  /** Largest number of selected keys; `maxCells` by default. */
  readonly maxKeys?: number
  /** Largest number of characters of an answer's values with their keys; {@link LARGEST_ANSWER} by default. */
  readonly maxCharacters?: number
}

/** Largest number of characters of an answer's values. Every answer is stored forever. */
export const LARGEST_ANSWER = 4_000_000

/** Facts that a plan of any kind holds. */
export interface PlanFacts {
  readonly query: Query
  readonly dataset: Dataset
  /** Price in epsilon and delta. */
  readonly loss: PrivacyLoss
  /** Price in zero-concentrated differential privacy, rounded up; absent if the mechanism has none. */
  readonly rho?: RhoPico
  /** Confidence of every half-width stated. */
  readonly confidence: number
  /** Bounds on what each person contributes; absent where rows are the privacy units. */
  readonly contribution?: ContributionReport
  /** Present if the noise follows from a rho, and from no epsilon: the normal form then states `rho`. */
  readonly statedRho?: RhoPico
}

/** A computation in steps. Between two of them, other work can be done. */
export type Steps<Result> = Iterator<void, Result>

/** Returns a computation that takes one step. */
export function inOneStep<Result>(compute: () => Result): Steps<Result> {
  return { next: () => ({ done: true, value: compute() }) }
}

/** Draws one release with fresh noise. */
export type Draw<Release> = (noiseSource: UniformSource) => Steps<Release>

/** Noisy vectors, each in the output units of its measurement. */
export interface NoisyRelease<Kind> {
  readonly kind: Kind
  readonly noisy: readonly (readonly bigint[])[]
}

/** Prepares releases of vectors, each with the noise of its measurement. */
export function addingNoise<Kind extends string>(
  kind: Kind,
  measurements: readonly Measurement[],
  vectors: readonly (readonly bigint[])[],
) {
  return function* (noiseSource: UniformSource): Generator<void, NoisyRelease<Kind>> {
    return { kind, noisy: yield* addNoises(measurements, vectors, noiseSource) }
  }
}

/**
 * Contract of one kind of plan. Every member depends only on the plan, on the exact integers that it reads, or on its
 * release.
 */
export interface PlanKind<Plan extends PlanFacts, Exact, Release> {
  /** Readings of the data. A plan whose one reading is an aggregate can share a scan with others. */
  readonly readings: (plan: Plan) => readonly Reading[]
  /** Puts together what was read, in the order of the readings. */
  readonly exact: (plan: Plan, results: ReadingResults) => Exact
  /** Prepares releases of what was read. Computations that do not depend on the noise run once. */
  readonly release: (plan: Plan, exact: Exact) => Draw<Release>
  /** The fields of its normal form that the planner has chosen: the mechanism and its parameters. */
  readonly chosen: (plan: Plan) => Fields
  /** Facts about the released values that can be post-processed; absent or `undefined` without such values. */
  readonly domain?: (plan: Plan) => ValueDomain | undefined
  /**
   * Predicate that a row must satisfy to have any part in the release; `undefined` if every row has. A public number of
   * rows that a plan relies on is the same for neighbours.
   */
  readonly rowsThatCount: (plan: Plan) => Predicate | undefined
  /** Largest number of values in an answer, as the limit on a batch counts them; 0 for selections of a few. */
  readonly mostValues: (plan: Plan) => number
  /**
   * Checks that an answer is not too large to be made. A preview of a larger one still states its figures.
   * @throws Refusal `query-does-not-fit` if it is. Absent where plans are checked already.
   */
  readonly requireAnswerable?: (plan: Plan) => void
  /**
   * Least half-width of the noise in a number of the release, at the default confidence, as a number of rows or people:
   * for a sum, its half-width divided by the most that one row adds to it. For keys alone it is the number of rows that a
   * key needs to appear.
   */
  readonly leastHalfWidthRows: (plan: Plan) => number
  /**
   * Loss between datasets that differ by one privacy unit replaced: how much the release reveals about which rows a
   * person has. Under change-one this is the price.
   */
  readonly replacementLoss: (plan: Plan) => PrivacyLoss
  /** Describes the noise of the answer. Public before the query is paid for. */
  readonly noise: (plan: Plan) => NoiseReport
  /** Accuracy of the answer before post-processing, computed without data. See {@link measuredAccuracy}. */
  readonly accuracy: (plan: Plan, supposed: Suppositions) => AccuracyReport
  /** See {@link measuredReporter}. */
  readonly reporter: (plan: Plan) => (release: Release) => PartialReport
}

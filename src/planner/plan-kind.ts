import type { Query, Suppositions } from '../../schemas/query.ts'
import type { Dataset } from '../catalog/dataset.ts'
import type { PrivacyLoss, RhoPico } from '../privacy/loss.ts'
import type { Predicate } from './aggregate.ts'
import type { ContributionReport } from './contribution.ts'
import type { AccuracyReport, NoiseReport, Report } from './report-kinds.ts'

/** Limits on a plan. */
export interface PlanLimits {
  readonly maxCells: number
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
}

/** Contract of one kind of plan. Every member depends only on the plan, or on its release. */
export interface PlanKind<Plan extends PlanFacts, Release> {
  /**
   * Predicate that a row must satisfy to have any part in the release; `undefined` if every row has. Statistics,
   * cells, candidates, ranks and keys are counted among these rows only. A public number of rows that a plan relies on
   * is the same for neighbours.
   */
  readonly rowsThatCount: (plan: Plan) => Predicate | undefined
  /** Largest number of values in an answer, as the limit on a batch counts them; 0 for selections of a few. */
  readonly mostValues: (plan: Plan) => number
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
  /**
   * Prepares the computation of the answer's numbers from releases, before the post-processing that a query asks for. It
   * costs nothing. Computations that depend on the plan alone run once.
   */
  readonly reporter: (plan: Plan) => (release: Release) => Report
}

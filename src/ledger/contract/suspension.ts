/** The failures of a dataset that were counted since its last resumption. */
export interface SuspensionState {
  /** Number of failures. */
  readonly failures: number
  /** True if nothing is charged, retried or asked until the dataset is resumed. */
  readonly suspended: boolean
}

/** A failure after a charge, as it is recorded. */
export interface Failure {
  /** True if the failure may depend on data, and therefore counts towards the suspension of the dataset. */
  readonly counts: boolean
  /** Number of counted failures at which the dataset is suspended. */
  readonly limit: number
  /** Class name of the error. Another text than a class name is not recorded, because it could contain data. */
  readonly errorClass?: string
}

/** A counted failure. */
export interface CountedFailure {
  readonly sequence: number
  /** ISO 8601, UTC. */
  readonly at: string
  readonly principal: string
  /** Charge whose attempt failed; for a question of a session, the charge that opened the session. */
  readonly chargeId: string
  /** Missing if the class of the error is unknown. */
  readonly errorClass?: string
}

/** The suspension of a dataset, as the custodian sees it. */
export interface Suspension extends SuspensionState {
  /** The counted failures since the last resumption, oldest first; the latest 1,000 if there are more. */
  readonly counted: readonly CountedFailure[]
}

/** The outcome of {@link Suspensions.resume}. */
export type ResumeOutcome =
  | { readonly kind: 'resumed' }
  /** The dataset is not suspended. Nothing was changed. */
  | { readonly kind: 'not-suspended' }
  | { readonly kind: 'no-budget' }

/** The suspension of datasets after failures that were counted. The effect of every method is durable when its promise resolves. */
export interface Suspensions {
  /** Reads the suspension of a dataset; `undefined` if it has no budget. */
  suspension(dataset: string): Promise<Suspension | undefined>
  /** Ends the suspension of a dataset and counts its failures from 0 again. */
  resume(dataset: string, principal: string, reason: string): Promise<ResumeOutcome>
}

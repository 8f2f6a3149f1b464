import type { Dataset } from '../core/dataset/dataset.ts'
import type { Engine } from '../engines/engine.ts'
import { Refusal } from '../privacy/refusal.ts'

/** Failure of a query after its charge. Only the error class is kept for the log; messages may contain data. */
export class AnswerFailure extends Error {
  readonly chargeId: string
  readonly errorClass: string

  constructor(chargeId: string, errorClass: string) {
    super('the query was charged and could not be completed')
    this.name = 'AnswerFailure'
    this.chargeId = chargeId
    this.errorClass = errorClass
  }
}

/**
 * Failure of a question of a session. Nothing more is charged for it, and a repeat is answered. Only the error class is
 * kept for the log; messages may contain data.
 */
export class QuestionFailure extends Error {
  readonly session: string
  readonly errorClass: string

  constructor(session: string, errorClass: string) {
    super('the question could not be answered')
    this.name = 'QuestionFailure'
    this.session = session
    this.errorClass = errorClass
  }
}

/** Class of an error, for the log. */
export function errorClassOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown'
}

/** Classes of failures of a database that ended, or could not be reached, while a request was under way. */
const OUTAGES: readonly string[] = ['EngineUnavailable', 'EngineInterrupted']

/** True for a failure after which a repeat is answered once the database can be reached again. */
export function isOutage({ errorClass }: AnswerFailure | QuestionFailure): boolean {
  return OUTAGES.includes(errorClass)
}

/** Time after which a request that met an outage may be repeated. */
export const OUTAGE_RETRY_SECONDS = 10

/** False while the database of a dataset is known to be unreachable. */
export function isReachable(engine: Pick<Engine, 'isReachable'>, dataset: Dataset): boolean {
  return engine.isReachable?.(dataset) ?? true
}

/** Refusal of a request over a database that is known to be unreachable. */
export function unreachable(): Refusal {
  const detail = 'The database of the dataset cannot be reached at present. Nothing was charged.'
  return new Refusal('unavailable', detail, [], { retryAfterSeconds: OUTAGE_RETRY_SECONDS })
}

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

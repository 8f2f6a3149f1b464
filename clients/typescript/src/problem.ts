import type { PROBLEM_CODES } from './problem-codes.ts'

/** Code of a problem of the service. */
export type ProblemCode = (typeof PROBLEM_CODES)[number]

/** Problem document of the service (RFC 9457). */
export interface ProblemDocument {
  /** Address of the description of the code. */
  readonly type?: string
  readonly code: string
  readonly status: number
  readonly title: string
  readonly detail: string
  readonly errors?: readonly { readonly field: string; readonly rule: string }[]
  readonly requestId?: string
  readonly [fact: string]: unknown
}

/** Base class of all errors of this package. */
export class SottoError extends Error {
  override readonly name: string = 'SottoError'
}

/**
 * The service could not be reached or did not answer, and repeats did not help. A request may have been charged: the
 * same request, sent again, finds its stored answer.
 */
export class ConnectionFailed extends SottoError {
  override readonly name = 'ConnectionFailed'
}

/** The address answered, but not as the service does: another server, a proxy or a redirect. */
export class UnexpectedResponse extends SottoError {
  override readonly name = 'UnexpectedResponse'
}

/** A refusal or failure of the service. docs/problems.md explains each code, and which of them may have been charged. */
export class Problem extends SottoError {
  override readonly name = 'Problem'
  /** Stable code. Services newer than this package may have further codes. */
  readonly code: ProblemCode | (string & {})
  readonly status: number
  readonly title: string
  readonly detail: string
  /** Fields that violate a rule, as dotted paths, and the rule. */
  readonly errors: readonly { readonly field: string; readonly rule: string }[]
  readonly requestId: string | undefined
  /** The whole document, with further facts such as `remaining`. */
  readonly raw: ProblemDocument

  constructor(document: ProblemDocument) {
    super(`${document.code}: ${document.detail}${whereDescribed(document)}`)
    this.code = document.code
    this.status = document.status
    this.title = document.title
    this.detail = document.detail
    this.errors = document.errors ?? []
    this.requestId = document.requestId
    this.raw = document
  }

  /** First field at fault. */
  get field(): string | undefined {
    return this.errors[0]?.field
  }

  /** Rule that the first field at fault violates. */
  get rule(): string | undefined {
    return this.errors[0]?.rule
  }
}

/** Returns where a problem is described, in words; an empty text unless that is a whole address. */
function whereDescribed({ type }: ProblemDocument): string {
  return type !== undefined && /^https?:/.test(type) ? ` (see ${type})` : ''
}

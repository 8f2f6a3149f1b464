import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod'
import { AnswerFailure, QuestionFailure } from '../answers/failure.ts'
import { LedgerFault } from '../ledger/ledger.ts'
import { type FieldError, Refusal, type RefusalCode, type RefusalFacts } from '../privacy/refusal.ts'
import type { AllowedMethods } from './allowed-methods.ts'

/** The codes of what went wrong on our side or in HTTP itself; with {@link RefusalCode} they are all there are. */
type FailureCode =
  | 'query-failed'
  | 'question-failed'
  | 'internal-error'
  | 'path-unknown'
  | 'method-not-allowed'
  | 'body-too-large'
  | 'media-type-unsupported'
  | 'http-error'

/** A problem's stable code. */
export type ProblemCode = RefusalCode | FailureCode

/** Every problem there is: its HTTP status and its title. `docs/problems.md` explains each. */
export const PROBLEMS = {
  'invalid-request': { status: 400, title: 'The request breaks a rule' },
  'malformed-json': { status: 400, title: 'The body is not the JSON that is asked for' },
  unauthenticated: { status: 401, title: 'A valid API key is needed' },
  forbidden: { status: 403, title: 'The key has another role' },
  'unknown-dataset': { status: 404, title: 'There is no such dataset' },
  'unknown-release': { status: 404, title: 'There is no such release of yours' },
  'unknown-session': { status: 404, title: 'There is no such session of yours' },
  'dataset-exists': { status: 409, title: 'The dataset exists' },
  'budget-account-exists': { status: 409, title: 'The id has a budget from before' },
  'source-refused': { status: 422, title: 'The source file is refused' },
  'source-unreadable': { status: 422, title: 'The source file cannot be read' },
  'source-does-not-fit': { status: 422, title: 'The source file does not fit the declaration' },
  'unsupported-privacy-unit': { status: 422, title: 'The privacy unit is not supported' },
  'not-synthetic': { status: 403, title: 'The dataset is not synthetic' },
  'too-many-worlds': { status: 422, title: 'There are too many possible worlds' },
  'risk-below-prior': { status: 422, title: 'No epsilon brings the risk so low' },
  'query-does-not-fit': { status: 422, title: 'The query does not fit the dataset' },
  'mechanism-not-applicable': { status: 422, title: 'The mechanism does not apply' },
  'unsupported-under-zcdp': { status: 422, title: 'The query has no price in rho' },
  'allotment-insufficient': { status: 403, title: 'The allotment does not suffice' },
  'allotment-below-spent': { status: 409, title: 'More than that was spent already' },
  'unknown-analyst': { status: 404, title: 'There is no such analyst' },
  'budget-insufficient': { status: 403, title: 'The budget does not suffice' },
  'idempotency-key-reused': { status: 422, title: 'The key belongs to another request' },
  'query-in-flight': { status: 409, title: 'The same question is being answered' },
  'session-used-up': { status: 409, title: 'The session is used up' },
  'session-dataset-changed': { status: 409, title: 'The dataset is not what it was' },
  'query-failed': { status: 500, title: 'The query could not be completed' },
  'question-failed': { status: 500, title: 'The question could not be answered' },
  'internal-error': { status: 500, title: 'Something failed on our side' },
  unavailable: { status: 503, title: 'The service cannot answer now' },
  'path-unknown': { status: 404, title: 'Unknown path' },
  'method-not-allowed': { status: 405, title: 'Method not allowed' },
  'body-too-large': { status: 413, title: 'The body is too large' },
  'media-type-unsupported': { status: 415, title: 'The body must be JSON' },
  'http-error': { status: 400, title: 'The request is not one this service can read' },
} as const satisfies Record<ProblemCode, { status: number; title: string }>

/** A problem document (RFC 9457). */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly code: ProblemCode
  readonly detail: string
  readonly errors?: readonly FieldError[]
  /** Absent where the bytes never became a request. */
  readonly requestId?: string
  readonly [fact: string]: unknown
}

interface ProblemParts {
  readonly code: ProblemCode
  readonly detail: string
  readonly status?: number
  readonly errors?: readonly FieldError[]
  readonly facts?: RefusalFacts
}

/** The problem document of a refusal or an error, which is logged; failures say nothing. */
export function describeProblem(error: unknown, request: FastifyRequest): Problem {
  const parts = problemParts(error, request)
  logProblem(error, parts.code, request)
  return problemDocument(parts, request.id)
}

/** Fastify's error handler: every refusal and every error becomes a problem document. */
export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const problem = describeProblem(error, request)
  const { status, retryAfterSeconds: retryAfter } = problem
  if (typeof retryAfter === 'number') reply.header('retry-after', retryAfter)
  if (status === 401) reply.header('www-authenticate', 'Bearer realm="sotto"')
  return reply.code(status).type('application/problem+json').send(JSON.stringify(problem))
}

/** Answers a request that matches no route: 405 with `Allow` if the path has other methods, otherwise 404. */
export function sendNotFound(
  request: FastifyRequest,
  reply: FastifyReply,
  allowedMethods: AllowedMethods,
): FastifyReply {
  const path = request.url.split('?')[0] ?? ''
  const methods = allowedMethods.of(path)
  if (methods.length > 0) reply.header('allow', methods.join(', '))
  return sendProblem(new RouteUnknown(request.method, path, methods), request, reply)
}

/** Node's handler for what is not HTTP enough to become a request: the connection gets a problem and ends. */
export function sendConnectionProblem(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const status = STATUS_OF_CONNECTION_ERROR[error.code ?? ''] ?? 400
  const detail = 'The bytes on this connection are not a request this service can read, or came too slowly.'
  const body = JSON.stringify(problemDocument({ code: 'http-error', status, detail }))
  socket.end(
    [
      `HTTP/1.1 ${status} ${PROBLEMS['http-error'].title}`,
      'Content-Type: application/problem+json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}

const STATUS_OF_CONNECTION_ERROR: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

function problemDocument(parts: ProblemParts, requestId?: string): Problem {
  const { status, title } = PROBLEMS[parts.code]
  return {
    type: `urn:sotto:problem:${parts.code}`,
    title,
    status: parts.status ?? status,
    code: parts.code,
    detail: parts.detail,
    ...(parts.errors === undefined || parts.errors.length === 0 ? {} : { errors: parts.errors }),
    ...parts.facts,
    ...(requestId === undefined ? {} : { requestId }),
  }
}

class RouteUnknown extends Error {
  readonly code: ProblemCode

  constructor(method: string, path: string, allowed: readonly string[]) {
    super(
      allowed.length === 0
        ? `There is no resource at ${path}. See /docs for all operations.`
        : `${path} does not accept ${method}. It accepts ${allowed.join(', ')}.`,
    )
    this.code = allowed.length === 0 ? 'path-unknown' : 'method-not-allowed'
  }
}

function problemParts(error: unknown, request: FastifyRequest): ProblemParts {
  if (error instanceof Refusal) {
    return { code: error.code, detail: error.message, errors: error.errors, facts: error.facts }
  }
  if (error instanceof AnswerFailure) {
    return {
      code: 'query-failed',
      detail:
        'The query was charged and could not be completed. Ask again with the same Idempotency-Key, or the same ' +
        'body without one: it is answered under the same charge.',
      facts: { chargeId: error.chargeId },
    }
  }
  if (error instanceof QuestionFailure) {
    return {
      code: 'question-failed',
      detail:
        'The question could not be answered. Ask again with the same Idempotency-Key, or the same body without one: it ' +
        'costs nothing, and if an answer was stored, that is what you get.',
    }
  }
  if (error instanceof LedgerFault) {
    return {
      code: 'unavailable',
      detail:
        'The ledger does not answer. Ask again later with the same Idempotency-Key, or the same body without one: a ' +
        'question is never charged twice.',
    }
  }
  if (error instanceof RouteUnknown) return { code: error.code, detail: error.message }
  if (isPrematureClose(error)) return { code: 'unavailable', detail: 'The client left before all was sent.' }
  if (hasZodFastifySchemaValidationErrors(error)) return validationParts(error)
  if (isFastifyError(error)) return frameworkParts(error, request.routeOptions.bodyLimit)
  return { code: 'internal-error', detail: 'The request failed on our side. The log has the request id.' }
}

function validationParts(error: FastifyError & { validation: readonly ValidationIssue[] }): ProblemParts {
  const ofWrongType = new Set(
    error.validation
      .filter(({ keyword }) => keyword === 'invalid_type')
      .map(({ instancePath }) => instancePath),
  )
  // What else is asked of a value means nothing where it is of the wrong type: a text has no entries.
  const errors = error.validation
    .filter(({ keyword, instancePath }) => keyword === 'invalid_type' || !ofWrongType.has(instancePath))
    .flatMap(fieldErrors)
  const detail = errors.map(({ field, rule }) => `${field}: ${rule}`).join('; ')
  return { code: 'invalid-request', detail, errors }
}

interface ValidationIssue {
  /** As zod calls what is wrong. */
  readonly keyword?: string | undefined
  readonly instancePath: string
  readonly message?: string | undefined
  readonly params?: { readonly keys?: unknown; readonly errors?: unknown } | undefined
}

/** An issue as zod words it, within one of the kinds that a value may be of. */
interface NestedIssue {
  readonly code: string
  readonly path: readonly (string | number)[]
  readonly message: string
  readonly keys?: unknown
  readonly errors?: unknown
}

function fieldErrors({ instancePath, message, params }: ValidationIssue): readonly FieldError[] {
  return errorsAt(instancePath.split('/').filter(Boolean), message ?? 'is not valid', params ?? {})
}

function errorsAt(
  path: readonly (string | number)[],
  rule: string,
  { keys, errors }: { readonly keys?: unknown; readonly errors?: unknown },
): readonly FieldError[] {
  if (Array.isArray(keys))
    return keys.map((key) => ({ field: [...path, key].join('.'), rule: 'is not a field of this request' }))
  const meant = kindMeant(errors)
  if (meant !== undefined)
    return meant.flatMap((issue) => errorsAt([...path, ...issue.path], issue.message, issue))
  return [{ field: path.length === 0 ? 'body' : path.join('.'), rule }]
}

/**
 * Where a value may be of several kinds and its shape is that of just one, what is wrong with it as that kind. A shape
 * does not fit where the whole is of another type, has fields that the kind has not, or names another kind.
 */
function kindMeant(errors: unknown): readonly NestedIssue[] | undefined {
  if (!Array.isArray(errors)) return undefined
  const kinds: readonly (readonly NestedIssue[])[] = errors
  const fitting = kinds.filter(
    (issues) =>
      !issues.some(({ code, path }) => path.length === 0 || (path.length === 1 && code === 'invalid_value')),
  )
  return fitting.length === 1 ? fitting[0] : undefined
}

/** Of a stream that its client did not wait for. */
function isPrematureClose(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
}

function isFastifyError(error: unknown): error is FastifyError {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    error.code.startsWith('FST_')
  )
}

function frameworkParts(error: FastifyError, bodyLimit: number | undefined): ProblemParts {
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return {
        code: 'body-too-large',
        detail: `The body is larger than ${(bodyLimit ?? 0) / 1024} KiB.`,
      }
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return { code: 'media-type-unsupported', detail: 'Send the body as application/json.' }
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return { code: 'malformed-json', detail: 'The body is empty; a JSON object is needed.' }
    case 'FST_ERR_HANDLER_TIMEOUT':
      return {
        code: 'unavailable',
        detail: 'The request took too long. Asking again is free where it was charged.',
      }
    default: {
      const status = error.statusCode ?? 500
      return status < 500
        ? { code: 'http-error', status, detail: error.message }
        : { code: 'internal-error', detail: 'The request failed on our side. The log has the request id.' }
    }
  }
}

/** Refusals are the caller's business; of failures the log keeps the class, and the stack only where no data were read. */
function logProblem(error: unknown, code: ProblemCode, request: FastifyRequest): void {
  if (error instanceof AnswerFailure) {
    request.log.error({ code, chargeId: error.chargeId, errorClass: error.errorClass }, 'query failed')
  } else if (error instanceof QuestionFailure) {
    request.log.error({ code, session: error.session, errorClass: error.errorClass }, 'question failed')
  } else if (code === 'internal-error' || error instanceof LedgerFault) {
    request.log.error({ code, err: error }, 'request failed')
  } else {
    request.log.info({ code }, 'request refused')
  }
}

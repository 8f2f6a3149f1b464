import type { Socket } from 'node:net'
import type { FastifyBaseLogger, FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { problem } from '../../schemas/service/problem.ts'
import { AnswerFailure, isOutage, OUTAGE_RETRY_SECONDS, QuestionFailure } from '../answers/failure.ts'
import { DocumentsFault } from '../ledger/documents/fault.ts'
import { LedgerFault } from '../ledger/fault.ts'
import { defined } from '../privacy/defined.ts'
import { PROBLEMS, type ProblemCode } from '../privacy/problems.ts'
import { type FieldError, Refusal, type RefusalFacts } from '../privacy/refusal.ts'
import type { Wire } from '../privacy/wire.ts'
import { KeyFileFault } from './access/keys/key-file.ts'
import type { AllowedMethods } from './allowed-methods.ts'
import { CONTENT_POLICY_TEXT } from './headers.ts'

/** Problem document (RFC 9457). */
export type Problem = Wire<typeof problem> & { readonly code: ProblemCode }

interface ProblemParts {
  readonly code: ProblemCode
  readonly detail: string
  readonly status?: number
  readonly errors?: readonly FieldError[]
  readonly facts?: RefusalFacts
}

/** Notes a refusal, or logs an error, and returns its problem document. The document of a failure contains no details. */
export function describeProblem(error: unknown, request: FastifyRequest): Problem {
  const parts = problemParts(error, request)
  logProblem(error, parts.code, request)
  return problemDocument(parts, request.id)
}

/** Sends the problem document of a refusal or an error. Fastify's error handler. */
export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const problem = describeProblem(error, request)
  const { status, retryAfterSeconds: retryAfter } = problem
  if (typeof retryAfter === 'number') reply.header('retry-after', retryAfter)
  if (status === 401) reply.header('www-authenticate', 'Bearer realm="sotto"')
  return reply.code(status).type('application/problem+json').send(JSON.stringify(problem))
}

/**
 * Answers a request that matches no route, or whose route finds nothing: 405 with `Allow` if the path has only other
 * methods, otherwise 404.
 */
export function sendNotFound(
  request: FastifyRequest,
  reply: FastifyReply,
  allowedMethods: AllowedMethods,
): FastifyReply {
  const path = request.url.split('?')[0] ?? ''
  const known = allowedMethods.of(path)
  // A route that found nothing at this address accepts the method.
  const methods = known.includes(request.method) ? [] : known
  if (methods.length > 0) reply.header('allow', methods.join(', '))
  return sendProblem(new RouteUnknown(request.method, path, methods), request, reply)
}

/**
 * Sends a problem document and closes the connection after bytes that are not an HTTP request. Node's `clientError`
 * handler.
 */
export function sendConnectionProblem(error: { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const status = STATUS_OF_CONNECTION_ERROR[error.code ?? ''] ?? 400
  const detail = 'The service received an invalid HTTP request, or the request took too long to arrive.'
  const body = JSON.stringify(problemDocument({ code: 'http-error', status, detail }))
  socket.end(
    [
      `HTTP/1.1 ${status} ${PROBLEMS['http-error'].title}`,
      'Content-Type: application/problem+json',
      `Content-Security-Policy: ${CONTENT_POLICY_TEXT}`,
      'X-Content-Type-Options: nosniff',
      'Cache-Control: no-store',
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
  return defined({
    type: `/problems/${parts.code}`,
    title,
    status: parts.status ?? status,
    code: parts.code,
    detail: parts.detail,
    errors: parts.errors?.length === 0 ? undefined : parts.errors,
    ...parts.facts,
    requestId,
  })
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
  if (error instanceof RouteUnknown) return { code: error.code, detail: error.message }
  if (isCoded(error) && error.code === 'ERR_STREAM_PREMATURE_CLOSE')
    return { code: 'unavailable', detail: 'The client disconnected before the response was complete.' }
  if (isCoded(error) && error.code.startsWith('FST_')) return frameworkParts(error, request.routeOptions)
  return failureParts(error)
}

/** Describes a refusal or a failure of the service. The description of a failure contains no details. */
export function failureParts(error: unknown): ProblemParts {
  if (error instanceof Refusal) {
    return { code: error.code, detail: error.message, errors: error.errors, facts: error.facts }
  }
  if (error instanceof AnswerFailure && isOutage(error)) {
    return {
      code: 'unavailable',
      detail:
        'The query was charged, and the database of the dataset could not be used. Repeat it with the same Idempotency-Key, or with ' +
        'the same body if it had none. The repeat is answered under the same charge.',
      facts: { chargeId: error.chargeId, retryAfterSeconds: OUTAGE_RETRY_SECONDS },
    }
  }
  if (error instanceof AnswerFailure) {
    return {
      code: 'query-failed',
      detail:
        'The query was charged and could not be completed. Repeat it with the same Idempotency-Key, or with the same ' +
        'body if it had none. The repeat is answered under the same charge.',
      facts: { chargeId: error.chargeId },
    }
  }
  if (error instanceof QuestionFailure && isOutage(error)) {
    return {
      code: 'unavailable',
      detail: 'The database of the dataset could not be used. Repeat the question; the repeat costs nothing.',
      facts: { retryAfterSeconds: OUTAGE_RETRY_SECONDS },
    }
  }
  if (error instanceof QuestionFailure) {
    return {
      code: 'question-failed',
      detail:
        'The question could not be answered. Repeat it with the same Idempotency-Key, or with the same body if it had ' +
        'none. The repeat costs nothing and returns the stored answer if there is one.',
    }
  }
  const fault = storeFault(error) ?? diskFault(error)
  if (fault !== undefined) return { code: 'unavailable', ...fault }
  return FAILED
}

const FAILED: ProblemParts = {
  code: 'internal-error',
  detail: 'The request failed. The log contains the request id.',
}

/** An error with a code of Node or Fastify. */
function isCoded(error: unknown): error is FastifyError {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Media type of the body, if it is not JSON. */
    mediaType?: string
  }
}

function frameworkParts(
  error: FastifyError,
  { bodyLimit, config }: FastifyRequest['routeOptions'],
): ProblemParts {
  const mediaType = config?.mediaType ?? 'application/json'
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return {
        code: 'body-too-large',
        detail: `The body is larger than ${(bodyLimit ?? 0) / 1024} KiB.`,
      }
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_INVALID_MULTIPART_CONTENT_TYPE':
      return { code: 'media-type-unsupported', detail: `Send the body as ${mediaType}.` }
    case 'FST_PARTS_LIMIT':
    case 'FST_FILES_LIMIT':
    case 'FST_FIELDS_LIMIT':
    case 'FST_PROTO_VIOLATION': {
      const rule = 'must be the only part of a complete form, a file'
      return { code: 'invalid-request', detail: `file: ${rule}`, errors: [{ field: 'file', rule }] }
    }
    case 'FST_MP_PREMATURE_CLOSE':
      return { code: 'unavailable', detail: 'The client disconnected before the file was complete.' }
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return { code: 'malformed-json', detail: 'The body is empty. Send a JSON object.' }
    case 'FST_ERR_HANDLER_TIMEOUT':
      return { code: 'unavailable', detail: 'The request took too long. Retry later.' }
    default: {
      const status = error.statusCode ?? 500
      return status < 500 ? { code: 'http-error', status, detail: error.message } : FAILED
    }
  }
}

/** Problem for a store that failed. The messages of these failures contain no stored data. */
function storeFault(error: unknown): Pick<ProblemParts, 'detail' | 'facts'> | undefined {
  if (error instanceof LedgerFault)
    return {
      detail:
        'The ledger does not respond. Retry later with the same Idempotency-Key, or with the same body if it had none. A ' +
        'request is never charged twice.',
    }
  if (error instanceof KeyFileFault) return { detail: 'The API keys cannot be read. The log says why.' }
  if (error instanceof DocumentsFault)
    return {
      detail:
        'The database of the API keys and the catalog does not respond. Retry later; nothing was charged.',
      facts: { retryAfterSeconds: 1 },
    }
  return undefined
}

/** Problem for a file that could not be written because the disk, or the quota of its user, is full. */
function diskFault(error: unknown): Pick<ProblemParts, 'detail' | 'facts'> | undefined {
  if (!isCoded(error) || (error.code !== 'ENOSPC' && error.code !== 'EDQUOT')) return undefined
  return { detail: 'The disk of the service is full. Nothing was changed.', facts: { retryAfterSeconds: 10 } }
}

/** Codes of refusals, for the log lines of their requests. */
const refusals = new WeakMap<FastifyRequest, ProblemCode>()

/** Returns the code with which a request was refused; `undefined` if it was not, or failed. */
export function refusalOf(request: FastifyRequest): ProblemCode | undefined {
  return refusals.get(request)
}

/**
 * Logs failures. Those after data was read are logged without message and stack, which may contain data. A refusal has
 * no line of its own: its code is in the line of the request.
 */
function logProblem(error: unknown, code: ProblemCode, request: FastifyRequest): void {
  if (!logFailure(error, code, request.log)) refusals.set(request, code)
}

/** Logs a failure; returns false for a refusal. */
export function logFailure(
  error: unknown,
  code: ProblemCode,
  log: Pick<FastifyBaseLogger, 'error'>,
): boolean {
  if (error instanceof AnswerFailure) {
    log.error({ code, chargeId: error.chargeId, errorClass: error.errorClass }, 'query failed')
  } else if (error instanceof QuestionFailure) {
    log.error({ code, session: error.session, errorClass: error.errorClass }, 'question failed')
  } else if (code === 'internal-error' || (storeFault(error) ?? diskFault(error)) !== undefined) {
    log.error({ code, err: error }, 'request failed')
  } else return false
  return true
}

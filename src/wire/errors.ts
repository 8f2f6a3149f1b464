import { failureParts } from '../http/problem.ts'
import { LimiterFull, LimiterTimeout } from '../platform/concurrency/limiter.ts'
import { defined } from '../privacy/defined.ts'
import type { ProblemCode } from '../privacy/problems.ts'
import type { Report } from './protocol/backend.ts'
import { ProtocolViolation } from './protocol/fields.ts'
import { TooSlow } from './protocol/inbox.ts'

/** An error that a client is told of, with its SQLSTATE. It never depends on data. */
export class WireError extends Error {
  readonly sqlState: string
  readonly hint: string | undefined
  /** True if the connection ends with it. */
  readonly isFatal: boolean

  constructor(
    sqlState: string,
    message: string,
    { hint, fatal = false }: { readonly hint?: string; readonly fatal?: boolean } = {},
  ) {
    super(message)
    this.name = 'WireError'
    this.sqlState = sqlState
    this.hint = hint
    this.isFatal = fatal
  }
}

/** SQLSTATE of problems. The others are internal errors. */
const STATES: { readonly [Code in ProblemCode]?: string } = {
  'invalid-request': '22023',
  unauthenticated: '28000',
  forbidden: '42501',
  'unknown-dataset': '42P01',
  'sql-not-supported': '0A000',
  'query-does-not-fit': '42804',
  'budget-insufficient': '53400',
  'allotment-insufficient': '53400',
  'query-in-flight': '55P03',
  'dataset-suspended': '55000',
  'rate-limited': '53400',
  'quota-exceeded': '53400',
  unavailable: '53000',
  'query-failed': '58000',
}

/** SQLSTATE of a question that only an answer that is paid for may answer. */
const NOT_PAID = '25006'
const SYNTAX_ERROR = '42601'
const UNKNOWN_FUNCTION = '42883'

/** The report of an error, and the code of the problem that it is, for the log. */
export interface DescribedError {
  readonly report: Report
  readonly code?: ProblemCode
  /** True if the connection ends with it. */
  readonly isFatal: boolean
}

/**
 * Describes an error for a client. That of a failure contains no details.
 * @param text the statements in which it has its place; empty if the client did not send them with this statement
 */
export function describeError(error: unknown, text = ''): DescribedError {
  if (error instanceof WireError) {
    const { sqlState, message, hint, isFatal } = error
    const severity = isFatal ? 'FATAL' : 'ERROR'
    return { report: defined({ severity, code: sqlState, message, hint }), isFatal }
  }
  if (error instanceof ProtocolViolation)
    return fatal('08P01', `The bytes are no message of PostgreSQL's protocol: ${error.message}.`)
  if (error instanceof TooSlow) return fatal('08006', 'The message took too long to arrive.')
  const severity = 'ERROR'
  if (error instanceof LimiterFull || error instanceof LimiterTimeout) {
    const message = 'Too many statements wait. Nothing was charged. Retry later.'
    return { report: { severity, code: '53300', message }, isFatal: false }
  }
  const failure = failureParts(error)
  const { code, detail: message, errors = [], facts = {} } = failure
  const { line, column } = facts
  const position =
    text !== '' && typeof line === 'number' && typeof column === 'number'
      ? positionOf(text, line, column)
      : undefined
  const [, ...others] = errors
  const detail =
    others.length === 0 ? undefined : others.map(({ field, rule }) => `${field}: ${rule}`).join('; ')
  const sqlState = sqlStateOf(failure, position !== undefined)
  const hint = hintFor(failure)
  return {
    report: defined({ severity, code: sqlState, message, detail, hint, position }),
    code,
    isFatal: false,
  }
}

function fatal(sqlState: string, message: string): DescribedError {
  return { report: { severity: 'FATAL', code: sqlState, message }, isFatal: true }
}

type Failure = ReturnType<typeof failureParts>

function isNotPaid({ code, facts = {} }: Failure): boolean {
  return code === 'forbidden' && facts.price !== undefined
}

function sqlStateOf(failure: Failure, isPlaced: boolean): string {
  const { code, facts = {} } = failure
  if (facts.unknownFunction !== undefined) return UNKNOWN_FUNCTION
  if (isNotPaid(failure)) return NOT_PAID
  if (code === 'invalid-request' && isPlaced) return SYNTAX_ERROR
  return STATES[facts.chargeId === undefined ? code : 'query-failed'] ?? 'XX000'
}

function hintFor(failure: Failure): string | undefined {
  const { code, detail: message, errors = [] } = failure
  if (isNotPaid(failure) && /the session allows/.test(message))
    return `To pay for it: SET sotto.spending = 'allow'. Answers that are paid for are replayed at no cost.`
  if (code === 'invalid-request' && errors.some(({ field }) => field === 'epsilon' || field === 'accuracy'))
    return 'State the price or the precision of answers: SET sotto.epsilon = 0.1, or SET sotto.half_width = 50.'
  if (/SELECT \* is not supported/.test(message))
    return 'The database sotto_dummy answers SELECT * from made-up rows.'
  return undefined
}

/** Place in a text in characters, from 1 on. Line and column count from 1, too. */
function positionOf(text: string, line: number, column: number): number {
  const before = text.split('\n').slice(0, line - 1)
  return before.reduce((sum, each) => sum + [...each].length + 1, column)
}

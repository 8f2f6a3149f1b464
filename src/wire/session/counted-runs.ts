import type { Principal } from '../../http/access/principal.ts'
import { defined } from '../../privacy/defined.ts'
import { PROBLEMS } from '../../privacy/problems.ts'
import { describeError, WireError } from '../errors.ts'
import type { WireParts } from '../parts.ts'
import type { SimpleCommand } from '../statements/command.ts'
import { execute, type Result } from './execute.ts'
import { valuesIn } from './portals.ts'
import type { SessionState } from './state.ts'

/** Runs the statements of a session, each of which counts as a request of its principal. */
export type CountedRuns = ReturnType<typeof createCountedRuns>

/** Values about the catalogue that wait for the clients of a user: those of two of the largest results. */
const MOST_WAITING_VALUES = 400_000

/**
 * Creates the runs of a session.
 * @param left aborted once the client has disconnected
 * @param waitingValues the number of values that wait for their clients, in all sessions of the user
 */
export function createCountedRuns(
  parts: WireParts,
  state: SessionState,
  { left, waitingValues }: { readonly left: AbortSignal; readonly waitingValues: () => number },
) {
  const { principal } = state
  let running: { ended?: 'cancelled' | 'timed out'; readonly controller: AbortController } | undefined
  /** An admission that a message before the next statement has taken. */
  let admitted: Admission | undefined

  /** @throws WireError if the statement was stopped, or the principal is beyond its limits */
  async function run(command: SimpleCommand, text: string): Promise<Result> {
    const arrivedAtMs = parts.clock.nowMs()
    const caller = await principal()
    const admission = admitted ?? admit(caller)
    admitted = undefined
    const current: NonNullable<typeof running> = { controller: new AbortController() }
    running = current
    const timeoutMs = state.settings.timeoutMs()
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => stop('timed out'), timeoutMs)
    const givenUp = AbortSignal.any([left, current.controller.signal])
    try {
      const result = await execute(parts, state, command, { text, arrivedAtMs, givenUp })
      if (current.ended !== undefined) throw stopped(current.ended)
      const values = command.kind === 'catalogue' ? valuesIn(result) : 0
      if (values > 0 && values + waitingValues() > MOST_WAITING_VALUES)
        throw new WireError('54000', 'Too many rows wait in your sessions. Fetch or close them first.')
      log(command, caller, arrivedAtMs)
      return result
    } catch (error) {
      const shown =
        current.ended !== undefined
          ? stopped(current.ended)
          : left.aborted && error === left.reason
            ? stopped('cancelled')
            : error
      log(command, caller, arrivedAtMs, shown)
      throw shown
    } finally {
      clearTimeout(timer)
      running = undefined
      admission.end()
    }
  }

  /** Stops the statement under way. It ends when its answer would have been released. */
  function stop(as: 'cancelled' | 'timed out'): void {
    if (running === undefined) return
    running.ended ??= as
    running.controller.abort()
  }

  /** Counts a request of a principal. @throws WireError beyond its limits */
  function admit(caller: Principal): Admission {
    const decision = parts.requestLimits.quotas.admit(caller)
    if (decision.kind !== 'admitted') throw overQuota(decision.kind)
    return decision
  }

  /** Counts the work before a statement: one request with the next statement, or until the client waits for an answer. */
  async function countPreparation(): Promise<void> {
    admitted ??= admit(await principal())
  }

  function endPreparation(): void {
    admitted?.end()
    admitted = undefined
  }

  /** Logs and counts a statement. The line contains neither its text nor its duration, which may depend on data. */
  function log({ kind }: SimpleCommand, caller: Principal, arrivedAtMs: number, error?: unknown): void {
    const code = error === undefined ? undefined : describeError(error).code
    const { name, key } = caller
    parts.logger.info(defined({ protocol: 'postgresql', kind, code, principal: name, key }), 'statement')
    const statusCode = error === undefined ? 200 : code === undefined ? 400 : PROBLEMS[code].status
    const elapsedTime = parts.clock.nowMs() - arrivedAtMs
    const config = kind === 'question' ? { answersFromData: true as const } : {}
    parts.metrics.observe({ method: 'PG', routeOptions: { url: kind, config } }, { statusCode, elapsedTime })
  }

  return { run, cancel: () => stop('cancelled'), countPreparation, endPreparation }
}

/** A request that is counted as under way. */
interface Admission {
  end(): void
}

/** The error of a statement that was stopped. */
export function stopped(as: 'cancelled' | 'timed out'): WireError {
  const what = as === 'cancelled' ? 'was cancelled' : 'took longer than statement_timeout'
  return new WireError(
    '57014',
    `The statement ${what}. If it was paid for, its repeat replays the answer at no cost.`,
  )
}

/** The refusal of a request beyond the limits of its principal. */
export function overQuota(kind: 'rate-limited' | 'too-many'): WireError {
  return kind === 'rate-limited'
    ? new WireError('53400', 'You have sent too many statements. Nothing was charged. Retry later.')
    : new WireError('53300', 'You have too many requests under way. Nothing was charged. Retry later.')
}

/** Steps of a request that a trace shows. */
export type Step = 'plan' | 'charge' | 'wait' | 'read' | 'noise' | 'record'

/** Public facts about a request. Values come from the catalog and from the service, and none from the request's body. */
export interface TracedRequest {
  readonly name: 'query' | 'batch' | 'session' | 'question'
  readonly dataset: string
  /** Kind of the query. */
  readonly kind?: string
  /** Id of the request in the log and in problem documents. */
  readonly requestId?: string
}

/** An interval in milliseconds since 1970-01-01 UTC. Both ends are multiples of the slot. */
interface Interval {
  readonly startMs: number
  readonly endMs: number
}

/** A step that has ended. */
export interface FinishedStep extends Interval {
  readonly step: Step
  /** True if the step failed. The reason is not recorded: messages of errors may contain data. */
  readonly failed: boolean
}

/** A request that has ended. */
export interface FinishedTrace extends Interval {
  readonly request: TracedRequest
  /** `answered`, `replayed`, `failed`, or the code of the problem that was sent. */
  readonly outcome: string
  readonly failed: boolean
  /** In the order of the flow. */
  readonly steps: readonly FinishedStep[]
}

/** Receives the traces of requests at their release instants. */
export type TraceSink = (trace: FinishedTrace) => void

/** Records the steps of one request. */
export interface Trace {
  /** Runs a step, and records its interval also if it throws. */
  step<Result>(step: Step, run: () => Result | Promise<Result>): Promise<Result>
}

/** Trace of requests that are not traced. */
export const UNTRACED: Trace = { step: async (_step, run) => run() }

/** A trace under way. */
export interface OpenTrace extends Trace {
  /** Ends the trace. Call it at the release instant of the outcome. */
  end(outcome: string, failed: boolean): FinishedTrace
}

/** Instants of a request. */
export interface TraceTiming {
  /** The monotonic clock of the service. */
  readonly nowMs: () => number
  /** Instant of the clock at which the request had arrived. */
  readonly arrivedAtMs: number
  /** Time between the release instants of the request's outcome. */
  readonly slotMs: number
  /** Time between a record instant and its release instant. */
  readonly marginMs: number
  /** Wall-clock time in milliseconds since 1970-01-01 UTC. Default: that of the system. */
  readonly wallMs?: () => number
}

/**
 * Begins the trace of a request. Instants are rounded to whole slots after the arrival as soon as they are read: starts
 * down, ends up. The arrival, which the client chooses, is rounded down to a multiple of the slot.
 *
 * - The rounding is relative to the arrival, as release instants are. With a grid of the wall clock, clients that vary
 *   their arrival could find the exact duration of a step.
 * - What precedes the record is rounded on the grid of record instants. A second grid beside that of the responses would
 *   divide each slot in two. See decision 55.
 *
 * @param isFailure decides if an error that ends a step is a failure of the service, and not a refusal
 */
export function beginTrace(
  request: TracedRequest,
  { nowMs, arrivedAtMs, slotMs, marginMs, wallMs = Date.now }: TraceTiming,
  isFailure: (error: unknown) => boolean,
): OpenTrace {
  const arrivalMs = wallMs() - (nowMs() - arrivedAtMs)
  const originMs = Math.floor(arrivalMs / slotMs) * slotMs
  const slotsSince = (shiftMs: number) => (nowMs() - arrivedAtMs + shiftMs) / slotMs
  const steps: FinishedStep[] = []
  return {
    async step(step, run) {
      const shiftMs = step === 'record' ? 0 : marginMs
      const startMs = originMs + Math.floor(slotsSince(shiftMs)) * slotMs
      let failed = false
      try {
        return await run()
      } catch (error) {
        failed = isFailure(error)
        throw error
      } finally {
        steps.push({ step, startMs, endMs: originMs + Math.ceil(slotsSince(shiftMs)) * slotMs, failed })
      }
    },
    end(outcome, failed) {
      // A release instant is a whole number of slots after the arrival, and timers end after it, by up to 2 ms.
      const releasedMs = originMs + Math.floor(slotsSince(0)) * slotMs
      const endMs = Math.max(releasedMs, ...steps.map((step) => step.endMs))
      return { request, outcome, failed, steps, startMs: originMs, endMs }
    },
  }
}

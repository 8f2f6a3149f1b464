import type { Dataset } from '../core/dataset/dataset.ts'
import {
  beginTrace,
  type Trace,
  type TracedRequest,
  type TraceSink,
  UNTRACED,
} from '../platform/tracing/trace.ts'
import { defined } from '../privacy/defined.ts'
import { Refusal } from '../privacy/refusal.ts'
import { type Clock, periodOf, recordMarginMs } from './release-time.ts'

/** Precision of traces of datasets whose outcomes leave at once, in milliseconds: the default slot, as in the log. */
const DEFAULT_SLOT_MS = 50

/** Dependencies of tracing. */
export interface TracedDependencies {
  readonly clock: Clock
  /** Receives the traces; absent if requests are not traced. */
  readonly traces?: TraceSink
}

/** A request to trace. */
export interface Traceable extends Pick<TracedRequest, 'name' | 'kind'> {
  readonly timing: Dataset['timing']
  readonly dataset: string
  readonly requestId?: string | undefined
  readonly arrivedAtMs: number
}

/**
 * Runs the flow of a request and hands its trace over when the flow settles, which is at a release instant if the outcome
 * may depend on data.
 */
export async function traced<Outcome extends { readonly replayed: boolean }>(
  { clock, traces }: TracedDependencies,
  { timing, arrivedAtMs, name, kind, dataset, requestId }: Traceable,
  flow: (trace: Trace) => Promise<Outcome>,
): Promise<Outcome> {
  if (traces === undefined) return flow(UNTRACED)
  const request = defined({ name, dataset, kind, requestId })
  const slotMs = periodOf(timing) ?? DEFAULT_SLOT_MS
  const instants = { nowMs: clock.nowMs, arrivedAtMs, slotMs, marginMs: recordMarginMs(slotMs) }
  const open = beginTrace(request, instants, isFailure)
  try {
    const answer = await flow(open)
    traces(open.end(answer.replayed ? 'replayed' : 'answered', false))
    return answer
  } catch (error) {
    traces(open.end(error instanceof Refusal ? error.code : 'failed', isFailure(error)))
    throw error
  }
}

function isFailure(error: unknown): boolean {
  return !(error instanceof Refusal)
}

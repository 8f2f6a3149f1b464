import type { Dataset } from '../core/dataset/dataset.ts'
import { type BatchPlan, planQueries } from '../core/planner/batch.ts'
import { plan } from '../core/planner/plan.ts'
import type { PlanLimits } from '../core/planner/plans/plan-kind.ts'
import type { Plan } from '../core/planner/plans/plan-kinds.ts'
import type { AnswerPool } from './threads/pool.ts'

/** What planning needs besides the question. */
export interface Planning {
  readonly limits: PlanLimits
  /** Threads for what takes long. Without them everything is computed on the event loop, as in tests. */
  readonly answerPool?: AnswerPool
}

/** Who waits for a computation. */
export interface Waiting {
  readonly principal?: string
  /** Aborted once the client has disconnected. */
  readonly givenUp?: AbortSignal | undefined
}

/** Time limit for a computation of an answer in a thread. */
const TIMEOUT_MS = 60_000

/** The terms of a computation in a thread of answers. */
export function termsFor({ principal, givenUp = new AbortController().signal }: Waiting) {
  return { timeoutMs: TIMEOUT_MS, givenUp, ...(principal === undefined ? {} : { principal }) }
}

/** Number of columns from which on the tables of a question of kind `marginals` are so many that planning them takes long. */
const MANY_COLUMNS = 5

/**
 * Plans a query as {@link plan} does: in a thread if that takes long, so that it holds up no other request.
 * @throws Refusal as {@link plan} does, or `unavailable` if no thread can do it in time.
 */
export async function planAside(
  query: Parameters<typeof plan>[0],
  dataset: Dataset,
  { limits, answerPool }: Planning,
  waiting: Waiting,
): Promise<Plan> {
  const isLong = query.kind === 'marginals' && query.columns.length >= MANY_COLUMNS
  if (answerPool === undefined || !isLong) return plan(query, dataset, limits)
  const planned = await answerPool.run('planning', { query, dataset, limits }, termsFor(waiting))
  return { ...planned, dataset }
}

/** Plans the queries of a batch as {@link planQueries} does, each as {@link planAside} does. */
export function planAllAside(
  queries: readonly Parameters<typeof plan>[0][],
  dataset: Dataset,
  planning: Planning,
  waiting: Waiting,
  between?: () => Promise<unknown>,
): Promise<BatchPlan> {
  return planQueries(queries, dataset, planning.limits, between, (query, dataset, limits) =>
    planAside(query, dataset, { ...planning, limits }, waiting),
  )
}

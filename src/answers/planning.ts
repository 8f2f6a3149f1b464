import type { Dataset } from '../core/dataset/dataset.ts'
import { type BatchPlan, planQueries } from '../core/planner/batch.ts'
import { plan } from '../core/planner/plan.ts'
import type { PlanLimits } from '../core/planner/plans/plan-kind.ts'
import type { Plan } from '../core/planner/plans/plan-kinds.ts'
import {
  type BatchQueries,
  type BatchTerms,
  isCheaper,
  planTogether,
  requireTermsFit,
  type TogetherPlan,
  tablesOfBatch,
} from '../core/planner/together.ts'
import { Refusal } from '../privacy/refusal.ts'
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
/** Number of tables from which on planning them together takes long. */
const MANY_TABLES = 8

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

/** A batch that is planned. */
export interface PlannedBatch {
  readonly separate: BatchPlan
  /** The same queries planned together, or why they cannot be; absent if it was not tried. */
  readonly together?: TogetherPlan | NotTogether
  /** Present if the queries are answered together: as is asked, or because it costs less. */
  readonly chosen?: TogetherPlan
}

/** Why queries cannot be planned together. */
interface NotTogether {
  readonly refused: Refusal
}

/**
 * Plans a batch as is asked.
 * @param both plans the queries together even where it is asked not to, for the price
 * @throws Refusal for queries that do not fit the dataset, or that cannot be planned as is asked.
 */
export async function planBatchAside(
  { queries, ...terms }: BatchQueries,
  dataset: Dataset,
  planning: Planning,
  waiting: Waiting,
  { between, both = false }: { readonly between?: () => Promise<unknown>; readonly both?: boolean },
): Promise<PlannedBatch> {
  requireTermsFit(terms, queries.length)
  const separate = await planAllAside(queries, dataset, planning, waiting, between)
  if (terms.plan === 'separate' && !both) return { separate }
  await between?.()
  const together = await planTogetherAside(separate, terms, dataset, planning, waiting)
  if ('refused' in together) {
    if (terms.plan === 'together') throw together.refused
    return { separate, together }
  }
  const isChosen = terms.plan === undefined ? isCheaper(together, separate.price) : terms.plan === 'together'
  return { separate, together, ...(isChosen ? { chosen: together } : {}) }
}

/** Plans queries together, or finds out why they cannot be: it follows from the queries and the dataset. */
async function planTogetherAside(
  { plans, price }: BatchPlan,
  terms: BatchTerms,
  dataset: Dataset,
  { limits, answerPool }: Planning,
  waiting: Waiting,
): Promise<TogetherPlan | NotTogether> {
  try {
    const wanted = tablesOfBatch(plans, terms)
    const tables = wanted.parts.reduce((sum, part) => sum + part.tables.length, 0)
    const isLong = wanted.groupings.length >= MANY_COLUMNS || tables >= MANY_TABLES
    if (answerPool === undefined || !isLong)
      return { ...wanted, workloads: planTogether(wanted, price, dataset, limits) }
    const workloads = await answerPool.run('together', { wanted, price, dataset, limits }, termsFor(waiting))
    return { ...wanted, workloads: workloads.map((each) => ({ ...each, dataset })) }
  } catch (error) {
    if (error instanceof Refusal && error.errors.length > 0) return { refused: error }
    throw error
  }
}

import type { Plan } from '../../core/planner/plans/plan-kinds.ts'
import { type Planning, termsFor, type Waiting } from '../planning.ts'
import { type Inquiry, isLongInquiry, type ToppedUp, toppedUpFacts } from './known.ts'
import { type WantedUse, type Way, wayOf, waysOf } from './ways.ts'

/* Inference runs in a thread if it may take long, so that it holds up no other request. */

/**
 * Describes the ways to an answer as {@link waysOf} does.
 * @throws Refusal as {@link waysOf} does, or `unavailable` if no thread can do it in time.
 */
export async function findWays(
  inquiry: Inquiry,
  planned: Plan,
  use: WantedUse,
  { answerPool }: Planning,
  waiting: Waiting,
): Promise<ReturnType<typeof waysOf>> {
  if (answerPool === undefined || !isLongInquiry(inquiry, planned)) return waysOf(inquiry, use, planned)
  return answerPool.run('ways', { inquiry, use }, termsFor(waiting))
}

/**
 * Finds the way to an answer as {@link wayOf} does.
 * @throws Refusal as {@link wayOf} does, or `unavailable` if no thread can do it in time.
 */
export async function findWay(
  inquiry: Inquiry,
  planned: Plan,
  use: WantedUse,
  { answerPool }: Planning,
  waiting: Waiting,
): Promise<Way> {
  if (answerPool === undefined || !isLongInquiry(inquiry, planned)) return wayOf(inquiry, use, planned)
  const way = await answerPool.run('way', { inquiry, use }, termsFor(waiting))
  return way.kind === 'topUp' ? { ...way, lacking: { ...way.lacking, dataset: inquiry.dataset } } : way
}

/**
 * Combines a new measurement with paid releases as {@link toppedUpFacts} does. It is paid for: it does not count among the
 * computations of its principal, and goes on when the client disconnects.
 * @throws Refusal `unavailable` if no thread can do it in time.
 */
export async function topUp(
  inquiry: Inquiry,
  planned: Plan,
  toppedUp: ToppedUp,
  { answerPool }: Planning,
): Promise<object> {
  if (answerPool === undefined || !isLongInquiry(inquiry, planned))
    return toppedUpFacts(inquiry, toppedUp, planned)
  return answerPool.run('topUp', { inquiry, toppedUp }, termsFor({}))
}

import type { ContributionRequest, QueryRequest } from '../../../../schemas/answers/query.ts'
import { DEFAULT_CONFIDENCE, epsilonFromWire, epsilonNumber, rhoNumber } from '../../../privacy/loss.ts'
import type { Dataset } from '../../dataset/dataset.ts'
import { questionKindOf } from '../kinds/question-kinds.ts'
import { type ContributionReport, contributionAsked } from '../language/contribution.ts'
import { type Plan, planKindOf } from '../plans/plan-kinds.ts'
import { measuredAccuracy } from '../report.ts'
import type { SessionPlan, SessionRequest } from '../session.ts'
import { countedOf, type Fields } from './normal-fields.ts'
import { normalPredicate } from './normal-predicate.ts'

/*
 * The normal form of a query identifies it: two queries with one normal form select the same rows and have the same
 * measurements, so the release of one answers the other. It is a query itself, and planning it gives the same plan, which
 * an auditor can verify. Fields that equal the defaults of the schema are omitted, and everything that the planner has
 * chosen is written: the mechanism, its calibration and the epsilon. What changes only how a release is shown is left out:
 * post-processing, and suppositions about the data.
 */

/**
 * Returns the normal form of a planned query. See decision 45.
 * @throws Error for a plan that does not come from its query.
 */
export function normalForm(planned: Plan): QueryRequest {
  const { query, dataset } = planned
  const normal = {
    kind: query.kind,
    ...questionKindOf(query).subject(query, dataset),
    ...selectionOf(planned),
    ...priceFieldsOf(planned),
  }
  // Assembled from fields of one query; a test parses it by the schema.
  return normal as QueryRequest
}

/** Returns the normal form of the request that opens a session. */
export function normalSession(
  { threshold, positives, epsilon, of }: SessionRequest,
  { dataset, contribution }: SessionPlan,
): Fields {
  return {
    threshold,
    positives,
    epsilon,
    ...countedOf(of),
    ...contributionOf(contribution, undefined, dataset),
  }
}

/** The rows that a query counts, and the bounds on those of each person. */
function selectionOf({ query, dataset, contribution }: Plan): Fields {
  const bounds = contributionOf(contribution, contributionAsked(query), dataset)
  if (query.where === undefined) return bounds
  const { predicate, every } = normalPredicate(query.where, dataset)
  // Under change-one the number of rows is public, and a query with any condition does not rely on it.
  return every && dataset.neighbours === 'add-remove' ? bounds : { where: predicate, ...bounds }
}

/** The mechanism and the price that the planner has chosen. */
function priceFieldsOf(planned: Plan): Fields {
  const { query, loss, confidence, statedRho } = planned
  if (statedRho !== undefined && confidence === DEFAULT_CONFIDENCE) return { rho: rhoNumber(statedRho) }
  const epsilonNano =
    query.epsilon === undefined ? loss.epsilonNano : epsilonFromWire(query.epsilon, 'epsilon')
  const price = { ...planKindOf(planned).chosen(planned), epsilon: epsilonNumber(epsilonNano) }
  if (confidence === DEFAULT_CONFIDENCE) return price
  // Another confidence changes what the answer states, so it is asked for again: by the accuracy that the plan states.
  const { epsilon: _, ...mechanism } = price
  const { halfWidth } = measuredAccuracy(planned)
  return {
    ...mechanism,
    // Whole numbers can be exact with this confidence. A query asks for an accuracy greater than 0, and only 0 is below this.
    accuracy: { halfWidth: halfWidth === 0 ? Number.MIN_VALUE : halfWidth, confidence },
    ...('supposed' in query ? { supposed: query.supposed } : {}),
  }
}

function contributionOf(
  applied: ContributionReport | undefined,
  requested: ContributionRequest | undefined,
  { privacyUnit }: Dataset,
): Fields {
  if (applied === undefined || privacyUnit.kind === 'row') return {}
  const clamp = requested?.perPerson === undefined ? {} : { perPerson: requested.perPerson }
  const bounds = { ...boundsOf(applied, privacyUnit.maxRows), ...clamp }
  return Object.keys(bounds).length === 0 ? {} : { contribution: bounds }
}

function boundsOf(applied: ContributionReport, maxRows: number): Fields {
  if ('rows' in applied) return applied.rows === maxRows ? {} : { rows: applied.rows }
  const { groups, rowsPerGroup } = applied
  return { groups, ...(rowsPerGroup === 1 ? {} : { rowsPerGroup }) }
}

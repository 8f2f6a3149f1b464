import type { Query } from '../../../schemas/query.ts'
import type { Dataset } from '../../catalog/dataset.ts'
import {
  type KeySelectionMeasurement,
  keyCountsMechanism,
  keyPresenceMechanism,
  keySelectionAccuracy,
} from '../../mechanisms/key-selection.ts'
import { DEFAULT_CONFIDENCE, type PrivacyLoss } from '../../privacy/loss.ts'
import { numberFromRational } from '../../privacy/rational.ts'
import { refuseField } from '../../privacy/refusal.ts'
import { epsilonRange, type Offer, planAtOffer } from '../accuracy-first.ts'
import type { ValueCounting } from '../aggregate.ts'
import {
  contributionReport,
  ONE_ROW_PER_PERSON,
  planKeyBounding,
  quotient,
  requireNoClamp,
} from '../contribution.ts'
import { LARGEST_ANSWER, type PlanFacts, type PlanKind, type PlanLimits } from '../plan-kind.ts'
import { planRows, requireSelectable } from '../predicate.ts'
import { replacementLossInTwoSteps } from '../price.ts'
import type { AccuracyReport, Result } from '../report-kinds.ts'
import { stabilityOfValueCounts } from '../stability.ts'

export type KeySelectionQuery = Extract<Query, { kind: 'keySelection' }>

/** Plan that releases the common values of a column whose values are not declared. */
export interface KeySelectionPlan extends PlanFacts {
  readonly kind: 'key-selection'
  readonly query: KeySelectionQuery
  readonly counting: ValueCounting
  readonly measurement: KeySelectionMeasurement
  /** Largest number of keys in an answer. Those with the lowest noisy counts, or the last ones, are cut off. */
  readonly maxKeys: number
  /** Largest number of characters of an answer's keys. Keys that exceed it are cut off. */
  readonly maxCharacters: number
}

/** Keys in an arbitrary order, which must not be shown. */
export interface KeySelectionRelease {
  readonly kind: 'key-selection'
  readonly keys: readonly { readonly key: string; readonly noisyCount?: bigint }[]
}

/**
 * @throws Refusal `query-does-not-fit` for a column whose values cannot be selected, or a contribution that does not
 * fit.
 */
export function planKeySelection(
  query: KeySelectionQuery,
  dataset: Dataset,
  { maxCells, maxCharacters = LARGEST_ANSWER }: PlanLimits,
  offer: Offer,
): KeySelectionPlan {
  requireNoClamp(query.contribution)
  const column = requireSelectable(dataset, query.column)
  const bounding = planKeyBounding(query.contribution, dataset)
  const counting: ValueCounting = {
    ...planRows(query.where, dataset, bounding),
    column: column.name,
    ...(dataset.privacyUnit.kind === 'person' ? { people: true } : {}),
  }
  const contribution = contributionReport(bounding, () => {
    const ofOneRow = stabilityOfValueCounts(ONE_ROW_PER_PERSON, dataset)
    return quotient(stabilityOfValueCounts(bounding, dataset).l1, ofOneRow.l1)
  })
  const { calibrate } = query.counts ? keyCountsMechanism : keyPresenceMechanism
  const planAt = (loss: PrivacyLoss): KeySelectionPlan => {
    const measurement = calibrate({ sensitivity: stabilityOfValueCounts(counting.bounding, dataset) }, loss)
    return {
      kind: 'key-selection',
      query,
      dataset,
      loss: measurement.loss,
      confidence: offer.confidence,
      counting,
      measurement,
      maxKeys: maxCells,
      maxCharacters,
      ...(contribution === undefined ? {} : { contribution }),
    }
  }
  return planAtOffer(offer, epsilonRange(1), { planAt, halfWidthOf })
}

/** @throws Refusal for a selection without counts. */
function halfWidthOf(plan: KeySelectionPlan): number {
  const { halfWidth } = accuracy(plan)
  if (halfWidth !== null) return halfWidth
  const rule =
    'applies to counts, which the query does not request: set counts to true, or give epsilon instead'
  throw refuseField('query-does-not-fit', 'accuracy', rule)
}

/** Keys of a column whose values are not declared. */
export const keySelection: PlanKind<KeySelectionPlan, KeySelectionRelease> = {
  rowsThatCount: ({ counting }) => counting.where,
  mostValues: ({ maxKeys }) => maxKeys,
  leastHalfWidthRows({ measurement }) {
    const { count, countForConfidence } = keySelectionAccuracy(measurement, DEFAULT_CONFIDENCE)
    return count?.halfWidth ?? countForConfidence
  },
  replacementLoss: replacementLossInTwoSteps,
  noise({ dataset: { neighbours }, measurement }) {
    if (measurement.mechanism === 'near-truncated-geometric')
      return { mechanism: measurement.mechanism, neighbours }
    return {
      mechanism: measurement.mechanism,
      neighbours,
      scale: numberFromRational(measurement.scale),
      threshold: Number(measurement.threshold),
    }
  },
  accuracy,
  reporter(plan) {
    const accuracyOfAll = accuracy(plan)
    return ({ keys }) => ({ result: reportKeys(plan, keys), accuracy: accuracyOfAll })
  },
}

function accuracy({ confidence, counting, measurement }: KeySelectionPlan): AccuracyReport {
  const { countForConfidence, count } = keySelectionAccuracy(measurement, confidence)
  return {
    confidence,
    halfWidth: count?.halfWidth ?? null,
    ...(count === undefined ? { reason: 'no counts are released; set counts' } : {}),
    expectedAbsoluteError: count?.expectedAbsoluteError ?? null,
    ...(counting.people === true
      ? { unit: 'people', peopleToAppear: countForConfidence }
      : { unit: 'rows', rowsToAppear: countForConfidence }),
  }
}

/** Lists keys in an order that depends on the release only: by noisy count, then by key. */
function reportKeys({ maxKeys, maxCharacters }: KeySelectionPlan, keys: KeySelectionRelease['keys']): Result {
  const ordered = keys.toSorted((a, b) => {
    const [first, second] = [a.noisyCount ?? 0n, b.noisyCount ?? 0n]
    if (first !== second) return first > second ? -1 : 1
    return a.key < b.key ? -1 : 1
  })
  const shown: { readonly key: string; readonly count?: number }[] = []
  let charactersLeft = maxCharacters
  for (const { key, noisyCount } of ordered) {
    const entry = { key, ...(noisyCount === undefined ? {} : { count: Number(noisyCount) }) }
    const length = JSON.stringify(entry).length + 1
    // A key that is too long is left out; shorter ones after it are not.
    if (shown.length === maxKeys || length > charactersLeft) continue
    charactersLeft -= length
    shown.push(entry)
  }
  return { keys: shown, truncated: shown.length < ordered.length }
}

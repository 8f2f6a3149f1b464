import type { Query } from '../../../../schemas/answers/query.ts'
import { DEFAULT_CONFIDENCE, type PrivacyLoss } from '../../../privacy/loss.ts'
import { entry } from '../../../privacy/must.ts'
import { numberFromRational } from '../../../privacy/rational.ts'
import { refuseQuery } from '../../../privacy/refusal.ts'
import type { Dataset } from '../../dataset/dataset.ts'
import { geometricParameter } from '../../mechanisms/noise/geometric.ts'
import {
  calibrateKeyCounts,
  calibrateKeyPresence,
  type KeySelectionMeasurement,
  keyPresenceSampler,
  keySelectionAccuracy,
  releaseKeyCounts,
} from '../../mechanisms/selection/key-selection.ts'
import type { Bounding, ValueCounting } from '../language/aggregate.ts'
import { requireSelectable } from '../language/column-rules.ts'
import { contributionTo, planKeyBounding, requireNoClamp } from '../language/contribution.ts'
import { planRows } from '../language/predicate.ts'
import type { TextCounts } from '../language/reading.ts'
import { epsilonRange, type Offer, planAtOffer } from '../price/accuracy-first.ts'
import { replacementLossInTwoSteps } from '../price/price.ts'
import { stabilityOfValueCounts } from '../price/stability.ts'
import type { AccuracyReport, Result } from '../report-kinds.ts'
import {
  type Draw,
  inOneStep,
  LARGEST_ANSWER,
  type PlanFacts,
  type PlanKind,
  type PlanLimits,
} from './plan-kind.ts'

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

/** The number of rows or people with each text. */
export interface KeySelectionExact {
  readonly kind: 'key-selection'
  readonly texts: TextCounts
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
  { maxCells, maxKeys = maxCells, maxCharacters = LARGEST_ANSWER }: PlanLimits,
  offer: Offer,
): KeySelectionPlan {
  requireNoClamp(query.contribution)
  const column = requireSelectable(dataset, query.column, 'column')
  const bounding = planKeyBounding(query.contribution, dataset)
  const counting: ValueCounting = {
    ...planRows(query.where, dataset, bounding),
    column: column.name,
    ...(dataset.privacyUnit.kind === 'person' ? { people: true } : {}),
  }
  const sensitivityWith = (bounding: Bounding) => stabilityOfValueCounts(bounding, dataset)
  const contribution = contributionTo(bounding, (bounding) => [sensitivityWith(bounding).l1])
  const calibrate = query.counts ? calibrateKeyCounts : calibrateKeyPresence
  const planAt = (loss: PrivacyLoss): KeySelectionPlan => {
    const measurement = calibrate(sensitivityWith(bounding), loss.epsilonNano, loss.deltaAtto)
    return {
      kind: 'key-selection',
      query,
      dataset,
      loss: measurement.loss,
      confidence: offer.confidence,
      counting,
      measurement,
      maxKeys,
      maxCharacters,
      ...contribution,
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
  throw refuseQuery('accuracy', rule)
}

/** Keys of a column whose values are not declared. */
export const keySelection: PlanKind<KeySelectionPlan, KeySelectionExact, KeySelectionRelease> = {
  readings: ({ counting }) => [{ method: 'countTexts', counting }],
  exact: (_, { countTexts }) => ({ kind: 'key-selection', texts: entry(countTexts, 0) }),
  release: prepareRelease,
  chosen: ({ query: { delta } }) => ({ delta }),
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
      p: geometricParameter(measurement.scale),
      threshold: Number(measurement.threshold),
    }
  },
  accuracy,
  reporter:
    (plan) =>
    ({ keys }) => ({ result: reportKeys(plan, keys) }),
}

function prepareRelease(
  { measurement }: KeySelectionPlan,
  { texts: { texts, counts } }: KeySelectionExact,
): Draw<KeySelectionRelease> {
  if (measurement.mechanism === 'thresholded-geometric')
    return (noiseSource) =>
      inOneStep(() => {
        const released = releaseKeyCounts(measurement, counts, noiseSource)
        const keys = released.map(({ key, noisyCount }) => ({ key: entry(texts, key), noisyCount }))
        return { kind: 'key-selection', keys }
      })
  const sampleKeys = keyPresenceSampler(measurement, counts)
  return (noiseSource) =>
    inOneStep(() => ({
      kind: 'key-selection',
      keys: sampleKeys(noiseSource).map((place) => ({ key: entry(texts, place) })),
    }))
}

function accuracy({ confidence, dataset, counting, measurement }: KeySelectionPlan): AccuracyReport {
  const { countForConfidence, count } = keySelectionAccuracy(measurement, confidence)
  const unit = counting.people === true ? 'people' : 'rows'
  return {
    confidence,
    halfWidth: count?.halfWidth ?? null,
    ...(count === undefined ? { reason: 'no counts are released; set counts' } : {}),
    expectedAbsoluteError: count?.expectedAbsoluteError ?? null,
    unit,
    ...(unit === 'people' ? { peopleToAppear: countForConfidence } : { rowsToAppear: countForConfidence }),
    statement: appearanceText(countForConfidence, unit, dataset),
  }
}

/** Says how many rows or people a key needs, out of how many, as far as their number is public. */
function appearanceText(
  needed: number,
  unit: 'rows' | 'people',
  { rows, people, coverage }: Dataset,
): string {
  const text = `A key needs about ${needed} ${unit} to appear`
  const all = unit === 'rows' ? rows : (people ?? coverage?.people.upper)
  if (all === undefined) return `${text}.`
  const ofAll = `${text}, and the dataset has at most ${all}`
  return needed > all ? `${ofAll}: no key can be expected. Use a larger epsilon or delta.` : `${ofAll}.`
}

/** Lists keys in an order that depends on the release only: by noisy count, then by key. */
function reportKeys({ maxKeys, maxCharacters }: KeySelectionPlan, keys: KeySelectionRelease['keys']): Result {
  const ordered = keys.toSorted((a, b) => {
    const [first, second] = [a.noisyCount, b.noisyCount]
    if (first !== undefined && second !== undefined && first !== second) return first > second ? -1 : 1
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

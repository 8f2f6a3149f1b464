import type { Query, Suppositions } from '../../../schemas/query.ts'
import type { Dataset, GridColumn } from '../../catalog/dataset.ts'
import { shownValue } from '../../catalog/grid-value.ts'
import { type QuantileMeasurement, quantileMechanism } from '../../mechanisms/quantile.ts'
import { numberFromDecimal } from '../../privacy/decimal.ts'
import {
  addLoss,
  DEFAULT_CONFIDENCE,
  type EpsilonNano,
  epsilonNano,
  epsilonNumber,
  NO_LOSS,
  type PrivacyLoss,
} from '../../privacy/loss.ts'
import { refuseField } from '../../privacy/refusal.ts'
import { epsilonRange, knownHalfWidth, type Offer, planAtOffer } from '../accuracy-first.ts'
import { planAdditive } from '../additive.ts'
import { accuracyOfAdditive, errorsOfAdditive, groupValues, noiseOfAdditive } from '../additive-report.ts'
import { type Bounding, type CellCounting, cellCount } from '../aggregate.ts'
import {
  contributionReport,
  ONE_ROW_PER_PERSON,
  planBounding,
  quotient,
  requireNoClamp,
} from '../contribution.ts'
import { cellKeys, type Grouping } from '../grouping.ts'
import { rhoTogether, splitEpsilon } from '../measure.ts'
import type { PlanFacts, PlanKind, PlanLimits } from '../plan-kind.ts'
import { planRows } from '../predicate.ts'
import { replacementLossInTwoSteps } from '../price.ts'
import { requireRankable, valuesInGroups } from '../ranked-values.ts'
import type { AccuracyReport, PredictedError, Report } from '../report-kinds.ts'
import { stabilityOfRank } from '../stability.ts'
import { isQuantile, requireDistinctNames, statisticName } from '../statistic-names.ts'
import { planGroupings } from '../tables.ts'
import { type AdditivePlan, type AdditiveRelease, additive, planAdditiveQuery } from './additive.ts'
import { percentageScore } from './quantile.ts'

type GroupByQuery = Extract<Query, { kind: 'groupBy' }>

/**
 * A quantile of each group. One unit may move it in several groups; the measurement's sensitivity covers all of them.
 */
export interface GroupQuantile {
  /** Place among the statistics of the query. */
  readonly place: number
  readonly column: GridColumn
  readonly counting: CellCounting
  readonly measurement: QuantileMeasurement
}

/**
 * Plan of statistics of groups of which some are quantiles: sums and counts are one part, and each quantile is one. The
 * parts divide the epsilon.
 */
export interface GroupsPlan extends PlanFacts {
  readonly kind: 'groups'
  readonly query: GroupByQuery
  readonly groupings: readonly Grouping[]
  /** The statistics made from sums and counts; absent if all are quantiles. */
  readonly sums?: AdditivePlan
  readonly quantiles: readonly GroupQuantile[]
}

/** Releases of the parts. */
export interface GroupsRelease {
  readonly kind: 'groups'
  readonly sums?: AdditiveRelease
  /** Grid indexes: one array per quantile, one index per cell. */
  readonly indexes: readonly (readonly bigint[])[]
}

/**
 * Plans statistics of groups.
 * @throws Refusal for a query that does not fit the dataset or the mechanism.
 */
export function planGroups(
  query: GroupByQuery,
  dataset: Dataset,
  limits: PlanLimits,
  offer: Offer,
): AdditivePlan | GroupsPlan {
  if (!query.statistics.some(isQuantile)) return planAdditiveQuery(query, dataset, limits, offer)
  requireOneTarget(query, offer)
  requireDistinctNames(query.statistics)
  const groupings = planGroupings(query, dataset, limits)
  const bounding = planBounding(query.contribution, dataset, groupings.length === 0 ? 'one' : 'groups')
  const counted = { of: 'rows', bounding } as const
  const settings = quantileSettings(query, dataset, bounding, groupings)
  const sumsOf = sumsPart(query, dataset, limits, offer)
  const parts = sumsOf.parts + settings.length
  const factorOfQuantiles = () =>
    Math.max(
      ...settings.map(({ setting: { score, sensitivity } }) => {
        const ofOneRow = { ...counted, bounding: ONE_ROW_PER_PERSON }
        return quotient(
          sensitivity,
          stabilityOfRank(score, ofOneRow, dataset, cellsOfRanks(groupings)).sensitivity,
        )
      }),
    )
  const contributionWith = (sums: AdditivePlan | undefined) => {
    const factor = () => Math.max(factorOfQuantiles(), sums?.contribution?.factor ?? 0)
    return contributionReport(bounding, factor, query.contribution?.perPerson)
  }
  const planAt = (loss: PrivacyLoss): GroupsPlan => {
    const shares = splitEpsilon(loss.epsilonNano, parts)
    const sums = sumsOf.planAt(shares.slice(0, sumsOf.parts))
    const quantiles = settings.map(({ setting, ...facts }, part) => {
      const share = { ...NO_LOSS, epsilonNano: shares[sumsOf.parts + part] ?? NO_LOSS.epsilonNano }
      return { ...facts, measurement: quantileMechanism.calibrate(setting, share) }
    })
    const rhos = quantiles.map(({ measurement }) =>
      quantileMechanism.zeroConcentratedMap(measurement, measurement),
    )
    const own = quantiles.reduce((sum, { measurement }) => addLoss(sum, measurement.loss), NO_LOSS)
    const { rho } = sums ?? {}
    const contribution = contributionWith(sums)
    return {
      kind: 'groups',
      query,
      dataset,
      loss: sums === undefined ? own : addLoss(sums.loss, own),
      rho: rhoTogether(rho === undefined ? rhos : [rho, ...rhos]),
      confidence: offer.confidence,
      groupings,
      ...(sums === undefined ? {} : { sums }),
      quantiles,
      ...(contribution === undefined ? {} : { contribution }),
    }
  }
  const halfWidthOf = (plan: GroupsPlan) => knownHalfWidth(accuracy(plan))
  return planAtOffer(offer, epsilonRange(parts), { planAt, halfWidthOf })
}

/** The quantiles of a query, and what their measurements are calibrated to. */
function quantileSettings(
  query: GroupByQuery,
  dataset: Dataset,
  bounding: Bounding,
  groupings: readonly Grouping[],
) {
  const groupBy = groupings.map(({ key }) => key)
  const values = valuesInGroups(cellCount({ groupBy }), dataset)
  return query.statistics.flatMap((statistic, place) => {
    if (!isQuantile(statistic)) return []
    const field = `statistics.${place}`
    const ranked = requireRankable(dataset, statistic.column, `${field}.column`)
    values.add(ranked, `${field}.column`)
    const { column } = ranked
    const score = percentageScore(statistic.kind === 'median' ? 50 : statistic.p, `${field}.p`)
    const counted = { of: 'rows', bounding } as const
    const { sensitivity } = stabilityOfRank(score, counted, dataset, cellsOfRanks(groupings))
    const counting = { ...planRows(query.where, dataset, bounding), groupBy, column: column.name }
    const { lowerIndex, upperIndex } = column
    return [{ place, column, counting, setting: { score, sensitivity, lowerIndex, upperIndex } }]
  })
}

/** The number of cells in which one unit can move a rank. */
function cellsOfRanks(groupings: readonly Grouping[]): 'one' | 'several' {
  return groupings.length === 0 ? 'one' : 'several'
}

function requireOneTarget({ statistics }: GroupByQuery, { target }: Offer): void {
  if (target === undefined || statistics.length === 1) return
  const rule =
    'must be one statistic where accuracy is given, because its half-width is in the unit of one: ' +
    'ask for one statistic, or give epsilon in place of accuracy'
  throw refuseField('query-does-not-fit', 'statistics', rule)
}

/** Number of parts of the epsilon that the sums and counts of a query need, and their plan with these parts. */
function sumsPart(query: GroupByQuery, dataset: Dataset, limits: PlanLimits, offer: Offer) {
  if (query.statistics.every(isQuantile)) {
    if (query.mechanism !== undefined) {
      const rule = 'applies to sums and counts; no statistic of this query is made from them'
      throw refuseField('query-does-not-fit', 'mechanism', rule)
    }
    requireNoClamp(query.contribution)
    return { parts: 0, planAt: () => undefined }
  }
  const parts = planAdditive(query, dataset, limits).aggregate.statistics.length
  const planAt = (shares: readonly EpsilonNano[]) => {
    const share = epsilonNano(shares.reduce<bigint>((sum, part) => sum + part, 0n))
    return planAdditiveQuery(query, dataset, limits, { ...offer, epsilonNano: share, target: undefined })
  }
  return { parts, planAt }
}

/** Sums, counts and quantiles of groups. */
export const groups: PlanKind<GroupsPlan, GroupsRelease> = {
  // All parts count the same rows, among them those whose value is missing.
  rowsThatCount: ({ quantiles }) => quantiles[0]?.counting.where,
  mostValues: ({ groupings, query }) =>
    groupings.reduce((product, { labels }) => product * labels.length, query.statistics.length),
  leastHalfWidthRows: ({ sums, quantiles }) =>
    Math.min(
      sums === undefined ? Number.POSITIVE_INFINITY : additive.leastHalfWidthRows(sums),
      ...quantiles.map(
        ({ measurement }) => quantileMechanism.accuracy(measurement, DEFAULT_CONFIDENCE).halfWidth,
      ),
    ),
  replacementLoss(plan) {
    const { sums, quantiles, dataset } = plan
    if (dataset.neighbours === 'change-one') return plan.loss
    const own = quantiles.reduce((sum, { measurement }) => addLoss(sum, measurement.loss), NO_LOSS)
    const ofQuantiles = replacementLossInTwoSteps({ ...plan, loss: own })
    return sums === undefined ? ofQuantiles : addLoss(additive.replacementLoss(sums), ofQuantiles)
  },
  noise(plan) {
    const { neighbours } = plan.dataset
    const ofQuantiles = {
      mechanism: 'exponential',
      neighbours,
      quantiles: plan.quantiles.map(({ place, measurement: { exponent, sensitivity, loss } }) => {
        const statistic = plan.query.statistics[place]
        return {
          ...(statistic === undefined ? {} : { statistic: statisticName(statistic) }),
          scale: Number(exponent.denominator) / Number(exponent.numerator),
          sensitivity: Number(sensitivity),
          epsilon: epsilonNumber(loss.epsilonNano),
        }
      }),
    } as const
    if (plan.sums === undefined) return ofQuantiles
    return { mechanism: 'several', neighbours, parts: [noiseOfAdditive(plan.sums), ofQuantiles] }
  },
  accuracy,
  reporter,
}

/** The half-width of each quantile, a number of rows, in the order of the quantiles. */
function rankErrors({ quantiles, confidence }: GroupsPlan): readonly PredictedError[] {
  return quantiles.map(({ measurement }) => ({
    halfWidth: quantileMechanism.accuracy(measurement, confidence).halfWidth,
    expectedAbsoluteError: null,
    unit: 'rows',
  }))
}

const SEVERAL_STATISTICS = 'differs from statistic to statistic; see estimates'

function accuracy(plan: GroupsPlan, supposed: Suppositions = {}): AccuracyReport {
  const { sums } = plan
  const ofSums = sums === undefined ? [] : errorsOfAdditive(sums, supposed)
  return accuracyOfEach(plan, ofSums, sums && accuracyOfAdditive(sums, supposed).statistics)
}

function accuracyOfEach(
  plan: GroupsPlan,
  ofSums: readonly PredictedError[],
  statistics: AccuracyReport['statistics'],
): AccuracyReport {
  const { query, confidence } = plan
  const each = inOrder(plan, ofSums, rankErrors(plan))
  const [only, ...others] = each
  if (only !== undefined && others.length === 0) return { confidence, ...only }
  const names = query.statistics.map(statisticName)
  return {
    confidence,
    halfWidth: null,
    expectedAbsoluteError: null,
    reason: SEVERAL_STATISTICS,
    estimates: Object.fromEntries(each.map((error, place) => [names[place] ?? '', error])),
    ...(statistics === undefined ? {} : { statistics }),
  }
}

/** Merges what belongs to the sums and what belongs to the quantiles into the order of the query's statistics. */
function inOrder<Value>(
  { query }: GroupsPlan,
  ofSums: readonly Value[],
  ofQuantiles: readonly Value[],
): readonly Value[] {
  const [sums, quantiles] = [ofSums.values(), ofQuantiles.values()]
  return query.statistics.map((statistic) => {
    const { value } = (isQuantile(statistic) ? quantiles : sums).next()
    if (value === undefined) throw new RangeError('each statistic belongs to a part')
    return value
  })
}

function reporter(plan: GroupsPlan): (release: GroupsRelease) => Report {
  const { sums, quantiles, query, groupings } = plan
  const names = query.statistics.map(statisticName)
  const keys = cellKeys(groupings)
  const accuracyOfAll = accuracy(plan)
  const ranks = rankErrors(plan)
  const sumsIn = sums && groupValues(sums)
  return (release) => {
    if ((sums === undefined) !== (release.sums === undefined))
      throw new RangeError('the release is that of another plan')
    const valuesIn = (cell: number) => {
      const ofSums = release.sums === undefined ? [] : (sumsIn?.(release.sums.noisy, cell) ?? [])
      const ofQuantiles = quantiles.map(({ column }, part) => ({
        value: quantileValue(column, release.indexes[part]?.[cell]),
        halfWidth: ranks[part]?.halfWidth ?? 0,
        unit: 'rows' as const,
      }))
      const each = inOrder(plan, ofSums, ofQuantiles)
      return Object.fromEntries(each.map((value, place) => [names[place] ?? '', value]))
    }
    return {
      result: { groups: keys.map((key, cell) => ({ key, values: valuesIn(cell) })) },
      accuracy: accuracyOfAll,
    }
  }
}

function quantileValue(column: GridColumn, index: bigint | undefined) {
  if (index === undefined) throw new RangeError('a quantile was not released')
  return shownValue(column.type, numberFromDecimal(index * column.stepNano, 9))
}

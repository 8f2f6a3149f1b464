import type { Query, Suppositions } from '../../../../schemas/answers/query.ts'
import { defined } from '../../../privacy/defined.ts'
import {
  addLoss,
  DEFAULT_CONFIDENCE,
  type EpsilonNano,
  epsilonNano,
  NO_LOSS,
  type PrivacyLoss,
} from '../../../privacy/loss.ts'
import { entry, must } from '../../../privacy/must.ts'
import { refuseQuery } from '../../../privacy/refusal.ts'
import type { Dataset, GridColumn } from '../../dataset/dataset.ts'
import { valueOfIndex } from '../../dataset/grid-value.ts'
import type { UniformSource } from '../../mechanisms/samplers/uniform-source.ts'
import { exponentialRho } from '../../mechanisms/selection/exponential.ts'
import {
  calibrateQuantile,
  type QuantileMeasurement,
  quantileHalfWidth,
  selectQuantile,
} from '../../mechanisms/selection/quantile.ts'
import { additive, planAdditiveQuery } from '../additive/kind.ts'
import { rhoTogether, splitEpsilon } from '../additive/measure.ts'
import { domainOfEstimates } from '../additive/postprocess.ts'
import {
  accuracyOfAdditive,
  errorsOfAdditive,
  groupValues,
  noiseOfAdditive,
  SEVERAL_STATISTICS,
} from '../additive/report.ts'
import type { AdditiveParts, AdditivePlan, AdditiveRelease } from '../additive/shape.ts'
import { planAdditive } from '../additive/statistics.ts'
import { type Bounding, type CellCounting, cellCount } from '../language/aggregate.ts'
import { clampedName } from '../language/clamp.ts'
import {
  contributionReport,
  ONE_ROW_PER_PERSON,
  planBounding,
  quotient,
  requireNoClamp,
} from '../language/contribution.ts'
import { cellKeys, type Grouping } from '../language/grouping.ts'
import { planRows } from '../language/predicate.ts'
import { rankedKey, requireRankable, valuesInGroups } from '../language/ranked-values.ts'
import type { CellIntegers, IndexCounts } from '../language/reading.ts'
import { cellsOf } from '../language/tables.ts'
import {
  epsilonRange,
  knownHalfWidth,
  type Offer,
  planAtOffer,
  refuseSeveral,
} from '../price/accuracy-first.ts'
import { replacementLossInTwoSteps } from '../price/price.ts'
import { stabilityOfRank } from '../price/stability.ts'
import type { AccuracyReport, PartialReport, PredictedError } from '../report-kinds.ts'
import { addingNoise, type PlanFacts, type PlanKind, type PlanLimits } from './plan-kind.ts'
import { percentageScore, statedExponential } from './quantile.ts'

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
  /** Names of the statistics in the answer. */
  readonly names: readonly string[]
  readonly groupings: readonly Grouping[]
  /** The statistics made from sums and counts; absent if all are quantiles. */
  readonly sums?: AdditivePlan
  readonly quantiles: readonly GroupQuantile[]
}

/** The integers of the sums and counts, and for each quantile the values in each cell. */
export interface GroupsExact {
  readonly kind: 'groups'
  readonly integers?: CellIntegers
  readonly values: readonly (readonly IndexCounts[])[]
}

/** Releases of the parts. */
export interface GroupsRelease {
  readonly kind: 'groups'
  readonly sums?: AdditiveRelease
  /** Grid indexes: one array per quantile, one index per cell. */
  readonly indexes: readonly (readonly bigint[])[]
}

/** How statistics of groups are made. */
export interface GroupParts {
  /** How those are planned that are made from sums and counts. */
  readonly sums: AdditiveParts<GroupByQuery> & Required<Pick<AdditiveParts<GroupByQuery>, 'groupings'>>
  /**
   * Names of all statistics.
   * @throws Refusal for a name that is repeated.
   */
  readonly names: (query: GroupByQuery) => readonly string[]
  /** The percentage of each statistic that is a quantile. */
  readonly percentages: (query: GroupByQuery) => readonly (number | undefined)[]
}

/**
 * Plans statistics of groups.
 * @throws Refusal for a query that does not fit the dataset or the mechanism.
 */
export function planGroups(
  query: GroupByQuery,
  { sums: asSums, names: namesOf, percentages: percentagesOf }: GroupParts,
  dataset: Dataset,
  limits: PlanLimits,
  offer: Offer,
): AdditivePlan | GroupsPlan {
  const percentages = percentagesOf(query)
  if (percentages.every((percentage) => percentage === undefined))
    return planAdditiveQuery(query, asSums, dataset, limits, offer)
  if (offer.target !== undefined && query.statistics.length > 1) throw refuseSeveral()
  const names = namesOf(query)
  const groupings = asSums.groupings(query, dataset, limits)
  const cells = groupings.length === 0 ? 'one' : 'groups'
  const bounding = planBounding(query.contribution, dataset, cells)
  const settings = quantileSettings(query, percentages, dataset, bounding, groupings)
  const hasSums = percentages.includes(undefined)
  const sumsOf = sumsPart(query, hasSums ? asSums : undefined, dataset, limits, offer)
  const parts = sumsOf.parts + settings.length
  const factorOfQuantiles = () =>
    Math.max(
      ...settings.map(({ setting: { score, sensitivity } }) => {
        const ofOneRow = { of: 'rows', bounding: ONE_ROW_PER_PERSON } as const
        return quotient(sensitivity, stabilityOfRank(score, ofOneRow, dataset, cells).sensitivity)
      }),
    )
  const contributionWith = (sums: AdditivePlan | undefined) => {
    const ofSums = sums?.contribution === undefined ? [] : [sums.contribution.factor]
    const factor = () => Math.max(factorOfQuantiles(), ...ofSums)
    return contributionReport(bounding, factor, query.contribution?.perPerson)
  }
  const planAt = (loss: PrivacyLoss): GroupsPlan => {
    const shares = splitEpsilon(loss.epsilonNano, parts)
    const sums = sumsOf.planAt(shares.slice(0, sumsOf.parts))
    const quantiles = settings.map(({ setting, ...facts }, part) => {
      return { ...facts, measurement: calibrateQuantile(setting, entry(shares, sumsOf.parts + part)) }
    })
    const rhos = quantiles.map(({ measurement }) => exponentialRho(measurement))
    const own = quantiles.reduce((sum, { measurement }) => addLoss(sum, measurement.loss), NO_LOSS)
    const { rho } = sums ?? {}
    const contribution = contributionWith(sums)
    return {
      kind: 'groups',
      query,
      names,
      dataset,
      loss: sums === undefined ? own : addLoss(sums.loss, own),
      rho: rhoTogether(rho === undefined ? rhos : [rho, ...rhos]),
      confidence: offer.confidence,
      groupings,
      ...defined({ sums }),
      quantiles,
      ...defined({ contribution }),
    }
  }
  const halfWidthOf = (plan: GroupsPlan) => knownHalfWidth(accuracy(plan))
  return planAtOffer(offer, epsilonRange(parts), { planAt, halfWidthOf })
}

/** The quantiles of a query, and what their measurements are calibrated to. */
function quantileSettings(
  query: GroupByQuery,
  percentages: readonly (number | undefined)[],
  dataset: Dataset,
  bounding: Bounding,
  groupings: readonly Grouping[],
) {
  const groupBy = groupings.map(({ key }) => key)
  const addValues = valuesInGroups(cellCount({ groupBy }), dataset)
  return query.statistics.flatMap((statistic, place) => {
    const percentage = percentages[place]
    if (percentage === undefined || !('column' in statistic) || typeof statistic.column !== 'string')
      return []
    const field = `statistics.${place}`
    const { clamp } = 'clamp' in statistic ? statistic : {}
    const ranked = requireRankable(dataset, { column: statistic.column, clamp }, `${field}.column`)
    addValues(ranked, `${field}.column`)
    const { column } = ranked
    const score = percentageScore(percentage, `${field}.p`)
    const counted = { of: 'rows', bounding } as const
    const cells = groupings.length === 0 ? 'one' : 'groups'
    const { sensitivity } = stabilityOfRank(score, counted, dataset, cells)
    const counting = { ...planRows(query.where, dataset, bounding), groupBy, ...clampedName(column) }
    const { lowerIndex, upperIndex } = column
    return [{ place, column, counting, setting: { score, sensitivity, lowerIndex, upperIndex } }]
  })
}

/** Number of parts of the epsilon that the sums and counts of a query need, and their plan with these parts. */
function sumsPart(
  query: GroupByQuery,
  asSums: AdditiveParts<GroupByQuery> | undefined,
  dataset: Dataset,
  limits: PlanLimits,
  offer: Offer,
) {
  if (asSums === undefined) {
    if (query.mechanism !== undefined) {
      const rule = 'applies to sums and counts; no statistic of this query is made from them'
      throw refuseQuery('mechanism', rule)
    }
    requireNoClamp(query.contribution)
    return { parts: 0, planAt: () => undefined }
  }
  const parts = planAdditive(query, asSums, dataset, limits).aggregate.statistics.length
  const planAt = (shares: readonly EpsilonNano[]) => {
    const share = epsilonNano(shares.reduce<bigint>((sum, part) => sum + part, 0n))
    return planAdditiveQuery(query, asSums, dataset, limits, {
      ...offer,
      epsilonNano: share,
      target: undefined,
    })
  }
  return { parts, planAt }
}

/** Sums, counts and quantiles of groups. */
export const groups: PlanKind<GroupsPlan, GroupsExact, GroupsRelease> = {
  readings: ({ sums, quantiles }) => [
    ...(sums === undefined ? [] : additive.readings(sums)),
    ...rankedColumns(quantiles).map(({ counting }) => ({ method: 'countIndexesInCells', counting }) as const),
  ],
  exact({ sums, quantiles }, { aggregate, countIndexesInCells }) {
    const columns = rankedColumns(quantiles).map(({ column }) => rankedKey(column))
    const values = quantiles.map(({ column }) =>
      entry(countIndexesInCells, columns.indexOf(rankedKey(column))),
    )
    return { kind: 'groups', values, ...(sums && { integers: entry(aggregate, 0) }) }
  },
  release: (plan, exact) => (noiseSource) => releaseParts(plan, exact, noiseSource),
  chosen: ({ sums }) => (sums === undefined ? {} : additive.chosen(sums)),
  domain: ({ sums }) => sums && domainOfEstimates(sums),
  // All parts count the same rows, among them those whose value is missing.
  rowsThatCount: ({ quantiles }) => quantiles[0]?.counting.where,
  mostValues: ({ groupings, names }) => cellsOf(groupings) * names.length,
  leastHalfWidthRows: ({ sums, quantiles }) =>
    Math.min(
      sums === undefined ? Number.POSITIVE_INFINITY : additive.leastHalfWidthRows(sums),
      ...quantiles.map(({ measurement }) => quantileHalfWidth(measurement, DEFAULT_CONFIDENCE)),
    ),
  replacementLoss(plan) {
    const { sums, quantiles } = plan
    const own = quantiles.reduce((sum, { measurement }) => addLoss(sum, measurement.loss), NO_LOSS)
    const ofQuantiles = replacementLossInTwoSteps({ ...plan, loss: own })
    return sums === undefined ? ofQuantiles : addLoss(additive.replacementLoss(sums), ofQuantiles)
  },
  noise(plan) {
    const { neighbours } = plan.dataset
    const ofQuantiles = {
      mechanism: 'exponential',
      neighbours,
      quantiles: plan.quantiles.map(({ place, measurement }) => ({
        statistic: entry(plan.names, place),
        ...statedExponential(measurement),
      })),
    } as const
    if (plan.sums === undefined) return ofQuantiles
    return { mechanism: 'several', neighbours, parts: [noiseOfAdditive(plan.sums), ofQuantiles] }
  },
  accuracy,
  reporter,
}

/** The first quantile of each column and clamp: quantiles of one column share its values. */
function rankedColumns(quantiles: readonly GroupQuantile[]): readonly GroupQuantile[] {
  const keys = quantiles.map(({ column }) => rankedKey(column))
  return quantiles.filter(({ column }, place) => keys.indexOf(rankedKey(column)) === place)
}

const CELLS_IN_A_STEP = 16

function* releaseParts(
  { sums, quantiles }: GroupsPlan,
  { integers, values }: GroupsExact,
  noiseSource: UniformSource,
): Generator<void, GroupsRelease> {
  const ofSums =
    sums && addingNoise('additive', sums.measurements, must(integers, 'the integers of the sums'))
  const released = ofSums && (yield* ofSums(noiseSource))
  const indexes: bigint[][] = []
  for (const [part, { measurement }] of quantiles.entries()) {
    const chosen: bigint[] = []
    for (const [cell, cellValues] of entry(values, part).entries()) {
      chosen.push(selectQuantile(measurement, cellValues, noiseSource))
      if (cell % CELLS_IN_A_STEP === 0) yield
    }
    indexes.push(chosen)
  }
  return { kind: 'groups', ...(released && { sums: released }), indexes }
}

/** The half-width of each quantile, a number of rows, in the order of the quantiles. */
function rankErrors({ quantiles, confidence }: GroupsPlan): readonly PredictedError[] {
  return quantiles.map(({ measurement }) => ({
    halfWidth: quantileHalfWidth(measurement, confidence),
    expectedAbsoluteError: null,
    unit: 'rows',
  }))
}

function accuracy(plan: GroupsPlan, supposed: Suppositions = {}): AccuracyReport {
  const { sums, names, confidence } = plan
  const ofSums = sums === undefined ? [] : errorsOfAdditive(sums, supposed)
  const each = inOrder(plan, ofSums, rankErrors(plan))
  const [only, ...others] = each
  if (only !== undefined && others.length === 0) return { confidence, ...only }
  return {
    confidence,
    halfWidth: null,
    expectedAbsoluteError: null,
    reason: SEVERAL_STATISTICS,
    estimates: Object.fromEntries(each.map((error, place) => [entry(names, place), error])),
    ...defined({ statistics: sums && accuracyOfAdditive(sums, supposed).statistics }),
  }
}

/** Merges what belongs to the sums and what belongs to the quantiles into the order of the query's statistics. */
function inOrder<Value>(
  { names, quantiles: ranked }: GroupsPlan,
  ofSums: readonly Value[],
  ofQuantiles: readonly Value[],
): readonly Value[] {
  const [sums, quantiles] = [ofSums.values(), ofQuantiles.values()]
  return names.map((_, statistic) => {
    const isQuantile = ranked.some(({ place }) => place === statistic)
    return must((isQuantile ? quantiles : sums).next().value, 'a value of each statistic')
  })
}

function reporter(plan: GroupsPlan): (release: GroupsRelease) => PartialReport {
  const { sums, quantiles, names, groupings } = plan
  const keys = cellKeys(groupings)
  const ranks = rankErrors(plan)
  const sumsIn = sums && groupValues(sums)
  return (release) => {
    if ((sums === undefined) !== (release.sums === undefined))
      throw new RangeError('the release is that of another plan')
    const valuesIn = (cell: number) => {
      const ofSums =
        sumsIn === undefined || release.sums === undefined ? [] : sumsIn(release.sums.noisy, cell)
      const ofQuantiles = quantiles.map(({ column }, part) => ({
        value: valueOfIndex(column, entry(entry(release.indexes, part), cell)),
        halfWidth: must(entry(ranks, part).halfWidth ?? undefined, 'the half-width of a rank'),
        unit: 'rows' as const,
      }))
      const each = inOrder(plan, ofSums, ofQuantiles)
      return Object.fromEntries(each.map((value, place) => [entry(names, place), value]))
    }
    return { result: { groups: keys.map((key, cell) => ({ key, values: valuesIn(cell) })) } }
  }
}

import type {
  ContributionRequest,
  GroupingColumn,
  GroupStatistic,
  Query,
  QueryRequest,
} from '../../schemas/query.ts'
import { columnNamed, type Dataset, isTemporal } from '../catalog/dataset.ts'
import { normalValue } from '../catalog/grid-value.ts'
import { DEFAULT_CONFIDENCE, epsilonFromWire, epsilonNumber } from '../privacy/loss.ts'
import { periodName } from './calendar.ts'
import { periodsOf } from './calendar-cells.ts'
import type { ContributionReport } from './contribution.ts'
import { percentagesOf } from './kinds/quantile.ts'
import { normalPredicate } from './normal-predicate.ts'
import type { Plan } from './plan-kinds.ts'
import { measuredAccuracy } from './report.ts'
import type { SessionPlan } from './session.ts'

/*
 * The normal form of a query identifies it: two queries with one normal form select the same rows and have the same
 * measurements, so the release of one answers the other. It is a query itself, and planning it gives the same plan, which
 * an auditor can verify. Fields that equal the defaults of the schema are omitted, and everything that the planner has
 * chosen is written: the mechanism, its calibration and the epsilon. What changes only how a release is shown is left out:
 * post-processing, and suppositions about the data.
 */

type PredicateRequest = Parameters<typeof normalPredicate>[0]
type Fields = Readonly<Record<string, unknown>>

/**
 * Returns the normal form of a planned query.
 * @throws Error for a plan that does not come from its query.
 */
export function normalForm(planned: Plan): QueryRequest {
  const { query, dataset } = planned
  const normal = { ...subjectOf(query, dataset), ...selectionOf(planned), ...priceOf(planned) }
  // Assembled from fields of one query; a test parses it by the schema.
  return normal as QueryRequest
}

/**
 * Returns the normal form of the predicate of a session's question.
 * @throws Refusal for a predicate that does not fit the dataset.
 */
export function normalQuestion(where: PredicateRequest, dataset: Dataset): PredicateRequest {
  return normalPredicate(where, dataset).predicate
}

/** Returns the normal form of the request that opens a session. */
export function normalSession(
  {
    threshold,
    positives,
    epsilon,
    of,
  }: {
    readonly threshold: number
    readonly positives: number
    readonly epsilon: number
    readonly of?: 'rows' | 'people' | undefined
  },
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

/** The statistic that a query asks for. */
function subjectOf(query: Query, dataset: Dataset): Fields {
  const { kind } = query
  switch (query.kind) {
    case 'count':
      return { kind, ...countedOf(query.of) }
    case 'sum':
    case 'variance':
    case 'standardDeviation':
      return { kind, column: query.column }
    case 'mean':
    case 'median':
    case 'minimum':
    case 'maximum':
      return { kind, column: query.column, ...perPersonOf(query) }
    case 'percentile': {
      const [p, ...others] = percentagesOf(query)
      return {
        kind,
        column: query.column,
        p: others.length === 0 ? p : [p, ...others],
        ...perPersonOf(query),
      }
    }
    case 'covariance':
    case 'correlation':
      return { kind, columns: query.columns }
    case 'linearRegression': {
      const { outcome, predictors, ridge } = query
      return { kind, outcome, predictors, ...(ridge === undefined ? {} : { ridge }) }
    }
    case 'proportion':
      return { kind, of: normalPredicate(query.of, dataset).predicate }
    case 'countDistinct':
      return { kind, column: normalGrouping(query.column, dataset) }
    case 'histogram':
      return { kind, column: normalGrouping(query.column, dataset), ...countedOf(query.of) }
    case 'contingency':
      return { kind, columns: groupingsOf(query.columns, dataset), ...countedOf(query.of) }
    case 'topGroups': {
      const { k } = query
      return {
        kind,
        keys: groupingsOf(query.keys, dataset),
        ...(k === 10 ? {} : { k }),
        ...countedOf(query.of),
      }
    }
    case 'groupBy': {
      const statistics = query.statistics.map((statistic) => normalStatistic(statistic, dataset))
      return { kind, keys: groupingsOf(query.keys, dataset), statistics }
    }
    case 'noisyMax': {
      const { candidates, k, gap, of } = query
      return {
        kind,
        candidates: candidatesOf(candidates, dataset),
        ...(k === 1 ? {} : { k }),
        ...(gap ? { gap } : {}),
        ...countedOf(of),
      }
    }
    case 'keySelection':
      return { kind, column: query.column, ...(query.counts ? { counts: true } : {}) }
  }
}

function candidatesOf(
  candidates: Extract<Query, { kind: 'noisyMax' }>['candidates'],
  dataset: Dataset,
): Fields {
  if ('column' in candidates) return { column: normalGrouping(candidates.column, dataset) }
  const predicates = candidates.predicates.map(({ name, where }) => ({
    name,
    where: normalPredicate(where, dataset).predicate,
  }))
  return { predicates }
}

/** The rows that a query counts, and the bounds on those of each person. */
function selectionOf({ query, dataset, contribution }: Plan): Fields {
  const bounds = contributionOf(contribution, query.contribution, dataset)
  if (query.where === undefined) return bounds
  const { predicate, every } = normalPredicate(query.where, dataset)
  // Under change-one the number of rows is public, and a query with any condition does not rely on it.
  return every && dataset.neighbours === 'add-remove' ? bounds : { where: predicate, ...bounds }
}

/** The mechanism and the price that the planner has chosen. */
function priceOf(planned: Plan): Fields {
  const { query, loss, confidence } = planned
  const epsilonNano =
    query.epsilon === undefined ? loss.epsilonNano : epsilonFromWire(query.epsilon, 'epsilon')
  const price = { ...mechanismOf(planned), epsilon: epsilonNumber(epsilonNano) }
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

function mechanismOf(planned: Plan): Fields {
  switch (planned.kind) {
    case 'additive':
    case 'groups': {
      const sums = planned.kind === 'groups' ? planned.sums : planned
      const measurement = sums?.measurements[0]
      if (measurement === undefined) return {}
      const { mechanism, calibration } = measurement
      // Other mechanisms use no delta.
      return mechanism === 'gaussian' ? { mechanism, calibration, delta: planned.query.delta } : { mechanism }
    }
    case 'noisy-max':
      return { noise: planned.measurement.noise }
    case 'key-selection':
      return { delta: planned.query.delta }
    case 'quantile':
      return {}
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

function countedOf(of: 'rows' | 'people' | undefined): Fields {
  return of === 'people' ? { of } : {}
}

function perPersonOf({ perPerson }: { readonly perPerson?: unknown }): Fields {
  return perPerson === undefined ? {} : { perPerson }
}

function normalStatistic(statistic: GroupStatistic, dataset: Dataset): Fields {
  switch (statistic.kind) {
    case 'count':
      return { kind: statistic.kind, ...countedOf(statistic.of) }
    case 'proportion': {
      const { kind, of, name = 'proportion' } = statistic
      const named = name === 'proportion' ? {} : { name }
      return { kind, of: normalPredicate(of, dataset).predicate, ...named }
    }
    case 'countDistinct':
      return { kind: statistic.kind, column: normalGrouping(statistic.column, dataset) }
    case 'mean':
      return { kind: statistic.kind, column: statistic.column, ...perPersonOf(statistic) }
    case 'sum':
    case 'variance':
    case 'standardDeviation':
    case 'median':
      return { kind: statistic.kind, column: statistic.column }
    case 'percentile':
      return { kind: statistic.kind, column: statistic.column, p: statistic.p }
  }
}

function groupingsOf(groupings: readonly GroupingColumn[], dataset: Dataset): readonly GroupingColumn[] {
  return groupings.map((grouping) => normalGrouping(grouping, dataset))
}

/** Writes the times of a grouping as the answer shows them; edges keep their values, which the answer shows as well. */
function normalGrouping(grouping: GroupingColumn, dataset: Dataset): GroupingColumn {
  if (typeof grouping === 'string') return grouping
  const column = columnNamed(dataset, grouping.column)
  if (column === undefined || !isTemporal(column)) return grouping
  if ('edges' in grouping)
    return { column: column.name, edges: grouping.edges.map((edge) => normalValue(column.type, edge)) }
  const { by } = grouping
  const { period, first, last, lowest, highest } = periodsOf(grouping, column, 'column')
  return {
    column: column.name,
    by,
    ...(first === lowest ? {} : { from: periodName(period, first) }),
    ...(last === highest ? {} : { to: periodName(period, last) }),
  }
}

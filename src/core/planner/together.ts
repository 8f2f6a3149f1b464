import type { BatchRequest, Query } from '../../../schemas/answers/query.ts'
import { type Amount, coversAmount, isSameAmount } from '../../privacy/accounting.ts'
import { defined } from '../../privacy/defined.ts'
import { type DeltaAtto, deltaNumber, NO_LOSS } from '../../privacy/loss.ts'
import { entry, must } from '../../privacy/must.ts'
import { Refusal, refuseField, refuseQuery } from '../../privacy/refusal.ts'
import type { Dataset } from '../dataset/dataset.ts'
import { type ColumnSet, cellsIn } from '../workloads/column-sets.ts'
import type { Objective } from '../workloads/shares.ts'
import { reportOfEstimates } from './additive/report.ts'
import type { AdditivePlan } from './additive/shape.ts'
import { normalForm } from './identity/normal-form.ts'
import { contributionAsked } from './language/contribution.ts'
import type { Grouping } from './language/grouping.ts'
import { type MarginalsPlan, planTables, requireObjective } from './plans/marginals.ts'
import { withinBins } from './plans/marginals-rows.ts'
import type { PlanLimits } from './plans/plan-kind.ts'
import type { Plan } from './plans/plan-kinds.ts'
import { priceOf } from './price/price.ts'
import { requireWithinQueryLimits } from './price/query-limits.ts'
import { measuredAccuracy } from './report.ts'
import type { AccuracyReport, Report, Result } from './report-kinds.ts'

/*
 * Counts and tables of counts that are planned together: they follow from whole tables, which are measured once, as those of
 * a question of kind `marginals` do. What each query asks for by itself says how wide its half-width may be, and the price is
 * the least that keeps all of them.
 */

/** What is asked of a batch besides its queries. */
export type BatchTerms = Pick<BatchRequest, 'plan' | 'objective' | 'weights'>

/** The queries of a batch, and what is asked of all of them. */
export interface BatchQueries extends BatchTerms {
  readonly queries: readonly Query[]
}

/** The tables that the queries of a batch ask for. */
export interface TablesOfBatch {
  /** The query of each table, planned by itself. */
  readonly queries: readonly AdditivePlan[]
  /** The columns of all tables. */
  readonly groupings: readonly Grouping[]
  /** The different tables. */
  readonly tables: readonly ColumnSet[]
  /** The table of each query, by its place. */
  readonly places: readonly number[]
  readonly objective: 'total' | 'largest' | readonly number[]
}

/** Queries that are answered from tables that are measured together. */
export interface TogetherPlan extends TablesOfBatch {
  /** The measured tables, and the estimates of all tables that are asked for. */
  readonly workload: MarginalsPlan
}

/**
 * Requires that an objective and weights are those of queries that are planned together.
 * @throws Refusal naming the field and the rule.
 */
export function requireTermsFit({ plan, objective, weights }: BatchTerms, queries: number): void {
  for (const [field, given] of Object.entries({ objective, weights }))
    if (given !== undefined && plan !== 'together')
      throw refuseField('invalid-request', field, 'must be given with "plan": "together" only')
  requireObjective(askedObjective({ objective, weights }), queries, 'query')
}

function askedObjective({ objective, weights }: Pick<BatchTerms, 'objective' | 'weights'>) {
  if (weights === undefined) return { objective: objective ?? ('largest' as const) }
  return { weights: [...weights], ...defined({ objective }) }
}

const TOGETHER = 'where "plan" is "together"'
/** Largest number of different columns of a batch. */
const MOST_COLUMNS = 30

/**
 * Finds the tables that the queries of a batch ask for.
 * @throws Refusal naming the field and the rule, for queries that cannot be planned together.
 */
export function tablesOfBatch(plans: readonly Plan[], terms: BatchTerms): TablesOfBatch {
  if (plans.length < 2) throw refuseQuery('queries', `must be at least 2 ${TOGETHER}`)
  const queries = plans.map(requireCounts)
  requireSameRows(queries)
  const groupings = columnsOfAll(queries)
  const sets = queries.map((query) =>
    query.groupings.reduce((set, { column }) => set | (1 << placeOf(column, groupings)), 0),
  )
  requireAllInBins(queries, groupings)
  const tables = [...new Set(sets)]
  return {
    queries,
    groupings,
    tables,
    places: sets.map((set) => tables.indexOf(set)),
    objective: requireObjective(askedObjective(terms), plans.length, 'query'),
  }
}

/** @throws Refusal for anything but counts of rows, whose mechanism is not chosen. */
function requireCounts(plan: Plan, place: number): AdditivePlan {
  const refuse = (field: string, rule: string) =>
    refuseQuery(`queries.${place}.${field}`, `${rule} ${TOGETHER}`)
  const { kind } = plan.query
  if (plan.kind !== 'additive' || !isCount(plan)) {
    if (kind === 'groupBy') throw refuse('statistics', 'must be one count of rows')
    if ('of' in plan.query && plan.query.of === 'people')
      throw refuse('of', 'must be "rows", with a contribution of 1 row to count people,')
    throw refuse('kind', 'must be count, histogram, contingency or groupBy')
  }
  if (plan.query.mechanism !== undefined) throw refuse('mechanism', 'must be left to the service')
  if (plan.aggregate.bounding.kind === 'groups')
    throw refuse('contribution', 'must bound the rows of each person, not the groups,')
  return plan
}

function isCount({ aggregate, estimates, shown }: AdditivePlan): boolean {
  const [statistic, ...others] = aggregate.statistics
  return (
    statistic?.kind === 'count' &&
    statistic.column === undefined &&
    statistic.where === undefined &&
    others.length === 0 &&
    estimates.length === 1 &&
    entry(estimates, 0).kind === 'count' &&
    (shown.kind !== 'cells' || (shown.largest ?? shown.clamps) === undefined)
  )
}

/** @throws Refusal for queries about different rows, or at different confidences. */
function requireSameRows(queries: readonly AdditivePlan[]): void {
  const first = entry(queries, 0)
  const rowsOf = (query: AdditivePlan) => JSON.stringify(normalForm(query).where ?? null)
  const boundsOf = ({ aggregate }: AdditivePlan) => JSON.stringify(aggregate.bounding)
  for (const [place, query] of queries.entries()) {
    const refuse = (field: string) =>
      refuseQuery(`queries.${place}.${field}`, `must be the same in all queries ${TOGETHER}`)
    if (rowsOf(query) !== rowsOf(first)) throw refuse('where')
    if (boundsOf(query) !== boundsOf(first)) throw refuse('contribution')
    if (query.confidence !== first.confidence) throw refuse('accuracy.confidence')
  }
}

function columnsOfAll(queries: readonly AdditivePlan[]): readonly Grouping[] {
  const found = new Map<string, Grouping>()
  for (const [place, { groupings }] of queries.entries())
    for (const grouping of groupings) {
      const { column, labels } = grouping
      const other = found.get(column)
      if (other === undefined) found.set(column, grouping)
      else if (JSON.stringify(labels) !== JSON.stringify(other.labels)) {
        const rule = `must divide ${column} into the same cells in all queries ${TOGETHER}`
        throw refuseQuery(`queries.${place}`, rule)
      }
    }
  if (found.size > MOST_COLUMNS)
    throw refuseQuery('queries', `must have at most ${MOST_COLUMNS} different columns ${TOGETHER}`)
  return [...found.values()]
}

function placeOf(column: string, groupings: readonly Grouping[]): number {
  return groupings.findIndex((each) => each.column === column)
}

/**
 * Requires that a row is in a cell of every query, or of none.
 * @throws Refusal for cells that leave rows out which other queries count.
 */
function requireAllInBins(queries: readonly AdditivePlan[], groupings: readonly Grouping[]): void {
  const { dataset } = entry(queries, 0)
  for (const grouping of groupings) {
    if (withinBins([grouping], dataset).length === 0) continue
    const { column } = grouping
    const isIn = (query: AdditivePlan) => query.groupings.some((each) => each.column === column)
    if (queries.every(isIn)) continue
    const rule = `must cover all values of ${column}, unless all queries divide it, ${TOGETHER}`
    throw refuseQuery(`queries.${queries.findIndex(isIn)}`, rule)
  }
}

/**
 * Plans queries together: at the least price at which none has a larger half-width than by itself.
 * @param separate the price of the queries with noise of their own, whose delta is not exceeded
 * @throws Refusal naming the field and the rule, for tables that cannot be planned together.
 */
export function planTogether(
  wanted: TablesOfBatch,
  separate: Amount,
  dataset: Dataset,
  limits: PlanLimits,
): MarginalsPlan {
  const deltas = [NO_LOSS.deltaAtto, ...(separate.accounting === 'basic' ? [separate.deltaAtto] : [])]
  return inQuestionAboutAll(() => {
    const workload = [...new Set(deltas)]
      .map((delta) => planAt(wanted, delta, dataset, limits))
      .reduce((best, next) => (next.loss.epsilonNano < best.loss.epsilonNano ? next : best))
    const { loss, confidence } = workload
    requireWithinQueryLimits(workload, { deltaAtto: loss.deltaAtto, target: undefined, confidence })
    requireAnswerable(workload, limits)
    return workload
  })
}

/** Tables that are measured may have this many times the cells that an answer may have, which are all stored. */
const MOST_MEASURED = 10

/** @throws Refusal for tables with too many cells. */
function requireAnswerable({ reconstruction }: MarginalsPlan, { maxCells }: PlanLimits): void {
  const { measured, sizes } = reconstruction
  const cells = measured.reduce((sum, set) => sum + cellsIn(set, sizes), 0)
  const most = MOST_MEASURED * maxCells
  if (cells > most)
    throw refuseQuery(
      'queries',
      `need ${cells} cells in the tables to measure; at most ${most} are supported`,
    )
}

/** Runs a task whose refusals name fields of a question about all tables, which nobody has written. */
function inQuestionAboutAll<Result>(task: () => Result): Result {
  try {
    return task()
  } catch (error) {
    if (!(error instanceof Refusal) || error.errors.length === 0) throw error
    throw refuseQuery('plan', `cannot be "together": ${error.message}`)
  }
}

function planAt(
  { queries, groupings, tables, places, objective }: TablesOfBatch,
  delta: DeltaAtto,
  dataset: Dataset,
  limits: PlanLimits,
): MarginalsPlan {
  const { query: first, confidence } = entry(queries, 0)
  const halfWidths = queries.map(halfWidthOf)
  const ofTable = (values: readonly number[], table: number) =>
    values.filter((_, query) => entry(places, query) === table)
  const targets = tables.map((_, table) => Math.min(...ofTable(halfWidths, table)))
  if (targets.includes(0)) throw refuseQuery('queries', 'must have half-widths above 0')
  const query = {
    kind: 'marginals',
    columns: [],
    ways: 1,
    ...defined({ where: first.where, contribution: contributionAsked(first) }),
    delta: deltaNumber(delta),
  } as Extract<Query, { kind: 'marginals' }>
  const objectiveOfTables: Objective =
    objective === 'largest'
      ? { largestAgainst: targets }
      : objective === 'total'
        ? objective
        : tables.map((_, table) => ofTable(objective, table).reduce((sum, weight) => sum + weight, 0))
  const sizes = groupings.map(({ labels }) => labels.length)
  const workload = { sizes, tables, mostCells: limits.maxCells }
  const wanted = { query, groupings, workload, objective: objectiveOfTables, targets }
  return planTables(wanted, dataset, limits, { deltaAtto: delta, confidence })
}

function halfWidthOf(query: AdditivePlan): number {
  const { halfWidth } = measuredAccuracy(query)
  if (halfWidth === null) throw new RangeError('the half-width of a count is known beforehand')
  return halfWidth
}

/** True if queries cost less together. */
export function isCheaper({ workload }: TogetherPlan, price: Amount): boolean {
  const together = priceOf(workload, price.accounting)
  return coversAmount(price, together) && !isSameAmount(price, together)
}

/** The part of a request that identifies queries that are planned together. */
export function normalTogether({ queries, objective }: TablesOfBatch) {
  return { queries: queries.map(normalForm), objective }
}

/** The accuracy of the answer to a query of a batch, before post-processing. */
export function accuracyTogether(plan: TogetherPlan, query: number): AccuracyReport {
  return { confidence: plan.workload.confidence, ...errorTogether(plan, query) }
}

function errorTogether({ workload, places }: TogetherPlan, query: number) {
  const { halfWidth, deviation } = entry(workload.tables, entry(places, query))
  return { halfWidth, expectedAbsoluteError: deviation }
}

/** Reports the answer to a query of a batch, before post-processing. */
export function reportTogether(
  plan: TogetherPlan,
  query: number,
  { tables }: Extract<Result, { tables: unknown }>,
): Report {
  const planned = entry(plan.queries, query)
  const error = errorTogether(plan, query)
  const values = must(entry(tables, entry(plan.places, query)).values, 'the values of a table')
  const cells = cellsInTable(planned, plan.groupings)
  const report = reportOfEstimates(planned, (cell) => [
    { value: entry(values, entry(cells, cell)), ...error },
  ])
  const { interval } = report.accuracy
  return {
    result: report.result,
    accuracy: { ...accuracyTogether(plan, query), ...defined({ interval }) },
  }
}

/** The place in its table of each cell of a query, whose columns can be in another order. */
function cellsInTable({ groupings: own }: AdditivePlan, groupings: readonly Grouping[]): readonly number[] {
  const strides = own.map(({ column }) => {
    const place = placeOf(column, groupings)
    const after = own.filter((other) => placeOf(other.column, groupings) > place)
    return after.reduce((cells, { labels }) => cells * labels.length, 1)
  })
  return own.reduce<readonly number[]>(
    (cells, { labels }, at) =>
      cells.flatMap((cell) => labels.map((_, label) => cell + label * entry(strides, at))),
    [0],
  )
}

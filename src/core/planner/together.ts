import { isDeepStrictEqual } from 'node:util'
import type { BatchRequest, Query } from '../../../schemas/answers/query.ts'
import {
  type Accounting,
  type Amount,
  addAmounts,
  coversAmount,
  isSameAmount,
} from '../../privacy/accounting.ts'
import { defined } from '../../privacy/defined.ts'
import { type DeltaAtto, deltaAtto, deltaNumber, NO_LOSS } from '../../privacy/loss.ts'
import { entry, must } from '../../privacy/must.ts'
import { rational } from '../../privacy/rational.ts'
import { Refusal, refuseField, refuseQuery } from '../../privacy/refusal.ts'
import type { Dataset } from '../dataset/dataset.ts'
import { type ColumnSet, cellsIn } from '../workloads/column-sets.ts'
import type { Objective } from '../workloads/shares.ts'
import { accuracyOfEach, errorsOfAdditive, reportOfEstimates } from './additive/report.ts'
import type { AdditivePlan, Estimate } from './additive/shape.ts'
import { normalForm } from './identity/normal-form.ts'
import { type ClampableColumn, shownClamp } from './language/clamp.ts'
import { NUMBERS, requireColumnOf } from './language/column-rules.ts'
import { contributionAsked } from './language/contribution.ts'
import type { Grouping } from './language/grouping.ts'
import { withinBins } from './language/tables.ts'
import { type Added, type MarginalsPlan, planTables, requireObjective } from './plans/marginals.ts'
import type { PlanLimits } from './plans/plan-kind.ts'
import type { Plan } from './plans/plan-kinds.ts'
import { priceOf } from './price/price.ts'
import { requireWithinQueryLimits } from './price/query-limits.ts'
import type { AccuracyReport, Report, Result } from './report-kinds.ts'

/*
 * Counts, sums, and tables of them that are planned together: they follow from whole tables, which are measured once, as those of
 * a question of kind `marginals` do. What each query asks for by itself says how wide its half-width may be, and the price is
 * the least that keeps all of them. Tables of counts are one part, and those of the sums of each column, under each clamp, are
 * another one with a price of its own. See decision 66.
 */

/** What is asked of a batch besides its queries. */
export type BatchTerms = Pick<BatchRequest, 'plan' | 'objective' | 'weights'>

/** The queries of a batch, and what is asked of all of them. */
export interface BatchQueries extends BatchTerms {
  readonly queries: readonly Query[]
}

/** Tables that add up the same numbers, and follow from each other. */
interface PartOfBatch {
  readonly added: Added
  /** The different tables. */
  readonly tables: readonly ColumnSet[]
  /** The largest half-width that each table may have. */
  readonly targets: readonly number[]
  readonly objective: Objective
}

/** The tables that the queries of a batch ask for. */
export interface TablesOfBatch {
  /** The queries, planned by themselves. */
  readonly queries: readonly AdditivePlan[]
  /** The columns of all tables. */
  readonly groupings: readonly Grouping[]
  readonly parts: readonly PartOfBatch[]
  /** Of each query: the table of each of its estimates, by its place in a part. */
  readonly places: readonly (readonly { readonly part: number; readonly table: number }[])[]
  readonly objective: 'total' | 'largest' | readonly number[]
}

/** Queries that are answered from tables that are measured together. */
export interface TogetherPlan extends TablesOfBatch {
  /** Of each part: the measured tables, and the estimates of all tables that are asked for. */
  readonly workloads: readonly MarginalsPlan[]
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
  const queries = plans.map(requireAddedUp)
  requireSameRows(queries)
  const groupings = columnsOfAll(queries)
  requireAllInBins(queries, groupings)
  const objective = requireObjective(askedObjective(terms), plans.length, 'query')
  const asked = queries.flatMap((query, place) => tablesOf(query, place, groupings))
  const kinds = asked
    .map(({ added }) => added)
    .filter((each, place, all) => all.findIndex((other) => isDeepStrictEqual(other, each)) === place)
  const partOf = (table: AskedTable) => kinds.findIndex((each) => isDeepStrictEqual(each, table.added))
  const parts = kinds.map((added, part) =>
    partOfBatch(
      added,
      asked.filter((each) => partOf(each) === part),
      objective,
    ),
  )
  const placeIn = (table: AskedTable) => {
    const part = partOf(table)
    return { part, table: entry(parts, part).tables.indexOf(table.set) }
  }
  const places = queries.map((_, place) => asked.filter(({ query }) => query === place).map(placeIn))
  return { queries, groupings, parts, places, objective }
}

/** The table that an estimate of a query is a part of. */
interface AskedTable {
  readonly query: number
  readonly set: ColumnSet
  readonly added: Added
  /** That of the estimate by itself. */
  readonly halfWidth: number
}

function tablesOf(plan: AdditivePlan, query: number, groupings: readonly Grouping[]): readonly AskedTable[] {
  const set = plan.groupings.reduce((columns, { column }) => columns | (1 << placeOf(column, groupings)), 0)
  const errors = errorsOfAdditive(plan)
  return plan.estimates.map((estimate, place) => ({
    query,
    set,
    added: addedBy(estimate, plan),
    halfWidth: must(entry(errors, place).halfWidth ?? undefined, 'the half-width of a sum'),
  }))
}

/** What a count or a sum adds up. */
function addedBy(estimate: Estimate, { aggregate }: AdditivePlan): Added {
  if (estimate.kind !== 'count' && estimate.kind !== 'sum')
    throw new RangeError('an estimate that is neither a count nor a sum')
  const statistic = entry(aggregate.statistics, estimate.statistic)
  const unit = estimate.kind === 'count' ? rational(1n, 1n) : rational(estimate.column.stepNano, 10n ** 9n)
  return { statistic, unit }
}

function partOfBatch(
  added: Added,
  asked: readonly AskedTable[],
  objective: TablesOfBatch['objective'],
): PartOfBatch {
  const tables = [...new Set(asked.map(({ set }) => set))]
  const ofTables = tables.map((table) => asked.filter(({ set }) => set === table))
  const targets = ofTables.map((each) => Math.min(...each.map(({ halfWidth }) => halfWidth)))
  const weightsOf = (weights: readonly number[]) =>
    ofTables.map((each) => each.reduce((sum, { query }) => sum + entry(weights, query), 0))
  return {
    added,
    tables,
    targets,
    objective:
      objective === 'largest'
        ? { largestAgainst: targets }
        : objective === 'total'
          ? objective
          : weightsOf(objective),
  }
}

/** @throws Refusal for anything but counts of rows and sums, whose mechanism is not chosen. */
function requireAddedUp(plan: Plan, place: number): AdditivePlan {
  const refuse = (field: string, rule: string) =>
    refuseQuery(`queries.${place}.${field}`, `${rule} ${TOGETHER}`)
  const { kind } = plan.query
  if (plan.kind !== 'additive' || !isAddedUp(plan)) {
    if (kind === 'groupBy') throw refuse('statistics', 'must be counts of rows and sums')
    if ('of' in plan.query && plan.query.of === 'people')
      throw refuse('of', 'must be "rows", with a contribution of 1 row to count people,')
    throw refuse('kind', 'must be count, sum, histogram, contingency or groupBy')
  }
  if (plan.query.mechanism !== undefined) throw refuse('mechanism', 'must be left to the service')
  if (plan.aggregate.bounding.kind === 'groups')
    throw refuse('contribution', 'must bound the rows of each person, not the groups,')
  // The total of a person is clamped, so that those of groups do not add up to it.
  if (contributionAsked(plan.query)?.perPerson !== undefined)
    throw refuse('contribution.perPerson', 'must not be given')
  return plan
}

function isAddedUp({ aggregate, estimates, shown }: AdditivePlan): boolean {
  return (
    aggregate.statistics.every(
      (statistic) =>
        statistic.kind === 'affine-sum' ||
        (statistic.kind === 'count' && statistic.column === undefined && statistic.where === undefined),
    ) &&
    estimates.every(({ kind }) => kind === 'count' || kind === 'sum') &&
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
      const { column } = grouping
      const other = found.get(column)
      if (other === undefined) found.set(column, grouping)
      else if (!isDeepStrictEqual(grouping, other)) {
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
 * @returns a plan for each part
 * @throws Refusal naming the field and the rule, for tables that cannot be planned together.
 */
export function planTogether(
  wanted: TablesOfBatch,
  separate: Amount,
  dataset: Dataset,
  limits: PlanLimits,
): readonly MarginalsPlan[] {
  const { parts } = wanted
  const delta = separate.accounting === 'basic' ? separate.deltaAtto / BigInt(parts.length) : 0n
  const deltas = [...new Set([NO_LOSS.deltaAtto, deltaAtto(delta)])]
  return inQuestionAboutAll(() => {
    const workloads = parts.map((part) =>
      deltas
        .map((each) => planAt(part, wanted, each, dataset, limits))
        .reduce((best, next) => (next.loss.epsilonNano < best.loss.epsilonNano ? next : best)),
    )
    for (const workload of workloads) {
      const { loss, confidence } = workload
      requireWithinQueryLimits(workload, { deltaAtto: loss.deltaAtto, target: undefined, confidence })
    }
    requireAnswerable(workloads, limits)
    return workloads
  })
}

/** Tables that are measured may have this many times the cells that an answer may have, which are all stored. */
const MOST_MEASURED = 10

/** @throws Refusal for tables with too many cells. */
function requireAnswerable(workloads: readonly MarginalsPlan[], { maxCells }: PlanLimits): void {
  const cells = workloads
    .flatMap(({ reconstruction: { measured, sizes } }) => measured.map((set) => cellsIn(set, sizes)))
    .reduce((sum, each) => sum + each, 0)
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
  { added, tables, targets, objective }: PartOfBatch,
  { queries, groupings }: TablesOfBatch,
  delta: DeltaAtto,
  dataset: Dataset,
  limits: PlanLimits,
): MarginalsPlan {
  const { query: first, confidence } = entry(queries, 0)
  if (targets.includes(0)) throw refuseQuery('queries', 'must have half-widths above 0')
  const query = {
    kind: 'marginals',
    columns: [],
    ways: 1,
    ...defined({ where: first.where, contribution: contributionAsked(first) }),
    delta: deltaNumber(delta),
  } as Extract<Query, { kind: 'marginals' }>
  const sizes = groupings.map(({ labels }) => labels.length)
  const workload = { sizes, tables, mostCells: limits.maxCells }
  const wanted = { query, added, groupings, workload, objective, targets }
  return planTables(wanted, dataset, limits, { deltaAtto: delta, confidence })
}

/** The price of queries that are planned together: that of all parts. */
export function priceTogether({ workloads }: TogetherPlan, accounting: Accounting): Amount {
  return workloads.map((workload) => priceOf(workload, accounting)).reduce(addAmounts)
}

/** True if queries cost less together. */
export function isCheaper(plan: TogetherPlan, price: Amount): boolean {
  const together = priceTogether(plan, price.accounting)
  return coversAmount(price, together) && !isSameAmount(price, together)
}

/** The column that the tables of a part add up, and its clamp; `undefined` for tables of counts. */
export function summedIn({ added: { statistic }, dataset }: MarginalsPlan): ClampableColumn | undefined {
  if (statistic.kind !== 'affine-sum' || statistic.column === undefined) return undefined
  const { column: name, clamp } = statistic
  const column = requireColumnOf(NUMBERS, dataset, name, 'column')
  return { column: name, ...defined({ clamp: shownClamp({ ...column, ...defined({ clamp }) }) }) }
}

/** The part of a request that identifies queries that are planned together. */
export function normalTogether({ queries, objective }: TablesOfBatch) {
  return { queries: queries.map(normalForm), objective }
}

/** The accuracy of the answer to a query of a batch, before post-processing. */
export function accuracyTogether(plan: TogetherPlan, query: number): AccuracyReport {
  return accuracyOfEach(entry(plan.queries, query), errorsTogether(plan, query), {})
}

function errorsTogether({ workloads, places }: TogetherPlan, query: number) {
  return entry(places, query).map(({ part, table }) => {
    const { halfWidth, deviation } = entry(entry(workloads, part).tables, table)
    return { halfWidth, expectedAbsoluteError: deviation }
  })
}

/**
 * Reports the answer to a query of a batch, before post-processing.
 * @param released the tables of each part
 */
export function reportTogether(
  plan: TogetherPlan,
  query: number,
  released: readonly Extract<Result, { tables: unknown }>[],
): Report {
  const planned = entry(plan.queries, query)
  const errors = errorsTogether(plan, query)
  const values = entry(plan.places, query).map(({ part, table }) =>
    must(entry(entry(released, part).tables, table).values, 'the values of a table'),
  )
  const cells = cellsInTable(planned, plan.groupings)
  const report = reportOfEstimates(planned, (cell) =>
    values.map((table, place) => ({ value: entry(table, entry(cells, cell)), ...entry(errors, place) })),
  )
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

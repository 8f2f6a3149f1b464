import type { WeightedNoise } from '../../../core/mechanisms/noise/weighted-noise.ts'
import type { CellLabel } from '../../../core/planner/language/grouping.ts'
import type { AccuracyReport, Report, Result } from '../../../core/planner/report-kinds.ts'
import { defined } from '../../../privacy/defined.ts'
import { DEFAULT_CONFIDENCE } from '../../../privacy/loss.ts'
import { entry, must } from '../../../privacy/must.ts'
import type { AssembledQuery } from '../assembly.ts'
import type { GroupingExpression } from '../grouping.ts'
import type { Measure } from '../measures.ts'
import { memoized } from './memoized.ts'
import type { CellType, Group, Groups, MeasuredValue } from './row-values.ts'

/** A column of the rows. */
export interface ResultColumn {
  readonly name: string
  readonly type: CellType
  /** Name of the column with the half-width of this one. */
  readonly halfWidthColumn?: string
  /** Unit of a half-width, if it is not that of the value. */
  readonly unit?: HalfWidthUnit
}

/** Unit of a half-width that is not in the unit of its value. */
export type HalfWidthUnit = 'rows' | 'days' | 'seconds'

/** The part of an answer that rows are made from. */
export interface Answered {
  readonly result: Result
  readonly accuracy: Pick<AccuracyReport, 'halfWidth'> & { readonly confidence?: number }
  /** Reports the answer with another confidence; absent if it does not follow from noisy integers of its own. */
  readonly reportAt?: (confidence: number) => Report
  /** Returns the errors of the values as {@link MeasuredValue} has them, by the names of statistics; of the only one without. */
  readonly errorOf?: (statistic: string | undefined) => readonly WeightedNoise[] | undefined
}

type GroupLabels = Readonly<Record<string, CellLabel>>

/** What the rows of a statement have. */
export interface Shape {
  readonly groupings: readonly GroupingExpression[]
  readonly measures: readonly Measure[]
  readonly queries: readonly AssembledQuery[]
}

/**
 * Returns the groups of the answers to the queries of a statement, each with the aggregates in the order of `measures`.
 * @param isIncluded false for the groups to leave out
 */
export function groupsOf(
  answers: readonly Answered[],
  { groupings, measures, queries }: Shape,
  isIncluded: (key: GroupLabels) => boolean,
): readonly Group[] {
  const tables = queries.map((query, place) => tableOf(entry(answers, place), query, measures, isIncluded))
  const [first] = tables
  const sourceOf = measures.map((_, measure) => {
    const table = queries.findIndex(({ computes }) => computes.some((each) => each.measure === measure))
    const column = entry(queries, table).computes.findIndex((each) => each.measure === measure)
    return { table: entry(tables, table), column }
  })
  const { rows, alpha } = must(first, 'the answer to a statement')
  const kept: Group[] = []
  const all: Groups = { kept, declared: rows.length, alpha }
  for (const [row, { key }] of rows.entries())
    kept.push({
      keys: groupings.map(({ name, cellOf }) => cellOf(key[name] ?? null)),
      measured: sourceOf.map(({ table, column }) => table.valueAt(row, column)),
      all,
    })
  return kept
}

interface Row {
  readonly key: GroupLabels
  readonly values: readonly Pick<MeasuredValue, 'value' | 'halfWidth'>[]
}

/** The rows of one answer. All answers to a statement have the same groups in the same order. */
interface Table {
  readonly rows: readonly Row[]
  readonly alpha: number
  readonly valueAt: (row: number, column: number) => MeasuredValue
}

function tableOf(
  answered: Answered,
  { computes }: AssembledQuery,
  measures: readonly Measure[],
  isIncluded: (key: GroupLabels) => boolean,
): Table {
  const computed = computes.map(({ measure, statistic }) => ({
    measure: entry(measures, measure),
    statistic,
  }))
  const rowsOf = (report: Pick<Report, 'result'> & Pick<Answered, 'accuracy'>) =>
    rowsOfResult(report, computed).filter(({ key }) => isIncluded(key))
  const rows = rowsOf(answered)
  const { reportAt, errorOf, accuracy } = answered
  const errors = computes.map(({ statistic }) => errorOf?.(statistic))
  const alpha = 1 - (accuracy.confidence ?? DEFAULT_CONFIDENCE)
  const rowsAmong = reportAt && memoized((parts: number) => rowsOf(reportAt(1 - alpha / parts)))
  return {
    rows,
    alpha,
    valueAt: (row, column) => {
      const stated = entry(entry(rows, row).values, column)
      const among = (parts: number) =>
        parts <= 1 ? stated.halfWidth : (rowsAmong?.(parts)[row]?.values[column]?.halfWidth ?? null)
      return defined({ ...stated, among, error: errors[column] })
    },
  }
}

interface ComputedMeasure {
  readonly measure: Measure
  readonly statistic: string | undefined
}

const WITHOUT_GROUPS: GroupLabels = {}

function rowsOfResult(
  { result, accuracy: { halfWidth } }: Pick<Report, 'result'> & Pick<Answered, 'accuracy'>,
  measures: readonly ComputedMeasure[],
): readonly Row[] {
  if ('value' in result) return [{ key: WITHOUT_GROUPS, values: [{ value: result.value, halfWidth }] }]
  if ('cells' in result)
    return result.cells.map(({ key, value }) => ({ key, values: [{ value, halfWidth }] }))
  if ('groups' in result)
    return result.groups.map(({ key, values }) => ({
      key,
      values: measures.map(({ statistic }) => must(values[must(statistic, STATISTIC)], STATISTIC)),
    }))
  if ('percentiles' in result) {
    const { percentiles } = result
    const values = measures.map(({ measure }) => {
      const found = percentiles.find(({ p }) => measure.kind === 'percentile' && p === measure.p)
      return { value: must(found, STATISTIC).value, halfWidth }
    })
    return [{ key: WITHOUT_GROUPS, values }]
  }
  if ('intercept' in result) {
    const { intercept, coefficients } = result
    const values = measures.map(({ measure }) => {
      const ofIntercept = measure.kind === 'linearRegression' && measure.part === 'intercept'
      const { value, halfWidth: own } = ofIntercept ? intercept : must(coefficients[0], STATISTIC)
      return { value, halfWidth: own }
    })
    return [{ key: WITHOUT_GROUPS, values }]
  }
  throw new RangeError('statements never ask for a selection')
}

const STATISTIC = 'a statistic of the statement'

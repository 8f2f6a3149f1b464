import { statisticName } from '../../core/planner/kinds/group-by/statistics.ts'
import type { CellLabel } from '../../core/planner/language/grouping.ts'
import type { AccuracyReport, Result } from '../../core/planner/report-kinds.ts'
import { entry, must } from '../../privacy/must.ts'
import type { Cell, CellType, GroupingExpression } from './grouping.ts'
import { type Measure, statisticOf } from './measures.ts'

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
  readonly accuracy: Pick<AccuracyReport, 'halfWidth'>
}

/** A noisy value, and its half-width if it is known. */
export interface MeasuredValue {
  readonly value: Cell
  readonly halfWidth: number | null
}

/** One group: the values by which it is grouped, and the values of the aggregates. */
export interface Group {
  readonly keys: readonly Cell[]
  readonly measured: readonly MeasuredValue[]
}

type GroupLabels = Readonly<Record<string, CellLabel>>

/**
 * Returns the groups of an answer, each with the aggregates in the order of `measures`.
 * @param isIncluded false for the groups to leave out
 */
export function groupsOf(
  { result, accuracy: { halfWidth } }: Answered,
  groupings: readonly GroupingExpression[],
  measures: readonly Measure[],
  isIncluded: (key: GroupLabels) => boolean,
): readonly Group[] {
  const keysIn = (key: GroupLabels) => groupings.map(({ name, cellOf }) => cellOf(key[name] ?? null))
  if ('value' in result) return [{ keys: [], measured: [{ value: result.value, halfWidth }] }]
  if ('cells' in result)
    return result.cells
      .filter(({ key }) => isIncluded(key))
      .map(({ key, value }) => ({ keys: keysIn(key), measured: [{ value, halfWidth }] }))
  if ('groups' in result) {
    const names = measures.map((measure) => {
      const statistic = statisticOf(measure)
      if (statistic === undefined) throw new RangeError('groups have no such statistic')
      return statisticName(statistic)
    })
    return result.groups
      .filter(({ key }) => isIncluded(key))
      .map(({ key, values }) => ({
        keys: keysIn(key),
        measured: names.map((name) => must(values[name], STATISTIC)),
      }))
  }
  if ('percentiles' in result) {
    const { percentiles } = result
    const measured = measures.map((measure) => {
      const found = percentiles.find(({ p }) => measure.kind === 'percentile' && p === measure.p)
      return { value: must(found, STATISTIC).value, halfWidth }
    })
    return [{ keys: [], measured }]
  }
  if ('intercept' in result) {
    const { intercept, coefficients } = result
    const measured = measures.map((measure) => {
      const ofIntercept = measure.kind === 'linearRegression' && measure.part === 'intercept'
      const { value, halfWidth: own } = ofIntercept ? intercept : must(coefficients[0], STATISTIC)
      return { value, halfWidth: own }
    })
    return [{ keys: [], measured }]
  }
  if ('keys' in result) {
    return result.keys.map(({ key, count }) => ({
      keys: keysIn({ [entry(groupings, 0).name]: key }),
      measured: [{ value: count ?? null, halfWidth }],
    }))
  }
  throw new RangeError('statements never ask for a selection')
}

const STATISTIC = 'a statistic of the statement'

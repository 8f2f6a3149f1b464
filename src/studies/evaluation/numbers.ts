import { type GridValue, shownValue } from '../../core/dataset/grid-value.ts'
import type { AdditivePlan } from '../../core/planner/additive/shape.ts'
import { cellCount } from '../../core/planner/language/aggregate.ts'
import type { IndexCounts } from '../../core/planner/language/reading.ts'
import { cellsOf } from '../../core/planner/language/tables.ts'
import type { CumulativePlan } from '../../core/planner/plans/cumulative.ts'
import type { GroupsPlan } from '../../core/planner/plans/groups.ts'
import type { MarginalsPlan } from '../../core/planner/plans/marginals.ts'
import type { PlanOf } from '../../core/planner/plans/plan-kinds.ts'
import type { QuantilePlan } from '../../core/planner/plans/quantile.ts'
import { measuredReporter, reporter } from '../../core/planner/report.ts'
import { cellsIn } from '../../core/workloads/column-sets.ts'
import { entry } from '../../privacy/must.ts'
import { charactersOf, type EvaluationCost, type EvaluationSize } from './limits.ts'
import { finiteOrNull, moments } from './moments.ts'
import type { Accumulator, EvaluatedNumbers } from './report.ts'
import { answerNumbers, numberNames, type TrueAnswer, type TrueNumber, type Truths } from './truth.ts'

/** Characters, without its name, of one number or total in the report and in a run that is shown. */
const NUMBER_CHARACTERS = 700
const SHOWN_NUMBER_CHARACTERS = 250

export function costOfEstimates(plan: AdditivePlan): EvaluationCost {
  const { aggregate, measurements, estimates } = plan
  return {
    work: cellCount(aggregate) * (measurements.length + workOfEstimates(estimates)),
    ...charactersOfNumbers(plan, estimates.length),
  }
}

/** A regression bounds the error of each of its equations several times. */
function workOfEstimates(estimates: AdditivePlan['estimates']): number {
  const isRegression = estimates.some(({ kind }) => kind === 'coefficient')
  return (isRegression ? REGRESSION_WORK : 2) * estimates.length
}

const REGRESSION_WORK = 80

export function costOfQuantiles(plan: QuantilePlan, values: IndexCounts | undefined): EvaluationCost {
  return {
    // For each value a score is computed, which takes far less time than drawing a number.
    work: plan.measurements.length * (10 + (values?.indexes.length ?? 0) / 5),
    ...charactersOfNumbers(plan, 1),
  }
}

export function costOfGroups(
  plan: GroupsPlan,
  values: readonly (readonly IndexCounts[])[] | undefined,
): EvaluationCost {
  const { sums, quantiles, groupings, query } = plan
  const cells = cellsOf(groupings)
  const counted = values?.flat().reduce((sum, { indexes }) => sum + indexes.length, 0) ?? 0
  return {
    work: (sums === undefined ? 0 : costOfEstimates(sums).work) + 10 * cells * quantiles.length + counted / 5,
    ...charactersOfNumbers(plan, query.statistics.length),
  }
}

export function costOfTables(plan: MarginalsPlan): EvaluationCost {
  const { reconstruction, tables, maxCells } = plan
  const { measured, sizes } = reconstruction
  const cells = tables.reduce((sum, table) => sum + table.cells, 0)
  // An answer without its tables has no numbers to compare.
  if (cells > maxCells) return { work: Number.POSITIVE_INFINITY, characters: 0, shownCharacters: 0 }
  const drawn = measured.reduce((sum, set) => sum + cellsIn(set, sizes), 0)
  return { work: 4 * (cells + drawn), ...charactersOfNumbers(plan, 1) }
}

export function costOfCurve(plan: CumulativePlan): EvaluationCost {
  return { work: 8 * plan.cells.spans.length, ...charactersOfNumbers(plan, 1) }
}

function charactersOfNumbers(plan: PlanOf<NumbersKind>, totals: number): Omit<EvaluationCost, 'work'> {
  const names = numberNames(plan)
  const nameCharacters = names.reduce((sum, name) => sum + charactersOf(name), 0)
  const entries = names.length + totals
  return {
    characters: nameCharacters + entries * NUMBER_CHARACTERS,
    shownCharacters: nameCharacters + entries * SHOWN_NUMBER_CHARACTERS,
  }
}

/** The plan of all counts from which a query for the largest groups selects. */
export function everyGroup(plan: AdditivePlan): AdditivePlan {
  return plan.shown.kind === 'cells' ? { ...plan, shown: { kind: 'cells' } } : plan
}

type ShownRun = EvaluatedNumbers['shown'][number]

/** Kinds of plans whose answers are numbers. */
export type NumbersKind = 'additive' | 'groups' | 'quantile' | 'marginals' | 'cumulative'

/**
 * Accumulates the errors of the numbers of an answer, as they are published.
 * @param unbounded their truths without the contribution bounds of the query
 */
export function accumulateNumbers<Kind extends NumbersKind>(
  plan: PlanOf<Kind>,
  { runs, shown }: EvaluationSize,
  { numbers, rankErrorRows }: TrueAnswer,
  unbounded: Truths | undefined,
): Accumulator<Kind> {
  const [published, measured] = [reporter(plan), measuredReporter(plan)]
  const truths = Float64Array.from(numbers, ({ truth }) => truth ?? Number.NaN)
  const errors = moments(numbers.length)
  const absoluteErrors = moments(numbers.length)
  const rankErrors = moments(rankErrorRows === undefined ? 0 : numbers.length)
  const ranked = numbers.map((_, position) => rankErrorRows?.(position, 0) !== undefined)
  const covered = new Float64Array(numbers.length)
  const sets = totalSets(plan, numbers)
  const totals = moments(sets.length)
  const shownRuns: ShownRun[] = []
  return {
    add(released, run) {
      const showsRun = run < shown
      const values: ShownRun['values'][number][] = []
      const before = showsRun ? answerNumbers(measured(released)) : []
      const sums = Float64Array.from(sets, ({ initialSum }) => initialSum)
      for (const [position, { value, halfWidth }] of answerNumbers(published(released)).entries()) {
        const truth = entry(truths, position)
        const error = value - truth
        const absoluteError = Math.abs(error)
        const rankError = rankErrorRows?.(position, value)
        errors.add(position, error, run + 1)
        absoluteErrors.add(position, absoluteError, run + 1)
        if (rankError !== undefined) rankErrors.add(position, rankError, run + 1)
        if (halfWidth !== null && isWithin(rankError ?? absoluteError, halfWidth, truth))
          covered[position] = entry(covered, position) + 1
        const set = position % sets.length
        if (!Number.isNaN(truth)) sums[set] = entry(sums, set) + absoluteError
        if (!showsRun) continue
        values.push({
          ...numbers[position]?.name,
          truth: asShown(finiteOrNull(truth), numbers[position]),
          measured: asShown(finiteOrNull(entry(before, position).value), numbers[position]),
          noisy: asShown(finiteOrNull(value), numbers[position]),
          halfWidth,
          absoluteError: finiteOrNull(absoluteError),
          relativeError: relative(absoluteError / Math.abs(truth), numbers[position]),
          rankErrorRows: rankError,
        })
      }
      for (const [set, sum] of sums.entries()) totals.add(set, sum, run + 1)
      if (!showsRun) return
      const shownTotals = sets.map(({ name, sumOfTruths }, set) => ({
        ...name,
        totalAbsoluteError: finiteOrNull(entry(sums, set)),
        relativeTotalErrorPercent: finiteOrNull((100 * entry(sums, set)) / sumOfTruths),
      }))
      shownRuns.push({ values, totals: shownTotals })
    },
    evaluation: () => ({
      runs,
      confidence: plan.confidence,
      values: numbers.map((known, position) => {
        const meanAbsoluteError = absoluteErrors.figure(position, runs)
        const truth = entry(truths, position)
        return {
          ...known.name,
          truth: asShown(finiteOrNull(truth), known),
          boundingBias: unbounded && boundingBias(known, unbounded[position]),
          meanAbsoluteError: {
            ...meanAbsoluteError,
            theoretical: known.expectedAbsoluteError,
            theoreticalBound: known.expectedAbsoluteErrorBound,
          },
          meanRelativeError: relative((meanAbsoluteError.value ?? Number.NaN) / Math.abs(truth), known),
          bias: { ...errors.figure(position, runs), theoretical: known.unbiased ? 0 : null },
          standardDeviation: errors.deviation(position, runs),
          withinHalfWidth: Number.isNaN(truth) ? null : entry(covered, position) / runs,
          rankErrorRows: ranked[position] ? rankErrors.figure(position, runs) : undefined,
        }
      }),
      totals: sets.map(({ name, sumOfTruths, theoretical, theoreticalBound }, set) => {
        const figure = totals.figure(set, runs)
        const percent = (of: number | null) => finiteOrNull((100 * (of ?? Number.NaN)) / sumOfTruths)
        return {
          ...name,
          totalAbsoluteError: { ...figure, theoretical, theoreticalBound },
          relativeTotalErrorPercent: {
            value: percent(figure.value),
            standardError: percent(figure.standardError),
          },
        }
      }),
      shown: shownRuns,
    }),
  }
}

/** Truth over the bounded rows minus truth over all rows; null where one is missing, and for dates and timestamps. */
function boundingBias({ truth, temporal }: TrueNumber, unbounded: number | null | undefined): number | null {
  return temporal === undefined ? finiteOrNull((truth ?? Number.NaN) - (unbounded ?? Number.NaN)) : null
}

/** Returns a number as answers show it. */
function asShown(value: number | null, known: TrueNumber | undefined): GridValue | null {
  return value === null || known?.temporal === undefined ? value : shownValue(known.temporal, value)
}

/** Returns an error relative to the truth; null for dates and timestamps, which have no natural zero. */
function relative(error: number, known: TrueNumber | undefined): number | null {
  return known?.temporal === undefined ? finiteOrNull(error) : null
}

function statisticCount(plan: PlanOf<NumbersKind>): number {
  switch (plan.kind) {
    case 'additive':
      return plan.estimates.length
    case 'groups':
      return plan.query.statistics.length
    case 'quantile':
    case 'marginals':
    case 'cumulative':
      return 1
  }
}

/** Sets of numbers whose errors are added up: all numbers, or every n-th if a group has n statistics. */
function totalSets(plan: PlanOf<NumbersKind>, numbers: readonly TrueNumber[]) {
  const count = statisticCount(plan)
  return Array.from({ length: count }, (_, set) => {
    const members = numbers.filter(({ truth }, position) => position % count === set && truth !== null)
    const sumOf = (each: (member: TrueNumber) => number | null) =>
      members.reduce<number | null>(
        (sum, member) => {
          const part = each(member)
          return sum === null || part === null ? null : sum + part
        },
        members.length === 0 ? null : 0,
      )
    // Expected values add up whether or not the errors are independent.
    const theoretical = sumOf((member) => member.expectedAbsoluteError)
    const bound = sumOf((member) => member.expectedAbsoluteError ?? member.expectedAbsoluteErrorBound)
    return {
      name: { statistic: numbers[set]?.name.statistic },
      /** Initial value of a sum of errors: NaN if no member has a truth. */
      initialSum: members.length === 0 ? Number.NaN : 0,
      // Errors of dates and timestamps are not relative: the zero of these types is arbitrary.
      sumOfTruths: members.some(({ temporal }) => temporal !== undefined)
        ? Number.NaN
        : members.reduce((sum, { truth }) => sum + Math.abs(truth ?? 0), 0),
      theoretical,
      theoreticalBound: theoretical === null ? bound : null,
    }
  })
}

/** True if an error is within a half-width, allowing for the rounding of the doubles whose difference it is. */
function isWithin(error: number, halfWidth: number, truth: number): boolean {
  return error <= halfWidth + ROUNDING * (halfWidth + Math.abs(truth))
}

const ROUNDING = 16 * Number.EPSILON

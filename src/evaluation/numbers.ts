import type { AdditivePlan } from '../planner/kinds/additive.ts'
import type { QuantilePlan } from '../planner/kinds/quantile.ts'
import type { EvaluationSize } from './limits.ts'
import { finiteOrNull, moments } from './moments.ts'
import type { EvaluatedNumbers, ShownNumber } from './report.ts'
import type { Accumulator } from './tally.ts'
import { answerNumbers, type TrueNumber } from './truth.ts'

/**
 * @param rankErrorRows by how many rows the rank of a value is off; then it is the rank that the half-width is about.
 */
export function accumulateNumbers(
  plan: AdditivePlan | QuantilePlan,
  { runs, shown }: EvaluationSize,
  numbers: readonly TrueNumber[],
  rankErrorRows?: (position: number, value: number) => number,
): Accumulator {
  const truths = Float64Array.from(numbers, ({ truth }) => truth ?? Number.NaN)
  const errors = moments(numbers.length)
  const absoluteErrors = moments(numbers.length)
  const rankErrors = moments(rankErrorRows === undefined ? 0 : numbers.length)
  const covered = new Float64Array(numbers.length)
  const sets = totalSets(plan, numbers)
  const totals = moments(sets.length)
  const shownRuns: EvaluatedNumbers['shown'][number][] = []
  return {
    add(_released, answer, run) {
      const showsRun = run < shown
      const values: ShownNumber[] = []
      const sums = Float64Array.from(sets, ({ sumOfNone }) => sumOfNone)
      for (const [position, { value, halfWidth }] of answerNumbers(answer).entries()) {
        const truth = truths[position] ?? Number.NaN
        const error = value - truth
        const absoluteError = Math.abs(error)
        const rankError = rankErrorRows?.(position, value)
        errors.add(position, error, run + 1)
        absoluteErrors.add(position, absoluteError, run + 1)
        if (rankError !== undefined) rankErrors.add(position, rankError, run + 1)
        if (halfWidth !== null && isWithin(rankError ?? absoluteError, halfWidth, truth))
          covered[position] = (covered[position] ?? 0) + 1
        const set = position % sets.length
        if (!Number.isNaN(truth)) sums[set] = (sums[set] ?? 0) + absoluteError
        if (!showsRun) continue
        values.push({
          ...numbers[position]?.name,
          noisy: finiteOrNull(value),
          halfWidth,
          absoluteError: finiteOrNull(absoluteError),
          relativeError: finiteOrNull(absoluteError / Math.abs(truth)),
          ...(rankError === undefined ? {} : { rankErrorRows: rankError }),
        })
      }
      for (const [set, sum] of sums.entries()) totals.add(set, sum, run + 1)
      if (!showsRun) return
      const shownTotals = sets.map(({ name, sumOfTruths }, set) => ({
        ...name,
        totalAbsoluteError: finiteOrNull(sums[set] ?? Number.NaN),
        relativeTotalErrorPercent: finiteOrNull((100 * (sums[set] ?? Number.NaN)) / sumOfTruths),
      }))
      shownRuns.push({ values, totals: shownTotals })
    },
    evaluation: () => ({
      runs,
      confidence: plan.confidence,
      values: numbers.map((known, position) => {
        const meanAbsoluteError = absoluteErrors.figure(position, runs)
        const truth = truths[position] ?? Number.NaN
        return {
          ...known.name,
          truth: finiteOrNull(truth),
          meanAbsoluteError: {
            ...meanAbsoluteError,
            theoretical: known.expectedAbsoluteError,
            theoreticalBound: known.expectedAbsoluteErrorBound,
          },
          meanRelativeError: finiteOrNull((meanAbsoluteError.value ?? Number.NaN) / Math.abs(truth)),
          bias: { ...errors.figure(position, runs), theoretical: known.unbiased ? 0 : null },
          standardDeviation: errors.deviation(position, runs),
          withinHalfWidth: Number.isNaN(truth) ? null : (covered[position] ?? 0) / runs,
          ...(rankErrorRows === undefined ? {} : { rankErrorRows: rankErrors.figure(position, runs) }),
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

/** The numbers whose errors are added up: all, or every n-th where a group has n statistics. */
function totalSets(plan: AdditivePlan | QuantilePlan, numbers: readonly TrueNumber[]) {
  const count = plan.kind === 'additive' ? plan.estimates.length : 1
  return Array.from({ length: count }, (_, set) => {
    const members = numbers.filter(({ truth }, position) => position % count === set && truth !== null)
    const { statistic } = numbers[set]?.name ?? {}
    const sumOf = (each: (member: TrueNumber) => number | null) =>
      members.reduce<number | null>(
        (sum, member) => {
          const part = each(member)
          return sum === null || part === null ? null : sum + part
        },
        members.length === 0 ? null : 0,
      )
    // The expected value of a sum is the sum of the expected values, however they depend on each other.
    const theoretical = sumOf((member) => member.expectedAbsoluteError)
    const bound = sumOf((member) => member.expectedAbsoluteError ?? member.expectedAbsoluteErrorBound)
    return {
      name: statistic === undefined ? {} : { statistic },
      /** What the errors are added to. */
      sumOfNone: members.length === 0 ? Number.NaN : 0,
      sumOfTruths: members.reduce((sum, { truth }) => sum + Math.abs(truth ?? 0), 0),
      theoretical,
      theoreticalBound: theoretical === null ? bound : null,
    }
  })
}

/** Whether an error is within a half-width, but for the roundings of the doubles that it is a difference of. */
function isWithin(error: number, halfWidth: number, truth: number): boolean {
  return error <= halfWidth + ROUNDING * (halfWidth + Math.abs(truth))
}

const ROUNDING = 16 * Number.EPSILON

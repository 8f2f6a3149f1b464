import { noisyMaxGapAccuracy, type Selected } from '../../core/mechanisms/selection/noisy-max.ts'
import type { NoisyMaxPlan } from '../../core/planner/plans/noisy-max.ts'
import type { ExactAggregate } from '../../core/planner/plans/plan-kinds.ts'
import { accuracyReport, reporter } from '../../core/planner/report.ts'
import type { Result } from '../../core/planner/report-kinds.ts'
import { entry } from '../../privacy/must.ts'
import { charactersOf, type EvaluationCost, type EvaluationSize } from './limits.ts'
import { moments } from './moments.ts'
import type { Accumulator } from './report.ts'
import { noisyMaxMasses } from './selection-masses.ts'

type NoisyMaxScores = Extract<ExactAggregate, { kind: 'noisy-max' }>['scores']

/**
 * Characters, without its name, of one candidate in the report, of one gap, and of one candidate in a run that is
 * shown.
 */
const CANDIDATE_CHARACTERS = 160
const GAP_CHARACTERS = 300
const SHOWN_CANDIDATE_CHARACTERS = 80

/** The time for the winning probabilities of Laplace noise and permute-and-flip grows with a power of this number. */
const MAX_CANDIDATES_WITH_PROBABILITIES = 64

export function costOfCandidates({ candidates, measurement }: NoisyMaxPlan): EvaluationCost {
  const { k } = measurement
  const lengths = candidates.map(charactersOf)
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0)
  return {
    work: candidates.length * (1 + k / 15),
    characters: lengths.reduce((sum, length) => sum + length + CANDIDATE_CHARACTERS, 0) + k * GAP_CHARACTERS,
    shownCharacters: k * (longest + SHOWN_CANDIDATE_CHARACTERS),
  }
}

/** Counts how often each candidate is selected, and accumulates shortfalls of the selected and errors of the gaps. */
export function accumulateCandidates(
  plan: NoisyMaxPlan,
  { runs, shown }: EvaluationSize,
  scores: NoisyMaxScores,
): Accumulator<'noisy-max'> {
  const { measurement, candidates, confidence } = plan
  const rows = Float64Array.from(scores, Number)
  const bestAmong = bestOutside(rows)
  const halfWidth = accuracyReport(plan).halfWidth ?? 0
  const won = new Float64Array(candidates.length)
  const selectedTimes = new Float64Array(candidates.length)
  const shortfalls = moments(1)
  const gaps = measurement.gap ? accumulateGaps(plan, runs, rows) : undefined
  let covered = 0
  const shownRuns: Result[] = []
  const reportOf = reporter(plan)
  return {
    add(released, run) {
      const selected = released.selected.map(({ candidate }) => candidate)
      const [first = 0] = selected
      won[first] = entry(won, first) + 1
      for (const candidate of selected) selectedTimes[candidate] = entry(selectedTimes, candidate) + 1
      const best = bestAmong(selected)
      const shortfall = selected.reduce(
        (most, candidate, rank) => Math.max(most, entry(best, rank) - entry(rows, candidate)),
        0,
      )
      shortfalls.add(0, shortfall, run + 1)
      if (shortfall <= halfWidth) covered += 1
      gaps?.add(released.selected, best, run)
      if (run < shown) shownRuns.push(reportOf(released).result)
    },
    evaluation() {
      const masses =
        measurement.k === 1 && candidates.length <= MAX_CANDIDATES_WITH_PROBABILITIES
          ? noisyMaxMasses(measurement, scores)
          : []
      return {
        runs,
        confidence,
        candidates: candidates.map((candidate, position) => ({
          candidate,
          truth: entry(rows, position),
          won: entry(won, position),
          selected: entry(selectedTimes, position),
          probabilityToWin: masses[position] ?? null,
        })),
        shortfallRows: shortfalls.figure(0, runs),
        withinHalfWidth: covered / runs,
        gaps: gaps?.evaluation(),
        shown: shownRuns,
      }
    },
  }
}

/**
 * A function from selected candidates, best first, to the most rows of a candidate that is not among the first 0, 1, 2,
 * ... of them: one number more than there are selected, the last one -Infinity if no candidate is left.
 */
function bestOutside(rows: Float64Array): (selected: readonly number[]) => readonly number[] {
  const descending = Uint32Array.from(rows.keys()).sort((a, b) => entry(rows, b) - entry(rows, a))
  return (selected) => {
    const taken = new Set<number>()
    let best = 0
    return [undefined, ...selected].map((candidate) => {
      if (candidate !== undefined) taken.add(candidate)
      while (taken.has(descending[best] ?? -1)) best += 1
      return rows[descending[best] ?? -1] ?? Number.NEGATIVE_INFINITY
    })
  }
}

/**
 * Accumulates the errors of noisy gaps. The true gap of a selected candidate is its lead, in rows, over the candidate
 * selected next; that of the last one is its lead over the best candidate that was not selected. It is negative if
 * noise has changed the order.
 */
function accumulateGaps({ measurement, confidence }: NoisyMaxPlan, runs: number, rows: Float64Array) {
  const { k, fractionBits } = measurement
  const { halfWidth, expectedAbsoluteErrorBound } = noisyMaxGapAccuracy(measurement, confidence)
  const errors = moments(k)
  const absoluteErrors = moments(k)
  let covered = 0
  return {
    /** @param best as {@link bestOutside} gives it */
    add(selected: readonly Selected[], best: readonly number[], run: number): void {
      let largest = 0
      for (const [rank, { candidate, gap = 0n }] of selected.entries()) {
        const next = selected[rank + 1]?.candidate
        const rowsOfNext = next === undefined ? best[selected.length] : rows[next]
        const truth = entry(rows, candidate) - (rowsOfNext ?? Number.NaN)
        const error = Number(gap) / 2 ** fractionBits - truth
        errors.add(rank, error, run + 1)
        absoluteErrors.add(rank, Math.abs(error), run + 1)
        largest = Math.max(largest, Math.abs(error))
      }
      if (largest <= halfWidth) covered += 1
    },
    evaluation: () => ({
      halfWidth,
      withinHalfWidth: covered / runs,
      ranks: Array.from({ length: k }, (_, rank) => ({
        rank: rank + 1,
        meanAbsoluteError: {
          ...absoluteErrors.figure(rank, runs),
          theoretical: null,
          theoreticalBound: expectedAbsoluteErrorBound,
        },
        bias: errors.figure(rank, runs),
        standardDeviation: errors.deviation(rank, runs),
      })),
    }),
  }
}

import type { ExactAggregate } from '../answers/release.ts'
import { noisyMaxMasses } from '../mechanisms/noisy-max.ts'
import type { NoisyMaxPlan } from '../planner/kinds/noisy-max.ts'
import type { Result } from '../planner/report-kinds.ts'
import type { EvaluationSize } from './limits.ts'
import { moments } from './moments.ts'
import type { Accumulator } from './tally.ts'

/** How often each candidate was selected, and by how many rows the wrong ones fell short. */
export function accumulateCandidates(
  plan: NoisyMaxPlan,
  { runs, shown }: EvaluationSize,
  scores: NoisyMaxScores,
): Accumulator {
  const { measurement, candidates, confidence } = plan
  const rows = Float64Array.from(scores, Number)
  const descending = Uint32Array.from(rows.keys()).sort((a, b) => (rows[b] ?? 0) - (rows[a] ?? 0))
  const won = new Float64Array(candidates.length)
  const selectedTimes = new Float64Array(candidates.length)
  const shortfalls = moments(1)
  let covered = 0
  const shownRuns: Result[] = []
  const shortfallOf = (selected: readonly number[]): number => {
    const taken = new Set<number>()
    let [best, most] = [0, 0]
    for (const candidate of selected) {
      while (taken.has(descending[best] ?? -1)) best += 1
      most = Math.max(most, (rows[descending[best] ?? -1] ?? 0) - (rows[candidate] ?? 0))
      taken.add(candidate)
    }
    return most
  }
  return {
    add(released, { result, accuracy }, run) {
      if (released.kind !== 'noisy-max') throw new RangeError('a release is that of its plan')
      const selected = released.selected.map(({ candidate }) => candidate)
      const [first = 0] = selected
      won[first] = (won[first] ?? 0) + 1
      for (const candidate of selected) selectedTimes[candidate] = (selectedTimes[candidate] ?? 0) + 1
      const shortfall = shortfallOf(selected)
      shortfalls.add(0, shortfall, run + 1)
      if (shortfall <= (accuracy.halfWidth ?? 0)) covered += 1
      if (run < shown) shownRuns.push(result)
    },
    evaluation() {
      const masses =
        measurement.k === 1 && candidates.length <= MOST_CANDIDATES_WITH_PROBABILITIES
          ? noisyMaxMasses(measurement, scores)
          : []
      return {
        runs,
        confidence,
        candidates: candidates.map((candidate, position) => ({
          candidate,
          truth: rows[position] ?? 0,
          won: won[position] ?? 0,
          selected: selectedTimes[position] ?? 0,
          probabilityToWin: masses[position] ?? null,
        })),
        shortfallRows: shortfalls.figure(0, runs),
        withinHalfWidth: covered / runs,
        shown: shownRuns,
      }
    },
  }
}

type NoisyMaxScores = Extract<ExactAggregate, { kind: 'noisy-max' }>['scores']

/** The time for the probabilities of Laplace noise and of permute-and-flip grows with a power of the candidates. */
const MOST_CANDIDATES_WITH_PROBABILITIES = 64

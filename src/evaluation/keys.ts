import type { ExactAggregate } from '../answers/release.ts'
import { keepProbability } from '../mechanisms/key-selection.ts'
import type { KeySelectionPlan } from '../planner/kinds/key-selection.ts'
import type { Result } from '../planner/report-kinds.ts'
import { charactersOfKey, type EvaluationSize, MOST_CHARACTERS_OF_KEYS } from './limits.ts'
import { moments } from './moments.ts'
import type { Accumulator } from './tally.ts'

/** How often each key appeared, and how far off its counts were. */
export function accumulateKeys(
  plan: KeySelectionPlan,
  { runs, shown }: EvaluationSize,
  { texts, counts }: KeyTexts,
): Accumulator {
  const { measurement, query, confidence } = plan
  const reported = reportedKeys({ texts, counts })
  const places = new Map(reported.map(({ key }, place) => [key, place]))
  const appeared = new Float64Array(reported.length)
  const errors = moments(reported.length)
  const absoluteErrors = moments(reported.length)
  const shownRuns: Result[] = []
  return {
    add(_released, { result }, run) {
      if (!('keys' in result)) throw new RangeError('a report is that of its plan')
      for (const { key, count } of result.keys) {
        const place = places.get(key)
        if (place === undefined) continue
        const times = (appeared[place] ?? 0) + 1
        appeared[place] = times
        if (count === undefined) continue
        const error = count - (reported[place]?.rows ?? Number.NaN)
        errors.add(place, error, times)
        absoluteErrors.add(place, Math.abs(error), times)
      }
      if (run < shown) shownRuns.push(result)
    },
    evaluation: () => ({
      runs,
      confidence,
      keys: reported.map(({ key, rows }, place) => {
        const times = appeared[place] ?? 0
        const ofCounts = {
          meanAbsoluteError: absoluteErrors.figure(place, times),
          bias: errors.figure(place, times),
        }
        return {
          key,
          truth: rows,
          appeared: times,
          probabilityToAppear: keepProbability(measurement, rows),
          ...(query.counts ? ofCounts : {}),
        }
      }),
      distinctKeys: texts.length,
      shown: shownRuns,
    }),
  }
}

type KeyTexts = Extract<ExactAggregate, { kind: 'key-selection' }>['texts']

/** Of more keys than this only those with the most rows are reported, and of long ones fewer. */
const MOST_KEYS_REPORTED = 1_000

/** Keys and their rows, those of the most rows first, of equals in the order of the keys. */
function reportedKeys({ texts, counts }: KeyTexts): { readonly key: string; readonly rows: number }[] {
  const positions = Uint32Array.from(texts.keys()).sort(
    (a, b) => (counts[b] ?? 0) - (counts[a] ?? 0) || ((texts[a] ?? '') < (texts[b] ?? '') ? -1 : 1),
  )
  let room = MOST_CHARACTERS_OF_KEYS
  return Array.from(positions.subarray(0, MOST_KEYS_REPORTED), (position) => ({
    key: texts[position] ?? '',
    rows: counts[position] ?? 0,
  })).filter(({ key }) => {
    const length = charactersOfKey(key)
    if (length > room) return false
    room -= length
    return true
  })
}

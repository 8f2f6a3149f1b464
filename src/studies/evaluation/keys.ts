import { keepProbability } from '../../core/mechanisms/selection/key-selection.ts'
import type { KeySelectionPlan } from '../../core/planner/plans/key-selection.ts'
import type { ExactAggregate } from '../../core/planner/plans/plan-kinds.ts'
import { reporter } from '../../core/planner/report.ts'
import type { Result } from '../../core/planner/report-kinds.ts'
import { entry } from '../../privacy/must.ts'
import { charactersOf, type EvaluationCost, type EvaluationSize } from './limits.ts'
import { moments } from './moments.ts'
import type { Accumulator } from './report.ts'

type KeyTexts = Extract<ExactAggregate, { kind: 'key-selection' }>['texts']

/** Characters, without the key itself, of one key in the report and in a run that is shown. */
const KEY_CHARACTERS = 400
const SHOWN_KEY_CHARACTERS = 50

/** Maximum number of keys that are reported: those with the most rows. */
const MAX_REPORTED_KEYS = 1_000

/** @param keyCharacters the most characters of the keys that are reported */
export function costOfKeys(
  { maxCharacters }: KeySelectionPlan,
  keys: KeyTexts | undefined,
  keyCharacters: number,
): EvaluationCost {
  const texts = keys?.texts ?? []
  const shownCharacters = texts.reduce((sum, text) => sum + charactersOf(text) + SHOWN_KEY_CHARACTERS, 1)
  return {
    work: 10 + 1.5 * texts.length,
    characters: keyCharacters,
    shownCharacters: Math.min(shownCharacters, maxCharacters),
  }
}

/**
 * Counts how often each key appears, and accumulates the errors of its counts.
 * @param keyCharacters the most characters of the keys that are reported
 */
export function accumulateKeys(
  plan: KeySelectionPlan,
  { runs, shown }: EvaluationSize,
  keys: KeyTexts,
  keyCharacters: number,
): Accumulator<'key-selection'> {
  const { measurement, query, confidence } = plan
  const reported = reportedKeys(keys, keyCharacters)
  const places = new Map(reported.map(({ key }, place) => [key, place]))
  const appeared = new Float64Array(reported.length)
  const errors = moments(reported.length)
  const absoluteErrors = moments(reported.length)
  const shownRuns: Result[] = []
  const reportOf = reporter(plan)
  return {
    add(released, run) {
      const { result } = reportOf(released)
      if (!('keys' in result)) throw new RangeError('the answer has no keys')
      for (const { key, count } of result.keys) {
        const place = places.get(key)
        if (place === undefined) continue
        const times = entry(appeared, place) + 1
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
        const times = entry(appeared, place)
        return {
          key,
          truth: rows,
          appeared: times,
          probabilityToAppear: keepProbability(measurement, rows),
          meanAbsoluteError: query.counts ? absoluteErrors.figure(place, times) : undefined,
          bias: query.counts ? errors.figure(place, times) : undefined,
        }
      }),
      distinctKeys: keys.texts.length,
      shown: shownRuns,
    }),
  }
}

/**
 * Keys with their rows, largest count first and equal counts in the order of the keys. Keys that do not fit are left
 * out.
 */
function reportedKeys(
  { texts, counts }: KeyTexts,
  keyCharacters: number,
): { readonly key: string; readonly rows: number }[] {
  const positions = Uint32Array.from(texts.keys()).sort(
    (a, b) => entry(counts, b) - entry(counts, a) || (entry(texts, a) < entry(texts, b) ? -1 : 1),
  )
  let charactersLeft = keyCharacters
  return Array.from(positions.subarray(0, MAX_REPORTED_KEYS), (position) => ({
    key: entry(texts, position),
    rows: entry(counts, position),
  })).filter(({ key }) => {
    const characters = charactersOf(key) + KEY_CHARACTERS
    if (characters > charactersLeft) return false
    charactersLeft -= characters
    return true
  })
}

import type { ExactAggregate } from '../answers/release.ts'
import { cellCount } from '../planner/aggregate.ts'
import type { Plan } from '../planner/plan-kinds.ts'
import { refuseField } from '../privacy/refusal.ts'
import { numberNames } from './truth.ts'

/** The most runs of one evaluation. */
export const MAX_RUNS = 100_000
/** The most runs that are shown in full. */
export const MAX_SHOWN = 100

/** What is asked of an evaluation. */
export interface EvaluationSize {
  /** 1 to {@link MAX_RUNS}, whole. */
  readonly runs: number
  /** How many of the first runs to show in full: 0 to {@link MAX_SHOWN}, whole. */
  readonly shown: number
}

/**
 * The most work of one evaluation, where one unit is a number that is drawn, or made from numbers drawn, and compared:
 * about a minute, of the slowest.
 */
export const MAX_WORK = 60_000_000

/** How many characters an evaluation may have: it is put together in memory. */
const MOST_CHARACTERS = 20_000_000
/** How many of these are for the keys that are reported; the rest is for the runs that are shown. */
export const MOST_CHARACTERS_OF_KEYS = MOST_CHARACTERS / 2
/** What the report has of one number, candidate or key beside its name, and what each run that is shown adds. */
const NUMBER_CHARACTERS = 700
const SHOWN_NUMBER_CHARACTERS = 200
const CANDIDATE_CHARACTERS = 160
const SHOWN_CANDIDATE_CHARACTERS = 80
const KEY_CHARACTERS = 400
const SHOWN_KEY_CHARACTERS = 50

/**
 * Whether an evaluation is small enough to be made. Before anything is read it is decided by what is public; once the data
 * was read, by how many values or keys there are as well.
 *
 * @throws Refusal `invalid-request` of `runs` or `shown`, telling how many fit; `query-does-not-fit` of `query` where not
 * even the truths do.
 */
export function requireEvaluationLimits(
  plan: Plan,
  { runs, shown }: EvaluationSize,
  exact?: ExactAggregate,
): void {
  requireWhole('runs', runs, 1, MAX_RUNS)
  requireWhole('shown', shown, 0, MAX_SHOWN)
  const mostRuns = Math.max(1, Math.floor(MAX_WORK / workOf(plan, exact)))
  if (runs > mostRuns)
    throw refuseField('invalid-request', 'runs', `must be at most ${mostRuns} for this query`)
  const { fixed, perShown } = charactersOfReport(plan, exact)
  if (fixed > MOST_CHARACTERS) {
    const rule = 'has too many cells, or too long names, for the errors of each to be reported'
    throw refuseField('query-does-not-fit', 'query', rule)
  }
  const mostShown = Math.floor((MOST_CHARACTERS - fixed) / perShown)
  if (shown > mostShown)
    throw refuseField('invalid-request', 'shown', `must be at most ${mostShown} for this query`)
}

function requireWhole(field: 'runs' | 'shown', value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return
  throw refuseField('invalid-request', field, `must be a whole number from ${least} to ${most}`)
}

/** One run's part of {@link MAX_WORK}. */
function workOf(plan: Plan, exact: ExactAggregate | undefined): number {
  switch (plan.kind) {
    case 'additive':
      return cellCount(plan.aggregate) * (plan.measurements.length + 2 * plan.estimates.length)
    case 'noisy-max':
      return plan.candidates.length * (1 + plan.measurement.k / 15)
    case 'quantile': {
      const values = exact?.kind === 'quantile' ? exact.values.indexes.length : 0
      // Distances of values are worked out, which is much quicker than to draw.
      return plan.measurements.length * (10 + values / 5)
    }
    case 'key-selection':
      return 10 + 1.5 * (exact?.kind === 'key-selection' ? exact.texts.texts.length : 0)
  }
}

/** At the most. */
function charactersOfReport(
  plan: Plan,
  exact: ExactAggregate | undefined,
): { readonly fixed: number; readonly perShown: number } {
  switch (plan.kind) {
    case 'additive':
    case 'quantile': {
      const names = numberNames(plan)
      const characters = names.reduce((sum, name) => sum + charactersOf(name), 0)
      // Totals have as much as numbers.
      const numbers = names.length + (plan.kind === 'additive' ? plan.estimates.length : 1)
      return {
        fixed: characters + numbers * NUMBER_CHARACTERS,
        perShown: characters + numbers * SHOWN_NUMBER_CHARACTERS,
      }
    }
    case 'noisy-max': {
      const lengths = plan.candidates.map(charactersOf)
      return {
        fixed: lengths.reduce((sum, length) => sum + length + CANDIDATE_CHARACTERS, 0),
        perShown:
          plan.measurement.k *
          (lengths.reduce((longest, length) => Math.max(longest, length), 0) + SHOWN_CANDIDATE_CHARACTERS),
      }
    }
    case 'key-selection': {
      const texts = exact?.kind === 'key-selection' ? exact.texts.texts : []
      const longest = texts.reduce((sum, text) => sum + charactersOf(text) + SHOWN_KEY_CHARACTERS, 1)
      return { fixed: MOST_CHARACTERS_OF_KEYS, perShown: Math.min(longest, plan.maxCharacters) }
    }
  }
}

/** What the report has of one key. */
export function charactersOfKey(key: string): number {
  return charactersOf(key) + KEY_CHARACTERS
}

function charactersOf(value: unknown): number {
  return JSON.stringify(value).length
}

import { refuseField } from '../../privacy/refusal.ts'

/**
 * Maximum work of one evaluation. A unit is one number that is drawn, or computed from drawn numbers, and compared with
 * its truth. The slowest kinds of query take about a minute for all of it.
 */
export const MAX_WORK = 60_000_000
/** Maximum length of the report, which is assembled in memory. */
export const MAX_CHARACTERS = 20_000_000

/** The requested size of an evaluation. */
export interface EvaluationSize {
  readonly runs: number
  /** Number of runs that are shown in full, from the first. */
  readonly shown: number
}

/** Upper bounds on the work and size of the evaluation of one plan. */
export interface EvaluationCost {
  /** Work of one run, as a part of {@link MAX_WORK}. */
  readonly work: number
  /** Characters of the report without the runs that are shown. */
  readonly characters: number
  /** Characters that each run shown in full adds. */
  readonly shownCharacters: number
}

/**
 * Characters for the keys reported of one selection of keys, when this many queries are evaluated together. Half of
 * {@link MAX_CHARACTERS} is reserved for keys, and the rest for everything else, including the runs that are shown.
 */
export function maxKeyCharacters(queries: number): number {
  return Math.floor(MAX_CHARACTERS / 2 / queries)
}

/** Characters of a value in the report. */
export function charactersOf(value: unknown): number {
  return JSON.stringify(value).length
}

/**
 * Checks the size of an evaluation against all limits. Several queries that are evaluated together share them.
 *
 * @param costs one for each query
 * @param field the field of the request that holds the evaluated query or queries
 * @throws Refusal `invalid-request` for `runs` or `shown`, with the largest value that fits; `query-does-not-fit` for `field`
 * if the report is too long even without any run.
 */
export function requireEvaluationLimits(
  costs: readonly EvaluationCost[],
  { runs, shown }: EvaluationSize,
  field: 'query' | 'queries' = 'query',
): void {
  const sumOf = (part: keyof EvaluationCost) => costs.reduce((sum, cost) => sum + cost[part], 0)
  const evaluated = field === 'query' ? 'this query' : 'these queries'

  const mostRuns = Math.floor(MAX_WORK / sumOf('work'))
  if (mostRuns < 1) throw refuseField('query-does-not-fit', field, 'would take too long for a single run')
  if (runs > mostRuns)
    throw refuseField('invalid-request', 'runs', `must be at most ${mostRuns} for ${evaluated}`)

  const characters = sumOf('characters')
  if (characters > MAX_CHARACTERS) {
    const rule = 'has too many cells or names that are too long for a report of all errors'
    throw refuseField('query-does-not-fit', field, rule)
  }
  const mostShown = Math.floor((MAX_CHARACTERS - characters) / sumOf('shownCharacters'))
  if (shown > mostShown)
    throw refuseField('invalid-request', 'shown', `must be at most ${mostShown} for ${evaluated}`)
}

import type { Dataset } from './catalog/dataset.ts'
import { keepProbability } from './mechanisms/key-selection.ts'
import { noisyMaxMasses } from './mechanisms/noisy-max.ts'
import type { UniformSource } from './mechanisms/uniform-source.ts'
import { cellCount } from './planner/aggregate.ts'
import type { CellLabel } from './planner/grouping.ts'
import type {
  EstimatePlan,
  KeySelectionPlan,
  NoisyMaxPlan,
  Plan,
  QuantilePlan,
} from './planner/plan-kinds.ts'
import { report } from './planner/report.ts'
import type { Released, Report, Result } from './planner/report-kinds.ts'
import {
  answerNumbers,
  type NumberName,
  numberNames,
  type TrueNumber,
  trueEstimates,
  trueQuantiles,
} from './planner/truth.ts'
import { Refusal, refuseField } from './privacy/refusal.ts'
import { type Exact, letOut } from './release.ts'

/*
 * How far off the answers to a query are: it is answered many times over made-up people, and every answer is compared
 * with the truth. Nothing is charged, because nobody is protected; the answers are those that a charge would buy, noise,
 * post-processing and all. Of the runs only sums are kept, so that a hundred thousand take no more room than one.
 */

/** The most runs of one evaluation. */
export const MAX_RUNS = 100_000
/** The most runs that are shown in full. */
export const MAX_SHOWN = 100

/** A mean over runs. Null where there is no such number: no truth, no runs, a standard error of one run. */
export interface Figure {
  readonly value: number | null
  readonly standardError: number | null
}

/** A mean absolute error, and what the mechanism was expected to err by before any post-processing. */
export interface AbsoluteErrorFigure extends Figure {
  /** Null where only a bound is known, or nothing. */
  readonly theoretical: number | null
  /** At most so much, with as many rows as there are: of what is made from several noisy parts. Otherwise null. */
  readonly theoreticalBound: number | null
}

/** One number of the answer, over all runs. */
export interface EvaluatedNumber extends NumberName {
  /** Without noise and without post-processing; null for what no row has a part in, such as the mean of no rows. */
  readonly truth: number | null
  readonly meanAbsoluteError: AbsoluteErrorFigure
  /** In parts of the truth; null where that is 0. */
  readonly meanRelativeError: number | null
  /** The mean of noisy value less truth. */
  readonly bias: Figure & {
    /** 0 for what is known to be unbiased; null for what is cut, rounded or a quotient. */
    readonly theoretical: 0 | null
  }
  readonly standardDeviation: number | null
  /** The share of the runs in which the error was within the stated half-width: of a quantile, that of its rank. */
  readonly withinHalfWidth: number | null
  /** Of quantiles: by how many rows the rank was off. */
  readonly rankErrorRows?: Figure
}

/** One number of one answer. */
export interface ShownNumber extends NumberName {
  readonly noisy: number | null
  readonly absoluteError: number | null
  /** In parts of the truth; null where that is 0. */
  readonly relativeError: number | null
  readonly rankErrorRows?: number
}

/** Errors of numbers in one unit, added up (L1). A number without a truth is left out. */
export interface EvaluatedTotal {
  /** Of groups, whose statistics have units of their own: which one. */
  readonly statistic?: string
  readonly column?: string
  readonly totalAbsoluteError: AbsoluteErrorFigure
  /** 100 sum |noisy - truth| / sum |truth|; null where all truths are 0. */
  readonly relativeTotalErrorPercent: Figure
}

/** As {@link EvaluatedTotal}, of one answer. */
export interface ShownTotal {
  readonly statistic?: string
  readonly column?: string
  readonly totalAbsoluteError: number | null
  readonly relativeTotalErrorPercent: number | null
}

/** Of an answer made of numbers. */
export interface EvaluatedNumbers {
  readonly runs: number
  /** Of the stated half-widths. */
  readonly confidence: number
  readonly values: readonly EvaluatedNumber[]
  /** One, but for groups one for each statistic. */
  readonly totals: readonly EvaluatedTotal[]
  /** The first runs. */
  readonly shown: readonly {
    readonly values: readonly ShownNumber[]
    readonly totals: readonly ShownTotal[]
  }[]
}

/** Of a selection among candidates. */
export interface EvaluatedCandidates {
  readonly runs: number
  readonly confidence: number
  /** In the declared order. */
  readonly candidates: readonly {
    readonly candidate: CellLabel
    /** Its rows. */
    readonly truth: number
    /** In how many runs it was the first. */
    readonly won: number
    /** In how many it was among those selected. */
    readonly selected: number
    /** To be the first, by the mechanism's law; null where several are selected, or there are many candidates. */
    readonly probabilityToWin: number | null
  }[]
  /** How many rows fewer one of those selected had than the best that was left: the most of any, in each run. */
  readonly shortfallRows: Figure
  /** The share of the runs in which that was within the stated half-width. */
  readonly withinHalfWidth: number
  /** The results of the first runs. */
  readonly shown: readonly Result[]
}

/** Of a selection of keys. */
export interface EvaluatedKeys {
  readonly runs: number
  readonly confidence: number
  /** Those of the most rows, the most first. */
  readonly keys: readonly {
    readonly key: string
    /** Its rows. */
    readonly truth: number
    /** In how many runs it appeared. */
    readonly appeared: number
    /** In one run, by the mechanism's law, before an answer of too many keys is cut off. */
    readonly probabilityToAppear: number
    /** Of noisy counts, over the runs in which it appeared. */
    readonly meanAbsoluteError?: Figure
    readonly bias?: Figure
  }[]
  /** How many there are, with those that are not reported. */
  readonly distinctKeys: number
  /** The results of the first runs. */
  readonly shown: readonly Result[]
}

/** What an evaluation found. Every number is finite. */
export type Evaluation = EvaluatedNumbers | EvaluatedCandidates | EvaluatedKeys

/** What is asked of an evaluation. */
export interface Extent {
  /** 1 to {@link MAX_RUNS}, whole. */
  readonly runs: number
  /** How many of the first runs to show in full: 0 to {@link MAX_SHOWN}, whole. */
  readonly shown: number
}

/** What {@link evaluate} needs. */
export interface EvaluationOptions extends Extent {
  readonly noiseSource: UniformSource
  /** Told how many runs are done, at most about ten times a second. */
  readonly onProgress?: (runsDone: number) => void
  /** In milliseconds, from anywhere. */
  readonly nowMs?: () => number
}

/**
 * @throws Refusal `not-synthetic` for any dataset whose people are not made up, whoever asks: its truths and unpaid
 * releases are nobody's to see.
 */
export function requireSynthetic({ id, synthetic }: Dataset): void {
  if (synthetic) return
  const detail = `The dataset ${id} is not synthetic: answers about it leave only as releases that are paid for.`
  throw new Refusal('not-synthetic', detail)
}

/**
 * Answer a plan many times and compare the answers with the truth. It keeps a processor busy until it is done, and yields
 * now and then: it is for a thread of its own, which the plan and what was read can be handed to.
 *
 * @param exact what was read for the plan.
 * @throws Refusal as {@link requireExtent}, for what was read too; and whatever the source of randomness throws.
 */
export async function evaluate(plan: Plan, exact: Exact, options: EvaluationOptions): Promise<Evaluation> {
  requireExtent(plan, options, exact)
  const { runs, noiseSource, onProgress, nowMs = () => performance.now() } = options
  const tally = tallyOf(plan, exact, options)
  let reportedMs = nowMs()
  for (let run = 0; run < runs; run += 1) {
    const released = await letOut(plan, exact, noiseSource)
    tally.add(released, report(plan, released), run)
    const currentMs = nowMs()
    if (currentMs - reportedMs < PROGRESS_INTERVAL_MS) continue
    reportedMs = currentMs
    onProgress?.(run + 1)
  }
  return tally.evaluation()
}

const PROGRESS_INTERVAL_MS = 100

/** Sums over the runs so far. */
interface Tally {
  /** @param run how many were added before. */
  readonly add: (released: Released, answer: Report, run: number) => void
  readonly evaluation: () => Evaluation
}

function tallyOf(plan: Plan, exact: Exact, extent: Extent): Tally {
  if (plan.release === 'estimates' && exact.release === 'estimates')
    return tallyNumbers(plan, extent, trueEstimates(plan, exact.integers))
  if (plan.release === 'quantiles' && exact.release === 'quantiles') {
    const { numbers, rankErrorRows } = trueQuantiles(plan, exact.values)
    return tallyNumbers(plan, extent, numbers, rankErrorRows)
  }
  if (plan.release === 'noisy-max' && exact.release === 'noisy-max')
    return tallyCandidates(plan, extent, exact.scores)
  if (plan.release === 'key-selection' && exact.release === 'key-selection')
    return tallyKeys(plan, extent, exact.texts)
  throw new RangeError('what was read is not what the plan asks for')
}

/**
 * @param rankErrorRows by how many rows the rank of a value is off; then it is the rank that the half-width is about.
 */
function tallyNumbers(
  plan: EstimatePlan | QuantilePlan,
  { runs, shown }: Extent,
  numbers: readonly TrueNumber[],
  rankErrorRows?: (position: number, value: number) => number,
): Tally {
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
function totalSets(plan: EstimatePlan | QuantilePlan, numbers: readonly TrueNumber[]) {
  const count = plan.release === 'estimates' ? plan.estimates.length : 1
  return Array.from({ length: count }, (_, set) => {
    const members = numbers.filter(({ truth }, position) => position % count === set && truth !== null)
    const { statistic, column } = numbers[set]?.name ?? {}
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
      name: {
        ...(statistic === undefined ? {} : { statistic }),
        ...(column === undefined ? {} : { column }),
      },
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

function tallyCandidates(plan: NoisyMaxPlan, { runs, shown }: Extent, scores: NoisyMaxScores): Tally {
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
      if (released.release !== 'noisy-max') throw new RangeError('a release is that of its plan')
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

type NoisyMaxScores = Extract<Exact, { release: 'noisy-max' }>['scores']

/** The time for the probabilities of Laplace noise and of permute-and-flip grows with a power of the candidates. */
const MOST_CANDIDATES_WITH_PROBABILITIES = 64

function tallyKeys(plan: KeySelectionPlan, { runs, shown }: Extent, { texts, counts }: KeyTexts): Tally {
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

type KeyTexts = Extract<Exact, { release: 'key-selection' }>['texts']

/** Of more keys than this only those with the most rows are reported, and of long ones fewer. */
const MOST_KEYS_REPORTED = 1_000

/** Keys and their rows, those of the most rows first, of equals in the order of the keys. */
function reportedKeys({ texts, counts }: KeyTexts): { readonly key: string; readonly rows: number }[] {
  const positions = Uint32Array.from(texts.keys()).sort(
    (a, b) => (counts[b] ?? 0) - (counts[a] ?? 0) || ((texts[a] ?? '') < (texts[b] ?? '') ? -1 : 1),
  )
  let room = MOST_CHARACTERS / 2
  return Array.from(positions.subarray(0, MOST_KEYS_REPORTED), (position) => ({
    key: texts[position] ?? '',
    rows: counts[position] ?? 0,
  })).filter(({ key }) => {
    const length = charactersOf(key) + KEY_CHARACTERS
    if (length > room) return false
    room -= length
    return true
  })
}

/**
 * Means, standard errors and deviations of many series side by side, by Welford's recurrence: one pass, and no difference
 * of large sums.
 */
function moments(series: number) {
  const means = new Float64Array(series)
  /** The sums of the squared distances from the means. */
  const squares = new Float64Array(series)
  const variance = (at: number, count: number) =>
    count < 2 ? Number.NaN : (squares[at] ?? Number.NaN) / (count - 1)
  return {
    /** @param count how many there are with this one. */
    add(at: number, value: number, count: number): void {
      const before = means[at] ?? 0
      const mean = before + (value - before) / count
      means[at] = mean
      squares[at] = (squares[at] ?? 0) + (value - before) * (value - mean)
    },
    figure: (at: number, count: number): Figure => ({
      value: count === 0 ? null : finiteOrNull(means[at] ?? Number.NaN),
      standardError: finiteOrNull(Math.sqrt(variance(at, count) / count)),
    }),
    deviation: (at: number, count: number): number | null => finiteOrNull(Math.sqrt(variance(at, count))),
  }
}

function finiteOrNull(value: number): number | null {
  return Number.isFinite(value) ? value : null
}

/**
 * The most work of one evaluation, where one unit is a number that is drawn, or made from numbers drawn, and compared:
 * about a minute, of the slowest.
 */
export const MAX_WORK = 60_000_000

/** How many characters an evaluation may have: it is put together in memory. */
const MOST_CHARACTERS = 20_000_000
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
export function requireExtent(plan: Plan, { runs, shown }: Extent, exact?: Exact): void {
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
function workOf(plan: Plan, exact: Exact | undefined): number {
  switch (plan.release) {
    case 'estimates':
      return cellCount(plan.aggregate) * (plan.measurements.length + 2 * plan.estimates.length)
    case 'noisy-max':
      return plan.candidates.length * (1 + plan.measurement.k / 15)
    case 'quantiles': {
      const values = exact?.release === 'quantiles' ? exact.values.indexes.length : 0
      // Distances of values are worked out, which is much quicker than to draw.
      return plan.measurements.length * (10 + values / 5)
    }
    case 'key-selection':
      return 10 + 1.5 * (exact?.release === 'key-selection' ? exact.texts.texts.length : 0)
  }
}

/** At the most. */
function charactersOfReport(
  plan: Plan,
  exact: Exact | undefined,
): { readonly fixed: number; readonly perShown: number } {
  switch (plan.release) {
    case 'estimates':
    case 'quantiles': {
      const names = numberNames(plan)
      const characters = names.reduce((sum, name) => sum + charactersOf(name), 0)
      // Totals have as much as numbers.
      const numbers = names.length + (plan.release === 'estimates' ? plan.estimates.length : 1)
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
      const texts = exact?.release === 'key-selection' ? exact.texts.texts : []
      const longest = texts.reduce((sum, text) => sum + charactersOf(text) + SHOWN_KEY_CHARACTERS, 1)
      return { fixed: MOST_CHARACTERS / 2, perShown: Math.min(longest, plan.maxCharacters) }
    }
  }
}

function charactersOf(value: unknown): number {
  return JSON.stringify(value).length
}

import type { GridValue } from '../../core/dataset/grid-value.ts'
import { noiseStated } from '../../core/mechanisms/noise/weighted-noise.ts'
import { isSome, postprocess, requirePostprocessable } from '../../core/planner/additive/postprocess.ts'
import { clampsAt } from '../../core/planner/kinds/bounds/candidates.ts'
import { contributionsAt } from '../../core/planner/kinds/contribution-profile/candidates.ts'
import type { Bin } from '../../core/planner/language/bin-text.ts'
import { quantileOf, type Range, rangeCountOf } from '../../core/planner/plans/cumulative-curve.ts'
import type {
  AccuracyReport,
  NoiseReport,
  Postprocessing,
  Report,
  Result,
  ValueDomain,
} from '../../core/planner/report-kinds.ts'
import { defined } from '../../privacy/defined.ts'
import { refuseQuery } from '../../privacy/refusal.ts'

/*
 * Post-processing of the documents of answers. A document has everything that it takes: the released values before
 * post-processing, and public facts about them. So it works without the dataset, and in the same way for a fresh answer, a
 * repeat with another post-processing, and a release that is processed later.
 */

/** The parts of a query that change how a release is shown. */
interface ShownQuery {
  readonly kind: string
  readonly postprocess?: Postprocessing
  readonly p?: number | readonly number[] | undefined
  readonly ranges?: readonly Range[] | undefined
  readonly nextEpsilon?: number | undefined
}

/** A document that may state its question. */
interface Questioned {
  readonly question?: object
}

interface BatchDocument {
  readonly answers: readonly Questioned[]
  readonly question?: { readonly queries: readonly object[] }
}

/** A document, or a part of one, with released values. */
interface Released extends Questioned {
  readonly result: Result
  readonly accuracy: AccuracyReport
  readonly noise?: NoiseReport
  /** Absent for values that are not made from sums and counts. */
  readonly domain?: ValueDomain
  /** The values before post-processing; absent if there was none. */
  readonly measured?: Pick<Report, 'result' | 'accuracy'>
}

/**
 * Post-processes the released values of a document, starting from those before any post-processing.
 * @returns the document with other values, whose question states the post-processing
 */
export function withPostprocessing(document: Released, asked: Postprocessing): Released {
  const { domain, measured = reportOf(document), ...others } = document
  if (domain === undefined) return document
  const shown: Pick<Report, 'result' | 'accuracy'> = postprocess(measured, domain, asked)
  const processed = { ...others, ...shown, ...questionWith(others, asked) }
  const facts = { domain, ...(isSome(asked) ? { measured } : {}) }
  // After the accuracy, which both are about.
  const entries = Object.entries(processed)
  const place = entries.findIndex(([name]) => name === 'accuracy') + 1
  return Object.fromEntries([
    ...entries.slice(0, place),
    ...Object.entries(facts),
    ...entries.slice(place),
  ]) as typeof processed
}

function reportOf({ result, accuracy }: Released): Pick<Report, 'result' | 'accuracy'> {
  return { result, accuracy }
}

/** The question of a document with another post-processing; an empty object for a document without a question. */
function questionWith({ question }: Questioned, asked: Postprocessing): Questioned {
  if (question === undefined) return {}
  const { postprocess: _, ...others } = question as { readonly postprocess?: unknown }
  const { round, nonNegative } = asked
  const changes = { ...(round ? { round } : {}), ...(nonNegative ? { nonNegative } : {}) }
  return { question: isSome(asked) ? { ...others, postprocess: changes } : others }
}

/**
 * Returns the document of an answer as a query asks for it. Queries with one identity have one release, but can ask for
 * different post-processing, for a percentile alone or in a list, and for other quantiles and ranges of cumulative counts.
 */
export function queryShown(document: object, query: ShownQuery): object {
  if (!hasValues(document)) return document
  const { postprocess: asked, p } = query
  if (query.kind === 'cumulativeCounts')
    return { ...document, result: curveShown(document, [p ?? []].flat(), query.ranges ?? []) }
  const processed = asked === undefined ? document : withPostprocessing(document, asked)
  if (p !== undefined) return { ...processed, result: percentilesShown(processed.result, p) }
  return { ...processed, result: weighedShown(processed, query) }
}

/** Weighs for the next question of who asks; by default, for one at the epsilon that was paid. */
function weighedShown({ result, question }: Released, { nextEpsilon }: ShownQuery): Result {
  if (!('cells' in result)) return result
  const { clamps, contributions } = result
  const paid = (question as { readonly epsilon?: number } | undefined)?.epsilon
  const next = nextEpsilon ?? paid
  if (next === undefined || (clamps === undefined && contributions === undefined)) return result
  return {
    ...result,
    ...defined({
      clamps: clamps && clampsAt(clamps, next),
      contributions: contributions && contributionsAt(contributions, next),
    }),
  }
}

/** Shows a single percentile as a value or in a list. */
function percentilesShown(result: Result, p: number | readonly number[]): Result {
  if (typeof p === 'number' && 'percentiles' in result) {
    const [only] = result.percentiles
    return only === undefined ? result : { value: only.value }
  }
  if (typeof p !== 'number' && 'value' in result) {
    const { value } = result
    return { percentiles: p.map((each) => ({ p: each, value })) }
  }
  return result
}

/** Shows cumulative counts with these quantiles and ranges. */
function curveShown(
  { result, noise, accuracy: { confidence } }: Released,
  percentages: readonly number[],
  ranges: readonly Range[],
): Result {
  if (!('groups' in result) || noise === undefined || !('statistics' in noise)) return result
  const { groups } = result
  const curve = {
    spans: groups.map(({ key }) => Object.values(key)[0] as Bin<GridValue>),
    counts: groups.map(({ values }) => Number(values.count?.value)),
    noises: noise.statistics.map((each) => noiseStated(noise.mechanism, each)),
    confidence,
  }
  return {
    groups,
    ...(percentages.length > 0 && { percentiles: percentages.map((p) => quantileOf(curve, p)) }),
    ...(ranges.length > 0 && { ranges: ranges.map((range) => rangeCountOf(curve, range)) }),
  }
}

/** Returns the document of a batch as its queries ask for it. */
export function batchShown(document: object, queries: readonly ShownQuery[]): object {
  return withParts(document, (part, place) => {
    const query = queries[place]
    return query === undefined ? part : queryShown(part, query)
  })
}

/** Changes the answers of a batch, each together with its question. */
function withParts(document: object, change: (part: object, place: number) => object): object {
  const { answers, question } = document as BatchDocument
  const parts = answers.map((answer, place) => {
    const asked = question?.queries[place]
    return change(asked === undefined ? answer : { ...answer, question: asked }, place) as Questioned
  })
  return {
    ...document,
    ...(question === undefined
      ? {}
      : { question: { ...question, queries: parts.map((part) => part.question) } }),
    answers: parts.map(({ question: _, ...answer }) => answer),
  }
}

/**
 * Post-processes a stored release: an answer, or all answers of a batch that are made from sums and counts.
 * @throws Refusal `query-does-not-fit` naming the field and the rule, for a release that cannot be post-processed.
 */
export function postprocessRelease(stored: string, asked: Postprocessing): object {
  const document: object = JSON.parse(stored)
  if (hasValues(document)) {
    requirePostprocessable(document.domain, asked)
    return withPostprocessing(document, asked)
  }
  if (!('answers' in document)) {
    const field = asked.nonNegative && !asked.round ? 'nonNegative' : 'round'
    throw refuseQuery(field, 'applies to values made from sums and counts, and a session has none')
  }
  const { answers } = document as { readonly answers: readonly Released[] }
  if (answers.every(({ domain }) => domain === undefined))
    requirePostprocessable(undefined, asked, 'the batch')
  answers.forEach(({ domain }, place) => {
    if (domain !== undefined) requirePostprocessable(domain, asked, `answer ${place} of the batch`)
  })
  return withParts(document, (part) => (hasValues(part) ? withPostprocessing(part, asked) : part))
}

function hasValues(document: object): document is Released {
  return 'result' in document && 'accuracy' in document
}

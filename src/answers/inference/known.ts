import type { Query } from '../../../schemas/answers/query.ts'
import { type Dataset, isLive } from '../../core/dataset/dataset.ts'
import { INFERENCE_LIMITS, type Inferred, infer, type NotInferred } from '../../core/inference/infer.ts'
import type { AdditivePlan } from '../../core/planner/additive/shape.ts'
import { cellCount } from '../../core/planner/language/aggregate.ts'
import { cellKeys } from '../../core/planner/language/grouping.ts'
import { plan } from '../../core/planner/plan.ts'
import type { PlanLimits } from '../../core/planner/plans/plan-kind.ts'
import type { Plan } from '../../core/planner/plans/plan-kinds.ts'
import { domainOf, noiseReport } from '../../core/planner/report.ts'
import type { NoiseReport } from '../../core/planner/report-kinds.ts'
import type { Releases } from '../../ledger/contract/releases.ts'
import { defined } from '../../privacy/defined.ts'
import { must } from '../../privacy/must.ts'
import { coverageReport } from '../documents/coverage.ts'
import { queryShown } from '../documents/postprocessing.ts'
import { type Parent, paidReleases, parentsAmong, type StoredTexts } from './paid-releases.ts'

/*
 * Answers that follow from releases which their analyst has paid for. Only releases of the same version of the dataset take
 * part, and none of a live table, whose readings differ. See decision 63.
 */

/** What paid releases say about a question, or why they say nothing. */
export type Known = KnownAnswer | { readonly kind: 'unknown'; readonly reason: string }

/** What follows for a question, and the releases that it follows from. */
export interface KnownAnswer {
  readonly kind: 'known'
  readonly planned: AdditivePlan
  readonly inferred: Inferred
  readonly parents: readonly Parent[]
}

/** Why nothing follows for any question about a dataset, or of another kind; `undefined` if something may. */
function reasonAgainst(planned: Plan): string | undefined {
  if (isLive(planned.dataset))
    return 'answers about a live table have read its rows at different moments, so nothing follows from them'
  if (planned.kind !== 'additive')
    return `${planned.query.kind} is not made from sums and counts, so it does not follow from other answers`
  return undefined
}

/** A question, and the stored releases that it may follow from: plain data, which can be sent to a thread. */
export interface Inquiry {
  readonly query: Query
  readonly dataset: Dataset
  readonly limits: PlanLimits
  /** The newest of each principal first. */
  readonly releases: readonly StoredTexts[]
}

/**
 * Collects what is needed to find out what an analyst's releases say about a question. Nothing is read for one about which
 * nothing can be inferred.
 */
export async function inquiryOf(
  { query, dataset }: { readonly query: Query; readonly dataset: Dataset },
  planned: Plan,
  principal: string,
  { ledger, limits }: { readonly ledger: Pick<Releases, 'releases'>; readonly limits: PlanLimits },
): Promise<Inquiry> {
  const releases = reasonAgainst(planned) === undefined ? await paidReleases(dataset, principal, ledger) : []
  return { query, dataset, limits, releases }
}

/** Limits of an inquiry that takes milliseconds. */
const SMALL = { releases: 8, characters: 20_000, integers: 200 } as const

/**
 * True for an inquiry that may take long. It follows from public facts, and from the sizes of releases that their analyst has:
 * without any release it is false.
 */
export function isLongInquiry({ releases }: Inquiry, planned: Plan): boolean {
  if (releases.length === 0 || planned.kind !== 'additive') return false
  const characters = releases.reduce((sum, { answer }) => sum + answer.length, 0)
  const integers = cellCount(planned.aggregate) * planned.measurements.length
  return releases.length > SMALL.releases || characters > SMALL.characters || integers > SMALL.integers
}

/** What the releases of an inquiry say about its question. */
export function knownAbout(planned: Plan, { dataset, limits, releases }: Inquiry): Known {
  const reason = reasonAgainst(planned)
  if (reason !== undefined || planned.kind !== 'additive')
    return { kind: 'unknown', reason: must(reason, 'a reason') }
  return inferredFrom(planned, parentsAmong(releases, dataset, limits))
}

/** What releases say about a question. */
function inferredFrom(planned: AdditivePlan, parents: readonly Parent[]): Known {
  const found = infer(planned, parents)
  if ('kind' in found) {
    const hint = found.kind === 'missing' && planned.dataset.sharing ? SHARING_HINT : ''
    return { kind: 'unknown', reason: `${reasonOf(found, planned)}${hint}` }
  }
  const used = new Set(found.statistics.flat().flatMap(({ terms }) => terms.map(({ release }) => release)))
  if (used.size === 0)
    return { kind: 'unknown', reason: 'it is the same for all data, so no paid answer is needed' }
  return { kind: 'known', planned, inferred: found, parents: parents.filter(({ id }) => used.has(id)) }
}

/** The same whatever other analysts have asked, because a preview does not reveal that. */
const SHARING_HINT =
  '; a question that another analyst has paid for costs your allotment alone, and is among your releases once you have asked it'

/** Largest number of cells that a reason names. */
const CELLS_NAMED = 5

function reasonOf(found: NotInferred, planned: AdditivePlan): string {
  switch (found.kind) {
    case 'unsupported':
      return `this form of ${planned.query.kind} does not follow from other answers`
    case 'too-many-cells':
      return `its conditions and groups make more than ${INFERENCE_LIMITS.cellsOfQuestion} combinations of values`
    case 'too-many-terms':
      return `its estimates would have more than ${INFERENCE_LIMITS.terms} terms`
    case 'ended':
      return 'the answers that you have paid for are too many to find out whether it follows: the search has ended without a result'
    case 'missing': {
      const keys = cellKeys(planned.groupings)
      const from = `from the answers that you have paid for${found.leftOut === 0 ? '' : `, of which limits left out ${found.leftOut}`}`
      if (planned.groupings.length === 0) return `it does not follow ${from}`
      const named = found.cells.slice(0, CELLS_NAMED).map((cell) => JSON.stringify(keys[cell]))
      const more = found.cells.length - named.length
      return `${found.cells.length} of ${keys.length} cells do not follow ${from}: ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
    }
  }
}

/** The noise of an answer that follows from several releases. */
export function combinedNoise({ dataset }: Pick<Plan, 'dataset'>): NoiseReport {
  return { mechanism: 'combined', neighbours: dataset.neighbours }
}

/** The facts of an answer that follows from releases, as the query asks for it. */
export function inferredFacts({ planned, inferred, parents }: KnownAnswer): object {
  const { query, contribution } = planned
  const { result, accuracy } = inferred.report
  const facts = defined({
    kind: query.kind,
    result,
    noise: combinedNoise(planned),
    accuracy,
    domain: domainOf(planned),
    contribution,
    coverage: coverageReport(planned),
    inference: describeInference(inferred, parents),
  })
  return queryShown(facts, query)
}

/** A new measurement, and the paid releases with which an answer combines it. */
export interface ToppedUp {
  /** The plan of the new measurement. */
  readonly lacking: AdditivePlan
  readonly integers: readonly (readonly string[])[]
  /** Ids of what was measured before. */
  readonly measured: readonly string[]
}

/**
 * The facts of an answer that combines a new measurement with paid releases. It shows what was measured, from which later answers
 * can follow.
 * @param planned the plan of the question
 */
export function toppedUpFacts(
  { query, dataset, limits, releases }: Inquiry,
  { lacking, integers, measured }: ToppedUp,
  planned: Plan = plan(query, dataset, limits),
): object {
  if (planned.kind !== 'additive') throw new RangeError('only sums and counts are topped up')
  const own = {
    id: OWN,
    charge: OWN,
    plan: lacking,
    integers: integers.map((cells) => cells.map(BigInt)),
  }
  const parents = parentsAmong(releases, dataset, limits).filter(({ id }) => measured.includes(id))
  const together = inferredFrom(planned, [own, ...parents])
  // Together with the releases it may exceed a limit. What was paid for is answered all the same.
  const combined = together.kind === 'known' ? together : inferredFrom(planned, [own])
  if (combined.kind === 'unknown') throw new RangeError('a question does not follow from its own measurement')
  return { ...inferredFacts(combined), noise: noiseReport(lacking), integers }
}

/** The id that an answer states for the release that it is itself. */
export const OWN = 'this'

export function describeInference({ statistics }: Inferred, parents: readonly Parent[]) {
  const places = new Map(parents.map(({ id }, place) => [id, place]))
  const questions = [...new Set(parents.map(({ plan }) => plan.query.kind))].join(', ')
  return {
    statement:
      parents.length === 1
        ? `Follows from one answer that you have paid for (${questions}).`
        : `The best estimate from ${parents.length} answers that you have paid for (${questions}).`,
    releases: parents.map(({ charge, id }) => ({ id: charge, measurement: id })),
    estimates: statistics.map((cells) =>
      cells.map(({ value, denominator, terms }) => ({
        value,
        denominator: String(denominator),
        terms: terms.map(({ release, statistic, cell, weight }) => ({
          release: must(places.get(release), 'a parent'),
          statistic,
          cell,
          weight: String(weight),
        })),
      })),
    ),
  }
}

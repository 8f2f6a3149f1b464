import type { batchAnswer } from '../../schemas/answers/answer.ts'
import { type Query, query as querySchema } from '../../schemas/answers/query.ts'
import { type Dataset, isLive } from '../core/dataset/dataset.ts'
import {
  INFERENCE_LIMITS,
  type Inferred,
  infer,
  isUnselected,
  type NotInferred,
  type PaidPlan,
  type PaidRelease,
} from '../core/inference/infer.ts'
import { planOfMeasured } from '../core/inference/measured-together.ts'
import { planTopUp } from '../core/inference/top-up.ts'
import type { AdditivePlan } from '../core/planner/additive/shape.ts'
import { cellCount } from '../core/planner/language/aggregate.ts'
import { cellKeys } from '../core/planner/language/grouping.ts'
import { plan } from '../core/planner/plan.ts'
import type { PlanLimits } from '../core/planner/plans/plan-kind.ts'
import { type Plan, planKindOf } from '../core/planner/plans/plan-kinds.ts'
import { offerOf } from '../core/planner/price/accuracy-first.ts'
import { priceOf } from '../core/planner/price/price.ts'
import { requireWithinQueryLimits } from '../core/planner/price/query-limits.ts'
import { domainOf, noiseReport } from '../core/planner/report.ts'
import type { NoiseReport } from '../core/planner/report-kinds.ts'
import { COVERAGE_PRINCIPAL, type ListedRelease, type Releases } from '../ledger/contract/releases.ts'
import { type Amount, amountNumbers, noAmount } from '../privacy/accounting.ts'
import { defined } from '../privacy/defined.ts'
import { epsilonNumber, NO_LOSS } from '../privacy/loss.ts'
import { entry, must } from '../privacy/must.ts'
import { Refusal, refuseField, refuseQuery } from '../privacy/refusal.ts'
import type { Wire } from '../privacy/wire.ts'
import { coverageReport } from './documents/coverage.ts'
import { queryShown } from './documents/postprocessing.ts'

/*
 * Answers that follow from releases which their analyst has paid for. Only releases of the same version of the dataset take
 * part, and none of a live table, whose readings differ. See decision 63.
 */

/** What an analyst wants to be used of paid releases. */
export type Use = NonNullable<Extract<Query, { postprocess: unknown }>['use']>

/** A paid release with the charge that paid for it. */
interface Parent extends PaidRelease {
  readonly charge: string
}

/** What paid releases say about a question, or why they say nothing. */
type Known =
  | {
      readonly kind: 'known'
      readonly planned: AdditivePlan
      readonly inferred: Inferred
      readonly parents: readonly Parent[]
    }
  | { readonly kind: 'unknown'; readonly reason: string }

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

/** The texts of a paid release. */
type StoredTexts = Pick<ListedRelease, 'id' | 'answer' | 'request'>

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

/** Releases that are read at a time. */
const PAGE = 100

/** The releases that an analyst has paid for, or that are open to all, of the present version of a dataset. */
async function paidReleases(
  dataset: Dataset,
  principal: string,
  ledger: Pick<Releases, 'releases'>,
): Promise<readonly StoredTexts[]> {
  const own = await releasesOf(principal, dataset, ledger)
  return dataset.coverage === undefined
    ? own
    : [...own, ...(await releasesOf(COVERAGE_PRINCIPAL, dataset, ledger))]
}

async function releasesOf(
  principal: string,
  dataset: Dataset,
  ledger: Pick<Releases, 'releases'>,
): Promise<readonly StoredTexts[]> {
  const found: StoredTexts[] = []
  let after: Parameters<Releases['releases']>[0]['after']
  let read = 0
  do {
    const page = await ledger.releases(defined({ datasets: [dataset.id], principal, limit: PAGE, after }))
    for (const { id, answer, request, datasetVersion } of page.releases)
      if (datasetVersion === dataset.version) found.push({ id, answer, request })
    read += page.releases.length
    after = page.next
  } while (after !== undefined && read < INFERENCE_LIMITS.releases)
  return found
}

/** The releases of sums and counts, and of nodes. */
function parentsAmong(
  releases: readonly StoredTexts[],
  dataset: Dataset,
  limits: PlanLimits,
): readonly Parent[] {
  const found = new Map<string, Parent>()
  for (const parent of releases.flatMap((release) => parentsIn(release, dataset, limits)))
    if (!found.has(parent.id)) found.set(parent.id, parent)
  return [...found.values()]
}

type MeasuredTogether = NonNullable<Wire<typeof batchAnswer>['together']>

/** A stored answer with measured integers. */
interface Measured {
  readonly measurement?: string
  readonly integers?: readonly (readonly string[])[]
  readonly answers?: readonly { readonly integers?: readonly (readonly string[])[] }[]
  readonly together?: MeasuredTogether
}

/** The request of a stored answer. */
interface StoredRequest {
  readonly query?: unknown
  readonly batch?: readonly unknown[]
  readonly batchTogether?: { readonly queries: readonly unknown[] }
}

function parentsIn(release: StoredTexts, dataset: Dataset, limits: PlanLimits): readonly Parent[] {
  const { measurement, integers, answers = [], together }: Measured = JSON.parse(release.answer)
  const request: StoredRequest = JSON.parse(release.request)
  if (measurement === undefined) return []
  const asked = (query: unknown) => planOfStored(query, dataset, limits)
  const queries = request.batchTogether?.queries.map((query) => querySchema.parse(query)) ?? []
  const tables = together?.flatMap(({ sum, noise, measured }) =>
    measured.map(({ integers }, place) => ({
      integers,
      planned: () =>
        unlessRefused(() => {
          const table = { ...entry(noise.tables, place), distribution: noise.distribution, sum }
          return planOfMeasured(queries, table, dataset, limits)
        }),
    })),
  )
  const parts = tables?.map((table, place) => ({ ...table, place })) ??
    request.batch?.map((query, place) => ({
      integers: answers[place]?.integers,
      place,
      planned: () => asked(query),
    })) ?? [{ integers, place: undefined, planned: () => asked(request.query) }]
  return parts.flatMap(({ place, planned, integers }) => {
    if (integers === undefined) return []
    const found = planned()
    if (found === undefined) return []
    const id = place === undefined ? measurement : `${measurement}.${place}`
    return [{ id, charge: release.id, plan: found, integers: integers.map((cells) => cells.map(BigInt)) }]
  })
}

/** The plan of a stored question; `undefined` if it could not be asked any more, such as after a limit was lowered. */
function planOfStored(query: unknown, dataset: Dataset, limits: PlanLimits): PaidPlan | undefined {
  return unlessRefused(() => {
    const planned = plan(querySchema.parse(query), dataset, limits)
    return isPaidPlan(planned) ? planned : undefined
  })
}

function unlessRefused<Result>(task: () => Result): Result | undefined {
  try {
    return task()
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}

function isPaidPlan(planned: Plan): planned is PaidPlan {
  return planned.kind === 'additive' || planned.kind === 'cumulative'
}

/** The measured integers of a release, which later answers can follow from; none if noise has selected what is shown. */
export function integersOf(
  planned: Plan,
  released: { readonly kind: string },
): readonly (readonly string[])[] | undefined {
  if (!isPaidPlan(planned) || !isUnselected(planned) || !('noisy' in released)) return undefined
  const { noisy } = released as { readonly noisy: readonly (readonly bigint[])[] }
  return noisy.map((cells) => cells.map(String))
}

/** The noise of an answer that follows from several releases. */
export function combinedNoise({ dataset }: Pick<Plan, 'dataset'>): NoiseReport {
  return { mechanism: 'combined', neighbours: dataset.neighbours }
}

/** The facts of an answer that follows from releases, as the query asks for it. */
function inferredFacts({ planned, inferred, parents }: Extract<Known, { kind: 'known' }>): object {
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

function describeInference({ statistics }: Inferred, parents: readonly Parent[]) {
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

/** True if what is known has the half-width that a question asks for. */
function hasAccuracy({ planned: { query }, inferred }: Extract<Known, { kind: 'known' }>): boolean {
  const { halfWidth } = inferred.report.accuracy
  return query.accuracy !== undefined && halfWidth !== null && halfWidth <= query.accuracy.halfWidth
}

/** Why the limits that a dataset declares for each query do not allow a measurement; `undefined` if they do. */
function reasonAgainstTopUp(lacking: AdditivePlan): string | undefined {
  try {
    requireWithinQueryLimits(lacking, offerOf(lacking.query))
    return undefined
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const rules = error.errors.map(({ rule }) => rule).join('; ')
    return `the epsilon of what they lack, ${epsilonNumber(lacking.loss.epsilonNano)}, ${rules}`
  }
}

/** What a top-up costs, or why there is none. */
function describeTopUp(lacking: AdditivePlan | undefined, { accounting }: Dataset) {
  if (lacking === undefined) return { epsilon: 0, price: amountNumbers(noAmount(accounting)) }
  const reason = reasonAgainstTopUp(lacking)
  if (reason !== undefined) return { reason }
  return {
    epsilon: epsilonNumber(lacking.loss.epsilonNano),
    price: amountNumbers(priceOf(lacking, accounting)),
  }
}

/** The three ways to an answer, as a preview states them. */
function describeOffers(planned: Plan, known: Known, limits: PlanLimits) {
  const { accounting } = planned.dataset
  const fresh = { price: amountNumbers(priceOf(planned, accounting)) }
  if (known.kind === 'unknown') return { free: { reason: known.reason }, fresh }
  const lacking = planTopUp(known.planned, known.inferred, known.parents, limits)
  const { result, accuracy } = inferredFacts(known) as Pick<Inferred['report'], 'result' | 'accuracy'>
  return {
    free: {
      result,
      accuracy,
      releases: [...new Set(known.parents.map(({ charge }) => charge))],
      statement: describeInference(known.inferred, known.parents).statement,
    },
    topUp: describeTopUp(lacking, planned.dataset),
    fresh,
  }
}

/**
 * Reads what a request wants to be used of paid releases: by default nothing, but for an accuracy that they may meet.
 * @throws Refusal `invalid-request` for a chosen key, which always draws fresh noise.
 */
export function useOf(query: Query, idempotencyKey: string | undefined): Use | 'free-if-met' {
  const asked = 'use' in query ? query.use : undefined
  if (asked === undefined)
    return query.accuracy !== undefined && idempotencyKey === undefined ? 'free-if-met' : 'fresh'
  if (asked === 'fresh' || idempotencyKey === undefined) return asked
  throw refuseField(
    'invalid-request',
    'use',
    'must be "fresh" with an Idempotency-Key of your own, which draws fresh noise',
  )
}

/** The way to an answer: with noise of its own, inferred from what is known, or with a measurement of what is lacking. */
type ChosenWay =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'free'; readonly known: Extract<Known, { kind: 'known' }> }
  | {
      readonly kind: 'topUp'
      readonly known: Extract<Known, { kind: 'known' }>
      readonly lacking: AdditivePlan
    }

/** A way to an answer as plain data, with the ids of what was measured and the facts that follow from it. */
export type Way =
  | { readonly kind: 'fresh' }
  | {
      readonly kind: 'free'
      readonly measured: readonly string[]
      /** The charges that have paid for what was measured. */
      readonly charges: readonly string[]
      readonly facts: object
    }
  | { readonly kind: 'topUp'; readonly measured: readonly string[]; readonly lacking: AdditivePlan }

/**
 * Finds the way to an answer.
 * @param planned the plan of the question
 * @throws Refusal for a question that asks for what does not follow.
 */
export function wayOf(inquiry: Inquiry, use: ReturnType<typeof useOf>, planned: Plan = planOf(inquiry)): Way {
  const way = chosenWay(planned, knownAbout(planned, inquiry), use, inquiry.limits)
  if (way.kind === 'fresh') return way
  const { known } = way
  const measured = known.parents.map(({ id }) => id)
  if (way.kind === 'topUp') return { kind: 'topUp', measured, lacking: way.lacking }
  const charges = [...new Set(known.parents.map(({ charge }) => charge))]
  return { kind: 'free', measured, charges, facts: inferredFacts(known) }
}

/**
 * Describes the ways to an answer, and what the chosen one costs.
 * @param planned the plan of the question
 * @throws Refusal as {@link wayOf} does.
 */
export function waysOf(inquiry: Inquiry, use: ReturnType<typeof useOf>, planned: Plan = planOf(inquiry)) {
  const { dataset, limits } = inquiry
  const known = knownAbout(planned, inquiry)
  const way = chosenWay(planned, known, use, limits)
  return {
    kind: way.kind,
    price: priceOfWay(way, priceOf(planned, dataset.accounting)),
    accuracy: way.kind === 'free' ? way.known.inferred.report.accuracy : undefined,
    losses: lossesOf(way),
    offers: describeOffers(planned, known, limits),
  }
}

/** The losses of what a way measures; `undefined` for those of a fresh answer. */
function lossesOf(way: ChosenWay) {
  switch (way.kind) {
    case 'fresh':
      return undefined
    case 'free':
      return { loss: NO_LOSS, replacementLoss: NO_LOSS }
    case 'topUp':
      return { loss: way.lacking.loss, replacementLoss: planKindOf(way.lacking).replacementLoss(way.lacking) }
  }
}

function planOf({ query, dataset, limits }: Inquiry): Plan {
  return plan(query, dataset, limits)
}

function chosenWay(
  planned: Plan,
  known: Known,
  use: ReturnType<typeof useOf>,
  limits: PlanLimits,
): ChosenWay {
  if (use === 'fresh') return { kind: 'fresh' }
  if (known.kind === 'unknown') {
    if (use === 'free') throw refusedWay(planned, 'free', known.reason)
    return { kind: 'fresh' }
  }
  if (use === 'free-if-met' && !hasAccuracy(known)) return { kind: 'fresh' }
  const lacking =
    use === 'topUp' ? planTopUp(known.planned, known.inferred, known.parents, limits) : undefined
  const reason = lacking === undefined ? undefined : reasonAgainstTopUp(lacking)
  if (reason !== undefined) throw refusedWay(planned, 'topUp', reason)
  return lacking === undefined ? { kind: 'free', known } : { kind: 'topUp', known, lacking }
}

/** What a way costs. */
export function priceOfWay(way: ChosenWay | Way, fresh: Amount): Amount {
  switch (way.kind) {
    case 'fresh':
      return fresh
    case 'free':
      return noAmount(fresh.accounting)
    case 'topUp':
      return priceOf(way.lacking, fresh.accounting)
  }
}

/** Refusal of a way to an answer. */
function refusedWay(planned: Plan, way: Use, reason: string): Refusal {
  const price: Readonly<Record<string, number>> = amountNumbers(priceOf(planned, planned.dataset.accounting))
  const amounts = Object.entries(price).map(([unit, amount]) => `${unit} ${amount}`)
  return refuseQuery('use', `cannot be "${way}": ${reason}. A fresh answer costs ${amounts.join(', ')}`)
}

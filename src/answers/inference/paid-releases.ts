import type { batchAnswer } from '../../../schemas/answers/answer.ts'
import { query as querySchema } from '../../../schemas/answers/query.ts'
import type { Dataset } from '../../core/dataset/dataset.ts'
import {
  INFERENCE_LIMITS,
  isUnselected,
  type PaidPlan,
  type PaidRelease,
} from '../../core/inference/infer.ts'
import { planOfMeasured } from '../../core/inference/measured-together.ts'
import { plan } from '../../core/planner/plan.ts'
import type { PlanLimits } from '../../core/planner/plans/plan-kind.ts'
import type { Plan } from '../../core/planner/plans/plan-kinds.ts'
import { COVERAGE_PRINCIPAL, type ListedRelease, type Releases } from '../../ledger/contract/releases.ts'
import { defined } from '../../privacy/defined.ts'
import { entry } from '../../privacy/must.ts'
import { Refusal } from '../../privacy/refusal.ts'
import type { Wire } from '../../privacy/wire.ts'

/* The stored releases that an analyst has paid for, as plans and the integers that were measured under them. */

/** A paid release with the charge that paid for it. */
export interface Parent extends PaidRelease {
  readonly charge: string
}

/** The texts of a paid release. */
export type StoredTexts = Pick<ListedRelease, 'id' | 'answer' | 'request'>

/** Releases that are read at a time. */
const PAGE = 100

/** The releases that an analyst has paid for, or that are open to all, of the present version of a dataset. */
export async function paidReleases(
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
export function parentsAmong(
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

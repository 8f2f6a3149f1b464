import type { Dataset } from '../core/dataset/dataset.ts'
import type { UniformSource } from '../core/mechanisms/samplers/uniform-source.ts'
import { priceReport } from '../core/planner/batch.ts'
import { normalForm } from '../core/planner/identity/normal-form.ts'
import { withDeclaredNames } from '../core/planner/language/declared-names.ts'
import type { plan } from '../core/planner/plan.ts'
import { type Plan, planKindOf } from '../core/planner/plans/plan-kinds.ts'
import { priceOf } from '../core/planner/price/price.ts'
import { domainOf, measuredReporter, noiseReport } from '../core/planner/report.ts'
import { type BatchQueries, normalTogether } from '../core/planner/together.ts'
import type { Engine } from '../engines/engine.ts'
import { type Trace, UNTRACED } from '../platform/tracing/trace.ts'
import type { Amount } from '../privacy/accounting.ts'
import { defined } from '../privacy/defined.ts'
import { entry } from '../privacy/must.ts'
import { withinField } from '../privacy/refusal.ts'
import { shortestQuery } from './documents/asked-query.ts'
import { coverageReport } from './documents/coverage.ts'
import { batchShown, queryShown } from './documents/postprocessing.ts'
import { integersOf } from './inference/paid-releases.ts'
import { type PlannedBatch, type Planning, planAside, planBatchAside, type Waiting } from './planning.ts'
import { release, requireAccepted, yieldIfLarge } from './release.ts'
import { describeTogether, priceOfBatch, reportOfBatch } from './together.ts'

export type Query = Parameters<typeof plan>[0]

/** A query or a batch, planned and priced over a dataset. */
export interface Asked {
  readonly kind: Query['kind'] | 'batch'
  /** The part of the request that identifies it; a repeat has the same. */
  readonly canonical: Readonly<Record<string, unknown>>
  /** The question as it was asked, in its shortest form. Columns have their declared names, so that it can be asked again. */
  readonly question: object
  readonly price: Amount
  readonly plans: readonly Plan[]
  /** Describes the releases of the plans, in their order. */
  readonly describe: (releases: readonly object[]) => object
  /** Shows a stored release as the request asks for it; an earlier request may have asked for it in another way. */
  readonly show: (document: object) => object
}

/** The engine that will read the data, and the limits on what it computes. */
export interface Limits extends Planning {
  readonly engine: Pick<Engine, 'accepts'>
}

/**
 * Plans and prices a query. No data is read.
 * @throws Refusal if the query does not fit the dataset or its database.
 */
export async function askQuery(
  query: Query,
  dataset: Dataset,
  limits: Limits,
  waiting: Waiting,
): Promise<Asked> {
  const planned = await planAside(query, dataset, limits, waiting)
  const price = priceOf(planned, dataset.accounting)
  requireAccepted(planned, limits.engine)
  planKindOf(planned).requireAnswerable?.(planned)
  return {
    kind: query.kind,
    canonical: canonicalQuery(planned),
    question: shortestQuery(withDeclaredNames(query, dataset)),
    price,
    plans: [planned],
    describe: (releases) => entry(releases, 0),
    show: (document) => withCoverage(queryShown(document, query), planned),
  }
}

/**
 * Plans and prices several queries that are charged together.
 * @param between runs between two queries, to let others have their turn
 * @throws Refusal as {@link askQuery} does, with the place of the query.
 */
export async function askBatch(
  batch: BatchQueries,
  dataset: Dataset,
  limits: Limits,
  waiting: Waiting,
  between?: () => Promise<unknown>,
): Promise<Asked> {
  const planned = await planBatchAside(batch, dataset, limits, waiting, defined({ between }))
  requireAllAccepted(planned, limits.engine)
  const { separate, chosen } = planned
  const { queries, ...terms } = batch
  const prices = separate.plans.map(priceReport)
  const described = (answers: readonly object[]) => ({
    answers: answers.map((each, place) => ({ ...each, ...entry(prices, place) })),
    ...reportOfBatch(planned),
  })
  return {
    kind: 'batch',
    canonical: canonicalBatch(planned),
    question: { queries: withDeclaredNames(queries, dataset).map(shortestQuery), ...defined(terms) },
    price: priceOfBatch(planned),
    plans: chosen?.workloads ?? separate.plans,
    describe: (releases) =>
      chosen === undefined ? described(releases) : describeTogether(chosen, releases, described),
    show: (document) => batchShown(document, queries),
  }
}

/** The part of a request that identifies a query. */
export function canonicalQuery(planned: Plan) {
  return { query: normalForm(planned) }
}

/** The part of a request that identifies a batch. */
export function canonicalBatch({ separate, chosen }: PlannedBatch) {
  return chosen === undefined
    ? { batch: separate.plans.map(normalForm) }
    : { batchTogether: normalTogether(chosen) }
}

/** A stored answer may have been recorded before the coverage of its version was measured. */
function withCoverage(document: object, planned: Plan): object {
  return { ...document, coverage: coverageReport(planned) }
}

/** @throws Refusal as {@link requireAccepted} does, with the place of the query. */
export function requireAllAccepted(
  { separate, chosen }: PlannedBatch,
  engine: Pick<Engine, 'accepts'>,
): void {
  if (chosen === undefined)
    for (const [place, each] of separate.plans.entries())
      withinField(`queries.${place}`, () => requireAccepted(each, engine))
  else for (const workload of chosen.workloads) requireAccepted(workload, engine)
}

/** Reads data, and adds noise to it. */
interface Reading {
  readonly engine: Engine
  readonly noiseSource: UniformSource
}

/**
 * Reads the data of plans one after the other, adds noise and describes the releases.
 * @param between runs between two plans, to let others have their turn
 */
export async function releaseAll(
  plans: readonly Plan[],
  reading: Reading,
  between: () => Promise<unknown>,
  trace: Trace = UNTRACED,
): Promise<readonly object[]> {
  const releases: object[] = []
  for (const [place, each] of plans.entries()) {
    if (place > 0) await trace.step('wait', between)
    releases.push(await releaseOf(each, reading, trace))
  }
  return releases
}

/**
 * Reads the data of a plan, adds noise and describes the release as the query asks for it. Yields to other requests between
 * these steps.
 */
export async function releaseOf(planned: Plan, { engine, noiseSource }: Reading, trace: Trace = UNTRACED) {
  const released = await release(planned, engine, noiseSource, trace)
  await yieldIfLarge(planned)
  const { result, accuracy, measured: integers } = measuredReporter(planned)(released)
  await yieldIfLarge(planned)
  const { query, contribution } = planned
  const measured = defined({
    kind: query.kind,
    result,
    noise: noiseReport(planned),
    accuracy,
    domain: domainOf(planned),
    integers: integersOf(planned, released),
    contribution,
    coverage: coverageReport(planned),
    measured: integers,
  })
  return queryShown(measured, planned.query)
}

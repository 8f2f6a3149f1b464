import { randomBytes } from 'node:crypto'
import type { Dataset } from '../catalog/dataset.ts'
import type { DummySize } from '../dummy/declaration.ts'
import type { Dummies, DummyCaller } from '../dummy/dummies.ts'
import type { Engine } from '../engines/engine.ts'
import type { UniformSource } from '../mechanisms/samplers/uniform-source.ts'
import { shortestQuery } from '../planner/asked-query.ts'
import { batchReport, planQueries, priceReport } from '../planner/batch.ts'
import { plan } from '../planner/plan.ts'
import type { PlanLimits } from '../planner/plan-kind.ts'
import { priceOf } from '../planner/price.ts'
import type { Amount } from '../privacy/accounting.ts'
import { type Answer, type PreviewBalances, releaseOf, requireAllAccepted } from './answer.ts'
import { describePrice } from './charge.ts'
import { requireAccepted } from './release.ts'
import { shownTime } from './release-time.ts'
import { SOFTWARE_VERSION } from './software-version.ts'

type Query = Parameters<typeof plan>[0]

/*
 * Answers for practice: the same plans, mechanisms and reports as for real answers, over rows that are made up from the
 * declaration of the dataset. Nothing is charged or stored, and no row of the dataset is read: of the engine that reads them
 * this flow has only the limit on the length of statements.
 */

/** Dependencies of answers for practice. */
export interface DummyDependencies {
  readonly dummies: Pick<Dummies, 'query'>
  readonly engine: Pick<Engine, 'accepts'>
  readonly noiseSource: UniformSource
  readonly limits: PlanLimits
}

/** The dataset whose declaration is used, the made-up rows, and the caller. */
interface DummyRequest extends DummyCaller {
  readonly dataset: Dataset
  readonly size: DummySize
}

/**
 * Answers a query over made-up rows. Cost and refusals are those of the query over the dataset.
 *
 * Where the number of rows or people is public, noise and accuracy are those for the made-up number.
 * @throws Refusal if the query does not fit the dataset, or the made-up rows cannot be made or queried.
 */
export async function answerOnDummy(
  dependencies: DummyDependencies,
  { dataset, size, query, ...caller }: DummyRequest & { readonly query: Query },
  balances: PreviewBalances,
): Promise<Answer> {
  const { dummies, engine, noiseSource, limits } = dependencies
  const planned = plan(query, dataset, limits)
  const price = priceOf(planned, dataset.accounting)
  requireAccepted(planned, engine)
  return dummies.query(dataset, size, caller, async (table) => {
    const released = await releaseOf(plan(query, table.dataset, limits), {
      engine: table.engine,
      noiseSource,
    })
    return answerOf(dataset, {
      ...released,
      question: shortestQuery(query),
      ...describeCost(price, balances),
    })
  })
}

/**
 * Answers several queries over made-up rows, as {@link answerOnDummy} does.
 * @throws Refusal as {@link answerOnDummy} does.
 */
export async function answerBatchOnDummy(
  dependencies: DummyDependencies,
  { dataset, size, queries, ...caller }: DummyRequest & { readonly queries: readonly Query[] },
  balances: PreviewBalances,
): Promise<Answer> {
  const { dummies, engine, noiseSource, limits } = dependencies
  const planned = await planQueries(queries, dataset, limits)
  requireAllAccepted(planned, engine)
  return dummies.query(dataset, size, caller, async (table) => {
    const { plans } = await planQueries(queries, table.dataset, limits)
    const answers: object[] = []
    for (const [place, priced] of planned.plans.entries()) {
      if (place > 0) await table.yield()
      const each = plans[place]
      if (each === undefined) throw new RangeError('a query has no plan')
      const released = await releaseOf(each, { engine: table.engine, noiseSource })
      answers.push({ ...released, ...priceReport(priced) })
    }
    const question = { queries: queries.map(shortestQuery) }
    const cost = describeCost(planned.price, balances)
    return answerOf(dataset, { answers, ...batchReport(planned), question, ...cost })
  })
}

/**
 * An answer with the fields of a real one, except for the receipt. It was not stored and is no replay. Its id cannot be that
 * of a release, which has hexadecimal digits only.
 */
function answerOf({ id, version, timing }: Dataset, computed: object): Answer {
  const document = {
    id: `dummy-${randomBytes(16).toString('hex')}`,
    dummy: true,
    dataset: id,
    datasetVersion: version,
    ...computed,
    softwareVersion: SOFTWARE_VERSION,
    answeredAt: shownTime(new Date().toISOString(), timing),
  }
  return { body: JSON.stringify(document), replayed: false }
}

/** The price as it would be, beside the present balances. */
function describeCost(price: Amount, { budget, analyst }: PreviewBalances) {
  const { affordable: _, ...cost } = describePrice(price, budget, analyst)
  return cost
}

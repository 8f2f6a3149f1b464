import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { Dataset } from '../core/dataset/dataset.ts'
import type { UniformSource } from '../core/mechanisms/samplers/uniform-source.ts'
import type { BatchQueries } from '../core/planner/together.ts'
import type { DummySize } from '../datasets/dummy/declaration.ts'
import type { Dummies, DummyCaller } from '../datasets/dummy/dummies.ts'
import { SOFTWARE_VERSION } from '../platform/software-version.ts'
import type { Answer } from './answer.ts'
import { type Asked, askBatch, askQuery, type Limits, type Query, releaseAll } from './asked.ts'
import { type Balances, describePrice } from './documents/costs.ts'
import { shownTime } from './release-time.ts'

/*
 * Answers for practice: the same plans, mechanisms and reports as for real answers, over rows that are made up from the
 * declaration of the dataset. Nothing is charged or stored, and no row of the dataset is read: of the engine that reads them
 * this flow has only the limit on the length of statements.
 */

/** Dependencies of answers for practice. */
export interface DummyDependencies extends Limits {
  readonly dummies: Pick<Dummies, 'query'>
  readonly noiseSource: UniformSource
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
export function answerOnDummy(
  dependencies: DummyDependencies,
  { query, ...request }: DummyRequest & { readonly query: Query },
  balances: Balances,
): Promise<Answer> {
  return practise(dependencies, request, balances, (...over) => askQuery(query, ...over, request))
}

/**
 * Answers several queries over made-up rows, as {@link answerOnDummy} does.
 * @throws Refusal as {@link answerOnDummy} does.
 */
export function answerBatchOnDummy(
  dependencies: DummyDependencies,
  { batch, ...request }: DummyRequest & { readonly batch: BatchQueries },
  balances: Balances,
): Promise<Answer> {
  return practise(dependencies, request, balances, (...over) => askBatch(batch, ...over, request))
}

/**
 * Plans twice: over the dataset, for the price and the refusals, and over the made-up rows, for the releases. The answer has
 * the fields of a real one, except for the receipt. It was not stored and is no replay. Its id cannot be that of a release,
 * which has hexadecimal digits only.
 */
async function practise(
  dependencies: DummyDependencies,
  { dataset, size, ...caller }: DummyRequest,
  balances: Balances,
  ask: (dataset: Dataset, limits: Limits) => Promise<Asked>,
): Promise<Answer> {
  const { dummies, noiseSource } = dependencies
  const { describe, price, question } = await ask(dataset, dependencies)
  return dummies.query(dataset, size, caller, async (table) => {
    const { plans } = await ask(table.dataset, { ...dependencies, engine: table.engine })
    const releases = await releaseAll(plans, { engine: table.engine, noiseSource }, () => setImmediate())
    // The price as it would be, beside the present balances.
    const document = {
      id: `dummy-${randomBytes(16).toString('hex')}`,
      dummy: true,
      dataset: dataset.id,
      datasetVersion: dataset.version,
      ...describe(releases),
      question,
      ...describePrice(price, balances),
      softwareVersion: SOFTWARE_VERSION,
      answeredAt: shownTime(new Date().toISOString(), dataset.timing),
    }
    return { body: JSON.stringify(document), replayed: false }
  })
}

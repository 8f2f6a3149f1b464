import { canonicalJson, sha256 } from '../ledger/canonical.ts'
import { populationAccount } from '../ledger/contract/budgets.ts'
import { addAmounts, amountNumbers } from '../privacy/accounting.ts'
import { entry } from '../privacy/must.ts'
import { awaitedWithinField } from '../privacy/refusal.ts'
import {
  type Answer,
  type AnswerDependencies,
  answerAllUnderCharge,
  type Batch,
  type Order,
  orderOfBatch,
} from './answer.ts'
import type { Limits } from './asked.ts'
import { type Balances, describePopulation, isCovered, type PopulationBalances } from './documents/costs.ts'
import { type AssumedAdversary, type PaidRequests, pricedBatch } from './preview.ts'
import { longestDelayMs } from './release-time.ts'

/*
 * Batches over several datasets of one population. Each of them is a batch of its dataset, with its own release and receipt. Only
 * the debit is common: the sum of their prices, since the same people are in each. See decision 67.
 */

/**
 * Answers batches about the datasets of a population under one debit, all of them or none.
 * @param batches by the same caller, each about another dataset
 * @returns the answers, in a document that is not stored: a repeat makes it of what is stored for each dataset
 * @throws Refusal, AnswerFailure as {@link answerAllUnderCharge} does.
 */
export async function answerAcross(
  dependencies: AnswerDependencies,
  population: string,
  batches: readonly Batch[],
): Promise<Answer> {
  const queries = batches.reduce((sum, each) => sum + each.queries.length, 0)
  const delaysMs = batches.reduce((sum, { dataset }) => sum + longestDelayMs(dataset.timing), 0)
  const withLongerLease = { ...dependencies, leaseMs: dependencies.leaseMs * queries + delaysMs }
  const named = { name: 'batch', dataset: populationAccount(population) } as const
  const { answers, costs, replayed } = await answerAllUnderCharge(
    withLongerLease,
    batches,
    named,
    async (trace) => {
      const orders: Order[] = []
      for (const [place, batch] of batches.entries())
        orders.push(await awaitedWithinField(fieldOf(place), () => orderOfBatch(dependencies, batch, trace)))
      return orders.map((order, place) => ({ ...order, ...asPart(batches, orders, place) }))
    },
  )
  const cost = JSON.stringify(amountNumbers(costs.reduce(addAmounts)))
  const parts = answers.map(({ body }) => body).join()
  return {
    body: `{"population":${JSON.stringify(population)},"cost":${cost},"batches":[${parts}]}`,
    replayed,
  }
}

function fieldOf(place: number): string {
  return `batches.${place}`
}

/**
 * The facts of an order as one of several. Without a chosen key it is the same request as if it was asked alone. A chosen key
 * belongs to all of them together: each has a key that no client can choose, and names the others.
 */
function asPart(batches: readonly Batch[], orders: readonly Order[], place: number): Partial<Order> {
  const { idempotencyKey } = entry(batches, place)
  const field = fieldOf(place)
  if (idempotencyKey === undefined) return { field }
  // As they were asked: a version of one dataset can change the request of its part, and must not change those of the others.
  const questions = orders.map(({ question }, index) => ({
    dataset: entry(batches, index).dataset.id,
    question,
  }))
  const request = { ...entry(orders, place).request, partOf: sha256(canonicalJson({ batches: questions })) }
  return { field, request, idempotencyKey: `${idempotencyKey} ${place + 1}` }
}

/**
 * Previews batches about the datasets of a population, with the sum that is debited from it.
 * @throws Refusal if a question does not fit its dataset.
 */
export async function previewAcross(
  asked: readonly {
    readonly batch: Parameters<typeof pricedBatch>[0]
    readonly balances: Balances
  }[],
  dependencies: Limits & PaidRequests,
  population: PopulationBalances,
  adversary: AssumedAdversary,
) {
  const previews: Awaited<ReturnType<typeof pricedBatch>>[] = []
  for (const [place, { batch, balances }] of asked.entries())
    previews.push(
      await awaitedWithinField(fieldOf(place), () => pricedBatch(batch, dependencies, balances, adversary)),
    )
  const cost = previews.map((each) => each.cost).reduce(addAmounts)
  const batches = previews.map(({ document }) => document)
  return {
    population: describePopulation(population),
    cost: amountNumbers(cost),
    price: amountNumbers(previews.map(({ price }) => price).reduce(addAmounts)),
    paid: batches.every(({ paid }) => paid),
    affordable: batches.every(({ affordable }) => affordable) && isCovered(cost, population),
    batches,
  }
}

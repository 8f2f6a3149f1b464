import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { z } from 'zod'
import { budgetReplacement, budgetReport, grantRequest } from '../../schemas/budgets/budget.ts'
import { changedDatasetParameters, datasetParameters } from '../../schemas/datasets/dataset.ts'
import { describeAllotment, describeBudget, describePopulation } from '../../src/answers/documents/costs.ts'
import { fixedDelta } from '../../src/datasets/registration/changes/join-population.ts'
import type { Registry } from '../../src/datasets/registration/registry.ts'
import { requireBalances, requireOpened } from '../../src/http/access/permitted-datasets.ts'
import { EVERYONE, principalOf } from '../../src/http/access/roles.ts'
import type { AnalystSpending, Budget, Budgets } from '../../src/ledger/contract/budgets.ts'
import {
  deltaFromWire,
  deltaNumber,
  epsilonFromWire,
  epsilonNumber,
  lossNumbers,
  MAX_BUDGET_EPSILON,
  NO_LOSS,
} from '../../src/privacy/loss.ts'
import { Refusal, refuseField } from '../../src/privacy/refusal.ts'
import { epsilonOfRho } from '../../src/privacy/zcdp-conversion.ts'

interface BudgetsOptions {
  readonly ledger: Budgets
  readonly registry: Registry
}

/** Budgets and grants. The budget of a withdrawn dataset stays readable. */
export const budgetsRoutes: FastifyPluginAsyncZod<BudgetsOptions> = async (app, { ledger, registry }) => {
  app.get('/v1/datasets/:dataset/budget', {
    config: { roles: EVERYONE },
    schema: {
      operationId: 'getBudget',
      tags: ['Budgets'],
      summary: 'Get the budget of a dataset',
      description:
        'Returns the cap, the amount spent and the amount left. Analysts also see their own allotment.',
      params: datasetParameters,
      response: { 200: budgetReport },
    },
    handler: async (request) => {
      const { dataset } = request.params
      const principal = principalOf(request)
      const { budget, analyst, population } = await requireBalances(ledger, principal, dataset)
      return {
        ...describeReport(budget, principal.role === 'analyst' ? analyst : undefined),
        ...(population && { population: describePopulation(population) }),
      }
    },
  })

  app.put('/v1/datasets/:dataset/budget', {
    config: { roles: ['custodian'] },
    schema: {
      operationId: 'replaceBudget',
      tags: ['Budgets'],
      summary: 'Replace a wrong cap',
      description:
        'Replaces the cap of a budget from which nothing was spent, by a smaller or larger one. Records it and its reason ' +
        'in the ledger.',
      params: changedDatasetParameters,
      body: budgetReplacement,
      response: { 200: budgetReport },
    },
    handler: async (request) => {
      const { name } = principalOf(request)
      const { reason, ...budget } = request.body
      return describeReport(await registry.replaceBudget(request.params.dataset, { budget, reason }, name))
    },
  })

  app.post('/v1/datasets/:dataset/grants', {
    config: { roles: ['custodian'] },
    schema: {
      operationId: 'grantBudget',
      tags: ['Budgets'],
      summary: 'Raise the cap of a budget',
      description: 'Records the grant and its reason in the ledger. A grant cannot be taken back.',
      params: datasetParameters,
      body: grantRequest,
      response: { 200: budgetReport },
    },
    handler: async (request) => {
      const { dataset } = request.params
      const budget = requireOpened(await ledger.budget(dataset), dataset)
      if (budget.population !== undefined && request.body.delta > 0) throw fixedDelta()
      return describeReport(
        requireOpened(await grant(ledger, dataset, request.body, principalOf(request).name), dataset),
      )
    },
  })
}

/**
 * Raises the cap of a dataset or a population.
 * @returns the new budget; `undefined` if there is none
 * @throws Refusal `invalid-request` for an amount of 0 or a cap above the largest
 */
export async function grant(
  ledger: Pick<Budgets, 'grant'>,
  account: string,
  { epsilon, delta, reason }: z.output<typeof grantRequest>,
  principal: string,
): Promise<Budget | undefined> {
  if (epsilon === 0 && delta === 0)
    throw refuseField('invalid-request', 'epsilon', 'must be greater than 0 unless delta is')
  const amount = {
    epsilonNano:
      epsilon === 0 ? NO_LOSS.epsilonNano : epsilonFromWire(epsilon, 'epsilon', MAX_BUDGET_EPSILON),
    deltaAtto: deltaFromWire(delta, 'delta'),
  }
  try {
    return await ledger.grant(account, amount, principal, reason)
  } catch (error) {
    if (error instanceof RangeError) throw capTooLarge(epsilon === 0 ? 'delta' : 'epsilon')
    throw error
  }
}

function capTooLarge(field: 'epsilon' | 'delta'): Refusal {
  const detail = `A budget has an epsilon of at most ${MAX_BUDGET_EPSILON} and a delta below 1.`
  return new Refusal('invalid-request', detail, [
    { field, rule: 'must not raise the cap above the largest budget' },
  ])
}

/** Describes a budget and its accounting, with the allotment of an analyst who has one. */
export function describeReport(budget: Budget, analyst?: AnalystSpending) {
  const { granted, cap, spent } = budget
  return {
    accounting: cap.accounting,
    granted: lossNumbers(granted),
    ...describeBudget(budget),
    ...(analyst && describeAllotment(analyst)),
    ...(spent.accounting === 'zcdp'
      ? {
          amountsTo: {
            epsilon: epsilonNumber(epsilonOfRho(spent.rhoPico, granted.deltaAtto)),
            delta: spent.rhoPico === 0n ? 0 : deltaNumber(granted.deltaAtto),
          },
        }
      : {}),
  }
}

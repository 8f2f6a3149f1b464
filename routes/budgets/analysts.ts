import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { z } from 'zod'
import { allotmentRequest, analystList, analystSpending } from '../../schemas/budgets/budget.ts'
import { analystParameters, datasetParameters } from '../../schemas/datasets/dataset.ts'
import { pageQuery } from '../../schemas/values.ts'
import { describeSpending } from '../../src/answers/documents/costs.ts'
import type { Authenticator } from '../../src/http/access/identity.ts'
import { permittedDataset, requireBalances, requireOpened } from '../../src/http/access/permitted-datasets.ts'
import { EVERYONE, principalOf } from '../../src/http/access/roles.ts'
import { pageOf } from '../../src/http/paging.ts'
import type { Budget, Budgets, NewAllotment } from '../../src/ledger/contract/budgets.ts'
import type { Chain } from '../../src/ledger/contract/chain.ts'
import { amountNumbers } from '../../src/privacy/accounting.ts'
import {
  deltaFromWire,
  epsilonFromWire,
  MAX_BUDGET_EPSILON,
  NO_LOSS,
  type PrivacyLoss,
} from '../../src/privacy/loss.ts'
import { Refusal, refuseField, unknownDataset } from '../../src/privacy/refusal.ts'

interface AnalystsOptions {
  readonly authenticator: Pick<Authenticator, 'hasAnalyst'>
  readonly ledger: Budgets & Chain
}

/** Spending and allotments of analysts. */
export const analystsRoutes: FastifyPluginAsyncZod<AnalystsOptions> = async (
  app,
  { authenticator, ledger },
) => {
  app.get(
    '/v1/datasets/:dataset/analysts',
    {
      config: { roles: EVERYONE },
      schema: {
        operationId: 'listAnalysts',
        tags: ['Budgets'],
        summary: 'List the spending of analysts',
        description:
          'Custodians and auditors see every analyst who has spent something or has an allotment. Analysts see themselves.',
        params: datasetParameters,
        querystring: pageQuery,
        response: { 200: analystList },
      },
    },
    async (request, reply) => {
      const principal = principalOf(request)
      const dataset = permittedDataset(principal, request.params.dataset)
      const spending =
        principal.role === 'analyst'
          ? [(await requireBalances(ledger, principal, dataset)).analyst]
          : requireOpened(await ledger.head(dataset), dataset).spending
      const { items, next } = pageOf(request, reply, spending, ({ principal: name }) => name)
      return { analysts: items.map(describeSpending), next }
    },
  )

  app.put(
    '/v1/datasets/:dataset/analysts/:analyst/allotment',
    {
      config: { roles: ['custodian'] },
      schema: {
        operationId: 'setAllotment',
        tags: ['Budgets'],
        summary: 'Set the allotment of an analyst',
        description:
          'Limits how much of the budget an analyst may spend. The cap of the budget still limits all analysts together, ' +
          'even if their allotments add up to more. An allotment cannot be lower than what the analyst has already spent. ' +
          'With epsilon 0 and delta 0 the analyst may spend nothing more.',
        params: analystParameters,
        body: allotmentRequest,
        response: { 200: analystSpending },
      },
    },
    async (request) => {
      const { analyst } = request.params
      const principal = principalOf(request)
      const dataset = permittedDataset(principal, request.params.dataset)
      const budget = requireOpened(await ledger.budget(dataset), dataset)
      await requireAnalyst(authenticator, analyst)
      const granted = allotted(request.body, budget)
      const { reason } = request.body
      return allot(ledger, { dataset, analyst, granted, principal: principal.name, reason })
    },
  )

  app.delete(
    '/v1/datasets/:dataset/analysts/:analyst/allotment',
    {
      config: { roles: ['custodian'] },
      schema: {
        operationId: 'removeAllotment',
        tags: ['Budgets'],
        summary: 'Remove the allotment of an analyst',
        description: 'Only the cap of the budget then limits the analyst.',
        params: analystParameters,
        response: { 200: analystSpending },
      },
    },
    async (request) => {
      const { analyst } = request.params
      const principal = principalOf(request)
      const dataset = permittedDataset(principal, request.params.dataset)
      requireOpened(await ledger.budget(dataset), dataset)
      await requireAnalyst(authenticator, analyst)
      return allot(ledger, { dataset, analyst, principal: principal.name, reason: 'lifted' })
    },
  )
}

/**
 * Converts the amount of an allotment.
 * @throws Refusal `invalid-request` for one that is out of range or buys nothing
 */
export function allotted(
  { epsilon, delta }: Pick<z.output<typeof allotmentRequest>, 'epsilon' | 'delta'>,
  { cap }: Budget,
): PrivacyLoss {
  if (epsilon === 0 && delta === 0) return NO_LOSS
  const granted = {
    epsilonNano: epsilonFromWire(epsilon, 'epsilon', MAX_BUDGET_EPSILON),
    deltaAtto: deltaFromWire(delta, 'delta'),
  }
  if (cap.accounting === 'zcdp' && delta === 0)
    throw refuseField('invalid-request', 'delta', 'must be greater than 0 under zcdp accounting')
  return granted
}

/**
 * Sets or removes an allotment on a dataset or a population.
 * @throws Refusal `allotment-below-spent`
 */
export async function allot(ledger: Pick<Budgets, 'allot'>, allotment: NewAllotment) {
  const outcome = await ledger.allot(allotment)
  switch (outcome.kind) {
    case 'allotted':
      return describeSpending(outcome.analyst)
    case 'below-spent':
      throw new Refusal(
        'allotment-below-spent',
        `${allotment.analyst} has already spent more than this allotment. Nothing was changed.`,
        [{ field: 'epsilon', rule: 'must, with delta, cover what the analyst has spent' }],
        { spent: amountNumbers(outcome.analyst.spent) },
      )
    case 'no-budget':
      throw unknownDataset(allotment.dataset)
  }
}

/** @throws Refusal `unknown-analyst`, so that a misspelt name is noticed. */
export async function requireAnalyst(
  authenticator: AnalystsOptions['authenticator'],
  name: string,
): Promise<void> {
  if (!(await authenticator.hasAnalyst(name)))
    throw new Refusal('unknown-analyst', `No analyst named ${name} can sign in.`)
}

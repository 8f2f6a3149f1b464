import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { allotmentRequest, analystList, analystSpending } from '../schemas/budget.ts'
import { analystParameters, datasetParameters } from '../schemas/dataset.ts'
import { problemResponses } from '../schemas/problem.ts'
import type { Authenticator } from '../src/access/authenticator.ts'
import { describeSpending } from '../src/answers/charge.ts'
import type { Ledger, NewAllotment } from '../src/ledger/ledger.ts'
import { amountNumbers } from '../src/privacy/accounting.ts'
import { deltaFromWire, epsilonFromWire, MAX_BUDGET_EPSILON, NO_LOSS } from '../src/privacy/loss.ts'
import { Refusal, refuseField, unknownDataset } from '../src/privacy/refusal.ts'
import { accessFor, principalOf } from './access.ts'
import { permittedDataset, requireBalances, requireOpened } from './require-dataset.ts'

export interface AnalystsOptions {
  readonly authenticator: Authenticator
  readonly ledger: Ledger
}

/** Spending and allotments of analysts. */
export const analystsRoutes: FastifyPluginAsyncZod<AnalystsOptions> = async (
  app,
  { authenticator, ledger },
) => {
  const everyone = accessFor(authenticator, 'analyst', 'custodian', 'auditor')
  const custodian = accessFor(authenticator, 'custodian')

  app.get(
    '/v1/datasets/:dataset/analysts',
    {
      onRequest: everyone.onRequest,
      schema: {
        operationId: 'listAnalysts',
        tags: ['Budgets'],
        summary: 'List the spending of analysts',
        description:
          'Custodians and auditors see every analyst who has spent something or has an allotment. Analysts see themselves.',
        security: everyone.security,
        params: datasetParameters,
        response: { 200: analystList, ...problemResponses },
      },
    },
    async (request) => {
      const principal = principalOf(request)
      const dataset = permittedDataset(principal, request.params.dataset)
      if (principal.role === 'analyst') {
        const { analyst } = await requireBalances(ledger, principal, dataset)
        return { analysts: [describeSpending(analyst)] }
      }
      const { spending } = requireOpened(await ledger.head(dataset), dataset)
      return { analysts: spending.map(describeSpending) }
    },
  )

  app.put(
    '/v1/datasets/:dataset/analysts/:analyst/allotment',
    {
      onRequest: custodian.onRequest,
      schema: {
        operationId: 'setAllotment',
        tags: ['Budgets'],
        summary: 'Set the allotment of an analyst',
        description:
          'Limits how much of the budget an analyst may spend. The cap of the budget still limits all analysts together, ' +
          'even if their allotments add up to more. An allotment cannot be lower than what the analyst has already spent. ' +
          'With epsilon 0 and delta 0 the analyst may spend nothing more.',
        security: custodian.security,
        params: analystParameters,
        body: allotmentRequest,
        response: { 200: analystSpending, ...problemResponses },
      },
    },
    async (request) => {
      const { analyst } = request.params
      const principal = principalOf(request)
      const dataset = permittedDataset(principal, request.params.dataset)
      const { cap } = requireOpened(await ledger.budget(dataset), dataset)
      const { epsilon, delta, reason } = request.body
      await requireAnalyst(authenticator, analyst)
      const nothingMore = epsilon === 0 && delta === 0
      const granted = nothingMore
        ? NO_LOSS
        : {
            epsilonNano: epsilonFromWire(epsilon, 'epsilon', MAX_BUDGET_EPSILON),
            deltaAtto: deltaFromWire(delta, 'delta'),
          }
      if (!nothingMore && cap.accounting === 'zcdp' && delta === 0)
        throw refuseField('invalid-request', 'delta', 'must be greater than 0 under zcdp accounting')
      return allot(ledger, { dataset, analyst, granted, principal: principal.name, reason })
    },
  )

  app.delete(
    '/v1/datasets/:dataset/analysts/:analyst/allotment',
    {
      onRequest: custodian.onRequest,
      schema: {
        operationId: 'removeAllotment',
        tags: ['Budgets'],
        summary: 'Remove the allotment of an analyst',
        description: 'Only the cap of the budget then limits the analyst.',
        security: custodian.security,
        params: analystParameters,
        response: { 200: analystSpending, ...problemResponses },
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

async function allot(ledger: Ledger, allotment: NewAllotment) {
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
async function requireAnalyst(authenticator: Authenticator, name: string): Promise<void> {
  if (!(await authenticator.hasAnalyst(name)))
    throw new Refusal('unknown-analyst', `No analyst named ${name} can sign in.`)
}

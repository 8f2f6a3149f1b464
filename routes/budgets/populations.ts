import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { z } from 'zod'
import { grantRequest } from '../../schemas/budgets/budget.ts'
import {
  memberParameters,
  population,
  populationList,
  populationParameters,
  populationRequest,
} from '../../schemas/budgets/populations.ts'
import { pageQuery } from '../../schemas/values.ts'
import { describeBudget } from '../../src/answers/documents/costs.ts'
import { fixedDelta } from '../../src/datasets/registration/changes/join-population.ts'
import { grantedBy } from '../../src/datasets/registration/changes/registration.ts'
import type { Registry } from '../../src/datasets/registration/registry.ts'
import {
  balancesOf,
  mayUsePopulation,
  requireAllowedToJoin,
  requirePopulation,
} from '../../src/http/access/permitted-datasets.ts'
import { mayUse, type Principal } from '../../src/http/access/principal.ts'
import { EVERYONE, principalOf } from '../../src/http/access/roles.ts'
import { pageOf } from '../../src/http/paging.ts'
import {
  type Budgets,
  isPopulationAccount,
  populationAccount,
  populationId,
} from '../../src/ledger/contract/budgets.ts'
import type { Chain } from '../../src/ledger/contract/chain.ts'
import { lossFromEvent, openedFor } from '../../src/ledger/event.ts'
import { amountNumbers } from '../../src/privacy/accounting.ts'
import { isSameLoss } from '../../src/privacy/loss.ts'
import { must } from '../../src/privacy/must.ts'
import { Refusal } from '../../src/privacy/refusal.ts'
import { describeReport, grant } from './budgets.ts'

type Ledger = Budgets & Chain

interface PopulationsOptions {
  readonly ledger: Ledger
  readonly registry: Pick<Registry, 'joinPopulation'>
}

const tags = ['Populations']

/** Populations: the budget that datasets over the same people share. See decision 67. */
export const populationsRoutes: FastifyPluginAsyncZod<PopulationsOptions> = async (app, options) => {
  await app.register(createRoutes, options)
  await app.register(readRoutes, options)
}

/** Creating a population, raising its cap and adding datasets. */
const createRoutes: FastifyPluginAsyncZod<PopulationsOptions> = async (app, { ledger, registry }) => {
  app.post('/v1/populations', {
    config: { roles: ['custodian'] },
    schema: {
      operationId: 'createPopulation',
      tags,
      summary: 'Create a population',
      description:
        'Opens the budget that datasets over the same people share: whatever one of them spends, the population spends too. ' +
        'Sending the same request again changes nothing. A population is never removed. Needs the key of a custodian for all ' +
        'datasets.',
      body: populationRequest,
      response: {
        200: population.describe('The population had been created with these facts.'),
        201: population.describe('The population was created.'),
      },
    },
    handler: async (request, reply) => {
      const principal = principalOf(request)
      requireAllowedToJoin(principal, { population: request.body.id })
      const created = await create(ledger, request.body, principal.name)
      if (created) reply.header('location', `/v1/populations/${request.body.id}`)
      return reply.code(created ? 201 : 200).send(await describe(ledger, principal, request.body.id))
    },
  })

  app.post('/v1/populations/:population/grants', {
    config: { roles: ['custodian'] },
    schema: {
      operationId: 'grantPopulation',
      tags,
      summary: 'Raise the cap of a population',
      description:
        'Records the grant and its reason in the ledger. A grant cannot be taken back. The delta is fixed.',
      params: populationParameters,
      body: grantRequest,
      response: { 200: population },
    },
    handler: async (request) => {
      const principal = principalOf(request)
      const id = request.params.population
      requireAllowedToJoin(principal, { population: id })
      await requirePopulation(ledger, principal, id)
      if (request.body.delta > 0) throw fixedDelta()
      await grant(ledger, populationAccount(id), request.body, principal.name)
      return describe(ledger, principal, id)
    },
  })

  app.put('/v1/populations/:population/datasets/:dataset', {
    config: { roles: ['custodian'] },
    schema: {
      operationId: 'joinPopulation',
      tags,
      summary: 'Add a dataset to a population, for ever',
      description:
        'All that the dataset and its analysts ever spent counts on the population from then on, and is refused if it does not fit. ' +
        'A dataset never leaves its population. Needs the key of a custodian for all datasets.',
      params: memberParameters,
      response: { 200: population },
    },
    handler: async (request) => {
      const principal = principalOf(request)
      const { population: id, dataset } = request.params
      requireAllowedToJoin(principal, { population: id })
      await requirePopulation(ledger, principal, id)
      await registry.joinPopulation(dataset, id, principal.name)
      return describe(ledger, principal, id)
    },
  })
}

/** Lists of populations, and their budgets. */
const readRoutes: FastifyPluginAsyncZod<PopulationsOptions> = async (app, { ledger }) => {
  app.get('/v1/populations', {
    config: { roles: EVERYONE },
    schema: {
      operationId: 'listPopulations',
      tags,
      summary: 'List the populations',
      description: 'A key that is limited to datasets sees the populations of these.',
      querystring: pageQuery,
      response: { 200: populationList },
    },
    handler: async (request, reply) => {
      const principal = principalOf(request)
      const accounts = (await ledger.heads()).map(({ dataset }) => dataset).filter(isPopulationAccount)
      const found = await Promise.all(
        accounts.map(async (account) => ({ account, head: await ledger.head(account) })),
      )
      const usable = found.flatMap(({ account, head }) =>
        head !== undefined && mayUsePopulation(head, principal)
          ? [{ id: populationId(account), budget: describeBudget(head.budget) }]
          : [],
      )
      const { items, next } = pageOf(request, reply, usable, ({ id }) => id)
      return { populations: items, next }
    },
  })

  app.get('/v1/populations/:population', {
    config: { roles: EVERYONE },
    schema: {
      operationId: 'getPopulation',
      tags,
      summary: 'Get a population with its budget and datasets',
      description: 'Analysts also see their own allotment.',
      params: populationParameters,
      response: { 200: population },
    },
    handler: async (request) => describe(ledger, principalOf(request), request.params.population),
  })
}

/**
 * Creates a population.
 * @returns false if it had been created with the same facts, apart from later grants
 * @throws Refusal `population-exists` for other facts
 */
async function create(
  ledger: Ledger,
  { id, accounting, privacyUnit, budget }: z.output<typeof populationRequest>,
  principal: string,
): Promise<boolean> {
  const account = populationAccount(id)
  const granted = grantedBy(budget, accounting, 'budget.')
  const opened = await ledger.openBudget(
    account,
    { accounting, granted, neighbours: 'add-remove', privacyUnit: { kind: privacyUnit } },
    principal,
  )
  if (opened.kind === 'opened') return true
  const { cap } = must(await ledger.budget(account), 'the budget of a population')
  const before = await openedFor(ledger, account)
  const isSame = isSameLoss(lossFromEvent(before.loss), granted) && cap.accounting === accounting
  if (isSame && unitOf(before) === privacyUnit) return false
  throw new Refusal(
    'population-exists',
    `The population ${id} was created with another privacy unit, accounting or budget. Nothing was changed.`,
    [{ field: 'id', rule: 'must be a new id, unless the request is identical' }],
  )
}

function unitOf({ privacyUnit }: Awaited<ReturnType<typeof openedFor>>): 'person' | 'row' {
  return privacyUnit === undefined ? 'row' : 'person'
}

async function describe(ledger: Ledger, principal: Principal, id: string) {
  const { budget, members = [] } = await requirePopulation(ledger, principal, id)
  const account = populationAccount(id)
  const analyst =
    principal.role === 'analyst' ? (await balancesOf(ledger, principal, account))?.analyst : undefined
  return {
    id,
    privacyUnit: unitOf(await openedFor(ledger, account)),
    neighbours: 'add-remove' as const,
    ...describeReport(budget, analyst),
    datasets: members
      .filter(({ dataset }) => mayUse(principal, dataset))
      .map(({ dataset, spent }) => ({ dataset, spent: amountNumbers(spent) })),
  }
}

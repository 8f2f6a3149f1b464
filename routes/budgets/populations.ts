import { Readable } from 'node:stream'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { z } from 'zod'
import { allotmentRequest, analystList, analystSpending, grantRequest } from '../../schemas/budgets/budget.ts'
import { exportedEvents, ledgerHead, verification } from '../../schemas/budgets/ledger.ts'
import {
  memberParameters,
  population,
  populationAnalystParameters,
  populationList,
  populationParameters,
  populationRequest,
} from '../../schemas/budgets/populations.ts'
import { pageQuery } from '../../schemas/values.ts'
import { describeBudget, describeReceipt, describeSpending } from '../../src/answers/documents/costs.ts'
import { fixedDelta } from '../../src/datasets/registration/changes/join-population.ts'
import { grantedBy } from '../../src/datasets/registration/changes/registration.ts'
import type { Registry } from '../../src/datasets/registration/registry.ts'
import type { Authenticator } from '../../src/http/access/identity.ts'
import {
  balancesOf,
  mayUsePopulation,
  permittedDataset,
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
import type { Chain, LedgerHead } from '../../src/ledger/contract/chain.ts'
import type { Releases } from '../../src/ledger/contract/releases.ts'
import type { Sessions } from '../../src/ledger/contract/sessions.ts'
import { lossFromEvent, openedFor } from '../../src/ledger/event.ts'
import { exportLines, verifyDataset } from '../../src/ledger/exported.ts'
import type { HeadSigner } from '../../src/ledger/signature.ts'
import { amountNumbers } from '../../src/privacy/accounting.ts'
import type { PrivacyLoss } from '../../src/privacy/loss.ts'
import { must } from '../../src/privacy/must.ts'
import { Refusal } from '../../src/privacy/refusal.ts'
import { allot, allotted, requireAnalyst } from './analysts.ts'
import { describeReport, grant } from './budgets.ts'
import { describeVerification, sendLines } from './ledger.ts'

type Ledger = Budgets & Chain & Pick<Sessions & Releases, 'sessionAnswers' | 'release'>

interface PopulationsOptions {
  readonly authenticator: Pick<Authenticator, 'hasAnalyst'>
  readonly ledger: Ledger
  readonly registry: Pick<Registry, 'joinPopulation'>
  /** Signs heads, if given. */
  readonly signer?: HeadSigner
}

const tags = ['Populations']

/** Populations: the budget that datasets over the same people share. See decision 67. */
export const populationsRoutes: FastifyPluginAsyncZod<PopulationsOptions> = async (app, options) => {
  await app.register(createRoutes, options)
  await app.register(readRoutes, options)
  await app.register(allotmentRoutes, options)
  await app.register(chainRoutes, options)
}

/** Creating a population, raising its cap and adding datasets. */
const createRoutes: FastifyPluginAsyncZod<PopulationsOptions> = async (app, { ledger, registry }) => {
  app.post(
    '/v1/populations',
    {
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
    },
    async (request, reply) => {
      const principal = principalOf(request)
      requireAllowedToJoin(principal, { population: request.body.id })
      const created = await create(ledger, request.body, principal.name)
      if (created) reply.header('location', `/v1/populations/${request.body.id}`)
      return reply.code(created ? 201 : 200).send(await describe(ledger, principal, request.body.id))
    },
  )

  app.post(
    '/v1/populations/:population/grants',
    {
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
    },
    async (request) => {
      const principal = principalOf(request)
      const id = request.params.population
      requireAllowedToJoin(principal, { population: id })
      await requirePopulation(ledger, principal, id)
      if (request.body.delta > 0) throw fixedDelta()
      await grant(ledger, populationAccount(id), request.body, principal.name)
      return describe(ledger, principal, id)
    },
  )

  app.put(
    '/v1/populations/:population/datasets/:dataset',
    {
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
    },
    async (request) => {
      const principal = principalOf(request)
      const { population: id } = request.params
      const dataset = permittedDataset(principal, request.params.dataset)
      requireAllowedToJoin(principal, { population: id })
      await requirePopulation(ledger, principal, id)
      await registry.joinPopulation(dataset, id, principal.name)
      return describe(ledger, principal, id)
    },
  )
}

/** Lists of populations, and their budgets. */
const readRoutes: FastifyPluginAsyncZod<PopulationsOptions> = async (app, { ledger }) => {
  app.get(
    '/v1/populations',
    {
      config: { roles: EVERYONE },
      schema: {
        operationId: 'listPopulations',
        tags,
        summary: 'List the populations',
        description: 'A key that is limited to datasets sees the populations of these.',
        querystring: pageQuery,
        response: { 200: populationList },
      },
    },
    async (request, reply) => {
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
  )

  app.get(
    '/v1/populations/:population',
    {
      config: { roles: EVERYONE },
      schema: {
        operationId: 'getPopulation',
        tags,
        summary: 'Get a population with its budget and datasets',
        description: 'Analysts also see their own allotment.',
        params: populationParameters,
        response: { 200: population },
      },
    },
    async (request) => describe(ledger, principalOf(request), request.params.population),
  )
}

/** Spending and allotments of analysts, over all datasets of a population. */
const allotmentRoutes: FastifyPluginAsyncZod<PopulationsOptions> = async (app, { authenticator, ledger }) => {
  app.get(
    '/v1/populations/:population/analysts',
    {
      config: { roles: EVERYONE },
      schema: {
        operationId: 'listAnalystsOfPopulation',
        tags,
        summary: 'List the spending of analysts on a population',
        description: 'Analysts see themselves.',
        params: populationParameters,
        querystring: pageQuery,
        response: { 200: analystList },
      },
    },
    async (request, reply) => {
      const principal = principalOf(request)
      const { population: id } = request.params
      const head = await requirePopulation(ledger, principal, id)
      if (principal.role !== 'analyst') requireAllMembers(head, principal)
      const { spending } = head
      const account = populationAccount(id)
      const shown =
        principal.role === 'analyst'
          ? [must(await ledger.analystSpending(account, principal.name), 'the spending on a population')]
          : spending
      const { items, next } = pageOf(request, reply, shown, ({ principal: name }) => name)
      return { analysts: items.map(describeSpending), next }
    },
  )

  app.put(
    '/v1/populations/:population/analysts/:analyst/allotment',
    {
      config: { roles: ['custodian'] },
      schema: {
        tags,
        operationId: 'setPopulationAllotment',
        summary: 'Set the allotment of an analyst on a population',
        description:
          'Limits how much of the budget an analyst may spend on all datasets of the population together.',
        params: populationAnalystParameters,
        body: allotmentRequest,
        response: { 200: analystSpending },
      },
    },
    async (request) => {
      const { analyst, population: id } = request.params
      const principal = principalOf(request)
      requireAllowedToJoin(principal, { population: id })
      const { budget } = await requirePopulation(ledger, principal, id)
      await requireAnalyst(authenticator, analyst)
      const { reason } = request.body
      const granted = allotted(request.body, budget)
      const dataset = populationAccount(id)
      return allot(ledger, { dataset, analyst, granted, principal: principal.name, reason })
    },
  )

  app.delete(
    '/v1/populations/:population/analysts/:analyst/allotment',
    {
      config: { roles: ['custodian'] },
      schema: {
        tags,
        operationId: 'removePopulationAllotment',
        summary: 'Remove the allotment of an analyst on a population',
        params: populationAnalystParameters,
        response: { 200: analystSpending },
      },
    },
    async (request) => {
      const { analyst, population: id } = request.params
      const principal = principalOf(request)
      requireAllowedToJoin(principal, { population: id })
      await requirePopulation(ledger, principal, id)
      await requireAnalyst(authenticator, analyst)
      const dataset = populationAccount(id)
      return allot(ledger, { dataset, analyst, principal: principal.name, reason: 'lifted' })
    },
  )
}

/** The chain of a population, which records what it was debited and why. */
const chainRoutes: FastifyPluginAsyncZod<PopulationsOptions> = async (app, { ledger, signer }) => {
  app.get(
    '/v1/populations/:population/ledger/head',
    {
      config: { roles: ['analyst', 'auditor', 'custodian'] },
      schema: {
        operationId: 'getPopulationHead',
        tags,
        summary: 'Get the head of the hash chain of a population',
        params: populationParameters,
        response: { 200: ledgerHead },
      },
    },
    async (request) => {
      const { population: id } = request.params
      const head = await requirePopulation(ledger, principalOf(request), id)
      const account = populationAccount(id)
      return {
        dataset: account,
        ...describeReceipt(signer, account, head),
        publicKey: signer?.publicKey,
      }
    },
  )

  app.get(
    '/v1/populations/:population/ledger/export',
    {
      config: { roles: ['auditor', 'custodian'] },
      schema: {
        operationId: 'exportPopulationLedger',
        tags,
        summary: 'Export all events of a population',
        description:
          'JSON Lines, oldest first, as of a dataset. `member` in an event refers to the event of the dataset that was recorded ' +
          'with it.',
        params: populationParameters,
        response: { 200: exportedEvents },
      },
    },
    async (request, reply) => {
      const { population: id } = request.params
      requireAllMembers(await requirePopulation(ledger, principalOf(request), id), principalOf(request))
      return sendLines(reply, Readable.from(exportLines(ledger, populationAccount(id))))
    },
  )

  app.get(
    '/v1/populations/:population/ledger/verification',
    {
      config: { roles: ['auditor', 'custodian'] },
      schema: {
        operationId: 'verifyPopulationLedger',
        tags,
        summary: 'Verify the hash chain and the balances of a population',
        description:
          'As for a dataset. Also compares each debit with the stored charge of the dataset, and the balances with the sums of those of ' +
          'all its datasets.',
        params: populationParameters,
        response: { 200: verification },
      },
    },
    async (request) => {
      const { population: id } = request.params
      await requirePopulation(ledger, principalOf(request), id)
      return describeVerification(must(await verifyDataset(ledger, populationAccount(id)), 'a population'))
    },
  )
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

function isSameLoss(one: PrivacyLoss, other: PrivacyLoss): boolean {
  return one.epsilonNano === other.epsilonNano && one.deltaAtto === other.deltaAtto
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

/**
 * Requires that a principal may use all datasets of a population, before it sees who spent on them and when.
 * @throws Refusal `forbidden`
 */
function requireAllMembers({ members = [] }: LedgerHead, principal: Principal): void {
  if (members.every(({ dataset }) => mayUse(principal, dataset))) return
  throw new Refusal('forbidden', 'The population has datasets that the key is not permitted to use.')
}

import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { z } from 'zod'
import { allotmentRequest, analystList, analystSpending } from '../../schemas/budgets/budget.ts'
import {
  exportedEvents,
  ledgerHead,
  verification as verificationSchema,
} from '../../schemas/budgets/ledger.ts'
import { populationAnalystParameters, populationParameters } from '../../schemas/budgets/populations.ts'
import { analystParameters, datasetParameters } from '../../schemas/datasets/dataset.ts'
import { pageQuery } from '../../schemas/values.ts'
import { describeReceipt, describeSpending } from '../../src/answers/documents/costs.ts'
import type { Authenticator } from '../../src/http/access/identity.ts'
import { type NamedAccount, requireAccount } from '../../src/http/access/permitted-datasets.ts'
import { EVERYONE, principalOf } from '../../src/http/access/roles.ts'
import { pageOf } from '../../src/http/paging.ts'
import type { Budget, Budgets, NewAllotment } from '../../src/ledger/contract/budgets.ts'
import type { Chain, ChainHead } from '../../src/ledger/contract/chain.ts'
import type { Releases } from '../../src/ledger/contract/releases.ts'
import type { Sessions } from '../../src/ledger/contract/sessions.ts'
import { type DatasetFindings, exportLines, verifyDataset } from '../../src/ledger/exported.ts'
import type { HeadSigner } from '../../src/ledger/signature.ts'
import { amountNumbers } from '../../src/privacy/accounting.ts'
import {
  deltaFromWire,
  epsilonFromWire,
  lossNumbers,
  MAX_BUDGET_EPSILON,
  NO_LOSS,
  type PrivacyLoss,
} from '../../src/privacy/loss.ts'
import { must } from '../../src/privacy/must.ts'
import { Refusal, refuseField, unknownDataset } from '../../src/privacy/refusal.ts'

interface AccountsOptions {
  readonly authenticator: Pick<Authenticator, 'hasAnalyst'>
  readonly ledger: Budgets & Chain & Pick<Sessions & Releases, 'sessionAnswers' | 'release'>
  /** Signs heads, if given. */
  readonly signer?: HeadSigner
}

/** The kind of an account: a dataset's or a population's, and how the API describes the same operations on each. */
interface Holder {
  readonly path: string
  readonly parameters: z.ZodType<NamedAccount>
  readonly analystParameters: z.ZodType<NamedAccount & { readonly analyst: string }>
  readonly tags: { readonly budget: string; readonly chain: string }
  readonly texts: Readonly<
    Record<
      'analysts' | 'setAllotment' | 'removeAllotment' | 'head' | 'export' | 'verification',
      { readonly operationId: string; readonly summary: string; readonly description?: string }
    >
  >
}

const DATASET: Holder = {
  path: '/v1/datasets/:dataset',
  parameters: datasetParameters,
  analystParameters,
  tags: { budget: 'Budgets', chain: 'Ledger' },
  texts: {
    analysts: {
      operationId: 'listAnalysts',
      summary: 'List the spending of analysts',
      description:
        'Custodians and auditors see every analyst who has spent something or has an allotment. Analysts see themselves.',
    },
    setAllotment: {
      operationId: 'setAllotment',
      summary: 'Set the allotment of an analyst',
      description:
        'Limits how much of the budget an analyst may spend. The cap of the budget still limits all analysts together, ' +
        'even if their allotments add up to more. An allotment cannot be lower than what the analyst has already spent. ' +
        'With epsilon 0 and delta 0 the analyst may spend nothing more.',
    },
    removeAllotment: {
      operationId: 'removeAllotment',
      summary: 'Remove the allotment of an analyst',
      description: 'Only the cap of the budget then limits the analyst.',
    },
    head: {
      operationId: 'getLedgerHead',
      summary: 'Get the head of the hash chain',
      description:
        'Returns the newest event, signed if the service has a signing key. Store it outside the service: an export that ' +
        'lacks this event has been truncated.',
    },
    export: {
      operationId: 'exportLedger',
      summary: 'Export all events',
      description:
        'JSON Lines, oldest first. Each line has an `event` and its `hash`, the SHA-256 of the bytes of `event` in that ' +
        'line. Each event contains the hash of the event before it. A line of a charged, shared or session question has ' +
        'the `request` as well, a text whose SHA-256 is the `requestHash` of the event.',
    },
    verification: {
      operationId: 'verifyLedger',
      summary: 'Verify the hash chain and the balances',
      description:
        'Recomputes every hash and every balance from the events, compares stored charges, requests and answers with them, recomputes ' +
        'answers that follow from others, and reports the first event that does not match. Events missing at the end are only detected by comparison with a ' +
        '`headHash` that was noted earlier.',
    },
  },
}

const POPULATION: Holder = {
  path: '/v1/populations/:population',
  parameters: populationParameters,
  analystParameters: populationAnalystParameters,
  tags: { budget: 'Populations', chain: 'Populations' },
  texts: {
    analysts: {
      operationId: 'listAnalystsOfPopulation',
      summary: 'List the spending of analysts on a population',
      description: 'Analysts see themselves.',
    },
    setAllotment: {
      operationId: 'setPopulationAllotment',
      summary: 'Set the allotment of an analyst on a population',
      description:
        'Limits how much of the budget an analyst may spend on all datasets of the population together.',
    },
    removeAllotment: {
      operationId: 'removePopulationAllotment',
      summary: 'Remove the allotment of an analyst on a population',
    },
    head: {
      operationId: 'getPopulationHead',
      summary: 'Get the head of the hash chain of a population',
    },
    export: {
      operationId: 'exportPopulationLedger',
      summary: 'Export all events of a population',
      description:
        'JSON Lines, oldest first, as of a dataset. `member` in an event refers to the event of the dataset that was recorded ' +
        'with it.',
    },
    verification: {
      operationId: 'verifyPopulationLedger',
      summary: 'Verify the hash chain and the balances of a population',
      description:
        'As for a dataset. Also compares each debit with the stored charge of the dataset, and the balances with the sums of those of ' +
        'all its datasets.',
    },
  },
}

/**
 * The account of a dataset, and that of a population: allotments of analysts, and the hash chain. They stay readable for a
 * withdrawn dataset.
 */
export const accountsRoutes: FastifyPluginAsyncZod<AccountsOptions> = async (app, options) => {
  for (const holder of [DATASET, POPULATION]) {
    await app.register(allotmentRoutes, { ...options, holder })
    await app.register(chainRoutes, { ...options, holder })
  }
}

/** Spending and allotments of analysts. */
const allotmentRoutes: FastifyPluginAsyncZod<AccountsOptions & { readonly holder: Holder }> = async (
  app,
  { authenticator, ledger, holder },
) => {
  const { path, parameters, texts } = holder
  const tags = [holder.tags.budget]

  app.get(`${path}/analysts`, {
    config: { roles: EVERYONE },
    schema: {
      ...texts.analysts,
      tags,
      params: parameters,
      querystring: pageQuery,
      response: { 200: analystList },
    },
    handler: async (request, reply) => {
      const principal = principalOf(request)
      const isAnalyst = principal.role === 'analyst'
      const use = isAnalyst ? 'see' : 'see-all'
      const { account, head } = await requireAccount(ledger, principal, request.params, use)
      const spending = isAnalyst
        ? [must(await ledger.analystSpending(account, principal.name), 'the spending of an analyst')]
        : head.spending
      const { items, next } = pageOf(request, reply, spending, ({ principal: name }) => name)
      return { analysts: items.map(describeSpending), next }
    },
  })

  app.put(`${path}/analysts/:analyst/allotment`, {
    config: { roles: ['custodian'] },
    schema: {
      ...texts.setAllotment,
      tags,
      params: holder.analystParameters,
      body: allotmentRequest,
      response: { 200: analystSpending },
    },
    handler: async (request) => {
      const { analyst } = request.params
      const principal = principalOf(request)
      const { account, head } = await requireAccount(ledger, principal, request.params, 'change')
      await requireAnalyst(authenticator, analyst)
      const granted = allotted(request.body, head.budget)
      const { reason } = request.body
      return allot(ledger, { dataset: account, analyst, granted, principal: principal.name, reason })
    },
  })

  app.delete(`${path}/analysts/:analyst/allotment`, {
    config: { roles: ['custodian'] },
    schema: {
      ...texts.removeAllotment,
      tags,
      params: holder.analystParameters,
      response: { 200: analystSpending },
    },
    handler: async (request) => {
      const { analyst } = request.params
      const principal = principalOf(request)
      const { account } = await requireAccount(ledger, principal, request.params, 'change')
      await requireAnalyst(authenticator, analyst)
      return allot(ledger, { dataset: account, analyst, principal: principal.name, reason: 'lifted' })
    },
  })
}

/** The head of a chain, its export and its verification. */
const chainRoutes: FastifyPluginAsyncZod<AccountsOptions & { readonly holder: Holder }> = async (
  app,
  { ledger, signer, holder },
) => {
  const { path, parameters: params, texts } = holder
  const tags = [holder.tags.chain]

  app.get(`${path}/ledger/head`, {
    config: { roles: EVERYONE },
    schema: { ...texts.head, tags, params, response: { 200: ledgerHead } },
    handler: async (request) => {
      const { account, head } = await requireAccount(ledger, principalOf(request), request.params, 'see')
      return describeHead(signer, { ...head, dataset: account })
    },
  })

  app.get(`${path}/ledger/export`, {
    config: { roles: ['auditor', 'custodian'] },
    schema: { ...texts.export, tags, params, response: { 200: exportedEvents } },
    handler: async (request, reply) => {
      const { account } = await requireAccount(ledger, principalOf(request), request.params, 'see-all')
      return sendExport(reply, ledger, account)
    },
  })

  app.get(`${path}/ledger/verification`, {
    config: { roles: ['auditor', 'custodian'] },
    schema: { ...texts.verification, tags, params, response: { 200: verificationSchema } },
    handler: async (request) => {
      const { account } = await requireAccount(ledger, principalOf(request), request.params, 'see-all')
      return describeVerification(must(await verifyDataset(ledger, account), 'the chain of an account'))
    },
  })
}

/** Describes the head of a chain, signed if the service has a signing key. */
export function describeHead(signer: HeadSigner | undefined, head: ChainHead) {
  const { dataset } = head
  return { dataset, ...describeReceipt(signer, dataset, head), publicKey: signer?.publicKey }
}

/** Sends all events of a chain as JSON Lines. */
export function sendExport(
  reply: FastifyReply,
  ledger: Parameters<typeof exportLines>[0],
  chain: string,
): FastifyReply {
  return reply.type('application/x-ndjson').send(Readable.from(exportLines(ledger, chain)))
}

function describeVerification({ verification, requests, inferred = 0 }: DatasetFindings) {
  if (verification.kind === 'broken') {
    const { sequence, reason } = verification
    return { sound: false as const, sequence, reason }
  }
  const { events, headHash, budget, spending } = verification
  return {
    sound: true as const,
    events,
    requests: requests.verified,
    inferred,
    headHash,
    granted: lossNumbers(budget.granted),
    cap: amountNumbers(budget.cap),
    spent: amountNumbers(budget.spent),
    analysts: spending.map(describeSpending),
  }
}

/**
 * Converts the amount of an allotment.
 * @throws Refusal `invalid-request` for one that is out of range or buys nothing
 */
function allotted(
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
 * Sets or removes an allotment.
 * @throws Refusal `allotment-below-spent`
 */
async function allot(ledger: Pick<Budgets, 'allot'>, allotment: NewAllotment) {
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
async function requireAnalyst(authenticator: AccountsOptions['authenticator'], name: string): Promise<void> {
  if (!(await authenticator.hasAnalyst(name)))
    throw new Refusal('unknown-analyst', `No analyst named ${name} can sign in.`)
}

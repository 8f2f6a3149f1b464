import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { budget, grantRequest } from '../schemas/budget.ts'
import { datasetParameters } from '../schemas/dataset.ts'
import {
  exportedEvents,
  ledgerPage,
  ledgerQuery,
  verification as verificationSchema,
} from '../schemas/ledger.ts'
import { problemResponses } from '../schemas/problem.ts'
import type { KeyRing } from '../src/access/keys.ts'
import { describeBudget } from '../src/answer.ts'
import type { Ledger, LedgerEntry } from '../src/ledger/ledger.ts'
import { EVENTS_PAGE, type Verification, verifyLedger } from '../src/ledger/verification.ts'
import {
  deltaFromWire,
  epsilonFromWire,
  lossNumbers,
  MAX_BUDGET_EPSILON,
  NO_LOSS,
} from '../src/privacy/loss.ts'
import { Refusal, refuseField } from '../src/privacy/refusal.ts'
import { accessFor, principalOf } from './access.ts'
import { requireBudget } from './require-dataset.ts'

export interface BudgetsOptions {
  readonly keyRing: KeyRing
  readonly ledger: Ledger
}

/** What a dataset may reveal, what it has revealed, and who made it so; a withdrawn dataset's history stays open. */
export const budgetsRoutes: FastifyPluginAsyncZod<BudgetsOptions> = async (app, { keyRing, ledger }) => {
  const everyone = accessFor(keyRing, 'analyst', 'custodian', 'auditor')
  const custodian = accessFor(keyRing, 'custodian')

  app.get(
    '/v1/datasets/:dataset/budget',
    {
      onRequest: everyone.onRequest,
      schema: {
        tags: ['Budgets'],
        summary: 'Cap, spent and remaining',
        security: everyone.security,
        params: datasetParameters,
        response: { 200: budget, ...problemResponses },
      },
    },
    async (request) => {
      const { dataset } = request.params
      return describeBudget(requireBudget(await ledger.budget(dataset), dataset))
    },
  )

  app.post(
    '/v1/datasets/:dataset/grants',
    {
      onRequest: custodian.onRequest,
      schema: {
        tags: ['Budgets'],
        summary: 'Raise a cap',
        description: 'Kept in the ledger with the reason, and never taken back.',
        security: custodian.security,
        params: datasetParameters,
        body: grantRequest,
        response: { 200: budget, ...problemResponses },
      },
    },
    async (request) => {
      const { dataset } = request.params
      const { epsilon, delta, reason } = request.body
      if (epsilon === 0 && delta === 0)
        throw refuseField('invalid-request', 'epsilon', 'must be greater than 0 where delta is not')
      const amount = {
        epsilonNano:
          epsilon === 0 ? NO_LOSS.epsilonNano : epsilonFromWire(epsilon, 'epsilon', MAX_BUDGET_EPSILON),
        deltaAtto: deltaFromWire(delta, 'delta'),
      }
      try {
        const raised = await ledger.grant(dataset, amount, principalOf(request).name, reason)
        return describeBudget(requireBudget(raised, dataset))
      } catch (error) {
        if (!(error instanceof RangeError)) throw error
        throw new Refusal(
          'invalid-request',
          `A cap holds at most epsilon ${MAX_BUDGET_EPSILON} and a delta below 1.`,
          [
            {
              field: epsilon === 0 ? 'delta' : 'epsilon',
              rule: 'must not raise the cap beyond what a budget may hold',
            },
          ],
        )
      }
    },
  )

  const ledgerReaders = accessFor(keyRing, 'analyst', 'auditor', 'custodian')
  app.get(
    '/v1/datasets/:dataset/ledger',
    {
      onRequest: ledgerReaders.onRequest,
      schema: {
        tags: ['Budgets'],
        summary: 'Everything that happened to the budget',
        description: 'Newest first. Auditors and custodians see every entry, an analyst sees their own.',
        security: ledgerReaders.security,
        params: datasetParameters,
        querystring: ledgerQuery,
        response: { 200: ledgerPage, ...problemResponses },
      },
    },
    async (request) => {
      const { dataset } = request.params
      requireBudget(await ledger.budget(dataset), dataset)
      const { limit, before } = request.query
      const { name, role } = principalOf(request)
      const entries = await ledger.entries(dataset, {
        limit,
        ...(before === undefined ? {} : { beforeSequence: before }),
        ...(role === 'analyst' ? { principal: name } : {}),
      })
      const oldest = entries.at(-1)
      const more = entries.length === limit && oldest !== undefined && oldest.sequence > 1
      return { entries: entries.map(describeEntry), ...(more ? { next: oldest.sequence } : {}) }
    },
  )

  const auditors = accessFor(keyRing, 'auditor', 'custodian')
  app.get(
    '/v1/datasets/:dataset/ledger/export',
    {
      onRequest: auditors.onRequest,
      schema: {
        tags: ['Budgets'],
        summary: 'All events, as they were hashed',
        description:
          'JSON Lines, oldest first: `event`, and `hash`, the SHA-256 over the bytes of `event` as they stand in the line. ' +
          'Each event names the hash of the one before.',
        security: auditors.security,
        params: datasetParameters,
        response: { 200: exportedEvents, ...problemResponses },
      },
    },
    async (request, reply) => {
      const { dataset } = request.params
      requireBudget(await ledger.budget(dataset), dataset)
      return sendLines(reply, Readable.from(exportLines(ledger, dataset)))
    },
  )

  app.get(
    '/v1/datasets/:dataset/ledger/verification',
    {
      onRequest: auditors.onRequest,
      schema: {
        tags: ['Budgets'],
        summary: 'Whether chain and balances are what the events say',
        description:
          'Recomputes every hash and both balances from the events, and names the first event that does not fit. That ' +
          'events are missing at the end, only a `headHash` noted earlier can tell.',
        security: auditors.security,
        params: datasetParameters,
        response: { 200: verificationSchema, ...problemResponses },
      },
    },
    async (request) => {
      const { dataset } = request.params
      const verification = await verifyLedger(ledger, dataset)
      if (verification === undefined)
        throw new Refusal('unknown-dataset', `There never was a dataset ${dataset}.`)
      return describeVerification(verification)
    },
  )
}

function sendLines(reply: FastifyReply, lines: Readable): FastifyReply {
  return reply.type('application/x-ndjson').send(lines)
}

/** A dataset's events as JSON Lines, oldest first, page by page. */
async function* exportLines(ledger: Ledger, dataset: string): AsyncGenerator<string> {
  for (let afterSequence = 0; ; ) {
    const page = await ledger.events(dataset, { limit: EVENTS_PAGE, afterSequence })
    if (page.length === 0) return
    afterSequence += page.length
    // The text that was hashed stands in the line as it is.
    yield page.map(({ canonical, hash }) => `{"event":${canonical},"hash":"${hash}"}\n`).join('')
  }
}

function describeVerification(verification: Verification) {
  if (verification.kind === 'broken') {
    const { sequence, reason } = verification
    return { sound: false as const, sequence, reason }
  }
  const { events, headHash, budget: balances } = verification
  return {
    sound: true as const,
    events,
    headHash,
    cap: lossNumbers(balances.cap),
    spent: lossNumbers(balances.spent),
  }
}

function describeEntry({ sequence, kind, at, principal, chargeId, loss, reason, hash }: LedgerEntry) {
  return {
    sequence,
    kind,
    at,
    principal,
    ...(chargeId === undefined ? {} : { release: chargeId }),
    ...(loss === undefined ? {} : { amount: lossNumbers(loss) }),
    ...(reason === undefined ? {} : { reason }),
    hash,
  }
}

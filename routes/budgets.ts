import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import {
  allotmentRequest,
  analystList,
  analystSpending,
  budgetReport,
  grantRequest,
} from '../schemas/budget.ts'
import { analystParameters, datasetParameters } from '../schemas/dataset.ts'
import {
  exportedEvents,
  ledgerHead,
  ledgerPage,
  ledgerQuery,
  verification as verificationSchema,
} from '../schemas/ledger.ts'
import { problemResponses } from '../schemas/problem.ts'
import type { KeyRing } from '../src/access/keys.ts'
import { describeAllotment, describeBudget, describeReceipt } from '../src/answers/charge.ts'
import { exportLines } from '../src/ledger/exported.ts'
import type { AnalystSpending, Budget, Ledger, LedgerEntry, NewAllotment } from '../src/ledger/ledger.ts'
import type { HeadSigner } from '../src/ledger/signature.ts'
import { type Verification, verifyLedger } from '../src/ledger/verification.ts'
import { amountNumbers } from '../src/privacy/accounting.ts'
import {
  deltaFromWire,
  deltaNumber,
  epsilonFromWire,
  epsilonNumber,
  lossNumbers,
  MAX_BUDGET_EPSILON,
  NO_LOSS,
} from '../src/privacy/loss.ts'
import { Refusal, refuseField } from '../src/privacy/refusal.ts'
import { epsilonOfRho } from '../src/privacy/zcdp-conversion.ts'
import { accessFor, principalOf } from './access.ts'
import { requireBalances, requireOpened, unknownBudget } from './require-dataset.ts'

export interface BudgetsOptions {
  readonly keyRing: KeyRing
  readonly ledger: Ledger
  /** Left out: heads are not signed. */
  readonly signer?: HeadSigner
}

/** What a dataset may reveal, what it has revealed, and who made it so; a withdrawn dataset's history stays open. */
export const budgetsRoutes: FastifyPluginAsyncZod<BudgetsOptions> = async (
  app,
  { keyRing, ledger, signer },
) => {
  const everyone = accessFor(keyRing, 'analyst', 'custodian', 'auditor')
  const custodian = accessFor(keyRing, 'custodian')

  app.get(
    '/v1/datasets/:dataset/budget',
    {
      onRequest: everyone.onRequest,
      schema: {
        tags: ['Budgets'],
        operationId: 'getBudget',
        summary: 'Cap, spent and remaining',
        security: everyone.security,
        params: datasetParameters,
        response: { 200: budgetReport, ...problemResponses },
      },
    },
    async (request) => {
      const { dataset } = request.params
      const { name, role } = principalOf(request)
      const { budget, analyst } = await requireBalances(ledger, dataset, name)
      return { ...reportBudget(budget), ...(role === 'analyst' ? describeAllotment(analyst) : {}) }
    },
  )

  app.post(
    '/v1/datasets/:dataset/grants',
    {
      onRequest: custodian.onRequest,
      schema: {
        tags: ['Budgets'],
        operationId: 'grantBudget',
        summary: 'Raise a cap',
        description: 'Kept in the ledger with the reason, and never taken back.',
        security: custodian.security,
        params: datasetParameters,
        body: grantRequest,
        response: { 200: budgetReport, ...problemResponses },
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
        return reportBudget(requireOpened(raised, dataset))
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

  app.get(
    '/v1/datasets/:dataset/analysts',
    {
      onRequest: everyone.onRequest,
      schema: {
        tags: ['Budgets'],
        operationId: 'listAnalysts',
        summary: 'Who spent what',
        description:
          'Custodians and auditors see everybody who spent anything or has an allotment; analysts see themselves.',
        security: everyone.security,
        params: datasetParameters,
        response: { 200: analystList, ...problemResponses },
      },
    },
    async (request) => {
      const { dataset } = request.params
      const { name, role } = principalOf(request)
      if (role === 'analyst') {
        const { analyst } = await requireBalances(ledger, dataset, name)
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
        tags: ['Budgets'],
        operationId: 'setAllotment',
        summary: "Limit an analyst's part of the cap",
        description:
          'The cap binds over all analysts together, whatever their allotments add up to. An allotment cannot be less ' +
          'than what the analyst has spent. With epsilon and delta 0 they may spend no more than they have.',
        security: custodian.security,
        params: analystParameters,
        body: allotmentRequest,
        response: { 200: analystSpending, ...problemResponses },
      },
    },
    async (request) => {
      const { dataset, analyst } = request.params
      const { epsilon, delta, reason } = request.body
      requireAnalyst(keyRing, analyst)
      const nothingMore = epsilon === 0 && delta === 0
      const granted = nothingMore
        ? NO_LOSS
        : {
            epsilonNano: epsilonFromWire(epsilon, 'epsilon', MAX_BUDGET_EPSILON),
            deltaAtto: deltaFromWire(delta, 'delta'),
          }
      const { cap } = requireOpened(await ledger.budget(dataset), dataset)
      if (!nothingMore && cap.accounting === 'zcdp' && delta === 0)
        throw refuseField('invalid-request', 'delta', 'must be greater than 0 to buy any rho (zcdp)')
      const principal = principalOf(request).name
      return allot({ dataset, analyst, granted, principal, reason })
    },
  )

  app.delete(
    '/v1/datasets/:dataset/analysts/:analyst/allotment',
    {
      onRequest: custodian.onRequest,
      schema: {
        tags: ['Budgets'],
        operationId: 'removeAllotment',
        summary: "Lift the limit on an analyst's part",
        description: 'Then the cap alone limits them.',
        security: custodian.security,
        params: analystParameters,
        response: { 200: analystSpending, ...problemResponses },
      },
    },
    async (request) => {
      const { dataset, analyst } = request.params
      requireAnalyst(keyRing, analyst)
      return allot({ dataset, analyst, principal: principalOf(request).name, reason: 'lifted' })
    },
  )

  async function allot(allotment: NewAllotment) {
    const outcome = await ledger.allot(allotment)
    switch (outcome.kind) {
      case 'allotted':
        return describeSpending(outcome.analyst)
      case 'below-spent': {
        const spent = amountNumbers(outcome.analyst.spent)
        throw new Refusal(
          'allotment-below-spent',
          `${allotment.analyst} has spent more than that already. Nothing was changed.`,
          [{ field: 'epsilon', rule: 'must allow for at least what was spent, with delta' }],
          { spent },
        )
      }
      case 'no-budget':
        throw unknownBudget(allotment.dataset)
    }
  }

  const ledgerReaders = accessFor(keyRing, 'analyst', 'auditor', 'custodian')
  app.get(
    '/v1/datasets/:dataset/ledger',
    {
      onRequest: ledgerReaders.onRequest,
      schema: {
        tags: ['Budgets'],
        operationId: 'listLedgerEntries',
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
      requireOpened(await ledger.budget(dataset), dataset)
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

  app.get(
    '/v1/datasets/:dataset/ledger/head',
    {
      onRequest: ledgerReaders.onRequest,
      schema: {
        tags: ['Budgets'],
        operationId: 'getLedgerHead',
        summary: 'The end of the chain',
        description:
          'Signed where the service has a key. Keep it elsewhere: an export that lacks the event was cut.',
        security: ledgerReaders.security,
        params: datasetParameters,
        response: { 200: ledgerHead, ...problemResponses },
      },
    },
    async (request) => {
      const { dataset } = request.params
      const head = requireOpened(await ledger.head(dataset), dataset)
      return {
        dataset,
        ...describeReceipt(signer, dataset, head),
        ...(signer === undefined ? {} : { publicKey: signer.publicKey }),
      }
    },
  )

  const auditors = accessFor(keyRing, 'auditor', 'custodian')
  app.get(
    '/v1/datasets/:dataset/ledger/export',
    {
      onRequest: auditors.onRequest,
      schema: {
        tags: ['Budgets'],
        operationId: 'exportLedger',
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
      requireOpened(await ledger.budget(dataset), dataset)
      return sendLines(reply, Readable.from(exportLines(ledger, dataset)))
    },
  )

  app.get(
    '/v1/datasets/:dataset/ledger/verification',
    {
      onRequest: auditors.onRequest,
      schema: {
        tags: ['Budgets'],
        operationId: 'verifyLedger',
        summary: 'Whether chain and balances are what the events say',
        description:
          'Recomputes every hash and all balances from the events, holds stored charges and answers against them, and ' +
          'names the first event that does not fit. That ' +
          'events are missing at the end, only a `headHash` noted earlier can tell.',
        security: auditors.security,
        params: datasetParameters,
        response: { 200: verificationSchema, ...problemResponses },
      },
    },
    async (request) => {
      const { dataset } = request.params
      return describeVerification(requireOpened(await verifyLedger(ledger, dataset), dataset))
    },
  )
}

function sendLines(reply: FastifyReply, lines: Readable): FastifyReply {
  return reply.type('application/x-ndjson').send(lines)
}

function describeVerification(verification: Verification) {
  if (verification.kind === 'broken') {
    const { sequence, reason } = verification
    return { sound: false as const, sequence, reason }
  }
  const { events, headHash, budget, spending } = verification
  return {
    sound: true as const,
    events,
    headHash,
    granted: lossNumbers(budget.granted),
    cap: amountNumbers(budget.cap),
    spent: amountNumbers(budget.spent),
    analysts: spending.map(describeSpending),
  }
}

/** A budget, and how it is counted. */
function reportBudget(budget: Budget) {
  const { granted, cap, spent } = budget
  return {
    accounting: cap.accounting,
    granted: lossNumbers(granted),
    ...describeBudget(budget),
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

function describeSpending(spending: AnalystSpending) {
  const { principal, allotment, spent, spentOnShared } = spending
  return {
    analyst: principal,
    spent: amountNumbers(spent),
    spentOnShared: amountNumbers(spentOnShared),
    ...(allotment === undefined
      ? {}
      : {
          allotment: {
            granted: lossNumbers(allotment.granted),
            ...describeBudget({ cap: allotment.limit, spent }),
          },
        }),
  }
}

/** @throws Refusal `unknown-analyst`, so that a slip of the pen does not limit nobody. */
function requireAnalyst(keyRing: KeyRing, name: string): void {
  if (!keyRing.hasAnalyst(name)) throw new Refusal('unknown-analyst', `No analyst called ${name} has a key.`)
}

function describeEntry(entry: LedgerEntry) {
  const { sequence, kind, at, principal, chargeId, granted, price, analyst, reason, hash } = entry
  return {
    sequence,
    kind,
    at,
    principal,
    ...(chargeId === undefined ? {} : { release: chargeId }),
    ...(granted === undefined ? {} : { amount: lossNumbers(granted) }),
    ...(price === undefined ? {} : { amount: amountNumbers(price) }),
    ...(analyst === undefined ? {} : { analyst }),
    ...(reason === undefined ? {} : { reason }),
    hash,
  }
}

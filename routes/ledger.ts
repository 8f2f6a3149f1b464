import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { datasetParameters } from '../schemas/dataset.ts'
import {
  exportedEvents,
  ledgerHead,
  ledgerPage,
  ledgerQuery,
  verification as verificationSchema,
} from '../schemas/ledger.ts'
import { problemResponses } from '../schemas/problem.ts'
import type { Authenticator } from '../src/access/authenticator.ts'
import { describeReceipt, describeSpending } from '../src/answers/charge.ts'
import { shownTime } from '../src/answers/release-time.ts'
import type { Catalog } from '../src/catalog/catalog.ts'
import type { Timing } from '../src/catalog/dataset.ts'
import { exportLines } from '../src/ledger/exported.ts'
import type { Ledger, LedgerEntry } from '../src/ledger/ledger.ts'
import { type RequestCounts, verifyRequests, withBrokenRequest } from '../src/ledger/requests.ts'
import type { HeadSigner } from '../src/ledger/signature.ts'
import { type Verification, verifyLedger } from '../src/ledger/verification.ts'
import { amountNumbers } from '../src/privacy/accounting.ts'
import { lossNumbers } from '../src/privacy/loss.ts'
import { accessFor, principalOf } from './access.ts'
import { permittedDataset, requireOpened } from './require-dataset.ts'

export interface LedgerOptions {
  readonly authenticator: Authenticator
  readonly catalog: Catalog
  readonly ledger: Ledger
  /** Signs heads, if given. */
  readonly signer?: HeadSigner
}

/** Reading and verification of the ledger. The ledger of a withdrawn dataset stays readable. */
export const ledgerRoutes: FastifyPluginAsyncZod<LedgerOptions> = async (
  app,
  { authenticator, catalog, ledger, signer },
) => {
  const everyone = accessFor(authenticator, 'analyst', 'auditor', 'custodian')
  const auditors = accessFor(authenticator, 'auditor', 'custodian')

  app.get(
    '/v1/datasets/:dataset/ledger',
    {
      onRequest: everyone.onRequest,
      schema: {
        operationId: 'listLedgerEntries',
        tags: ['Ledger'],
        summary: 'List the ledger entries of a dataset',
        description:
          'Newest first. Auditors and custodians see all entries, analysts see their own, with times rounded down to the ' +
          '`timing` of the dataset.',
        security: everyone.security,
        params: datasetParameters,
        querystring: ledgerQuery,
        response: { 200: ledgerPage, ...problemResponses },
      },
    },
    async (request) => {
      const dataset = permittedDataset(principalOf(request), request.params.dataset)
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
      const timing = catalog.get(dataset)?.dataset.timing ?? TIMING_OF_WITHDRAWN
      const shown = entries.map((entry) =>
        describeEntry(role === 'analyst' ? { ...entry, at: shownTime(entry.at, timing) } : entry),
      )
      return { entries: shown, ...(more ? { next: oldest.sequence } : {}) }
    },
  )

  app.get(
    '/v1/datasets/:dataset/ledger/head',
    {
      onRequest: everyone.onRequest,
      schema: {
        operationId: 'getLedgerHead',
        tags: ['Ledger'],
        summary: 'Get the head of the hash chain',
        description:
          'Returns the newest event, signed if the service has a signing key. Store it outside the service: an export that ' +
          'lacks this event has been truncated.',
        security: everyone.security,
        params: datasetParameters,
        response: { 200: ledgerHead, ...problemResponses },
      },
    },
    async (request) => {
      const dataset = permittedDataset(principalOf(request), request.params.dataset)
      const head = requireOpened(await ledger.head(dataset), dataset)
      return {
        dataset,
        ...describeReceipt(signer, dataset, head),
        ...(signer === undefined ? {} : { publicKey: signer.publicKey }),
      }
    },
  )

  app.get(
    '/v1/datasets/:dataset/ledger/export',
    {
      onRequest: auditors.onRequest,
      schema: {
        operationId: 'exportLedger',
        tags: ['Ledger'],
        summary: 'Export all events',
        description:
          'JSON Lines, oldest first. Each line has an `event` and its `hash`, the SHA-256 of the bytes of `event` in that ' +
          'line. Each event contains the hash of the event before it. A line of a charged, shared or session question has ' +
          'the `request` as well, a text whose SHA-256 is the `requestHash` of the event.',
        security: auditors.security,
        params: datasetParameters,
        response: { 200: exportedEvents, ...problemResponses },
      },
    },
    async (request, reply) => {
      const dataset = permittedDataset(principalOf(request), request.params.dataset)
      requireOpened(await ledger.budget(dataset), dataset)
      return sendLines(reply, Readable.from(exportLines(ledger, dataset)))
    },
  )

  app.get(
    '/v1/datasets/:dataset/ledger/verification',
    {
      onRequest: auditors.onRequest,
      schema: {
        operationId: 'verifyLedger',
        tags: ['Ledger'],
        summary: 'Verify the hash chain and the balances',
        description:
          'Recomputes every hash and every balance from the events, compares stored charges, requests and answers with them, and ' +
          'reports the first event that does not match. Events missing at the end are only detected by comparison with a ' +
          '`headHash` that was noted earlier.',
        security: auditors.security,
        params: datasetParameters,
        response: { 200: verificationSchema, ...problemResponses },
      },
    },
    async (request) => {
      const dataset = permittedDataset(principalOf(request), request.params.dataset)
      const verification = requireOpened(await verifyLedger(ledger, dataset), dataset)
      const { requests, broken } = await verifyRequests(ledger, dataset)
      return describeVerification(withBrokenRequest(verification, broken), requests)
    },
  )
}

/** Rounds the times of a withdrawn dataset, whose declaration is no longer known. */
const TIMING_OF_WITHDRAWN: Timing = { slotMs: 1_000 }

/** Sends JSON Lines. */
export function sendLines(reply: FastifyReply, lines: Readable): FastifyReply {
  return reply.type('application/x-ndjson').send(lines)
}

function describeVerification(verification: Verification, requests: RequestCounts) {
  if (verification.kind === 'broken') {
    const { sequence, reason } = verification
    return { sound: false as const, sequence, reason }
  }
  const { events, headHash, budget, spending } = verification
  return {
    sound: true as const,
    events,
    requests: requests.verified,
    headHash,
    granted: lossNumbers(budget.granted),
    cap: amountNumbers(budget.cap),
    spent: amountNumbers(budget.spent),
    analysts: spending.map(describeSpending),
  }
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

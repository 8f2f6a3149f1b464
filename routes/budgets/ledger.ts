import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import {
  entriesQuery,
  exportedEvents,
  ledgerHead,
  ledgerPage,
  verification as verificationSchema,
} from '../../schemas/budgets/ledger.ts'
import { datasetParameters } from '../../schemas/datasets/dataset.ts'
import { describeReceipt, describeSpending } from '../../src/answers/documents/costs.ts'
import { shownTime } from '../../src/answers/release-time.ts'
import type { Timing } from '../../src/core/dataset/dataset.ts'
import type { Catalog } from '../../src/datasets/catalog/catalog.ts'
import { permittedDataset, requireOpened } from '../../src/http/access/permitted-datasets.ts'
import { principalOf } from '../../src/http/access/roles.ts'
import { linkNext, nextNumber } from '../../src/http/paging.ts'
import type { Budgets } from '../../src/ledger/contract/budgets.ts'
import type { Chain, LedgerEntry } from '../../src/ledger/contract/chain.ts'
import type { Releases } from '../../src/ledger/contract/releases.ts'
import type { Sessions } from '../../src/ledger/contract/sessions.ts'
import { type DatasetFindings, exportLines, verifyDataset } from '../../src/ledger/exported.ts'
import type { HeadSigner } from '../../src/ledger/signature.ts'
import { amountNumbers } from '../../src/privacy/accounting.ts'
import { defined } from '../../src/privacy/defined.ts'
import { lossNumbers } from '../../src/privacy/loss.ts'

interface LedgerOptions {
  readonly catalog: Catalog
  readonly ledger: Budgets & Chain & Pick<Sessions & Releases, 'sessionAnswers' | 'release'>
  /** Signs heads, if given. */
  readonly signer?: HeadSigner
}

/** Reading and verification of the ledger. The ledger of a withdrawn dataset stays readable. */
export const ledgerRoutes: FastifyPluginAsyncZod<LedgerOptions> = async (
  app,
  { catalog, ledger, signer },
) => {
  app.get(
    '/v1/datasets/:dataset/ledger',
    {
      config: { roles: ['analyst', 'auditor', 'custodian'] },
      schema: {
        operationId: 'listLedgerEntries',
        tags: ['Ledger'],
        summary: 'List the ledger entries of a dataset',
        description:
          'Newest first. Auditors and custodians see all entries, analysts see their own, with times rounded down to the ' +
          '`timing` of the dataset.',
        params: datasetParameters,
        querystring: entriesQuery,
        response: { 200: ledgerPage },
      },
    },
    async (request, reply) => {
      const dataset = permittedDataset(principalOf(request), request.params.dataset)
      requireOpened(await ledger.budget(dataset), dataset)
      const { limit, cursor, analyst } = request.query
      const { name, role } = principalOf(request)
      const principal = role === 'analyst' ? name : analyst
      const entries = await ledger.entries(dataset, defined({ limit, beforeSequence: cursor, principal }))
      const timing = catalog.get(dataset)?.dataset.timing ?? TIMING_OF_WITHDRAWN
      const shown = entries.map((entry) =>
        describeEntry(role === 'analyst' ? { ...entry, at: shownTime(entry.at, timing) } : entry),
      )
      const next = nextNumber(
        entries.map(({ sequence }) => sequence),
        limit,
      )
      linkNext(request, reply, next)
      return { entries: shown, next }
    },
  )

  app.get(
    '/v1/datasets/:dataset/ledger/head',
    {
      config: { roles: ['analyst', 'auditor', 'custodian'] },
      schema: {
        operationId: 'getLedgerHead',
        tags: ['Ledger'],
        summary: 'Get the head of the hash chain',
        description:
          'Returns the newest event, signed if the service has a signing key. Store it outside the service: an export that ' +
          'lacks this event has been truncated.',
        params: datasetParameters,
        response: { 200: ledgerHead },
      },
    },
    async (request) => {
      const dataset = permittedDataset(principalOf(request), request.params.dataset)
      const head = requireOpened(await ledger.head(dataset), dataset)
      return {
        dataset,
        ...describeReceipt(signer, dataset, head),
        publicKey: signer?.publicKey,
      }
    },
  )

  app.get(
    '/v1/datasets/:dataset/ledger/export',
    {
      config: { roles: ['auditor', 'custodian'] },
      schema: {
        operationId: 'exportLedger',
        tags: ['Ledger'],
        summary: 'Export all events',
        description:
          'JSON Lines, oldest first. Each line has an `event` and its `hash`, the SHA-256 of the bytes of `event` in that ' +
          'line. Each event contains the hash of the event before it. A line of a charged, shared or session question has ' +
          'the `request` as well, a text whose SHA-256 is the `requestHash` of the event.',
        params: datasetParameters,
        response: { 200: exportedEvents },
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
      config: { roles: ['auditor', 'custodian'] },
      schema: {
        operationId: 'verifyLedger',
        tags: ['Ledger'],
        summary: 'Verify the hash chain and the balances',
        description:
          'Recomputes every hash and every balance from the events, compares stored charges, requests and answers with them, recomputes ' +
          'answers that follow from others, and reports the first event that does not match. Events missing at the end are only detected by comparison with a ' +
          '`headHash` that was noted earlier.',
        params: datasetParameters,
        response: { 200: verificationSchema },
      },
    },
    async (request) => {
      const dataset = permittedDataset(principalOf(request), request.params.dataset)
      return describeVerification(requireOpened(await verifyDataset(ledger, dataset), dataset))
    },
  )
}

/** Rounds the times of a withdrawn dataset, whose declaration is no longer known. */
const TIMING_OF_WITHDRAWN: Timing = { slotMs: 1_000 }

/** Sends JSON Lines. */
export function sendLines(reply: FastifyReply, lines: Readable): FastifyReply {
  return reply.type('application/x-ndjson').send(lines)
}

/** Describes the verification of a chain. */
export function describeVerification({ verification, requests, inferred = 0 }: DatasetFindings) {
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

function describeEntry(entry: LedgerEntry) {
  const { sequence, kind, at, principal, chargeId, granted, price, analyst, reason, hash } = entry
  return {
    sequence,
    kind,
    at,
    principal,
    release: chargeId,
    amount: price === undefined ? granted && lossNumbers(granted) : amountNumbers(price),
    analyst,
    reason,
    hash,
  }
}

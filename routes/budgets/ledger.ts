import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { entriesQuery, ledgerPage } from '../../schemas/budgets/ledger.ts'
import { datasetParameters } from '../../schemas/datasets/dataset.ts'
import { shownTime } from '../../src/answers/release-time.ts'
import type { Timing } from '../../src/core/dataset/dataset.ts'
import type { Catalog } from '../../src/datasets/catalog/catalog.ts'
import { requireOpened } from '../../src/http/access/permitted-datasets.ts'
import { principalOf } from '../../src/http/access/roles.ts'
import { nextEntries } from '../../src/http/paging.ts'
import type { Budgets } from '../../src/ledger/contract/budgets.ts'
import type { Chain, LedgerEntry } from '../../src/ledger/contract/chain.ts'
import { amountNumbers } from '../../src/privacy/accounting.ts'
import { defined } from '../../src/privacy/defined.ts'
import { lossNumbers } from '../../src/privacy/loss.ts'

interface LedgerOptions {
  readonly catalog: Catalog
  readonly ledger: Budgets & Chain
}

/** The history of a dataset. That of a withdrawn one stays readable. */
export const ledgerRoutes: FastifyPluginAsyncZod<LedgerOptions> = async (app, { catalog, ledger }) => {
  app.get('/v1/datasets/:dataset/ledger', {
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
    handler: async (request, reply) => {
      const { dataset } = request.params
      requireOpened(await ledger.budget(dataset), dataset)
      const { limit, cursor, analyst } = request.query
      const { name, role } = principalOf(request)
      const principal = role === 'analyst' ? name : analyst
      const entries = await ledger.entries(dataset, defined({ limit, beforeSequence: cursor, principal }))
      const timing = catalog.get(dataset)?.dataset.timing ?? TIMING_OF_WITHDRAWN
      const shown = entries.map((entry) =>
        describeEntry(role === 'analyst' ? { ...entry, at: shownTime(entry.at, timing) } : entry),
      )
      return { entries: shown, next: nextEntries(request, reply, entries) }
    },
  })
}

/** Rounds the times of a withdrawn dataset, whose declaration is no longer known. */
const TIMING_OF_WITHDRAWN: Timing = { slotMs: 1_000 }

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

import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { exportedEvents, ledgerHead } from '../../schemas/budgets/ledger.ts'
import { actsPage, administrationVerification } from '../../schemas/service/administration.ts'
import { numberedPageQuery } from '../../schemas/values.ts'
import { principalOf } from '../../src/http/access/roles.ts'
import { nextEntries } from '../../src/http/paging.ts'
import type { Acts } from '../../src/ledger/contract/acts.ts'
import { ADMINISTRATION } from '../../src/ledger/contract/acts.ts'
import type { Chain } from '../../src/ledger/contract/chain.ts'
import type { Sessions } from '../../src/ledger/contract/sessions.ts'
import { FIRST_PREVIOUS_HASH } from '../../src/ledger/event.ts'
import type { HeadSigner } from '../../src/ledger/signature.ts'
import { verifyLedger } from '../../src/ledger/verification.ts'
import { defined } from '../../src/privacy/defined.ts'
import { Refusal } from '../../src/privacy/refusal.ts'
import { describeHead, sendExport } from '../budgets/accounts.ts'

interface AdministrationOptions {
  readonly ledger: Acts & Chain & Pick<Sessions, 'sessionAnswers'>
  /** Signs the head, if given. */
  readonly signer?: HeadSigner
}

/**
 * Refuses principals who may use only some datasets: acts name all datasets and keys.
 * @throws Refusal `forbidden`
 */
async function requireAllDatasets(request: FastifyRequest): Promise<void> {
  if (principalOf(request).datasets !== undefined)
    throw new Refusal('forbidden', 'This operation requires a key that is not limited to some datasets.')
}

/** Reading and verification of the chain of administrative acts. */
export const administrationRoutes: FastifyPluginAsyncZod<AdministrationOptions> = async (
  app,
  { ledger, signer },
) => {
  const config = { roles: ['auditor', 'custodian'] } as const
  const tags = ['Administration']
  app.addHook('onRequest', requireAllDatasets)

  app.get('/v1/administration/events', {
    config,
    schema: {
      operationId: 'listAdministrativeActs',
      tags,
      summary: 'List the administrative acts',
      description:
        'Newest first: keys, refused sign-ins, registrations, refused sources, withdrawals, grants, allotments, suspensions and ' +
        'resumptions.',
      querystring: numberedPageQuery,
      response: { 200: actsPage },
    },
    handler: async (request, reply) => {
      const { limit, cursor } = request.query
      const events = await ledger.acts(defined({ limit, beforeSequence: cursor }))
      return { events, next: nextEntries(request, reply, events) }
    },
  })

  app.get('/v1/administration/head', {
    config,
    schema: {
      operationId: 'getAdministrationHead',
      tags,
      summary: 'Get the head of the chain of administrative acts',
      description:
        'Returns the newest act, signed if the service has a signing key, as for the chain of a dataset.',
      response: { 200: ledgerHead },
    },
    handler: async () => {
      const head = await ledger.head(ADMINISTRATION)
      if (head === undefined) throw new Refusal('unknown-dataset', 'No administrative act was recorded yet.')
      return describeHead(signer, { ...head, dataset: ADMINISTRATION })
    },
  })

  app.get('/v1/administration/export', {
    config,
    schema: {
      operationId: 'exportAdministration',
      tags,
      summary: 'Export all administrative acts',
      description: 'JSON Lines, oldest first, in the format of the export of a dataset.',
      response: { 200: exportedEvents },
    },
    handler: async (_request, reply) => sendExport(reply, ledger, ADMINISTRATION),
  })

  app.get('/v1/administration/verification', {
    config,
    schema: {
      operationId: 'verifyAdministration',
      tags,
      summary: 'Verify the chain of administrative acts',
      description: 'Recomputes every hash and reports the first event that does not match.',
      response: { 200: administrationVerification },
    },
    handler: async () => {
      const found = await verifyLedger(ledger, ADMINISTRATION)
      if (found === undefined) return { sound: true as const, events: 0, headHash: FIRST_PREVIOUS_HASH }
      if (found.kind === 'broken') {
        const { sequence, reason } = found
        return { sound: false as const, sequence, reason }
      }
      const { events, headHash } = found
      return { sound: true as const, events, headHash }
    },
  })
}

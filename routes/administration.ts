import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { actsPage, administrationVerification } from '../schemas/administration.ts'
import { exportedEvents, ledgerHead, ledgerQuery } from '../schemas/ledger.ts'
import { problemResponses } from '../schemas/problem.ts'
import type { Authenticator } from '../src/access/authenticator.ts'
import { describeReceipt } from '../src/answers/charge.ts'
import { ADMINISTRATION } from '../src/ledger/act.ts'
import { FIRST_PREVIOUS_HASH } from '../src/ledger/event.ts'
import { exportLines } from '../src/ledger/exported.ts'
import type { Ledger } from '../src/ledger/ledger.ts'
import type { HeadSigner } from '../src/ledger/signature.ts'
import { verifyLedger } from '../src/ledger/verification.ts'
import { Refusal } from '../src/privacy/refusal.ts'
import { accessFor, principalOf } from './access.ts'
import { sendLines } from './ledger.ts'

export interface AdministrationOptions {
  readonly authenticator: Authenticator
  readonly ledger: Ledger
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
  { authenticator, ledger, signer },
) => {
  const access = accessFor(authenticator, 'auditor', 'custodian')
  const { security } = access
  const onRequest = [access.onRequest, requireAllDatasets]
  const tags = ['Administration']

  app.get(
    '/v1/administration/events',
    {
      onRequest,
      schema: {
        operationId: 'listAdministrativeActs',
        tags,
        summary: 'List the administrative acts',
        description:
          'Newest first: keys, refused sign-ins, registrations, refused sources, withdrawals, grants, allotments, suspensions and ' +
          'resumptions.',
        security,
        querystring: ledgerQuery,
        response: { 200: actsPage, ...problemResponses },
      },
    },
    async (request) => {
      const { limit, before } = request.query
      const acts = await ledger.acts({
        limit,
        ...(before === undefined ? {} : { beforeSequence: before }),
      })
      const oldest = acts.at(-1)
      const more = acts.length === limit && oldest !== undefined && oldest.sequence > 1
      return { events: acts, ...(more ? { next: oldest.sequence } : {}) }
    },
  )

  app.get(
    '/v1/administration/head',
    {
      onRequest,
      schema: {
        operationId: 'getAdministrationHead',
        tags,
        summary: 'Get the head of the chain of administrative acts',
        description:
          'Returns the newest act, signed if the service has a signing key, as for the chain of a dataset.',
        security,
        response: { 200: ledgerHead, ...problemResponses },
      },
    },
    async () => {
      const head = await ledger.head(ADMINISTRATION)
      if (head === undefined) throw new Refusal('unknown-dataset', 'No administrative act was recorded yet.')
      return {
        dataset: ADMINISTRATION,
        ...describeReceipt(signer, ADMINISTRATION, head),
        ...(signer === undefined ? {} : { publicKey: signer.publicKey }),
      }
    },
  )

  app.get(
    '/v1/administration/export',
    {
      onRequest,
      schema: {
        operationId: 'exportAdministration',
        tags,
        summary: 'Export all administrative acts',
        description: 'JSON Lines, oldest first, in the format of the export of a dataset.',
        security,
        response: { 200: exportedEvents, ...problemResponses },
      },
    },
    async (_request, reply) => sendLines(reply, Readable.from(exportLines(ledger, ADMINISTRATION))),
  )

  app.get(
    '/v1/administration/verification',
    {
      onRequest,
      schema: {
        operationId: 'verifyAdministration',
        tags,
        summary: 'Verify the chain of administrative acts',
        description: 'Recomputes every hash and reports the first event that does not match.',
        security,
        response: { 200: administrationVerification, ...problemResponses },
      },
    },
    async () => {
      const found = await verifyLedger(ledger, ADMINISTRATION)
      if (found === undefined) return { sound: true as const, events: 0, headHash: FIRST_PREVIOUS_HASH }
      if (found.kind === 'broken') {
        const { sequence, reason } = found
        return { sound: false as const, sequence, reason }
      }
      const { events, headHash } = found
      return { sound: true as const, events, headHash }
    },
  )
}

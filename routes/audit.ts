import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { auditedDatasets as auditedDatasetsSchema, auditedReleases, auditRequest } from '../schemas/audit.ts'
import { problemResponses } from '../schemas/problem.ts'
import type { KeyRing } from '../src/access/keys.ts'
import { type AuditDependencies, auditedDatasets, auditReleases } from '../src/answers/audit.ts'
import type { Catalog } from '../src/catalog/catalog.ts'
import { Refusal } from '../src/privacy/refusal.ts'
import { accessFor } from './access.ts'
import { requireDataset } from './require-dataset.ts'

export interface AuditOptions extends AuditDependencies {
  readonly keyRing: KeyRing
  readonly catalog: Catalog
}

/** Raw releases of synthetic datasets, for outside auditors; only where the configuration says so. */
export const auditRoutes: FastifyPluginAsyncZod<AuditOptions> = async (app, dependencies) => {
  const { keyRing, catalog } = dependencies
  const auditor = accessFor(keyRing, 'auditor')
  /** One batch at a time: it may take all there is of the machine. */
  let drawing = false

  app.get(
    '/v1/audit/datasets',
    {
      onRequest: auditor.onRequest,
      schema: {
        tags: ['Audit'],
        operationId: 'listAuditDatasets',
        summary: 'Neighbouring datasets to tell apart',
        security: auditor.security,
        response: { 200: auditedDatasetsSchema, ...problemResponses },
      },
    },
    async () => ({ datasets: auditedDatasets((id) => catalog.get(id)?.dataset) }),
  )

  app.post(
    '/v1/audit/releases',
    {
      onRequest: auditor.onRequest,
      schema: {
        tags: ['Audit'],
        operationId: 'drawAuditReleases',
        summary: 'Fresh releases of one query, over a synthetic dataset',
        description:
          'Each goes the whole way of an answer, with a ledger made for the batch and thrown away with it.',
        security: auditor.security,
        body: auditRequest,
        response: { 200: auditedReleases, ...problemResponses },
      },
    },
    async (request, reply) => {
      const { dataset: id, query, releases } = request.body
      const { dataset } = requireDataset(catalog, id)
      if (drawing)
        throw new Refusal('unavailable', 'Another batch is being drawn. Ask again when it is done.')
      drawing = true
      try {
        const givenUp = () => reply.sent || request.raw.socket.destroyed
        return { results: await auditReleases(dependencies, dataset, query, releases, givenUp) }
      } finally {
        drawing = false
      }
    },
  )
}

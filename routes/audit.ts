import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { auditedDatasets as auditedDatasetsSchema, auditedReleases, auditRequest } from '../schemas/audit.ts'
import { problemResponses } from '../schemas/problem.ts'
import type { KeyRing } from '../src/access/keys.ts'
import { type AuditDependencies, auditedDatasets, auditReleases } from '../src/answers/audit.ts'
import type { Catalog } from '../src/catalog/catalog.ts'
import { Refusal } from '../src/privacy/refusal.ts'
import { accessFor } from './access.ts'
import { isGivenUp } from './caller.ts'
import { requireDataset } from './require-dataset.ts'

export interface AuditOptions extends AuditDependencies {
  readonly keyRing: KeyRing
  readonly catalog: Catalog
}

/** Raw releases of synthetic datasets for external auditors. Registered only if the configuration enables audits. */
export const auditRoutes: FastifyPluginAsyncZod<AuditOptions> = async (app, dependencies) => {
  const { keyRing, catalog } = dependencies
  const auditor = accessFor(keyRing, 'auditor')
  /** True while a batch is drawn. Only one runs at a time, because it may use the whole machine. */
  let drawing = false

  app.get(
    '/v1/audit/datasets',
    {
      onRequest: auditor.onRequest,
      schema: {
        tags: ['Audit'],
        operationId: 'listAuditDatasets',
        summary: 'List the neighbouring datasets for audits',
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
        summary: 'Draw fresh releases of a query on a synthetic dataset',
        description:
          'Each release is computed like any answer, with a temporary ledger that is deleted afterwards.',
        security: auditor.security,
        body: auditRequest,
        response: { 200: auditedReleases, ...problemResponses },
      },
    },
    async (request, reply) => {
      const { dataset: id, query, releases } = request.body
      const { dataset } = requireDataset(catalog, id)
      if (drawing) throw new Refusal('unavailable', 'Another audit is running. Retry when it has finished.')
      drawing = true
      try {
        const givenUp = () => isGivenUp(request, reply)
        return { results: await auditReleases(dependencies, dataset, query, releases, givenUp) }
      } finally {
        drawing = false
      }
    },
  )
}

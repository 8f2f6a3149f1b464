import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import {
  auditedDatasets as auditedDatasetsSchema,
  auditedReleases,
  auditRequest,
} from '../../schemas/answers/audit.ts'
import { pageQuery } from '../../schemas/values.ts'
import {
  type AuditDependencies,
  type AuditDraw,
  auditPair,
  auditReleases,
} from '../../src/answers/audit/audit.ts'
import { auditedDatasets } from '../../src/answers/audit/audited-datasets.ts'
import type { AuditPool } from '../../src/answers/audit/pool.ts'
import type { Catalog } from '../../src/datasets/catalog/catalog.ts'
import type { VersionUses } from '../../src/datasets/catalog/version-uses.ts'
import { openAuditedPair } from '../../src/datasets/registration/audited-pair.ts'
import { requireDataset } from '../../src/http/access/permitted-datasets.ts'
import { mayUse } from '../../src/http/access/principal.ts'
import { principalOf } from '../../src/http/access/roles.ts'
import { bodyText, leaveBodiesAsText } from '../../src/http/bodies.ts'
import { isGivenUp, termsOf } from '../../src/http/caller.ts'
import { pageOf } from '../../src/http/paging.ts'
import { Refusal } from '../../src/privacy/refusal.ts'

interface AuditOptions extends AuditDependencies {
  readonly catalog: Catalog
  readonly versionUses: VersionUses
  readonly auditPool: AuditPool
}

/** Two datasets of 1,000 rows need more than other bodies. */
const AUDIT_BODY_LIMIT_BYTES = 1024 * 1024

/** Time limit for reading a body. */
const READING_TIMEOUT_MS = 10_000

/** Releases of synthetic datasets for external auditors. Registered only if the configuration enables audits. */
export const auditRoutes: FastifyPluginAsyncZod<AuditOptions> = async (app, dependencies) => {
  const { catalog, versionUses, auditPool } = dependencies
  leaveBodiesAsText(app)
  /** True while releases are drawn. One request at a time, because each uses the whole machine. */
  let drawing = false

  app.get('/v1/audit/datasets', {
    config: { roles: ['auditor'], conditional: true },
    schema: {
      tags: ['Audit'],
      operationId: 'listAuditDatasets',
      summary: 'List the neighbouring datasets for audits',
      description: 'Pairs of neighbouring synthetic datasets, with all their rows.',
      querystring: pageQuery,
      response: { 200: auditedDatasetsSchema },
    },
    handler: async (request, reply) => {
      const principal = principalOf(request)
      const permitted = auditedDatasets((id) =>
        mayUse(principal, id) ? catalog.get(id)?.dataset : undefined,
      )
      const { items, next } = pageOf(request, reply, permitted, ({ id }) => id)
      return { datasets: items, next }
    },
  })

  app.post('/v1/audit/releases', {
    config: { roles: ['auditor'] },
    bodyLimit: AUDIT_BODY_LIMIT_BYTES,
    schema: {
      tags: ['Audit'],
      operationId: 'drawAuditReleases',
      summary: 'Draw fresh releases of synthetic datasets',
      description:
        'Answers a query, a batch or a session many times over a synthetic dataset, or over both datasets of a pair that ' +
        'you give. Each release takes the path of a paid answer, with a ledger that is created for the request and ' +
        'removed with it.',
      body: auditRequest,
      response: { 200: auditedReleases },
    },
    handler: async (request, reply) => {
      const terms = termsOf(request, reply, READING_TIMEOUT_MS)
      const { dataset, pair, ...asked } = await auditPool.run('audit', bodyText(request), terms)
      const audited =
        dataset === undefined ? undefined : requireDataset(catalog, principalOf(request), dataset).dataset
      const draw: AuditDraw = { ...asked, givenUp: () => isGivenUp(request, reply) }
      if (drawing) throw new Refusal('unavailable', 'Another audit is running. Retry when it has finished.')
      drawing = true
      try {
        if (audited !== undefined) {
          const results = versionUses.during(audited, () => auditReleases(dependencies, audited, draw))
          return { results: await results }
        }
        if (pair === undefined) throw new Error('the schema requires a dataset or a pair')
        const open = (folder: string) => openAuditedPair(pair, folder)
        const [results = [], neighbourResults = []] = await auditPair(dependencies, open, draw)
        return { results, neighbourResults }
      } finally {
        drawing = false
      }
    },
  })
}

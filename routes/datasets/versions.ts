import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  changedDatasetParameters,
  dataset,
  datasetParameters,
  newVersion,
  publishedVersion,
  triedVersion,
  versionList,
  versionQuery,
} from '../../schemas/datasets/dataset.ts'
import { pageQuery } from '../../schemas/values.ts'
import type { CoverageMeasurement } from '../../src/answers/coverage.ts'
import type { Catalog } from '../../src/datasets/catalog/catalog.ts'
import type { Registry } from '../../src/datasets/registration/registry.ts'
import { requireDataset } from '../../src/http/access/permitted-datasets.ts'
import { EVERYONE, principalOf } from '../../src/http/access/roles.ts'
import { pageOf } from '../../src/http/paging.ts'
import { publicFacts } from './datasets.ts'
import { admit, registeredFacts, requireAnsweredBody } from './registrations.ts'

interface VersionsOptions {
  readonly catalog: Catalog
  readonly registry: Pick<Registry, 'publishVersion' | 'tryVersion'>
  readonly coverage: CoverageMeasurement
}

/** Versions of the rows of datasets. */
export const versionsRoutes: FastifyPluginAsyncZod<VersionsOptions> = async (
  app,
  { catalog, registry, coverage },
) => {
  app.get('/v1/datasets/:dataset/versions', {
    config: { roles: EVERYONE, conditional: true },
    schema: {
      tags: ['Datasets'],
      operationId: 'listVersions',
      summary: 'List the versions of a dataset',
      description:
        'The versions since the registration. The number of rows is listed only where it is public.',
      params: datasetParameters,
      querystring: pageQuery,
      response: { 200: versionList },
    },
    handler: async (request, reply) => {
      const { versions } = requireDataset(catalog, principalOf(request), request.params.dataset)
      const { items, next } = pageOf(request, reply, versions.toReversed(), ({ version }) => version)
      return { versions: items, next }
    },
  })

  app.post('/v1/datasets/:dataset/versions', {
    config: { roles: ['custodian'] },
    preValidation: requireAnsweredBody,
    schema: {
      tags: ['Registration'],
      operationId: 'publishVersion',
      summary: 'Publish a new version of a dataset',
      description:
        'Ingests new rows beside the present ones, then replaces them at once. Requests under way finish on the version ' +
        'that they were planned on. The budget and its spending remain. Sending the same rows again changes nothing. A version of a ' +
        'live table records its columns; where they are as before, there is nothing to publish (409).',
      params: changedDatasetParameters,
      querystring: versionQuery,
      body: newVersion,
      response: {
        200: z
          .union([publishedVersion, triedVersion])
          .describe('The present version has these rows and this declaration, or `dryRun` is true.'),
        201: publishedVersion.describe('The version was published.'),
      },
    },
    handler: async (request, reply) => {
      const { body, query, params } = request
      const { dataset: id } = params
      const { custodian: by, isDryRun } = admit(principalOf(request), reply, body, query)
      if (isDryRun) {
        const { ingestion, isUnchanged } = await registry.tryVersion(id, body, by)
        return reply.code(200).send({ dryRun: true, id, unchanged: isUnchanged, ingestion })
      }
      const { entry, created } = await registry.publishVersion(id, body, by)
      if (created) reply.header('location', `/v1/datasets/${id}`)
      return reply.code(created ? 201 : 200).send(registeredFacts(await coverage.measurePublished(entry)))
    },
  })

  app.post('/v1/datasets/:dataset/coverage', {
    config: { roles: ['custodian'] },
    schema: {
      tags: ['Registration'],
      operationId: 'measureCoverage',
      summary: 'Measure what maxRows leaves out of a dataset',
      description:
        'Charges the `leftOut` of the dataset to its budget and publishes what was measured about the present version. For ' +
        'a live table, and for a version that could not be measured when it was published. A measurement that was paid ' +
        'for is repeated without a charge, of a live table within its `freshness`. Where each row is a privacy unit, nothing is left out and nothing is charged.',
      params: changedDatasetParameters,
      response: { 200: dataset },
    },
    handler: async (request) => {
      const entry = requireDataset(catalog, principalOf(request), request.params.dataset)
      return publicFacts(await coverage.measure(entry))
    },
  })
}

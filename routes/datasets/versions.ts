import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  changedDatasetParameters,
  datasetParameters,
  newVersion,
  publishedVersion,
  triedVersion,
  versionList,
  versionQuery,
} from '../../schemas/datasets/dataset.ts'
import type { Catalog } from '../../src/datasets/catalog/catalog.ts'
import type { Registry } from '../../src/datasets/registration/registry.ts'
import { permittedDataset, requireDataset } from '../../src/http/access/permitted-datasets.ts'
import { EVERYONE, principalOf } from '../../src/http/access/roles.ts'
import { admit, registeredFacts, requireAnsweredBody } from './registrations.ts'

interface VersionsOptions {
  readonly catalog: Catalog
  readonly registry: Pick<Registry, 'publishVersion' | 'tryVersion'>
}

/** Versions of the rows of datasets. */
export const versionsRoutes: FastifyPluginAsyncZod<VersionsOptions> = async (app, { catalog, registry }) => {
  const tags = ['Datasets']

  app.get(
    '/v1/datasets/:dataset/versions',
    {
      config: { roles: EVERYONE },
      schema: {
        tags,
        operationId: 'listVersions',
        summary: 'List the versions of a dataset',
        description:
          'The versions since the registration. The number of rows is listed only where it is public.',
        params: datasetParameters,
        response: { 200: versionList },
      },
    },
    async (request) => {
      const { versions } = requireDataset(catalog, principalOf(request), request.params.dataset)
      return { versions: versions.toReversed() }
    },
  )

  app.post(
    '/v1/datasets/:dataset/versions',
    {
      config: { roles: ['custodian'] },
      preValidation: requireAnsweredBody,
      schema: {
        tags,
        operationId: 'publishVersion',
        summary: 'Publish a new version of a dataset',
        description:
          'Ingests new rows beside the present ones, then replaces them at once. Requests under way finish on the version ' +
          'that they were planned on. The budget and its spending remain. Sending the same rows again changes nothing.',
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
    },
    async (request, reply) => {
      const principal = principalOf(request)
      const { body, query, params } = request
      const id = permittedDataset(principal, params.dataset)
      const { custodian: by, isDryRun } = admit(principal, reply, body, query)
      if (isDryRun) {
        const { ingestion, isUnchanged } = await registry.tryVersion(id, body, by)
        return reply.code(200).send({ dryRun: true, id, unchanged: isUnchanged, ingestion })
      }
      const { entry, created } = await registry.publishVersion(id, body, by)
      return reply.code(created ? 201 : 200).send(registeredFacts(entry))
    },
  )
}

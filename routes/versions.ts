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
} from '../schemas/dataset.ts'
import { problemResponses } from '../schemas/problem.ts'
import type { Authenticator } from '../src/access/authenticator.ts'
import type { Catalog } from '../src/catalog/catalog.ts'
import type { Registry } from '../src/registration/registry.ts'
import { accessFor, principalOf } from './access.ts'
import { admit, registeredFacts, requireAnsweredBody } from './registrations.ts'
import { permittedDataset, requireDataset } from './require-dataset.ts'

export interface VersionsOptions {
  readonly authenticator: Authenticator
  readonly catalog: Catalog
  readonly registry: Pick<Registry, 'publishVersion' | 'tryVersion'>
}

/** Versions of the rows of datasets. */
export const versionsRoutes: FastifyPluginAsyncZod<VersionsOptions> = async (
  app,
  { authenticator, catalog, registry },
) => {
  const everyone = accessFor(authenticator, 'analyst', 'custodian', 'auditor')
  const custodian = accessFor(authenticator, 'custodian')
  const tags = ['Datasets']

  app.get(
    '/v1/datasets/:dataset/versions',
    {
      onRequest: everyone.onRequest,
      schema: {
        tags,
        operationId: 'listVersions',
        summary: 'List the versions of a dataset',
        description:
          'The versions since the registration. The number of rows is listed only where it is public.',
        security: everyone.security,
        params: datasetParameters,
        response: { 200: versionList, ...problemResponses },
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
      onRequest: custodian.onRequest,
      preValidation: requireAnsweredBody,
      schema: {
        tags,
        operationId: 'publishVersion',
        summary: 'Publish a new version of a dataset',
        description:
          'Ingests new rows beside the present ones, then replaces them at once. Requests under way finish on the version ' +
          'that they were planned on. The budget and its spending remain. Sending the same rows again changes nothing.',
        security: custodian.security,
        params: changedDatasetParameters,
        querystring: versionQuery,
        body: newVersion,
        response: {
          200: z
            .union([publishedVersion, triedVersion])
            .describe('The present version has these rows and this declaration, or `dryRun` is true.'),
          201: publishedVersion.describe('The version was published.'),
          ...problemResponses,
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

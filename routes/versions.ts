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
import { requireAnswered } from '../src/catalog/open-questions.ts'
import { accessFor, principalOf } from './access.ts'
import { givenUpSignal } from './caller.ts'
import { countsOf, type DatasetsOptions, publicFacts } from './datasets.ts'
import {
  permittedDataset,
  requireAllowedToSeparate,
  requireDataset,
  requireOwnSource,
} from './require-dataset.ts'

/** Versions of the rows of datasets. */
export const versionsRoutes: FastifyPluginAsyncZod<
  Pick<DatasetsOptions, 'authenticator' | 'catalog' | 'registry'>
> = async (app, { authenticator, catalog, registry }) => {
  const everyone = accessFor(authenticator, 'analyst', 'custodian', 'auditor')
  const custodian = accessFor(authenticator, 'custodian')

  app.get(
    '/v1/datasets/:dataset/versions',
    {
      onRequest: everyone.onRequest,
      schema: {
        tags: ['Datasets'],
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
      preValidation: async (request) => requireAnswered(request.body),
      schema: {
        tags: ['Datasets'],
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
      const givenUp = givenUpSignal(reply)
      const principal = principalOf(request)
      const id = permittedDataset(principal, request.params.dataset)
      requireAllowedToSeparate(principal, request.body)
      const by = { principal: principal.name, givenUp }
      if (request.query.dryRun === 'true') {
        const { source } = request.body
        if (source !== undefined) requireOwnSource(principal, source)
        const { ingestion, isUnchanged } = await registry.tryVersion(id, request.body, by)
        return reply.code(200).send({ dryRun: true, id, unchanged: isUnchanged, ingestion })
      }
      const { entry, created } = await registry.publishVersion(id, request.body, by)
      return reply.code(created ? 201 : 200).send({ ...publicFacts(entry), ...countsOf(entry) })
    },
  )
}
